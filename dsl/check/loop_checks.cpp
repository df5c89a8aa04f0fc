// LoopExpander: what a directive on loops may ask for.
#include <fmt/format.h>

#include "dsl/check/tap_text.h"
#include "dsl/check/update_order.h"
#include "dsl/expr/limits.h"
#include "dsl/expr/names.h"
#include "dsl/pipeline/recurrence.h"
#include "dsl/schedule/loop_expander.h"

namespace mica {

namespace {

constexpr int kMaxVectorWidth = 64;

bool is_power_of_two(std::int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Does the directive take loop `var` apart?
bool divides(const Directive& directive, const std::string& var) {
  const auto& op = directive.op;
  if (const auto* split = std::get_if<directive::Split>(&op)) return split->old_var == var;
  if (const auto* fuse = std::get_if<directive::Fuse>(&op)) {
    return fuse->inner == var || fuse->outer == var;
  }
  if (const auto* tile = std::get_if<directive::GpuTile>(&op)) return holds(tile->vars, var);
  if (const auto* vector = std::get_if<directive::Vectorize>(&op)) {
    return vector->var == var && vector->width > 0;
  }
  const auto* unroll = std::get_if<directive::Unroll>(&op);
  return unroll && unroll->var == var && unroll->factor > 0;
}

}  // namespace

bool LoopExpander::is_loop(const std::string& name) {
  if (find(name)) return true;
  if (march_ && std::get<directive::March>(march_->op).var == name) return is_not_marched(name);
  std::vector<std::string> names;
  for (const auto& dim : dims()) names.push_back(dim.name);
  report(fmt::format("there is no loop {} at this point{}; the loops are {} (innermost first)", name,
                     did_you_mean(name, names), loop_list()));
  return false;
}
bool LoopExpander::is_free(const std::string& name, const std::string& replaced) {
  if (name == replaced && !name.empty()) return true;
  if (!name.empty() && used_.count(name) == 0) return true;
  report(name.empty() ? "a loop's name is empty"
                      : fmt::format("the name {} is taken: names in use are {}", name,
                                    joined({used_.begin(), used_.end()})));
  return false;
}
bool LoopExpander::is_factor(int factor, const char* what) {
  if (factor >= 1) return true;
  report(fmt::format("the {} is {}; it must be at least 1", what, factor));
  return false;
}
bool LoopExpander::has_room(const std::string& name, std::int64_t factor) {
  const auto found = scales_.find(name);
  const std::int64_t scale = found == scales_.end() ? 1 : found->second;
  if (factor <= kLargestFactor / scale) return true;
  report(fmt::format("it takes {} apart by {}{}; the product of a dimension's factors is at most {}",
                     name, factor, scale > 1 ? fmt::format(" x {}", scale) : "", kLargestFactor));
  return false;
}
bool LoopExpander::is_width(std::int64_t width) {
  if (is_power_of_two(width) && width <= kMaxVectorWidth) return true;
  report(fmt::format("{} is no vector width; legal are the powers of two 1, 2, 4, ... {}", width,
                     kMaxVectorWidth));
  return false;
}
bool LoopExpander::is_unroll(std::int64_t factor) {
  if (factor >= 1 && factor <= kMostUnrolled) return true;
  report(fmt::format("cannot write out {} iterations; legal are 1 to {}", factor, kMostUnrolled));
  return false;
}
bool LoopExpander::is_unmarked(const std::string& name) {
  const LoopKind kind = dims()[*find(name)].kind;
  if (kind == LoopKind::Serial) return true;
  if (kind == LoopKind::March) return is_not_marched(name);
  report(fmt::format("loop {} is already {}: take it apart before marking it", name, to_string(kind)));
  return false;
}
bool LoopExpander::may_run_as(std::size_t place, LoopKind kind) {
  const bool ordered = kind == LoopKind::Serial || kind == LoopKind::Unrolled;
  if (!dims()[place].is_ordered() || ordered) return true;
  if (dims()[place].recurs) {
    report(fmt::format(
        "loop {} {}, one iteration after the other, so it cannot be {}; legal are serial and "
        "unroll, and any kind of loop over the other dimensions",
        dims()[place].name, recurrence_text(), to_string(kind)));
    return false;
  }
  report(
      fmt::format("loop {} runs over a reduction domain, whose order is part of the result, so it "
                  "cannot be {}{}; legal are serial and unroll",
                  dims()[place].name, to_string(kind), why_ordered(dims()[place].name)));
  return false;
}

std::string LoopExpander::why_ordered(const std::string& loop) const {
  const Definition& definition = f_.definitions.at(static_cast<std::size_t>(definition_));
  const std::vector<std::string> obstacles = order_obstacles(f_, definition);
  for (std::size_t d = 0; d < obstacles.size(); ++d) {
    if (definition.domain->dims[d].name != loop || obstacles[d].empty()) continue;
    std::string why;
    const bool combines = !atomic_values(f_, definition, why).empty();
    return fmt::format(
        ": {} {}{}", loop, obstacles[d],
        combines ? "; with atomic() they may, since no order changes what it combines" : "");
  }
  return "";
}

std::string LoopExpander::recurrence_text() const {
  const Recurrence& recurrence = *recurrence_of(f_);
  std::vector<std::string> from = f_.args;
  from[recurrence.dim] += fmt::format(" {} {}", recurrence.ahead ? "+" : "-", recurrence.reach);
  return fmt::format("carries {} on from {}", call_text(f_), call_text(f_.name, from));
}

bool LoopExpander::may_use_tail(const std::string& name, TailStrategy tail) {
  const bool guarded = tail == TailStrategy::Auto || tail == TailStrategy::GuardWithIf;
  if (guarded) return true;
  if (dims()[*find(name)].recurs) {
    report(fmt::format("TailStrategy::{} would leave the order in which loop {} {}; use GuardWithIf",
                       to_string(tail), name, recurrence_text()));
    return false;
  }
  if (dims()[*find(name)].is_rvar) {
    report(
        fmt::format("TailStrategy::{} on reduction loop {} would add terms that are not in the "
                    "domain; use GuardWithIf",
                    to_string(tail), name));
    return false;
  }
  if (definition_ > 0 && tail == TailStrategy::ShiftInwards) {
    report(
        fmt::format("TailStrategy::ShiftInwards computes some points of {} twice, which an update "
                    "must not; use GuardWithIf or RoundUp",
                    name));
    return false;
  }
  return true;
}

bool LoopExpander::is_not_marched(const std::string& name) {
  report(
      fmt::format("{} belongs to {}{}{}, and the dimension that a block walks is neither tiled, "
                  "split, unrolled nor vectorized: name another one; the loops are {} (innermost "
                  "first)",
                  name, f_.name, to_string(*march_), line_of(march_->where), loop_list()));
  return false;
}

bool LoopExpander::are_chunks(const directive::March& d) {
  const auto halves = [&](std::int64_t n) {
    return n > 0 && d.chunk % n == 0 && is_power_of_two(d.chunk / n);
  };
  if (d.shortest == 0 || (halves(d.shortest) && d.shortest < d.chunk)) return true;
  if (d.chunk == 0) {
    report(
        fmt::format("each block walks all planes of {0}, and so none of its chunks is shorter: "
                    "march({0}, chunk, {1}) takes chunks",
                    d.var, d.shortest));
    return false;
  }
  std::vector<std::string> legal;
  for (int n = d.chunk; n > 1 && n % 2 == 0; n /= 2) legal.push_back(std::to_string(n / 2));
  report(fmt::format("chunks of {} planes do not become chunks of {} by halving; {}", d.chunk,
                     d.shortest,
                     legal.empty() ? "there is no shorter one: let chunk be a power of two"
                                   : "legal are " + joined(legal) + ", and 0: none is shorter"));
  return false;
}

bool LoopExpander::is_marchable(const directive::March& d) {
  if (march_) {
    report(fmt::format("{} marches along {} already{}; it walks one dimension: remove one of the two",
                       f_.name, std::get<directive::March>(march_->op).var, line_of(march_->where)));
    return false;
  }
  if (recurrence_of(f_)) {
    report(
        fmt::format("{} {} point by point, and a march computes planes: remove this; gpu_tile over the "
                    "other dimensions gives each thread a column",
                    f_.name, recurrence_text()));
    return false;
  }
  std::vector<std::string> free;  // dimensions that could be marched
  for (const auto& arg : f_.args) {
    const auto place = find(arg);
    const bool divided =
        std::any_of(directives_.begin(), directives_.begin() + static_cast<std::ptrdiff_t>(current_),
                    [&](const Directive& earlier) { return divides(earlier, arg); });
    if (arg != d.var && place && !divided && dims()[*place].kind == LoopKind::Serial) {
      free.push_back(arg);
    }
  }
  const std::string others =
      free.empty() ? "" : fmt::format("; dimensions left to march are {}", joined(free));
  if (!holds(f_.args, d.var)) {
    for (const auto& definition : f_.definitions) {
      if (!definition.domain) continue;
      for (const auto& dim : definition.domain->dims) {
        if (dim.name != d.var) continue;
        report(
            fmt::format("{} runs over a reduction domain, whose order is part of the result; a "
                        "march walks a dimension of {}: {}",
                        d.var, f_.name, joined(f_.args)));
        return false;
      }
    }
    report(
        fmt::format("{} is no dimension of {}{}; a march walks one of {}, and march(v, chunk) splits "
                    "it among blocks by itself",
                    d.var, f_.name, did_you_mean(d.var, f_.args), joined(f_.args)));
    return false;
  }
  for (std::size_t i = 0; i < current_; ++i) {
    const Directive& earlier = directives_[i];
    if (!divides(earlier, d.var)) continue;
    const bool vector = std::holds_alternative<directive::Vectorize>(earlier.op);
    const bool tiled = std::holds_alternative<directive::GpuTile>(earlier.op);
    report(fmt::format("{} is {} by {}{}{}, and a block walks it plane by plane: {}{}", d.var,
                       vector  ? "vectorized"
                       : tiled ? "tiled"
                               : "taken apart",
                       f_.name, to_string(earlier), line_of(earlier.where),
                       vector ? "vectorize another dimension" : "leave it whole", others));
    return false;
  }
  const LoopKind kind = dims()[*find(d.var)].kind;
  if (kind != LoopKind::Serial) {
    report(
        fmt::format("loop {} is {}, and a block walks its planes one after the other: serial({}) "
                    "would take that back{}",
                    d.var, to_string(kind), d.var, others));
    return false;
  }
  if (d.chunk >= 0) return true;
  report(
      fmt::format("the chunk is {}; it must be at least 1 (planes a block), or be left out for one "
                  "block a column",
                  d.chunk));
  return false;
}

std::vector<std::string> LoopExpander::reduction_order(const std::vector<LoopDim>& loops) {
  std::vector<std::string> names;
  for (const auto& loop : loops) {
    if (loop.is_ordered()) names.push_back(loop.name);
  }
  return names;
}

}  // namespace mica
