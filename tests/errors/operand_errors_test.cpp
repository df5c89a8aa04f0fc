// Mistakes in operands, runs and handles name the line on which the user wrote them.
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "dsl/expr/operators.h"
#include "dsl/func/func.h"
#include "runtime/buffer/buffer.h"
#include "tests/support/expect_error.h"

namespace mica {
namespace {

using test::fails_with;

const Var x("x"), y("y");
const Expr flag = x < 3, whole = x + 1, real = cast<float>(x), none;

TEST(OperandErrors, OperatorsNameTheirLine) {
  EXPECT_FAILS((void)(flag + 1), "'+' of bool and i32");
  EXPECT_FAILS((void)(2 * flag), "'*' of i32 and bool");
  EXPECT_FAILS((void)(flag - flag), "'-' does not take bool operands");
  EXPECT_FAILS((void)(real % 2), "'%' does not take f32 operands", "fmod(a, b)");
  EXPECT_FAILS((void)-flag, "'-' does not take bool");
  EXPECT_FAILS((void)!whole, "'!' does not take i32");
  EXPECT_FAILS((void)~real, "'~' does not take f32");
  EXPECT_FAILS((void)(real & 1), "'&' does not take f32");
  EXPECT_FAILS((void)(real | real), "'|' does not take f32");
  EXPECT_FAILS((void)(flag ^ 1), "'^' of bool and i32");
  EXPECT_FAILS((void)(whole << 40), "'<<' of i32 by 40");
  EXPECT_FAILS((void)(whole >> real), "'>>' does not take f32");
  EXPECT_FAILS((void)(whole && flag), "'&&' does not take i32");
  EXPECT_FAILS((void)(flag || real), "'||' does not take f32");
  EXPECT_FAILS((void)(flag < flag), "'<' does not take bool");
  EXPECT_FAILS((void)(flag == 1), "'==' of bool and i32");
  EXPECT_FAILS((void)(none + 1), "an operand of '+' is an undefined Expr");
  EXPECT_FAILS((void)(cast(Float(16), real) * 1e30), "does not fit f16");
  EXPECT_FAILS((void)(cast(UInt(64), x) + -1), "no integer type holds both -1 and all of u64", "'+'",
               "cast one of them");
  EXPECT_FAILS((void)min(whole, ~std::uint64_t{0}), "18446744073709551615 and all of i32", "'min'");
  EXPECT_FAILS((void)(cast(UInt(64), x) >> 64), "'>>' of u64 by 64", "from 0 to 63");
  EXPECT_FAILS((void)lerp(cast(UInt(64), x), 5, cast(UInt(64), x)), "lerp of u64",
               "must be a float from 0 to 1");
}

TEST(OperandErrors, AssigningOperatorsNameTheirLine) {
  Expr sum = whole;
  EXPECT_FAILS(sum += flag, "'+' of i32 and bool");
  EXPECT_FAILS(sum -= flag, "'-' of i32 and bool");
  EXPECT_FAILS(sum *= flag, "'*' of i32 and bool");
  EXPECT_FAILS(sum /= none, "undefined Expr");
}

TEST(OperandErrors, FunctionsNameTheirLine) {
  EXPECT_FAILS((void)min(flag, 1), "'min' of bool and i32");
  EXPECT_FAILS((void)max(1, 2, flag), "'max' of i32 and bool");
  EXPECT_FAILS((void)clamp(whole, 0, flag), "'min' of i32 and bool");
  EXPECT_FAILS((void)abs(flag), "'abs' does not take bool");
  EXPECT_FAILS((void)select(whole, 1, 2), "'select' does not take i32");
  EXPECT_FAILS((void)select(flag, 1, whole, 2, 3), "'select' does not take i32");
  EXPECT_FAILS((void)select(flag, 1, flag), "'select' of i32 and bool");
  EXPECT_FAILS((void)cast(Int(24), whole), "cast to i24");
  EXPECT_FAILS((void)cast<float>(none), "an operand of 'cast' is an undefined Expr");
  EXPECT_FAILS((void)fma(whole, 2, 3), "'fma' does not take i32");
  EXPECT_FAILS((void)strict(none), "undefined Expr");
  EXPECT_FAILS((void)mux(real, {1, 2}), "'mux' does not take f32");
  EXPECT_FAILS((void)mux(whole, {}), "mux of no values");
  EXPECT_FAILS((void)mux(whole, {flag, 1}), "'select' of bool and i32");
  EXPECT_FAILS((void)lerp(whole, whole, whole), "the weight must be a float");
  EXPECT_FAILS((void)sqrt(flag), "'sqrt' does not take bool");
  EXPECT_FAILS((void)exp(flag), "'exp' does not take bool");
  EXPECT_FAILS((void)pow(flag, flag), "'pow' does not take bool");
  EXPECT_FAILS((void)atan2(real, flag), "'atan2' of f32 and bool");
  EXPECT_FAILS((void)fmod(none, real), "an operand of 'fmod' is an undefined Expr");
}

TEST(OperandErrors, DefinitionsAndReductionsNameTheirLine) {
  Func f("f"), g("g");
  f(x) = real;
  EXPECT_FAILS(f(x) += flag, "'+' of f32 and bool");
  EXPECT_FAILS(f(x) *= flag, "'*' of f32 and bool");
  const RDom r({{0, 3}});
  EXPECT_FAILS((void)sum(r, none), "sum of an undefined Expr");
  EXPECT_FAILS(g(x) = select(x == 0, 1.0F, real + ~g(x - 1)), "'~' does not take f32");
}

TEST(OperandErrors, ElementsAndDimensionsNameTheirLine) {
  const Tuple pair(whole, real);
  const RDom r({{0, 3}});
  EXPECT_FAILS((void)pair[2], "element 2 of a Tuple of 2 values");
  EXPECT_FAILS((void)pair[-1], "element -1 of a Tuple of 2 values");
  EXPECT_FAILS((void)r[1], "dimension 1 of RDom r, which has 1 dimension ");
}

/// A place inside the standard library is none of the user's.
TEST(OperandErrors, TheStandardLibraryIsNotTheUsersLine) {
  const auto place = [](const std::function<void()>& action) -> std::string {
    try {
      action();
    } catch (const UserError& error) {
      EXPECT_EQ(std::string(error.what()).find(".h:"), std::string::npos) << error.what();
      return to_string(error.where());
    }
    return "no error";
  };
  std::vector<ImageParam> inputs;
  EXPECT_EQ(place([&] { inputs.emplace_back(Float(32), 99, "u"); }), "");
  EXPECT_EQ(place([] { (void)std::make_unique<Func>(""); }), "");
  const std::vector<Expr> values{flag, flag};
  EXPECT_EQ(place([&] { (void)std::accumulate(values.begin(), values.end(), Expr(1), std::plus<>()); }),
            "");
  inputs.emplace_back(Float(32), 1, "u");
  EXPECT_FALSE(inputs[0].data()->where.known());
  EXPECT_FALSE(std::make_shared<Func>("f")->function()->where.known());
}

TEST(OperandErrors, AnInputMadeByTheLibraryIsMissedWhereTheRunStands) {
  const auto u = std::make_unique<ImageParam>(Float(32), 1, "u");
  Func f("f");
  f(x) = (*u)(x);
  Buffer<float> out(4);
  EXPECT_FAILS(f.realize(out, Target::host()), "input u is not set");
  Executable run = compile(f, Target::host());
  EXPECT_FAILS(run.run(out), "input u is not set");
}

// ---- runs --------------------------------------------------------------------------------------------

class RunPlaces : public ::testing::Test {
 protected:
  RunPlaces() {
    f(x, y) = x + y;
    pair(x) = Tuple(Expr(x), Expr(x));
    one() = 1;
  }
  Func f{"f"}, pair{"pair"}, one{"one"}, later{"later"};
  Buffer<float> wrong{4, 4};
  Buffer<std::int32_t> flat{4}, good{4, 4};
  AnyBuffer nothing;
  Target host = Target::host();
  RunOptions options;
};

TEST_F(RunPlaces, ABufferOfAnotherTypeIsNamedWhereTheCallStands) {
  EXPECT_FAILS(f.realize(wrong, host), "output f has elements of type i32", "holds f32");
  EXPECT_FAILS(f.realize(wrong, host, options), "output f has elements of type i32");
  EXPECT_FAILS(f.realize({&wrong}, host), "output f has elements of type i32");
  EXPECT_FAILS(f.realize(std::vector<AnyBuffer*>{&wrong}, host, options), "of type i32");
  Executable run = compile(f, host);
  EXPECT_FAILS(run.run(wrong), "output f has elements of type i32", "holds f32");
  EXPECT_FAILS(run.run({&wrong}, options), "output f has elements of type i32");
}

TEST_F(RunPlaces, OtherBuffersAreNamedWhereTheCallStands) {
  EXPECT_FAILS(f.realize(flat, host), "output f has 2 dimensions, but the buffer given has 1");
  EXPECT_FAILS(f.realize(nothing, host), "the buffer given for output f is undefined");
  EXPECT_FAILS(pair.realize(flat, host), "the pipeline writes 2 buffers (pair.0, pair.1)", "given 1");
  EXPECT_FAILS(f.realize({&good, &good}, host), "the pipeline writes 1 buffer (f)", "given 2");
  EXPECT_FAILS(compile(f, host).run({&good, &good}), "the pipeline writes 1 buffer (f)");
  EXPECT_FAILS(Executable().run(good), "an Executable that was never compiled");
}

TEST_F(RunPlaces, SizesAreNamedWhereTheCallStands) {
  EXPECT_FAILS((void)f.realize({4}, host), "f has 2 dimensions, but realize was given 1 size;");
  EXPECT_FAILS((void)f.realize({4, 4, 4}, host, options), "realize was given 3 sizes");
  EXPECT_FAILS((void)f.realize(std::vector<int>{}, host), "realize was given 0 sizes");
  EXPECT_FAILS((void)f.realize(host), "f has 2 dimensions, but realize was given no sizes");
  EXPECT_FAILS((void)pair.realize(host), "pair has 1 dimension, but realize was given no sizes");
  EXPECT_FAILS((void)f.realize({4, -1}, host), "-1");
  EXPECT_EQ(Buffer<std::int32_t>(one.realize(host))(0), 1);
}

TEST_F(RunPlaces, AFuncWithoutADefinitionIsNamedWhereTheCallStands) {
  EXPECT_FAILS(later.realize(good, host), "realize of later, which is not defined", "later(...) = ...");
  EXPECT_FAILS((void)later.realize({4}, host), "realize of later, which is not defined");
  EXPECT_FAILS((void)later.realize(host), "realize of later, which is not defined");
}

// ---- writes ------------------------------------------------------------------------------------------

TEST(WriteErrors, AWriteBeyondTheBufferIsCalledAWrite) {
  Func f("f");
  const RDom r({{0, 9}});
  f(x) = 0;
  f(r + 1) += 1;
  Buffer<std::int32_t> out(9);
  EXPECT_TRUE(fails_with([&] { f.realize(out, Target::host()); },
                         {"update 1 of f writes f(", "at indices 1 to 9", "the output holds 0 to 8"}));
}

TEST(WriteErrors, AnIndexOfAWriteThatNothingBoundsIsCalledThat) {
  const ImageParam u(Int(32), 1, "u");
  Func f("f");
  const RDom r({{0, 9}});
  f(x) = 0;
  f(u(r)) += 1;
  EXPECT_TRUE(fails_with([&] { (void)compile(f, Target::host()); },
                         {"update 1 of f writes at index u(r.x), which nothing bounds", "clamp it"}));
}

}  // namespace
}  // namespace mica
