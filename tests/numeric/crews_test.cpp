// Marches in which further warps fill planes at their own pace, against the oracle on every target. The
// emulator finds planes that are read before they are there, places that are filled while they are read,
// and barriers to which too many or too few come.
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/check_targets.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

const Var x("x"), y("y"), z("z");

/// How inputs are staged, and what stands beside that.
struct Split {
  std::string name;
  LoadPolicy load = LoadPolicy::TwoStep;
  int ahead = 0, warps = 1, chunk = 5, vec = 1;
  bool window = false, scatter = false;
};
void PrintTo(const Split& s, std::ostream* out) { *out << s.name; }

void apply(const Split& s, TestPipeline& p) {
  Func& f = p.output();
  const auto v = f.args();
  if (v.size() == 2) {
    f.gpu_tile(v[0], 32);
  } else {
    f.gpu_tile(v[0], v[1], 8, 4);
  }
  if (s.vec > 1) f.vectorize(v[0], s.vec);
  f.march(v.back(), s.chunk);
  for (const ImageParam& u : p.inputs) {
    f.stage(u, MemoryType::Shared, s.load);
    if (s.window) f.register_window(u, v.back());
    if (s.ahead > 0) f.pipeline(u, s.ahead);
  }
  if (s.scatter) f.scatter(v.back());
  f.warp_split(s.warps);
}

void check(TestPipeline p, const Box& box, const std::function<void(TestPipeline&)>& schedule,
           Layout layout = Layout::Dense) {
  const auto keep = p.bind(box, 11, Contents::Ordinary, layout);
  const auto expected = expected_values(p.outputs, box);
  schedule(p);
  for (const Target& target : all_targets()) {
    EXPECT_TRUE(run_matches(expected, p.outputs, box, target, layout));
  }
}

/// A star that reaches whole pieces of 16 bytes in x.
TestPipeline wide_star(Type type, int dimensions, int radius) {
  const std::vector<Var> v = grid_vars(dimensions);
  const ImageParam u(type, dimensions, "u");
  Func next("next");
  const int across = 16 / type.bytes();
  Expr total = u(shifted(v, 0, 0));
  int taps = 0;
  for (int d = 0; d < dimensions; ++d) {
    for (int r = 1; r <= (d == 0 ? 1 : radius); ++r) {
      const int far = d == 0 ? across : r;
      total = total + weight(type, taps++) * (u(shifted(v, d, -far)) - u(shifted(v, d, far)));
    }
  }
  next(shifted(v, 0, 0)) = total;
  return {"wide_star", {next}, {next}, {u}};
}

std::vector<Split> splits() {
  const LoadPolicy plain = LoadPolicy::TwoStep, async = LoadPolicy::AsyncCopy, bulk = LoadPolicy::Bulk;
  return {
      {.name = "two_step", .load = plain},
      {.name = "two_step_ahead_1", .load = plain, .ahead = 1, .warps = 2},
      {.name = "two_step_ahead_3", .load = plain, .ahead = 3},
      {.name = "two_step_farther_ahead_than_barriers_reach", .load = plain, .ahead = 9, .chunk = 0},
      {.name = "two_step_window_vectors", .load = plain, .ahead = 1, .vec = 4, .window = true},
      {.name = "two_step_scatter", .load = plain, .ahead = 2, .scatter = true},
      {.name = "async", .load = async, .warps = 4},
      {.name = "async_ahead_1_vectors", .load = async, .ahead = 1, .vec = 2},
      {.name = "async_ahead_4", .load = async, .ahead = 4, .warps = 2, .chunk = 11},
      {.name = "async_farther_ahead_than_the_chunk", .load = async, .ahead = 5, .chunk = 2},
      {.name = "async_window", .load = async, .ahead = 2, .window = true},
      {.name = "async_scatter", .load = async, .ahead = 3, .chunk = 0, .scatter = true},
      {.name = "bulk", .load = bulk},
      {.name = "bulk_ahead_3", .load = bulk, .ahead = 3, .warps = 2, .chunk = 0},
      {.name = "bulk_ahead_11", .load = bulk, .ahead = 11, .chunk = 0},
      {.name = "bulk_window_farther_ahead_than_the_chunk",
       .load = bulk,
       .ahead = 4,
       .chunk = 3,
       .window = true},
      {.name = "bulk_scatter", .load = bulk, .ahead = 2, .chunk = 7, .vec = 4, .scatter = true},
  };
}

class Crews : public testing::TestWithParam<std::tuple<int, Split, Layout>> {};

TEST_P(Crews, GiveTheBitsOfTheOracle) {
  const auto& [radius, split, layout] = GetParam();
  check(
      wide_star(Float(32), 3, radius), {{-4, 44}, {3, 11}, {-2, 16}},
      [&split = split](TestPipeline& p) { apply(split, p); }, layout);
}

INSTANTIATE_TEST_SUITE_P(All, Crews,
                         testing::Combine(testing::Values(1, 3), testing::ValuesIn(splits()),
                                          testing::Values(Layout::Dense, Layout::Embedded)),
                         [](const auto& tested) {
                           return "radius" + std::to_string(std::get<0>(tested.param)) + "_" +
                                  std::get<1>(tested.param).name +
                                  (std::get<2>(tested.param) == Layout::Dense ? "_aligned" : "");
                         });

TEST(CrewsMarch, TakeEveryElementType) {
  for (const Type type : {Float(32), Float(64), Float(16), BFloat(16), Int(8), UInt(16), Int(64)}) {
    for (const LoadPolicy load : {LoadPolicy::TwoStep, LoadPolicy::AsyncCopy, LoadPolicy::Bulk}) {
      const bool narrow = type.bytes() < 4 && load == LoadPolicy::AsyncCopy;
      const Split split{.name = "types", .load = load, .ahead = 2, .vec = narrow ? 4 / type.bytes() : 1};
      SCOPED_TRACE(to_string(type) + ", " + to_string(load));
      TestPipeline p = wide_star(type, 3, 1);
      if (load == LoadPolicy::Bulk) {
        // Rows of 8 points are no whole pieces of the narrow types.
        check(p, {{16, 64}, {0, 6}, {0, 7}}, [&](TestPipeline& q) {
          q.output().gpu_tile("x", "y", 32, 2).march("z", 4);
          q.output().stage(q.inputs[0], MemoryType::Shared, load).pipeline(q.inputs[0], 2);
          q.output().warp_split(1);
        });
      } else {
        check(p, {{16, 40}, {0, 6}, {0, 7}}, [&](TestPipeline& q) { apply(split, q); });
      }
    }
  }
}

TEST(CrewsMarch, WalkTwoDimensions) {
  for (const Split& split : splits()) {
    SCOPED_TRACE(split.name);
    check(wide_star(Float(32), 2, 2), {{0, 70}, {2, 23}}, [&](TestPipeline& p) { apply(split, p); });
  }
}

TEST(CrewsMarch, TakeExtentsOfOne) {
  for (const Split& split : splits()) {
    for (const Box& box : {Box{{0, 1}, {0, 9}, {0, 8}}, Box{{0, 24}, {5, 1}, {0, 8}},
                           Box{{0, 24}, {0, 9}, {3, 1}}, Box{{7, 1}, {7, 1}, {7, 1}}}) {
      SCOPED_TRACE(split.name);
      check(wide_star(Float(32), 3, 1), box, [&](TestPipeline& p) { apply(split, p); });
    }
  }
}

// Planes of several inputs, each filled and asked for in its own way.
TEST(CrewsMarch, FillSeveralRings) {
  const LoadPolicy plain = LoadPolicy::TwoStep, async = LoadPolicy::AsyncCopy, bulk = LoadPolicy::Bulk;
  struct Ways {
    LoadPolicy a, b, c;
    int ahead[3];
  };
  for (const Ways& w : {Ways{plain, plain, plain, {0, 2, 1}}, Ways{async, async, async, {3, 1, 2}},
                        Ways{bulk, bulk, bulk, {1, 3, 2}}, Ways{async, plain, plain, {2, 0, 1}},
                        Ways{plain, async, bulk, {1, 3, 2}}, Ways{bulk, plain, bulk, {0, 8, 2}},
                        Ways{bulk, async, plain, {2, 0, 0}}}) {
    SCOPED_TRACE(to_string(w.a) + ", " + to_string(w.b) + ", " + to_string(w.c));
    const ImageParam a(Float(32), 3, "a"), b(Float(32), 3, "b"), c(Float(64), 3, "c");
    Func next("next");
    next(x, y, z) = a(x - 4, y, z) * a(x + 4, y, z - 1) + a(x, y, z + 2) +
                    b(x, y - 1, z) * b(x, y + 2, z) - b(x + 4, y, z - 1) * b(x - 4, y, z) +
                    cast<float>(c(x - 2, y, z + 1) * c(x + 2, y + 1, z));
    check({"three_inputs", {next}, {next}, {a, b, c}}, {{4, 40}, {0, 11}, {-3, 13}},
          [&](TestPipeline& p) {
            p.output().gpu_tile("x", "y", 8, 4).march("z", 6);
            const LoadPolicy loads[] = {w.a, w.b, w.c};
            for (std::size_t i = 0; i < 3; ++i) {
              p.output().stage(p.inputs[i], MemoryType::Shared, loads[i]);
              if (w.ahead[i] > 0) p.output().pipeline(p.inputs[i], w.ahead[i]);
            }
            p.output().warp_split(2);
          });
  }
}

// Threads of the tile fill planes of their own, which they alone wait for; the further warps fill what
// both stages of the tile read.
TEST(CrewsMarch, LeaveTheStagesOfATileToTheTile) {
  for (const LoadPolicy load : {LoadPolicy::TwoStep, LoadPolicy::AsyncCopy}) {
    for (const int ahead : {0, 1, 2}) {
      for (const bool registers : {false, true}) {
        SCOPED_TRACE(to_string(load) + ", " + std::to_string(ahead) + (registers ? ", registers" : ""));
        const ImageParam u(Float(32), 3, "u"), w(Float(32), 3, "w");
        Func next("next"), once("once");
        once(x, y, z) = u(x - 1, y, z) + 2.0F * u(x, y + 1, z) - u(x, y, z - 1) + u(x, y, z + 1);
        const int beside = registers ? 0 : 1;
        next(x, y, z) = once(x - beside, y, z) - once(x, y + beside, z) + once(x, y, z + 1) * 0.5F +
                        w(x, y - 1, z) * w(x + 1, y, z - 1);
        check({"two_stages", {once, next}, {next}, {u, w}}, {{0, 37}, {2, 10}, {-4, 15}},
              [&](TestPipeline& p) {
                Func f = p.output(), b = p.func("once");
                f.gpu_tile("x", "y", 8, 4).march("z", 6).stage(p.inputs[1], MemoryType::Shared, load);
                b.compute_at(f, "z.march").stage(p.inputs[0], MemoryType::Shared, load);
                if (registers) b.store_in(MemoryType::Register);
                if (ahead > 0) f.pipeline(p.inputs[1], ahead), b.pipeline(p.inputs[0], ahead);
                f.warp_split(1);
              });
      }
    }
  }
}

// The copy engine says of no plane that it is there in steps that read none: computing threads that
// begin earlier, or end later, must not come to a barrier twice.
TEST(CrewsMarch, StayTogetherWhereTheCopyEngineSaysNothing) {
  for (const int reach : {1, 3}) {
    for (const int of_once : {0, 2}) {
      SCOPED_TRACE(std::to_string(reach) + ", " + std::to_string(of_once));
      const ImageParam u(Float(32), 3, "u"), w(Float(32), 3, "w");
      Func next("next"), once("once");
      once(x, y, z) = u(x - 4, y, z) * u(x + 4, y, z) + u(x, y, z);
      next(x, y, z) =
          once(x, y, z - reach) - once(x, y, z + reach) * 0.5F + w(x - 4, y, z) * w(x + 4, y, z);
      check({"two_stages", {once, next}, {next}, {u, w}}, {{0, 40}, {0, 12}, {0, 17}},
            [&](TestPipeline& p) {
              Func f = p.output(), b = p.func("once");
              f.gpu_tile("x", "y", 8, 4).march("z", 0);
              f.stage(p.inputs[1], MemoryType::Shared, LoadPolicy::Bulk).pipeline(p.inputs[1], 1);
              b.compute_at(f, "z").stage(p.inputs[0], MemoryType::Shared, LoadPolicy::Bulk);
              b.pipeline(p.inputs[0], 3);
              if (of_once > 0) f.pipeline(b, of_once);
              f.warp_split(1);
            });
    }
  }
}

// A march stands around all other loops of its block: what is staged has the planes of every c.
TEST(CrewsMarch, FillWhatLoopsInsideAStepRead) {
  for (const LoadPolicy load : {LoadPolicy::TwoStep, LoadPolicy::AsyncCopy}) {
    const Var c("c"), bx("bx"), by("by"), tx("tx"), ty("ty");
    const ImageParam u(Float(32), 4, "u");
    Func next("next");
    next(x, y, z, c) = u(x - 1, y, z, c) + u(x, y + 1, z, c) * u(x, y, z - 1, c) - u(x, y, z + 1, c);
    const Box box{{0, 21}, {0, 10}, {-2, 9}, {0, 3}};
    const auto keep = bind_random(u, {{-1, 23}, {0, 12}, {-3, 11}, {0, 3}}, 5);
    const auto expected = expected_values({next}, box);
    next.tile(x, y, bx, by, tx, ty, 8, 4).reorder(tx, ty, z, c, bx, by).gpu_blocks(bx, by);
    next.gpu_threads(tx, ty).march(z, 0).stage(u, MemoryType::Shared, load).pipeline(u, 2);
    next.bound(c, 0, 3).warp_split(1);
    EXPECT_NE(next.print_plan(Target{Backend::Cuda, 0}).find("crews"), std::string::npos);
    for (const Target& target : all_targets()) {
      EXPECT_TRUE(run_matches(expected, {next}, box, target));
    }
  }
}

// What is the same in every plane is filled once, before the crews part.
TEST(CrewsMarch, ReadWhatIsFilledOnce) {
  for (const LoadPolicy load : {LoadPolicy::TwoStep, LoadPolicy::AsyncCopy, LoadPolicy::Bulk}) {
    for (const int warps : {0, 1, 2}) {
      SCOPED_TRACE(to_string(load) + ", " + std::to_string(warps));
      const ImageParam u(Float(32), 3, "u"), w(Float(32), 2, "w");
      Func next("next");
      next(x, y, z) = u(x - 4, y + 1, z - 1) * w(x + 4, y - 1) + u(x + 4, y, z + 1) * w(x - 4, y);
      check({"filled_once", {next}, {next}, {u, w}}, {{4, 40}, {0, 11}, {-3, 13}}, [&](TestPipeline& p) {
        p.output().gpu_tile("x", "y", 8, 4).march("z", 6);
        for (const ImageParam& in : p.inputs) p.output().stage(in, MemoryType::Shared, load);
        if (warps > 0) p.output().warp_split(warps);
      });
    }
  }
}

// What is staged need not be an array: a boundary condition, or what is computed of several taps.
TEST(CrewsMarch, ComputeWhatIsStaged) {
  for (const int ahead : {0, 2}) {
    const ImageParam u(Float(32), 3, "u");
    Func edge = BoundaryConditions::mirror_image(u), twice("twice"), next("next");
    twice(x, y, z) = edge(x, y, z) + 0.5F * edge(x + 1, y, z);
    next(x, y, z) = twice(x - 1, y, z) * twice(x, y + 1, z) + twice(x, y, z - 1) - twice(x, y, z + 1);
    const Box box{{-3, 27}, {4, 11}, {-6, 13}};
    const auto keep = bind_random(u, box, 5);
    const auto expected = expected_values({next}, box);
    next.gpu_tile(x, y, 8, 4).march(z, 5).stage(twice, MemoryType::Shared).warp_split(2);
    if (ahead > 0) next.pipeline(twice, ahead);
    for (const Target& target : all_targets()) {
      EXPECT_TRUE(run_matches(expected, {next}, box, target));
    }
  }
}

}  // namespace
}  // namespace mica::test
