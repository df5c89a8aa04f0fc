// NestBuilder: rows that the bulk-copy engine brings, and the transaction barriers that count them off.
//
//   step s of a march:   expect bytes of plane s + ahead at barriers[n % depth]     one thread
//                        copy its rows                                              a thread each
//                        wait for plane s + newest                                  all threads
//
// A plane is number n of its ring, counted from 0: its place and its barrier are n % depth, and the
// barrier's phase is n / depth.
#include <algorithm>

#include "codegen/passes/nest_builder.h"
#include "codegen/passes/nest_frame.h"
#include "dsl/names.h"
#include "dsl/traverse.h"

namespace mica::passes {

using analysis::Box;

namespace {

constexpr std::int64_t kBulkBytes = 16;  // what both ends and the size of a copy are multiples of
constexpr std::int64_t kUnrolledCopies = 4;

std::string barriers_of(const FunctionData& func) { return func.name + ".full"; }

// The array in memory that `func` copies point by point; empty if it does anything else.
std::string copied_array(const Program& program, const FunctionData& func) {
  if (func.definitions.size() != 1 || func.types.size() != 1) return "";
  const auto* access = func.definitions.front().values.front().as<Access>();
  if (!access || access->args.size() != func.args.size()) return "";
  for (std::size_t d = 0; d < func.args.size(); ++d) {
    const auto* var = access->args[d].as<VarRef>();
    if (!var || var->name != func.args[d]) return "";
  }
  if (program.pipeline.find_input(access->name)) return access->name;
  if (!program.is_root(access->name)) return "";
  const std::size_t values = program.pipeline.find(access->name)->types.size();
  return storage_name(access->name, access->value_index, values);
}

// Is `first`, an element of a row, a multiple of `lanes` elements from one that the launch finds
// aligned: the domain's first point?
bool starts_whole(const Expr& first, std::int64_t lanes,
                  const std::map<std::string, std::int64_t>& known) {
  const Expr baked = substitute(first, [&](const std::string& name) {
    const auto it = known.find(name);
    return it == known.end() ? Expr() : constant(it->second);
  });
  const analysis::Linear form = analysis::linearize(simplify(baked));
  if (form.constant % lanes != 0) return false;
  return std::all_of(form.terms.begin(), form.terms.end(), [&](const auto& term) {
    if (term.second % lanes == 0) return true;
    const auto* var = term.first.template as<VarRef>();
    return var && term.second == 1 && is_array_symbol(var->name, "min");
  });
}

}  // namespace

bool NestBuilder::copies_in_bulk(const FunctionData& func, const Box& box,
                                 const NestContext& context) const {
  const Variant& variant = program_.options.variant;
  if (program_.placement.at(func.name).load != LoadPolicy::Bulk || !context.interior ||
      context.any_point) {
    return false;
  }
  if (!variant.aligned || !variant.unit_stride || !context.row_origin.defined()) return false;
  const std::string copied = copied_array(program_, func);
  if (copied.empty()) return false;
  const int lanes = static_cast<int>(kBulkBytes) / func.types.front().bytes();
  if (unit_of_baked_strides(program_.options, copied, box.size(), lanes) < lanes) return false;
  const std::int64_t align = storage_alignment(func, 0, 1);
  const bool exact = std::all_of(box.begin(), box.end(), [](const auto& interval) {
    return analysis::constant_difference(interval.max, interval.min).has_value();
  });
  if (!exact) return false;  // a clamped index: not all of the box is needed, or there
  const auto length = analysis::constant_extent(box[0]);
  if (!length || *length % lanes != 0 || !starts_whole(box[0].min, lanes, program_.options.bake)) {
    return false;
  }
  std::int64_t stored = (*length + align - 1) / align * align;
  const std::int64_t before = row_padding(func, box[0], context, stored);
  return before % lanes == 0 && stored % lanes == 0;
}

ir::Stmt NestBuilder::with_barriers(const FunctionData& func, std::int64_t places,
                                    const ir::Stmt& body) const {
  const std::string barriers = barriers_of(func);
  ir::Allocate alloc;
  alloc.buffer = barriers;
  alloc.type = Int(64);
  alloc.memory = MemoryType::Shared;
  alloc.mins = {constant(0)};
  alloc.extents = {constant(places)};
  alloc.body = ir::make_block({ir::make_stmt(ir::BulkInit{barriers, static_cast<int>(places)}), body});
  return ir::make_stmt(std::move(alloc));
}

ir::Stmt NestBuilder::bulk_fill(const FunctionData& func, const Box& box, const Expr& number,
                                std::int64_t places, const NestContext& context) const {
  const std::vector<std::int64_t> extent = fixed_extents(func, box);
  const Expr slot = simplify(number % constant(places));
  std::int64_t rows = 1;
  for (std::size_t d = 1; d < extent.size(); ++d) rows *= extent[d];
  const Crew crew(program_.placement.at(func.name), context);
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
  const ir::Stmt stored = emit_store(func, 0, [&](const std::string& name) { return value.at(name); });
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

ir::Stmt NestBuilder::bulk_wait(const FunctionData& func, const Expr& number,
                                std::int64_t places) const {
  return ir::make_stmt(ir::BulkWait{barriers_of(func), simplify(number % constant(places)),
                                    simplify(number / constant(places) % constant(2))});
}

}  // namespace mica::passes
