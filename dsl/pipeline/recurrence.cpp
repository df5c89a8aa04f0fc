#include "dsl/pipeline/recurrence.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "dsl/check/self_reads.h"
#include "dsl/check/tap_text.h"
#include "dsl/expr/names.h"
#include "dsl/expr/node_map.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"
#include "dsl/pipeline/march_taps.h"

namespace mica {

namespace {

constexpr const char* kRule =
    "a Func reads itself a constant number of points behind, or ahead, along one dimension, and at the "
    "point's own coordinates in all others";

[[noreturn]] void refuse(const FunctionData& f, const Access& tap, const std::string& what,
                         const std::string& advice) {
  throw UserError(fmt::format("{} reads {}, {}; {}: {}", f.name, tap_text(tap), what, kRule, advice),
                  tap.where);
}

/// One read of the Func itself: along which dimension, and how far (behind: negative).
struct Step {
  std::size_t dim = 0;
  std::int64_t distance = 0;
  const Access* tap = nullptr;
};

Step step_of(const FunctionData& f, const std::vector<std::string>& args, const Access& tap) {
  Step step{0, 0, &tap};
  for (std::size_t d = 0; d < args.size(); ++d) {
    const std::optional<std::int64_t> offset = offset_from(tap.args[d], args[d]);
    if (!offset) {
      refuse(f, tap,
             fmt::format("where {} is no constant distance from {}", brief(tap.args[d]), args[d]),
             "write the offset as a constant, or use an update over an RDom");
    }
    if (*offset == 0) continue;
    if (step.distance != 0) {
      refuse(f, tap,
             fmt::format("which is away from the point along {} and along {}", args[step.dim], args[d]),
             "read it along one of the two, or use an update over an RDom");
    }
    step.dim = d;
    step.distance = *offset;
  }
  if (step.distance == 0) {
    refuse(f, tap, "the very point that is computed", "read a point behind, or define it by an update");
  }
  return step;
}

std::vector<Step> steps_of(const FunctionData& f, const std::vector<std::string>& args,
                           const std::vector<Expr>& values) {
  std::vector<Step> steps;
  for_each_own_read(values, [&](const Access& access) { steps.push_back(step_of(f, args, access)); });
  return steps;
}

/// The nodes of `values` that read the Func itself, or have such a node below them.
NodeSet nodes_that_read_itself(const std::vector<Expr>& values) {
  NodeSet nodes;
  NodeRewriter from_below([&](const Expr& e) -> Expr {
    const auto* access = e.as<Access>();
    bool reads = access != nullptr && access->is_self;
    for_each_child(e, [&](const Expr& child) { reads = reads || nodes.count(child.ptr().get()) > 0; });
    if (reads) nodes.insert(e.ptr().get());
    return {};
  });
  for (const Expr& value : values) from_below(value);
  return nodes;
}

/// Where selects around the reads say that a recurrence along `var` starts.
class StartFinder {
 public:
  StartFinder(const std::vector<std::string>& vars, const std::string& var, bool ahead)
      : vars_(vars), var_(var), ahead_(ahead) {}

  Expr run(const std::vector<Expr>& values) {
    const auto reading = nodes_that_read_itself(values);
    const auto reads = [&](const Expr& e) { return reading.count(e.ptr().get()) > 0; };
    visit_nodes(values, [&](const Expr& e) {
      const auto* choice = e.as<Select>();
      if (choice == nullptr) return;
      const bool if_true = reads(choice->if_true), if_false = reads(choice->if_false);
      if (if_true != if_false) add_condition(choice->condition, if_true);
    });
    return start_;
  }

 private:
  /// The reads stand where `condition` is `holds`.
  void add_condition(const Expr& condition, bool holds) {
    if (const auto* op = condition.as<Unary>(); op != nullptr && op->op == UnaryOp::Not) {
      add_condition(op->a, !holds);
    } else if (const auto* both = condition.as<Binary>()) {
      if (both->op != (holds ? BinaryOp::And : BinaryOp::Or)) return;
      add_condition(both->a, holds);
      add_condition(both->b, holds);
    } else if (const auto* compare = condition.as<Compare>()) {
      add_compare(*compare, holds);
    }
  }

  void add_compare(const Compare& compare, bool holds) {
    const auto is_var = [&](const Expr& e) {
      const auto* ref = e.as<VarRef>();
      return ref != nullptr && ref->name == var_;
    };
    if (is_var(compare.a)) {
      add_bound(compare.op, compare.b, holds);
    } else if (is_var(compare.b)) {
      add_bound(mirrored(compare.op), compare.a, holds);
    }
  }

  static CompareOp mirrored(CompareOp op) {
    switch (op) {
      case CompareOp::Lt: return CompareOp::Gt;
      case CompareOp::Le: return CompareOp::Ge;
      case CompareOp::Gt: return CompareOp::Lt;
      case CompareOp::Ge: return CompareOp::Le;
      default: return op;
    }
  }
  static CompareOp negated(CompareOp op) {
    switch (op) {
      case CompareOp::Eq: return CompareOp::Ne;
      case CompareOp::Ne: return CompareOp::Eq;
      case CompareOp::Lt: return CompareOp::Ge;
      case CompareOp::Le: return CompareOp::Gt;
      case CompareOp::Gt: return CompareOp::Le;
      case CompareOp::Ge: return CompareOp::Lt;
    }
    return op;
  }

  /// The reads stand where `var op limit` is `holds`: the start is the last point on the way at which
  /// they do not.
  void add_bound(CompareOp op, const Expr& limit, bool holds) {
    if (limit.type() != Int(32) || !is_fixed(limit)) return;
    if (!holds) op = negated(op);
    if (op == CompareOp::Ne) {
      add(limit);
    } else if (op == (ahead_ ? CompareOp::Lt : CompareOp::Gt)) {
      add(limit);
    } else if (op == (ahead_ ? CompareOp::Le : CompareOp::Ge)) {
      add(ahead_ ? limit + 1 : limit - 1);
    }
  }

  /// Is `limit` the same at every point?
  [[nodiscard]] bool is_fixed(const Expr& limit) const {
    bool fixed = true;
    visit_nodes({limit}, [&](const Expr& e) {
      const auto* ref = e.as<VarRef>();
      const bool varies = ref && std::find(vars_.begin(), vars_.end(), ref->name) != vars_.end();
      fixed = fixed && !varies && e.as<Access>() == nullptr && e.as<RVarRef>() == nullptr;
    });
    return fixed;
  }

  void add(const Expr& point) {
    if (start_.defined() && equal(start_, point)) return;
    start_ = !start_.defined() ? point : ahead_ ? max(start_, point) : min(start_, point);
  }

  const std::vector<std::string>& vars_;
  const std::string& var_;
  bool ahead_;
  Expr start_;
};

}  // namespace

std::optional<Recurrence> find_recurrence(const FunctionData& f, const std::vector<std::string>& args,
                                          const std::vector<Expr>& values) {
  const std::vector<Step> steps = steps_of(f, args, values);
  if (steps.empty()) return std::nullopt;
  const Step& first = steps.front();
  Recurrence recurrence{first.dim, first.distance > 0, std::abs(first.distance), {}};
  for (const Step& step : steps) {
    if (step.dim != first.dim) {
      refuse(f, *step.tap,
             fmt::format("along {}, and {}, along {}", args[step.dim], tap_text(*first.tap),
                         args[first.dim]),
             "split it into two Funcs");
    }
    if ((step.distance > 0) != recurrence.ahead) {
      refuse(f, *step.tap,
             fmt::format("{} by {}, and {}, {} by {}", step.distance > 0 ? "ahead" : "behind",
                         std::abs(step.distance), tap_text(*first.tap),
                         first.distance > 0 ? "ahead" : "behind", std::abs(first.distance)),
             "no order of the points computes both first; split it into two Funcs");
    }
    recurrence.reach = std::max(recurrence.reach, std::abs(step.distance));
  }
  recurrence.start = StartFinder(args, args[first.dim], recurrence.ahead).run(values);
  return recurrence;
}

const Recurrence* recurrence_of(const FunctionData& f) {
  if (!f.defined() || !f.definitions.front().recurrence) return nullptr;
  return &*f.definitions.front().recurrence;
}

}  // namespace mica
