// Sums whose points a loop does not change, kept in registers while it runs: no schedule changes a bit,
// whatever the rows and vectors, and nothing is kept apart that is one.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fuzz/random_data.h"
#include "tests/support/check_targets.h"

namespace mica::test {
namespace {

const Var x("x"), y("y");

/// Sides of whole vectors and groups of rows, of less, and of some and a rest.
const std::vector<std::int64_t> kSides{1, 7, 8, 15, 16, 33, 40};

::testing::AssertionResult matches_on_host(const Func& f, const Box& box,
                                           const std::vector<ImageParam>& inputs) {
  return matches_oracle({f}, box, inputs, {Target::host()});
}

using Directives = void (*)(Stage);
const std::vector<std::pair<std::string, Directives>>& schedules() {
  static const std::vector<std::pair<std::string, Directives>> all{
      {"none", [](Stage) {}},
      {"vectors", [](Stage s) { s.reorder("r.x", "r.y", "x", "y").vectorize("x", 16); }},
      {"rows",
       [](Stage s) {
         s.split("y", "y", "row", 4).reorder("row", "r.x", "r.y", "x", "y").vectorize("x", 8);
         s.unroll("row").parallel("y");
       }},
      {"a vector in the domain's loops",
       [](Stage s) {
         s.split("x", "xo", "xi", 16).reorder("xi", "r.x", "r.y", "xo", "y").vectorize("xi", 16);
       }},
      {"rows in the domain's loops",
       [](Stage s) {
         s.tile("x", "y", "xo", "yo", "xi", "yi", 32, 2).reorder("xi", "yi", "r.x", "r.y", "xo", "yo");
         s.vectorize("xi", 16).unroll("yi").parallel("yo");
       }},
      {"a domain written out", [](Stage s) { s.reorder("r.x", "x", "r.y", "y").unroll("r.x"); }},
      {"vectors, and a domain written out",
       [](Stage s) { s.reorder("r.x", "r.y", "x", "y").vectorize("x", 8).unroll("r.x"); }},
      {"points, and a domain written out",
       [](Stage s) {
         s.split("x", "xo", "xi", 4).reorder("xi", "r.x", "r.y", "xo", "y").unroll("xi").unroll("r.x");
       }},
      {"one of the domain's loops outside",
       [](Stage s) { s.reorder("r.x", "x", "r.y", "y").vectorize("x", 4); }}};
  return all;
}

/// `make(u, r)`: a Func of x and y with an update over a domain r of two dimensions.
template <typename Make>
void expect_the_oracles_bits(Type type, const Make& make) {
  for (const auto& [name, directives] : schedules()) {
    for (const std::int64_t side : kSides) {
      const ImageParam u(type, 2, "u");
      const RDom r({{-1, 3}, {0, 4}}, "r");
      Func f = make(u, r);
      directives(f.update());
      EXPECT_TRUE(matches_on_host(f, {{-3, side}, {2, 48 - side}}, {u})) << name << ", " << side;
    }
  }
}

TEST(KeptSums, OfFilters) {
  expect_the_oracles_bits(Float(32), [](const ImageParam& u, const RDom& r) {
    Func f("f");
    f(x, y) = 0.25F * u(x, y);
    f(x, y) += u(x + r.x, y + r.y) * cast<float>(3 * r.x + r.y);
    return f;
  });
}

// A sum is rounded, or wraps, each time it would be stored.
TEST(KeptSums, OfNarrowTypes) {
  const auto products = [](const ImageParam& u, const RDom& r) {
    Func f("f");
    f(x, y) = u(x, y);
    f(x, y) += u(x + r.x, y + r.y) * u(x, y + r.x);
    return f;
  };
  for (const Type type : {UInt(8), Int(16), Float(16)}) expect_the_oracles_bits(type, products);
}

TEST(KeptSums, OfTuplesAndOfDomainsWithAHole) {
  expect_the_oracles_bits(Int(32), [](const ImageParam& u, const RDom& all) {
    RDom r = all;
    r.where(r.x != 0 || u(x, y) > 0);
    Func f("f");
    f(x, y) = Tuple(u(x, y), 0);
    const Expr value = u(x + r.x, y + r.y);
    f(x, y) = Tuple(max(f(x, y)[0], value), select(value > f(x, y)[0], r.x + 10 * r.y, f(x, y)[1]));
    return f;
  });
}

// At points that data choose.
TEST(KeptSums, OfPointsThatDataChoose) {
  for (const bool written_out : {false, true}) {
    const ImageParam u(Int(32), 1, "u"), v(Int(32), 2, "v");
    const RDom r({{0, 5}, {0, 12}}, "r");
    Func histogram("histogram"), rows("rows");
    histogram(x) = x;
    histogram(clamp(u(r.y), 0, 7)) += v(r.x, r.y);
    rows(x, y) = x;
    rows(x, clamp(u(x), 0, 7)) += v(r.x, r.y);
    if (written_out) histogram.update().unroll("r.x");
    rows.update().reorder("r.x", "x", "r.y").vectorize("x", 8);
    if (written_out) rows.update().unroll("r.x");
    EXPECT_TRUE(matches_on_host(histogram, {{0, 8}}, {u, v})) << written_out;
    EXPECT_TRUE(matches_on_host(rows, {{0, 33}, {0, 8}}, {u, v})) << written_out;
  }
}

// An update whose points read one another's sums.
TEST(KeptSums, OfWhatReadsItsNeighbours) {
  const ImageParam u(Int(32), 2, "u");
  const RDom r({{1, 6}, {0, 3}}, "r");
  Func f("f");
  f(x, y) = u(x, y);
  f(3, y) += u(r.x, y) * f(r.x, y);
  EXPECT_TRUE(matches_on_host(f, {{0, 9}, {0, 7}}, {u}));
}

// A run-time domain of no points leaves what was there.
TEST(KeptSums, OverNothing) {
  for (const int count : {-2, 0, 1, 19}) {
    const ImageParam u(Float(32), 2, "u");
    Param<int> n("n");
    n.set(count);
    const RDom r({{0, n}}, "r");
    Func f("f");
    f(x, y) = u(x, y);
    f(x, y) += u(x + r, y) * u(x, y);
    EXPECT_TRUE(matches_on_host(f, {{0, 37}, {0, 11}}, {u})) << count;
  }
}

TEST(KeptSums, ProductsOfMatrices) {
  for (const bool known : {false, true}) {
    const ImageParam a(Float(32), 2, "a"), b(Float(32), 2, "b");
    Param<int> n("n");
    n.set(300);
    const RDom r({{0, known ? Expr(300) : Expr(n)}}, "r");
    Func f("f");
    f(x, y) = sum(r, a(r, y) * b(x, r));
    EXPECT_TRUE(matches_on_host(f, {{0, 37}, {0, 21}}, {a, b})) << known;
  }
}

// With its sum's rows beside the field's, in another order, and in more dimensions.
TEST(KeptSums, OfFuncsWithinOthers) {
  const ImageParam u(Float(32), 3, "u");
  const Var z("z");
  const RDom r({{0, 3}, {0, 40}}, "r");
  Func f("f"), g("g");
  g(z, x, y) = sum(r, u(x + r.x, y, z + r.y));
  f(x, y, z) = g(z, x + 1, y) - g(z + 2, x, y);
  EXPECT_TRUE(matches_on_host(f, {{0, 19}, {0, 5}, {0, 9}}, {u}));
  f.split("y", "yo", "yi", 2).vectorize("x", 8);
  g.compute_at(f, "yo");
  EXPECT_TRUE(matches_on_host(f, {{0, 19}, {0, 5}, {0, 9}}, {u}));
}

}  // namespace
}  // namespace mica::test
