#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/PatternMatch.h>

#include "codegen/llvm/call_asm_llvm.h"
#include "codegen/llvm/rewrites/avoid_ptxas_faults_llvm.h"
#include "dsl/expr/diagnostics.h"
#include "dsl/expr/traverse.h"

namespace mica::llvm_backend {
namespace {

using llvm::Value;
namespace pattern = llvm::PatternMatch;

/// A value known to be constant - (of << shift).
struct Reversed {
  llvm::APInt constant;
  Value* of;
  unsigned shift = 0;
};

/// Takes constants out of a sum, which LLVM would do: x = (y + c) becomes y, and `constant` less by c.
Value* without_offset(Value* x, llvm::APInt& constant) {
  const llvm::APInt* c = nullptr;
  Value* y = nullptr;
  if (pattern::match(x, pattern::m_c_Add(pattern::m_Value(y), pattern::m_APInt(c)))) {
    constant -= *c;
    return without_offset(y, constant);
  }
  if (pattern::match(x, pattern::m_Sub(pattern::m_Value(y), pattern::m_APInt(c)))) {
    constant += *c;
    return without_offset(y, constant);
  }
  return x;
}

std::optional<Reversed> reversed(Value* v) {
  const llvm::APInt* c = nullptr;
  Value* x = nullptr;
  Value* y = nullptr;
  if (pattern::match(v, pattern::m_Sub(pattern::m_APInt(c), pattern::m_Value(x)))) {
    Reversed result{*c, nullptr};
    result.of = without_offset(x, result.constant);
    return result;
  }
  // x - (x + y) and (x - y) - x
  const bool cancels =
      pattern::match(v, pattern::m_Sub(pattern::m_Value(x),
                                       pattern::m_c_Add(pattern::m_Deferred(x), pattern::m_Value(y)))) ||
      pattern::match(v, pattern::m_Sub(pattern::m_Sub(pattern::m_Value(x), pattern::m_Value(y)),
                                       pattern::m_Deferred(x)));
  if (cancels) {
    Reversed result{llvm::APInt::getZero(v->getType()->getScalarSizeInBits()), nullptr};
    result.of = without_offset(y, result.constant);
    return result;
  }
  if (pattern::match(v, pattern::m_Not(pattern::m_Value(x)))) {
    return Reversed{llvm::APInt::getAllOnes(v->getType()->getScalarSizeInBits()), x};
  }
  // LLVM and ptxas multiply by -2^k with a shift and a negation.
  if (pattern::match(v, pattern::m_c_Mul(pattern::m_Value(x), pattern::m_APInt(c))) && c->isNegative() &&
      !c->isMinSignedValue() && (-*c).isPowerOf2()) {
    return Reversed{llvm::APInt::getZero(c->getBitWidth()), x, (-*c).logBase2()};
  }
  if (pattern::match(v, pattern::m_c_Add(pattern::m_Value(x), pattern::m_APInt(c)))) {
    auto inner = reversed(x);
    if (inner) inner->constant += *c;
    return inner;
  }
  if (pattern::match(v, pattern::m_Sub(pattern::m_Value(x), pattern::m_APInt(c)))) {
    auto inner = reversed(x);
    if (inner) inner->constant -= *c;
    return inner;
  }
  return std::nullopt;
}

/// -x of one integer of up to 32 bits.
Value* negated(Builder& b, Value* x) {
  const bool wide = x->getType()->getIntegerBitWidth() > 16;
  llvm::Type* type = wide ? b.getInt32Ty() : b.getInt16Ty();
  const std::string w = wide ? "32" : "16";
  Value* result = call_asm(b, type, "not.b" + w + " \t$0, $1;\n\tadd.s" + w + " \t$0, $0, 1;",
                           wide ? "=r,r" : "=h,h", {b.CreateZExt(x, type)}, /*memory=*/false);
  return b.CreateTrunc(result, x->getType());
}

/// |x| of one integer, the least being its own.
Value* magnitude(Builder& b, Value* x) {
  const bool wide = x->getType()->getIntegerBitWidth() > 32;
  llvm::Type* type = wide ? b.getInt64Ty() : b.getInt32Ty();
  const std::string w = wide ? "64" : "32";
  Value* result =
      call_asm(b, type,
               "{\n\t.reg .b" + w + " \t%sign;\n\tshr.s" + w + " \t%sign, $1, " + (wide ? "63" : "31") +
                   ";\n\txor.b" + w + " \t$0, $1, %sign;\n\tsub.s" + w + " \t$0, $0, %sign;\n\t}",
               wide ? "=l,l" : "=r,r", {b.CreateSExt(x, type)}, /*memory=*/false);
  return b.CreateTrunc(result, x->getType());
}

/// `make` of each lane of the operands, or of the operands if they are no vectors.
template <typename Make>
Value* by_lane(Builder& b, llvm::Type* type, const std::vector<Value*>& operands, Make&& make) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  if (!vector) return make(operands);
  Value* result = llvm::PoisonValue::get(type);
  for (unsigned lane = 0; lane < vector->getNumElements(); ++lane) {
    std::vector<Value*> elements;
    for (Value* v : operands) elements.push_back(b.CreateExtractElement(v, lane));
    result = b.CreateInsertElement(result, make(elements), lane);
  }
  return result;
}

/// The intrinsic that `i` computes, as a call or as a comparison with a selection, and its operands.
struct Extremum {
  llvm::Intrinsic::ID id = llvm::Intrinsic::not_intrinsic;
  Value *a = nullptr, *b = nullptr;
};

Extremum extremum(llvm::Instruction& i) {
  Extremum e;
  const auto a = pattern::m_Value(e.a), b = pattern::m_Value(e.b);
  if (pattern::match(&i, pattern::m_SMin(a, b)))
    e.id = llvm::Intrinsic::smin;
  else if (pattern::match(&i, pattern::m_SMax(a, b)))
    e.id = llvm::Intrinsic::smax;
  else if (pattern::match(&i, pattern::m_UMin(a, b)))
    e.id = llvm::Intrinsic::umin;
  else if (pattern::match(&i, pattern::m_UMax(a, b)))
    e.id = llvm::Intrinsic::umax;
  return e;
}

/// A minimum or maximum of up to 16 bits in 32.
Value* wide_extremum(llvm::Instruction& i) {
  llvm::Type* type = i.getType();
  if (!type->isIntOrIntVectorTy() || type->getScalarSizeInBits() > 16) return nullptr;
  const Extremum e = extremum(i);
  if (e.id == llvm::Intrinsic::not_intrinsic || type->getScalarSizeInBits() == 1) return nullptr;
  Builder b(&i);
  const bool is_signed = e.id == llvm::Intrinsic::smin || e.id == llvm::Intrinsic::smax;
  return by_lane(b, type, {e.a, e.b}, [&](const std::vector<Value*>& x) {
    const auto wide = [&](Value* v) { return b.CreateIntCast(v, b.getInt32Ty(), is_signed); };
    return b.CreateTrunc(b.CreateBinaryIntrinsic(e.id, wide(x[0]), wide(x[1])), type->getScalarType());
  });
}

/// x / y of integers of up to 16 bits in i32, towards zero. (|x| + 0.5) / |y| is 0.5 / |y| at least from
/// every integer. The reciprocal is wrong by an ulp at most (PTX ISA, rcp.approx), the product by a
/// half: together by less than (|x| + 0.5) / |y| * 2^-22, which is less as long as |x| < 2^20.
Value* narrow_quotient(Builder& b, Value* x, Value* y, bool is_signed) {
  llvm::Type* type = b.getFloatTy();
  Value* of = b.CreateSIToFP(x, type);
  Value* half = llvm::ConstantFP::get(type, 0.5);
  if (is_signed) half = b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, half, of);
  Value* reciprocal = call_asm(b, type, "rcp.approx.ftz.f32 \t$0, $1;", "=f,f",
                               {b.CreateSIToFP(y, type)}, /*memory=*/false);
  return b.CreateFPToSI(b.CreateFMul(b.CreateFAdd(of, half), reciprocal), x->getType());
}

/// A quotient or remainder of up to 16 bits in 32; null by constants, of which LLVM makes products. (In
/// 32 bits those would be mul.hi.u32: a blur that divides by 3 took 1.08 times as long.)
Value* wide_quotient(llvm::BinaryOperator& i) {
  if (llvm::isa<llvm::Constant>(i.getOperand(1))) return nullptr;
  Builder b(&i);
  const auto op = i.getOpcode();
  const bool is_signed = op == llvm::Instruction::SDiv || op == llvm::Instruction::SRem;
  const bool is_quotient = op == llvm::Instruction::SDiv || op == llvm::Instruction::UDiv;
  return by_lane(b, i.getType(), {i.getOperand(0), i.getOperand(1)}, [&](const std::vector<Value*>& e) {
    const auto wide = [&](Value* v) { return b.CreateIntCast(v, b.getInt32Ty(), is_signed); };
    Value* x = wide(e[0]);
    Value* y = wide(e[1]);
    Value* result = narrow_quotient(b, x, y, is_signed);
    if (!is_quotient) result = b.CreateSub(x, b.CreateMul(result, y));
    return b.CreateTrunc(result, e[0]->getType());
  });
}

/// What takes the place of `i`, or null if it may stay.
Value* other_way(llvm::BinaryOperator& i) {
  llvm::Type* type = i.getType();
  const unsigned bits = type->getScalarSizeInBits();
  if (!type->isIntOrIntVectorTy() || bits == 1 || bits > 32) return nullptr;
  if (bits <= 16 && i.isIntDivRem()) return wide_quotient(i);
  Builder b(&i);
  if (const auto r = reversed(&i); r && r->constant.isZero()) {
    return by_lane(b, type, {r->of}, [&](const std::vector<Value*>& x) {
      return negated(b, r->shift == 0 ? x[0] : b.CreateShl(x[0], r->shift));
    });
  }
  const auto op = i.getOpcode();
  const bool adds =
      op == llvm::Instruction::Add || op == llvm::Instruction::Sub || op == llvm::Instruction::Mul;
  if (!adds || !type->isVectorTy()) return nullptr;
  return by_lane(b, type, {i.getOperand(0), i.getOperand(1)},
                 [&](const std::vector<Value*>& x) { return b.CreateBinOp(op, x[0], x[1]); });
}

Value* other_way(llvm::Instruction& i) {
  if (auto* op = llvm::dyn_cast<llvm::BinaryOperator>(&i)) return other_way(*op);
  if (Value* wide = wide_extremum(i)) return wide;
  Value* x = nullptr;
  if (!pattern::match(&i, pattern::m_Intrinsic<llvm::Intrinsic::abs>(pattern::m_Value(x))))
    return nullptr;
  Builder b(&i);
  return by_lane(b, i.getType(), {x}, [&](const std::vector<Value*>& e) { return magnitude(b, e[0]); });
}

}  // namespace

void avoid_ptxas_faults(llvm::Module& module) {
  for (llvm::Function& function : module) {
    std::vector<llvm::Instruction*> candidates;
    for (llvm::Instruction& i : llvm::instructions(function)) candidates.push_back(&i);
    // Users before what they use: a chain such as 1 - x - 1 is seen before its parts are rewritten.
    for (auto it = candidates.rbegin(); it != candidates.rend(); ++it) {
      Value* replacement = other_way(**it);
      if (!replacement) continue;
      (*it)->replaceAllUsesWith(replacement);
      (*it)->eraseFromParent();
    }
  }
}

namespace {

/// `ptx` with what `other_way` gives for the instructions that begin like this, of their text from there
/// to the semicolon; nothing: they stay.
std::string rewritten(const std::string& ptx, std::string_view begin,
                      FunctionRef<std::optional<std::string>(const std::string& rest)> other_way) {
  std::string result;
  std::size_t done = 0;
  for (std::size_t at = ptx.find(begin); at != std::string::npos;
       at = ptx.find(begin, at + begin.size())) {
    const std::size_t rest = at + begin.size(), end = ptx.find(';', rest);
    internal_check(end != std::string::npos, "an instruction in PTX ends");
    const auto other = other_way(ptx.substr(rest, end - rest));
    if (!other) continue;
    result += ptx.substr(done, at - done) + *other;
    done = end + 1;
  }
  return result + ptx.substr(done);
}

// A line is "\tneg.s32 \t%r2, %r1;".
std::string without_negations(const std::string& ptx) {
  return rewritten(ptx, "\tneg.s", [](const std::string& rest) -> std::optional<std::string> {
    const std::string bits = rest.substr(0, rest.find_first_of(" \t"));
    if (bits != "16" && bits != "32") return std::nullopt;
    const std::size_t to = rest.find('%'), comma = rest.find(", ");
    internal_check(to < comma && comma != std::string::npos, "a negation in PTX has this form");
    const std::string target = rest.substr(to, comma - to);
    return "\tnot.b" + bits + " \t" + rest.substr(to) + ";\n\tadd.s" + bits + " \t" + target + ", " +
           target + ", 1;";
  });
}

// A line is "\tld.global.nc.s16 \t%r6, [%rd6];".
bool extends_loads(const std::string& ptx) {
  return ptx.find(".s16 \t%r") != std::string::npos || ptx.find(".s8 \t%r") != std::string::npos;
}

// A line is "\tmov.b32 \t{_, %rs3}, %r6;".
std::string without_upper_halves(const std::string& ptx) {
  return rewritten(ptx, "\tmov.b32 \t{_, ", [](const std::string& rest) -> std::optional<std::string> {
    const std::size_t brace = rest.find("}, ");
    internal_check(brace != std::string::npos, "half of a register in PTX has this form");
    return "\t{ .reg .b32 %upper; shr.u32 %upper, " + rest.substr(brace + 3) + ", 16; cvt.u16.u32 " +
           rest.substr(0, brace) + ", %upper; }";
  });
}

// A line is "\tcvt.rn.f64.s16 \t%rd86, %rs4;".
std::string with_whole_words_as_floats(const std::string& ptx) {
  return rewritten(ptx, "\tcvt.rn.f", [](const std::string& rest) -> std::optional<std::string> {
    constexpr std::size_t kBits = 2, kSign = 3, kType = 6;  // of "64.s16"
    const std::string to = rest.substr(0, kBits), from = rest.substr(kBits, kType - kBits);
    if ((to != "64" && to != "32") || (from != ".s16" && from != ".u16")) return std::nullopt;
    const std::size_t target = rest.find('%'), comma = rest.find(", ");
    internal_check(target < comma && comma != std::string::npos, "a conversion in PTX has this form");
    const std::string word = rest[kSign] + std::string("32");
    return "\t{ .reg .b32 %word; cvt." + word + from + " %word" + rest.substr(comma) + "; cvt.rn.f" +
           to + "." + word + " " + rest.substr(target, comma - target) + ", %word; }";
  });
}

// A line is "\tcvt.rn.f32.u32 \t%r141, %r138;".
bool makes_floats_of_unsigned(const std::string& ptx) {
  constexpr std::string_view kBegin = "\tcvt.rn.f", kFrom = ".u";
  for (std::size_t at = ptx.find(kBegin); at != std::string::npos; at = ptx.find(kBegin, at + 1)) {
    if (ptx.compare(at + kBegin.size() + 2, kFrom.size(), kFrom) == 0) return true;
  }
  return false;
}

// A line is "\tbfe.s32 \t%r138, %r126, 8, 8;".
std::string with_signed_bytes_permuted(const std::string& ptx) {
  return rewritten(ptx, "\tbfe.s32 \t", [](const std::string& rest) -> std::optional<std::string> {
    // The bytes that a permutation takes, highest first; 8 and more: the sign of byte 0 and more.
    constexpr std::pair<std::string_view, const char*> kFields[] = {
        {", 0, 8", "0x8880U"},  {", 8, 8", "0x9991U"},  {", 16, 8", "0xaaa2U"},
        {", 24, 8", "0xbbb3U"}, {", 0, 16", "0x9910U"}, {", 16, 16", "0xbb32U"}};
    for (const auto& [field, bytes] : kFields) {
      if (!rest.ends_with(field)) continue;
      return "\tprmt.b32 \t" + rest.substr(0, rest.size() - field.size()) + ", 0, " + bytes + ";";
    }
    return std::nullopt;
  });
}

// A line is "\tshl.b64 \t%rd36, %rd5, 31;".
std::string with_shifts_by_31_in_words(const std::string& ptx) {
  return rewritten(ptx, "\tshl.b64 \t", [](const std::string& rest) -> std::optional<std::string> {
    constexpr std::string_view kBy = ", 31";
    if (!rest.ends_with(kBy)) return std::nullopt;
    const std::size_t comma = rest.find(", ");
    const std::string target = rest.substr(0, comma),
                      from = rest.substr(comma + 2, rest.size() - kBy.size() - comma - 2);
    return "\t{ .reg .b32 %low, %high; mov.b64 {%low, %high}, " + from +
           "; shf.l.wrap.b32 %high, %low, %high, 31; shl.b32 %low, %low, 31; mov.b64 " + target +
           ", {%low, %high}; }";
  });
}

}  // namespace

std::string avoid_ptxas_faults(const std::string& ptx) {
  std::string result = with_shifts_by_31_in_words(with_whole_words_as_floats(without_negations(ptx)));
  if (makes_floats_of_unsigned(result)) result = with_signed_bytes_permuted(result);
  return extends_loads(result) ? without_upper_halves(result) : result;
}

}  // namespace mica::llvm_backend
