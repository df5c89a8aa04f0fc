// Expressions are graphs: what is shared is compiled and computed once, and depth is no obstacle.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "codegen/pipeline_variants.h"
#include "fuzz/random_data.h"
#include "tests/support/check_targets.h"
#include "tests/support/expect_error.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

class Graphs : public ::testing::Test {
 protected:
  /// `f(x) = value` on every target.
  void expect_right(const Expr& value, std::int64_t n = 20) {
    Func f("f");
    f(x_) = value;
    const auto memory = bind_random(u_, {{-1, n + 2}}, 1);
    EXPECT_TRUE(check_all_targets(f, {{0, n}}));
  }
  void expect_right_on_the_host(const Expr& value) {
    Func f("f");
    f(x_) = value;
    const auto memory = bind_random(u_, {{-1, 12}}, 1);
    EXPECT_TRUE(matches_oracle({f}, {{0, 10}}, Target::host()));
  }

  Var x_{"x"};
  ImageParam u_{Float(32), 1, "u"};
};

TEST_F(Graphs, OfValuesUsedTwiceAtEachLevel) {
  for (const int depth : {1, 2, 5, 12, 40, 200}) {
    Expr e = u_(x_);
    for (int i = 0; i < depth; ++i) e = max(e * e, 0.1F * e);
    expect_right(e);
  }
}

TEST_F(Graphs, OfTenThousandLevels) {
  Expr e = u_(x_);
  for (int i = 0; i < 10000; ++i) e = max(e * e, 0.1F * e);
  expect_right_on_the_host(e);
}

TEST_F(Graphs, OfSumsUsedTwiceAtEachLevel) {
  for (const int depth : {1, 2, 3, 30, 100}) {
    Expr e = u_(x_);
    for (int i = 0; i < depth; ++i) e = 0.5F * e + (e - u_(x_ + 1)) * 0.25F;
    expect_right(e);
  }
}

TEST_F(Graphs, OfIntegers) {
  for (const int depth : {1, 3, 30, 60}) {
    Expr a = x_ + 3;
    Expr b = x_ * 7;
    for (int i = 0; i < depth; ++i) {
      a = a + a * 3 + i;
      b = min(b * b, b + 5) % 1000 + max(b / 3, b - 1);
    }
    expect_right(select(a < b, a, b) + a / 3);
  }
}

TEST_F(Graphs, OfIndices) {
  for (const int depth : {1, 2, 3, 16}) {
    Expr at = x_;
    for (int i = 0; i < depth; ++i) at = clamp(at + 1, at - 2, at + 1) - clamp(at, 0, 1);
    expect_right(u_(clamp(at, 0, 19)));
  }
}

// What does not depend on a sum's point is in it once; what would be too much is no expression.
TEST_F(Graphs, OfSumsOfSums) {
  const RDom r({{0, 64}, {0, 64}}, "r"), s({{0, 16}, {0, 8}}, "s");
  const auto tap = [&](const Expr& i) { return u_((x_ + i) % 7); };
  expect_right_on_the_host(sum(r, tap(r.x + r.y) * sum(s, tap(s.x * s.y))));
  Func dependent("dependent");
  dependent(x_) = sum(r, tap(r.x + r.y) * sum(s, tap(s.x * s.y + r.x)));
  EXPECT_EQ(pipeline_of({dependent}).funcs.size(), 2U);
  const auto memory = bind_random(u_, {{0, 7}}, 1);
  EXPECT_TRUE(matches_oracle({dependent}, {{0, 2}}, Target::host()));
}

// Of vectors on a GPU, conditions are taken apart.
TEST_F(Graphs, OfConditionsThatShareTheirParts) {
  Expr e = u_(x_) > 0.0F;
  for (int i = 0; i < 60; ++i) e = (e && u_(x_ + i % 3) > 0.1F * i) && (e && u_(x_) < 1.0F);
  Func f("f");
  f(x_) = select(e, u_(x_), 2.0F);
  f.gpu_tile(x_, 32).vectorize(x_, 4);
  EXPECT_FALSE(compile_to_ptx(f, 90).empty());
}

TEST_F(Graphs, OfASumOfTwentyThousandTerms) {
  Expr e = u_(x_);
  for (int i = 1; i < 20000; ++i) e = e + u_(x_ + (i % 3 - 1)) * (static_cast<float>(i) * 0.001F);
  expect_right_on_the_host(e);
}

TEST_F(Graphs, OfFourSweepsComputedInline) {
  const Var y("y");
  const ImageParam v(Float(32), 2, "v");
  Func f("sweep");
  f(x_, y) = v(x_, y);
  for (int i = 0; i < 4; ++i) {
    Func next("sweep");
    next(x_, y) = 0.25F * (f(x_ - 1, y) + f(x_ + 1, y) + f(x_, y - 1) + f(x_, y + 1));
    f = next;
  }
  const auto memory = bind_random(v, {{-10, 32}, {-10, 25}}, 2);
  EXPECT_TRUE(matches_oracle({f}, {{0, 12}, {0, 5}}, Target::host()));
}

TEST_F(Graphs, OfClampedTapsThroughAChainOfFuncs) {
  const auto memory = bind_random(u_, {{0, 30}}, 3);
  std::vector<Func> funcs;
  for (int i = 0; i < 12; ++i) {
    Func f("f" + std::to_string(i));
    const auto at = [&](const Expr& index) -> Expr {
      return i == 0 ? Expr(u_(clamp(index, 0, 29))) : Expr(funcs.back()(clamp(index, 0, 29)));
    };
    f(x_) = at(x_ - 1) + at(x_ + 1) * 0.5F;
    if (i < 11) f.compute_root();
    funcs.push_back(f);
  }
  EXPECT_TRUE(matches_oracle({funcs.back()}, {{0, 30}}, Target::host()));
}

// As written no way through it has 500 operations; with w taken into the sums 13,000 stand inside one
// another.
TEST_F(Graphs, OfFactorsOfSumsAreDeeperThanTheyAreWritten) {
  const Param<float> w("w", 0.25F);
  Expr sum = 0.0F;
  for (int chain = 1; chain <= 200; ++chain) {
    Expr value = u_(x_) * static_cast<float>(chain);
    for (int i = 0; i < 65; ++i) value = value * w + u_(x_ - 1);
    sum = sum + value;
  }
  Func f("f");
  f(x_) = sum;
  const auto memory = bind_random(u_, {{-1, 9}}, 1);
  EXPECT_TRUE(matches_oracle({f}, {{0, 8}}, Target::host()));
  EXPECT_GT(compile_to_ptx(f).size(), 0U);
}

TEST_F(Graphs, AreFreedWhateverTheirDepth) {
  Expr e = u_(x_);
  const std::weak_ptr<const ExprNode> innermost = e.ptr();
  for (int i = 0; i < 1000000; ++i) e = e + 1.0F;
  EXPECT_FALSE(innermost.expired());
  e = Expr();
  EXPECT_TRUE(innermost.expired());
}

TEST_F(Graphs, AnIndexThatLeaves32BitsIsNamedInShort) {
  Expr e = x_;
  for (int i = 0; i < 40; ++i) e = max(e * e, e + 1);
  Func f("f");
  f(x_) = u_(clamp(e, 0, 3));
  const auto memory = bind_random(u_, {{0, 4}}, 1);
  Buffer<float> out(4);
  std::string message;
  try {
    f.realize(out, Target::host());
  } catch (const UserError& error) {
    message = error.what();
  }
  EXPECT_NE(message.find("indices are computed in 32 bits"), std::string::npos) << message;
  EXPECT_LT(message.size(), 1000U) << "written out it has 10^12 parts";
}

TEST_F(Graphs, BeyondTheDeepestAreRefused) {
  // Each is small enough to be defined; computed inline they stand inside one another.
  Func f("f");
  f(x_) = u_(x_);
  for (int k = 0; k < 5; ++k) {
    Expr e = f(x_);
    for (int i = 0; i < 200'001; ++i) e = e + 1.0F;
    f = Func("f");
    f(x_) = e;
  }
  Buffer<float> out(4);
  EXPECT_TRUE(fails_with([&] { f.realize(out, Target::host()); }, {"at most 1000000"}));
}

// Funcs read one another: each is freed by what read it.
TEST_F(Graphs, OfFuncsAreFreedWhateverTheirLength) {
  Func f("f");
  f(x_) = u_(x_);
  const std::weak_ptr<const FunctionData> innermost = f.function();
  for (int i = 0; i < 200000; ++i) {
    Func next("f");
    next(x_) = f(x_) + 1.0F;
    f = next;
  }
  EXPECT_FALSE(innermost.expired());
  f = Func("other");
  EXPECT_TRUE(innermost.expired());
}

TEST_F(Graphs, OfTwentyThousandFuncsComputedInline) {
  Func f("f");
  f(x_) = u_(x_);
  for (int i = 0; i < 20000; ++i) {
    Func next("f");
    next(x_) = f(x_) * 0.5F + 1.0F;
    f = next;
  }
  EXPECT_EQ(pipeline_of({f}).funcs.size(), 20001U);
  EXPECT_NE(code_after_pass(f, Target::host(), "inline_funcs").find("f("), std::string::npos);
}

// Each reads the two before, so that there are many ways from the first to the last; the update needs
// none of them.
TEST_F(Graphs, OfFuncsInOneLoopThatReadTwoOthersEach) {
  const Var y("y");
  const ImageParam v(Float(32), 2, "v");
  Func a("a"), b("b"), f("f");
  a(x_, y) = v(x_, y);
  b(x_, y) = v(x_, y) * 0.5F;
  std::vector<Func> all{a, b};
  for (int i = 0; i < 60; ++i) {
    Func next("next" + std::to_string(i));
    next(x_, y) = all[all.size() - 1](x_, y) * 0.5F + all[all.size() - 2](x_, y) * 0.25F;
    all.push_back(next);
  }
  f(x_, y) = all.back()(x_, y);
  f(x_, 0) += 1.0F;
  for (Func& g : all) g.compute_at(f, y);
  const auto memory = bind_random(v, {{0, 12}, {0, 5}}, 2);
  EXPECT_TRUE(matches_oracle({f}, {{0, 12}, {0, 5}}, Target::host()));
}

// Written with two calls each, not with one that is used twice.
TEST_F(Graphs, OfAChainOfFuncsThatReadTheOneBeforeTwice) {
  const TestPipeline chain = chain_read_twice(30);
  const auto memory = bind_random(chain.inputs[0], {{0, 100}}, 3);
  EXPECT_TRUE(check_all_targets(chain.outputs, {{0, 100}}));
}

}  // namespace
}  // namespace mica::test
