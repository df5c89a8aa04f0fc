#include "codegen/print_loops.h"

#include "codegen/ir/print.h"
#include "dsl/expr/names.h"
#include "dsl/expr/traverse.h"

namespace mica {
namespace {

class Printer {
 public:
  std::string text;

  void run(const ir::Stmt& s, int depth) {
    if (!s.defined()) return;
    if (const auto* loop = s.as<ir::For>()) {
      line(depth, std::string(ir::keyword(loop->kind)) + " " + printed(loop->name) + " in [" +
                      shown(loop->min) + ", " + shown(simplified_end(*loop)) + ")");
      return run(loop->body, depth + 1);
    }
    if (const auto* alloc = s.as<ir::Allocate>()) {
      std::string shape;
      std::int64_t bytes = alloc->type.bytes();
      bool constant = true;
      for (auto it = alloc->extents.rbegin(); it != alloc->extents.rend(); ++it) {
        shape += "[" + shown(*it) + "]";
        if (const auto* k = as_int(*it))
          bytes *= *k;
        else
          constant = false;
      }
      line(depth, to_string(alloc->memory) + " " + to_string(alloc->type) + " " + alloc->buffer + shape +
                      (constant ? ": " + counted(static_cast<std::size_t>(bytes), "byte") : ""));
      return run(alloc->body, depth);
    }
    if (const auto* produce = s.as<ir::Produce>()) {
      line(depth, "produce " + produce->func + ":");
      return run(produce->body, depth + 1);
    }
    if (const auto* branch = s.as<ir::If>()) {
      line(depth, "if " + condition(branch->condition));
      run(branch->then_case, depth + 1);
      if (branch->else_case.defined()) {
        line(depth, "else");
        run(branch->else_case, depth + 1);
      }
      return;
    }
    if (const auto* let = s.as<ir::LetStmt>()) {
      bool loads = false;
      walk(let->value, [&](const Expr& e) { loads = loads || e.as<Load>() != nullptr; });
      line(depth, "let " + printed(let->name) + " = " + (loads ? "..." : shown(let->value)));
      return run(let->body, depth);
    }
    if (const auto* block = s.as<ir::Block>()) {
      for (const auto& child : block->stmts) run(child, depth);
      return;
    }
    if (const auto* store = s.as<ir::Store>()) {
      line(depth, (store->atomic ? "atomic " : "") + store->buffer + "[..] = ...");
    } else if (const auto* async = s.as<ir::AsyncCopy>()) {
      line(depth, "copy " + async->to + "[..] = " + async->from + "[..]");
    } else if (const auto* bulk = s.as<ir::BulkCopy>()) {
      line(depth, "bulk copy " + bulk->to + "[..] = " + bulk->from + "[..]");
    }
  }

 private:
  // What boundary conditions make of the bounds of steps behind each other would fill pages.
  static std::string shown(const Expr& e) {
    constexpr std::size_t kReadable = 400;
    return to_string(e, kReadable);
  }
  // Long conditions would hide the loops: those are counted.
  static std::string condition(const Expr& e) {
    constexpr std::size_t kReadable = 100;
    std::string whole = to_string(e);
    if (whole.size() <= kReadable) return whole;
    return "[" + std::to_string(terms(e)) + " conditions]";
  }
  static int terms(const Expr& e) {
    const auto* op = e.as<Binary>();
    return op && op->op == BinaryOp::And ? terms(op->a) + terms(op->b) : 1;
  }
  static Expr simplified_end(const ir::For& loop) {
    if (is_const(loop.min, 0)) return loop.extent;
    return make_expr(Int(32), Binary{BinaryOp::Add, loop.min, loop.extent});
  }
  void line(int depth, const std::string& what) {
    text += std::string(static_cast<std::size_t>(depth) * 2, ' ') + what + "\n";
  }
};

}  // namespace

std::string print_loops(const Program& program) {
  Printer printer;
  for (const auto& [func, placement] : program.placement) {
    if (placement.reason.empty()) continue;
    printer.text += "// " + func + " is computed ahead: " + placement.reason + "\n";
  }
  for (const auto& note : program.notes) printer.text += "// " + note + "\n";
  for (const auto& nest : program.nests) {
    if (program.options.target.is_gpu() && !nest.on_device) {
      printer.text +=
          "// on the host, since no loop of this is given to the GPU: the GPU waits, and copies, for "
          "it\n";
    }
    printer.run(nest.body, 0);
  }
  return printer.text;
}

}  // namespace mica
