#include "codegen/ir/fingerprint.h"

#include <bit>
#include <type_traits>
#include <unordered_map>

#include "codegen/ir/traverse.h"

namespace mica::ir {

namespace {

class Writer {
 public:
  void kernel(const Kernel& k) {
    name(k.name);
    numbers({k.on_device ? 1 : 0, k.block[0], k.block[1], k.block[2], k.min_blocks, k.max_registers,
             k.cluster[0], k.cluster[1], k.cluster[2], static_cast<std::int64_t>(k.params.size())});
    for (const KernelParam& p : k.params) {
      name(p.name);
      type(p.type);
      numbers({p.is_pointer ? 1 : 0, p.is_written ? 1 : 0, p.read_only ? 1 : 0, p.texture ? 1 : 0});
    }
    stmt(k.body);
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
  void payload(const For& op) {
    name(op.name);
    number(static_cast<int>(op.kind));
  }
  void payload(const Store& op) {
    name(op.buffer);
    count(op.index.size());
    count(op.logical.size());
    numbers({op.alignment, op.streamed ? 1 : 0, op.block.defined() ? 1 : 0});
  }
  void payload(const Block& op) { count(op.stmts.size()); }
  void payload(const If& op) {
    numbers({op.then_case.defined() ? 1 : 0, op.else_case.defined() ? 1 : 0});
  }
  void payload(const LetStmt& op) { name(op.name); }
  void payload(const Allocate& op) {
    name(op.buffer);
    type(op.type);
    number(static_cast<int>(op.memory));
    count(op.extents.size());
    count(op.strides.size());
    for (const std::int64_t stride : op.strides) number(stride);
  }
  void payload(const Barrier& op) { number(op.fences_copies ? 1 : 0); }
  void payload(const NamedBarrier& op) { numbers({op.number, op.threads, op.waits ? 1 : 0}); }
  void payload(const ClusterBarrier& /*op*/) {}
  void payload(const Produce& op) { name(op.func); }
  template <typename Copy>
  void places(const Copy& op) {
    name(op.to);
    name(op.from);
    count(op.to_index.size());
    count(op.from_index.size());
    count(op.to_logical.size());
    count(op.from_logical.size());
  }
  void payload(const AsyncCopy& op) {
    places(op);
    number(op.count);
  }
  void payload(const CopyCommit& /*op*/) {}
  void payload(const CopyWait& op) { number(op.pending); }
  void payload(const BulkInit& op) {
    name(op.barriers);
    number(op.count);
  }
  void payload(const BulkExpect& op) { name(op.barriers); }
  void payload(const BulkCopy& op) {
    places(op);
    name(op.barriers);
  }
  void payload(const BulkWait& op) { name(op.barriers); }

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
  template <typename Op>
  void payload(const Op& op) {
    if constexpr (std::is_same_v<Op, IntImm>) {
      number(op.value);
    } else if constexpr (std::is_same_v<Op, FloatImm>) {
      number(std::bit_cast<std::int64_t>(op.value));
    } else if constexpr (std::is_same_v<Op, VarRef> || std::is_same_v<Op, Let>) {
      name(op.name);
    } else if constexpr (std::is_same_v<Op, Unary> || std::is_same_v<Op, Binary> ||
                         std::is_same_v<Op, Compare>) {
      number(static_cast<int>(op.op));
    } else if constexpr (std::is_same_v<Op, Load>) {
      name(op.buffer);
      count(op.index.size());
      count(op.logical.size());
      numbers({op.alignment, op.streamed ? 1 : 0});
    } else if constexpr (std::is_same_v<Op, WarpShuffle>) {
      number(op.delta);
    } else if constexpr (std::is_same_v<Op, Shuffle>) {
      count(op.vectors.size());
      for (const int lane : op.lanes) number(lane);
    } else if constexpr (std::is_same_v<Op, ParamRef> || std::is_same_v<Op, RVarRef> ||
                         std::is_same_v<Op, ImageField> || std::is_same_v<Op, Access>) {
      throw InternalError("a node of the algorithm is left in a kernel");
    } else {
      static_assert(std::is_same_v<Op, Cast> || std::is_same_v<Op, Select> || std::is_same_v<Op, Fma> ||
                    std::is_same_v<Op, Strict> || std::is_same_v<Op, Ramp> ||
                    std::is_same_v<Op, Broadcast> || std::is_same_v<Op, Reinterpret>);
    }
  }

  std::string text_;
  std::unordered_map<const ExprNode*, std::size_t> seen_;
};

}  // namespace

std::string fingerprint(const Kernel& kernel) {
  Writer writer;
  writer.kernel(kernel);
  return writer.take();
}

}  // namespace mica::ir
