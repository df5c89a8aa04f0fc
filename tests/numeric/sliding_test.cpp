// Sliding Funcs against the oracle: kinds of loops, tails, extents, chains, scaled and clamped taps.
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/check_targets.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

const Var x("x"), y("y"), xo("xo"), xi("xi"), yo("yo"), yi("yi");

using Rule = std::function<void(Func& output, std::vector<Func>& stages)>;

const std::vector<Rule>& rules() {
  static const std::vector<Rule> list = {
      [](Func& f, std::vector<Func>& stages) {
        f.vectorize(x, 8);
        for (Func& s : stages) s.compute_at(f, y).store_root().vectorize(x, 4);
      },
      [](Func& f, std::vector<Func>& stages) {
        f.split(y, yo, yi, 4).vectorize(x, 4).parallel(yo);
        for (Func& s : stages) s.compute_at(f, yi).store_at(f, yo).vectorize(x, 8);
      },
      [](Func& f, std::vector<Func>& stages) {
        f.split(y, yo, yi, 4, TailStrategy::ShiftInwards).vectorize(x, 4, TailStrategy::ShiftInwards);
        for (Func& s : stages) {
          s.compute_at(f, yo).store_root().vectorize(x, 8, TailStrategy::ShiftInwards).unroll(y, 2);
        }
      },
      [](Func& f, std::vector<Func>& stages) {
        f.vectorize(x, 4);
        for (Func& s : stages) s.compute_at(f, x).store_at(f, y).vectorize(x, 4);
      },
      [](Func& f, std::vector<Func>& stages) {
        f.reorder(y, x);
        for (Func& s : stages) s.compute_at(f, y).store_root();
      },
      [](Func& f, std::vector<Func>& stages) {
        f.tile(x, y, xo, yo, xi, yi, 8, 3).vectorize(xi, 4).parallel(yo);
        for (Func& s : stages) s.compute_at(f, yi).store_at(f, xo).vectorize(y, 2);
      },
      [](Func& f, std::vector<Func>& stages) {
        f.tile(x, y, xo, yo, xi, yi, 8, 3).reorder(xi, xo, yi, yo);
        for (Func& s : stages) s.compute_at(f, xo).store_at(f, yo);
      },
      [](Func& f, std::vector<Func>& stages) {
        f.unroll(y, 3);
        for (Func& s : stages) s.compute_at(f, "y.unroll").store_root().reorder_storage(y, x);
      },
      [](Func& f, std::vector<Func>& stages) {
        f.fuse(x, y, xo);
        for (Func& s : stages) s.compute_at(f, xo).store_root();
      },
      [](Func& f, std::vector<Func>& stages) {
        f.vectorize(x, 8);
        for (std::size_t i = 0; i < stages.size(); ++i) {
          stages[i].compute_at(f, y).vectorize(x, 8);
          if (i % 2 == 0) stages[i].store_root();
        }
      },
  };
  return list;
}

/// Every rule, over boxes of one row, one column and more, each rule over two of them.
void check(const std::function<TestPipeline()>& make) {
  std::uint64_t seed = 1;
  for (const Box& box : {Box{{-5, 39}, {3, 11}}, Box{{0, 1}, {0, 1}}, Box{{2, 1}, {-1, 9}},
                         Box{{2, 17}, {-1, 1}}, Box{{0, 16}, {0, 12}}}) {
    TestPipeline p = make();
    const auto memory = p.bind(box, ++seed);
    const std::vector<AnyBuffer> expected = expected_values(p.outputs, box);
    for (std::size_t r = 0; r < rules().size(); ++r) {
      const std::size_t turn = (static_cast<std::size_t>(seed) + 5 - r % 5) % 5;
      if (turn > 1) continue;
      for (Func& f : p.funcs) f.clear_schedule();
      std::vector<Func> stages;
      for (const Func& f : p.funcs) {
        if (f.name() != p.output().name()) stages.push_back(f);
      }
      rules()[r](p.output(), stages);
      EXPECT_TRUE(run_matches(expected, p.outputs, box, Target::host()))
          << "rule " << r << ", " << box[0].second << " x " << box[1].second;
    }
  }
}

TestPipeline of(std::vector<Func> funcs, const ImageParam& u) {
  TestPipeline p;
  p.name = "sliding";
  p.outputs = {funcs.back()};
  p.funcs = std::move(funcs);
  p.inputs = {u};
  return p;
}

TEST(Sliding, AChain) {
  check([] {
    const ImageParam u(Float(32), 2, "u");
    Func a("a"), b("b"), c("c"), f("f");
    a(x, y) = u(x - 1, y) + u(x + 1, y + 1);
    b(x, y) = a(x, y - 1) * a(x + 2, y + 1);
    c(x, y) = b(x - 1, y) + a(x, y);
    f(x, y) = c(x, y - 2) + b(x, y) + c(x + 1, y + 1);
    return of({a, b, c, f}, u);
  });
}

TEST(Sliding, ScaledTaps) {
  check([] {
    const ImageParam u(Float(32), 2, "u");
    Func up("up"), down("down"), f("f");
    down(x, y) = u(2 * x, 2 * y) + u(2 * x + 1, 2 * y + 1);
    up(x, y) = down(x / 2, y / 2) + down(x / 2 + 1, y / 2 + 1);
    f(x, y) = up(x, y - 1) + up(x + 1, y + 1);
    return of({down, up, f}, u);
  });
}

TEST(Sliding, ClampedTaps) {
  check([] {
    const ImageParam u(Float(32), 2, "u");
    Func a("a"), f("f");
    a(x, y) = u(x, y) * 2.0F;
    f(x, y) = a(clamp(x - 1, -2, 9), clamp(y - 1, 0, 6)) + a(clamp(x + 1, -2, 9), clamp(y + 1, 0, 6));
    return of({a, f}, u);
  });
}

TEST(Sliding, TapsThatGoOtherWays) {
  check([] {
    const ImageParam u(Float(32), 2, "u");
    Func a("a"), b("b"), f("f");
    a(x, y) = u(x, y) * 2.0F;
    b(x, y) = a(-x, y) + a(x + y, 1 - y);
    f(x, y) = b(x, min(y, 3)) + b(max(x, y), y + 1) + a(y, x);
    return of({a, b, f}, u);
  });
}

TEST(Sliding, TuplesAndUpdates) {
  check([] {
    const ImageParam u(Float(32), 2, "u");
    const RDom r({{0, 3}}, "r");
    Func a("a"), b("b"), f("f");
    a(x, y) = Tuple(u(x, y), u(x, y + 1) * 2.0F);
    b(x, y) = a(x, y - 1)[0];
    b(x, y) += a(x, y + r)[1];
    f(x, y) = b(x, y - 1) + b(x, y + 1);
    return of({a, b, f}, u);
  });
}

TEST(Sliding, AFuncThatAnUpdateReads) {
  const ImageParam u(Float(32), 2, "u");
  const RDom r({{0, 5}}, "r");
  Func a("a"), f("f");
  a(x, y) = u(x, y) * 2.0F;
  f(x, y) = a(x, y - 1) + a(x, y + 1);
  f(x, y) += a(x + r, y) * a(x + r + 1, y);
  f.reorder(x, y);
  f.update(0).reorder(r, x, y);
  const Box box{{-5, 23}, {3, 11}};
  const auto memory = bind_demanded({f}, box, {u}, 6);
  const std::vector<AnyBuffer> expected = expected_values({f}, box);
  a.compute_at(f, y).store_root();
  EXPECT_TRUE(run_matches(expected, {f}, box, Target::host()));
  f.clear_schedule().split(y, yo, yi, 4);
  f.update(0).split(y, yo, yi, 4).reorder(x, r, yi, yo);
  a.clear_schedule().compute_at(f, yi).store_at(f, yo);
  EXPECT_TRUE(run_matches(expected, {f}, box, Target::host()));
}

TEST(Sliding, StorageAtALoopOfAnotherFunc) {
  const ImageParam u(Float(32), 2, "u");
  Func a("a"), b("b"), f("f");
  a(x, y) = u(x, y) * 2.0F;
  b(x, y) = a(x, y - 1) + a(x + 1, y + 1);
  f(x, y) = b(x, y) + b(x, y + 1);
  const Box box{{-5, 23}, {3, 11}};
  const auto memory = bind_demanded({f}, box, {u}, 7);
  const std::vector<AnyBuffer> expected = expected_values({f}, box);
  f.split(y, yo, yi, 4).reorder(x, yi, yo);
  b.compute_at(f, yi).store_at(f, yo).reorder(x, y);
  for (const auto& loop : {x, y}) {
    a.clear_schedule().compute_at(b, loop).store_at(f, yo);
    EXPECT_TRUE(run_matches(expected, {f}, box, Target::host())) << loop.name();
    a.clear_schedule().compute_at(b, loop).store_root();
    EXPECT_TRUE(run_matches(expected, {f}, box, Target::host())) << loop.name();
  }
}

TEST(Sliding, WhatLoopsBetweenDoNotMove) {
  check([] {
    const ImageParam u(Float(32), 2, "u");
    Func row("row"), column("column"), f("f");
    row(x, y) = u(x, 3) * 2.0F + u(x, y);
    column(x, y) = row(x, 2) + row(x + 1, 4);
    f(x, y) = column(x, 0) + column(x + 2, 1) + row(x - 1, y) + row(3, y + 1);
    return of({row, column, f}, u);
  });
}

TEST(Sliding, FoldsByHand) {
  const ImageParam u(Float(32), 2, "u");
  Func a("a"), f("f");
  a(x, y) = u(x, y) * 2.0F;
  f(x, y) = a(x - 1, y - 1) + a(x + 2, y + 1);
  const Box box{{-5, 23}, {3, 11}};
  const auto memory = bind_demanded({f}, box, {u}, 8);
  const std::vector<AnyBuffer> expected = expected_values({f}, box);
  f.reorder(x, y);
  for (const int factor : {3, 5, 8, 100}) {
    a.clear_schedule().compute_at(f, y).store_root().fold_storage(y, factor).vectorize(x, 4);
    EXPECT_TRUE(run_matches(expected, {f}, box, Target::host())) << factor;
  }
  f.clear_schedule().vectorize(x, 4).reorder("x.vec", x, y);
  for (const int factor : {7, 8, 10}) {
    a.clear_schedule().compute_at(f, x).store_at(f, y).fold_storage(x, factor).vectorize(x, 4);
    EXPECT_TRUE(run_matches(expected, {f}, box, Target::host())) << factor;
  }
}

TEST(Sliding, OrdersOfStorage) {
  for (const auto& maker : pipeline_makers()) {
    if (maker.dimensions != 2) continue;
    TestPipeline p = maker.make();
    const Box box{{-5, 39}, {3, 11}};
    const auto memory = p.bind(box, 9);
    const std::vector<AnyBuffer> expected = expected_values(p.outputs, box);
    for (const Target& target : all_targets()) {
      for (Func& f : p.funcs) {
        f.clear_schedule().compute_root();
        if (target.is_gpu()) schedule_plain_gpu(f);
        const bool is_output = std::any_of(p.outputs.begin(), p.outputs.end(),
                                           [&](const Func& o) { return o.name() == f.name(); });
        const auto& args = f.function()->args;
        if (!is_output && args.size() == 2) f.reorder_storage(args[1], args[0]);
      }
      EXPECT_TRUE(run_matches(expected, p.outputs, box, target)) << maker.name;
    }
  }
}

}  // namespace
}  // namespace mica::test
