// Updates whose iterations over their domain run in any order: those that write different points, and
// atomic ones.
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "tests/passes/lowered.h"
#include "tests/support/check_targets.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

const Var x("x");
const Var y("y");

using Schedules = std::vector<std::function<void(Stage)>>;

/// `f`, whose last update takes each of the schedules, over `box` on every target.
void check_update(Func& f, const Box& box, const Schedules& schedules) {
  const auto expected = expected_values({f}, box);
  const int last = static_cast<int>(f.function()->definitions.size()) - 2;
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    f.clear_schedule();
    schedules[i](f.update(last));
    for (const Target& target : all_targets()) {
      EXPECT_TRUE(run_matches(expected, {f}, box, target)) << "schedule " << i;
    }
  }
}

TEST(AnyOrder, EachRowIsItsOwn) {
  const ImageParam u(Float(32), 2, "u");
  const RDom r({{1, 9}});
  Func f("f");
  f(x, y) = u(x, y);
  f(x, r) += 2.0F * u(x, r) * f(x, r);
  const Box box{{-3, 37}, {0, 12}};
  const auto memory = bind_random(u, box, 1);
  check_update(f, box,
               {[](Stage) {}, [&](Stage s) { s.gpu_tile(x, r, 16, 2); },
                [&](Stage s) { s.reorder(x, r).gpu_tile(r, 4); },
                [&](Stage s) { s.reorder(x, r).parallel(r).vectorize(x, 8); },
                [&](Stage s) { s.gpu_tile(x, 32).unroll(r, 3); }, [&](Stage s) { s.vectorize(r, 4); }});
}

TEST(AnyOrder, AssignsPointByPointWithinParams) {
  const ImageParam u(Int(32), 2, "u");
  Param<int> width("width"), height("height");
  const RDom r({{2, width}, {1, height}});
  Func f("f");
  f(x, y) = -1;
  f(r.y - 1, r.x) = u(r.x, r.y) + 10 * r.x;
  const Box box{{0, 29}, {0, 33}};
  const auto memory = bind_random(u, {{0, 40}, {0, 40}}, 2);
  for (const auto& [w, h] : {std::pair(17, 23), std::pair(31, 1), std::pair(0, 4), std::pair(3, -2)}) {
    width.set(w);
    height.set(h);
    check_update(f, box,
                 {[](Stage) {}, [&](Stage s) { s.gpu_tile(r.x, r.y, 8, 4); },
                  [&](Stage s) { s.gpu_tile(r.y, 32).vectorize(r.y, 4); },
                  [&](Stage s) { s.reorder(r.y, r.x).vectorize(r.y, 8).parallel(r.x); },
                  [&](Stage s) { s.fuse(r.x, r.y, "xy").gpu_tile("xy", 64); }});
  }
}

TEST(AnyOrder, OnlyDimensionsOfTheLeftSideAreFree) {
  const ImageParam u(Float(32), 2, "u");
  RDom r({{0, 21}, {0, 7}});
  r.where(r.x % 3 != 1);
  Func f("f");
  f(x) = 0.0F;
  f(r.x + 2) += u(r.x, r.y);
  const Box box{{0, 26}};
  const auto memory = bind_random(u, {{0, 21}, {0, 7}}, 3);
  check_update(
      f, box,
      {[](Stage) {}, [&](Stage s) { s.gpu_tile(r.x, 8); },
       [&](Stage s) { s.gpu_tile(r.x, 8).unroll(r.y, 2); },
       [&](Stage s) { s.reorder(r.y, r.x).parallel(r.x); }, [&](Stage s) { s.vectorize(r.x, 4); }});
}

TEST(AnyOrder, WithoutDirectivesTheGpuTakesWhatIsFree) {
  const ImageParam u(Float(32), 2, "u");
  const RDom r({{0, 21}, {0, 7}});
  Func f("f"), g("g");
  f(x) = 0.0F;
  f(r.x) += u(r.x, r.y);
  g(x) = f(x) + 1.0F;
  f.compute_root();
  for (const auto& nest : lowered(g, Backend::Cuda).nests) EXPECT_TRUE(nest.on_device) << nest.func;
  const auto memory = bind_random(u, {{0, 21}, {0, 7}}, 4);
  for (const Target& target : all_targets()) EXPECT_TRUE(matches_oracle({g}, {{0, 21}}, target));
}

// ---- atomics ---------------------------------------------------------------------------------------

const Box kImage{{0, 40}, {0, 21}};

template <typename T>
void check_histogram(const std::function<Expr(Expr, Expr)>& combine, T start) {
  const ImageParam u(type_of<T>(), 2, "u");
  RDom r({{0, 40}, {0, 21}});
  r.where(u(r.x, r.y) % 5 != 0);
  Func h("h");
  h(x) = make_const(type_of<T>(), start);
  const Expr bin = cast<int>(u(r.x, r.y) % 13);
  h(bin) = combine(h(bin), u(r.x, r.y));
  const auto memory = bind_random(u, kImage, 5);
  check_update(h, {{0, 13}},
               {[](Stage) {}, [&](Stage s) { s.atomic().gpu_tile(r.x, r.y, 8, 4); },
                [&](Stage s) { s.atomic().gpu_tile(r.y, 4); },
                [&](Stage s) { s.atomic().parallel(r.y).vectorize(r.x, 4); },
                [&](Stage s) { s.atomic().fuse(r.x, r.y, "xy").gpu_tile("xy", 64).unroll("xy", 2); },
                [&](Stage s) { s.atomic(); }});
}

TEST(Atomic, EveryOperationOfEveryType) {
  const std::vector<std::function<Expr(Expr, Expr)>> operations = {
      [](const Expr& a, const Expr& b) { return a + b; },
      [](const Expr& a, const Expr& b) { return b + a; },
      [](const Expr& a, const Expr& b) { return a - b; },
      [](const Expr& a, const Expr& b) { return min(a, b); },
      [](const Expr& a, const Expr& b) { return max(b, a); },
      [](const Expr& a, const Expr& b) { return a & b; },
      [](const Expr& a, const Expr& b) { return a | b; },
      [](const Expr& a, const Expr& b) { return a ^ b; }};
  for (const auto& operation : operations) {
    check_histogram<std::int32_t>(operation, 77);
    check_histogram<std::int64_t>(operation, -77);
    check_histogram<std::uint32_t>(operation, 3000000077U);
    check_histogram<std::uint64_t>(operation, 0x8000000000000007U);
  }
}

TEST(Atomic, AHistogramOfEachRowAndItsCount) {
  const ImageParam u(UInt(8), 2, "u");
  const RDom r({{0, 40}});
  Func h("h");
  h(x, y) = Tuple(Expr(0), cast<std::int64_t>(5));
  const Expr bin = cast<int>(u(r.x, y));
  h(bin, y) = Tuple(h(bin, y)[0] + 1, max(h(bin, y)[1], cast<std::int64_t>(r.x)));
  const auto memory = bind_random(u, kImage, 6);
  check_update(h, {{0, 256}, {0, 21}},
               {[](Stage) {}, [&](Stage s) { s.atomic().gpu_tile(r.x, y, 8, 4); },
                [&](Stage s) { s.atomic().parallel(r.x); }});
}

TEST(Atomic, AHistogramWithoutDirectivesRunsOnTheGpu) {
  const ImageParam u(UInt(8), 2, "u");
  const RDom r(u);
  Func h("h"), g("g");
  h(x) = 0;
  h(cast<int>(u(r.x, r.y))) += 1;
  g(x) = h(x) * 2;
  for (const auto& nest : lowered(g, Backend::Cuda).nests) EXPECT_TRUE(nest.on_device) << nest.func;
  EXPECT_EQ(count(loops(g, Backend::Cuda), "atomic h[..]"), 1);
  const auto memory = bind_random(u, kImage, 7);
  for (const Target& target : all_targets()) EXPECT_TRUE(matches_oracle({g}, {{0, 256}}, target));
}

// ---- one thread ------------------------------------------------------------------------------------

TEST(SingleThread, TakesWhatNothingSpreads) {
  const ImageParam u(Float(32), 1, "u");
  const RDom r({{0, 33}});
  Func total("total"), walk("walk"), f("f");
  total(x) = 0.0F;
  total(3) += u(r);
  walk(x) = select(x == 0, u(x), 0.5F * walk(x - 1) + u(x));
  f(x) = walk(x) * total(3);
  const auto memory = bind_random(u, {{0, 33}}, 8);
  for (const auto& nest : lowered(f, Backend::Cuda).nests) EXPECT_TRUE(nest.on_device) << nest.func;
  for (const Target& target : all_targets()) EXPECT_TRUE(matches_oracle({f}, {{0, 33}}, target));
  // The same as a directive, also of Funcs with dimensions to spread.
  f.gpu_single_thread();
  walk.compute_root().gpu_single_thread();
  EXPECT_EQ(count(f.print_loop_nest(Target::gpu_emulator()), "on the host"), 0);
  for (const Target& target : all_targets()) EXPECT_TRUE(matches_oracle({f}, {{0, 33}}, target));
}

TEST(SingleThread, KeepsTheOrderThatTheUserGivesTheLoops) {
  const ImageParam u(Float(32), 1, "u");
  const RDom r({{0, 33}});
  Func f("f");
  f(x) = u(x);
  f(3) += u(r);
  f.gpu_tile(x, 16);
  f.update().unroll(r, 4);
  const auto memory = bind_random(u, {{0, 33}}, 10);
  for (const auto& nest : lowered(f, Backend::Cuda).nests) EXPECT_TRUE(nest.on_device) << nest.func;
  for (const Target& target : all_targets()) EXPECT_TRUE(matches_oracle({f}, {{0, 33}}, target));
}

TEST(SingleThread, HoldsOtherFuncsInItsLoops) {
  const ImageParam u(Int(32), 2, "u");
  Func g("g"), f("f");
  g(x, y) = u(x, y) + u(x, y + 1);
  f(x, y) = g(x, y) * g(x + 1, y);
  f.gpu_single_thread();
  const Box box{{0, 9}, {0, 5}};
  const auto memory = bind_random(u, {{0, 10}, {0, 6}}, 9);
  for (const char* loop : {"x", "y", "single.thread"}) {
    g.clear_schedule().compute_at(f, loop);
    EXPECT_EQ(lowered(f, Backend::Cuda).nests.size(), 1U);
    for (const Target& target : all_targets()) EXPECT_TRUE(matches_oracle({f}, box, target)) << loop;
  }
}

TEST(SingleThread, IsNotGivenWhatItWouldTakeLongOver) {
  const ImageParam u(Float(32), 2, "u");
  const RDom r({{0, 2048}, {0, 1024}});
  Func total("total"), f("f");
  total(x) = 0.0F;
  total(3) += u(r.x, r.y);
  f(x) = total(3) + cast<float>(x);
  const std::string text = loops(f, Backend::Cuda);
  EXPECT_EQ(count(text, "// on the host"), 1) << text;
}

}  // namespace
}  // namespace mica::test
