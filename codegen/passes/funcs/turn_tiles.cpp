#include "codegen/passes/funcs/turn_tiles.h"

#include <algorithm>
#include <optional>

#include "codegen/analysis/equal_nodes.h"
#include "codegen/ir/kernel.h"
#include "codegen/passes/funcs/read_schedule.h"
#include "codegen/plan/frame/common_frame.h"
#include "codegen/plan/placed_funcs.h"
#include "dsl/check/check_schedule.h"
#include "dsl/expr/node_visit.h"
#include "dsl/schedule/loop_dims.h"

namespace mica::passes {
namespace {

/// The directive of type D that a tile at `tile` takes up for its loop `var`; null if there is none.
template <typename D>
D* taken_up(Definition& definition, std::size_t tile, const std::string& var) {
  for (std::size_t i = tile + 1; i < definition.directives.size(); ++i) {
    auto* found = std::get_if<D>(&definition.directives[i].op);
    if (found && found->var == var) return found;
  }
  return nullptr;
}

template <typename D>
bool has(const Definition& definition) {
  return std::any_of(definition.directives.begin(), definition.directives.end(),
                     [](const Directive& d) { return std::holds_alternative<D>(d.op); });
}

/// Has a point more taps, in registers of a thread, than a thread has?
bool reads_more_than_it_holds(const Definition& definition) {
  analysis::EqualNodes equal_nodes;
  int registers = 0;
  visit_nodes(equal_nodes.whole(definition.values), [&](const Expr& e) {
    if (e.as<Access>() != nullptr) registers += ir::registers_of(e.type());
  });
  return registers > ir::kMostRegisters;
}

/// Is another Func computed for the blocks of `func`, or in them?
bool keeps_others(const Program& program, const std::string& func) {
  return std::ranges::any_of(program.placement, [&](const auto& entry) {
    return planning::place_in(program, func, entry.first) != nullptr;
  });
}

/// Is another Func computed, or stored, in a thread of `tile`?
bool holds_others(const Program& program, const std::string& func, const directive::GpuTile& tile) {
  const auto names = [&](const LoopLevel& level) {
    return level.func == func &&
           std::any_of(tile.vars.begin(), tile.vars.end(), [&](const std::string& var) {
             return level.var == var + ".thread" || level.var == var + ".vec" ||
                    level.var == var + ".unroll";
           });
  };
  return std::any_of(program.placement.begin(), program.placement.end(), [&](const auto& entry) {
    const Placement& place = entry.second;
    return place.level == Placement::Level::At &&
           (names(place.compute) || (place.store && names(*place.store)));
  });
}

/// The place in the tile of the dimension that gives its threads to `row`, in exchange for `width`
/// points each; none if there is no such dimension.
std::optional<std::size_t> giver(const directive::GpuTile& tile, std::size_t row, int width) {
  for (std::size_t i = 0; i < tile.vars.size(); ++i) {
    if (i != row && tile.sizes[i] % width == 0) return i;
  }
  return std::nullopt;
}

/// Gives each thread of a tile more rows of its vectors of two-byte elements: instructions, not memory,
/// are what such rows wait for, and rows share what lies between them. Nothing, and false, for vectors
/// that are a thread's elements already, and where the schedule says how many rows a thread has.
bool add_rows(Definition& definition, std::size_t at, std::vector<Directive>::iterator vectors) {
  constexpr int kElementsOfThread = 24;
  const auto& tile = std::get<directive::GpuTile>(definition.directives[at].op);
  const auto& vector = std::get<directive::Vectorize>(vectors->op);
  const auto other = std::ranges::find_if(tile.vars, [&](const auto& var) { return var != vector.var; });
  const int rows = kElementsOfThread / vector.width;
  if (rows <= 1 || other == tile.vars.end()) return false;
  if (taken_up<directive::Unroll>(definition, at, *other) != nullptr) return false;
  Directive unroll = *vectors;
  unroll.op = directive::Unroll{*other, rows, {}};
  definition.directives.insert(vectors + 1, unroll);
  return true;
}

void turn(const Program& program, const FunctionData& func, Definition& definition, std::size_t at) {
  const std::string& row = func.args.front();
  const auto& tile = std::get<directive::GpuTile>(definition.directives[at].op);
  const auto place = std::find(tile.vars.begin(), tile.vars.end(), row);
  if (place == tile.vars.end() || holds_others(program, func.name, tile)) return;
  const auto* vector = taken_up<directive::Vectorize>(definition, at, row);
  if (vector == nullptr || vector->width <= 1 || vector->tail != TailStrategy::Auto) return;
  const int together = std::max(ir::kRegisterBytes / func.types.front().bytes(), 1);
  const int width = vector->width / together;
  if (width <= 1) return;
  const auto vectors = std::find_if(
      definition.directives.begin(), definition.directives.end(),
      [&](const Directive& d) { return std::get_if<directive::Vectorize>(&d.op) == vector; });
  const auto narrow = [&] {
    if (together > 1) std::get<directive::Vectorize>(vectors->op).width = together;
    return together > 1 ? vectors + 1 : definition.directives.erase(vectors);
  };
  const bool alone = !keeps_others(program, func.name);
  if (alone && reads_more_than_it_holds(definition)) {
    narrow();
    return;
  }
  const bool halves = alone && func.types.front().bytes() == 2 && !has<directive::March>(definition);
  if (halves && add_rows(definition, at, vectors)) return;
  const auto from = static_cast<std::size_t>(place - tile.vars.begin());
  const auto to = giver(tile, from, width);
  if (!to) return;
  const std::string other = tile.vars[*to];
  auto* rows = taken_up<directive::Unroll>(definition, at, other);
  if (rows != nullptr &&
      (rows->tail != TailStrategy::Auto || rows->factor == 0 || rows->factor * width > kMostUnrolled)) {
    return;
  }
  if (rows != nullptr) rows->factor *= width;
  auto& turned = std::get<directive::GpuTile>(definition.directives[at].op);
  turned.sizes[from] *= width;
  turned.sizes[*to] /= width;
  Directive unroll = *vectors;
  unroll.op = directive::Unroll{other, width, {}};
  const auto behind = narrow();
  if (rows == nullptr) definition.directives.insert(behind, unroll);
}

}  // namespace

void turn_tiles(Program& program) {
  if (program.options.variant.aligned || !program.options.target.is_gpu()) return;
  for (auto& func : program.pipeline.funcs) {
    // A common frame's rows are those of warps.
    if (!program.is_root(func->name) || planning::common_frame(program, *func, march_of(*func)))
      continue;
    auto copy = std::make_shared<FunctionData>(*func);
    for (std::size_t d = 0; d < copy->definitions.size(); ++d) {
      Definition& definition = copy->definitions[d];
      // Loops that are split or joined beforehand have other names than their dimensions.
      const bool renamed = has<directive::Split>(definition) || has<directive::Fuse>(definition);
      if (renamed || has<directive::WarpSplit>(definition)) continue;
      const auto tile = std::ranges::find_if(definition.directives, [](const Directive& directive) {
        return std::holds_alternative<directive::GpuTile>(directive.op);
      });
      if (tile == definition.directives.end()) continue;
      const std::vector<Directive> as_written = definition.directives;
      turn(program, *copy, definition, static_cast<std::size_t>(tile - definition.directives.begin()));
      if (!check_loops(*copy, d).empty()) definition.directives = as_written;
    }
    func = copy;
  }
}

}  // namespace mica::passes
