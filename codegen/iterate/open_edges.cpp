#include "codegen/iterate/open_edges.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "codegen/analysis/bounds.h"
#include "codegen/iterate/bent_reads.h"
#include "codegen/iterate/iteration_state.h"
#include "codegen/passes/funcs/repeated_work.h"
#include "dsl/expr/deep_stack.h"
#include "dsl/expr/match.h"
#include "dsl/expr/names.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/rounding.h"
#include "dsl/expr/traverse.h"
#include "dsl/func/bent_index.h"
#include "dsl/func/image_param.h"
#include "dsl/pipeline/call_inliner.h"
#include "dsl/pipeline/func_graph.h"
#include "dsl/pipeline/march_taps.h"
#include "dsl/schedule/compute_place.h"
#include "runtime/run/evaluate.h"

namespace mica::iterate {
namespace {

constexpr std::int64_t kFarthest = 8;
constexpr std::size_t kMostReads = 4096;

/// What is read instead of x + c at the point that is `from_edge` points away from the range's end on
/// the side of c, relative to x.
std::int64_t offset_at_edge(Bend how, std::int64_t c, std::int64_t from_edge) {
  const std::int64_t away = std::abs(c);
  const std::int64_t inward = how == Bend::Clamp    ? -from_edge
                              : how == Bend::Mirror ? away - 1 - 2 * from_edge
                                                    : away - 2 * from_edge;
  return c < 0 ? inward : -inward;
}

class Opener {
 public:
  explicit Opener(const Func& step) : step_(*step.function()) {
    for (const auto& func : collect_graph({step.function()}).funcs) look_at(*func);
  }

  std::optional<OpenedStep> run() {
    if (bending_.empty() || !opens_) return std::nullopt;
    return made_with_stack_for(depth_, [&] { return opened_step(); });
  }

 private:
  std::optional<OpenedStep> opened_step() {
    OpenedStep opened;
    for (const Expr& value : fixed(step_).definitions.front().values) {
      const Expr changed = rewritten(value);
      const bool stays = equal(fix_rounding(changed, step_.args.back()), changed);
      opened.values.push_back(stays ? changed : strict(changed));
    }
    if (!opens_ || edges_.empty()) return std::nullopt;
    std::stable_sort(edges_.begin(), edges_.end(),
                     [](const OpenedEdge& a, const OpenedEdge& b) { return a.dimension < b.dimension; });
    opened.edges = std::move(edges_);
    return opened;
  }

  /// Funcs come producers first.
  void look_at(const FunctionData& func) {
    bool bends = false, prints = false;
    for (const Definition& definition : func.definitions) {
      analysis::for_each_access(definition, [&](const Access& access) {
        bends = bends || bending_.count(access.function.get()) > 0 || is_bent(access);
      });
      visit_nodes(definition.values,
                  [&](const Expr& e) { prints = prints || e.as<Print>() != nullptr; });
      depth_ += 2 * depth_of(definition.values);
    }
    const bool is_inline = func.definitions.size() == 1 && !func.definitions.front().recurrence &&
                           compute_place(func, false).kind == ComputePlace::Kind::Inline;
    if (is_inline && !prints && passes::only_moves(func)) moving_.insert(&func);
    if (!bends) return;
    bending_.insert(&func);
    opens_ = opens_ && !prints && (&func == &step_ || is_inline);
  }

  /// A read of an input, or of what only moves it, as another boundary condition does.
  [[nodiscard]] bool is_bent(const Access& access) const {
    if (access.image == nullptr && moving_.count(access.function.get()) == 0) return false;
    return std::ranges::any_of(access.args,
                               [](const Expr& index) { return bent_of(index).has_value(); });
  }

  /// `func` with the order of sums that follows from reads as it has them.
  const FunctionData& fixed(const FunctionData& func) {
    const auto [found, is_new] = fixed_.try_emplace(&func, func);
    for (Expr& value : found->second.definitions.front().values) {
      if (is_new) value = fix_rounding(value, func.args.back());
    }
    return found->second;
  }

  Expr rewritten(const Expr& e) {
    return memo_(e, [&] {
      if (const auto* select = e.as<Select>()) {
        const auto* read = select->if_true.as<Access>();
        if (read != nullptr && read->image != nullptr) return read_inside(*select, *read);
      }
      Expr changed = map_children(e, [&](const Expr& child) { return rewritten(child); });
      const auto* access = changed.as<Access>();
      if (access == nullptr || !opens_) return changed;
      const bool is_inside =
          bending_.count(access->function.get()) > 0 || (access->image == nullptr && is_bent(*access));
      if (is_inside && !access->is_self) {
        if (++inlined_ > kMostReads) opens_ = false;
        return rewritten(inlined(fixed(*access->function), *access));
      }
      return access->image != nullptr ? opened(changed, *access) : changed;
    });
  }

  /// As constant_exterior has it: inside of the range, what is bent is the coordinate itself.
  Expr read_inside(const Select& select, const Access& read) {
    inside_ = terms_of(select.condition);
    Expr inside = opened(select.if_true, read);
    inside_.clear();
    return make_expr(inside.type(),
                     Select{rewritten(select.condition), inside, rewritten(select.if_false)});
  }
  static std::vector<Expr> terms_of(const Expr& condition) {
    std::vector<Expr> terms{condition};
    for (std::size_t i = 0; i < terms.size();) {
      const Expr term = terms[i];
      if (const Binary* both = as_binary(term, BinaryOp::And)) {
        terms[i] = both->a;
        terms.push_back(both->b);
      } else {
        ++i;
      }
    }
    return terms;
  }
  /// Is the coordinate known to lie in the range?
  [[nodiscard]] bool is_inside(const Bent& bent) const {
    const auto holds = [&](const Expr& term) {
      return std::any_of(inside_.begin(), inside_.end(),
                         [&](const Expr& known) { return equal(known, term); });
    };
    return holds(bent.coordinate >= bent.min) && holds(bent.coordinate <= bent.max);
  }

  /// A read of an input in the step's own Vars.
  Expr opened(const Expr& read, const Access& access) {
    std::vector<std::optional<Bent>> bends;
    for (std::size_t d = 0; d < access.args.size(); ++d) bends.push_back(bent_of(access.args[d]));
    if (std::none_of(bends.begin(), bends.end(), [](const auto& b) { return b.has_value(); }))
      return read;
    return at_edges(access, bends, access.args.size(), access.args);
  }

  /// The read at `args`, of which those of the first `dims` dimensions are still to be opened. The last
  /// is chosen by first: a sum can then be cut along it.
  Expr at_edges(const Access& access, const std::vector<std::optional<Bent>>& bends, std::size_t dims,
                std::vector<Expr> args) {
    if (!opens_) return given_up(access);
    if (dims == 0) {
      if (++reads_ > kMostReads) opens_ = false;
      Access plain = access;
      plain.args = std::move(args);
      return make_expr(access.image->type, std::move(plain));
    }
    const std::size_t d = dims - 1;
    if (!bends[d]) return at_edges(access, bends, d, std::move(args));
    const Bent& bent = *bends[d];
    const auto along = std::find_if(step_.args.begin(), step_.args.end(), [&](const std::string& arg) {
      return offset_from(bent.coordinate, arg).has_value();
    });
    if (along == step_.args.end()) return given_up(access);
    const std::int64_t c = *offset_from(bent.coordinate, *along);
    if (std::abs(c) > kFarthest) return given_up(access);
    const Expr x = make_var(*along);
    const auto at = [&](std::int64_t offset) {
      args[d] = offset == 0 ? x : x + static_cast<std::int32_t>(offset);
      return at_edges(access, bends, d, args);
    };
    const std::int64_t away = std::abs(c);
    note_edge(static_cast<std::size_t>(along - step_.args.begin()), bent, away);
    if (away == 0) return at(0);
    if (is_inside(bent)) return at(c);
    Expr value = at(offset_at_edge(bent.how, c, 0));
    for (std::int64_t from_edge = 1; from_edge <= away; ++from_edge) {
      const auto points = static_cast<std::int32_t>(from_edge);
      const Expr further = c < 0 ? x >= bent.min + points : x <= bent.max - points;
      const std::int64_t offset = from_edge < away ? offset_at_edge(bent.how, c, from_edge) : c;
      value = select(further, at(offset), value);
    }
    return value;
  }

  Expr given_up(const Access& access) {
    opens_ = false;
    return make_const(access.image->type, std::int64_t{0});
  }

  void note_edge(std::size_t dimension, const Bent& bent, std::int64_t away) {
    const std::int64_t least = bent.how == Bend::Clamp ? 1 : bent.how == Bend::Mirror ? away : away + 1;
    for (OpenedEdge& edge : edges_) {
      if (edge.dimension != dimension || !equal(edge.min, bent.min) || !equal(edge.max, bent.max))
        continue;
      edge.least = std::max(edge.least, least);
      return;
    }
    edges_.push_back({dimension, bent.min, bent.max, least});
  }

  const FunctionData& step_;
  std::set<const FunctionData*>
      bending_;  ///< with reads that are bent, in them or in what is inline there
  std::set<const FunctionData*> moving_;  ///< inline, and computing nothing
  bool opens_ = true;
  std::vector<Expr> inside_;  ///< what is known of the read at hand
  std::size_t reads_ = 0, inlined_ = 0;
  decltype(depth_of({})) depth_ = 0;  ///< at most, of what comes out
  std::vector<OpenedEdge> edges_;
  std::map<const FunctionData*, FunctionData> fixed_;
  RewriteMemo memo_;
};

}  // namespace

std::optional<OpenedStep> open_edges(const Func& step) { return Opener(step).run(); }

std::string why_beyond(const std::vector<OpenedEdge>& edges, const Ranges& box,
                       const std::vector<RunInput>& inputs, const std::vector<RunParam>& params) {
  NodeRewriter known([&](const Expr& e) -> Expr {
    const auto* field = e.as<ImageField>();
    for (const RunInput& input : inputs) {
      if (field == nullptr || input.image != field->image) continue;
      const BufferDim& dim = input.buffer.dim(field->dimension);
      return make_const(e.type(), field->field == BufferField::Min ? dim.min : dim.extent);
    }
    const auto* param = e.as<ParamRef>();
    for (const RunParam& given : params) {
      if (param == nullptr || given.param != param->param) continue;
      return make_const(e.type(), unpack_value(given.bits, e.type()).i);
    }
    return {};
  });
  for (const OpenedEdge& edge : edges) {
    const std::int64_t first = evaluate_int(known(edge.min)), last = evaluate_int(known(edge.max));
    const auto& [min, extent] = box[edge.dimension];
    if (first <= min && min + extent - 1 <= last && last - first + 1 >= edge.least) continue;
    return fmt::format(
        "boundary conditions keep to {} ... {} of dimension {}, and the step computes {} ... {}: it is "
        "tiled within what they keep to, which must be {} or longer",
        first, last, edge.dimension, min, min + extent - 1,
        counted(static_cast<std::size_t>(edge.least), "point"));
  }
  return {};
}

}  // namespace mica::iterate
