#include "runtime/run/evaluate.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dsl/expr/operators.h"

namespace mica {
namespace {

constexpr std::int64_t kLowest32 = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kHighest32 = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kLowest64 = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHighest64 = std::numeric_limits<std::int64_t>::max();

/// A node over variables, so that no constant folding takes the work away.
std::int64_t ints(BinaryOp op, std::int64_t a, std::int64_t b, Type type = Int(32)) {
  return evaluate_int(make_expr(type, Binary{op, make_var("a", type), make_var("b", type)}),
                      {{"a", a}, {"b", b}});
}

double reals(const Expr& e, const std::vector<std::pair<std::string, double>>& symbols, Type type) {
  SymbolTable table;
  std::vector<HostValue> values;
  for (const auto& [name, value] : symbols) {
    table.add(name, type);
    HostValue v{};
    v.f = value;
    values.push_back(v);
  }
  return HostProgram(e, table).run(values.data()).f;
}

double floats(BinaryOp op, double a, double b, Type type = Float(64)) {
  return reals(make_expr(type, Binary{op, make_var("a", type), make_var("b", type)}),
               {{"a", a}, {"b", b}}, type);
}

std::int64_t float_to(Type to, double value) {
  SymbolTable table;
  table.add("a", Float(64));
  HostValue v{};
  v.f = value;
  return HostProgram(make_expr(to, Cast{make_var("a", Float(64))}), table).run(&v).i;
}

TEST(Evaluate, WideUnsignedIntegersWrapAndAreNotSigned) {
  const auto least = [](std::int64_t a, std::int64_t b) { return ints(BinaryOp::Min, a, b, UInt(64)); };
  EXPECT_EQ(least(-1, 5), 5);
  EXPECT_EQ(ints(BinaryOp::Div, -1, 10, UInt(64)), 0x1999999999999999LL);
  EXPECT_EQ(ints(BinaryOp::Shr, -1, 60, UInt(64)), 15);
  EXPECT_EQ(ints(BinaryOp::Sub, 1, 2, UInt(32)), 0xffffffffLL);
  EXPECT_EQ(ints(BinaryOp::Mul, 0xffffffffLL, 0xffffffffLL, UInt(32)), 1);
  EXPECT_EQ(float_to(UInt(64), 0x1p64), -1);
  EXPECT_EQ(float_to(UInt(64), 0x1p63), kLowest64);
  EXPECT_EQ(float_to(UInt(32), 5e9), 0xffffffffLL);
  HostValue all{};
  all.i = -1;
  EXPECT_EQ(print_value(all, UInt(64)), "18446744073709551615");
  SymbolTable table;
  table.add("a", UInt(64));
  const auto of_all = [&](const Expr& e) { return HostProgram(e, table).run(&all); };
  EXPECT_EQ(of_all(cast(Float(64), make_var("a", UInt(64)))).f, 0x1p64);
  EXPECT_EQ(of_all(cast(Float(32), make_var("a", UInt(64)))).f, 0x1p64);
  EXPECT_EQ(of_all(make_var("a", UInt(64)) > 5).i, 1);
}

TEST(Evaluate, WhatBecomesUnsignedWrapsAlsoAmongCoordinates) {
  const Expr a = make_var("a"), n = cast(UInt(32), a * 3);
  const std::map<std::string, std::int64_t> big{{"a", kHighest32}};
  EXPECT_EQ(evaluate_int(cast(Int(32), n / 2), big, Integers::Exact),
            (3LL * kHighest32 % (1LL << 32)) / 2);
  EXPECT_EQ(evaluate_int(a * 3, big, Integers::Exact), 3LL * kHighest32);
}

TEST(Evaluate, IntegerDivisionRoundsDownAndByZeroGivesZero) {
  for (std::int64_t a = -9; a <= 9; ++a) {
    for (std::int64_t b = -4; b <= 4; ++b) {
      const std::int64_t quotient =
          b == 0
              ? 0
              : static_cast<std::int64_t>(std::floor(static_cast<double>(a) / static_cast<double>(b)));
      EXPECT_EQ(ints(BinaryOp::Div, a, b), quotient) << a << " / " << b;
      EXPECT_EQ(ints(BinaryOp::Mod, a, b), b == 0 ? 0 : a - quotient * b) << a << " % " << b;
    }
  }
}

TEST(Evaluate, IntegersWrapAtTheWidthOfTheirType) {
  EXPECT_EQ(ints(BinaryOp::Add, kHighest32, 1), kLowest32);
  EXPECT_EQ(ints(BinaryOp::Mul, 1 << 20, 1 << 12), 0);
  EXPECT_EQ(ints(BinaryOp::Sub, 3, 5, UInt(8)), 254);
  EXPECT_EQ(ints(BinaryOp::Div, kLowest32, -1), kLowest32);
  EXPECT_EQ(ints(BinaryOp::Div, kLowest64, -1, Int(64)), kLowest64);
  EXPECT_EQ(ints(BinaryOp::Mod, kLowest64, -1, Int(64)), 0);
  EXPECT_EQ(ints(BinaryOp::Add, kHighest64, 1, Int(64)), kLowest64);
  EXPECT_EQ(evaluate_int(make_expr(Int(8), Unary{UnaryOp::Abs, make_var("a", Int(8))}), {{"a", -128}}),
            -128);
  EXPECT_EQ(
      evaluate_int(make_expr(Int(64), Unary{UnaryOp::Neg, make_var("a", Int(64))}), {{"a", kLowest64}}),
      kLowest64);
  EXPECT_EQ(
      evaluate_int(make_expr(UInt(16), Unary{UnaryOp::BitNot, make_var("a", UInt(16))}), {{"a", 1}}),
      65534);
}

TEST(Evaluate, ShiftsAreArithmeticOnSignedTypesAndTakeTheAmountModuloTheWidth) {
  EXPECT_EQ(ints(BinaryOp::Shr, -8, 1), -4);
  EXPECT_EQ(ints(BinaryOp::Shr, 200, 3, UInt(8)), 25);
  EXPECT_EQ(ints(BinaryOp::Shl, 1, 31), kLowest32);
  EXPECT_EQ(ints(BinaryOp::Shl, 3, 33), 6);
}

TEST(Evaluate, CastsToNarrowerIntegersKeepTheLowBits) {
  const auto cast_to = [](Type to, std::int64_t v) {
    return evaluate_int(make_expr(to, Cast{make_var("a", Int(64))}), {{"a", v}});
  };
  EXPECT_EQ(cast_to(Int(8), 0x1ff), -1);
  EXPECT_EQ(cast_to(UInt(8), -1), 255);
  EXPECT_EQ(cast_to(Int(32), std::int64_t{1} << 32 | 7), 7);
  EXPECT_EQ(cast_to(Bool(), 256), 1);
}

TEST(Evaluate, CastsFromFloatsTruncateAndSaturate) {
  EXPECT_EQ(float_to(Int(32), -3.9), -3);
  EXPECT_EQ(float_to(Int(32), 1e30), kHighest32);
  EXPECT_EQ(float_to(Int(32), -1e30), kLowest32);
  EXPECT_EQ(float_to(Int(64), 1e30), kHighest64);
  EXPECT_EQ(float_to(Int(64), -std::numeric_limits<double>::infinity()), kLowest64);
  EXPECT_EQ(float_to(UInt(8), 255.9), 255);
  EXPECT_EQ(float_to(UInt(8), 256.0), 255);
  EXPECT_EQ(float_to(UInt(8), -0.5), 0);
  EXPECT_EQ(float_to(UInt(8), -7.0), 0);
  EXPECT_EQ(float_to(Int(8), 127.99), 127);
  EXPECT_EQ(float_to(Int(8), -128.99), -128);
  EXPECT_EQ(float_to(Int(16), std::nan("")), 0);
}

TEST(Evaluate, FloatMinimumAndMaximumFollowIeee2019) {
  const double nan = std::nan("");
  EXPECT_TRUE(std::isnan(floats(BinaryOp::Min, nan, 1.0)));
  EXPECT_TRUE(std::isnan(floats(BinaryOp::Max, 1.0, nan)));
  EXPECT_TRUE(std::signbit(floats(BinaryOp::Min, 0.0, -0.0)));
  EXPECT_TRUE(std::signbit(floats(BinaryOp::Min, -0.0, 0.0)));
  EXPECT_FALSE(std::signbit(floats(BinaryOp::Max, 0.0, -0.0)));
  EXPECT_FALSE(std::signbit(floats(BinaryOp::Max, -0.0, 0.0)));
  EXPECT_EQ(floats(BinaryOp::Min, 2.0, -3.0), -3.0);
}

TEST(Evaluate, EveryFloatOperationIsRoundedToItsType) {
  EXPECT_EQ(floats(BinaryOp::Add, 16777216.0, 1.0, Float(32)), 16777216.0);
  EXPECT_EQ(floats(BinaryOp::Add, 16777216.0, 1.0, Float(64)), 16777217.0);
  EXPECT_EQ(floats(BinaryOp::Div, 1.0, 3.0, Float(32)), static_cast<double>(1.0F / 3.0F));
  EXPECT_EQ(floats(BinaryOp::Add, 2048.0, 1.0, Float(16)), 2048.0) << "f16 has 11 bits";
  EXPECT_EQ(floats(BinaryOp::Add, 256.0, 1.0, BFloat(16)), 256.0) << "bf16 has 8 bits";
  EXPECT_TRUE(std::isinf(floats(BinaryOp::Div, 1.0, 0.0)));
}

TEST(Evaluate, FmaRoundsOnce) {
  const double tiny = std::ldexp(1.0, -30);
  const auto chain = [&](Type type) {
    const Expr e = make_expr(type, Fma{make_var("a", type), make_var("b", type), make_var("c", type)});
    return reals(e, {{"a", 1.0 + tiny}, {"b", 1.0 - tiny}, {"c", -1.0}}, type);
  };
  EXPECT_EQ(chain(Float(64)), -std::ldexp(1.0, -60));
  const double a = 1.0 + std::ldexp(1.0, -12);
  const Expr single = make_expr(
      Float(32), Fma{make_var("a", Float(32)), make_var("a", Float(32)), make_var("c", Float(32))});
  EXPECT_EQ(reals(single, {{"a", a}, {"c", -1.0}}, Float(32)),
            std::ldexp(1.0, -11) + std::ldexp(1.0, -24));
}

TEST(Evaluate, RoundTiesToEvenAndItsKin) {
  const auto unary = [](UnaryOp op, double v) {
    return reals(make_expr(Float(64), Unary{op, make_var("a", Float(64))}), {{"a", v}}, Float(64));
  };
  EXPECT_EQ(unary(UnaryOp::Round, 2.5), 2.0);
  EXPECT_EQ(unary(UnaryOp::Round, 3.5), 4.0);
  EXPECT_EQ(unary(UnaryOp::Floor, -1.25), -2.0);
  EXPECT_EQ(unary(UnaryOp::Ceil, -1.25), -1.0);
  EXPECT_EQ(unary(UnaryOp::Sqrt, 2.25), 1.5);
  EXPECT_TRUE(std::signbit(unary(UnaryOp::Neg, 0.0)));
}

TEST(Evaluate, SelectLetAndComparisons) {
  const Expr a = make_var("a");
  const Expr e = make_expr(
      Int(32),
      Let{"t", a * 2, make_expr(Int(32), Let{"a", make_var("t") + 1, make_var("a") * make_var("t")})});
  EXPECT_EQ(evaluate_int(e, {{"a", 5}}), 110) << "the inner a hides the outer";
  EXPECT_EQ(evaluate_int(select(a < 3, a + 10, a - 10), {{"a", 2}}), 12);
  EXPECT_EQ(evaluate_int(select(a < 3, a + 10, a - 10), {{"a", 3}}), -7);
  EXPECT_EQ(evaluate_int((a >= 3 && !(a == 4)) || a == 9, {{"a", 4}}), 0);
  EXPECT_EQ(evaluate_int(a >= 3 && a != 4, {{"a", 5}}), 1);
}

TEST(Evaluate, SymbolsKeepTheir64Bits) {
  const std::int64_t large = std::int64_t{1} << 40;
  EXPECT_EQ(evaluate_int(make_expr(Int(64), Cast{make_var("u.stride.2")}), {{"u.stride.2", large}}),
            large);
}

TEST(Evaluate, DeepExpressionsNeedNoLimit) {
  Expr e = make_var("a");
  for (int i = 0; i < 300; ++i) e = make_expr(Int(32), Binary{BinaryOp::Sub, make_var("a"), e});
  EXPECT_EQ(evaluate_int(e, {{"a", 1}}), 1);
}

TEST(Evaluate, WhatOnlyKernelsDefineIsAnInternalError) {
  EXPECT_THROW((void)evaluate_int(make_var("missing")), InternalError);
  const Expr x = make_var("a", Float(32));
  SymbolTable table;
  table.add("a", Float(32));
  EXPECT_THROW(HostProgram(make_expr(Float(32), Unary{UnaryOp::Exp, x}), table), InternalError);
  EXPECT_THROW(HostProgram(make_expr(Float(32), Binary{BinaryOp::Pow, x, x}), table), InternalError);
  EXPECT_THROW(HostProgram(make_var("a", Int(32)), table), InternalError)
      << "a float read as an integer";
  EXPECT_THROW(table.add("a", Int(32)), InternalError);
}

TEST(Evaluate, ValuesPackIntoTheBytesOfTheirType) {
  HostValue v{};
  v.i = -2;
  EXPECT_EQ(pack_value(v, Int(16)), 0xfffeU);
  EXPECT_EQ(unpack_value(0xfffe, Int(16)).i, -2);
  EXPECT_EQ(unpack_value(0xfffe, UInt(16)).i, 65534);
  EXPECT_EQ(pack_value(v, Int(64)), ~std::uint64_t{1});
  v.f = 1.5;
  EXPECT_EQ(pack_value(v, Float(32)), 0x3fc00000U);
  EXPECT_EQ(pack_value(v, Float(16)), 0x3e00U);
  EXPECT_EQ(pack_value(v, BFloat(16)), 0x3fc0U);
  for (const Type type : {Float(16), BFloat(16), Float(32), Float(64)}) {
    EXPECT_EQ(unpack_value(pack_value(v, type), type).f, 1.5);
  }
  EXPECT_EQ(print_value(v, Float(64)), "1.5");
  EXPECT_EQ(print_value(unpack_value(1, Bool()), Bool()), "true");
}

TEST(Evaluate, ReinterpretKeepsTheBits) {
  const Expr bits = make_expr(Int(32), Reinterpret{make_var("a", Float(32))});
  SymbolTable table;
  table.add("a", Float(32));
  HostValue v{};
  v.f = -1.5;
  EXPECT_EQ(HostProgram(bits, table).run(&v).i, static_cast<std::int32_t>(0xbfc00000));
}

TEST(Evaluate, AProgramNamesTheSymbolsItUses) {
  SymbolTable table;
  for (const char* name : {"p", "q", "r"}) table.add(name, Int(32));
  const HostProgram program(make_var("r") + make_var("p") * make_var("r"), table);
  EXPECT_EQ(program.uses(), (std::vector<int>{0, 2}));
}

TEST(HostProgram, ComputesWhatIsSharedOnce) {
  Expr e = make_var("n");
  for (int i = 0; i < 200; ++i) e = min(e + e % 7, e * 2 - 5) + max(e, 3) % 11;
  std::int64_t n = 9;
  const auto mod = [](std::int64_t a, std::int64_t k) { return (a % k + k) % k; };
  const auto wrapped = [](std::int64_t a) { return std::int64_t{static_cast<std::int32_t>(a)}; };
  for (int i = 0; i < 200; ++i) {
    n = wrapped(std::min(wrapped(n + mod(n, 7)), wrapped(n * 2 - 5)) +
                mod(std::max<std::int64_t>(n, 3), 11));
  }
  EXPECT_EQ(evaluate_int(e, {{"n", 9}}), n);
}

}  // namespace
}  // namespace mica
