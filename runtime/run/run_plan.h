// A compiled variant's plan made ready to run: expressions compiled, names resolved (once a variant),
// and what it does for arguments of given shapes (once a set of shapes).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/buffer/buffer.h"
#include "runtime/buffer/buffer_storage.h"
#include "runtime/run/evaluate.h"
#include "runtime/run/executable.h"

namespace mica {

/// What one run works on, fixed when it begins: ImageParams and Params may be set again meanwhile, by
/// any thread.
struct BoundArguments {
  std::vector<const AnyBuffer*> buffers;  ///< in the order of Plan::buffers
  /// Keeps alive the inputs among them that ImageParams held.
  std::vector<std::shared_ptr<const AnyBuffer>> inputs;
  std::vector<std::uint64_t> scalars;  ///< ParamData::bits in the order of Plan::scalars
  /// Every output has no elements: there is nothing to compute.
  bool nothing_to_do = false;
  /// An output is the same memory as an input.
  bool in_place = false;
  /// The run is to be part of a graph of launches.
  bool in_graph = false;
};

/// A plan's arrays are numbered: its buffers in order, then its temporaries.
struct PreparedPlan {
  struct Check {
    HostProgram holds;
    std::vector<HostProgram> values;
  };
  struct Alignment {
    int array = 0;
    std::vector<HostProgram> at;
  };
  struct Temporary {
    std::vector<HostProgram> mins, extents;
  };
  struct Argument {
    int array = -1;               ///< of a pointer or texture; -1: a scalar
    bool origin = false;          ///< of the texture before
    bool lines = false;           ///< where the run's lines go
    HostProgram value;            ///< of a scalar
    std::vector<HostProgram> at;  ///< of a pointer or texture; none: 0 in every dimension
    int scalar = -1;              ///< the plan's scalar whose bits are passed as they are; -1: none
    bool each_run = false;        ///< depends on Params: shapes alone do not decide it
  };
  /// A Func whose realizations are traced, and the numbers of the arrays of its values.
  struct Traced {
    std::string func;
    std::vector<int> arrays;
  };
  struct Launch {
    std::vector<Argument> arguments;
    std::vector<HostProgram> grid;  ///< three, or none of a host launch
    HostProgram when;               ///< undefined: always
  };
  /// Where an array's memory is read or written.
  struct Sides {
    bool host = false, device = false;
  };

  std::shared_ptr<const CompiledVariant> compiled;
  Variant variant;
  SymbolTable symbols;
  std::vector<int> first_slot;  ///< of array k: symbols min, extent, stride of dimension 0, 1, ...
  int first_value_slot = 0;     ///< of the plan's values
  int first_scalar_slot = 0;
  std::vector<int> shape_scalars;  ///< the plan's scalars that shapes or grids depend on
  /// Those, beside them, that checks alone depend on, and the checks.
  std::vector<int> checked_scalars;
  std::vector<std::size_t> checks_of_scalars;
  std::vector<Sides> sides;  ///< by array
  std::vector<HostProgram> values;
  std::vector<Check> checks;
  std::vector<std::vector<HostProgram>> choices;  ///< the conditions of each
  std::vector<Alignment> alignments;
  std::vector<Temporary> temporaries;
  std::vector<Launch> launches;
  std::vector<Traced> traced;

  [[nodiscard]] const Plan& plan() const { return compiled->plan; }
  /// The variant's kernels, loaded by the first call, from any thread.
  [[nodiscard]] const CompiledVariant::Kernels& kernels() const;
  /// That of the launch of this number. InternalError if it was not loaded.
  [[nodiscard]] LoadedKernel* kernel_of(std::size_t launch) const;

 private:
  mutable std::once_flag loading_;
  mutable CompiledVariant::Kernels loaded_;
};

/// InternalError if the plan names a buffer, scalar or kernel that it does not define.
std::shared_ptr<const PreparedPlan> prepare_plan(std::shared_ptr<const CompiledVariant> compiled,
                                                 const Variant& variant, const Target& target);

/// A launch for arguments of known shapes.
struct ShapedLaunch {
  struct Pointer {
    std::size_t argument = 0;
    int array = 0;
    std::int64_t origin = 0;  ///< elements from the one at the mins to KernelArgument::at
    bool written = false;
    bool texture = false;  ///< the next argument is the texture's origin
  };
  LoadedKernel* kernel = nullptr;
  bool on_device = false;
  LaunchShape shape;
  std::vector<std::uint64_t> values;  ///< arguments in order; pointers and `each_run` ones are open
  std::vector<Pointer> pointers;
  std::vector<std::size_t> each_run;  ///< arguments to evaluate in each run
  std::vector<std::size_t> lines;     ///< arguments that say where the run's lines go
  std::size_t launch = 0;             ///< index in the plan
};

/// What a run does for arguments of given shapes.
struct ShapedRun {
  std::vector<std::int64_t> key;  ///< shape_key of the arguments (set by the keeper of several)
  std::shared_ptr<const PreparedPlan> plan;
  Variant wanted;  ///< the variant that these arguments allow
  std::vector<HostValue> symbols;
  std::vector<StorageLayout> temporaries;
  std::vector<ShapedLaunch> launches;  ///< those that have work; empty if `wanted` is another variant
};

/// Everything that decides a ShapedRun: mins, extents, strides and address alignment of the buffers,
/// whether an output is the memory of an input, and the scalars that shapes depend on.
std::vector<std::int64_t> shape_key(const PreparedPlan& plan, const BoundArguments& bound);

/// Evaluates `plan` for these arguments, making its checks first. UserErrors: a check that does not
/// hold, a grid that no variant can launch.
ShapedRun shape_run(std::shared_ptr<const PreparedPlan> plan, const BoundArguments& bound);

/// Makes the checks again that depend on scalars which the shape does not depend on. UserError: one does
/// not hold.
void check_scalars(const ShapedRun& shaped, const BoundArguments& bound);

/// The block and shared bytes of a device launch, which shapes do not change; a grid of one block.
LaunchShape block_shape(const PlanLaunch& launch);

/// Value of argument `argument` of a launch; `symbols` are the run's, with the plan's scalars filled in.
std::uint64_t scalar_argument(const PreparedPlan& plan, std::size_t launch, std::size_t argument,
                              const BoundArguments& bound, const HostValue* symbols);
/// Writes the values of the plan's Params into `symbols`.
void read_scalars(const PreparedPlan& plan, const BoundArguments& bound, HostValue* symbols);

}  // namespace mica
