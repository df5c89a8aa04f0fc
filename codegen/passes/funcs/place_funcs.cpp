#include "codegen/passes/funcs/place_funcs.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <utility>

#include "codegen/analysis/bounds.h"
#include "codegen/analysis/simplify.h"
#include "codegen/analysis/value_ranges.h"
#include "codegen/passes/funcs/repeated_work.h"
#include "dsl/expr/node_map.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/traverse.h"
#include "dsl/schedule/compute_place.h"

namespace mica::passes {
namespace {

Placement placement_of(const Pipeline& pipeline, const FunctionData& func) {
  const ComputePlace place = compute_place(func, pipeline.is_output(func.name));
  Placement p;
  switch (place.kind) {
    case ComputePlace::Kind::Inline: break;
    case ComputePlace::Kind::Root: p.level = Placement::Level::Root; break;
    case ComputePlace::Kind::At:
      p.level = Placement::Level::At;
      p.compute = place.level;
      break;
  }
  if (place.directive) p.where = place.directive->where;
  if (const LoopLevel* store = place.store_level()) p.store = *store;
  p.store_root = place.stores_at_root();
  for (const auto& d : func.definitions.front().directives) {
    if (const auto* in = std::get_if<directive::StoreIn>(&d.op)) p.memory = in->memory;
  }
  if (auto it = pipeline.partial_sums.find(func.name); it != pipeline.partial_sums.end()) {
    p.ahead = it->second.ahead;
    p.part_of = it->second.of;
  }
  if (auto it = pipeline.asked_early.find(func.name); it != pipeline.asked_early.end()) {
    p.prefetch = it->second;
  }
  return p;
}

// A staged source is computed at the innermost block loop of the Func that stages it, or where that one
// is computed.
void place_staged(Program& program) {
  const auto& funcs = program.pipeline.funcs;
  for (auto it = funcs.rbegin(); it != funcs.rend(); ++it) {  // consumers first
    const auto& func = *it;
    for (const auto& definition : func->definitions) {
      for (const auto& d : definition.directives) {
        const auto* stage = std::get_if<directive::StagedSource>(&d.op);
        if (!stage) continue;
        Placement& p = program.placement[stage->source];
        p.level = Placement::Level::At;
        const Placement& own = program.placement.at(func->name);
        const bool inside = own.level == Placement::Level::At;
        // Without a loop's name: build_loop_nest finds the innermost block loop.
        p.compute = inside ? own.compute : LoopLevel{func->name, ""};
        p.store_root = false;
        p.memory = stage->memory;
        p.load = stage->load;
        p.where = d.where;
      }
    }
  }
}

constexpr std::size_t kManyCalls = 16 * kMostInlineCalls;  // more are not counted
constexpr double kFewPoints = 64;                          // that a remainder may add to a box
constexpr double kUnknown = std::numeric_limits<double>::infinity();

/// Operations that a read of every other point or fewer is counted as beside itself: a second vector
/// and a shuffle or two. (Without it every other level of the fast local Laplacian is computed in the
/// next: 64 ms for 42.)
constexpr double kStrided = 3;
/// The same of a read whose index follows data: the lanes of a vector are loaded one by one.
constexpr double kGathered = 16;
/// Operations that a boundary condition is counted as at most: where a point is inside, all that it
/// works out is gone (split_interiors). (With 7 a Laplacian of a Laplacian under repeat_image in 3-D is
/// at the root, and takes 1.4 times as long.)
constexpr double kOfClamp = 3;

/// How many points apart an index is at most for neighbouring points of the variables in scope; 0 for
/// what does not follow them, such as data within bounds.
class StrideFinder {
 public:
  explicit StrideFinder(const analysis::Scope& scope) : scope_(scope) {}

  double run(const Expr& e) {
    const auto found = done_.find(e.ptr().get());
    if (found != done_.end()) return found->second;
    const double stride = of_new(e);
    done_.emplace(e.ptr().get(), stride);
    return stride;
  }

 private:
  double of_new(const Expr& e) {
    if (const auto* var = e.as<VarRef>()) {
      const auto found = scope_.find(var->name);
      // A reduction adds its constant number of points.
      return found == scope_.end() || analysis::constant_extent(found->second) ? 0 : 1;
    }
    if (e.as<Access>()) return 0;
    if (const auto* op = e.as<Binary>()) return of_binary(*op);
    double most = 0;
    for_each_child(e, [&](const Expr& child) { most = std::max(most, run(child)); });
    return most == 0 || e.as<Select>() || (e.as<Cast>() && e.type().is_int()) ? most : kUnknown;
  }

  double of_binary(const Binary& op) {
    const double a = run(op.a), b = run(op.b);
    if (a == 0 && b == 0) return 0;
    const auto size = [](const Expr& e) {
      const auto* value = as_int(e);
      return value ? std::abs(static_cast<double>(*value)) : 0;
    };
    switch (op.op) {
      case BinaryOp::Add:
      case BinaryOp::Sub: return a + b;
      case BinaryOp::Min:
      case BinaryOp::Max: return std::max(a, b);
      case BinaryOp::Mul:
        if (b == 0 && size(op.b) > 0) return a * size(op.b);
        return a == 0 && size(op.a) > 0 ? b * size(op.a) : kUnknown;
      case BinaryOp::Div: return b == 0 && size(op.b) > 0 ? a / size(op.b) : kUnknown;
      case BinaryOp::Mod:
        // What repeats with a period that the launch knows is read all through, most often.
        if (b != 0) return kUnknown;
        return size(op.b) > 0 && size(op.b) <= kFewPoints ? 0 : a;
      default: return kUnknown;
    }
  }

  const analysis::Scope& scope_;
  NodeMap<double> done_;
};

/// The variables that an index follows, other than through data.
std::set<std::string> variables_of(const Expr& index) {
  std::set<std::string> names;
  VisitedNodes seen;
  const std::function<void(const Expr&)> visit = [&](const Expr& e) {
    if (e.as<Access>() || !seen.enter(e)) return;
    if (const auto* var = e.as<VarRef>()) names.insert(var->name);
    for_each_child(e, visit);
  };
  visit(index);
  return names;
}

/// How often Funcs would be computed if they were inlined: the distinct points of each that one point of
/// what is not inlined reads.
class CallCounter {
 public:
  explicit CallCounter(Program& program) : program_(program), is_free_(is_free(program)) {}

  void run() {
    count_operations();
    find_bound_to_loops();
    const auto& funcs = program_.pipeline.funcs;
    for (auto it = funcs.rbegin(); it != funcs.rend(); ++it) {
      const FunctionData& func = **it;
      Placement& placement = program_.placement.at(func.name);
      if (placement.level == Placement::Level::Inline) decide(func, placement);
      if (placement.level == Placement::Level::Inline) {
        add_calls_of(func, calls_[func.name].all);
      } else {
        add_calls_of(func);
      }
    }
  }

 private:
  /// One point of a Func that a point of `reader` needs.
  struct Call {
    const FunctionData* reader;    // what is computed, and
    const Definition* definition;  // by which of its definitions
    std::vector<Expr> args;        // in the variables of that definition
  };
  struct Calls {
    std::vector<Call> all;
    double count = 0;
    double points = 1;  // of the Func's box for a point of its readers, at most
  };

  void decide(const FunctionData& func, Placement& placement) {
    const bool chosen = compute_place(func, false).directive != nullptr;
    const Calls& calls = calls_[func.name];
    if (chosen || bound_.count(func.name) > 0 || only_moves(func)) return;
    const double count = calls.count / calls.points;
    const double operations = operations_.at(func.name) * count;
    std::string much;
    if (count > static_cast<double>(kMostInlineCalls) || (is_full(calls) && calls.points < kUnknown)) {
      much = "more than " + std::to_string(kMostInlineCalls) + " times";
    } else if (count > 1 && operations > static_cast<double>(kMostInlineOperations)) {
      much = std::to_string(std::lround(count)) + " times, in more than " +
             std::to_string(kMostInlineOperations) + " operations,";
    }
    if (!much.empty()) {
      much += " for a point of what reads it";
    } else if (std::ranges::all_of(calls.all, is_single)) {
      return;
    } else if (func.is_scalar && operations > static_cast<double>(kMostInlineOperations)) {
      much = "again for each point of what reads it";
    } else if (is_free_ && efforts_.at(func.name) >= kDear) {
      much = repeated(calls);
    }
    if (much.empty()) return;
    placement.level = Placement::Level::Root;
    placement.reason = "inline it would be computed " + much;
  }

  // Is it computed for one point, and not in a reduction's iterations?
  static bool is_single(const Call& call) { return call.reader->is_scalar && !call.definition->domain; }

  // For what the same value would be computed again; empty: for nothing, or it is better so.
  static std::string repeated(const Calls& calls) {
    std::vector<std::pair<const Call*, Arguments>>
        readers;  // the first call of each definition, and all
    std::map<const Definition*, std::size_t> numbers;
    for (const Call& call : calls.all) {
      const auto [number, is_new] = numbers.emplace(call.definition, readers.size());
      if (is_new) readers.emplace_back(&call, Arguments());
      readers[number->second].second.push_back(&call.args);
    }
    std::optional<std::string> found;
    for (const auto& [first, reads] : readers) {
      if (!is_close(reads)) return {};
      if (!found) found = repeated_for(reads, *first->definition, first->reader->name, calls.points);
    }
    return found ? "again for each " + *found : "";
  }

  // Is nothing said of where and how anything is computed, on a CPU? Elsewhere who schedules one Func
  // expects the others in it.
  static bool is_free(const Program& program) {
    const auto plain = [](const Definition& d) {
      return d.directives.empty() && d.specializations.empty();
    };
    return !program.options.target.is_gpu() &&
           std::ranges::all_of(program.pipeline.funcs, [&](const auto& func) {
             return std::ranges::all_of(func->definitions, plain);
           });
  }

  // Funcs that read, themselves or through others that are inline, what exists inside another Func's
  // loops alone: there is no computing them ahead.
  void find_bound_to_loops() {
    for (const auto& func : program_.pipeline.funcs) {
      for (const auto& definition : func->definitions) {
        analysis::for_each_access(definition, [&](const Access& access) {
          const auto callee = program_.placement.find(access.name);
          if (callee == program_.placement.end()) return;
          const Placement::Level level = callee->second.level;
          const bool inside = level == Placement::Level::At;
          const bool reaches = level == Placement::Level::Inline && bound_.count(access.name) > 0;
          if (inside || reaches) bound_.insert(func->name);
        });
      }
    }
  }

  // About how many operations a value of each Func takes, those of Funcs inlined in it counted in. What
  // this Func alone would have computed ahead, as decide() does, counts as a read.
  void count_operations() {
    for (const auto& func : program_.pipeline.funcs) {
      double operations = 0, effort = 0;
      struct Reads {
        double count = 0, points = 1;
      };
      std::map<std::string, Reads> reads;
      const Definition& definition = func->definitions.front();
      const analysis::Ranges nothing_known;
      analysis::RangeFinder indices(nothing_known);
      visit_nodes(definition.values, [&](const Expr& e) {
        if (e.as<Binary>() || e.as<Unary>() || e.as<Fma>() || e.as<Select>()) ++operations;
        effort += effort_of(e);
        const auto* access = e.as<Access>();
        if (!access || access->is_self) return;
        const auto follows_data = [&](const Expr& index) { return indices.reads_data(index); };
        if (std::ranges::any_of(access->args, follows_data)) operations += kGathered;
        Reads& of = reads[access->name];
        ++of.count;
        if (!is_inline(access->name)) return;
        of.points = std::max(of.points, points_of({func.get(), &definition, access->args}));
      });
      for (const auto& [name, of] : reads) {
        const double each =
            (is_inline(name) ? operations_.at(name) : 1) + (of.points > 1 ? kStrided : 0);
        const double times = of.count / of.points;
        const bool ahead = times > 1 && times * each > static_cast<double>(kMostInlineOperations);
        operations += ahead ? of.count : of.count * each;
        effort += ahead || !is_inline(name) ? of.count : of.count * efforts_.at(name);
      }
      const bool is_gone = !program_.options.target.is_gpu() && only_moves(*func);
      operations_[func->name] = is_gone ? std::min(operations, kOfClamp) : operations;
      efforts_[func->name] = effort;
    }
  }

  bool is_inline(const std::string& func) const {
    const auto placed = program_.placement.find(func);
    return placed != program_.placement.end() && placed->second.level == Placement::Level::Inline;
  }

  // The calls that `func` makes where it is computed.
  void add_calls_of(const FunctionData& func) {
    for (const Definition& definition : func.definitions) {
      for_each_inlined(definition, [&](const Access& access) {
        add(access.name, {&func, &definition, access.args});
      });
    }
  }
  // The calls that it makes inlined at each of `calls`.
  void add_calls_of(const FunctionData& func, const std::vector<Call>& calls) {
    for_each_inlined(func.definitions.front(), [&](const Access& access) {
      for (const Call& call : calls) {
        if (is_full(calls_[access.name])) return;
        add(access.name, {call.reader, call.definition, args_at(func, access, call)});
      }
    });
  }
  static std::vector<Expr> args_at(const FunctionData& func, const Access& access, const Call& call) {
    std::vector<Expr> args;
    for (const auto& arg : access.args) {
      args.push_back(simplify(substitute(arg, [&](const std::string& name) -> Expr {
        const auto found = std::find(func.args.begin(), func.args.end(), name);
        if (found == func.args.end()) return {};
        return call.args[static_cast<std::size_t>(found - func.args.begin())];
      })));
    }
    return args;
  }

  static bool is_full(const Calls& calls) { return calls.all.size() >= kManyCalls; }

  void for_each_inlined(const Definition& definition, const std::function<void(const Access&)>& visit) {
    analysis::for_each_access(definition, [&](const Access& access) {
      if (!access.is_self && is_inline(access.name)) visit(access);
    });
  }

  void add(const std::string& func, Call call) {
    Calls& calls = calls_[func];
    if (is_full(calls)) return;
    const auto same = [&](const Call& other) {
      return other.definition == call.definition &&
             std::equal(other.args.begin(), other.args.end(), call.args.begin(), call.args.end(), equal);
    };
    if (std::any_of(calls.all.begin(), calls.all.end(), same)) return;
    calls.count += repeats_of(call);
    calls.points = std::max(calls.points, points_of(call));
    calls.all.push_back(std::move(call));
  }

  // A tap at x + r is another point in each iteration over r.
  static double repeats_of(const Call& call) {
    double repeats = 1;
    if (!call.definition->domain) return repeats;
    const auto& vars = call.definition->pure_vars;
    for (const auto& dim : call.definition->domain->dims) {
      const bool slides = std::any_of(call.args.begin(), call.args.end(), [&](const Expr& arg) {
        return uses_var(arg, dim.name) &&
               std::any_of(vars.begin(), vars.end(), [&](const auto& v) { return uses_var(arg, v); });
      });
      if (slides)
        repeats *= static_cast<double>(dim.constant_extent() > 0 ? dim.constant_extent() : kManyCalls);
    }
    return repeats;
  }

  // Points of the box of all calls for a point of the reader; without bounds where an index has none, or
  // a variable stands in several.
  static double points_of(const Call& call) {
    analysis::Box box;
    for (std::size_t d = 0; d < call.reader->args.size(); ++d) {
      const std::string end = call.reader->name + ".box." + std::to_string(d);
      box.push_back({make_var(end + ".low"), make_var(end + ".high")});
    }
    const auto scope = analysis::definition_scope(*call.reader, *call.definition, box);
    StrideFinder strides(scope);
    double points = 1;
    for (const auto& arg : call.args) {
      if (!analysis::interval_of(arg, scope).bounded()) return kUnknown;
      points *= std::max(strides.run(arg), 1.0);
    }
    std::set<std::string> followed;
    for (const auto& arg : call.args) {
      for (const auto& variable : variables_of(arg)) {
        if (scope.count(variable) > 0 && !followed.insert(variable).second) return kUnknown;
      }
    }
    return points;
  }

  Program& program_;
  const bool is_free_;
  std::set<std::string> bound_;  // see find_bound_to_loops
  std::map<std::string, double> operations_, efforts_;
  std::map<std::string, Calls> calls_;
};

}  // namespace

void place_funcs(Program& program) {
  for (const auto& func : program.pipeline.funcs) {
    program.placement[func->name] = placement_of(program.pipeline, *func);
  }
  place_staged(program);
  CallCounter(program).run();
}

}  // namespace mica::passes
