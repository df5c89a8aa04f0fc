// split_blocks: blocks of overlapping frames march without tests where all that they read lies inside.
#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "dsl/expr/operators.h"
#include "dsl/func/boundary.h"
#include "tests/passes/lowered.h"

namespace mica::test {
namespace {

const Var x("x"), y("y");

/// next of t of u along x and y, t within `inside` of its point, else u itself.
struct Chain {
  ImageParam u{Float(32), 2, "u"};
  Func t{"t"}, next{"next"};

  explicit Chain(const Expr& inside) : Chain([&](const ImageParam&) { return inside; }) {}
  explicit Chain(const std::function<Expr(const ImageParam&)>& inside) {
    const Expr sum = u(x - 1, y) + u(x + 1, y) + u(x, y - 1) + u(x, y + 1);
    t(x, y) = select(inside(u), sum, u(x, y));
    next(x, y) = t(x - 1, y) + t(x + 1, y) + t(x, y - 1) + t(x, y + 1);
    next.gpu_tile(x, 32).vectorize(x, 4).march(y, 16);
    t.compute_at(next, "y.march").store_in(MemoryType::Register);
  }
  [[nodiscard]] std::string text(const std::string& pass = "split_blocks") const {
    return code(next, Backend::Cuda, pass);
  }
};

/// What stands before the first `line` in `text`, and behind it.
std::pair<std::string, std::string> cut(const std::string& text, const std::string& line) {
  const std::size_t at = text.find(line);
  return {text.substr(0, at), at == std::string::npos ? "" : text.substr(at + line.size())};
}
/// The main loops of the marches in `text`, each with what stands behind it.
std::vector<std::string> marches(const std::string& text) {
  const std::string word = "for next.y.march.turn in";
  std::vector<std::string> parts;
  for (std::size_t at = text.find(word); at != std::string::npos;) {
    const std::size_t end = text.find(word, at + 1);
    parts.push_back(text.substr(at, end - at));
    at = end;
  }
  return parts;
}
/// Of a march that has no tests with another branch.
std::string without_branches(const std::string& march) { return march.substr(0, march.find("else:")); }

/// The marches of blocks inside, of those inside along x, and of the others.
struct Marches {
  std::string inside, across, edge;
  explicit Marches(const std::string& text) {
    std::string rest;
    std::tie(inside, rest) = cut(text.substr(text.find("if cast<i64>")), "\n      else:\n");
    std::tie(across, edge) = cut(rest, "\n        else:\n");
    inside = inside.substr(inside.find('\n'));  // behind the conditions
    across = across.substr(across.find('\n'));
  }
};

TEST(SplitBlocks, MarchInsideWithoutTestsAndClamps) {
  const Param<std::int32_t> rim("rim");
  const Expr margin = clamp(Expr(rim), 0, 1 << 20);
  const Chain chain([&](const ImageParam& u) {
    return x >= u.dim(0).min() + margin && x <= u.dim(0).max() - margin &&
           y >= u.dim(1).min() + margin && y <= u.dim(1).max() - margin;
  });
  const Marches parts(chain.text());
  for (const char* test : {"select", "max(", "min("}) {
    EXPECT_EQ(count(parts.inside, test), 0) << test << "\n" << parts.inside;
    EXPECT_GT(count(parts.edge, test), 0) << test << "\n" << parts.edge;
  }
  // The first two planes of t; three steps a turn, and two that may be left.
  EXPECT_EQ(count(parts.inside, "vectorized"), 2 + 2 * (3 + 2)) << parts.inside;
  EXPECT_EQ(count(parts.inside, "unrolled"), 0) << parts.inside;
}

// Blocks inside along x ask along y, and only in steps whose planes may lie outside.
TEST(SplitBlocks, AcrossTheMarchTestItsEndsAlone) {
  const Chain chain([](const ImageParam& u) {
    return x >= u.dim(0).min() && x <= u.dim(0).max() && y >= u.dim(1).min() && y <= u.dim(1).max();
  });
  const Marches parts(chain.text());
  const auto tested = [](const std::string& part) {
    const std::size_t select = part.find("select(");
    return part.substr(select, part.find("u[", select) - select);
  };
  EXPECT_NE(tested(parts.across).find("y.block"), std::string::npos) << parts.across;
  EXPECT_EQ(tested(parts.across).find("x.block"), std::string::npos) << parts.across;
  const std::vector<std::string> across = marches(parts.across), edge = marches(parts.edge);
  ASSERT_EQ(across.size(), 2U);
  EXPECT_EQ(count(across[0], "select"), 0) << across[0];
  EXPECT_EQ(count(cut(across[1], "for next.y.march.left").first, "select"), 3) << across[1];
  ASSERT_EQ(edge.size(), 2U);
  EXPECT_NE(tested(edge[0]).find("x.block"), std::string::npos) << edge[0];
  EXPECT_EQ(tested(edge[0]).find("y.block"), std::string::npos) << edge[0];
}

// A block of 16 rows asks t for one more on each side.
TEST(SplitBlocks, AreToldByWhatAWholeBlockReads) {
  const Chain chain([](const ImageParam& u) { return y >= u.dim(1).min(); });
  const std::string text = chain.text();
  const std::size_t begin = text.find("if cast<i64>");
  const std::string condition = text.substr(begin, text.find('\n', begin) - begin);
  EXPECT_NE(condition.find("next.y.block)*16 - cast<i64>(u.min.1) - 1 >= 0"), std::string::npos)
      << condition;
}

// Where a test is no array's end, most blocks may lie on either side.
TEST(SplitBlocks, LeaveTestsOfOtherPlaces) {
  const Chain chain(x > 1000);
  const std::vector<std::string> parts = marches(chain.text());
  ASSERT_FALSE(parts.empty());
  const std::string inside = without_branches(parts.front());
  EXPECT_GT(count(inside, "select"), 0) << inside;
  EXPECT_EQ(count(inside, "max("), 0) << inside;
}

// A test that may wrap, or that no block decides, stays.
TEST(SplitBlocks, LeaveOtherTests) {
  const Param<std::int32_t> rim("rim");
  const Chain wrapping(x + Expr(rim) >= 0);
  EXPECT_GT(count(without_branches(marches(wrapping.text()).front()), "select"), 0);
  const Chain by_parity(x % 2 == 0);
  EXPECT_GT(count(without_branches(marches(by_parity.text()).front()), "select"), 0);
}

TEST(SplitBlocks, NeedAFrame) {
  const ImageParam u(Float(32), 2, "u");
  Func next("next");
  next(x, y) = select(x >= 5, u(x, y - 1) + u(x, y + 1), 0.0F);
  next.gpu_tile(x, 32).march(y, 16).register_window(u, y);
  EXPECT_EQ(code(next, Backend::Cuda, "split_blocks"), code(next, Backend::Cuda, "unroll_marches"));
}

/// Seven points of a field that is read through `boundary`, in plain tiles.
std::string tiles(Func (*boundary)(const ImageParam&)) {
  const Var z("z");
  const ImageParam u(Float(32), 3, "u");
  const Func b = boundary(u);
  Func next("next");
  next(x, y, z) = b(x - 1, y, z) + b(x + 1, y, z) + b(x, y - 1, z) + b(x, y + 1, z) + b(x, y, z - 1) +
                  b(x, y, z + 1);
  next.gpu_tile(x, y, z, 32, 8, 1).vectorize(x, 4).unroll(z, 4);
  return code(next, Backend::Cuda, "split_blocks");
}

TEST(SplitBlocks, OfTilesHaveRemaindersWhereNothingElseServes) {
  const std::string text =
      tiles([](const ImageParam& u) { return BoundaryConditions::repeat_image(u); });
  const auto [inside, rest] = cut(text, "\n        else:\n");
  const auto [near, beyond] = cut(rest, "\n          else:\n");
  ASSERT_FALSE(beyond.empty()) << text;
  const std::string points = inside.substr(inside.find("gpu_thread"));
  EXPECT_EQ(count(points, " % "), 0) << points;
  EXPECT_EQ(count(points, "if "), 0) << "blocks inside have all of their points:\n" << points;
  EXPECT_EQ(count(points, "unrolled"), 1) << points;
  EXPECT_EQ(count(near, " % "), 0) << "at most a period away:\n" << near;
  EXPECT_GT(count(near, "min("), 0) << near;
  EXPECT_EQ(count(near, "unrolled"), 0) << "a kernel has the registers of its greediest part";
  EXPECT_GT(count(near, "vectorized"), 0) << near;
  EXPECT_GT(count(beyond, " % "), 0) << beyond;
  EXPECT_EQ(count(beyond, "vectorized"), 0) << beyond;
}

TEST(SplitBlocks, OfTilesHaveClampsAtTheEdgesAlone) {
  const std::string text = tiles([](const ImageParam& u) { return BoundaryConditions::repeat_edge(u); });
  const auto [inside, edge] = cut(text, "\n        else:\n");
  ASSERT_FALSE(edge.empty()) << text;
  const std::string points = inside.substr(inside.find("gpu_thread"));
  EXPECT_EQ(count(points, "max(") + count(points, "min("), 0) << points;
  EXPECT_GT(count(edge, "max("), 0) << edge;
}

TEST(SplitBlocks, OfTilesStayWholeWithoutAnythingToGain) {
  const auto plain = [](const ImageParam& u) {
    const Var z("z");
    Func same("same");
    same(x, y, z) = u(x, y, z);
    return same;
  };
  EXPECT_EQ(tiles(plain).find("\n        else:\n"), std::string::npos);
}

}  // namespace
}  // namespace mica::test
