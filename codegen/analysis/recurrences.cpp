#include "codegen/analysis/recurrences.h"

#include "codegen/analysis/simplify.h"
#include "dsl/expr/operators.h"
#include "dsl/pipeline/recurrence.h"

namespace mica::analysis {

Expr recurrence_start(const Pipeline& pipeline, const FunctionData& func) {
  const Recurrence& recurrence = *recurrence_of(func);
  if (recurrence.start.defined()) return passes::simplify(recurrence.start);
  internal_check(pipeline.is_output(func.name), "only an output starts where its box does");
  const std::string array = storage_name(func.name, 0, func.types.size());
  const Expr min = min_symbol(array, recurrence.dim);
  if (!recurrence.ahead) return min;
  return passes::simplify(min + extent_symbol(array, recurrence.dim) - 1);
}

Box with_start(const Pipeline& pipeline, const FunctionData& func, const Box& box) {
  const Recurrence* recurrence = recurrence_of(func);
  if (recurrence == nullptr) return box;
  Box result = box;
  const Expr start = recurrence_start(pipeline, func);
  Interval& along = result[recurrence->dim];
  along = unite(along, {start, start});
  return result;
}

Box around_reads(const FunctionData& func, const Definition& update, const Box& box) {
  Box result = box;
  const auto reach = reach_of_coloring(func, update);
  const std::int64_t passes = update.coloring->only >= 0 ? 1 : update.coloring->count;
  for (std::size_t d = 0; d < box.size(); ++d) {
    result[d].min = passes::simplify(box[d].min - make_const(Int(32), passes * reach[d].first));
    result[d].max = passes::simplify(box[d].max + make_const(Int(32), passes * reach[d].second));
  }
  return result;
}

}  // namespace mica::analysis
