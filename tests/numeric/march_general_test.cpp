// Marches on stencils unlike the documents': boundary conditions, staggered grids, coefficient fields,
// every element type, many inputs and values, every radius.
#include <algorithm>
#include <functional>
#include <string>
#include <variant>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "tests/support/check_targets.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

const Var x("x"), y("y"), z("z");
const Box kBox{{-3, 27}, {4, 11}, {-6, 13}};

/// Something to keep along a march: an input or a Func.
using Source = std::variant<ImageParam, Func>;

Func& window(Func& f, const Source& s) {
  return std::visit([&](const auto& source) -> Func& { return f.register_window(source, z); }, s);
}
Func& stage(Func& f, const Source& s, LoadPolicy load = LoadPolicy::TwoStep) {
  return std::visit(
      [&](const auto& source) -> Func& { return f.stage(source, MemoryType::Shared, load); }, s);
}
Func& ahead(Func& f, const Source& s, int depth) {
  return std::visit([&](const auto& source) -> Func& { return f.pipeline(source, depth); }, s);
}

struct Way {
  std::string name;
  std::function<void(Func&, const Source&)> apply;
};

/// Ways that suit any sum over u(x + a, y + b, z + c) in three dimensions.
std::vector<Way> ways() {
  const auto tiled = [](Func& f, int chunk) -> Func& { return f.gpu_tile(x, y, 8, 4).march(z, chunk); };
  return {
      {"window", [=](Func& f, const Source& s) { window(tiled(f, 5).vectorize(x, 2).unroll(y, 2), s); }},
      {"stage_ahead", [=](Func& f, const Source& s) { ahead(stage(tiled(f, 4), s), s, 1); }},
      {"both", [=](Func& f, const Source& s) { window(stage(tiled(f, 0).vectorize(x, 4), s), s); }},
      {"both_far_ahead",
       [=](Func& f, const Source& s) { ahead(window(stage(tiled(f, 3), s), s), s, 4); }},
      {"strided",
       [=](Func& f, const Source& s) { stage(tiled(f, 6).unroll(y, 2), s, LoadPolicy::Strided); }},
      {"shorter_at_the_end",
       [=](Func& f, const Source& s) { window(stage(f.gpu_tile(x, y, 8, 4).march(z, 4, 1), s), s); }},
      {"split_warps",
       [=](Func& f, const Source& s) { ahead(stage(tiled(f, 4), s), s, 2).warp_split(1); }},
  };
}

/// Every way against the oracle, on every target.
/// With `names`, those ways alone.
void check(const std::function<TestPipeline()>& make, const std::function<Source(TestPipeline&)>& kept,
           const Box& inputs = {}, const std::vector<std::string>& names = {}) {
  for (const Way& way : ways()) {
    if (!names.empty() && std::find(names.begin(), names.end(), way.name) == names.end()) continue;
    TestPipeline p = make();
    SCOPED_TRACE(p.name + ", " + way.name);
    std::vector<std::shared_ptr<void>> memory;
    if (inputs.empty()) {
      memory = p.bind(kBox, 3);
    } else {
      for (const ImageParam& u : p.inputs) memory.push_back(bind_random(u, inputs, memory.size() + 3));
    }
    const auto expected = expected_values(p.outputs, kBox);
    way.apply(p.output(), kept(p));
    for (const Target& target : all_targets()) {
      EXPECT_TRUE(run_matches(expected, p.outputs, kBox, target));
    }
  }
}
Source first_input(TestPipeline& p) { return p.inputs.front(); }

// ---- boundary conditions ---------------------------------------------------------------------------

/// A star of radius 2 over `edge`, which extends u.
TestPipeline bounded(const std::string& name, const std::function<Func(const ImageParam&)>& extend) {
  const ImageParam u(Float(32), 3, "u");
  Func edge = extend(u);
  Func next("next");
  Expr total = 0.5F * edge(x, y, z);
  for (const int r : {1, 2}) {
    total = total + 0.25F / static_cast<float>(r) *
                        (edge(x - r, y, z) + edge(x + r, y, z) + edge(x, y - r, z) + edge(x, y + r, z) +
                         edge(x, y, z - r) + edge(x, y, z + r));
  }
  next(x, y, z) = total;
  return {name, {edge, next}, {next}, {u}};
}

TEST(MarchGeneral, BoundaryConditionsAreKeptAsTheyAreRead) {
  using namespace BoundaryConditions;
  const std::vector<std::pair<std::string, std::function<Func(const ImageParam&)>>> kinds = {
      {"repeat_edge", [](const ImageParam& u) { return repeat_edge(u); }},
      {"constant_exterior", [](const ImageParam& u) { return constant_exterior(u, 2.5F); }},
      {"repeat_image", [](const ImageParam& u) { return repeat_image(u); }},
      {"mirror_image", [](const ImageParam& u) { return mirror_image(u); }},
      {"mirror_interior", [](const ImageParam& u) { return mirror_interior(u); }}};
  for (const auto& [name, extend] : kinds) {
    check([&name = name, &extend = extend] { return bounded(name, extend); },
          [](TestPipeline& p) { return Source(p.funcs.front()); }, kBox);
  }
}

// ---- physics ---------------------------------------------------------------------------------------

/// The pressure update of a staggered grid of fourth order: half-cell differences of three velocities,
/// with a field of moduli.
TestPipeline staggered() {
  const ImageParam vx(Float(32), 3, "vx"), vy(Float(32), 3, "vy"), vz(Float(32), 3, "vz");
  const ImageParam p(Float(32), 3, "p"), kappa(Float(32), 3, "kappa");
  const Param<float> c("c", 1.125F), d("d", -0.041666668F);
  Func next("next");
  next(x, y, z) =
      p(x, y, z) +
      kappa(x, y, z) * (c * (vx(x, y, z) - vx(x - 1, y, z)) + d * (vx(x + 1, y, z) - vx(x - 2, y, z)) +
                        c * (vy(x, y, z) - vy(x, y - 1, z)) + d * (vy(x, y + 1, z) - vy(x, y - 2, z)) +
                        c * (vz(x, y, z) - vz(x, y, z - 1)) + d * (vz(x, y, z + 1) - vz(x, y, z - 2)));
  return {"staggered", {next}, {next}, {vz, vx, vy, p, kappa}};
}

/// Diffusion with a coefficient between cells: reads k at two points and u at seven.
TestPipeline diffusion() {
  const ImageParam u(Float(64), 3, "u"), k(Float(64), 3, "k");
  Func flux("flux"), next("next");
  flux(x, y, z) = (k(x, y, z) + k(x, y, z + 1)) * (u(x, y, z + 1) - u(x, y, z));
  next(x, y, z) = u(x, y, z) + 0.1 * (flux(x, y, z) - flux(x, y, z - 1)) +
                  0.1 * k(x, y, z) * (u(x - 1, y, z) + u(x + 1, y, z) + u(x, y - 1, z) + u(x, y + 1, z));
  return {"diffusion", {flux, next}, {next}, {u, k}};
}

/// Three values of one launch: the gradient of u times a field.
TestPipeline gradient3() {
  const ImageParam u(Float(32), 3, "u"), a(Float(32), 3, "a");
  Func grad("grad");
  grad(x, y, z) = Tuple(a(x, y, z) * (u(x + 1, y, z) - u(x - 1, y, z)),
                        a(x, y, z) * (u(x, y + 1, z) - u(x, y - 1, z)),
                        a(x, y, z) * (u(x, y, z + 1) - u(x, y, z - 1)));
  return {"gradient3", {grad}, {grad}, {u, a}};
}

TEST(MarchGeneral, StaggeredGridsAndCoefficientFields) {
  const std::vector<std::string> in_the_column = {"window", "stage_ahead", "strided"};
  check(staggered, first_input, {}, in_the_column);
  check(staggered, [](TestPipeline& p) { return Source(p.inputs[1]); });
  check(diffusion, first_input);
  check(
      diffusion, [](TestPipeline& p) { return Source(p.inputs.back()); }, {}, in_the_column);
}
TEST(MarchGeneral, SeveralValuesInOneLaunch) { check(gradient3, first_input); }

TEST(MarchGeneral, EveryInputMayBeKept) {
  TestPipeline p = staggered();
  const auto memory = p.bind(kBox, 5);
  const auto expected = expected_values(p.outputs, kBox);
  Func& next = p.output();
  next.gpu_tile(x, y, 16, 4).march(z, 4).register_window(p.inputs[0], z);
  next.stage(p.inputs[1], MemoryType::Shared)
      .stage(p.inputs[2], MemoryType::Shared, LoadPolicy::Strided);
  next.pipeline(p.inputs[1], 2).stream_loads(p.inputs[3]).read_only(p.inputs[4]).stream_stores();
  for (const Target& target : all_targets()) EXPECT_TRUE(run_matches(expected, p.outputs, kBox, target));
}

TEST(MarchGeneral, AFuncKeptPlaneByPlane) {
  TestPipeline p = diffusion();
  const auto memory = p.bind(kBox, 5);
  const auto expected = expected_values(p.outputs, kBox);
  p.output().gpu_tile(x, y, 16, 4).march(z, 4);
  p.func("flux").compute_at(p.output(), "z.march").store_in(MemoryType::Register);
  for (const Target& target : all_targets()) EXPECT_TRUE(run_matches(expected, p.outputs, kBox, target));
}

// ---- types and radii -------------------------------------------------------------------------------

TEST(MarchGeneral, EveryElementType) {
  for (const Type type :
       {UInt(8), Int(8), UInt(16), Int(16), Int(32), Int(64), Float(16), BFloat(16), Float(64)}) {
    check(
        [&] {
          TestPipeline p = star(type, 3, 1);
          p.name += " of " + to_string(type);
          return p;
        },
        first_input);
  }
}

TEST(MarchGeneral, EveryRadiusUpToSix) {
  for (int r = 1; r <= 6; ++r) {
    check(
        [&] {
          TestPipeline p = star(Float(32), 3, r);
          p.name += " of radius " + std::to_string(r);
          return p;
        },
        first_input, {}, {"window", "both_far_ahead"});
  }
}

// The window of an input of fewer dimensions is read at all coordinates of the marched Func.
TEST(MarchGeneral, OfAWindowOverAnInputOfFewerDimensionsKeepsTheOrderOfTheSum) {
  const ImageParam plane(Float(32), 2, "plane");
  const ImageParam u(Float(32), 3, "u");
  const Box box{{-3, 9}, {2, 8}, {6, 2}};
  const auto define = [&](const std::string& name) {
    Func f(name);
    f(x, y, z) =
        (u(x, y, z) - 0.7F * u(x, y - 1, z)) + (plane(x, y + 1) - plane(x, y)) + u(x, y, z) * 0.3F;
    return f;
  };
  const Func plain = define("plain");
  Func f = define("f");
  const auto memory = bind_demanded({plain}, box, {plane, u}, 7);
  f.gpu_tile(x, z, 4, 1).march(y, 3).register_window(plane, y);
  const std::vector<AnyBuffer> expected = expected_values({plain}, box);
  for (const Target& target : all_targets()) EXPECT_TRUE(run_matches(expected, {f}, box, target));
}

// A plane's own points come from the window, which has the dimensions of the marched Func: the source
// may lack one, or have them in another order.
TEST(MarchGeneral, PlanesFilledFromWindowsHaveTheDimensionsOfTheirSource) {
  const auto check_window = [](int dimensions, const std::function<Expr(const ImageParam&)>& sum,
                               const std::function<void(Func&)>& tile) {
    const ImageParam u(Float(32), dimensions, "u");
    const auto define = [&](const std::string& name) {
      Func f(name);
      f(x, y, z) = sum(u);
      return f;
    };
    const Func plain = define("plain");
    Func f = define("f");
    const auto memory = bind_demanded({plain}, kBox, {u}, 7);
    tile(f);
    f.march(z, 5).register_window(u, z).stage(u, MemoryType::Shared);
    const std::vector<AnyBuffer> expected = expected_values({plain}, kBox);
    for (const Target& target : all_targets()) EXPECT_TRUE(run_matches(expected, {f}, kBox, target));
  };
  check_window(
      2, [](const ImageParam& u) { return u(y, z) + u(y + 1, z) + u(y - 1, z + 1); },
      [](Func& f) { f.gpu_tile(y, x, 8, 1); });
  check_window(
      3, [](const ImageParam& u) { return u(z, y, x) + u(z + 1, y + 1, x) + u(z - 1, y, x - 2); },
      [](Func& f) { f.gpu_tile(x, y, 8, 4); });
  check_window(
      3, [](const ImageParam& u) { return u(y, x, z) + u(y + 1, x, z) + u(y, x - 1, z + 1); },
      [](Func& f) { f.gpu_tile(x, y, 8, 4); });
}

// select(inside, sum, u(x, y, z)): the part of the point's own plane chooses, wherever the sum is cut.
TEST(MarchGeneral, PointsThatKeepAValueOfTheirPlaneAreScattered) {
  for (const Target& target : all_targets()) {
    for (const Partials partials : {Partials::EveryPlane, Partials::Centre}) {
      for (const int radius : {1, 2}) {
        const ImageParam u(Float(32), 3, "u");
        Expr sum = 0.5F * u(x, y, z) + 0.25F * u(x - 1, y, z) + 0.125F * u(x, y + 1, z);
        for (int r = 1; r <= radius; ++r) {
          sum = sum + 0.1F * static_cast<float>(r) * u(x, y, z - r) + 0.2F * u(x + 1, y, z + r);
        }
        Func f("f");
        f(x, y, z) = select(x > 1 && y < 12 && z > -3 && z < 5, sum, u(x, y, z));
        f.gpu_tile(x, y, 8, 4).vectorize(x, 2).march(z, 5).scatter(z, partials);
        f.stage(u, MemoryType::Shared).pipeline(u, 1);
        const auto memory = bind_demanded({f}, kBox, {u}, 3);
        EXPECT_TRUE(matches_oracle({f}, kBox, target)) << "radius " << radius;
      }
    }
  }
}

// The Func of a box of planes, of which threads fill many points each: its first steps stay a loop, and
// so does the march, whose code would be eight times as much.
TEST(MarchGeneral, FirstStepsOfMuchCodeAreALoop) {
  const Var w("w");
  const ImageParam u(Float(32), 4, "u");
  Func f("f"), g("g");
  f(x, y, z, w) = u(x, y, z, w) + u(x - 1, y, z, w) + u(x + 1, y, z, w) + u(x, y - 1, z, w) -
                  u(x, y + 1, z, w) - 0.5F * u(x, y, z - 1, w) + u(x, y, z + 1, w) - u(x, y, z, w - 1) +
                  u(x, y, z, w + 1) + u(x - 2, y, z, w) + u(x, y, z - 2, w) + u(x, y, z + 2, w) +
                  u(x, y, z, w + 2) + u(x, y, z, w - 2);
  g(x, y, z, w) = f(x, y, z, w) - f(x + 5, y + 4, z + 5, w - 1) + 0.75F * f(x + 5, y - 3, z + 3, w + 5);
  f.compute_at(g, y);
  g.gpu_tile(x, z, 16, 1)
      .vectorize(x, 2)
      .gpu_blocks(w)
      .march(y)
      .stage(f, MemoryType::Shared, LoadPolicy::Strided);
  const Box box{{-8, 37}, {3, 11}, {17, 2}, {-6, 2}};
  const auto memory = bind_demanded({g}, box, {u}, 3);
  for (const Target& target : all_targets()) EXPECT_TRUE(matches_oracle({g}, box, target));
  const std::string ptx = compile_to_ptx(g, 90);
  EXPECT_LT(std::ranges::count(ptx, '\n'), 20000) << "written out it was 93,000 lines";
}

}  // namespace
}  // namespace mica::test
