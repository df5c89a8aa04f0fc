#include "codegen/analysis/traffic/traffic.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/analysis/traffic/traffic_kernel.h"
#include "codegen/analysis/traffic/usual_symbols.h"
#include "codegen/lower.h"
#include "dsl/expr/deep_stack.h"
#include "dsl/expr/float_mode.h"
#include "dsl/expr/limits.h"
#include "dsl/expr/names.h"
#include "dsl/expr/traverse.h"
#include "dsl/pipeline/func_graph.h"
#include "dsl/pipeline/pipeline.h"

namespace mica {
namespace {

using analysis::Symbols;
using analysis::value_of;

double share(std::int64_t a, std::int64_t b) {
  return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
}

/// See analyse_traffic.
void check_extents(const std::vector<std::int64_t>& extents) {
  std::int64_t points = 1;
  for (const std::int64_t n : extents) {
    if (n < 1 || n > kLargestExtent) {
      throw UserError(
          fmt::format("traffic of {} points along a side: it must be 1 to {}", n, kLargestExtent));
    }
    if (__builtin_mul_overflow(points, n, &points) || points > kLargestGrid) {
      throw UserError(
          fmt::format("traffic of a grid of {} points: it may have at most 2^44, about "
                      "26000 along each of three sides or 4000000 along each of two",
                      fmt::join(extents, " x ")));
    }
  }
}

// ---- kernels ---------------------------------------------------------------------------------------

// Points of inner Funcs, by the arrays that kernels allocate for them.
void add_computed(const analysis::KernelPieces& kernel, std::vector<ComputedFunc>& computed) {
  for (std::size_t a = 0; a < kernel.pieces.arrays.size(); ++a) {
    const analysis::PieceArray& array = kernel.pieces.arrays[a];
    if (array.allocate == nullptr) continue;
    const analysis::PieceList stores = kernel.select(
        [&](const analysis::Piece& piece) { return piece.store && piece.array == static_cast<int>(a); });
    const bool copied =
        std::all_of(stores.begin(), stores.end(), [](const auto* piece) { return piece->copy >= 0; });
    if (copied) continue;
    ComputedFunc func{array.name, 0, 0};
    for (const auto* piece : stores) func.computed += piece->count();
    func.distinct = analysis::sum_of_unions(
        stores, [](const analysis::Piece&, std::size_t) { return false; }, 1);
    computed.push_back(std::move(func));
  }
}

/// What the plan alone says.
void add_plan(const planning::KernelPlan& plan, KernelTraffic& figures) {
  const auto& innermost = plan.frame.vars.loops().front();
  const auto* lanes = as_int(innermost.extent);
  if (innermost.kind == LoopKind::Vectorized && lanes != nullptr) figures.lanes = *lanes;
  for (const planning::Stage& stage : plan.stages) {
    using Way = planning::Fill::Way;
    if (stage.fill.way != Way::AsyncCopies && stage.fill.way != Way::BulkCopies) continue;
    figures.async_copies = true;
    if (stage.step) figures.steps_early = std::max(figures.steps_early, stage.step->prefetch);
  }
}

KernelTraffic analyse_kernel(const Program& program, const Nest& nest, const Symbols& symbols,
                             const TrafficDevice& device, std::vector<ComputedFunc>& computed) {
  const FunctionData& func = *program.pipeline.find(nest.func);
  analysis::KernelPieces kernel;
  kernel.pieces = analysis::read_pieces(nest.body, symbols);
  const std::string target = storage_name(func.name, 0, func.types.size());
  for (std::size_t a = 0; a < kernel.pieces.arrays.size(); ++a) {
    if (kernel.pieces.arrays[a].name == target) kernel.target = static_cast<int>(a);
  }
  for (const auto& temporary : program.plan.temporaries) {
    const auto min = symbols.find(temporary.name + ".min.0");
    if (min != symbols.end()) kernel.origins[temporary.name] = min->second;
  }
  KernelTraffic figures;
  figures.name = nest.kernel.name;
  figures.data_dependent = kernel.pieces.data_dependent;
  for (const auto& type : func.types) figures.element_bytes += type.bytes();
  if (const auto* plan = planning::find_kernel(program.kernels, nest.func, nest.definition)) {
    add_plan(*plan, figures);
  }
  const FuncSchedule& schedule = schedule_of(program, func);
  figures.min_blocks = schedule.min_blocks;
  figures.max_registers = schedule.max_registers;
  analysis::measure_block(kernel, figures);
  analysis::measure_levels(kernel, device, figures);
  add_computed(kernel, computed);
  return figures;
}

// ---- Funcs that are inlined ------------------------------------------------------------------------

// An inlined Func is computed once for every tap on it in every computation of its consumers.
class InlinedFuncs {
 public:
  InlinedFuncs(const Pipeline& pipeline, const Program& program, const Symbols& symbols)
      : pipeline_(pipeline), program_(program), symbols_(symbols) {}

  void add(Traffic& traffic) {
    for (const auto& kernel : traffic.kernels) evaluations_[kernel.name] = kernel.points;
    for (const auto& func : traffic.computed) evaluations_[func.name] = func.computed;
    for (auto it = pipeline_.funcs.rbegin(); it != pipeline_.funcs.rend(); ++it) {
      if (!program_.placement.count((*it)->name)) add(**it, traffic);
    }
  }

 private:
  void add(const FunctionData& func, Traffic& traffic) {
    analysis::Box box;
    ComputedFunc figures{func.name, 0, 1};
    bool listed = false;  // what only copies of it read is listed as the copy
    for (const auto& consumer : pipeline_.funcs) {
      for (const auto& definition : consumer->definitions) {
        std::vector<const Access*> taps;
        analysis::for_each_access(definition, [&](const Access& access) {
          const bool known = std::any_of(taps.begin(), taps.end(), [&](const Access* other) {
            return std::equal(access.args.begin(), access.args.end(), other->args.begin(),
                              other->args.end(), equal);
          });
          if (access.name == func.name && !known) taps.push_back(&access);
        });
        if (taps.empty()) continue;
        listed = listed || !copies(*consumer);
        figures.computed += static_cast<std::int64_t>(taps.size()) * evaluations_of(*consumer);
        unite(box, analysis::accessed_box(
                       definition, func.name,
                       analysis::definition_scope(*consumer, definition, box_of(*consumer))));
      }
    }
    boxes_[func.name] = box;
    evaluations_[func.name] = figures.computed;
    for (const auto& side : box) {
      const auto min = value_of(side.min, symbols_), max = value_of(side.max, symbols_);
      if (!min || !max) return;  // depends on data
      figures.distinct *= *max - *min + 1;
    }
    if (figures.computed > 0 && listed && !copies(func)) traffic.computed.push_back(figures);
  }
  static bool copies(const FunctionData& func) {
    return func.definitions.front().values.front().as<Access>() != nullptr;
  }

  std::int64_t evaluations_of(const FunctionData& func) const {
    const auto known = evaluations_.find(storage_name(func.name, 0, func.types.size()));
    if (known != evaluations_.end()) return known->second;
    const auto plain = evaluations_.find(func.name);
    return plain == evaluations_.end() ? 0 : plain->second;
  }
  analysis::Box box_of(const FunctionData& func) const {
    const auto known = boxes_.find(func.name);
    return known != boxes_.end() ? known->second : program_.required.at(func.name);
  }

  const Pipeline& pipeline_;
  const Program& program_;
  const Symbols& symbols_;
  std::map<std::string, std::int64_t> evaluations_;
  std::map<std::string, analysis::Box> boxes_;
};

}  // namespace

double ComputedFunc::ratio() const { return share(computed, distinct); }
double SteadyStep::redundancy() const { return share(used + written, points); }
double SteadyStep::redundancy_as_loaded() const { return share(loaded + written, points); }
double SteadyStep::ops_per_byte() const { return share(operations, bytes_loaded); }
double SteadyStep::ops_per_byte_limit() const { return share(operations, bytes_at_limit); }

double Traffic::redundancy() const {
  double sum = 0;
  for (const auto& k : kernels) sum += k.steady.redundancy() * share(k.points, points);
  return sum;
}
double Traffic::redundancy_as_loaded() const {
  double sum = 0;
  for (const auto& k : kernels) sum += k.steady.redundancy_as_loaded() * share(k.points, points);
  return sum;
}
Moved Traffic::total(Moved KernelTraffic::*level) const {
  Moved sum;
  for (const auto& k : kernels) {
    sum.read += (k.*level).read;
    sum.written += (k.*level).written;
  }
  return sum;
}

Traffic analyse_traffic(const Program& program, const TrafficOptions& options) {
  check_extents(options.extents);
  const analysis::UsualSymbols table(program, options.extents, options.symbols);
  Traffic traffic;
  for (const auto& nest : program.nests) {
    if (!nest.on_device) continue;
    traffic.kernels.push_back(
        analyse_kernel(program, nest, table.symbols(), options.device, traffic.computed));
    traffic.points = traffic.kernels.back().points;
  }
  return traffic;
}

Traffic traffic_of(const Func& output, const TrafficOptions& options) {
  return traffic_of(std::vector<Func>{output}, options);
}

Traffic traffic_of(const std::vector<Func>& outputs, const TrafficOptions& options) {
  check_extents(options.extents);
  const DefaultFloatMode mode;
  const Pipeline pipeline = make_pipeline(functions_of(outputs));
  const Target device{Backend::Cuda, 0};  // nothing of a device is asked for
  LowerOptions lowered{device, Variant{}, {}, DeviceLimits{}};
  lowered.grid = analysis::output_symbols(pipeline, options.extents, options.symbols);
  const Program program = lower(pipeline, lowered, "simplify_loops");
  return made_with_stack_for(pipeline.depth, [&] {
    Traffic traffic = analyse_traffic(program, options);
    const analysis::UsualSymbols table(program, options.extents, options.symbols);
    InlinedFuncs(pipeline, program, table.symbols()).add(traffic);
    return traffic;
  });
}

}  // namespace mica
