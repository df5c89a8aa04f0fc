#include "schedules/tune/usual.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "runtime/cuda/gpu_facts.h"
#include "schedules/families.h"
#include "schedules/tune/predict_host.h"
#include "schedules/tune/ranking.h"
#include "schedules/tune/space.h"

namespace mica::tuning {
namespace {

constexpr std::int64_t kWarp = 32, kManyThreads = 512;
constexpr const char* kPlane = "march/plane";
constexpr std::int64_t kSum = 1, kEitherSum = 2;  // of the parameter scatter

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

TuneCandidate candidate(std::string recipe, schedules::Parameters parameters) {
  TuneCandidate made;
  made.recipe = std::move(recipe);
  made.parameters = std::move(parameters);
  return made;
}

/// Planes or rows of a chunk, for which `columns` blocks side by side, `resident` on a multiprocessor at
/// once, are whole rounds, and little is computed or loaded before a chunk's first plane (`lead` of
/// them).
std::int64_t chunk_for(std::int64_t planes, std::int64_t columns, std::int64_t resident,
                       std::int64_t lead) {
  constexpr std::int64_t kShortest = 16, kMostChunks = 64;
  constexpr std::int64_t kStart = 4;  // planes that a block could have computed while it began
  std::int64_t best = planes;
  double least = HUGE_VAL;
  for (std::int64_t chunks = 1; chunks <= kMostChunks; ++chunks) {
    const std::int64_t chunk = ceil_div(planes, chunks);
    if (chunk < kShortest && chunks > 1) break;
    const std::int64_t rounds = ceil_div(columns * chunks, resident);
    const double time = static_cast<double>(rounds) * static_cast<double>(chunk + lead + kStart);
    if (time < least) {
      least = time;
      best = chunk;
    }
  }
  return best;
}

/// Does a tile of so many points fit a whole number of times? Blocks at the end that are filled in part
/// take as long as others and longer, for fewer points.
bool fits(std::int64_t points, std::int64_t tile) { return points % tile == 0; }

/// A march with planes in shared memory, copied asynchronously; so many of its blocks are resident on a
/// multiprocessor. Nothing where the last blocks would be filled in part.
struct March {
  std::int64_t threads_x, threads_y, rows, vec, ahead, scatter, resident, min_blocks = 0, longest = 256;
};
std::optional<TuneCandidate> marching(const Subject& subject, std::int64_t units, const March& march) {
  const auto& n = subject.extents();
  const std::int64_t x = march.threads_x * march.vec, y = march.threads_y * march.rows;
  if (!fits(n[0], x) || !fits(n[1], y)) return std::nullopt;
  const std::int64_t columns = n[0] / x * n[1] / y;
  const std::int64_t chunk =
      chunk_for(n[2], columns, units * march.resident, subject.features().reach(2));
  return candidate(kPlane, {{"tile_x", march.threads_x},
                            {"tile_y", march.threads_y},
                            {"rows", march.rows},
                            {"vec", march.vec},
                            {"chunk", std::min(chunk, march.longest)},
                            {"load", 3},
                            {"ahead", march.ahead},
                            {"scatter", march.scatter},
                            {"min_blocks", march.min_blocks}});
}

/// Marches with partial sums: of many taps along z the fastest. Blocks of 512 threads, 256 points wide,
/// or of 256 threads with four rows each, of which registers leave room for one; half as large where all
/// planes at once are a whole round of those; smaller ones where no whole number of those fits.
void add_marches(const Subject& subject, std::int64_t units, std::vector<TuneCandidate>& all) {
  constexpr std::int64_t kWide = 256;
  const std::int64_t vec = std::max<std::int64_t>(1, 16 / subject.features().widest);
  const auto add = [&](const March& march) {
    std::optional<TuneCandidate> made = marching(subject, units, march);
    if (made) all.push_back(std::move(*made));
    return made.has_value();
  };
  const std::int64_t wide = kWide / vec, high = kManyThreads / wide;
  const std::int64_t ahead = subject.features().widest > 4 ? 3 : 2;
  const auto& inputs = subject.features().inputs;
  constexpr std::int64_t kFar = 6, kAll = 512;  // planes
  if (std::any_of(inputs.begin(), inputs.end(), [](const Reads& r) { return r.in_column; })) {
    add({kWarp, 8, 4, vec, 1, kEitherSum, 2, 2});
  }
  const bool is_far = subject.features().reach(2) >= kFar;
  if (vec == 2 && is_far) add({wide / 2, 2 * high, 2, vec, ahead, kSum, 1, 0, kAll});
  if (vec == 4 && is_far) add({wide, high / 2, 2, vec, 6, kSum, 1, 0, kAll});
  if (vec == 4) add({kWarp, kManyThreads / kWarp, 1, vec, 5, kSum, 1, 0, kAll});  // a box of 27
  add({wide, high, 2, vec, ahead, kEitherSum, 1});
  const bool is_wide = add({wide, high, 2, vec, ahead, kSum, 1});
  const bool has_rows = add({kWarp, 8, 4, vec, 2, kSum, 1});
  if (is_wide && has_rows) return;
  add({kWarp, 8, 2, vec, 3, kSum, 2});
  add({kWarp, 8, 1, vec, 3, kSum, 2});
}

/// What others than marches of sums are the fastest now and then: planes of a thread, rows in shared
/// memory of which each is read once, and of many fields blocks of few points that march.
void add_others(const Subject& subject, std::int64_t units, std::vector<TuneCandidate>& all) {
  const auto& n = subject.extents();
  const Features& features = subject.features();
  const std::int64_t vec = std::max<std::int64_t>(1, 16 / features.widest);
  if (n.size() == 2) {
    for (const std::int64_t tile_x : {128, 256}) {
      all.push_back(
          candidate("jacobi2d/strided-load", {{"tile_x", tile_x}, {"tile_y", 16}, {"threads", 128}}));
    }
    return;
  }
  constexpr std::int64_t kPlanes = 8;
  constexpr std::size_t kMany = 4;
  if (features.inputs.size() < kMany) {
    all.push_back(candidate("pmpp/naive", {{"block_x", kWarp},
                                           {"block_y", 8},
                                           {"block_z", 1},
                                           {"vec", vec},
                                           {"planes", std::min(kPlanes, n[2])},
                                           {"min_blocks", 4}}));
    return;
  }
  const auto fields = [&](std::int64_t height, std::int64_t lanes, std::int64_t chunk,
                          std::int64_t stream) {
    all.push_back(candidate("mhd/substep", {{"block_x", kWarp},
                                            {"block_y", height},
                                            {"chunk", std::min(chunk, n[2])},
                                            {"vec", lanes},
                                            {"staged", 0},
                                            {"ahead", 1},
                                            {"windows", 0},
                                            {"registers", 0},
                                            {"stream", stream}}));
  };
  fields(8, 1, 256, 1);
  fields(4, vec, 0, 0);
  const March few{kWarp, 8, 1, std::max<std::int64_t>(vec / 2, 1), 2, 0, 1};
  if (auto march = marching(subject, units, few)) all.push_back(std::move(*march));
}

/// Several steps in three dimensions: warps side by side in y, one block a multiprocessor. A box of 27
/// points leaves registers for two steps.
void add_levels(const Subject& subject, std::int64_t units, std::vector<TuneCandidate>& all) {
  constexpr std::size_t kMostTaps = 60;  // of all levels
  const auto& n = subject.extents();
  const Features& features = subject.features();
  const auto& reach = features.reach_inside;
  std::size_t taps = 0;
  for (const Reads& reads : features.inputs) taps += reads.taps;
  const std::int64_t widest = std::max<std::int64_t>(1, 16 / features.widest);
  // With a chunk of its own, the last ones are halved so many times.
  struct Tile {
    std::int64_t steps, warps, rows, vec, scatter, chunk = 0, halves = 0;
  };
  std::vector<Tile> tiles{{2, 12, 4, widest, 1},
                          {2, 12, 3, widest, 1},
                          {2, 8, 4, widest, 1},
                          {3, 12, 3, widest, 1},
                          {3, 8, 4, widest, 1}};
  const std::int64_t half = std::max<std::int64_t>(widest / 2, 1);
  // Vectors of two leave registers for more rows, or for another step.
  if (reach[1] > 2) tiles.push_back({2, 12, 6, half, 1, 64, 4});
  if (reach[1] <= 2 && half > 1) {
    tiles.push_back({4, 12, 6, half, 1, 64, 3});
    tiles.push_back({4, 12, 5, half, 1});
  }
  if (reach[1] <= 2 && half == 1) tiles.push_back({3, 8, 5, widest, 1, 128, 4});
  if (subject.outputs() > 1) {
    tiles = {{2, 8, 3, half, 0}, {3, 8, 3, half, 0}};
  } else if (features.written_bytes > features.widest) {  // several values a point
    tiles = {{2, 12, 2, half, 0}};
  }
  for (const auto& [steps, warps, rows, vec, scatter, own_chunk, halves] : tiles) {
    if (steps > subject.stepping()->most || taps * static_cast<std::size_t>(steps) > kMostTaps) continue;
    // What lies beside a tile is computed again.
    const std::int64_t x = kWarp * vec - reach[0] * (steps - 1);
    const std::int64_t y = warps * rows - reach[1] * (steps - 1);
    if (x < kWarp || y < rows) continue;
    const std::int64_t columns = ceil_div(n[0], x) * ceil_div(n[1], y);
    const std::int64_t lead = reach[2] * (steps - 1) / 2;
    const bool is_own = own_chunk > 0 && n[2] >= 3 * own_chunk;
    const std::int64_t chunk = is_own ? own_chunk : chunk_for(n[2], columns, units, lead);
    all.push_back(candidate("time/march", {{schedules::kStepsAtOnce, steps},
                                           {"scatter", scatter},
                                           {"vec", vec},
                                           {"tile_y", warps},
                                           {"rows", rows},
                                           {"chunk", chunk},
                                           {"halves", is_own ? halves : 0},
                                           {"ahead", 0}}));
  }
}

/// Several steps in two dimensions: a warp a block, chunks of so many rows a step. Long ones leave
/// little before them, and multiprocessors without a block where there are few: of f32, 8192^2 points
/// took 16 % longer by them, 16384^2 points 2 % less (bench/results/2026-11-28-h200-parts.txt).
void add_strips(const Subject& subject, std::int64_t units, std::vector<TuneCandidate>& all) {
  constexpr std::int64_t kMany = 12, kFewRegisters = 168;
  constexpr std::int64_t kRows = 16, kLong = 32;
  constexpr std::int64_t kManyWideBlocks = 12, kManyBlocks = 18;  // of a multiprocessor
  const auto& n = subject.extents();
  const std::int64_t vec = std::max<std::int64_t>(1, 16 / subject.features().widest);
  if (subject.outputs() > 1) {  // of half as many points a thread, for registers
    // Rows; eight steps took 0.069 ms so, for 0.082 (bench/results/2026-11-29-h200-funcs.txt).
    constexpr std::int64_t kFarAhead = 7;
    const std::int64_t half = std::max<std::int64_t>(1, vec / 2);
    for (const std::int64_t steps : {4, 6, 8}) {
      if (steps > subject.stepping()->most) continue;
      all.push_back(candidate("time/march", {{schedules::kStepsAtOnce, steps},
                                             {"scatter", 0},
                                             {"vec", half},
                                             {"chunk", std::min(kLong * steps, n[1])},
                                             {"ahead", steps < 8 ? 0 : kFarAhead}}));
    }
    return;
  }
  for (const std::int64_t steps : {4, 6, 8, 12}) {
    if (steps > subject.stepping()->most) continue;
    for (const std::int64_t wide : {1, 2}) {
      if (wide > 1 && steps == kMany) continue;  // their registers do not hold it
      const std::int64_t strips = ceil_div(n[0], kWarp * vec * wide);
      const std::int64_t blocks = strips * ceil_div(n[1], kLong * steps);
      const bool many = blocks >= (wide > 1 ? kManyWideBlocks : kManyBlocks) * units;
      all.push_back(candidate("time/march", {{schedules::kStepsAtOnce, steps},
                                             {"scatter", 1},
                                             {"vec", vec * wide},
                                             {"chunk", std::min((many ? kLong : kRows) * steps, n[1])},
                                             {"registers", steps == kMany ? kFewRegisters : 0}}));
    }
  }
}

/// On the CPU: whole rows in vectors as wide as registers, several planes or rows together, in chunks
/// that a core's cache holds; with Funcs behind the output their rows in a strip, each once or all at a
/// time.
void add_rows(const Subject& subject, std::vector<TuneCandidate>& all) {
  const auto& n = subject.extents();
  const Features& features = subject.features();
  const std::int64_t vec = std::max<std::int64_t>(1, host_vector_bytes() / features.widest);
  const auto add = [&](std::int64_t rows, std::int64_t tile_x, std::int64_t tile_y, std::int64_t chunk,
                       std::int64_t planes, std::int64_t stream, std::int64_t place) {
    schedules::Parameters parameters{
        {"vec", vec}, {"rows", rows}, {"tile_x", tile_x}, {"chunk", chunk}, {"stream", stream}};
    if (subject.is_interleaved()) {
      parameters.insert({"channels", n.back()});
    } else if (n.size() > 2) {
      parameters.insert({{"tile_y", tile_y}, {"planes", planes}});
    }
    if (features.computing > 0) parameters.insert({"place", place});
    all.push_back(candidate("host/rows", parameters));
  };
  using schedules::kRow, schedules::kSlid, schedules::kStrip, schedules::kUsual;
  if (subject.is_interleaved()) {
    for (const std::int64_t stream : {1, 0}) add(1, 0, 0, 32, 1, stream, kUsual);
    return;
  }
  if (features.computing > 0) {
    const bool deep = n.size() > 2;
    add(2, 0, 16, deep ? 2 : 32, 1, 0, kUsual);
    for (const std::int64_t place : {kStrip, kSlid}) add(2, 512, 0, deep ? 1 : 64, 1, 0, place);
    for (const std::int64_t place : {kRow, kStrip, kSlid}) add(1, 0, 0, deep ? 1 : 64, 1, 0, place);
    return;
  }
  for (const std::int64_t stream : {1, 0}) {
    if (n.size() > 2) {
      add(1, 0, 0, 4, 4, stream, kUsual);
      add(1, 0, 32, 32, 4, stream, kUsual);
    } else {
      add(1, 0, 0, 32, 1, stream, kUsual);
      add(4, 0, 0, 32, 1, stream, kUsual);
    }
  }
}

/// On the CPU: several steps in tiles that its caches hold. In three dimensions what lies beside a tile
/// grows as fast as the steps; more than four were never the fastest.
void add_tiles(const Subject& subject, std::vector<TuneCandidate>& all) {
  constexpr std::int64_t kMost = 8, kMostOfPlanes = 4;
  const std::int64_t most = subject.extents().size() > 2 ? kMostOfPlanes : kMost;
  for (const std::int64_t steps : steps_at_once(subject)) {
    if (steps <= most) all.push_back(candidate("time/tiles", {{schedules::kStepsAtOnce, steps}}));
  }
}

/// Are most loads of taps in the point's own column, as of a star? Of a box of 27 points stores that
/// pass by the caches took 13 % longer.
bool is_star(const Features& features) {
  constexpr std::ptrdiff_t kFewBeside = 8;
  std::ptrdiff_t beside = 0;
  for (const Reads& reads : features.inputs) {
    beside += std::count_if(reads.offsets.begin(), reads.offsets.end(),
                            [](const auto& at) { return !at.empty() && at.front() != 0; });
  }
  return beside <= kFewBeside;
}

/// Tiles of several steps that were faster than single ones wherever no cache held the fields: of long
/// rows, and of steps that read nothing but the fields that they replace (a wave's two levels of time
/// need a copy each for a tile, and none for a step, which writes over the older one); in three
/// dimensions of one field.
bool is_known_tile(const Subject& subject) {
  constexpr std::int64_t kShort = 200;  // points of a row; of 40 eight steps took 1.17 times as long
  const Features& features = subject.features();
  const int values = features.written_bytes / features.widest;
  return subject.extents().front() >= kShort && (subject.extents().size() < 3 || values == 1) &&
         features.inputs.size() == static_cast<std::size_t>(values);
}

/// Does the model know it well enough to take it unmeasured? On a CPU colours side by side, planes that
/// pass by the caches, Funcs behind the output in strips of whole rows, and tiles of several steps.
bool is_choosable(const Subject& subject, const TuneCandidate& candidate) {
  if (!subject.target().is_gpu()) {
    if (candidate.steps() > 1) return is_known_tile(subject);
    const bool planes = candidate.parameter("planes", 1) > 1 && candidate.parameter("tile_y", 0) == 0 &&
                        is_star(subject.features());
    return candidate.parameter("channels", 0) > 0 || (planes && candidate.parameter("stream", 0) != 0) ||
           (candidate.parameter("place", 0) == schedules::kStrip &&
            candidate.parameter("tile_x", 0) == 0);
  }
  return candidate.steps() > 1 ||
         (candidate.recipe == kPlane && candidate.parameter("scatter", 0) != kEitherSum);
}

/// What a candidate is taken to need beside no schedule. On a CPU the model has Funcs in strips for 40
/// to 50 % faster than they were (bench/results/2026-11-26-cpu-chosen.txt); of several steps there it is
/// to see much: the rates are guesses.
double expected(const Subject& subject, const TuneCandidate& candidate) {
  constexpr double kOfStrips = 1.4, kOfTiles = 1.5;
  if (subject.target().is_gpu()) return candidate.predicted;
  if (candidate.steps() > 1) return candidate.predicted * kOfTiles;
  if (candidate.parameter("place", 0) != schedules::kStrip) return candidate.predicted;
  // What the next strip reads, too, is computed again.
  const auto again = static_cast<double>(subject.features().reach(subject.extents().size() - 1));
  return candidate.predicted * kOfStrips *
         (1 + again / static_cast<double>(candidate.parameter("chunk", 1)));
}

}  // namespace

std::vector<TuneCandidate> usual_candidates(const Subject& subject) {
  std::vector<TuneCandidate> all;
  const Features& features = subject.features();
  const std::size_t rank = subject.extents().size();
  const bool is_one = subject.outputs() == 1;  // of several Funcs only steps taken at once on a GPU
  if (!features.plain || rank < 2 || rank > 3) return all;
  if (!subject.target().is_gpu()) {
    if (!is_one) return all;
    add_rows(subject, all);
    add_tiles(subject, all);
    return all;
  }
  const std::int64_t units = gpu_facts(subject.target()).multiprocessors;
  const bool reads_beside = rank == 3 ? features.reach(2) > 0 : features.reach(1) > 0;
  if (is_one && reads_beside) {
    add_others(subject, units, all);
    if (rank == 3) add_marches(subject, units, all);
  }
  if (subject.stepping() != nullptr && subject.stepping()->most > 1) {
    if (rank == 3) add_levels(subject, units, all);
    if (rank == 2) add_strips(subject, units, all);
  }
  return all;
}

bool is_worth_choosing(const std::vector<std::int64_t>& extents) {
  constexpr double kFewPoints = 1 << 21;
  double points = 1;
  for (const std::int64_t n : extents) points *= static_cast<double>(n);
  return points >= kFewPoints;
}

Choice chosen(const Subject& subject) {
  // What the model is wrong by, most often.
  const double clearly = subject.target().is_gpu() ? 0.95 : 0.87;
  Choice choice;
  if (!is_worth_choosing(subject.extents())) return choice;
  std::vector<TuneCandidate> all = usual_candidates(subject);
  std::erase_if(all, [&](const TuneCandidate& c) { return !is_choosable(subject, c); });
  if (all.empty()) return choice;
  all.emplace_back();
  predict_all(subject, rates_of(subject.target(), false), all);
  choice.none = all.back();
  all.pop_back();
  std::erase_if(all, [&](const TuneCandidate& c) {
    return c.predicted <= 0 || expected(subject, c) > clearly * choice.none.predicted;
  });
  std::stable_sort(all.begin(), all.end(), [&](const TuneCandidate& a, const TuneCandidate& b) {
    return expected(subject, a) < expected(subject, b);
  });
  if (!all.empty()) choice.saved = choice.none.predicted - expected(subject, all.front());
  choice.better = std::move(all);
  return choice;
}

}  // namespace mica::tuning
