#include <algorithm>
#include <utility>

#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>

#include "codegen/llvm/emitter_llvm.h"
#include "codegen/llvm/types_llvm.h"
#include "dsl/expr/traverse.h"

namespace mica::llvm_backend {

llvm::Value* Emitter::emit(const Expr& e) {
  if (depth_ == 0 && !std::exchange(keeps_values_, false)) forget_values();
  ++depth_;
  if (depth_ == 1) {
    outermost_ = e;
    strided_taps_.reset();
    load_first(e);
  }
  llvm::Value* value = value_of(e);
  --depth_;
  return value;
}

void Emitter::forget_values() {
  cache_.clear();
  cached_.clear();
  registers_.clear();
  read_lines_.clear();
}

llvm::Value* Emitter::value_of(const Expr& e) {
  const ExprNode* key = &e.node();
  if (const auto found = cache_.find(key); found != cache_.end()) return found->second.second;
  llvm::Value* value = hooks_.lines != nullptr ? value_at_line(e) : value_of_node(e);
  cache_.emplace(key, std::pair(e, value));
  cached_.push_back(key);
  return value;
}

llvm::Value* Emitter::value_of_node(const Expr& e) {
  return std::visit([&](const auto& op) { return node(e.type(), op); }, e.node().op);
}

template <typename Op>
llvm::Value* Emitter::node(Type type, const Op& op) {
  if constexpr (std::is_same_v<Op, IntImm>) {
    return integer_constant(context(), type, op.value);
  } else if constexpr (std::is_same_v<Op, FloatImm>) {
    return float_constant(context(), type, op.value);
  } else if constexpr (std::is_same_v<Op, VarRef>) {
    llvm::Value* value = find(op.name);
    if (value == nullptr && hooks_.axis) value = hooks_.axis(*this, op.name);
    if (value == nullptr) throw InternalError(op.name + " reached a back end undefined");
    if (value->getType() != register_type(context(), type)) {
      throw InternalError(op.name + " is used as " + to_string(type) + " but is defined otherwise");
    }
    return value;
  } else if constexpr (std::is_same_v<Op, Cast>) {
    return emit_cast(builder_, hooks_.facts, op.value.type(), type, value_of(op.value));
  } else if constexpr (std::is_same_v<Op, Unary>) {
    return emit_unary(builder_, op.op, type, value_of(op.a));
  } else if constexpr (std::is_same_v<Op, Binary>) {
    const auto [a, b] = values_of(op.a, op.b);
    return emit_binary(builder_, hooks_.facts, op.op, type, a, b);
  } else if constexpr (std::is_same_v<Op, Compare>) {
    llvm::Value* a = value_of(op.a);
    llvm::Value* b = value_of(op.b);
    return emit_compare(builder_, op.op, op.a.type(), a, b);
  } else if constexpr (std::is_same_v<Op, Select>) {
    return select_value(op, type);
  } else if constexpr (std::is_same_v<Op, Fma>) {
    if (type.is_half()) throw InternalError("fma of " + to_string(type) + " reached a back end");
    // A sum of taps is a chain of addends: its first tap first.
    if (registers_of(op.c) > std::max(registers_of(op.a), registers_of(op.b))) {
      llvm::Value* c = value_of(op.c);
      const auto [a, b] = values_of(op.a, op.b);
      return builder_.CreateFMA(a, b, c);
    }
    const auto [a, b] = values_of(op.a, op.b);
    return builder_.CreateFMA(a, b, value_of(op.c));
  } else if constexpr (std::is_same_v<Op, Strict>) {
    return value_of(op.value);  // nothing is reordered here
  } else if constexpr (std::is_same_v<Op, Let>) {
    return let_value(op);
  } else if constexpr (std::is_same_v<Op, Load>) {
    return load(type, op);
  } else if constexpr (std::is_same_v<Op, Ramp>) {
    llvm::Value* base = builder_.CreateVectorSplat(type.lanes, value_of(op.base));
    llvm::Value* stride = builder_.CreateVectorSplat(type.lanes, value_of(op.stride));
    std::vector<llvm::Constant*> steps;
    for (int i = 0; i < type.lanes; ++i) {
      steps.push_back(integer_constant(context(), type.element(), i));
    }
    return builder_.CreateAdd(base, builder_.CreateMul(stride, llvm::ConstantVector::get(steps)));
  } else if constexpr (std::is_same_v<Op, Broadcast>) {
    return builder_.CreateVectorSplat(type.lanes, value_of(op.value));
  } else if constexpr (std::is_same_v<Op, Shuffle>) {
    return shuffle(type, op);
  } else if constexpr (std::is_same_v<Op, Reinterpret>) {
    return builder_.CreateBitCast(value_of(op.value), register_type(context(), type));
  } else if constexpr (std::is_same_v<Op, WarpShuffle>) {
    if (!hooks_.warp_shuffle) throw InternalError("a warp shuffle reached a back end without warps");
    llvm::Value* own = value_of(op.value);
    return op.delta == 0 ? own : hooks_.warp_shuffle(*this, type, own, op.delta);
  } else if constexpr (std::is_same_v<Op, Print>) {
    return print_value(op);
  } else {
    static_assert(std::is_same_v<Op, ParamRef> || std::is_same_v<Op, RVarRef> ||
                  std::is_same_v<Op, ImageField> || std::is_same_v<Op, Access>);
    throw InternalError("a node of the algorithm reached a back end");
  }
}

llvm::Value* Emitter::select_value(const Select& select, Type type) {
  if (chooses_lanes(select)) return select_lanes(select, type);
  // What holds for all lanes at once, and what does for single ones.
  std::vector<Expr> all, single;
  if (hooks_.facts.few_conditions && !type.is_scalar()) {
    std::vector<Expr> left{select.condition};
    VisitedNodes visited;
    while (!left.empty()) {
      const Expr e = left.back();
      left.pop_back();
      if (!visited.enter(e)) continue;
      const auto* both = e.as<Binary>();
      const auto* same = e.as<Broadcast>();
      if (both != nullptr && both->op == BinaryOp::And) {
        left.push_back(both->b);
        left.push_back(both->a);
      } else if (same != nullptr) {
        all.push_back(same->value);
      } else {
        single.push_back(e);
      }
    }
  }
  const auto joined = [this](const std::vector<Expr>& conditions) {
    llvm::Value* value = value_of(conditions.front());
    for (std::size_t i = 1; i < conditions.size(); ++i) {
      value = builder_.CreateAnd(value, value_of(conditions[i]));
    }
    return value;
  };
  const bool twice = !all.empty() && !single.empty();
  llvm::Value* condition = twice ? joined(single) : value_of(select.condition);
  llvm::Value* if_true = value_of(select.if_true);
  llvm::Value* if_false = value_of(select.if_false);
  llvm::Value* chosen = builder_.CreateSelect(condition, if_true, if_false);
  return twice ? builder_.CreateSelect(joined(all), chosen, if_false) : chosen;
}

llvm::Value* Emitter::let_value(const Let& let) {
  llvm::Value* value = value_of(let.value);
  // What is emitted in the body may depend on this binding and is forgotten after it. What was
  // emitted before serves the body, unless it may depend on an outer binding of the same name.
  const bool hides = find(let.name) != nullptr;
  Cache hidden;
  std::vector<const ExprNode*> hidden_keys;
  if (hides) {
    hidden.swap(cache_);
    hidden_keys.swap(cached_);
  }
  const std::size_t before = cached_.size();
  names_[let.name].push_back(value);
  llvm::Value* result = value_of(let.body);
  names_[let.name].pop_back();
  for (std::size_t i = before; i < cached_.size(); ++i) cache_.erase(cached_[i]);
  cached_.resize(before);
  if (hides) {
    hidden.swap(cache_);
    hidden_keys.swap(cached_);
  }
  return result;
}

llvm::Value* Emitter::shuffle(Type type, const Shuffle& s) {
  // Where lane k of the concatenation is: which vector, which of its lanes.
  std::vector<std::pair<std::size_t, int>> places;
  for (std::size_t v = 0; v < s.vectors.size(); ++v) {
    for (int lane = 0; lane < s.vectors[v].type().lanes; ++lane) places.emplace_back(v, lane);
  }
  const auto lane_value = [&](int lane) {
    const auto [vector, place] = places.at(static_cast<std::size_t>(lane));
    llvm::Value* from = value_of(s.vectors[vector]);
    if (s.vectors[vector].type().is_scalar()) return from;
    return builder_.CreateExtractElement(from, static_cast<std::uint64_t>(place));
  };
  if (type.is_scalar()) return lane_value(s.lanes.at(0));

  // One or two vectors of the same lanes are a single instruction.
  const bool uniform = s.vectors.size() <= 2 && !s.vectors[0].type().is_scalar() &&
                       s.vectors.front().type() == s.vectors.back().type();
  if (uniform) {
    llvm::Value* first = value_of(s.vectors.front());
    llvm::Value* second =
        s.vectors.size() == 2 ? value_of(s.vectors.back()) : llvm::PoisonValue::get(first->getType());
    return builder_.CreateShuffleVector(first, second, s.lanes);
  }
  llvm::Value* result = llvm::PoisonValue::get(register_type(context(), type));
  for (std::size_t i = 0; i < s.lanes.size(); ++i) {
    result = builder_.CreateInsertElement(result, lane_value(s.lanes[i]), static_cast<std::uint64_t>(i));
  }
  return result;
}

}  // namespace mica::llvm_backend
