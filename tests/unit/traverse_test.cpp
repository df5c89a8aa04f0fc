#include "dsl/expr/traverse.h"

#include <algorithm>
#include <memory>

#include <gtest/gtest.h>

#include "dsl/expr/operators.h"
#include "dsl/func/function.h"

namespace mica {
namespace {

Expr x() { return make_var("x"); }
Expr y() { return make_var("y"); }
Expr a() { return make_var("a", Float(32)); }
Expr b() { return make_var("b", Float(32)); }

Expr access(const std::string& name, std::vector<Expr> args, int value_index = 0) {
  Access op;
  op.name = name;
  op.args = std::move(args);
  op.value_index = value_index;
  return make_expr(Float(32), std::move(op));
}
Expr load(const std::string& buffer, std::vector<Expr> index, std::vector<Expr> logical = {}) {
  return make_expr(Float(32), Load{buffer, std::move(index), std::move(logical), 1});
}

// One node of every kind, children made of `x` and `a`.
std::vector<Expr> one_of_each(const Expr& x, const Expr& a) {
  auto param = std::make_shared<ParamData>();
  param->name = "p";
  param->type = Float(32);
  auto domain = std::make_shared<RDomData>();
  domain->name = "r";
  domain->dims = {{"r.x", 0, 3}};
  auto image = std::make_shared<ImageData>();
  image->name = "u";
  const Type vector = Int(32).with_lanes(4);
  return {Expr(1),
          Expr(1.5f),
          make_var("v"),
          make_expr(Float(32), ParamRef{param}),
          make_expr(Int(32), RVarRef{domain, 0}),
          make_expr(Int(32), ImageField{image, BufferField::Extent, 1}),
          cast(Float(32), x),
          sqrt(a),
          a + a,
          x < x,
          select(x < 2, a, a),
          fma(a, a, a),
          strict(a),
          access("f", {x, x}),
          make_expr(Float(32), Let{"t", a, make_var("t", Float(32)) + a}),
          load("f", {x}, {x}),
          make_expr(vector, Ramp{x, x}),
          make_expr(vector, Broadcast{x}),
          make_expr(vector, Shuffle{{x, x, x, x}, {0, 1, 2, 3}}),
          make_expr(Int(32), Reinterpret{a}),
          make_expr(Float(32), WarpShuffle{a, 1}),
          make_expr(Float(32), Print{a, x < 3, {x, a}, {"at ", " is ", ""}})};
}

TEST(MapChildren, ReturnsTheSameNodeWhenNothingChanges) {
  for (const Expr& e : one_of_each(x(), a())) {
    EXPECT_TRUE(map_children(e, [](const Expr& child) { return child; }).same_as(e)) << to_string(e);
  }
}

TEST(MapChildren, RebuildsEveryKindOfNodeWithTheNewChildren) {
  const std::vector<Expr> before = one_of_each(x(), a());
  const std::vector<Expr> after = one_of_each(y(), b());
  ASSERT_EQ(before.size(), std::variant_size_v<decltype(ExprNode::op)>);
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(before[i]->op.index(), i);
    const Expr renamed = substitute(substitute(before[i], "x", y()),
                                    [](const std::string& name) { return name == "a" ? b() : Expr(); });
    EXPECT_TRUE(equal(renamed, after[i])) << to_string(renamed) << " is not " << to_string(after[i]);
  }
}

TEST(MapChildren, KeepsUntouchedElementsOfAList) {
  const Expr first = x();
  const Expr e = access("f", {first, y(), x() + 1});
  const Expr changed = substitute(e, "y", Expr(7));
  const auto& args = changed.as<Access>()->args;
  ASSERT_EQ(args.size(), 3U);
  EXPECT_TRUE(args[0].same_as(first));
  EXPECT_TRUE(is_const(args[1], 7));
  EXPECT_TRUE(args[2].same_as(e.as<Access>()->args[2]));
}

TEST(Walk, MeetsParentsBeforeChildrenFromTheLeft) {
  std::string met;
  walk(a() + sqrt(b()) * a(), [&](const Expr& e) { met += to_string(e) + "; "; });
  EXPECT_EQ(met, "a + sqrt(b)*a; a; sqrt(b)*a; sqrt(b); b; a; ");
}

TEST(Compare, IsZeroForEqualTreesOfEveryKind) {
  const std::vector<Expr> left = one_of_each(x(), a());
  const std::vector<Expr> right = one_of_each(make_var("x"), make_var("a", Float(32)));
  for (std::size_t i = 0; i < left.size(); ++i) {
    EXPECT_FALSE(left[i].same_as(right[i]));
    EXPECT_EQ(compare(left[i], right[i]), 0) << to_string(left[i]);
    EXPECT_TRUE(equal(left[i], right[i])) << to_string(left[i]);
    EXPECT_TRUE(equal(left[i], right[i]));
  }
}

TEST(Compare, IsATotalOrder) {
  std::vector<Expr> all = one_of_each(x(), a());
  for (const Expr& e : one_of_each(y(), b())) all.push_back(e);
  all.push_back(Expr());
  all.push_back(Expr(2));
  all.push_back(Expr(std::int64_t{1}));
  all.push_back(access("f", {x()}));
  all.push_back(access("f", {x(), x()}, 1));
  for (const Expr& a : all) {
    for (const Expr& b : all) {
      EXPECT_EQ(compare(a, b), -compare(b, a));
      EXPECT_EQ(compare(a, b) == 0, equal(a, b));
      EXPECT_EQ(compare(a, b) == 0, to_string(a) == to_string(b) && (a.defined() == b.defined()) &&
                                        (!a.defined() || a.type() == b.type()))
          << to_string(a) << " and " << to_string(b);
      for (const Expr& c : all) {
        if (compare(a, b) <= 0 && compare(b, c) <= 0) {
          EXPECT_LE(compare(a, c), 0);
        }
      }
    }
  }
}

TEST(Compare, AccessesCountByNameAndElementAndArguments) {
  EXPECT_TRUE(equal(access("f", {x()}), access("f", {x()})));
  EXPECT_FALSE(equal(access("f", {x()}), access("g", {x()})));
  EXPECT_FALSE(equal(access("f", {x()}), access("f", {x()}, 1)));
  EXPECT_FALSE(equal(access("f", {x()}), access("f", {x() + 1})));
  Access elsewhere = *access("f", {x()}).as<Access>();
  elsewhere.where.line = 99;
  EXPECT_TRUE(equal(access("f", {x()}), make_expr(Float(32), elsewhere)));
}

TEST(Compare, FloatsAreEqualWhenTheirBitsAre) {
  EXPECT_FALSE(equal(Expr(0.0f), Expr(-0.0f)));
  EXPECT_TRUE(equal(Expr(std::numeric_limits<float>::quiet_NaN()),
                    Expr(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_FALSE(equal(Expr(1.0f), Expr(1.0)));
}

TEST(Substitute, LeavesNamesBoundByALetAlone) {
  const Expr let = make_expr(Int(32), Let{"x", x() + 1, x() * y()});
  EXPECT_EQ(to_string(substitute(let, "x", Expr(5))), "let x = 5 + 1 in x*y");
  EXPECT_EQ(to_string(substitute(let, [](const std::string&) { return Expr(5); })),
            "let x = 5 + 1 in x*5");
  EXPECT_TRUE(substitute(let, "z", Expr(5)).same_as(let));
}

TEST(UsesVar, FindsFreeVariablesOnly) {
  EXPECT_TRUE(uses_var(access("f", {x() + 1}), "x"));
  EXPECT_FALSE(uses_var(access("f", {x() + 1}), "y"));
  EXPECT_FALSE(uses_var(make_expr(Int(32), Let{"x", y(), x()}), "x"));
  EXPECT_TRUE(uses_var(make_expr(Int(32), Let{"x", x(), x()}), "x"));
}

}  // namespace
}  // namespace mica
