// Updates that read their own Func at neighbours: colors, and why some cannot be.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "dsl/check/self_reads.h"
#include "dsl/check/tap_text.h"
#include "dsl/expr/constant_math.h"
#include "dsl/expr/names.h"
#include "dsl/func/func.h"
#include "dsl/pipeline/march_taps.h"
#include "dsl/pipeline/recurrence.h"

namespace mica {

namespace {

constexpr std::int64_t kMostColors = 64;
constexpr std::int64_t kLargestColorFactor = 1024;

/// The factor of each of `vars` in a sum of constants times them; none for any other expression.
std::optional<std::vector<std::int64_t>> factors_in(const Expr& e,
                                                    const std::vector<std::string>& vars) {
  std::vector<std::int64_t> factors(vars.size(), 0);
  if (as_int(e)) return factors;
  if (const auto* ref = e.as<VarRef>()) {
    const auto at = std::find(vars.begin(), vars.end(), ref->name);
    if (at == vars.end()) return std::nullopt;
    factors[static_cast<std::size_t>(at - vars.begin())] = 1;
    return factors;
  }
  const auto* op = e.as<Binary>();
  if (op == nullptr) return std::nullopt;
  const auto combine = [&](const Expr& a, std::int64_t times, const Expr& b,
                           std::int64_t again) -> std::optional<std::vector<std::int64_t>> {
    const auto left = factors_in(a, vars), right = factors_in(b, vars);
    if (!left || !right) return std::nullopt;
    for (std::size_t d = 0; d < vars.size(); ++d) {
      factors[d] = times * (*left)[d] + again * (*right)[d];
      if (std::abs(factors[d]) > kLargestColorFactor) return std::nullopt;
    }
    return factors;
  };
  const std::int64_t* left = as_int(op->a);
  const std::int64_t* right = as_int(op->b);
  const auto small = [](const std::int64_t* k) { return k && std::abs(*k) <= kLargestColorFactor; };
  switch (op->op) {
    case BinaryOp::Add: return combine(op->a, 1, op->b, 1);
    case BinaryOp::Sub: return combine(op->a, 1, op->b, -1);
    case BinaryOp::Mul:
      if (small(right)) return combine(op->a, *right, op->b, 0);
      if (small(left)) return combine(op->a, 0, op->b, *left);
      return std::nullopt;
    default: return std::nullopt;
  }
}

/// How far an update's read of its own Func is from the point along each dimension; none where an index
/// is no Var plus a constant.
std::optional<std::vector<std::int64_t>> offsets_of(const FunctionData& f, const Access& tap) {
  std::vector<std::int64_t> offsets;
  for (std::size_t d = 0; d < f.args.size(); ++d) {
    const auto offset = offset_from(tap.args[d], f.args[d]);
    if (!offset) return std::nullopt;
    offsets.push_back(*offset);
  }
  return offsets;
}

/// Points along an update's Vars are independent where nothing says in which order they are computed.
void check_independent(const FunctionData& f, const Definition& update) {
  for_each_own_read(update, [&](const Access& access) {
    for (std::size_t i = 0; i < f.args.size(); ++i) {
      const auto& vars = update.pure_vars;
      if (std::find(vars.begin(), vars.end(), f.args[i]) == vars.end()) continue;
      const auto* var = access.args[i].as<VarRef>();
      if (var && var->name == f.args[i]) continue;
      throw UserError(
          fmt::format("an update of {} reads {} at {} = {}, but its left-hand side has {} there: points "
                      "of a Var are independent; use an RDom for a recurrence, or color(...) for an "
                      "order such as red-black",
                      f.name, f.name, f.args[i], brief(access.args[i]), f.args[i]),
          access.where.known() ? access.where : update.where);
    }
  });
}

void check_colors(const FunctionData& f, const Definition& update) {
  const Coloring& coloring = *update.coloring;
  const std::vector<std::int64_t> factors = color_factors(f, coloring);
  const std::string color = fmt::format("color(({}) % {})", brief(coloring.value), coloring.count);
  for_each_own_read(update, [&](const Access& access) {
    const auto offsets = offsets_of(f, access);
    if (!offsets) {
      throw UserError(fmt::format("{}: an update of {} with colors reads {}, which is not at constant "
                                  "distances from the point: nothing tells its color; write Vars plus "
                                  "constants",
                                  color, f.name, tap_text(access)),
                      access.where);
    }
    std::int64_t shift = 0;
    bool own = true;
    for (std::size_t d = 0; d < factors.size(); ++d) {
      shift += factors[d] * (*offsets)[d];
      own = own && (*offsets)[d] == 0;
    }
    if (own || floor_mod(shift, coloring.count) != 0) return;
    throw UserError(
        fmt::format("{}: the update of {} reads {}, which has the color of the point that it computes "
                    "({} further, {} colors), and points of one color are computed at the same time: "
                    "choose a color in which they differ",
                    color, f.name, tap_text(access), shift, coloring.count),
        coloring.where);
  });
}

void check_updates_around(const FunctionData& f) {
  for (std::size_t i = 1; i < f.definitions.size(); ++i) {
    if (f.definitions[i].pure_vars.size() == f.args.size() && !f.definitions[i].domain) continue;
    for (const Definition& colored : f.definitions) {
      if (!colored.coloring) continue;
      throw UserError(
          fmt::format("color: {}.update({}) is not over all of {}, and a Func with colors has "
                      "no other updates: put the one or the other into a Func of its own",
                      f.name, i - 1, joined(f.args)),
          colored.coloring->where);
    }
  }
}

}  // namespace

void check_self_reads(const FunctionData& f, bool is_output) {
  const Recurrence* recurrence = recurrence_of(f);
  if (recurrence != nullptr && !recurrence->start.defined() && !is_output) {
    const std::string& var = f.args[recurrence->dim];
    throw UserError(
        fmt::format(
            "{} reads itself along {} and nothing says where it starts, which only an output may "
            "leave to the box that is realized: write select({} == {}, first value, value) "
            "around its reads of itself",
            f.name, var, var, recurrence->ahead ? "last" : "0"),
        f.definitions.front().where);
  }
  for (std::size_t i = 1; i < f.definitions.size(); ++i) {
    if (f.definitions[i].coloring) {
      check_colors(f, f.definitions[i]);
    } else {
      check_independent(f, f.definitions[i]);
    }
  }
  check_updates_around(f);
}

std::vector<std::pair<std::int64_t, std::int64_t>> reach_of_coloring(const FunctionData& f,
                                                                     const Definition& update) {
  std::vector<std::pair<std::int64_t, std::int64_t>> reach(f.args.size(), {0, 0});
  for_each_own_read(update, [&](const Access& access) {
    const auto offsets = offsets_of(f, access);
    internal_check(offsets.has_value(), "an update with colors reads at constant distances");
    for (std::size_t d = 0; d < reach.size(); ++d) {
      reach[d].first = std::max(reach[d].first, -(*offsets)[d]);
      reach[d].second = std::max(reach[d].second, (*offsets)[d]);
    }
  });
  return reach;
}

std::vector<std::int64_t> color_factors(const FunctionData& f, const Coloring& coloring) {
  const auto factors = factors_in(coloring.value, f.args);
  internal_check(factors.has_value(), "a color is a sum of Vars");
  return *factors;
}

Coloring coloring_of(const FunctionData& f, int definition, const Expr& color,
                     const SourceLocation& where) {
  const Definition& update = f.definitions.at(static_cast<std::size_t>(definition));
  const auto refuse = [&](const std::string& what) {
    throw UserError(fmt::format("{}{}.color({}): {}", f.name,
                                definition > 0 ? fmt::format(".update({})", definition - 1) : "",
                                color.defined() ? brief(color) : "undefined", what),
                    where);
  };
  if (definition == 0) {
    refuse(fmt::format("only an update has colors: write {}.update().color(...)", f.name));
  }
  if (update.domain || update.pure_vars.size() != f.args.size()) {
    refuse(
        fmt::format("the update is not over all of {}: write it with these Vars on its left-hand side "
                    "and no RDom",
                    joined(f.args)));
  }
  const auto* op = color.as<Binary>();
  const std::int64_t* count = op != nullptr && op->op == BinaryOp::Mod ? as_int(op->b) : nullptr;
  if (count == nullptr || color.type() != Int(32) || !factors_in(op->a, f.args)) {
    refuse(fmt::format("a color is a sum of constants times {}, modulo a constant, such as ({}) % 2",
                       joined(f.args), fmt::join(f.args, " + ")));
  }
  if (*count < 2 || *count > kMostColors) {
    refuse(fmt::format("{} colors; legal are 2 to {}", *count, kMostColors));
  }
  return {op->a, static_cast<int>(*count), where};
}

void OneDefinition::set_color(const Expr& color, const SourceLocation& at) {
  const auto index = static_cast<std::size_t>(definition_);
  if (!function_->defined()) {
    throw UserError(
        fmt::format("{}.color(...): {} is not defined yet", function_->name, function_->name), at);
  }
  function_->definitions.at(index).coloring = coloring_of(*function_, definition_, color, at);
}

}  // namespace mica
