#include <algorithm>
#include <bit>
#include <vector>

#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "codegen/llvm/emitter_llvm.h"
#include "codegen/llvm/nvptx_async_llvm.h"
#include "codegen/llvm/nvptx_rows_llvm.h"
#include "codegen/llvm/types_llvm.h"

namespace mica::llvm_backend {

namespace {

using llvm::Value;
namespace intrinsic = llvm::Intrinsic;

constexpr int kWord = ir::kRegisterBytes;
constexpr int kPiece = 16;  // bytes of the widest access
constexpr int kWarp = 32;

using Words = std::vector<Value*>;

Value* number(Builder& b, std::int64_t value) { return b.getInt32(static_cast<std::uint32_t>(value)); }

/// `pointer` and so many bytes.
Value* after(Builder& b, Value* pointer, Value* bytes) {
  return b.CreateGEP(b.getInt8Ty(), pointer, bytes);
}

/// How many bytes `pointer` stands behind a multiple of `unit` (i32), and that multiple.
struct Place {
  Value *bytes, *start;
};
Place place_of(Builder& b, Value* pointer, int unit) {
  Value* address = b.CreatePtrToInt(pointer, b.getInt64Ty());
  Value* bytes = b.CreateAnd(b.CreateTrunc(address, b.getInt32Ty()), number(b, unit - 1));
  Value* whole = b.getInt64(~static_cast<std::uint64_t>(unit - 1));
  return {bytes,
          b.CreateIntrinsic(intrinsic::ptrmask, {pointer->getType(), b.getInt64Ty()}, {pointer, whole})};
}

/// `words` moved by `bytes`, less than `unit` and a multiple of `element`: down (word i becomes what
/// stands so many bytes behind it) or up. What would come from outside of `words` is anything.
Words moved(Builder& b, Words words, Value* bytes, int unit, int element, bool down) {
  const auto at = [&](std::size_t i, std::size_t by) {
    if (down) return words[std::min(i + by, words.size() - 1)];
    return words[i < by ? 0 : i - by];
  };
  for (int step = unit / 2; step >= std::max(element, kWord); step /= 2) {
    Value* further = b.CreateICmpNE(b.CreateAnd(bytes, number(b, step)), number(b, 0));
    Words next;
    for (std::size_t i = 0; i < words.size(); ++i) {
      next.push_back(b.CreateSelect(further, at(i, static_cast<std::size_t>(step / kWord)), words[i]));
    }
    words = std::move(next);
  }
  if (element >= kWord) return words;
  // A funnel shift takes its distance modulo 32 bits.
  Value* bits = b.CreateShl(bytes, number(b, 3));
  Words next;
  for (std::size_t i = 0; i < words.size(); ++i) {
    Value* whole =
        down ? b.CreateIntrinsic(intrinsic::fshr, {b.getInt32Ty()}, {at(i, 1), words[i], bits})
             : b.CreateIntrinsic(intrinsic::fshl, {b.getInt32Ty()}, {words[i], at(i, 1), bits});
    next.push_back(whole);
  }
  return next;
}

/// `vector`, whose first `lanes` elements, of `type`, are those of `words`.
Value* with_elements(Emitter& emitter, Value* vector, const Words& words, Type type, int lanes) {
  Builder& b = emitter.builder();
  const int bytes = type.bytes();
  llvm::Type* held = memory_type(emitter.context(), type);
  for (int lane = 0; lane < lanes; ++lane) {
    const int begin = lane * bytes;
    Value* one = words[static_cast<std::size_t>(begin / kWord)];
    if (bytes <= kWord) {
      one = b.CreateLShr(one, number(b, begin % kWord * 8));
      one = b.CreateTrunc(one, b.getIntNTy(static_cast<unsigned>(bytes) * 8));
    } else {
      Value* pair = llvm::PoisonValue::get(llvm::FixedVectorType::get(b.getInt32Ty(), 2));
      pair = b.CreateInsertElement(pair, one, std::uint64_t{0});
      one = b.CreateInsertElement(pair, words[static_cast<std::size_t>(begin / kWord) + 1],
                                  std::uint64_t{1});
    }
    vector = b.CreateInsertElement(vector, b.CreateBitCast(one, held), static_cast<std::uint64_t>(lane));
  }
  return vector;
}

/// The words that a vector of whole words is.
Words words_of(Emitter& emitter, Value* vector, Type type) {
  Builder& b = emitter.builder();
  Words words;
  const int in_word = kWord / type.bytes();
  for (int lane = 0; lane < type.lanes;) {
    if (in_word <= 1) {
      Value* one = b.CreateExtractElement(vector, static_cast<std::uint64_t>(lane));
      ++lane;
      if (in_word == 1) {
        words.push_back(b.CreateBitCast(one, b.getInt32Ty()));
        continue;
      }
      Value* pair = b.CreateBitCast(one, llvm::FixedVectorType::get(b.getInt32Ty(), 2));
      words.push_back(b.CreateExtractElement(pair, std::uint64_t{0}));
      words.push_back(b.CreateExtractElement(pair, std::uint64_t{1}));
      continue;
    }
    std::vector<int> picked;
    for (int i = 0; i < in_word; ++i) picked.push_back(lane++);
    words.push_back(b.CreateBitCast(b.CreateShuffleVector(vector, picked), b.getInt32Ty()));
  }
  return words;
}

/// The widest pieces of which so many bytes are several.
int piece_of(int bytes) {
  constexpr int kMostWords = 12, kMostPairs = 24;
  return bytes <= kMostWords ? kWord : bytes <= kMostPairs ? 2 * kWord : kPiece;
}

/// All pieces that hold some of the vector, and no others: what stands in the same pieces beside it is
/// loaded, and not looked at. (No allocation ends within 16 aligned bytes.)
Value* load_unaligned(Emitter& emitter, Value* pointer, Type type,
                      const std::function<Value*(Value*, Type)>& load_piece) {
  Builder& b = emitter.builder();
  const int element = type.bytes();
  const int unit = piece_of(type.lanes * element);
  const auto pieces_of = [&](int lanes) { return (lanes * element + 2 * unit - element - 1) / unit; };
  // An element more than so many pieces hold, wherever they begin, is loaded by itself.
  const bool apart = pieces_of(type.lanes - 1) < pieces_of(type.lanes);
  const int lanes = type.lanes - (apart ? 1 : 0), bytes = lanes * element;
  const auto single = [&](int lane) {
    return load_piece(after(b, pointer, b.getInt64(static_cast<std::uint64_t>(lane * element))),
                      type.element());
  };
  Value* result = llvm::PoisonValue::get(memory_type(emitter.context(), type));
  if (apart) {
    result = b.CreateInsertElement(result, single(lanes), static_cast<std::uint64_t>(lanes));
  }
  if (lanes == 1) return b.CreateInsertElement(result, single(0), std::uint64_t{0});
  const Place place = place_of(b, pointer, unit);
  Words words;
  for (int i = 0; i < pieces_of(lanes); ++i) {
    Value* offset = b.getInt64(static_cast<std::uint64_t>(i * unit));
    if (i > 0 && i * unit >= bytes) {
      // One that has nothing of it is the one before.
      Value* needed = b.CreateICmpUGT(place.bytes, number(b, i * unit - bytes));
      offset = b.CreateSelect(needed, offset, b.getInt64(static_cast<std::uint64_t>((i - 1) * unit)));
    }
    Value* piece = load_piece(after(b, place.start, offset), UInt(32).with_lanes(unit / kWord));
    if (unit == kWord) {
      words.push_back(piece);
      continue;
    }
    for (int w = 0; w < unit / kWord; ++w) {
      words.push_back(b.CreateExtractElement(piece, static_cast<std::uint64_t>(w)));
    }
  }
  words = moved(b, std::move(words), place.bytes, unit, element, /*down=*/true);
  return with_elements(emitter, result, words, type.element(), lanes);
}

/// Whether the lanes before and behind this one store with it, beside it.
struct Neighbours {
  Value *before = nullptr, *behind = nullptr;
};
Neighbours neighbours(Emitter& emitter, Value* active, int threads_x) {
  Builder& b = emitter.builder();
  Value* own = b.CreateIntrinsic(intrinsic::nvvm_read_ptx_sreg_lanemask_eq, {});
  const auto has = [&](Value* mask) { return b.CreateICmpNE(b.CreateAnd(mask, own), number(b, 0)); };
  Neighbours found{has(b.CreateShl(active, number(b, 1))), has(b.CreateLShr(active, number(b, 1)))};
  if (threads_x % kWarp == 0) return found;
  Value* x = b.CreateIntrinsic(intrinsic::nvvm_read_ptx_sreg_tid_x, {});
  found.before = b.CreateAnd(found.before, b.CreateICmpNE(x, number(b, 0)));
  found.behind = b.CreateAnd(found.behind, b.CreateICmpNE(x, number(b, threads_x - 1)));
  return found;
}

/// The threads that run a block of instructions together, each with those beside it.
struct Warp {
  llvm::BasicBlock* block = nullptr;
  Value* active = nullptr;
  Neighbours beside = {};
};

/// Of a vector of whole pieces of a warp's lanes side by side; `warp` is that of the store before.
bool store_unaligned(Emitter& emitter, const MemoryAccess& access, Value* value, Type type, Value* where,
                     int threads_x, Warp& warp) {
  const int element = type.bytes(), bytes = type.lanes * element;
  const int unit = std::min(bytes, kPiece);
  const bool pieces = bytes >= kWord && std::has_single_bit(static_cast<unsigned>(unit)) &&
                      bytes % unit == 0 && unit > element;
  if (!access.side_by_side || access.binding.memory != MemoryType::Heap || !pieces) return false;
  Builder& b = emitter.builder();
  const Place place = place_of(b, access.pointer, unit);
  if (warp.block != b.GetInsertBlock()) {
    warp = {b.GetInsertBlock(), b.CreateIntrinsic(intrinsic::nvvm_activemask, {}), {}};
    warp.beside = neighbours(emitter, warp.active, threads_x);
  }
  Value* active = warp.active;
  Neighbours beside = warp.beside;
  if (where != nullptr) {
    Value* storing = b.CreateIntrinsic(intrinsic::nvvm_vote_ballot_sync, {active, where});
    beside = neighbours(emitter, storing, threads_x);
  }
  const auto in = [&](Value* condition) {
    if (where == nullptr || condition == nullptr) return condition == nullptr ? where : condition;
    return b.CreateAnd(where, condition);
  };
  Value* aligned = b.CreateICmpEQ(place.bytes, number(b, 0));
  Value* whole = b.CreateOr(aligned, beside.before);
  Value* goes_on = b.CreateOr(aligned, beside.behind);

  const Words own = words_of(emitter, value, type);
  const auto in_piece = static_cast<std::size_t>(unit / kWord);
  Words words;
  for (std::size_t i = own.size() - in_piece; i < own.size(); ++i) {
    words.push_back(b.CreateIntrinsic(intrinsic::nvvm_shfl_sync_up_i32,
                                      {active, own[i], number(b, 1), number(b, 0)}));
  }
  words.insert(words.end(), own.begin(), own.end());
  words = moved(b, std::move(words), place.bytes, unit, element, /*down=*/false);
  const char* operation = access.streamed ? "st.global.cs" : "st.global";
  for (std::size_t first = 0; first < own.size(); first += in_piece) {
    Value* piece = words[in_piece + first];
    if (in_piece > 1) {
      piece = llvm::PoisonValue::get(
          llvm::FixedVectorType::get(b.getInt32Ty(), static_cast<unsigned>(in_piece)));
      for (std::size_t w = 0; w < in_piece; ++w) {
        piece = b.CreateInsertElement(piece, words[in_piece + first + w], std::uint64_t{w});
      }
    }
    Value* at = after(b, place.start, b.getInt64(std::uint64_t{first} * kWord));
    store_global(emitter, operation, in(first == 0 ? whole : nullptr), at, piece);
  }
  // What no neighbour stores of the first piece, and of that behind the last.
  const int in_unit = unit / element;
  Value* not_whole = b.CreateNot(whole);
  Value* ends = b.CreateNot(goes_on);
  for (int lane = 0; lane < type.lanes; ++lane) {
    const int left = type.lanes - lane;  // from this one on
    Value* condition = nullptr;
    const auto in_first = [&] {
      return b.CreateICmpULT(place.bytes, number(b, std::int64_t{in_unit - lane} * element));
    };
    const auto in_last = [&] {
      return b.CreateICmpUGE(place.bytes, number(b, std::int64_t{left} * element));
    };
    // A vector of one piece has both; its first element is in the first, and its last one, where the
    // vector is not aligned, in the other.
    if (type.lanes == in_unit && lane > 0 && left > 1) {
      condition = b.CreateSelect(in_first(), not_whole, ends);
    } else if (lane == 0) {
      condition = not_whole;
    } else if (left == 1) {
      condition = ends;
    } else if (lane < in_unit) {
      condition = b.CreateAnd(in_first(), not_whole);
    } else if (left <= in_unit) {
      condition = b.CreateAnd(in_last(), ends);
    } else {
      continue;
    }
    Value* at = after(b, access.pointer, b.getInt64(static_cast<std::uint64_t>(lane * element)));
    store_global(emitter, operation, in(condition), at,
                 b.CreateExtractElement(value, static_cast<std::uint64_t>(lane)));
  }
  return true;
}

}  // namespace

void add_row_hooks(TargetHooks& hooks, int threads_x) {
  hooks.load_unaligned = load_unaligned;
  hooks.store_unaligned = [threads_x, warp = Warp()](Emitter& e, const MemoryAccess& access,
                                                     Value* value, Type type, Value* where) mutable {
    return store_unaligned(e, access, value, type, where, threads_x, warp);
  };
}

}  // namespace mica::llvm_backend
