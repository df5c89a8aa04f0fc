#include "codegen/ir/fingerprint.h"

#include <bit>
#include <type_traits>

#include "codegen/ir/traverse.h"
#include "dsl/expr/node_map.h"

namespace mica::ir {

namespace {

// Every function here names all fields of what it writes, so that a new one does not compile until it is
// written, too. Statements and expressions inside are written after the fields beside them.
class Writer {
 public:
  void kernel(const Kernel& k) {
    const auto& [its_name, on_device, params, body, block, min_blocks, max_registers, cluster,
                 overlapped] = k;
    name(its_name);
    numbers({on_device ? 1 : 0, overlapped ? 1 : 0, block[0], block[1], block[2], min_blocks,
             max_registers, cluster[0], cluster[1], cluster[2]});
    count(params.size());
    for (const KernelParam& p : params) parameter(p);
    stmt(body);
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  void number(std::int64_t n) { text_ += std::to_string(n) + ' '; }
  void numbers(std::initializer_list<std::int64_t> list) {
    for (const std::int64_t n : list) number(n);
  }
  void count(std::size_t n) { number(static_cast<std::int64_t>(n)); }
  void name(const std::string& s) {
    count(s.size());
    text_ += s;
  }
  void line(const SourceLocation& where) {
    name(where.file);
    number(where.line);
  }
  void type(Type t) { numbers({static_cast<int>(t.code), t.bits, t.lanes}); }

  void stmt(const Stmt& s) {
    if (!s.defined()) {
      text_ += "- ";
      return;
    }
    text_ += 'S';
    count(s.node().op.index());
    std::visit([&](const auto& op) { payload(op); }, s.node().op);
    for_each_child(
        s, [&](const Stmt& child) { stmt(child); }, [&](const Expr& e) { expr(e); });
  }
  void parameter(const KernelParam& p) {
    const auto& [its_name, its_type, is_pointer, is_written, read_only, texture, shared] = p;
    name(its_name);
    type(its_type);
    numbers(
        {is_pointer ? 1 : 0, is_written ? 1 : 0, read_only ? 1 : 0, texture ? 1 : 0, shared ? 1 : 0});
  }

  void payload(const For& op) {
    const auto& [its_name, min, extent, kind, body, rolled] = op;
    name(its_name);
    numbers({static_cast<int>(kind), rolled ? 1 : 0});
  }
  void payload(const Store& op) {
    const auto& [buffer, index, value, logical, alignment, streamed, block, atomic, where, pieces] = op;
    name(buffer);
    count(index.size());
    count(logical.size());
    numbers({alignment, streamed ? 1 : 0, pieces ? 1 : 0, block.defined() ? 1 : 0,
             atomic ? static_cast<int>(*atomic) : -1});
    line(where);
  }
  void payload(const Block& op) {
    const auto& [stmts] = op;
    count(stmts.size());
  }
  void payload(const If& op) {
    const auto& [condition, then_case, else_case] = op;
    numbers({then_case.defined() ? 1 : 0, else_case.defined() ? 1 : 0});
  }
  void payload(const LetStmt& op) {
    const auto& [its_name, value, body] = op;
    name(its_name);
  }
  void payload(const Allocate& op) {
    const auto& [buffer, its_type, memory, mins, extents, strides, body, folds, stage, kept, places,
                 per_thread] = op;
    name(buffer);
    type(its_type);
    numbers({static_cast<int>(memory), per_thread ? 1 : 0});
    count(mins.size());
    count(extents.size());
    for (const auto* list : {&strides, &folds}) {
      count(list->size());
      for (const std::int64_t n : *list) number(n);
    }
    name(stage);
    numbers({places, static_cast<int>(kept)});
  }
  void payload(const Barrier& op) {
    const auto& [fences_copies] = op;
    number(fences_copies ? 1 : 0);
  }
  void payload(const NamedBarrier& op) {
    const auto& [its_number, threads, waits, fences_copies, turns, turn] = op;
    numbers({its_number, threads, waits ? 1 : 0, fences_copies ? 1 : 0, turns, turn.defined() ? 1 : 0});
  }
  void payload(const ClusterBarrier& /*op*/) { static_assert(std::is_empty_v<ClusterBarrier>); }
  void payload(const Produce& op) {
    const auto& [func, body, plane, kept] = op;
    name(func);
    numbers({plane ? 1 : 0, static_cast<int>(kept)});
  }
  void payload(const AsyncCopy& op) {
    const auto& [to, from, to_index, from_index, to_logical, from_logical, elements] = op;
    name(to);
    name(from);
    for (const auto* list : {&to_index, &from_index, &to_logical, &from_logical}) count(list->size());
    number(elements);
  }
  void payload(const CopyCommit& /*op*/) { static_assert(std::is_empty_v<CopyCommit>); }
  void payload(const CopyWait& op) {
    const auto& [pending] = op;
    number(pending);
  }
  void payload(const BulkInit& op) {
    const auto& [barriers, cells] = op;
    name(barriers);
    number(cells);
  }
  void payload(const BulkExpect& op) {
    const auto& [barriers, slot, bytes] = op;
    name(barriers);
  }
  void payload(const BulkCopy& op) {
    const auto& [to, from, to_index, from_index, to_logical, from_logical, elements, barriers, slot] =
        op;
    name(to);
    name(from);
    for (const auto* list : {&to_index, &from_index, &to_logical, &from_logical}) count(list->size());
    name(barriers);
  }
  void payload(const BulkWait& op) {
    const auto& [barriers, slot, parity] = op;
    name(barriers);
  }
  void payload(const Evaluate& op) { [[maybe_unused]] const auto& [value] = op; }

  /// A node met before is written as its number.
  void expr(const Expr& e) {
    const auto [known, is_new] = seen_.try_emplace(&e.node(), seen_.size());
    if (!is_new) {
      text_ += '#';
      count(known->second);
      return;
    }
    text_ += 'E';
    count(e.node().op.index());
    type(e.type());
    std::visit([&](const auto& op) { payload(op); }, e.node().op);
    mica::for_each_child(e, [&](const Expr& child) { expr(child); });
  }
  void payload(const IntImm& op) {
    const auto& [value] = op;
    number(value);
  }
  void payload(const FloatImm& op) {
    const auto& [value] = op;
    number(std::bit_cast<std::int64_t>(value));
  }
  void payload(const VarRef& op) {
    const auto& [its_name, unnamed, field] = op;  // the name says which field it is
    name(its_name);
  }
  void payload(const Let& op) {
    const auto& [its_name, value, body] = op;
    name(its_name);
  }
  void payload(const Unary& op) {
    const auto& [which, a] = op;
    number(static_cast<int>(which));
  }
  void payload(const Binary& op) {
    const auto& [which, a, b] = op;
    number(static_cast<int>(which));
  }
  void payload(const Compare& op) {
    const auto& [which, a, b] = op;
    number(static_cast<int>(which));
  }
  void payload(const Load& op) {
    const auto& [buffer, index, logical, alignment, streamed, where] = op;
    name(buffer);
    count(index.size());
    count(logical.size());
    numbers({alignment, streamed ? 1 : 0});
    line(where);
  }
  void payload(const WarpShuffle& op) {
    const auto& [value, delta] = op;
    number(delta);
  }
  void payload(const Print& op) {
    const auto& [value, condition, operands, texts] = op;
    count(operands.size());
    for (const std::string& text : texts) name(text);
  }
  void payload(const Shuffle& op) {
    const auto& [vectors, lanes] = op;
    count(vectors.size());
    count(lanes.size());
    for (const int lane : lanes) number(lane);
  }
  // Nothing beside the operands.
  void payload(const Cast& op) { [[maybe_unused]] const auto& [value] = op; }
  void payload(const Strict& op) { [[maybe_unused]] const auto& [value] = op; }
  void payload(const Broadcast& op) { [[maybe_unused]] const auto& [value] = op; }
  void payload(const Reinterpret& op) { [[maybe_unused]] const auto& [value] = op; }
  void payload(const Select& op) { [[maybe_unused]] const auto& [condition, a, b] = op; }
  void payload(const Fma& op) { [[maybe_unused]] const auto& [a, b, c] = op; }
  void payload(const Ramp& op) { [[maybe_unused]] const auto& [base, stride] = op; }
  template <typename Op>
  requires(std::is_same_v<Op, ParamRef> || std::is_same_v<Op, RVarRef> ||
           std::is_same_v<Op, ImageField> || std::is_same_v<Op, Access>) void payload(const Op& /*op*/) {
    throw InternalError("a node of the algorithm is left in a kernel");
  }

  std::string text_;
  NodeMap<std::size_t> seen_;
};

}  // namespace

std::string fingerprint(const Kernel& kernel) {
  Writer writer;
  writer.kernel(kernel);
  return writer.take();
}

}  // namespace mica::ir
