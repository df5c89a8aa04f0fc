// Integer arithmetic that ptxas is known to translate wrongly
// (codegen/llvm/rewrites/avoid_ptxas_faults_llvm.h): right on every target, and on a GPU in particular.
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fuzz/random_data.h"
#include "tests/support/check_targets.h"
#include "tests/support/compare.h"

namespace mica::test {
namespace {

const Var x("x");
const Box kBox{{0, 256}};

/// `value` of three inputs that hold special values, by plain threads and by vectors.
void check(Type type, const std::function<Expr(const std::vector<Expr>&)>& value) {
  std::vector<ImageParam> inputs;
  std::vector<AnyBuffer> memory;
  std::vector<Expr> taps;
  for (int i = 0; i < 3; ++i) {
    inputs.emplace_back(type, 1, "u" + std::to_string(i));
    memory.emplace_back(type, std::vector<std::int64_t>{kBox[0].second});
    fill_random(memory.back(), static_cast<unsigned>(i) + 1, Contents::Special);
    taps.push_back(inputs.back()(x));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i].set(memory[i]);
  Func f("f");
  f(x) = value(taps);
  for (const Target& target : all_targets()) {
    for (const int lanes : {1, 2, 4}) {
      f.clear_schedule();
      if (target.is_gpu()) f.gpu_tile(x, 32);
      if (lanes > 1) f.vectorize(x, lanes);
      EXPECT_TRUE(matches_oracle({f}, kBox, target)) << to_string(type) << " in " << lanes << " lanes";
    }
  }
}
void check_signed(const std::function<Expr(const std::vector<Expr>&)>& value) {
  for (const Type type : {Int(8), Int(16), Int(32), Int(64)}) check(type, value);
}

TEST(PtxasFaults, NestedExtremaOfNegatedValuesKeepTheirSigns) {
  check_signed([](const auto& u) { return max(max(-u[0], -u[1]), -u[2]); });
  check_signed([](const auto& u) { return min(min(-u[0], -u[1]), -u[2]); });
  check_signed([](const auto& u) { return max(max(u[0], -u[1]), u[2]); });
  check_signed([](const auto& u) { return min(-u[0], max(-u[1], -u[2])); });
}

TEST(PtxasFaults, NegationsWrittenInOtherWays) {
  check_signed([](const auto& u) {
    return max(max(u[0] * -1, make_const(u[1].type(), std::int64_t{0}) - u[1]), u[2] / -1);
  });
  check_signed([](const auto& u) { return max(max(1 - u[0] - 1, -1 - u[1] + 1), ~u[2] + 1); });
  check_signed([](const auto& u) { return max(max(5 - (u[0] + 5), u[1] - u[1] * 2), -u[2]); });
  check_signed([](const auto& u) {
    const Expr wide = -cast(Int(64), u[0]);
    return max(max(cast(u[0].type(), wide), u[1]), cast(u[2].type(), wide - cast(Int(64), u[2])));
  });
  check_signed([](const auto& u) { return max(max(u[0] - (u[1] + u[0]), u[1] - u[2] - u[1]), -u[2]); });
}

TEST(PtxasFaults, NegativePowersOfTwoInNestedExtrema) {
  check_signed([](const auto& u) { return max(max(u[0], u[1] * -4), u[2]); });
  check_signed([](const auto& u) {
    return max(u[0], clamp(u[1] * -4, make_const(u[0].type(), std::int64_t{-4}), u[2] - 8));
  });
  check_signed([](const auto& u) { return min(min(u[0] * -2, u[1] * -8), u[2] * -16); });
}

TEST(PtxasFaults, TheMagnitudeOfTheLeastIntegerIsNegative) {
  check_signed([](const auto& u) { return abs(u[0]) % (u[1] | cast(u[1].type(), 1)); });
  check_signed([](const auto& u) { return abs(u[0]) / (u[1] | cast(u[1].type(), 1)); });
  check_signed([](const auto& u) { return select(abs(u[0]) < 0, u[1], u[2]) + max(abs(u[1]), u[2]); });
}

TEST(PtxasFaults, TheNegatedLeastIntegerIsNegative) {
  check_signed([](const auto& u) { return -u[0] >> cast(u[0].type(), 3); });
  check_signed([](const auto& u) { return select(u[1] < -u[0], -u[0], u[1]); });
  check_signed([](const auto& u) { return cast(u[0].type(), cast<float>(-u[0]) * 0.5F) + u[1]; });
}

TEST(PtxasFaults, ExtremaThatEqualTheirBound) {
  for (const Type type : {Int(8), UInt(8), Int(16), UInt(16), Int(32)}) {
    for (const std::int64_t bound : {0, 1, 5, 127}) {
      const Expr c = make_const(type, bound);
      check(type, [&](const auto& u) { return make_const(type, std::int64_t{1}) / min(u[0], c); });
      check(type, [&](const auto& u) { return select(max(u[0], c) == c, u[1], u[2]); });
      check(type, [&](const auto& u) { return select(min(u[0], c) != u[0], u[1], u[2]); });
      check(type, [&](const auto& u) {
        return select(select(u[0] < c, u[0], c) == c, u[1], u[2]) + u[1] % max(u[0], c);
      });
    }
    check(type, [&](const auto& u) { return select(min(u[0], u[1]) == u[1], u[2], u[0]); });
    check(type, [&](const auto& u) { return select(max(u[0], u[1]) == u[1], u[2], u[0]); });
  }
}

TEST(PtxasFaults, UpperHalvesOfNarrowElements) {
  for (const Type type : {Int(8), Int(16)}) {
    const auto upper = [](const Expr& e) { return cast<std::int16_t>(e >> 16); };
    check(type, [&](const auto& u) { return u[0] + cast(type, upper(cast<int>(u[1]))); });
    check(type, [&](const auto& u) { return cast(type, cast(Int(16), u[0]) / upper(cast<int>(u[1]))); });
    check(type, [&](const auto& u) {
      return select(upper(cast<int>(u[1])) == cast<std::int16_t>(-1), u[0], u[2]);
    });
    check(type, [&](const auto& u) { return u[0] * cast(type, upper(cast<int>(u[1]) ^ 0x5555)); });
    check(type, [&](const auto& u) { return u[0] - cast(type, upper(max(cast<int>(u[1]), u[2]))); });
  }
  for (const Type type : {Int(8), Int(16), Int(32)}) {
    const auto upper = [](const Expr& e) { return cast<int>(cast(Int(64), e) >> 32); };
    check(type, [&](const auto& u) { return cast<int>(u[0]) + upper(u[1]); });
    check(type, [&](const auto& u) { return cast<int>(u[0]) / upper(cast(Int(64), u[1]) ^ 0x5555); });
    check(type, [&](const auto& u) { return select(upper(u[1]) == -1, u[0], u[2]); });
  }
}

// Two of a vector's i16 become f64 where registers are too few for all that is loaded: this very kernel,
// with its bounds and strides compiled in, was wrong.
TEST(PtxasFaults, NarrowCoefficientsOfDoublesUnderFewRegisters) {
  const Var y("y"), z("z");
  const std::vector<BufferDim> dims{{-32, 37, 1}, {-8, 5, 44}, {-38, 10, 396}};
  const std::vector<BufferDim> around{{-34, 41, 1}, {-10, 9, 48}, {-40, 13, 624}};
  ImageParam u(Float(64), 3, "u0"), c(Int(16), 3, "u1");
  AnyBuffer u_data(Float(64), around), c_data(Int(16), dims);
  fill_random(u_data, 1, Contents::Small);
  fill_random(c_data, 2, Contents::Small);
  u.set(u_data);
  c.set(c_data);
  const Expr k = cast(Float(64), c(x, y, z)), at = u(x, y, z);
  Func f("f0");
  f(x, y, z) = k * at + u(x - 1, y, z) + at * u(x + 1, y, z) - u(x, y - 1, z) + k * u(x, y + 1, z) +
               k * u(x, y, z - 1) + u(x, y, z + 1) - u(x - 2, y, z) + k * u(x + 2, y, z) +
               at * u(x, y - 2, z) + at * u(x, y + 2, z) + u(x, y, z - 2);
  CompileOptions options;
  const auto bake = [&](const std::string& array, const std::vector<BufferDim>& known) {
    for (std::size_t d = 0; d < known.size(); ++d) {
      const std::string place = "." + std::to_string(d);
      options.bake[array + ".min" + place] = known[d].min;
      options.bake[array + ".extent" + place] = known[d].extent;
      options.bake[array + ".stride" + place] = known[d].stride;
    }
  };
  bake("f0", dims);
  bake("u0", around);
  bake("u1", dims);
  AnyBuffer expected(Float(64), dims);
  compile(f, Target::host()).run(expected);
  f.read_only(c);
  for (const Target& target : all_targets()) {
    AnyBuffer values(Float(64), dims);
    compile(f, target, options).run(values);
    EXPECT_TRUE(same_bits(expected, values)) << to_string(target);
  }
}

/// Half of `e` added to it, taken from it, or the larger or smaller of both: + - M m, or s, chosen.
Expr with_half(const Expr& e, char operation) {
  const Expr half = 0.5F * e;
  switch (operation) {
    case '+': return e + half;
    case '-': return e - half;
    case 'M': return max(e, half);
    case 'm': return min(e, half);
    default: return select(e < 0.5F, e, half);
  }
}

// A thread has 32 registers, and spills: a read-only load was repeated at an address of which one half
// had been kept in local memory and its register given away. It is this very kernel.
TEST(PtxasFaults, ReadOnlyLoadsOfAKernelThatSpills) {
  const Var y("y"), z("z");
  ImageParam u(Float(32), 3, "u0"), v(Float(32), 2, "u1");
  AnyBuffer u_data(Float(32), {{-2, 8, 1}, {-39, 3, 13}, {-3, 6, 91}});
  AnyBuffer v_data(Float(32), {{-2, 10, 1}, {-39, 5, 15}});
  fill_random(u_data, 1, Contents::Small);
  fill_random(v_data, 2, Contents::Small);
  u.set(u_data);
  v.set(v_data);
  const Expr least = with_half(with_half(-0.25F * v(x + 1, y - 2), 'M'), 'm');
  const Expr some = with_half(least, '+');
  Expr number = -0.75F;
  for (const char operation : std::string("+++m-+M--smm+-+mmsMMMMs-M-mMMmMMmmmMmMMm")) {
    number = with_half(number, operation);
  }
  const auto sum = [&] {
    const Param<float> a("p", 2.0F), b("p", 0.75F), c("p", -0.25F), d("p", -1.5F);
    return v(x, y) + v(x - 2, y - 2) - -1.25F * v(x - 1, y - 2) + v(x, y - 2) + some + v(x + 2, y - 2) +
           v(x - 2, y - 1) + v(x - 1, y - 1) + a * v(x, y - 1) + b * v(x + 1, y - 1) - v(x + 2, y - 1) +
           v(x - 2, y) - min(c * v(x - 1, y), some) + number - d * v(x, y) + 0.0F * v(x + 1, y) +
           v(x + 2, y) - v(x - 2, y + 1) + -0.5F * v(x - 1, y + 1) + -2.0F * number +
           number * v(x + 1, y + 1) + v(x + 2, y + 1) + 1.75F * min(v(x - 2, y + 2), some) -
           v(x - 1, y + 2) + -1.0F * v(x, y + 2) + 0.75F * v(x + 1, y + 2) + -1.5F * v(x + 2, y + 2) +
           select(u(x - 2, y - 2, z) == 1.75F, u(x, y, z + 2), u(x - 2, y, -3));
  };
  Func f("f0");
  const Expr first = sum(), others = sum();
  f(x, y, z) = select(z == -2, first, others - 0.5F * f(x, y, z + 1) - f(x, y, z + 7));
  const std::vector<BufferDim> dims{{0, 6, 1}, {-37, 1, 11}, {-3, 4, 55}};
  AnyBuffer expected(Float(32), dims);
  compile(f, Target::host()).run(expected);
  f.gpu_tile(x, y, 32, 1, TailStrategy::ShiftInwards).vectorize(x, 4).read_only(u);
  f.launch_bounds(3).max_registers(32);
  for (const Target& target : all_targets()) {
    AnyBuffer values(Float(32), dims);
    compile(f, target).run(values);
    EXPECT_TRUE(same_bits(expected, values)) << to_string(target);
  }
}

// Rows begin anywhere, so a thread takes the elements out of words.
TEST(PtxasFaults, UnsignedFloatsOfSignedBytes) {
  const Var y("y");
  const Box box{{12, 27}, {32, 23}};
  for (const Type type : {Int(8), Int(16)}) {
    for (const Type to : {Float(32), Float(64)}) {
      for (const Type word : {UInt(32), UInt(64)}) {
        ImageParam u(type, 2, "u");
        AnyBuffer memory(type, std::vector<BufferDim>{{10, 30, 1}, {32, 23, 31}});
        fill_random(memory, 1, Contents::Ordinary);
        u.set(memory);
        Func f("f");
        f(x, y) = cast(to, cast(word, u(x - 2, y))) + cast(to, u(x + 1, y));
        for (const Target& target : all_targets()) {
          f.clear_schedule();
          if (target.is_gpu()) f.gpu_tile(x, y, 32, 2);
          f.vectorize(x, 4);
          EXPECT_TRUE(matches_oracle({f}, box, target))
              << to_string(type) << " on " << to_string(target);
        }
      }
    }
  }
}

TEST(PtxasFaults, WordsOf64BitsThatAreShiftedBy31) {
  const Param<std::uint64_t> p("p", 2U);
  for (const Type type : {UInt(64), Int(64)}) {
    check(type, [&](const auto& u) {
      return (cast(type, p) << make_const(type, std::int64_t{31})) +
             select(u[1] == u[2], u[0], cast(type, x));
    });
    check(type, [&](const auto& u) {
      const Expr by = make_const(type, std::int64_t{31});
      return (u[0] << by) * u[1] + ((u[0] << by) ^ (u[2] >> by));
    });
  }
}

// 59546840 - 2 is as far from 59546836 as from 59546840, whose last bit is even.
TEST(PtxasFaults, SumsInLoopsOfFewTurns) {
  for (const Type type : {Float(32), Float(64), Float(16)}) {
    for (const int turns : {2, 7, 40}) {
      const RDom r({{0, turns}}, "r");
      Func f("f");
      f(x) = cast(type, 1);
      const Expr counted = cast(type, r.x * 1103515245 + 59546838);
      f(x) = max(f(x) - counted, counted - cast(type, r.x + 2)) +
             (cast(type, r.x) * cast(type, 0.1) - cast(type, 0.3));
      for (const Target& target : all_targets()) {
        f.clear_schedule();
        if (target.is_gpu()) {
          f.gpu_tile(x, 32);
          f.update().gpu_tile(x, 32);
        }
        EXPECT_TRUE(matches_oracle({f}, kBox, target)) << to_string(type) << ", " << turns << " turns";
      }
    }
  }
}

// What is compared is divided between the comparison and its use.
TEST(PtxasFaults, ComparisonsThatAreWantedAfterADivision) {
  for (const Type type : {Int(8), UInt(8), Int(16), UInt(16), Int(32), Int(64), UInt(64)}) {
    for (const auto& divided : std::vector<std::function<Expr(const Expr&, const Expr&)>>{
             [](const Expr&a, const Expr&b) { return a % b; },
             [](const Expr&a, const Expr&b) { return a / b; }}) {
      check(type, [&](const auto& u) {
        const Expr q = divided(u[0], u[1]), r = divided(u[2], q);
        return select(u[2] <= u[0], r, divided(r, u[1]));
      });
      check(type, [&](const auto& u) {
        return divided(select(u[0] < u[1], divided(u[0], u[2]), u[1]), u[0]);
      });
    }
  }
}

TEST(PtxasFaults, PairsOfNarrowElementsAddConstants) {
  for (const Type type : {Int(8), UInt(8), Int(16), UInt(16), Int(32)}) {
    check(type, [&](const auto& u) { return u[0] + cast(type, x); });
    check(type, [&](const auto& u) { return cast(type, cast(Int(16), u[0]) + cast(Int(16), x)); });
    check(type,
          [&](const auto& u) { return cast(type, x * 3 + 1) + cast(type, x) - u[0] * cast(type, x); });
  }
}

}  // namespace
}  // namespace mica::test
