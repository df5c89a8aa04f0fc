// The structural hash of a node, from those of its operands.
#include <bit>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "dsl/expr.h"

namespace mica {
namespace {

// What compare (dsl/traverse.h) calls equal has one hash: names count where it compares them, and
// what only says where a node came from does not.
class Hasher {
 public:
  [[nodiscard]] std::size_t value() const { return static_cast<std::size_t>(state_); }

  void add(std::uint64_t bits) {
    // The finalizer of SplitMix64 (Steele, Lea and Flood 2014).
    state_ += bits + 0x9e3779b97f4a7c15U;
    state_ = (state_ ^ (state_ >> 30)) * 0xbf58476d1ce4e5b9U;
    state_ = (state_ ^ (state_ >> 27)) * 0x94d049bb133111ebU;
    state_ ^= state_ >> 31;
  }
  void add(const std::string& text) { add(std::hash<std::string>()(text)); }
  void add(const Expr& e) { add(e.defined() ? e.node().hash : 0); }
  void add(const std::vector<Expr>& all) {
    add(all.size());
    for (const Expr& e : all) add(e);
  }
  void add(Type type) {
    add(static_cast<std::uint64_t>(type.code) << 32 | static_cast<std::uint64_t>(type.bits) << 16 |
        static_cast<std::uint64_t>(type.lanes));
  }

  void operator()(const IntImm& op) { add(static_cast<std::uint64_t>(op.value)); }
  void operator()(const FloatImm& op) { add(std::bit_cast<std::uint64_t>(op.value)); }
  void operator()(const VarRef& op) { add(op.name); }
  void operator()(const ParamRef&) {}
  void operator()(const RVarRef& op) { add(static_cast<std::uint64_t>(op.index)); }
  void operator()(const ImageField& op) { add(static_cast<std::uint64_t>(op.dimension)); }
  void operator()(const Cast& op) { add(op.value); }
  void operator()(const Unary& op) {
    add(static_cast<std::uint64_t>(op.op));
    add(op.a);
  }
  void operator()(const Binary& op) {
    add(static_cast<std::uint64_t>(op.op));
    add(op.a);
    add(op.b);
  }
  void operator()(const Compare& op) {
    add(static_cast<std::uint64_t>(op.op));
    add(op.a);
    add(op.b);
  }
  void operator()(const Select& op) {
    add(op.condition);
    add(op.if_true);
    add(op.if_false);
  }
  void operator()(const Fma& op) {
    add(op.a);
    add(op.b);
    add(op.c);
  }
  void operator()(const Strict& op) { add(op.value); }
  void operator()(const Access& op) {
    add(op.name);
    add(static_cast<std::uint64_t>(op.value_index));
    add(op.args);
  }
  void operator()(const Let& op) {
    add(op.name);
    add(op.value);
    add(op.body);
  }
  void operator()(const Load& op) {
    add(op.buffer);
    add(op.index);
  }
  void operator()(const Ramp& op) {
    add(op.base);
    add(op.stride);
  }
  void operator()(const Broadcast& op) { add(op.value); }
  void operator()(const Shuffle& op) { add(op.vectors); }
  void operator()(const Reinterpret& op) { add(op.value); }
  void operator()(const WarpShuffle& op) { add(op.value); }

 private:
  std::uint64_t state_ = 0;
};

std::size_t hash_of(Type type, const ExprNode::Op& op) {
  Hasher hasher;
  hasher.add(op.index());
  hasher.add(type);
  std::visit(hasher, op);
  return hasher.value();
}

}  // namespace

ExprNode::ExprNode(Type of, Op what) : type(of), op(std::move(what)), hash(hash_of(type, op)) {}

}  // namespace mica
