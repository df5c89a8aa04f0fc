#include "codegen/passes/gpu/map_gpu_axes.h"

#include "codegen/analysis/simplify.h"
#include "codegen/ir/traverse.h"
#include "dsl/expr/operators.h"

namespace mica::passes {
namespace {

void collect(const ir::Stmt& s, std::vector<const ir::For*>& loops) {
  const auto* loop = s.as<ir::For>();
  if (loop && loop->kind == LoopKind::GpuBlock) loops.push_back(loop);
  ir::for_each_child(
      s, [&](const ir::Stmt& child) { collect(child, loops); }, [](const Expr&) {});
}

ir::Stmt strip(const ir::Stmt& s) {
  const auto* loop = s.as<ir::For>();
  if (loop && loop->kind == LoopKind::GpuBlock) return strip(loop->body);
  return ir::map_children(
      s, [](const ir::Stmt& child) { return strip(child); }, [](const Expr& e) { return e; });
}

}  // namespace

void map_gpu_axes(Program& program) {
  for (auto& nest : program.nests) {
    if (!nest.on_device) continue;
    std::vector<const ir::For*> loops;
    collect(nest.body, loops);
    if (loops.size() > 3) {
      throw UserError(nest.func + " has " + std::to_string(loops.size()) +
                      " block loops; a grid has 3 axes: fuse some of them");
    }
    std::vector<Expr> grid(3, make_const(Int(32), std::int64_t{1}));
    for (std::size_t axis = 0; axis < loops.size(); ++axis) {
      grid[axis] = loops[loops.size() - 1 - axis]->extent;
    }
    ir::Stmt body = nest.body;
    Expr number = make_var(ir::kGpuAxisNames[static_cast<std::size_t>(ir::GpuAxis::BlockX)]);
    std::vector<std::pair<std::string, Expr>> lets;
    for (std::size_t axis = 0; axis < loops.size(); ++axis) {
      const ir::For& loop = *loops[loops.size() - 1 - axis];
      Expr block = make_var(ir::kGpuAxisNames[static_cast<std::size_t>(ir::GpuAxis::BlockX) + axis]);
      if (!program.options.variant.grid3) {
        block = axis + 1 < loops.size() ? number % grid[axis] : number;
        number = number / grid[axis];
      }
      lets.emplace_back(loop.name, simplify(loop.min + block));
    }
    body = strip(body);
    for (const auto& [name, value] : lets) {
      body = value.as<VarRef>() ? ir::substitute(body, name, value)
                                : ir::make_stmt(ir::LetStmt{name, value, body});
    }
    nest.body = body;
    if (!program.options.variant.grid3) {
      Expr total = grid[0] * grid[1] * grid[2];
      grid = {simplify(total), make_const(Int(32), std::int64_t{1}),
              make_const(Int(32), std::int64_t{1})};
    }
    nest.grid = grid;
  }
}

}  // namespace mica::passes
