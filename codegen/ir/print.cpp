#include "codegen/ir/print.h"

#include <algorithm>
#include <type_traits>
#include <variant>

#include "dsl/expr/names.h"
#include "dsl/expr/traverse.h"

namespace mica::ir {

namespace {

const char* keyword(MemoryType memory) {
  switch (memory) {
    case MemoryType::Auto: return "auto";
    case MemoryType::Heap: return "heap";
    case MemoryType::Stack: return "stack";
    case MemoryType::Shared: return "shared";
    case MemoryType::Register: return "register";
  }
  throw InternalError("unknown MemoryType");
}

/// min + extent, folded when both are constants or one is 0.
Expr end_of(const Expr& min, const Expr& extent) {
  if (is_const(min, 0)) return extent;
  const std::int64_t* a = as_int(min);
  const std::int64_t* b = as_int(extent);
  if (a != nullptr && b != nullptr) return make_const(min.type(), *a + *b);
  return make_expr(min.type(), Binary{BinaryOp::Add, min, extent});
}

class Printer {
 public:
  /// `last`: nothing follows `s` at this indentation.
  void print(const Stmt& s, bool last) {
    if (!s.defined()) return;
    std::visit([&](const auto& op) { statement(op, last); }, s.node().op);
  }
  void line(const std::string& text) { text_ += std::string(indent_, ' ') + text + "\n"; }
  void nested(const std::string& head, const Stmt& body) {
    line(head + ":");
    indent_ += 2;
    print(body, true);
    indent_ -= 2;
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  void statement(const For& loop, bool /*last*/) {
    nested((loop.rolled ? "rolled " : "") + std::string(ir::keyword(loop.kind)) + " " +
               printed(loop.name) + " in [" + mica::to_string(loop.min) + ", " +
               mica::to_string(end_of(loop.min, loop.extent)) + ")",
           loop.body);
  }
  void statement(const Store& store, bool /*last*/) {
    std::string head = (store.streamed ? "streamed " : "") + place(store.buffer, store.index);
    if (store.alignment > 1) head += "@" + std::to_string(store.alignment);
    if (store.block.defined()) head += " of block " + mica::to_string(store.block);
    const std::string where = store.where.known() ? "  // " + mica::to_string(store.where) : "";
    if (!store.atomic) return line(head + " = " + mica::to_string(store.value) + where);
    const Expr before = make_var(head, store.value.type());
    const Expr after = make_expr(before.type(), Binary{*store.atomic, before, store.value});
    line("atomic " + head + " = " + mica::to_string(after) + where);
  }
  void statement(const Block& block, bool last) {
    for (std::size_t i = 0; i < block.stmts.size(); ++i) {
      print(block.stmts[i], last && i + 1 == block.stmts.size());
    }
  }
  void statement(const If& branch, bool /*last*/) {
    nested("if " + mica::to_string(branch.condition), branch.then_case);
    if (branch.else_case.defined()) nested("else", branch.else_case);
  }
  void statement(const LetStmt& let, bool last) {
    scoped("let " + printed(let.name) + " = " + mica::to_string(let.value), let.body, last);
  }
  void statement(const Allocate& a, bool last) {
    std::string head = "allocate " + std::string(keyword(a.memory)) + " " + mica::to_string(a.type) +
                       " " + a.buffer + brackets(a.extents);
    const auto is_zero = [](const Expr& e) { return is_const(e, 0); };
    if (!std::all_of(a.mins.begin(), a.mins.end(), is_zero)) head += " at " + brackets(a.mins);
    if (!a.strides.empty()) {
      head += " strides ";
      for (auto s = a.strides.rbegin(); s != a.strides.rend(); ++s) {
        head += "[" + std::to_string(*s) + "]";
      }
    }
    scoped(head, a.body, last);
  }
  void statement(const Barrier& barrier, bool /*last*/) {
    line(barrier.fences_copies ? "barrier after a fence" : "barrier");
  }
  void statement(const NamedBarrier& barrier, bool /*last*/) {
    const std::string turn = barrier.turn.defined() ? " + " + mica::to_string(barrier.turn) : "";
    line((barrier.waits ? "barrier " : "arrive at barrier ") + std::to_string(barrier.number) + turn +
         " of " + std::to_string(barrier.threads) + " threads" +
         (barrier.fences_copies ? " after a fence" : ""));
  }
  void statement(const ClusterBarrier& /*barrier*/, bool /*last*/) { line("barrier of the cluster"); }
  void statement(const Produce& produce, bool /*last*/) {
    nested("produce " + produce.func + (produce.kept == Kept::Rows ? ".rows" : ""), produce.body);
  }
  void statement(const AsyncCopy& copy, bool /*last*/) {
    line("async_copy " + places(copy) + " x" + std::to_string(copy.count));
  }
  void statement(const CopyCommit& /*commit*/, bool /*last*/) { line("copy_commit"); }
  void statement(const CopyWait& wait, bool /*last*/) {
    line("copy_wait pending " + std::to_string(wait.pending));
  }
  void statement(const BulkInit& init, bool /*last*/) {
    line("bulk_init " + init.barriers + " x" + std::to_string(init.count));
  }
  void statement(const BulkExpect& expect, bool /*last*/) {
    line("bulk_expect " + place(expect.barriers, {expect.slot}) + " bytes " +
         mica::to_string(expect.bytes));
  }
  void statement(const BulkCopy& copy, bool /*last*/) {
    line("bulk_copy " + places(copy) + " count " + mica::to_string(copy.count) + " at " +
         place(copy.barriers, {copy.slot}));
  }
  void statement(const BulkWait& wait, bool /*last*/) {
    line("bulk_wait " + place(wait.barriers, {wait.slot}) + " parity " + mica::to_string(wait.parity));
  }
  void statement(const Evaluate& evaluate, bool /*last*/) {
    line("evaluate " + mica::to_string(evaluate.value));
  }

  void scoped(const std::string& head, const Stmt& body, bool last) {
    if (last) {
      line(head);
      print(body, true);
    } else {
      nested(head, body);
    }
  }
  static std::string place(const std::string& buffer, const std::vector<Expr>& index) {
    return buffer + "[" + list(index) + "]";
  }
  template <typename Copy>
  static std::string places(const Copy& copy) {
    return place(copy.to, copy.to_index) + " = " + place(copy.from, copy.from_index);
  }
  static std::string list(const std::vector<Expr>& exprs) {
    std::string text;
    for (const Expr& e : exprs) text += (text.empty() ? "" : ", ") + mica::to_string(e);
    return text;
  }
  /// Slowest dimension first, as C declares arrays.
  static std::string brackets(const std::vector<Expr>& exprs) {
    std::string text;
    for (auto e = exprs.rbegin(); e != exprs.rend(); ++e) text += "[" + mica::to_string(*e) + "]";
    return text;
  }

  std::string text_;
  std::size_t indent_ = 0;
};

}  // namespace

const char* keyword(LoopKind kind) {
  switch (kind) {
    case LoopKind::Serial: return "for";
    case LoopKind::Parallel: return "parallel";
    case LoopKind::Vectorized: return "vectorized";
    case LoopKind::Unrolled: return "unrolled";
    case LoopKind::GpuBlock: return "gpu_block";
    case LoopKind::GpuThread: return "gpu_thread";
    case LoopKind::March: return "march";
  }
  throw InternalError("unknown LoopKind");
}

std::string to_string(const Stmt& s) {
  Printer printer;
  printer.print(s, true);
  return printer.take();
}

std::string to_string(const Kernel& kernel) {
  std::string params;
  for (const KernelParam& p : kernel.params) {
    params +=
        (params.empty() ? "" : ", ") + mica::to_string(p.type) + (p.is_pointer ? "* " : " ") + p.name;
    if (p.is_written) params += " written";
    if (p.read_only) params += " read_only";
    if (p.texture) params += " texture";
    if (p.shared) params += " shared";
  }
  std::string head =
      std::string(kernel.on_device ? "kernel " : "host kernel ") + kernel.name + "(" + params + ")";
  if (kernel.on_device) {
    head += " block " + std::to_string(kernel.block[0]) + "x" + std::to_string(kernel.block[1]) + "x" +
            std::to_string(kernel.block[2]);
    if (kernel.min_blocks > 0) head += " min_blocks " + std::to_string(kernel.min_blocks);
    if (cluster_blocks(kernel) > 1) {
      head += " cluster " + std::to_string(kernel.cluster[0]) + "x" + std::to_string(kernel.cluster[1]) +
              "x" + std::to_string(kernel.cluster[2]);
    }
    if (kernel.overlapped) head += " overlapped";
    if (kernel.max_registers > 0) head += " max_registers " + std::to_string(kernel.max_registers);
  }
  Printer printer;
  printer.nested(head, kernel.body);
  return printer.take();
}

std::string to_string(const Module& module) {
  std::string text;
  for (const Kernel& kernel : module.kernels) text += to_string(kernel);
  return text;
}

}  // namespace mica::ir
