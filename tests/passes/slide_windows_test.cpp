// Funcs stored outside the loops that compute them: how often each value is computed, how much of it is
// kept, and what print_loop_nest says.
#include <utility>

#include <gtest/gtest.h>

#include "tests/passes/lowered.h"
#include "tests/support/count_accesses.h"

namespace mica {
namespace {

using test::code;
using test::count;
using test::loops;

const Var x("x"), y("y"), yo("yo"), yi("yi"), xo("xo"), xi("xi");

using Sizes = std::vector<std::pair<std::int64_t, std::int64_t>>;  // min, extent

/// What is stored to `array` in the nests of `f` over `box`, and at how many places.
struct Stores {
  std::int64_t all = 0, places = 0;
};
Stores stores_of(const Func& f, const std::string& array, const Sizes& box) {
  const Program program = test::lowered(f, Backend::Host, "simplify_loops");
  std::map<std::string, std::int64_t> symbols;
  for (std::size_t d = 0; d < box.size(); ++d) {
    symbols[f.name() + ".min." + std::to_string(d)] = box[d].first;
    symbols[f.name() + ".extent." + std::to_string(d)] = box[d].second;
    symbols["u.min." + std::to_string(d)] = box[d].first;
    symbols["u.extent." + std::to_string(d)] = box[d].second;
  }
  Stores stores;
  for (const Nest& nest : program.nests) {
    const test::CountedKernel counted = test::count_accesses(nest, symbols);
    if (counted.stores.count(array) == 0) continue;
    stores.all += counted.stores.at(array);
    stores.places += static_cast<std::int64_t>(counted.places.at(array).size());
  }
  return stores;
}

struct Chain {
  ImageParam u{Float(32), 2, "u"};
  Func h{"h"}, g{"g"}, f{"f"};
  Chain() {
    h(x, y) = u(x - 1, y) + u(x + 1, y);
    g(x, y) = h(x, y - 1) * h(x, y + 1);
    f(x, y) = g(x, y - 1) + g(x, y) + g(x, y + 2);
  }
};

TEST(SlideWindows, RowsAreComputedOnceAndFewAreKept) {
  Chain c;
  c.g.compute_at(c.f, y).store_root();
  c.f.vectorize(x, 8);
  const Stores g = stores_of(c.f, "g", {{-3, 21}, {5, 12}});
  EXPECT_EQ(g.all, 21 * (12 + 3));
  EXPECT_EQ(g.places, g.all);
  const std::string text = loops(c.f, Backend::Host);
  EXPECT_EQ(count(text,
                  "// g: an iteration of loop y of f computes only what earlier ones have not of y; "
                  "storage holds 4 of y\n"),
            1)
      << text;
  EXPECT_EQ(count(text, "g[4][f.extent.0]"), 1) << text;
  c.g.clear_schedule().compute_at(c.f, y);
  EXPECT_EQ(stores_of(c.f, "g", {{-3, 21}, {5, 12}}).all, 21 * 12 * 4);
}

TEST(SlideWindows, AFuncSlidesBehindOneThatSlides) {
  Chain c;
  c.g.compute_at(c.f, y).store_root().vectorize(x, 4);
  c.h.compute_at(c.f, y).store_root().vectorize(x, 8);
  for (const std::int64_t rows : {1, 2, 17}) {
    const Stores g = stores_of(c.f, "g", {{0, 13}, {0, rows}});
    const Stores h = stores_of(c.f, "h", {{0, 13}, {0, rows}});
    EXPECT_EQ(g.all, 13 * (rows + 3));
    EXPECT_EQ(h.all, 13 * (rows + 5));
    EXPECT_EQ(h.places, h.all);
  }
}

TEST(SlideWindows, EachParallelStripSlidesOnItsOwn) {
  Chain c;
  c.f.split(y, yo, yi, 8).parallel(yo);
  c.g.compute_at(c.f, yi).store_at(c.f, yo);
  EXPECT_EQ(stores_of(c.f, "g", {{0, 10}, {0, 24}}).all, 10 * 3 * (8 + 3));
  EXPECT_EQ(stores_of(c.f, "g", {{0, 10}, {0, 20}}).all, 10 * (2 * (8 + 3) + 4 + 3));
}

TEST(SlideWindows, TilesOfRowsSlideByAWholeTile) {
  Chain c;
  c.f.split(y, yo, yi, 8);
  c.g.compute_at(c.f, yo).store_root();
  EXPECT_EQ(stores_of(c.f, "g", {{0, 10}, {0, 24}}).all, 10 * (24 + 3));
  EXPECT_EQ(count(loops(c.f, Backend::Host), "g[16][f.extent.0]"), 1);
  c.f.clear_schedule().split(y, yo, yi, 8, TailStrategy::ShiftInwards);
  c.g.compute_at(c.f, yo).store_root();
  EXPECT_EQ(stores_of(c.f, "g", {{0, 10}, {0, 21}}).all, 10 * (21 + 3));
}

TEST(SlideWindows, BothDimensionsSlideAlongTheirLoops) {
  ImageParam u(Float(32), 2, "u");
  Func g("g"), f("f");
  g(x, y) = u(x, y) * 2.0F;
  f(x, y) = g(x - 1, y - 1) + g(x + 1, y + 1);
  g.compute_at(f, x).store_root();
  const Stores stores = stores_of(f.reorder(x, y), "g", {{2, 9}, {0, 7}});
  EXPECT_EQ(stores.all, (9 + 2) * (7 + 2));
  EXPECT_EQ(stores.places, stores.all);
}

TEST(SlideWindows, VectorsSlideWithTheirTails) {
  ImageParam u(Float(32), 2, "u");
  Func g("g"), f("f");
  g(x, y) = u(x, y) * 2.0F;
  f(x, y) = g(x - 1, y) + g(x + 1, y);
  f.vectorize(x, 8);
  g.compute_at(f, x).store_at(f, y).vectorize(x, 8);
  for (const std::int64_t columns : {1, 8, 30}) {
    EXPECT_EQ(stores_of(f, "g", {{0, columns}, {0, 3}}).all, 3 * (columns + 2)) << columns;
  }
}

TEST(SlideWindows, ScaledCoordinatesSlide) {
  ImageParam u(Float(32), 1, "u");
  Func g("g"), f("f");
  g(x) = u(x) * 2.0F;
  f(x) = g(x / 2) + g(x / 2 + 1);
  g.compute_at(f, x).store_root();
  EXPECT_EQ(stores_of(f.serial(x), "g", {{3, 20}}).all, 12);
  Func d("d"), e("e");
  d(x) = u(x) * 2.0F;
  e(x) = d(2 * x) + d(2 * x + 3);
  d.compute_at(e, x).store_root();
  EXPECT_EQ(stores_of(e.serial(x), "d", {{0, 20}}).all, 4 + 19 * 2);
}

TEST(SlideWindows, ClampedRowsSlide) {
  ImageParam u(Float(32), 2, "u");
  Func g("g"), f("f");
  g(x, y) = u(x, y) * 2.0F;
  const Expr last = u.dim(1).extent() - 1;
  f(x, y) = g(x, clamp(y - 1, 0, last)) + g(x, clamp(y + 1, 0, last));
  g.compute_at(f, y).store_root();
  f.reorder(x, y);
  EXPECT_EQ(stores_of(f, "g", {{0, 5}, {0, 9}}).all, 5 * 9);
  EXPECT_EQ(count(loops(f, Backend::Host), "storage holds 4 of y"), 1) << loops(f, Backend::Host);
}

TEST(SlideWindows, AValueOfATupleIsComputedOnce) {
  ImageParam u(Float(32), 2, "u");
  Func g("g"), f("f");
  g(x, y) = Tuple(u(x, y), u(x, y) * 2.0F);
  f(x, y) = g(x, y - 1)[0] + g(x, y + 1)[1];
  g.compute_at(f, y).store_root();
  EXPECT_EQ(stores_of(f.reorder(x, y), "g.1", {{0, 5}, {0, 9}}).all, 5 * 11);
}

TEST(SlideWindows, WhatCannotSlideIsSaid) {
  ImageParam u(Float(32), 2, "u");
  const auto says = [&](const Func& f, const std::string& reason) {
    const std::string text = loops(f, Backend::Host);
    EXPECT_EQ(count(text, "// g: store_root() saves no work: " + reason), 1) << text;
  };
  {
    Func g("g"), f("f");
    g(x, y) = u(x, y);
    f(x, y) = g(x, y) + g(x + 1, y);
    g.compute_at(f, y).store_root();
    says(f.reorder(x, y), "each iteration of y reads other y of it");
  }
  {
    Func g("g"), f("f");
    g(x, y) = u(x, y);
    f(x, y) = g(x, -y) + g(x, 1 - y);
    g.compute_at(f, y).store_root();
    says(f.reorder(x, y), "the first y that an iteration of y reads is not known to go up");
  }
  {
    Func g("g"), f("f");
    g(x, y) = u(x, y);
    f(x, y) = g(x + y, y) + g(x + y, y + 1);
    g.compute_at(f, y).store_root();
    says(f.reorder(x, y), "loop y moves both x and y");
  }
  {
    Func g("g"), f("f");
    g(x, y) = u(x, y);
    g(x, y) += 1.0F;
    f(x, y) = g(x, y) + g(x, y + 1);
    g.compute_at(f, y).store_root();
    says(f.reorder(x, y), "g has updates");
    EXPECT_EQ(stores_of(f, "g", {{0, 5}, {0, 9}}).all, 2 * 5 * 9 * 2);
  }
}

TEST(SlideWindows, WhatNoLoopMovesIsComputedOnce) {
  ImageParam u(Float(32), 2, "u");
  Func row("row"), g("g"), f("f");
  row(x) = u(x, 0) + 1.0F;
  g(x, y) = u(x, y) * 2.0F;
  f(x, y) = row(x) + row(x + 1) + g(x, y - 1) + g(x, y + 1);
  f.reorder(x, y);
  row.compute_at(f, y).store_root();
  EXPECT_EQ(stores_of(f, "row", {{0, 5}, {0, 9}}).all, 6);
  EXPECT_EQ(
      count(loops(f, Backend::Host), "// row: only the first iteration of loop y of f computes it\n"),
      1);
  // Rows that a second sweep reads again are not folded away.
  Func plane("plane"), h("h");
  plane(x, y) = u(x, y) * 2.0F;
  h(x, y) = plane(0, y - 1) + plane(1, y + 1) + u(x, y);
  plane.compute_at(h, y).store_root();
  h.reorder(y, x);
  EXPECT_EQ(stores_of(h, "plane", {{0, 5}, {0, 9}}).all, 2 * 11);
  EXPECT_EQ(count(loops(h, Backend::Host), "storage holds"), 0);
}

TEST(SlideWindows, KernelsAreAsTheyWere) {
  Chain c;
  c.f.gpu_tile(x, y, 16, 4).unroll(y, 2);
  c.g.compute_at(c.f, "y.unroll").store_at(c.f, "x.thread");
  const std::string text = loops(c.f, Backend::Cuda);
  EXPECT_EQ(count(text, "//"), 0) << text;
}

TEST(SlideWindows, FoldStorageTakesTheFactor) {
  Chain c;
  c.g.compute_at(c.f, y).store_root().fold_storage(y, 5);
  EXPECT_EQ(count(loops(c.f.reorder(x, y), Backend::Host), "g[5][f.extent.0]"), 1);
  EXPECT_GE(count(code(c.f, Backend::Host, "flatten_storage"), " % 5*g.size.0] = "), 1);
}

TEST(SlideWindows, FoldStorageOfTheFirstDimension) {
  ImageParam u(Float(32), 1, "u");
  Func g("g"), f("f");
  g(x) = u(x) * 2.0F;
  f(x) = g(x - 1) + g(x + 1);
  g.compute_at(f, x).store_root();
  EXPECT_EQ(count(loops(f.serial(x), Backend::Host), "storage holds"), 0);
  g.fold_storage(x, 3);
  EXPECT_EQ(count(loops(f, Backend::Host), "g[3]"), 1);
}

TEST(SlideWindows, ReorderStoragePutsRowsTheOtherWay) {
  Chain c;
  c.g.compute_root().reorder_storage(y, x).vectorize(x, 8);
  c.f.reorder(x, y);
  const std::string text = code(c.f, Backend::Host, "build_loop_nest");
  EXPECT_EQ(count(text, "g[g.min.0 + g.y, "), 2) << text;
  EXPECT_LT(text.find("for g.y in"), text.find("for g.x in")) << text;
}

}  // namespace
}  // namespace mica
