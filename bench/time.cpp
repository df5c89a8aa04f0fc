#include "bench/time.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <ostream>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "bench/page.h"
#include "dsl/expr/names.h"
#include "runtime/run/gpu_timer.h"
#include "schedules/tune/trial_data.h"

namespace mica::bench {

using tuning::fill_random;
using tuning::same_bits;

namespace {

const Var x("x"), y("y"), z("z");

std::int64_t parameter(const schedules::Parameters& parameters, const std::string& name,
                       std::int64_t otherwise) {
  const auto found = parameters.find(name);
  return found == parameters.end() ? otherwise : found->second;
}

void schedule(TimeStep& step, const Target& target, const schedules::Parameters& p) {
  Func& next = step.next;
  const int bytes = next.types().front().bytes();
  const auto vec = static_cast<int>(parameter(p, "vec", 16 / bytes));
  if (!target.is_gpu()) {
    next.vectorize(x, 64 / bytes).parallel(next.args().back());
    for (Func& other : step.others) other.vectorize(x, 64 / bytes).parallel(other.args().back());
    return;
  }
  const auto rows = static_cast<int>(parameter(p, "rows", 4));
  const auto threads_x = static_cast<int>(parameter(p, "threads_x", 32));
  const auto threads_y = static_cast<int>(parameter(p, "threads_y", 8));
  const auto chunk = static_cast<int>(parameter(p, "chunk", 0));
  const auto shortest = static_cast<int>(parameter(p, "shortest", 0));
  const auto tile = [&](Func& f) {
    if (f.dimensions() == 2) {
      f.gpu_tile(x, y, threads_x, threads_y).vectorize(x, vec).unroll(y, rows);
    } else {
      f.gpu_tile(x, y, z, threads_x, threads_y, 1).vectorize(x, vec).unroll(z, rows);
    }
  };
  for (Func& other : step.others) tile(other);
  if (chunk == 0) {
    tile(next);
  } else if (next.dimensions() == 2) {
    next.gpu_tile(x, 32).vectorize(x, vec).march(y, chunk, shortest);
    if (parameter(p, "scatter", 1) != 0) next.scatter(y);
    if (const std::int64_t ahead = parameter(p, "ahead", 0); ahead > 0) {
      for (std::size_t f = 0; f < step.own_fields(); ++f) {
        const ImageParam& field = step.fields[f];
        next.stage(field, MemoryType::Shared, LoadPolicy::AsyncCopy);
        next.pipeline(field, static_cast<int>(ahead));
      }
    }
  } else {
    next.gpu_tile(x, y, threads_x, threads_y)
        .vectorize(x, vec)
        .unroll(y, rows)
        .march(z, chunk, shortest);
    if (parameter(p, "scatter", 1) != 0) next.scatter(z);
  }
  if (const std::int64_t most = parameter(p, "registers", 0); most > 0) {
    next.max_registers(static_cast<int>(most));
  }
}

std::vector<RunInput> bound(const std::vector<ImageParam>& inputs,
                            const std::vector<AnyBuffer>& buffers) {
  std::vector<RunInput> all;
  for (std::size_t i = 0; i < inputs.size(); ++i) all.emplace_back(inputs[i], buffers[i]);
  return all;
}

/// The step under a variant's schedule, so many steps at once.
Iteration iteration_of(TimeStep& step, const TimeVariant& variant, const Target& target) {
  if (!variant.plain || !target.is_gpu()) schedule(step, target, variant.parameters);
  Iteration iteration = bench::iteration_of(step);
  iteration.time_tile(variant.steps);
  return iteration;
}

std::vector<std::int64_t> sides(const TimeCase& c, std::int64_t size) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(c.dimensions), size);
}

/// A source in the middle and, a few points above, a line of receivers. What they take, by place and
/// step.
AnyBuffer add_places(Iteration& iteration, const TimeStep& step, std::int64_t size, std::int64_t steps) {
  constexpr std::int64_t kReceivers = 128;
  const ImageParam& u = step.fields.front();
  const auto at = [&](std::int64_t first, std::int64_t last) {
    std::vector<std::int64_t> point(static_cast<std::size_t>(u.dimensions()), size / 2);
    point.front() = first;
    point.back() = last;
    return point;
  };
  AnyBuffer series(u.type(), {1, steps}), taken(u.type(), {kReceivers, steps});
  fill_random(series, 5);
  fill_random(taken, 7);
  std::vector<Place> receivers;
  for (std::int64_t k = 0; k < kReceivers; ++k) {
    const std::int64_t x0 = 1 + k * std::max<std::int64_t>(size - 4, 1) / kReceivers;
    receivers.push_back({{at(x0, size / 3), 0.75}, {at(x0 + 1, size / 3), 0.25}});
  }
  iteration.add_at(u, {{{at(size / 2, size / 2), 0.5}, {at(size / 2 + 1, size / 2), 0.5}}}, series);
  iteration.record(u, receivers, taken);
  return taken;
}

/// Steps of a case on random fields, from step 0 on.
class TimeRun {
 public:
  TimeRun(const TimeCase& c, const TimeVariant& variant, std::int64_t size, std::int64_t most,
          const Target& target)
      : target_(target),
        step_(make_time_step(c.name)),
        iteration_(iteration_of(step_, variant, target)),
        fields_(random_fields(c, sides(c, size))) {
    if (has_places(c.name)) taken_ = add_places(iteration_, step_, size, most);
  }
  void run(std::int64_t steps) {
    iteration_.run(bound(step_.fields, fields_), steps, {.target = target_});
  }
  /// The fields, and what receivers took.
  [[nodiscard]] std::vector<AnyBuffer> results() const {
    std::vector<AnyBuffer> all = fields_;
    if (taken_.defined()) all.push_back(taken_);
    return all;
  }

 private:
  Target target_;
  TimeStep step_;
  Iteration iteration_;
  std::vector<AnyBuffer> fields_;
  AnyBuffer taken_;
};

struct Timed {
  double ms = -1;  ///< a step
  bool right = false;
};

Timed time_variant(const TimeCase& c, const TimeVariant& variant, std::int64_t size,
                   const TimeOptions& options) {
  // As many tiles as have the form of a long run, and a step.
  constexpr std::int64_t kTiles = 32;
  const std::int64_t checked = variant.steps > 1 ? kTiles * variant.steps + 1 : 2;
  // An even number of tiles ends where it began, and nothing is copied at its end.
  const std::int64_t pair = 2 * variant.steps;
  const std::int64_t steps = (options.steps + pair - 1) / pair * pair;

  TimeRun several(c, variant, size, std::max(checked, steps), options.target);
  several.run(checked);
  TimeRun single(c, {}, size, std::max(checked, steps), options.target);
  single.run(checked);
  Timed timed{-1, true};
  const std::vector<AnyBuffer> expected = single.results(), found = several.results();
  for (std::size_t f = 0; f < found.size(); ++f) timed.right &= same_bits(expected[f], found[f]);

  std::vector<double> ms;
  for (int run = 0; run < options.runs; ++run) {
    std::this_thread::sleep_for(std::chrono::duration<double>(options.pause));
    GpuTimer timer(options.target);
    timer.start();
    several.run(steps);
    timer.stop();
    ms.push_back(timer.milliseconds() / static_cast<double>(steps));
  }
  std::nth_element(ms.begin(), ms.begin() + options.runs / 2, ms.end());
  timed.ms = ms[static_cast<std::size_t>(options.runs / 2)];
  return timed;
}

/// " vec 4, chunk 64": those that are set.
std::string words_of(const schedules::Parameters& parameters) {
  std::string words;
  for (const auto& [name, value] : parameters) {
    if (value != 0) words += (words.empty() ? "  " : ", ") + name + " " + std::to_string(value);
  }
  return words;
}

}  // namespace

std::vector<AnyBuffer> random_fields(const TimeCase& c, const std::vector<std::int64_t>& extents) {
  std::vector<AnyBuffer> fields;
  for (std::size_t f = 0; f < make_time_step(c.name).fields.size(); ++f) {
    std::vector<std::int64_t> inner, halo;
    for (const std::int64_t n : extents) {
      halo.push_back(n > 2 && !has_edges(c.name) ? 1 : 0);
      inner.push_back(n - 2 * halo.back());
    }
    fields.push_back(AnyBuffer::with_halo(c.type, inner, halo));
    fill_random(fields.back(), 3 + f);
  }
  return fields;
}

std::vector<TimeCase> time_cases() {
  const auto tall = [](int threads_y, int rows, int chunk) {
    return schedules::Parameters{{"threads_y", threads_y}, {"rows", rows}, {"chunk", chunk}};
  };
  // The last chunks shorter, where that was the fastest (bench/results/2026-11-28-h100-chunks.txt and
  // 2026-11-28-h200-time-2.txt).
  const auto short_at_end = [](schedules::Parameters tile, int shortest = 8) {
    tile.insert({"shortest", shortest});
    return tile;
  };
  const auto narrow = [&](int threads_y, int rows, int chunk) {
    schedules::Parameters tile = tall(threads_y, rows, chunk);
    tile.insert({"vec", 2});
    return tile;
  };
  // One warp a block, `vec` points a lane. 0 rows ahead: as is usual. Long chunks of the fastest, whose
  // launches are in parts (2026-11-28-h200-parts.txt).
  const auto strip = [](int vec, int chunk, int registers = 0, int ahead = 0) {
    return schedules::Parameters{
        {"vec", vec}, {"chunk", chunk}, {"registers", registers}, {"ahead", ahead}};
  };
  // Several values, whose sums are not cut.
  const auto joint = [](int vec, int chunk, int threads_y = 1, int rows = 1) {
    return schedules::Parameters{
        {"vec", vec}, {"chunk", chunk}, {"threads_y", threads_y}, {"rows", rows}, {"scatter", 0}};
  };
  const auto deep = [&](int vec, int chunk, int ahead) {
    schedules::Parameters tile = joint(vec, chunk);
    tile.insert({"ahead", ahead});
    return tile;
  };
  return {
      {"7pt-f32",
       "star of radius 1",
       Float(32),
       3,
       512,
       {{1, {}},
        {2, tall(12, 4, 57)},
        {3, tall(12, 3, 52)},
        {4, tall(12, 3, 57)},
        {4, short_at_end(narrow(12, 6, 64))}}},
      {"7pt-f64",
       "star of radius 1",
       Float(64),
       3,
       512,
       {{1, {}}, {2, tall(12, 5, 64)}, {3, tall(12, 3, 102)}, {3, short_at_end(tall(8, 5, 128))}}},
      {"27pt-f64", "box of radius 1", Float(64), 3, 512, {{1, {}}, {2, short_at_end(tall(12, 3, 128))}}},
      {"13pt-f32",
       "star of radius 2",
       Float(32),
       3,
       512,
       {{1, {}}, {2, tall(12, 3, 64)}, {2, short_at_end(narrow(12, 6, 64), 4)}}},
      {"5pt-f32",
       "star of radius 1",
       Float(32),
       2,
       16384,
       {{1, {}},
        {4, strip(4, 64)},
        {8, strip(4, 128, 128)},
        {8, strip(8, 128, 200)},
        {10, strip(8, 160)},
        {12, strip(4, 512, 168, 7)},
        {16, strip(4, 256)}}},
      {"5pt-f64",
       "star of radius 1",
       Float(64),
       2,
       8192,
       {{1, {}},
        {4, strip(4, 64)},
        {6, strip(4, 64)},
        {8, strip(2, 128)},
        {8, strip(2, 128, 128)},
        {8, strip(4, 256, 255, 7)},
        {12, strip(2, 128)}}},
      {"9pt-box-f64",
       "box of radius 1",
       Float(64),
       2,
       9504,
       {{1, {}},
        {4, strip(4, 64)},
        {6, strip(2, 64)},
        {6, strip(4, 64, 200)},
        {8, strip(2, 128, 168)},
        {8, strip(4, 297, 255, 7)}}},
      {"7pt-f32-repeat-edge",
       "star of radius 1, edges repeated",
       Float(32),
       3,
       512,
       {{1, {}},
        {2, tall(12, 4, 57)},
        {3, tall(12, 3, 52)},
        {3, short_at_end(narrow(12, 6, 64))},
        {4, short_at_end(narrow(12, 4, 64))}}},
      {"7pt-f32-places",
       "star of radius 1, a source, receivers",
       Float(32),
       3,
       512,
       {{1, {}}, {2, tall(12, 4, 57)}, {3, tall(12, 3, 52)}, {4, short_at_end(narrow(12, 6, 64))}}},
      {"5pt-f32-places",
       "star of radius 1, a source, receivers",
       Float(32),
       2,
       8192,
       {{1, {}}, {8, strip(4, 128, 128)}, {12, strip(4, 192, 168, 7)}}},
      {"5pt-f64-repeat-edge",
       "star of radius 1, edges repeated",
       Float(64),
       2,
       8192,
       {{1, {}}, {4, {}}, {8, {}}, {8, strip(4, 256, 255)}}},
      {"5pt-f32-constant-exterior",
       "star of radius 1, a number outside",
       Float(32),
       2,
       16384,
       {{1, {}}, {4, {}}, {8, {}}, {12, strip(4, 512, 168)}}},
      {"staggered-2d-f32",
       "pressure and two velocities, a Func each",
       Float(32),
       2,
       8192,
       {{1, {}},
        {2, joint(4, 64)},
        {4, joint(4, 128)},
        {4, joint(2, 128)},
        {6, joint(2, 256)},
        {8, deep(2, 256, 7)}}},
      {"staggered-3d-f32",
       "pressure and three velocities, a Func each",
       Float(32),
       3,
       384,
       {{1, {}},
        {2, joint(2, 64, 12, 2)},
        {2, joint(2, 64, 8, 3)},
        {3, joint(2, 64, 8, 2)},
        {3, joint(2, 64, 8, 3)}}},
      {"gray-scott-f32",
       "two fields, periodic",
       Float(32),
       3,
       256,
       {{1, {{"vec", 2}}},
        {2, {{"vec", 2}, {"threads_y", 12}, {"rows", 2}, {"chunk", 128}, {"scatter", 0}}}}},
  };
}

Iteration make_time_case(const std::string& name, const TimeVariant& variant, const Target& target) {
  std::vector<std::string> names;
  for (const TimeCase& c : time_cases()) names.push_back(c.name);
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    throw UserError("no time case is called " + name + did_you_mean(name, names) + "; there are " +
                    joined(names));
  }
  TimeStep step = make_time_step(name);
  return iteration_of(step, variant, target);
}

void run_time(const TimeOptions& options, std::ostream& out) {
  std::vector<TimeCase> cases;
  std::vector<std::string> names;
  for (const TimeCase& c : time_cases()) {
    names.push_back(c.name);
    if (c.name.find(options.filter) != std::string::npos) cases.push_back(c);
  }
  const auto named = std::find_if(cases.begin(), cases.end(),
                                  [&](const TimeCase& c) { return c.name == options.filter; });
  if (named != cases.end()) cases = {TimeCase(*named)};
  if (cases.empty()) {
    throw UserError("no time case has " + options.filter + " in its name" +
                    did_you_mean(options.filter, names) + "; there are " + joined(names));
  }
  out << "Gpoint/s: 10^9 updates of a point a second; roof: single steps at the speed of a copy\n"
      << Inked{Ink::Strong, fmt::format("{:<16} {:>7} {:>6} {:>10} {:>9} {:>9}  {}", "case", "points",
                                        "steps", "ms/step", "Gpoint/s", "of roof", "bits")}
      << "\n";
  bool wrong = false;
  for (const TimeCase& c : cases) {
    const std::int64_t size = options.size > 0 ? options.size : c.size;
    double points = 1;
    for (int d = 0; d < c.dimensions; ++d) points *= static_cast<double>(size);
    const std::size_t fields = make_time_step(c.name).fields.size();
    const double bytes = points * 2 * c.type.bytes() * static_cast<double>(fields);
    const double copy = device_copy_bandwidth(options.target, static_cast<std::size_t>(bytes / 2));
    std::vector<TimeVariant> variants = c.variants;
    if (!options.tiles.empty()) {
      variants.clear();
      for (const int steps : options.tiles) {
        const auto known = std::find_if(c.variants.begin(), c.variants.end(),
                                        [&](const TimeVariant& v) { return v.steps >= steps; });
        variants.push_back(
            {steps, known != c.variants.end() ? known->parameters : c.variants.back().parameters});
      }
    }
    if (options.plain) {
      std::set<int> steps;
      for (const TimeVariant& variant : variants) steps.insert(variant.steps);
      variants.clear();
      for (const int n : steps) variants.push_back({.steps = n, .parameters = {}, .plain = true});
    }
    for (TimeVariant& variant : variants) {
      for (const auto& [name, value] : options.parameters) variant.parameters[name] = value;
      const Timed timed = time_variant(c, variant, size, options);
      const double rate = points / timed.ms * 1e-6;
      const double roof = copy / (bytes / points);
      out << fmt::format("{:<16} {:>7} {:>6} {:>10.4f} {:>9.1f} {:>8.1f}%  ", c.name, size,
                         variant.steps, timed.ms, rate, 100 * rate / roof)
          << Inked{timed.right ? Ink::Good : Ink::Bad, timed.right ? "right" : "WRONG"}
          << words_of(variant.parameters) << std::endl;
      wrong = wrong || !timed.right;
    }
  }
  if (wrong) throw InternalError("a time tile's bits differ from those of single steps");
}

}  // namespace mica::bench
