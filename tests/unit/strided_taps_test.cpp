// Which vector loads with lanes apart share what they read.
#include "codegen/llvm/index/strided_taps.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::llvm_backend {
namespace {

constexpr int kLanes = 8;

Expr first(int stride, int constant) { return make_var("x") * stride + constant; }
Expr load(const std::string& buffer, int stride, int constant) {
  const Expr index = make_expr(Int(32).with_lanes(kLanes), Ramp{first(stride, constant), Expr(stride)});
  return make_expr(Float(32).with_lanes(kLanes), Load{buffer, {index}, {}, 1, false});
}
Expr sum_of(const std::vector<Expr>& loads) {
  Expr sum = loads.front();
  for (std::size_t i = 1; i < loads.size(); ++i) {
    sum = make_expr(sum.type(), Binary{BinaryOp::Add, sum, loads[i]});
  }
  return sum;
}

/// elements_before of each tap, where all are read.
std::vector<std::int64_t> shared(int stride, const std::vector<int>& constants) {
  std::vector<Expr> loads;
  for (const int c : constants) loads.push_back(load("u", stride, c));
  StridedTaps taps(sum_of(loads));
  std::vector<std::int64_t> result;
  for (const int c : constants) result.push_back(taps.elements_before("u", first(stride, c), stride));
  return result;
}

using Numbers = std::vector<std::int64_t>;

TEST(StridedTaps, ShareWhatAllBetweenThemRead) {
  EXPECT_EQ(shared(2, {0, 1}), (Numbers{0, 1}));
  EXPECT_EQ(shared(2, {1, 0}), (Numbers{1, 0}));
  EXPECT_EQ(shared(2, {-3, -2, -1, 0}), (Numbers{0, 1, 0, 1}));
  EXPECT_EQ(shared(2, {0, 1, 2}), (Numbers{0, 1, -1}));
  EXPECT_EQ(shared(3, {0, 1, 2}), (Numbers{0, 1, 2}));
  EXPECT_EQ(shared(3, {0, 2}), (Numbers{0, 2}));
  EXPECT_EQ(shared(4, {2, 3, 5}), (Numbers{0, 1, 3}));
}

TEST(StridedTaps, ReadNothingForASharedLoadAlone) {
  EXPECT_EQ(shared(2, {0}), (Numbers{-1}));
  EXPECT_EQ(shared(2, {0, 2}), (Numbers{-1, -1}));
  EXPECT_EQ(shared(3, {0, 1}), (Numbers{-1, -1}));
  EXPECT_EQ(shared(4, {0, 1, 2}), (Numbers{-1, -1, -1}));
}

TEST(StridedTaps, OfOtherBuffersRowsAndStridesAreOthers) {
  StridedTaps taps(sum_of({load("u", 2, 0), load("v", 2, 1), load("u", 3, 1), load("u", 2, 5)}));
  EXPECT_EQ(taps.elements_before("u", first(2, 0), 2), -1);
  EXPECT_EQ(taps.elements_before("v", first(2, 1), 2), -1);
  EXPECT_EQ(taps.elements_before("w", first(2, 1), 2), -1);
  EXPECT_EQ(taps.elements_before("u", first(3, 1), 3), -1);
}

// A branch may be loaded for some lanes only, and what a Let binds is not known outside.
TEST(StridedTaps, InBranchesAreNotCounted) {
  const Expr condition =
      make_expr(Bool().with_lanes(kLanes), Compare{CompareOp::Lt, load("c", 2, 0), load("c", 2, 1)});
  const Expr chosen =
      make_expr(Float(32).with_lanes(kLanes), Select{condition, load("u", 2, 1), load("u", 2, 3)});
  StridedTaps taps(sum_of({load("u", 2, 0), chosen, load("u", 2, 2)}));
  EXPECT_EQ(taps.elements_before("u", first(2, 0), 2), -1);
  EXPECT_EQ(taps.elements_before("u", first(2, 2), 2), -1);
  EXPECT_EQ(taps.elements_before("c", first(2, 1), 2), 1);
  EXPECT_EQ(StridedTaps(Expr()).elements_before("u", first(2, 0), 2), -1);
}

}  // namespace
}  // namespace mica::llvm_backend
