// Instructions that ptxas is known to translate wrongly do not appear.
#include <functional>
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/export/system_tools.h"
#include "codegen/llvm/backend.h"
#include "runtime/cuda/plain_loads.h"
#include "tests/passes/lowered.h"

namespace mica::test {
namespace {

const Var x("x");

std::string text_of(Type type, int lanes,
                    const std::function<Expr(const ImageParam& u, const Expr& at)>& value,
                    const Variant& variant = {}) {
  const ImageParam u(type, 1, "u");
  Func f("f");
  f(x) = value(u, x);
  f.gpu_tile(x, 32);
  if (lanes > 1) f.vectorize(x, lanes);
  return llvm_backend::emit_ptx(to_module(lowered(f, Backend::Cuda, {}, variant)), 90, 0);
}

TEST(PtxasFaults, IntegersUpTo32BitsAreNegatedByNotAndAdd) {
  for (const Type type : {Int(8), Int(16), Int(32)}) {
    for (const int lanes : {1, 2, 4}) {
      const std::vector<std::string> texts = {
          text_of(type, lanes, [](const auto& u, const auto& i) { return max(-u(i), -u(i + 1)); }),
          text_of(type, lanes,
                  [](const auto& u, const auto& i) { return max(u(i) * -1, u(i + 1) / -1); }),
          text_of(type, lanes,
                  [](const auto& u, const auto& i) { return max(7 - u(i) - 7, ~u(i + 1) + 1); }),
          text_of(
              type, lanes,
              [](const auto& u, const auto& i) { return max(5 - (u(i) + 5), 3 - (u(i + 1) - 4 + 7)); }),
          text_of(type, lanes,
                  [](const auto& u, const auto& i) {
                    return max(cast(u(i).type(), -cast(Int(64), u(i))), u(i + 1));
                  }),
          text_of(type, lanes, [](const auto& u, const auto& i) {
            return max(u(i) - (u(i) + u(i + 1)), (u(i + 2) - u(i + 3)) - u(i + 2));
          })};
      for (const std::string& text : texts) {
        EXPECT_EQ(text.find("neg.s"), std::string::npos) << text;
        EXPECT_NE(text.find("not.b"), std::string::npos) << text;
      }
    }
  }
  EXPECT_NE(text_of(Int(64), 1, [](const auto& u, const auto& i) { return -u(i); }).find("neg.s64"),
            std::string::npos);
}

TEST(PtxasFaults, MagnitudesAreNotTakenForPositive) {
  for (const Type type : {Int(8), Int(16), Int(32), Int(64)}) {
    for (const int lanes : {1, 2}) {
      const std::string text =
          text_of(type, lanes, [](const auto& u, const auto& i) { return abs(u(i)) % u(i + 1); });
      EXPECT_EQ(text.find("abs.s"), std::string::npos) << text;
    }
  }
}

TEST(PtxasFaults, UpperHalvesOfExtendedLoadsAreShiftedDown) {
  for (const Type type : {Int(8), Int(16)}) {
    const std::string text = text_of(type, 1, [](const auto& u, const auto& i) {
      return cast<std::int16_t>(u(i)) + cast<std::int16_t>(cast<int>(u(i + 1)) >> 16);
    });
    EXPECT_EQ(text.find("{_, "), std::string::npos) << text;
    EXPECT_NE(text.find("shr.u32 %upper, "), std::string::npos) << text;
  }
}

TEST(PtxasFaults, NarrowIntegersAreWidenedBeforeTheyAreFloats) {
  for (const Type type : {Int(8), UInt(8), Int(16), UInt(16)}) {
    for (const int bits : {32, 64}) {
      for (const int lanes : {1, 2, 4}) {
        const std::string text = text_of(type, lanes, [&](const auto& u, const auto& i) {
          return cast(type, cast(Float(bits), u(i)) * cast(Float(bits), u(i + 1) * u(i)));
        });
        const std::string conversion = "cvt.rn.f" + std::to_string(bits);
        EXPECT_EQ(text.find(conversion + ".s16"), std::string::npos) << text;
        EXPECT_EQ(text.find(conversion + ".u16"), std::string::npos) << text;
        EXPECT_NE(text.find(conversion), std::string::npos) << text;
      }
    }
  }
}

TEST(PtxasFaults, SignedFieldsOfWordsArePermutedBeforeTheyAreUnsignedFloats) {
  for (const Type type : {Int(8), Int(16)}) {
    for (const Type to : {Float(16), Float(32), Float(64)}) {
      for (const Type word : {UInt(32), UInt(64)}) {
        const auto value = [&](const auto& u, const auto& i) { return cast(to, cast(word, u(i))); };
        const std::string text = text_of(type, 4, value, {.aligned = false});
        EXPECT_EQ(text.find("bfe.s32"), std::string::npos) << text;
        EXPECT_NE(text.find("prmt.b32"), std::string::npos) << text;
      }
    }
  }
}

TEST(PtxasFaults, ExtremaHave32BitsAtLeast) {
  for (const Type type : {Int(8), UInt(8), Int(16), UInt(16)}) {
    for (const int lanes : {1, 2, 4}) {
      const Expr zero = make_const(type, std::int64_t{0});
      const std::string text = text_of(type, lanes, [&](const auto& u, const auto& i) {
        const Expr least = select(u(i + 3) < zero, u(i + 3), zero);
        return select(min(u(i), zero) == zero, u(i + 1), max(u(i + 2), zero) / min(u(i), u(i + 1))) +
               select(least == zero, u(i), u(i + 1));
      });
      for (const char* narrow : {"min.s16", "max.s16", "min.u16", "max.u16"}) {
        EXPECT_EQ(text.find(narrow), std::string::npos) << text;
      }
    }
  }
}

// By constants they are products: of 16 bits, as those of 32 have to be mul.hi, which takes longer.
TEST(PtxasFaults, QuotientsHave32BitsAtLeast) {
  for (const Type type : {Int(8), UInt(8), Int(16), UInt(16)}) {
    for (const int lanes : {1, 4}) {
      for (const Expr& divisor : {Expr(), make_const(type, std::int64_t{7})}) {
        const std::string text = text_of(type, lanes, [&](const auto& u, const auto& i) {
          const Expr by = divisor.defined() ? divisor : u(i + 1);
          return u(i) / by + u(i + 2) % by;
        });
        EXPECT_FALSE(std::regex_search(text, std::regex("(div|rem)\\.[su](8|16)"))) << text;
        const bool in_16_bits = !std::regex_search(text, std::regex("mul\\.hi\\.[su]32|rcp"));
        EXPECT_EQ(in_16_bits, divisor.defined()) << text;
      }
    }
  }
}

TEST(PtxasFaults, NarrowElementsAreNotAddedInPairs) {
  for (const Type type : {Int(8), UInt(8), Int(16), UInt(16)}) {
    for (const int lanes : {2, 4}) {
      const std::string text = text_of(type, lanes, [&](const auto& u, const auto& i) {
        return u(i) + cast(type, i) * u(i + 1) - cast(type, 3);
      });
      EXPECT_EQ(text.find("16x2"), std::string::npos) << text;
    }
  }
}

TEST(PtxasFaults, WordsOf64BitsAreShiftedBy31InHalves) {
  const std::regex by_31("shl\\.b64 [^\n]*, 31;");
  for (const Type type : {Int(64), UInt(64)}) {
    for (const int lanes : {1, 2, 4}) {
      const auto text = [&](int by) {
        return text_of(type, lanes, [&](const auto& u, const auto& i) {
          const Expr amount = make_const(type, std::int64_t{by});
          return (u(i) << amount) + ((u(i + 1) << amount) ^ (u(i + 1) >> (64 - amount))) +
                 u(i + 2) * (make_const(type, std::int64_t{1}) << amount);
        });
      };
      EXPECT_FALSE(std::regex_search(text(31), by_31)) << text(31);
      EXPECT_NE(text(31).find("%low, %high, 31"), std::string::npos);
      EXPECT_EQ(text(30).find("%low"), std::string::npos) << text(30);
      EXPECT_NE(text(30).find("shl.b64"), std::string::npos);
    }
  }
}

/// PTX of the greatest of `value(u, r)` for `turns` r.
std::string greatest(int turns, const std::function<Expr(const ImageParam& u, const RVar& r)>& value) {
  const ImageParam u(Float(32), 1, "u");
  const RDom r({{0, turns}}, "r");
  Func f("f");
  f(x) = 1.0F;
  f(x) = max(f(x), value(u, r.x));
  f.gpu_tile(x, 32);
  f.update().gpu_tile(x, 32);
  return llvm_backend::emit_ptx(to_module(lowered(f, Backend::Cuda)), 90, 0);
}

TEST(PtxasFaults, SumsThatPtxasWouldKnowAreComputedBefore) {
  const auto difference = [](const ImageParam& /*u*/, const RVar& r) {
    return cast(Float(32), r * 1103515245 + 59546838) - cast(Float(32), r + 2);
  };
  const std::string few = greatest(2, difference);
  EXPECT_EQ(few.find("sub.rn.f32"), std::string::npos) << few;
  EXPECT_NE(few.find("0f4C632736"), std::string::npos) << "59546840\n" << few;

  const std::string many = greatest(100'000, difference);
  EXPECT_NE(many.find("sub.rn.f32"), std::string::npos) << many;
  EXPECT_NE(many.find(".pragma \"nounroll\""), std::string::npos) << many;
  EXPECT_EQ(count(many, "sub.rn.f32"), 4U) << "turns of the loop in one\n" << many;
  const std::string odd = greatest(100'003, difference);
  EXPECT_NE(odd.find(".pragma \"nounroll\""), std::string::npos) << odd;

  const std::string weights = greatest(5, [](const ImageParam& u, const RVar& r) {
    return u(x + r) * (cast(Float(32), r) * 0.1F - 0.3F);
  });
  EXPECT_EQ(weights.find("sub.rn.f32"), std::string::npos) << weights;

  // What is read is not known, and sums of integers are exact.
  const std::string sums = greatest(
      5, [](const ImageParam& u, const RVar& r) { return u(x + r) - cast(Float(32), r * 3 - 1); });
  EXPECT_NE(sums.find("bra"), std::string::npos) << sums;
  EXPECT_EQ(sums.find("nounroll"), std::string::npos) << sums;
}

// What an export holds of a kernel that spills is code without read-only loads.
TEST(PtxasFaults, AnExportedKernelThatSpillsHasPlainLoads) {
  constexpr int kSm = 90, kTaps = 48, kRegisters = 24;
  const Var y("y");
  const ImageParam u(Float(32), 2, "u");
  Func f("f");
  Expr sum = u(x, y);
  for (int i = 1; i < kTaps; ++i) sum = sum + sqrt(u(x + i, y));
  Expr later = sum;
  for (int i = kTaps - 1; i > 0; --i) later = later * sqrt(u(x + i, y)) + sum;
  f(x, y) = later;
  f.gpu_tile(x, y, 32, 1).vectorize(x, 4).read_only(u).max_registers(kRegisters);
  const std::string ptx = llvm_backend::emit_ptx(to_module(lowered(f, Backend::Cuda)), kSm, 0);
  const std::string code = exported::assemble(ptx, kSm);
  if (code.empty()) GTEST_SKIP() << "no ptxas on PATH or in /usr/local/cuda/bin";
  ASSERT_EQ(read_only_entries(ptx).size(), 1U);
  EXPECT_TRUE(code == exported::assemble(with_plain_loads(ptx, {"f"}), kSm));
}

}  // namespace
}  // namespace mica::test
