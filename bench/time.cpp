#include "bench/time.h"

#include <algorithm>
#include <functional>
#include <ostream>

#include <fmt/format.h>

#include "bench/page.h"
#include "dsl/expr/names.h"
#include "dsl/func/boundary.h"
#include "runtime/run/gpu_timer.h"
#include "schedules/tune/trial_data.h"

namespace mica::bench {

using tuning::fill_random;
using tuning::same_bits;

namespace {

const Var x("x"), y("y"), z("z");

Expr number(Type type, double value) { return cast(type, Expr(value)); }

/// What a field holds around its points.
enum class Around { Nothing, Edge, Constant };

/// A field of a step and how it is read.
struct Field {
  ImageParam memory;
  std::function<Expr(const std::vector<Expr>&)> at;
};

Field field(Type type, int dimensions, Around around) {
  const ImageParam u(type, dimensions, "u");
  const auto through = [&u](const Func& f) {
    return Field{u, [f](const std::vector<Expr>& at) { return Expr(f(at)); }};
  };
  if (around == Around::Edge) return through(BoundaryConditions::repeat_edge(u));
  if (around == Around::Constant) {
    return through(BoundaryConditions::constant_exterior(u, number(type, 0.25)));
  }
  return {u, [u](const std::vector<Expr>& at) { return Expr(u(at)); }};
}

/// The point and its neighbours up to `radius` along each axis, each with a weight of its own; they sum
/// to 1.
TimeStep star(Type type, int dimensions, int radius, Around around) {
  const Field u = field(type, dimensions, around);
  const std::vector<Var> vars{x, y, z};
  std::vector<Expr> at(vars.begin(), vars.begin() + dimensions);
  const int taps = 2 * dimensions * radius;
  Expr sum = number(type, 0.5) * u.at(at);
  int k = 0;
  for (int d = 0; d < dimensions; ++d) {
    for (int r = -radius; r <= radius; ++r) {
      if (r == 0) continue;
      std::vector<Expr> there = at;
      there[static_cast<std::size_t>(d)] = there[static_cast<std::size_t>(d)] + r;
      sum = sum + number(type, (0.5 + 0.01 * (k - 0.5 * (taps - 1))) / taps) * u.at(there);
      ++k;
    }
  }
  TimeStep step{Func("next"), {u.memory}};
  step.next(at) = sum;
  return step;
}

/// The point and all neighbours at distance 1 in every dimension, of four weights by distance.
TimeStep box(Type type, int dimensions, Around around) {
  const Field u = field(type, dimensions, around);
  const std::vector<Var> vars{x, y, z};
  std::vector<Expr> at(vars.begin(), vars.begin() + dimensions);
  const double weights[] = {0.4, 0.06, 0.015, 0.0075};
  Expr sum;
  std::vector<int> offset(static_cast<std::size_t>(dimensions), -1);
  for (;;) {
    std::vector<Expr> there = at;
    int away = 0;
    for (std::size_t d = 0; d < offset.size(); ++d) {
      there[d] = there[d] + offset[d];
      away += std::abs(offset[d]);
    }
    const Expr term = number(type, weights[away]) * u.at(there);
    sum = sum.defined() ? sum + term : term;
    std::size_t d = 0;
    while (d < offset.size() && ++offset[d] == 2) offset[d++] = -1;
    if (d == offset.size()) break;
  }
  TimeStep step{Func("next"), {u.memory}};
  step.next(at) = sum;
  return step;
}

/// Gray and Scott's two reacting fields on a periodic grid (Pearson 1993).
TimeStep gray_scott() {
  const ImageParam u(Float(32), 3, "u"), v(Float(32), 3, "v");
  const Func pu = BoundaryConditions::repeat_image(u), pv = BoundaryConditions::repeat_image(v);
  const auto laplacian = [](const Func& f) {
    return f(x - 1, y, z) + f(x + 1, y, z) + f(x, y - 1, z) + f(x, y + 1, z) + f(x, y, z - 1) +
           f(x, y, z + 1) - 6.0F * f(x, y, z);
  };
  const Expr a = u(x, y, z), b = v(x, y, z);
  const Expr reaction = a * b * b;
  TimeStep step{Func("both"), {u, v}};
  step.next(x, y, z) = Tuple(a + 0.1F * laplacian(pu) - reaction + 0.035F * (1.0F - a),
                             b + 0.05F * laplacian(pv) + reaction - 0.095F * b);
  return step;
}

/// "7pt-f32-repeat-edge": "7pt-f32" and what is read around its field.
std::pair<std::string, Around> around_of(const std::string& name) {
  for (const auto& [ending, around] : {std::pair<std::string, Around>{"-repeat-edge", Around::Edge},
                                       {"-constant-exterior", Around::Constant}}) {
    const std::size_t plain = name.size() - std::min(name.size(), ending.size());
    if (name.substr(plain) == ending) return {name.substr(0, plain), around};
  }
  return {name, Around::Nothing};
}

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
    return;
  }
  const auto rows = static_cast<int>(parameter(p, "rows", 4));
  const auto threads_x = static_cast<int>(parameter(p, "threads_x", 32));
  const auto threads_y = static_cast<int>(parameter(p, "threads_y", 8));
  const auto chunk = static_cast<int>(parameter(p, "chunk", 0));
  const auto shortest = static_cast<int>(parameter(p, "shortest", 0));
  if (next.dimensions() == 2 && chunk == 0) {
    next.gpu_tile(x, y, threads_x, threads_y).vectorize(x, vec).unroll(y, rows);
  } else if (next.dimensions() == 2) {
    next.gpu_tile(x, 32).vectorize(x, vec).march(y, chunk, shortest);
    if (parameter(p, "scatter", 1) != 0) next.scatter(y);
    if (const std::int64_t ahead = parameter(p, "ahead", 0); ahead > 0) {
      for (const ImageParam& field : step.fields) {
        next.stage(field, MemoryType::Shared, LoadPolicy::AsyncCopy);
        next.pipeline(field, static_cast<int>(ahead));
      }
    }
  } else if (chunk == 0) {
    next.gpu_tile(x, y, z, threads_x, threads_y, 1).vectorize(x, vec).unroll(z, rows);
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
  schedule(step, target, variant.parameters);
  Iteration iteration = bench::iteration_of(step);
  iteration.time_tile(variant.steps);
  return iteration;
}

std::vector<std::int64_t> sides(const TimeCase& c, std::int64_t size) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(c.dimensions), size);
}

/// The fields after so many single steps.
std::vector<AnyBuffer> single_steps(const TimeCase& c, std::int64_t size, std::int64_t steps,
                                    const Target& target) {
  TimeStep step = make_time_step(c.name);
  std::vector<AnyBuffer> fields = random_fields(c, sides(c, size));
  iteration_of(step, {}, target).run(bound(step.fields, fields), steps, {.target = target});
  return fields;
}

struct Timed {
  double ms = -1;  ///< a step
  bool right = false;
};

Timed time_variant(const TimeCase& c, const TimeVariant& variant, std::int64_t size,
                   const TimeOptions& options) {
  TimeStep step = make_time_step(c.name);
  Iteration iteration = iteration_of(step, variant, options.target);

  std::vector<AnyBuffer> fields = random_fields(c, sides(c, size));
  // As many tiles as have the form of a long run, and a step.
  constexpr std::int64_t kTiles = 32;
  const std::int64_t checked = variant.steps > 1 ? kTiles * variant.steps + 1 : 2;
  iteration.run(bound(step.fields, fields), checked, {.target = options.target});
  const std::vector<AnyBuffer> expected = single_steps(c, size, checked, options.target);
  Timed timed{-1, true};
  for (std::size_t f = 0; f < fields.size(); ++f) timed.right &= same_bits(expected[f], fields[f]);

  // An even number of tiles ends where it began, and nothing is copied at its end.
  const std::int64_t pair = 2 * variant.steps;
  const std::int64_t steps = (options.steps + pair - 1) / pair * pair;
  std::vector<double> ms;
  for (int run = 0; run < options.runs; ++run) {
    GpuTimer timer(options.target);
    timer.start();
    iteration.run(bound(step.fields, fields), steps, {.target = options.target});
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

TimeStep make_time_step(const std::string& name) {
  const auto [plain, around] = around_of(name);
  if (plain == "7pt-f32") return star(Float(32), 3, 1, around);
  if (plain == "7pt-f64") return star(Float(64), 3, 1, around);
  if (plain == "13pt-f32") return star(Float(32), 3, 2, around);
  if (plain == "27pt-f64") return box(Float(64), 3, around);
  if (plain == "5pt-f32") return star(Float(32), 2, 1, around);
  if (plain == "5pt-f64") return star(Float(64), 2, 1, around);
  if (plain == "9pt-box-f64") return box(Float(64), 2, around);
  internal_check(name == "gray-scott-f32", "a time case without a step");
  return gray_scott();
}

Iteration iteration_of(const TimeStep& step) {
  std::vector<Replacement> pairs;
  for (std::size_t f = 0; f < step.fields.size(); ++f) {
    pairs.emplace_back(step.fields[f], step.next, static_cast<int>(f));
  }
  return Iteration(pairs);
}

std::vector<AnyBuffer> random_fields(const TimeCase& c, const std::vector<std::int64_t>& extents) {
  std::vector<AnyBuffer> fields;
  for (std::size_t f = 0; f < make_time_step(c.name).fields.size(); ++f) {
    std::vector<std::int64_t> inner, halo;
    for (const std::int64_t n : extents) {
      halo.push_back(n > 2 && around_of(c.name).second == Around::Nothing ? 1 : 0);
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
       {{1, {}}, {3, tall(12, 3, 52)}, {3, short_at_end(tall(12, 4, 64))}}},
      {"5pt-f64-repeat-edge",
       "star of radius 1, edges repeated",
       Float(64),
       2,
       8192,
       {{1, {}}, {4, strip(4, 64)}, {8, strip(4, 256, 255, 7)}}},
      {"5pt-f32-constant-exterior",
       "star of radius 1, a number outside",
       Float(32),
       2,
       16384,
       {{1, {}}, {8, strip(4, 128)}, {12, strip(4, 512, 168, 7)}}},
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
