#include "codegen/passes/emit/bulk_fills.h"

#include <algorithm>

#include "codegen/analysis/simplify.h"
#include "codegen/passes/emit/block_fills.h"
#include "codegen/passes/emit/point_stores.h"
#include "dsl/expr/names.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::passes {

using analysis::Box;

namespace {

constexpr std::int64_t kUnrolledCopies = 4;

std::string barriers_of(const FunctionData& func) { return func.name + ".full"; }

}  // namespace

ir::Stmt with_barriers(const FunctionData& func, std::int64_t places, const ir::Stmt& body) {
  const std::string barriers = barriers_of(func);
  ir::Allocate alloc;
  alloc.buffer = barriers;
  alloc.type = Int(64);
  alloc.memory = MemoryType::Shared;
  alloc.stage = func.name;
  alloc.kept = ir::Kept::Arrivals;
  alloc.mins = {constant(0)};
  alloc.extents = {constant(places)};
  alloc.body = ir::make_block({ir::make_stmt(ir::BulkInit{barriers, static_cast<int>(places)}), body});
  return ir::make_stmt(std::move(alloc));
}

ir::Stmt bulk_fill(const Program& program, const FunctionData& func, const Box& box,
                   const planning::Crew& crew, const Expr& number, std::int64_t places) {
  const std::vector<std::int64_t> extent = fixed_extents(program, func, box);
  const Expr slot = simplify(number % constant(places));
  std::int64_t rows = 1;
  for (std::size_t d = 1; d < extent.size(); ++d) rows *= extent[d];
  const std::int64_t threads = crew.count;
  const Expr thread = crew.number(func.name);
  const std::int64_t steps = (rows + threads - 1) / threads;
  const std::string step = func.name + ".row";
  const Expr row = steps > 1 ? make_var(step) * constant(threads) + thread : thread;

  std::map<std::string, Expr> value = {{func.args[0], box[0].min}};
  std::size_t last = extent.size() - 1;
  while (last > 1 && extent[last] == 1) --last;
  Expr left = row;
  for (std::size_t d = 1; d < extent.size(); ++d) {
    if (d > last) left = constant(0);
    value[func.args[d]] = simplify(box[d].min + (d < last ? left % constant(extent[d]) : left));
    left = left / constant(extent[d]);
  }
  const ir::Stmt stored =
      point_stores(program, func, 0, [&](const std::string& name) { return value.at(name); });
  const auto* store = stored.as<ir::Store>();
  const auto* load = store ? store->value.as<Load>() : nullptr;
  internal_check(load != nullptr, "a bulk copy moves elements of one array to another");
  ir::BulkCopy copy;
  copy.to = store->buffer;
  copy.to_index = store->index;
  copy.from = load->buffer;
  copy.from_index = load->index;
  copy.count = constant(extent[0]);
  copy.barriers = barriers_of(func);
  copy.slot = slot;
  ir::Stmt copies = ir::make_stmt(std::move(copy));
  if (rows % threads != 0) copies = ir::make_stmt(ir::If{row < constant(rows), copies, {}});
  if (steps > 1) {
    const LoopKind kind = steps <= kUnrolledCopies ? LoopKind::Unrolled : LoopKind::Serial;
    copies = ir::make_stmt(ir::For{step, constant(0), constant(steps), kind, copies});
  }
  const Expr bytes = constant(rows * extent[0] * func.types.front().bytes());
  const ir::Stmt expect = ir::make_stmt(ir::BulkExpect{barriers_of(func), slot, bytes});
  return crew.around(func.name,
                     ir::make_block({ir::make_stmt(ir::If{thread == constant(0), expect, {}}), copies}));
}

ir::Stmt bulk_wait(const FunctionData& func, const Expr& number, std::int64_t places) {
  return ir::make_stmt(ir::BulkWait{barriers_of(func), simplify(number % constant(places)),
                                    simplify(number / constant(places) % constant(2))});
}

}  // namespace mica::passes
