// The state that the passes of lower.cpp hand on: the algorithm with its schedule, then the loop
// nests made of it, then kernels.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codegen/analysis/array_origins.h"
#include "codegen/analysis/bounds.h"
#include "codegen/func_schedule.h"
#include "codegen/ir/kernel.h"
#include "codegen/plan/kernel_plan.h"
#include "dsl/pipeline/pipeline.h"
#include "runtime/run/plan.h"
#include "runtime/run/target.h"

namespace mica {

/// Limits of the device that the schedule must respect.
struct DeviceLimits {
  int threads_per_block = 1024;
  int threads_z = 64;
  int shared_bytes = 227 * 1024;
  int registers = 65536;  ///< 32-bit ones of a block
};

struct LowerOptions {
  Target target;
  Variant variant;
  std::map<std::string, std::int64_t> bake;
  DeviceLimits limits;
  bool line_info = false;  ///< stores and loads have the user's lines
  /// Values of symbols, where one grid alone is asked about and nothing will run: what none of its
  /// blocks needs is left out of the loops.
  std::map<std::string, std::int64_t> grid = {};
};

/// Where a Func is computed and kept.
struct Placement {
  enum class Level { Inline, Root, At };
  Level level = Level::Inline;
  LoopLevel compute;               ///< Level::At
  std::optional<LoopLevel> store;  ///< an enclosing loop that holds the storage
  bool store_root = false;  ///< Level::At: the storage is an array for all that the pipeline needs
  MemoryType memory = MemoryType::Auto;
  std::optional<LoadPolicy> load;  ///< filled by the block's threads under this policy
  /// Along a march. Of a part of a sum: how many planes ahead of that Func it is computed.
  std::optional<std::int64_t> ahead;
  std::string part_of = {};
  int prefetch = 0;         ///< steps by which its planes are asked for earlier than they are read
  SourceLocation where;     ///< the directive that decided
  std::string reason = {};  ///< why, where no directive did and the choice is worth a word
};

/// One loop nest at root: the computation of one Func and all that is computed inside it.
struct Nest {
  std::string func;
  std::size_t definition = 0;  ///< of the Func
  bool on_device = false;
  ir::Stmt body;
  std::vector<Expr> grid;  ///< device nests: blocks in x, y, z, set by map_gpu_axes
  ir::Kernel kernel;       ///< filled by split_host_device
  /// Inputs and other Funcs' arrays that a device nest reads through the texture unit.
  std::set<std::string> textures;
  /// Where the flat indices of other nests' arrays count from, set by flatten_storage; an array that is
  /// not here: from logical index 0.
  analysis::Origins origins;
};

struct Program {
  Pipeline pipeline;
  LowerOptions options;
  std::map<std::string, Placement> placement;
  /// The box of each Func that the whole pipeline needs; symbols of outputs for outputs.
  std::map<std::string, analysis::Box> required;
  /// What directives say of each Func that is computed, set by read_schedule.
  std::map<std::string, FuncSchedule> schedule;
  /// Of each definition at the root that runs on the GPU or marches, set by plan_kernels.
  std::vector<planning::KernelPlan> kernels;
  std::vector<Nest> nests;
  /// What store_at, store_root and fold_storage came to, a line a Func, for print_loops. Set by
  /// build_loop_nest.
  std::vector<std::string> notes;
  Plan plan;

  [[nodiscard]] bool is_root(const std::string& func) const {
    auto it = placement.find(func);
    return it != placement.end() && it->second.level == Placement::Level::Root;
  }
};

/// The plan of a nest; null if it has none.
const planning::KernelPlan* plan_of(const Program& program, const Nest& nest);
/// Name of the array that holds element `value` of a Func with `count` values.
std::string storage_name(const std::string& func, int value, std::size_t count);
/// What directives say of a Func that is computed. Requires: read_schedule.
const FuncSchedule& schedule_of(const Program& program, const FunctionData& func);
/// The multiple that `align_storage` asks dimension `d` of the Func's storage to be padded to, or
/// `otherwise`.
int storage_alignment(const Program& program, const FunctionData& func, std::size_t d, int otherwise);
/// Element type and number of dimensions of a buffer or temporary of the plan; InternalError for another
/// name.
struct ArrayKind {
  Type type;
  std::size_t rank = 0;
};
ArrayKind kind_of(const Plan& plan, const std::string& array);
/// The largest power of two up to `unit`, itself one, that divides every stride of `array` that is
/// compiled in but the first: rows that stand other numbers of elements apart are no whole pieces of
/// `unit`. (Such a stride may belong to a dimension of one point, whose rows the launch need not align.)
int unit_of_baked_strides(const LowerOptions& options, const std::string& array, std::size_t rank,
                          int unit);
/// Are rows of an output, or of an input of as many dimensions, an odd number of elements apart, by
/// strides that are compiled in? They are as those of a run whose buffers are not aligned.
bool has_odd_rows(const Program& program);
/// Can the launch evaluate `e`: is each variable a symbol of an array or a scalar of the plan?
bool is_launch_value(const Plan& plan, const Expr& e);
/// Symbols of arrays as users write them, by the names of the pipeline: for an input that the user calls
/// "my.u", "my.u.extent.0" is "my·u.extent.0". Of arrays of one name the first is meant. What is no
/// array's stays as it is.
std::map<std::string, std::int64_t> with_array_names(const std::map<std::string, std::int64_t>& symbols,
                                                     const Pipeline& pipeline);
/// "<buffer>.min.<d>", "<buffer>.extent.<d>", "<buffer>.stride.<d>" as i32 variables.
Expr min_symbol(const std::string& buffer, std::size_t dimension);
Expr extent_symbol(const std::string& buffer, std::size_t dimension);
Expr stride_symbol(const std::string& buffer, std::size_t dimension);

}  // namespace mica
