// Planes of shared memory that take their own points from the registers of a window.
#include <algorithm>

#include "codegen/analysis/simplify.h"
#include "codegen/passes/emit/nest.h"
#include "codegen/plan/frame/own_order.h"
#include "dsl/expr/operators.h"
#include "dsl/pipeline/march_taps.h"

namespace mica::passes::nest {

using analysis::Box;

bool stores_apart(const Nesting& nesting, const Nested& frame) {
  return schedule_of(nesting.program, frame.func).definitions.at(frame.index).atomic ||
         planning::color_condition(frame.func, frame.index).defined();
}

ir::Stmt at_own_points(const Nesting& nesting, const Nested& frame, std::size_t position,
                       const ir::Stmt& point) {
  return own_points(frame.vars, position, frame.open, !stores_apart(nesting, frame), point);
}

ir::Stmt fill_around(const Nesting& nesting, const Nested& frame, std::size_t position,
                     const MarchStage& stage, const Box& box, const Around& context) {
  const FunctionData& func = *stage.func;
  const planning::Fill& fill = frame.kernel->find(func.name)->fill;
  const FunctionData& window = find(nesting, fill.window);
  const std::vector<std::string>& pattern = fill.column;
  Box tile = box;
  for (std::size_t d = 0; d < box.size(); ++d) {
    if (static_cast<int>(d) != stage.dim) tile[d] = frame.vars.interval(pattern[d], frame.open.fixed);
  }
  bool corners = false;
  for (const auto& reader : nesting.program.pipeline.funcs) {
    for (const auto& definition : reader->definitions) {
      analysis::for_each_access(definition, [&](const Access& access) {
        if (access.name != func.name) return;
        int beside = 0;
        for (std::size_t d = 0; d < access.args.size(); ++d) {
          if (static_cast<int>(d) == stage.dim) continue;
          const auto offset = offset_from(access.args[d], pattern[d]);
          beside += !offset || *offset != 0 ? 1 : 0;
        }
        corners = corners || beside > 1;
      });
    }
  }
  ir::Store store;
  store.buffer = storage_name(func.name, 0, func.types.size());
  Load load;
  load.buffer = storage_name(window.name, 0, window.types.size());
  for (std::size_t d = 0; d < box.size(); ++d) {
    store.index.push_back(static_cast<int>(d) == stage.dim ? box[d].min : frame.vars.value(pattern[d]));
  }
  for (const auto& arg : window.args) {
    const auto d =
        static_cast<std::size_t>(std::find(pattern.begin(), pattern.end(), arg) - pattern.begin());
    load.index.push_back(d < pattern.size() ? store.index[d] : frame.vars.value(arg));
  }
  store.value = make_expr(func.types.front(), std::move(load));
  std::vector<ir::Stmt> stmts = {
      at_own_points(nesting, frame, position, ir::make_stmt(std::move(store)))};
  for (std::size_t d = box.size(); d-- > 0;) {
    if (static_cast<int>(d) == stage.dim) continue;
    Box strip = tile;
    for (std::size_t e = 0; e < d; ++e) strip[e] = corners ? box[e] : tile[e];
    strip[d] = {box[d].min, simplify(tile[d].min - 1)};
    if (*analysis::constant_difference(tile[d].min, box[d].min) > 0) {
      stmts.push_back(
          fill_box(nesting.program, func, 0, strip, LoadPolicy::TwoStep, fill_place(nesting, context)));
    }
    strip[d] = {simplify(tile[d].max + 1), box[d].max};
    if (*analysis::constant_difference(box[d].max, tile[d].max) > 0) {
      stmts.push_back(
          fill_box(nesting.program, func, 0, strip, LoadPolicy::TwoStep, fill_place(nesting, context)));
    }
  }
  return ir::make_block(std::move(stmts));
}

}  // namespace mica::passes::nest
