#include "codegen/plan/filling.h"

#include <algorithm>
#include <numeric>

#include "codegen/analysis/simplify.h"
#include "dsl/expr/names.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::planning {

using analysis::Box;
using passes::constant;
using passes::simplify;

namespace {

constexpr int kCopyBytes = 16;    // the widest access of a thread
constexpr int kSectorBytes = 32;  // what the L2 hands over at a time

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
    return var && term.second == 1 && var->field == BufferField::Min;
  });
}

}  // namespace

bool is_own_point(const Access& read, const FunctionData& reader) {
  return std::ranges::equal(read.args, reader.args, [](const Expr& arg, const std::string& name) {
    const auto* var = arg.as<VarRef>();
    return var != nullptr && var->name == name;
  });
}

const Access* own_point_read(const FunctionData& func) {
  if (func.definitions.size() != 1 || func.types.size() != 1) return nullptr;
  const auto* access = func.definitions.front().values.front().as<Access>();
  return access != nullptr && is_own_point(*access, func) ? access : nullptr;
}

const FunctionData* window_beside(const Program& program, const FunctionData& staged) {
  const Pipeline& pipeline = program.pipeline;
  const auto copy = pipeline.staged.find(staged.name);
  if (copy == pipeline.staged.end()) return nullptr;
  for (const auto& [window, of] : pipeline.windows) {
    if (of.source == copy->second.source && of.reader == copy->second.reader)
      return pipeline.find(window);
  }
  return nullptr;
}

std::vector<std::string> column_of(const FunctionData& window) {
  std::vector<std::string> column;
  const auto* access = window.definitions.front().values.front().as<Access>();
  if (access == nullptr) return column;
  for (const Expr& arg : access->args) {
    const auto* var = arg.as<VarRef>();
    internal_check(var != nullptr, "a window reads its source at the point's own column");
    column.push_back(var->name);
  }
  return column;
}

const Access* copied_tap(const Program& program, const FunctionData& func) {
  const Access* access = own_point_read(func);
  const bool array = access != nullptr && (program.pipeline.find_input(access->name) != nullptr ||
                                           program.is_root(access->name));
  return array ? access : nullptr;
}

bool is_filled_apart(const Program& program, const FunctionData& func) {
  const auto load = program.placement.at(func.name).load;
  if (!load || *load == LoadPolicy::HaloThreads || *load == LoadPolicy::Strided) return false;
  bool arrays = true;
  for (const auto& definition : func.definitions) {
    analysis::for_each_access(definition, [&](const Access& access) {
      const bool array =
          program.pipeline.find_input(access.name) != nullptr || program.is_root(access.name);
      arrays = arrays && array;
    });
  }
  return arrays;
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
  const Access* copied = copied_tap(program, func);
  if (copied == nullptr) return false;
  const FunctionData* callee = program.pipeline.find(copied->name);
  const std::string array = callee != nullptr
                                ? storage_name(copied->name, copied->value_index, callee->types.size())
                                : copied->name;
  const int lanes = static_cast<int>(kBulkBytes) / func.types.front().bytes();
  if (unit_of_baked_strides(program.options, array, box.size(), lanes) < lanes) return false;
  const std::int64_t align = storage_alignment(program, func, 0, 1);
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
