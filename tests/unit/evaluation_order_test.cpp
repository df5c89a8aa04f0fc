// The order of a block's values: operands first, every node once, few at a time.
#include "codegen/analysis/evaluation_order.h"

#include <chrono>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dsl/expr/operators.h"
#include "dsl/expr/print.h"
#include "dsl/expr/traverse.h"

namespace mica::analysis {
namespace {

Expr element(const std::string& array, int i, Type type = Float(32)) {
  return make_expr(type, Load{array, {make_var("i") + i}, {}, 1});
}

Expr term(double weight, const Expr& value, const Expr& sum = {}) {
  const Expr factor = make_expr(value.type(), FloatImm{weight});
  if (!sum.defined()) return make_expr(value.type(), Binary{BinaryOp::Mul, factor, value});
  return make_expr(value.type(), Fma{factor, value, sum});
}

/// weight * u[first] + ... + u[last], ascending.
Expr sum_of(const std::string& array, int first, int last, double weight, Type type = Float(32)) {
  Expr sum;
  for (int i = first; i <= last; ++i) sum = term(weight + i, element(array, i, type), sum);
  return sum;
}

/// Each node stands behind its own children, once.
void expect_sound(const EvaluationOrder& order) {
  std::set<const ExprNode*> met;
  for (const Expr& e : order.order) {
    for_each_child(e, [&](const Expr& child) {
      if (child.as<FloatImm>() != nullptr || e.as<Load>() != nullptr) return;
      EXPECT_EQ(met.count(&child.node()), 1U) << to_string(child, 80);
    });
    EXPECT_TRUE(met.insert(&e.node()).second) << to_string(e, 80);
  }
  for (const Expr& value : order.values) EXPECT_EQ(met.count(&value.node()), 1U);
}

TEST(EvaluationOrder, SumsOverOneArrayGoOnTogether) {
  const std::vector<Expr> values{sum_of("u", 0, 19, 1), sum_of("u", -5, 15, 2), sum_of("u", 3, 20, 3)};
  const std::vector<std::string> names{"a", "b", "c"};
  EXPECT_GT(plain_order(values, names).registers, 17);
  const auto few = few_registers_order(values, names, 8);
  ASSERT_TRUE(few.has_value());
  expect_sound(*few);
  EXPECT_LE(few->registers, 5);  // three sums, an element, and one of them anew
  EXPECT_EQ(few->order.size(), plain_order(values, names).order.size());
}

TEST(EvaluationOrder, CountsRegistersOf32Bits) {
  const Type wide = Float(64).with_lanes(2);
  const std::vector<Expr> values{
      make_expr(wide, Binary{BinaryOp::Add, element("u", 0, wide), element("v", 0, wide)})};
  EXPECT_EQ(plain_order(values, {"a"}).registers, 8);
}

TEST(EvaluationOrder, EqualPartsAreOneNode) {
  const std::vector<Expr> values{sum_of("u", 0, 3, 1), term(9, sum_of("u", 0, 3, 1))};
  const EvaluationOrder order = plain_order(values, {"a", "b"});
  expect_sound(order);
  EXPECT_EQ(order.order.size(), 9U);  // four elements, their sum and one product
}

TEST(EvaluationOrder, StaysWhereTheValuesFit) {
  const std::vector<Expr> values{sum_of("u", 0, 19, 1), sum_of("u", 0, 19, 2)};
  const std::int64_t plain = plain_order(values, {"a", "b"}).registers;
  EXPECT_FALSE(few_registers_order(values, {"a", "b"}, plain).has_value());
  EXPECT_TRUE(few_registers_order(values, {"a", "b"}, plain - 1).has_value());
}

TEST(EvaluationOrder, LeavesOutWhatUsesANameThatIsBoundLater) {
  const Expr first = sum_of("u", 0, 3, 1);
  const Expr late = term(2, make_var("a", Float(32)), sum_of("u", 0, 3, 2));
  const EvaluationOrder order = plain_order({first, late}, {"a", "b"});
  EXPECT_EQ(order.order.size(), 8U);  // the second value's sum is nobody's root
  for (const Expr& e : order.order) EXPECT_FALSE(uses_var(e, "a"));
}

TEST(EvaluationOrder, IsSoundForRandomGraphs) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
    std::vector<Expr> nodes;
    for (int i = 0; i < 40; ++i) nodes.push_back(element(below(2) == 0 ? "u" : "v", i));
    for (int i = 0; i < 200; ++i) {
      const Expr &a = nodes[below(nodes.size())], &b = nodes[below(nodes.size())];
      nodes.push_back(below(2) == 0 ? term(0.5 + i, a, b)
                                    : make_expr(Float(32), Binary{BinaryOp::Mul, a, b}));
    }
    const std::vector<Expr> values(nodes.end() - 6, nodes.end());
    const std::vector<std::string> names{"a", "b", "c", "d", "e", "f"};
    const EvaluationOrder plain = plain_order(values, names);
    expect_sound(plain);
    const auto few = few_registers_order(values, names, 0);
    if (!few) continue;
    expect_sound(*few);
    EXPECT_EQ(few->order.size(), plain.order.size());
    EXPECT_LT(few->registers, plain.registers);
  }
}

// An element of u is the last term of a chain of which each link is read twice, and which begins with
// what is being computed when the element is met: there are 2^60 ways to find out that it has to wait.
TEST(EvaluationOrder, AChainThatWaitsIsTriedOnce) {
  const Expr last = element("u", 0);
  const Expr first = term(2, last, element("u", 1));
  Expr link = first;
  for (int i = 0; i < 60; ++i) link = make_expr(Float(32), Binary{BinaryOp::Add, link, term(3, link)});
  const std::vector<Expr> values{first, make_expr(Float(32), Binary{BinaryOp::Mul, link, last})};
  const EvaluationOrder plain = plain_order(values, {"a", "b"});
  const auto few = few_registers_order(values, {"a", "b"}, 0);
  expect_sound(few ? *few : plain);
  EXPECT_EQ(plain.order.size(), 124U);
}

TEST(EvaluationOrder, OfManyNodesIsFoundQuickly) {
  std::vector<Expr> values;
  std::vector<std::string> names;
  for (int field = 0; field < 40; ++field) {
    const std::string array = "u" + std::to_string(field);
    for (int k = 0; k < 4; ++k) {
      values.push_back(sum_of(array, -k, 80 + k, field + 1));
      names.push_back("v" + std::to_string(names.size()));
    }
  }
  const auto start = std::chrono::steady_clock::now();
  const auto few = few_registers_order(values, names, 64);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(few.has_value());
  EXPECT_GT(few->order.size(), 15'000U);
  EXPECT_LT(few->registers, 200);  // the 160 results, and what is on its way
  EXPECT_LT(spent.count(), 5.0);
}

}  // namespace
}  // namespace mica::analysis
