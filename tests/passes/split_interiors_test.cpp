// Host loops with boundary conditions: the interior has none.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "codegen/iterate/iteration.h"
#include "dsl/func/func.h"
#include "tests/passes/lowered.h"

namespace mica::test {
namespace {

const Var x("x"), y("y");

std::string code(const Func& f) { return to_string(lowered(f, Backend::Host, "split_interiors")); }

/// The lines of `text` that store to f and hold none of the words.
int plain_stores(const std::string& text) {
  int plain = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    const bool stores = line.find("f[") != std::string::npos && line.find(" = ") != std::string::npos;
    const auto has = [&](const char* word) { return line.find(word) != std::string::npos; };
    if (stores && !has("min(") && !has("max(") && !has("%") && !has("select(")) ++plain;
    begin = end + 1;
  }
  return plain;
}

class SplitInteriors : public ::testing::Test {
 protected:
  void define(const Func& b) { f_(x, y) = b(x - 1, y) + b(x + 1, y) + b(x, y - 1); }
  ImageParam u_{Float(32), 2, "u"};
  Func f_{"f"};
};

TEST_F(SplitInteriors, OfEveryBoundaryConditionHaveNoneOfIt) {
  using namespace BoundaryConditions;
  for (const Func& b : {repeat_edge(u_), repeat_image(u_), mirror_image(u_), mirror_interior(u_),
                        constant_exterior(u_, 2.0F)}) {
    Func f("f");
    f(x, y) = b(x - 1, y) + b(x + 1, y) + b(x, y - 1);
    const std::string text = to_string(lowered(f, Backend::Host, "simplify_unrolled"));
    // In the loop over vectors; in the points of vectors at either edge and in those of the tail's edge.
    EXPECT_GE(plain_stores(text), 1) << b.name() << "\n" << text;
  }
}

TEST_F(SplitInteriors, AskOnceARow) {
  define(BoundaryConditions::repeat_edge(u_));
  const std::string text = code(f_);
  EXPECT_NE(text.find("if f.y.inside <= f.y && f.y < f.y.outside"), std::string::npos) << text;
}

TEST_F(SplitInteriors, OfLoopsWithoutConditionsDoNotExist) {
  f_(x, y) = u_(x - 1, y) + u_(x + 1, y);
  EXPECT_EQ(code(f_).find("inside"), std::string::npos);
}

TEST_F(SplitInteriors, OfAFewIterationsDoNotExist) {
  define(BoundaryConditions::repeat_edge(u_));
  f_.bound(x, 0, 32).bound(y, 0, 32);
  EXPECT_EQ(code(f_).find("inside"), std::string::npos);
}

// The first line that stores in the loop's interior.
std::string first_store_inside(const std::string& text, const std::string& loop) {
  const std::string test =
      "if " + loop + ".inside <= " + loop + " && " + loop + " < " + loop + ".outside";
  const std::size_t inside = text.find(test);
  if (inside == std::string::npos) return {};
  const std::size_t store = text.find("f[", inside), line = text.rfind('\n', store) + 1;
  return text.substr(line, text.find('\n', store) + 1 - line);
}

// Of a column that is computed row by row, the rows inside are a loop of their own.
TEST_F(SplitInteriors, OfRecurrencesAskNothingOfEachRow) {
  const Func b = BoundaryConditions::repeat_edge(u_);
  f_(x, y) = select(y == 0, b(x - 1, y), b(x, y - 1) + 0.5F * f_(x, y - 1));
  const std::string text = code(f_);
  EXPECT_NE(text.find("for f.y in [f.y.inside, "), std::string::npos) << text;
  EXPECT_EQ(text.find("if f.y.inside <= f.y"), std::string::npos) << text;
}

TEST_F(SplitInteriors, OfTilesHaveNoneOfTheCondition) {
  using namespace BoundaryConditions;
  const Var xo("xo"), yo("yo"), xi("xi"), yi("yi"), t("t");
  const std::vector<std::function<void(Func&)>> schedules = {
      [&](Func& f) { f.tile(x, y, xo, yo, xi, yi, 64, 32).vectorize(xi, 16); },
      [&](Func& f) { f.tile(x, y, xo, yo, xi, yi, 64, 32); },
      [&](Func& f) { f.tile(x, y, xo, yo, xi, yi, 64, 32).vectorize(xi, 16).parallel(yo); },
      [&](Func& f) { f.split(x, xo, xi, 64).vectorize(xi, 16); },
      [&](Func& f) { f.split(x, xo, xi, 64, TailStrategy::ShiftInwards).vectorize(xi, 16); },
      [&](Func& f) { f.split(x, xo, xi, 64, TailStrategy::GuardWithIf).vectorize(xi, 16); },
      [&](Func& f) {
        f.bound(x, 0, 1536).bound(y, 0, 1024).tile(x, y, xo, yo, xi, yi, 64, 32).vectorize(xi, 16);
      },
  };
  for (const Func& b : {repeat_edge(u_), repeat_image(u_), mirror_image(u_), mirror_interior(u_),
                        constant_exterior(u_, 2.0F)}) {
    for (std::size_t i = 0; i < schedules.size(); ++i) {
      Func f("f");
      f(x, y) = b(x - 1, y) + b(x + 1, y) + b(x, y - 1);
      schedules[i](f);
      const std::string text = to_string(lowered(f, Backend::Host, "simplify_unrolled"));
      const std::string store = first_store_inside(text, "f.xo");
      EXPECT_EQ(plain_stores(store), 1) << b.name() << ", schedule " << i << "\n" << store;
    }
  }
}

// Not the last tile alone, of which fewer vectors are whole.
TEST_F(SplitInteriors, OfTilesAreAllButThoseAtTheEnds) {
  const Var xo("xo"), xi("xi");
  define(BoundaryConditions::repeat_edge(u_));
  f_.split(x, xo, xi, 64).vectorize(xi, 16);
  const std::string text = code(f_);
  EXPECT_NE(text.find("let f.xo.inside = cast<i32>(min(max(cast<i64>(0), (63 - (-1 + "),
            std::string::npos)
      << text;
}

TEST_F(SplitInteriors, OfTilesAtAnEdgeAreSplitAgain) {
  const Var xo("xo"), yo("yo"), xi("xi"), yi("yi");
  define(BoundaryConditions::mirror_image(u_));
  f_.tile(x, y, xo, yo, xi, yi, 64, 32).vectorize(xi, 16);
  const std::string text = code(f_);
  EXPECT_NE(text.find("f.xi.vec >= f.xi.point.cut0"), std::string::npos) << text;
  EXPECT_EQ(text.find("f.yi.inside"), std::string::npos) << "rows cost few operations";
}

TEST_F(SplitInteriors, OfFusedTilesHaveNoneOfTheCondition) {
  const Var xo("xo"), yo("yo"), xi("xi"), yi("yi"), t("t");
  define(BoundaryConditions::mirror_image(u_));
  f_.tile(x, y, xo, yo, xi, yi, 64, 32).vectorize(xi, 16).fuse(xo, yo, t).parallel(t);
  const std::string text = to_string(lowered(f_, Backend::Host, "simplify_unrolled"));
  EXPECT_GE(plain_stores(text), 1) << text;
  EXPECT_NE(text.find("let f.t.outer = f.t/"), std::string::npos) << text;
}

// The schedule of a star that has none: planes together, blocks of them and strips of rows fused.
TEST(SplitInteriorsOfPlanes, HaveNoneOfTheCondition) {
  using namespace BoundaryConditions;
  const Var z("z");
  const ImageParam u(Float(32), 3, "u");
  for (const Func& b : {repeat_edge(u), repeat_image(u), mirror_image(u), mirror_interior(u),
                        constant_exterior(u, 2.0F)}) {
    Func f("f");
    f(x, y, z) = b(x - 1, y, z) + b(x + 1, y, z) + b(x, y - 1, z) + b(x, y, z - 1) + b(x, y, z + 1);
    const std::string text = to_string(lowered(f, Backend::Host, "simplify_unrolled"));
    EXPECT_GE(plain_stores(text), 4) << b.name() << "\n" << text;
    EXPECT_NE(text.find("let f.z.task.outer = "), std::string::npos) << b.name() << "\n" << text;
    // Planes are in the lanes of a vector whose taps stick out.
    EXPECT_NE(text.find("f.x.point.cut0"), std::string::npos) << b.name() << "\n" << text;
  }
}

TEST_F(SplitInteriors, OfRowsOfKnownLengthExist) {
  define(BoundaryConditions::repeat_image(u_));
  f_.bound(x, 0, 1024).vectorize(x, 16);
  EXPECT_GE(plain_stores(to_string(lowered(f_, Backend::Host, "simplify_unrolled"))), 1);
}

// Of a constant or a Param, which becomes max(width, 1), it is known as well that it is the upper end.
TEST_F(SplitInteriors, OfRangesThatAreGivenHaveNoneOfTheCondition) {
  using namespace BoundaryConditions;
  const Param<std::int32_t> width("width", 1536), height("height", 1024);
  for (const BoundaryRanges& list :
       {BoundaryRanges{{0, 1536}, {0, 1024}}, BoundaryRanges{{0, width}, {0, height}},
        BoundaryRanges{{u_.dim(0).min(), u_.width()}, {u_.dim(1).min(), u_.height()}}}) {
    for (const Func& b : {repeat_edge(u_, list), repeat_image(u_, list), mirror_image(u_, list),
                          mirror_interior(u_, list), constant_exterior(u_, 2.0F, list)}) {
      Func f("f");
      f(x, y) = b(x - 1, y) + b(x + 1, y) + b(x, y - 1);
      const std::string text = to_string(lowered(f, Backend::Host, "simplify_unrolled"));
      EXPECT_GE(plain_stores(text), 1) << b.name() << "\n" << text;
      EXPECT_EQ(text.find("2.0 + 2.0"), std::string::npos)
          << "a test of the upper end that fails inside";
    }
  }
}

TEST_F(SplitInteriors, OfDataDoNotExist) {
  const ImageParam at(Int(32), 1, "at");
  f_(x, y) = u_(clamp(at(x), 0, 9), y);
  EXPECT_EQ(code(f_).find("inside"), std::string::npos);
}

// Beyond the left end the first element, beyond the right one the last; in each lane what it takes.
TEST_F(SplitInteriors, ChooseTapsThatStickOutLaneByLane) {
  define(BoundaryConditions::repeat_edge(u_));
  const std::string text = code(f_);
  EXPECT_NE(text.find("f.x.vec >= f.x.point.cut0"), std::string::npos) << text;
  EXPECT_NE(text.find("f.x.vec <= f.x.point.cut1"), std::string::npos) << text;
}

TEST_F(SplitInteriors, KnowWhatEachConditionIsBeyondTheEnds) {
  using namespace BoundaryConditions;
  const auto beyond = [&](const Func& b) {
    Func f("f");
    f(x, y) = b(x - 1, y) + b(x + 1, y);
    const std::string text = code(f), choice = "select(f.x.vec >= f.x.point.cut0, ";
    const std::size_t at = text.find(choice);
    if (at == std::string::npos) return std::string();
    const std::size_t inside_end = text.find("], ", at), end = text.find(")", inside_end);
    return text.substr(inside_end + 3, text.find(" + select(", end) - inside_end - 3);
  };
  EXPECT_NE(beyond(repeat_edge(u_)).find("u[select(0 < f.x.point.cut0, u.min.0, "), std::string::npos);
  EXPECT_NE(beyond(repeat_image(u_)).find("f.x.vec + u.extent.0 - 1"), std::string::npos);
  EXPECT_NE(beyond(mirror_image(u_)).find("- f.x.point - f.x.vec"), std::string::npos);
  EXPECT_NE(beyond(mirror_interior(u_)).find("- f.x.point - f.x.vec"), std::string::npos);
  // Outside is the constant, whatever is loaded.
  EXPECT_NE(code([&] {
              const Func b = constant_exterior(u_, 2.0F);
              Func f("f");
              f(x, y) = b(x - 1, y);
              return f;
            }())
                .find("select(f.x.vec >= f.x.point.cut0 && "),
            std::string::npos);
}

// What is left of a row behind whole vectors is a vector, too, that computes some points again.
TEST_F(SplitInteriors, MoveTheLastVectorToTheEndOfItsRow) {
  f_(x, y) = u_(x - 1, y) + u_(x + 1, y);
  const std::string text = code(f_);
  const std::size_t start = text.find("let f.x.point = min(f.x*16, f.extent.0 - 16)");
  EXPECT_NE(start, std::string::npos) << text;
  EXPECT_NE(text.find("vectorized f.x.vec", start), std::string::npos) << text;
  EXPECT_NE(text.find("for f.x.vec in [0, min(16, f.extent.0 - f.x*16))", start), std::string::npos)
      << "rows of fewer points than a vector";
}

TEST_F(SplitInteriors, MoveNoVectorToTheEndThatReadsWhatItStores) {
  f_(x, y) = u_(x, y);
  f_(x, y) += u_(x + 1, y);
  const std::string text = code(f_);
  EXPECT_EQ(text.find("f.u1.x.point"), std::string::npos) << text;
}

TEST_F(SplitInteriors, MoveVectorsWhoseTapsAreFurtherApart) {
  const Func b = BoundaryConditions::repeat_edge(u_);
  f_(x, y) = b(2 * x - 1, y) + b(2 * x + 1, y);
  const std::string text = code(f_);
  EXPECT_NE(text.find("f.x.vec + f.x.cut"), std::string::npos) << text;
  EXPECT_NE(text.find("f.x.vec + (f.x.cut - "), std::string::npos) << text;
}

// A moved vector computes points of its neighbour again: not where that would read what it has written.
TEST_F(SplitInteriors, MoveNoVectorsOfUpdatesOrInPlace) {
  const Func b = BoundaryConditions::repeat_edge(u_);
  f_(x, y) = b(x - 1, y);
  f_(x, y) += b(x + 1, y);
  const std::string update = code(f_);
  EXPECT_EQ(update.find("f.u1.x.vec + f.u1.x.cut"), std::string::npos) << update;
  EXPECT_EQ(update.find("let f.u1.x.point = min("), std::string::npos) << update;
  EXPECT_NE(update.find("let f.u1.x.point.cut0 = "), std::string::npos) << "but their taps are chosen";

  const ImageParam v(Float(32), 2, "v");
  Func in_place("f");
  in_place(x, y) = v(x, y) + b(x - 1, y);
  LowerOptions options;
  options.target = Target::host();
  options.variant.separate = false;
  const auto text = to_string(lower(make_pipeline({in_place.function()}), options, "split_interiors"));
  EXPECT_EQ(text.find(".cut"), std::string::npos) << text;
  EXPECT_EQ(text.find(".point"), std::string::npos) << text;
  EXPECT_NE(text.find("f.x.inside"), std::string::npos) << text;
}

// Five coupled fields: too large a body for many copies, and a copy without the condition still.
TEST_F(SplitInteriors, OfLargeBodiesAreInTheInnermostLoop) {
  std::vector<Func> fields;
  for (int i = 0; i < 5; ++i) {
    fields.push_back(
        BoundaryConditions::repeat_image(ImageParam(Float(32), 2, "u" + std::to_string(i))));
  }
  std::vector<Expr> values;
  for (int i = 0; i < 5; ++i) {
    Expr e = 0.0F;
    for (int j = 0; j < 5; ++j) {
      for (int reach = 1; reach <= 8; ++reach) {
        e = e + static_cast<float>(i + j) * fields[j](x - reach, y) * fields[i](x + reach, y);
      }
    }
    values.push_back(e);
  }
  f_(x, y) = Tuple(values);
  const std::string text = to_string(lowered(f_, Backend::Host, "split_interiors"));
  std::size_t plain = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const std::string line = text.substr(begin, end - begin);
    const bool computes = line.find("f.value0 = ") != std::string::npos;
    if (computes && line.find("% u4.extent.0") == std::string::npos) ++plain;
    begin = end + 1;
  }
  EXPECT_NE(text.find("f.x.inside"), std::string::npos);
  EXPECT_EQ(text.find("f.y.inside"), std::string::npos) << "outer loops are not copied";
  EXPECT_EQ(plain, 3U) << "inside, in the vector beside it, and where lanes choose";
  // The remainders along y are worked out once a row, before the parts of the loop over x.
  const std::size_t loop = text.find("for f.x.part");
  EXPECT_NE(loop, std::string::npos);
  for (int i = 0; i < 5; ++i) {
    const std::string by_rows = "% u" + std::to_string(i) + ".extent.1";
    const std::size_t once = text.find(by_rows);
    EXPECT_LT(once, loop);
    EXPECT_EQ(text.find(by_rows, once + 1), std::string::npos) << by_rows;
  }
}

// Few taps stick out at the ends of a row, and only they are chosen.
TEST_F(SplitInteriors, OfLargeBodiesChooseTapsThatStickOut) {
  std::vector<Func> fields;
  for (int i = 0; i < 8; ++i) {
    fields.push_back(
        BoundaryConditions::repeat_image(ImageParam(Float(32), 2, "u" + std::to_string(i))));
  }
  std::vector<Expr> values;
  for (std::size_t i = 0; i < 8; ++i) {
    Expr e = fields[i](x, y);
    for (std::size_t j = 0; j < 8; ++j) {
      const Func& b = fields[j];
      const auto k = static_cast<float>(i + j + 1);
      e = e + k * (b(x - 1, y) + b(x + 1, y) + b(x, y - 1) + b(x, y + 1));
    }
    values.push_back(e);
  }
  f_(x, y) = Tuple(values);
  const std::string text = code(f_);
  const auto count = [&](const std::string& part) {
    int found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
      ++found;
    return found;
  };
  // To the left and to the right of each field's point; nothing along y.
  EXPECT_NE(text.find("let f.x.point.cut15"), std::string::npos) << text;
  EXPECT_EQ(text.find("let f.x.point.cut16"), std::string::npos);
  // Inside; lane by lane at both ends and behind the last whole vector; point by point, and beside
  // those.
  EXPECT_EQ(count("let f.value0 = "), 4) << text;
}

// Of several steps at once the levels' rows begin outside of the box, where no lanes choose: such rows,
// too, are vectors but for the points outside, and what is behind their last whole vector.
TEST(SplitInteriorsOfLevels, HaveVectorsInLargeNests) {
  const Var z("z");
  const ImageParam u(Float(32), 3, "u");
  Func next("next");
  next(x, y, z) = 0.4F * u(x, y, z) + 0.1F * (u(x - 1, y, z) + u(x + 1, y, z) + u(x, y - 1, z) +
                                              u(x, y + 1, z) + u(x, y, z - 1) + u(x, y, z + 1));
  Iteration steps({{u, next}});
  constexpr int kSteps = 6;
  steps.time_tile(kSteps);
  const std::string text =
      code_after_pass(steps.steps_at_once(Target::host()), Target::host(), "split_interiors");
  for (int level = 1; level < kSteps; ++level) {
    const std::string row = "next·t" + std::to_string(level) + ".x";
    EXPECT_NE(text.find("for " + row + ".part in"), std::string::npos) << row;
    EXPECT_EQ(text.find("for " + row + " in [0,"), std::string::npos) << "a row point by point";
    EXPECT_EQ(text.find("for " + row + " in [" + row + ".whole"), std::string::npos) << "its end";
  }
}

// (x - 1) % 96 is written (x + 95) % 96, of which one point alone would be inside.
TEST_F(SplitInteriors, OfAConstantPeriodAreAllButItsEnds) {
  const Func b = BoundaryConditions::repeat_image(u_, {{0, 96}, {0, 50}});
  f_(x, y) = b(x - 1, y) + b(x + 1, y);
  const std::string text = code(f_);
  EXPECT_NE(text.find("let f.x.inside = cast<i32>(min(max(cast<i64>(0), (15 - (-1 + "),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("f.x.vec >= f.x.point.cut0"), std::string::npos) << text;
}

TEST_F(SplitInteriors, AreNotMadeInKernels) {
  define(BoundaryConditions::repeat_edge(u_));
  f_.gpu_tile(x, y, 32, 8);
  const std::string text = to_string(lowered(f_, Backend::GpuEmulator, "split_interiors"));
  EXPECT_EQ(text.find("inside"), std::string::npos);
}

// Each lane of a row whose points lie apart has loads of its own: loops are not written out for it.
TEST_F(SplitInteriors, RowsWhosePointsLieApartGrowLittle) {
  const RDom r({{-2, 5}, {-2, 5}});
  const Func edge = BoundaryConditions::repeat_edge(u_);
  f_(x, y) = 0.0F;
  Expr change = 0.0F;
  for (int i = -2; i <= 2; ++i) change = change + abs(edge(x + r.x + i, y + r.y) - edge(x + i, y));
  f_(x, y) += change;
  f_.update().vectorize(x, 8);
  const auto size_of = [&](bool unit_stride) {
    Variant variant;
    variant.unit_stride = unit_stride;
    variant.separate = true;
    return to_string(lowered(f_, Backend::Host, "split_interiors", variant)).size();
  };
  EXPECT_LT(2 * size_of(false), size_of(true));
}

}  // namespace
}  // namespace mica::test
