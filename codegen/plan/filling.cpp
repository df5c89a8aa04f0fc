#include "codegen/plan/filling.h"

#include <algorithm>
#include <numeric>

#include "codegen/passes/simplify.h"
#include "dsl/names.h"
#include "dsl/operators.h"
#include "dsl/traverse.h"

namespace mica::planning {

using analysis::Box;
using passes::constant;
using passes::simplify;

namespace {

constexpr int kCopyBytes = 16;           // the widest access of a thread
constexpr int kSectorBytes = 32;         // what the L2 hands over at a time
constexpr std::int64_t kBulkBytes = 16;  // what both ends and the size of a bulk copy are multiples of

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

Crew::Crew(const Placement& placement, const std::int64_t (&threads)[3], int filling_warps) {
  std::size_t last = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    extents[axis] = threads[axis];
    count *= extents[axis];
    if (extents[axis] > 1) last = axis;
  }
  if (filling_warps == 0 || !placement.load) return;
  constexpr std::int64_t kWarp = 32;
  const std::int64_t row = count / extents[last];  // threads of one row of the last dimension
  first = count;
  count = kWarp * filling_warps;
  internal_check(count % row == 0, "warps that fill are whole rows of the block");
  extents[last] += count / row;
}

Expr Crew::number(const std::string& prefix) const {
  Expr linear;
  for (std::size_t axis = 3; axis-- > 0;) {
    const Expr t = make_var(prefix + kThreadAxis[axis]);
    linear = linear.defined() ? linear * constant(extents[axis]) + t : t;
  }
  return first > 0 ? linear - constant(first) : linear;
}

Expr Crew::condition(const std::string& prefix) const {
  return first > 0 ? number(prefix) >= constant(0) : Expr();
}

ir::Stmt Crew::around(const std::string& prefix, ir::Stmt stmt) const {
  if (const Expr filling = condition(prefix); filling.defined()) {
    stmt = ir::make_stmt(ir::If{filling, stmt, {}});
  }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    stmt = ir::make_stmt(ir::For{prefix + kThreadAxis[axis], constant(0), constant(extents[axis]),
                                 LoopKind::GpuThread, stmt});
  }
  return stmt;
}

int fill_lanes(const Program& program, const FunctionData& func, const BlockRow& block) {
  const Placement& placement = program.placement.at(func.name);
  if (!program.options.variant.aligned) return 1;
  if (!block.origin.defined() || func.types.size() != 1 || func.definitions.size() != 1) return 1;
  const int widest = kCopyBytes / func.types.front().bytes();
  if (placement.load == LoadPolicy::HaloThreads) return 1;
  if (placement.load == LoadPolicy::AsyncCopy || placement.load == LoadPolicy::Bulk) {
    return std::gcd(widest, static_cast<int>(block.points));
  }
  return std::gcd(std::min(widest, block.lanes), static_cast<int>(block.points));
}

bool copies_sectors(const Program& program, const FunctionData& func, const BlockRow& block) {
  const int bytes = func.types.front().bytes();
  return program.placement.at(func.name).load == LoadPolicy::AsyncCopy &&
         fill_lanes(program, func, block) * bytes == kCopyBytes &&
         block.points * bytes % kSectorBytes == 0;
}

std::int64_t row_padding(const Program& program, const FunctionData& func, const analysis::Interval& row,
                         const BlockRow& block, std::int64_t& count) {
  int lanes = std::max(fill_lanes(program, func, block), block.lanes);
  if (copies_sectors(program, func, block))
    lanes = std::max(lanes, kSectorBytes / func.types.front().bytes());
  if (lanes <= 1 || !block.origin.defined()) return 0;
  const auto halo = analysis::constant_difference(block.origin, row.min);
  if (!halo || *halo < 0) return 0;
  const std::int64_t before = (lanes - *halo % lanes) % lanes;
  count = (before + count + lanes - 1) / lanes * lanes;
  return before;
}

bool copies_in_bulk(const Program& program, const FunctionData& func, const Box& box,
                    const BlockRow& block) {
  const Variant& variant = program.options.variant;
  if (program.placement.at(func.name).load != LoadPolicy::Bulk) return false;
  if (!variant.aligned || !variant.unit_stride || !block.origin.defined()) return false;
  const std::string copied = copied_array(program, func);
  if (copied.empty()) return false;
  const int lanes = static_cast<int>(kBulkBytes) / func.types.front().bytes();
  if (unit_of_baked_strides(program.options, copied, box.size(), lanes) < lanes) return false;
  const std::int64_t align = storage_alignment(func, 0, 1);
  const bool exact = std::all_of(box.begin(), box.end(), [](const auto& interval) {
    return analysis::constant_difference(interval.max, interval.min).has_value();
  });
  if (!exact) return false;  // a clamped index: not all of the box is needed, or there
  const auto length = analysis::constant_extent(box[0]);
  if (!length || *length % lanes != 0 || !starts_whole(box[0].min, lanes, program.options.bake)) {
    return false;
  }
  std::int64_t stored = (*length + align - 1) / align * align;
  const std::int64_t before = row_padding(program, func, box[0], block, stored);
  return before % lanes == 0 && stored % lanes == 0;
}

}  // namespace mica::planning
