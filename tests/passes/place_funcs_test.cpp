// Which Funcs are computed ahead of their readers when no directive says so.
#include "codegen/passes/funcs/place_funcs.h"

#include <string>

#include <gtest/gtest.h>

#include "codegen/lower.h"
#include "dsl/func/func.h"

namespace mica::test {
namespace {

const Var x("x"), y("y");

/// The mean of the (2n + 1)^2 points around (x, y).
Expr box_of(const Func& f, int n) {
  const RDom r({{-n, 2 * n + 1}, {-n, 2 * n + 1}});
  return sum(r, f(x + r.x, y + r.y));
}

class PlaceFuncs : public ::testing::Test {
 protected:
  PlaceFuncs() {
    worked_(x, y) = 2.0F * u_(x, y) + u_(x + 1, y);
    moved_(x, y) = u_(clamp(x, 0, 9), y);
  }
  static bool is_inline(const Func& output, const std::string& func) {
    const LowerOptions options{Target::host(), Variant{}, {}, DeviceLimits{}};
    const Program program = lower(make_pipeline({output.function()}), options, "place_funcs");
    const Placement& placement = program.placement.at(func);
    EXPECT_EQ(placement.reason.empty(), placement.level == Placement::Level::Inline || func == "f");
    return placement.level == Placement::Level::Inline;
  }

  ImageParam u_{Float(32), 2, "u"};
  Func worked_{"worked"}, moved_{"moved"}, f_{"f"};
};

TEST_F(PlaceFuncs, ReadAtAFewDozenPointsAreInline) {
  f_(x, y) = box_of(worked_, 2);
  EXPECT_TRUE(is_inline(f_, "worked"));
}

TEST_F(PlaceFuncs, ReadAtMorePointsAreComputedAhead) {
  f_(x, y) = box_of(worked_, 3);
  EXPECT_FALSE(is_inline(f_, "worked"));
}

TEST_F(PlaceFuncs, SayingSoInTheLoopNest) {
  f_(x, y) = box_of(worked_, 3);
  EXPECT_NE(f_.print_loop_nest(Target::host())
                .find("// worked is computed ahead: inline it would be computed more than 40 times"),
            std::string::npos);
}

TEST_F(PlaceFuncs, OfManyOperationsAreComputedOnce) {
  Expr e = u_(x, y);
  for (int i = 0; i < 150; ++i) e = e * u_(x, y) + 1.0F;
  Func much("much");
  much(x, y) = e;
  f_(x, y) = much(x, y) + much(x, y) * 2.0F;
  EXPECT_TRUE(is_inline(f_, "much"));
  Func twice("f");
  twice(x, y) = much(x, y) + much(x + 1, y);
  EXPECT_FALSE(is_inline(twice, "much"));
}

TEST_F(PlaceFuncs, StayWhereTheScheduleSays) {
  f_(x, y) = box_of(worked_, 3);
  worked_.compute_inline();
  EXPECT_TRUE(is_inline(f_, "worked"));
}

TEST_F(PlaceFuncs, ThatOnlyMoveValuesAreInline) {
  f_(x, y) = box_of(moved_, 3);
  EXPECT_TRUE(is_inline(f_, "moved"));
}

TEST_F(PlaceFuncs, CountTheSamePointOnce) {
  Func first("first"), second("second");
  first(x, y) = worked_(x, y) * worked_(x + 1, y);
  second(x, y) = first(x, y) + first(x + 1, y) * first(x, y);
  f_(x, y) = box_of(second, 1) + second(x, y);
  // 9 points of second, 12 of first, 15 of worked.
  EXPECT_TRUE(is_inline(f_, "worked"));
}

TEST_F(PlaceFuncs, CountThroughOtherInlineFuncs) {
  Func light("light"), middle("middle");
  light(x, y) = 2.0F * u_(x, y);
  middle(x, y) = light(x - 1, y) + light(x, y) + light(x + 1, y);
  Expr far = middle(x + 9, y);
  for (int i = 2; i < 10; ++i) far += middle(x + 9 * i, y);
  f_(x, y) = box_of(middle, 1) + far;
  // 18 points of middle, 3 of light for each, 42 different ones.
  EXPECT_TRUE(is_inline(f_, "middle"));
  EXPECT_FALSE(is_inline(f_, "light"));
}

// A picture's luminance in a pyramid of several intensities: it takes long, and is the same for each.
TEST_F(PlaceFuncs, ThatTakeLongAndAreTheSameForManyPointsAreComputedOnce) {
  const Var k("k");
  Func dear("dear"), cheap("cheap"), levels("f");
  dear(x, y) = exp(u_(x, y)) * exp(u_(x + 1, y));
  cheap(x, y) = u_(x, y) * 0.5F + u_(x + 1, y);
  levels(x, y, k) = dear(x, y) * cast<float>(k) + cheap(x, y);
  EXPECT_FALSE(is_inline(levels, "dear"));
  EXPECT_TRUE(is_inline(levels, "cheap"));
  EXPECT_NE(levels.print_loop_nest(Target::host())
                .find("// dear is computed ahead: inline it would be computed again for each k of f"),
            std::string::npos);
  Func same("f");
  same(x, y) = dear(x, y) + cheap(x, y);
  EXPECT_TRUE(is_inline(same, "dear"));
}

// The last of a sum's steps adds 256 numbers, as each point of what divides by it would otherwise.
TEST_F(PlaceFuncs, SingleValuesThatTakeManyOperationsAreComputedOnce) {
  const RDom all({{0, 512}, {0, 512}}, "all");
  for (const bool scheduled : {false, true}) {
    Func scaled("f"), total("total");
    scaled(x, y) = u_(x, y) / mica::sum(all, u_(all.x, all.y));
    if (scheduled) scaled.parallel(y);
    EXPECT_FALSE(is_inline(scaled, "sum.total"));
    total() = sqrt(mica::sum(all, u_(all.x, all.y)));
    EXPECT_TRUE(is_inline(total, "sum.total"));
    scaled = Func("f");
    scaled(x, y) = u_(x, y) / total();
    if (scheduled) scaled.parallel(y);
    EXPECT_FALSE(is_inline(scaled, "total"));
    Func spread("f");
    spread() = 0.0F;
    spread() += u_(all.x, all.y) - total();
    EXPECT_FALSE(is_inline(spread, "total")) << "of each iteration over all";
  }
}

TEST_F(PlaceFuncs, OfATableThatDataChooseFromAreComputedOnce) {
  const auto table_of = [](const Expr& value) {
    Func table("table");
    table(x) = value;
    return table;
  };
  const Expr fx = cast<float>(x) / 256.0F;
  const Expr index = cast<int>(u_(x, y) * 256.0F);
  const auto reader_of = [&](const Func& table, int last) {
    Func reader("f");
    reader(x, y) = table(clamp(index, 0, last)) + u_(x, y);
    return reader;
  };
  const Func dear = table_of(fx * exp(-fx * fx / 2.0F));
  EXPECT_FALSE(is_inline(reader_of(dear, 1023), "table"));
  EXPECT_NE(reader_of(dear, 1023).print_loop_nest(Target::host()).find("data choose from 1024 values"),
            std::string::npos);
  EXPECT_TRUE(is_inline(reader_of(dear, 1 << 20), "table"));  // more than a picture may have
  EXPECT_TRUE(is_inline(reader_of(table_of(fx * fx), 1023), "table"));
  Func row("f"), both("f");
  row(x, y) = (dear(x) + dear(x + 1)) * u_(x, y);
  EXPECT_FALSE(is_inline(row, "table"));
  both(x, y) = dear(x) * dear(y);  // how far rows are from columns only the launch knows
  EXPECT_TRUE(is_inline(both, "table"));
}

// Computed ahead they would be refused, or be computed at many points that nothing reads.
TEST_F(PlaceFuncs, ThatAreTheSameForManyPointsStayInlineWhereTheirBoxHasNoBounds) {
  Func dear("dear"), f("f"), far("f"), wide("f");
  dear(x) = exp(cast<float>(x)) * exp(cast<float>(x + 1));
  f(x, y) = dear(cast<int>(u_(x, 0)));
  EXPECT_TRUE(is_inline(f, "dear"));
  far(x, y) = dear(1000 * x) + u_(x, y);
  EXPECT_TRUE(is_inline(far, "dear"));
  wide(x, y) = dear(clamp(cast<int>(u_(x, y)), 0, 99) + 1000 * x);
  EXPECT_TRUE(is_inline(wide, "dear"));
  Func ends("f"), large("f");
  ends(x, y) = dear(x) + dear(x + 10000000) * u_(x, y);
  EXPECT_TRUE(is_inline(ends, "dear"));
  const Var c("c");
  large(x, y, c) = dear(clamp(cast<int>(u_(x, y)), 0, (1 << 24) - 1)) * cast<float>(c);
  EXPECT_TRUE(is_inline(large, "dear"));
}

// Who schedules one Func expects the others in it, and GPUs compute faster than they read.
TEST_F(PlaceFuncs, ThatAreTheSameForManyPointsStayInlineWhereSomethingIsScheduled) {
  const Var k("k");
  Func dear("dear"), levels("f");
  dear(x, y) = exp(u_(x, y)) * exp(u_(x + 1, y));
  levels(x, y, k) = dear(x, y) * cast<float>(k);
  const LowerOptions gpu{Target::gpu_emulator(), Variant{}, {}, DeviceLimits{}};
  const Program program = lower(make_pipeline({levels.function()}), gpu, "place_funcs");
  EXPECT_EQ(program.placement.at("dear").level, Placement::Level::Inline);
  levels.parallel(k);
  EXPECT_TRUE(is_inline(levels, "dear"));
}

// What conditions work out is gone inside of the field, and counts for nothing: a flux on a CPU.
TEST_F(PlaceFuncs, OfMirroredFieldsStayInline) {
  const Func b = BoundaryConditions::mirror_image(u_);
  Func flux("flux"), f("f");
  flux(x, y) = (b(x + 1, y) - b(x, y)) * (b(x + 1, y) + b(x, y)) + b(x, y + 1) * b(x, y - 1);
  f(x, y) = flux(x, y) - flux(x - 1, y) + flux(x, y - 1);
  EXPECT_TRUE(is_inline(f, "flux"));
}

// A Laplacian of a Laplacian in 3-D takes 0.9 of a halo's time so, and 1.3 to 1.4 at the root.
TEST_F(PlaceFuncs, OfPeriodicFieldsOfThreeDimensionsStayInline) {
  const Var z("z");
  const auto laplacian = [&](const Func& q) {
    return q(x - 1, y, z) + q(x + 1, y, z) + q(x, y - 1, z) + q(x, y + 1, z) + q(x, y, z - 1) +
           q(x, y, z + 1) - 6.0F * q(x, y, z);
  };
  const Func b = BoundaryConditions::repeat_image(ImageParam(Float(32), 3, "v"));
  Func once("once"), f("f");
  once(x, y, z) = laplacian(b);
  f(x, y, z) = laplacian(once);
  EXPECT_TRUE(is_inline(f, "once"));
}

// Vectors of every other point take shuffles: a level of a pyramid, from clamped taps.
TEST_F(PlaceFuncs, ThatReadEveryOtherPointAreHeavier) {
  const auto taps = [](const Func& b, int stride) {
    Expr e = 1.0F;
    for (int j = -1; j < 3; ++j) {
      e = e + b(stride * x - 1, stride * y + j) + 3.0F * b(stride * x, stride * y + j);
    }
    return e;
  };
  const Func b = BoundaryConditions::repeat_edge(u_);
  for (const int stride : {1, 2}) {
    Func level("level"), f("f");
    level(x, y) = taps(b, stride);
    f(x, y) = level(x, y) + level(x + 1, y) + level(x, y + 1) + level(x + 1, y + 1);
    EXPECT_EQ(is_inline(f, "level"), stride == 1);
  }
}

// The lanes of a vector whose index follows data are loaded one by one.
TEST_F(PlaceFuncs, ThatAskATableAreHeavier) {
  const ImageParam table(Float(32), 1, "table");
  const auto index = [](const Expr& e) { return clamp(cast<int>(e), 0, 255); };
  for (const bool data : {false, true}) {
    Func asks("asks"), f("f");
    Expr e = u_(x, y);
    for (int k = 0; k < 4; ++k) e = e + table(index(data ? u_(x, y + k) : cast<float>(x + k)));
    asks(x, y) = e;
    f(x, y) = asks(x, y) + asks(x + 1, y) + asks(x, y + 1) + asks(x + 1, y + 1);
    EXPECT_EQ(is_inline(f, "asks"), !data);
  }
}

TEST_F(PlaceFuncs, WithoutBoundsAreInline) {
  Func table("table");
  table(x) = 2.0F * cast<float>(x);
  const RDom r({{-3, 7}, {-3, 7}});
  f_(x, y) = sum(r, table(cast<int>(u_(x + r.x, y + r.y))));
  EXPECT_TRUE(is_inline(f_, "table"));
}

TEST_F(PlaceFuncs, WhoseBoxWouldHoldMoreThanIsReadAreInline) {
  const RDom r({{0, 7}, {0, 7}});
  f_(x, y) = sum(r, worked_(100 * x + r.x, y + r.y));
  EXPECT_TRUE(is_inline(f_, "worked"));
  Func diagonal("diagonal");
  diagonal(x, y) = sum(r, worked_(x + r.x, x + r.y));
  EXPECT_TRUE(is_inline(diagonal, "worked"));
}

// Such a Func is read all through, and a next one around it would be computed as often as all paths say.
TEST_F(PlaceFuncs, OfAPeriodThatTheLaunchKnowsAreCounted) {
  const Expr n = u_.width();
  const Func again = BoundaryConditions::repeat_image(worked_, {{0, n}, {0, n}});
  f_(x, y) = box_of(again, 2);
  EXPECT_TRUE(is_inline(f_, "worked"));
  Func wide("f");
  wide(x, y) = box_of(again, 3);
  EXPECT_FALSE(is_inline(wide, "worked"));
}

// A point of `coarse` reads as many points of `heavy` as there are of it, so heavy stays inline and
// coarse is as heavy as all of those.
TEST_F(PlaceFuncs, ThatReadEveryPointOfAnotherOnceAreAsHeavyAsThat) {
  Expr e = worked_(x, y);
  for (int i = 0; i < 70; ++i) e = e * u_(x, y) + 1.0F;
  Func heavy("heavy"), coarse("coarse");
  heavy(x, y) = e;
  coarse(x, y) = heavy(2 * x, 2 * y) + heavy(2 * x + 1, 2 * y) + heavy(2 * x, 2 * y + 1) +
                 heavy(2 * x + 1, 2 * y + 1);
  f_(x, y) = coarse(x, y) + coarse(x + 1, y);
  EXPECT_TRUE(is_inline(f_, "heavy"));
  EXPECT_FALSE(is_inline(f_, "coarse"));
}

TEST_F(PlaceFuncs, ThatReadWhatIsComputedInsideLoopsAreInline) {
  Func between("between"), inside("inside");
  inside(x, y) = 3.0F * u_(x, y);
  worked_ = Func("worked");
  worked_(x, y) = inside(x, y) + 1.0F;
  between(x, y) = 2.0F * worked_(x, y) + inside(x, y);
  f_(x, y) = box_of(between, 3);
  EXPECT_FALSE(is_inline(f_, "between"));
  inside.compute_at(f_, y);
  EXPECT_TRUE(is_inline(f_, "between"));
  EXPECT_TRUE(is_inline(f_, "worked"));
}

TEST_F(PlaceFuncs, ReadInAReductionCountItsIterations) {
  const RDom r({{-3, 7}, {-3, 7}});
  f_(x, y) = 0.0F;
  f_(x, y) += worked_(x + r.x, y + r.y);
  EXPECT_FALSE(is_inline(f_, "worked"));
  Func small("f");
  const RDom s({{-1, 3}, {-1, 3}});
  small(x, y) = 0.0F;
  small(x, y) += worked_(x + s.x, y + s.y);
  EXPECT_TRUE(is_inline(small, "worked"));
}

}  // namespace
}  // namespace mica::test
