#include "runtime/run/run_plan.h"

#include <algorithm>
#include <string>
#include <utility>

#include "dsl/expr/float_mode.h"
#include "dsl/expr/names.h"
#include "runtime/run/trace.h"

namespace mica {

namespace {

/// Adds the symbols of one array and returns the first one's number.
int add_array(SymbolTable& symbols, const std::string& name, int dimensions) {
  const int first = symbols.size();
  for (int d = 0; d < dimensions; ++d) {
    for (const auto field : {BufferField::Min, BufferField::Extent, BufferField::Stride}) {
      symbols.add(symbol_name(name, field, static_cast<std::size_t>(d)), Int(64));
    }
  }
  return first;
}

/// Resolves the names of one plan.
class PlanPreparer {
 public:
  PlanPreparer(PreparedPlan& out, const Target& target)
      : out_(out), plan_(out.compiled->plan), target_(target) {}

  void prepare() {
    add_symbols();
    for (const PlanValue& value : plan_.values) out_.values.push_back(shape_program(value.value));
    for (const PlanTemporary& temporary : plan_.temporaries) {
      internal_check(temporary.mins.size() == temporary.extents.size(),
                     "a temporary has as many mins as extents");
      out_.temporaries.push_back({shape_programs(temporary.mins), shape_programs(temporary.extents)});
    }
    for (const PlanCheck& check : plan_.checks) add_check(check);
    for (const PlanAlignment& alignment : plan_.alignments) {
      out_.alignments.push_back({array_named(alignment.buffer), shape_programs(alignment.at)});
    }
    for (const PlanChoice& choice : plan_.choices) {
      out_.choices.push_back(shape_programs(choice.conditions));
    }
    for (const PlanLaunch& launch : plan_.launches) add_launch(launch);
    int number = 0;
    for (const PlanBuffer& buffer : plan_.buffers) add_traced(buffer.traced, number++);
    for (const PlanTemporary& temporary : plan_.temporaries) add_traced(temporary.traced, number++);
    make_set(out_.shape_scalars);
    std::erase_if(out_.checked_scalars, [&](int scalar) {
      return std::binary_search(out_.shape_scalars.begin(), out_.shape_scalars.end(), scalar);
    });
    make_set(out_.checked_scalars);
    for (std::size_t check = 0; check < scalars_of_checks_.size(); ++check) {
      const std::vector<int>& scalars = scalars_of_checks_[check];
      const bool is_alone = std::any_of(scalars.begin(), scalars.end(), [&](int scalar) {
        return std::binary_search(out_.checked_scalars.begin(), out_.checked_scalars.end(), scalar);
      });
      if (is_alone) out_.checks_of_scalars.push_back(check);
    }
  }

 private:
  void add_symbols() {
    for (const PlanBuffer& buffer : plan_.buffers) {
      out_.first_slot.push_back(add_array(out_.symbols, buffer.name, buffer.dimensions));
    }
    for (const PlanTemporary& temporary : plan_.temporaries) {
      const int dimensions = static_cast<int>(temporary.extents.size());
      out_.first_slot.push_back(add_array(out_.symbols, temporary.name, dimensions));
    }
    out_.first_value_slot = out_.symbols.size();
    for (const PlanValue& value : plan_.values) out_.symbols.add(value.name, Int(64));
    out_.first_scalar_slot = out_.symbols.size();
    for (const Plan::Scalar& scalar : plan_.scalars) out_.symbols.add(scalar.name, scalar.param->type);
    out_.sides.resize(out_.first_slot.size());
  }

  [[nodiscard]] int array_named(const std::string& name) const {
    int index = 0;
    for (const PlanBuffer& buffer : plan_.buffers) {
      if (buffer.name == name) return index;
      ++index;
    }
    for (const PlanTemporary& temporary : plan_.temporaries) {
      if (temporary.name == name) return index;
      ++index;
    }
    throw InternalError("the plan uses the array \"" + name + "\", which it does not define");
  }

  static void make_set(std::vector<int>& numbers) {
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  }

  /// The scalars that it uses are added to `scalars`.
  HostProgram program_of(const Expr& e, std::vector<int>& scalars) {
    HostProgram program(e, out_.symbols, Integers::Exact);
    for (const int slot : program.uses()) {
      if (slot >= out_.first_scalar_slot) scalars.push_back(slot - out_.first_scalar_slot);
    }
    return program;
  }

  /// A program on which shapes depend: so do they on the Params it uses.
  HostProgram shape_program(const Expr& e) { return program_of(e, out_.shape_scalars); }

  void add_check(const PlanCheck& check) {
    std::vector<int>& scalars = scalars_of_checks_.emplace_back();
    PreparedPlan::Check made{program_of(check.holds, scalars), {}};
    out_.checked_scalars.insert(out_.checked_scalars.end(), scalars.begin(), scalars.end());
    std::vector<int> of_message;  // which is written for the scalars of the check
    for (const Expr& value : check.values) made.values.push_back(program_of(value, of_message));
    out_.checks.push_back(std::move(made));
  }

  std::vector<HostProgram> shape_programs(const std::vector<Expr>& exprs) {
    std::vector<HostProgram> programs;
    for (const Expr& e : exprs) programs.push_back(shape_program(e));
    return programs;
  }

  void add_traced(const std::string& func, int array) {
    if (func.empty()) return;
    auto& all = out_.traced;
    auto found = std::find_if(all.begin(), all.end(), [&](const auto& t) { return t.func == func; });
    if (found == all.end()) found = all.insert(found, PreparedPlan::Traced{func, {}});
    found->arrays.push_back(array);
  }

  void add_launch(const PlanLaunch& launch) {
    PreparedPlan::Launch prepared;
    if (launch.when.defined()) prepared.when = shape_program(launch.when);
    if (launch.on_device) {
      internal_check(launch.grid.size() <= 3, "a grid has at most three dimensions");
      prepared.grid = shape_programs(launch.grid);
    }
    for (const KernelArgument& argument : launch.arguments) {
      prepared.arguments.push_back(argument_of(argument, launch.on_device));
    }
    out_.launches.push_back(std::move(prepared));
  }

  PreparedPlan::Argument argument_of(const KernelArgument& argument, bool on_device) {
    PreparedPlan::Argument prepared;
    if (argument.kind == KernelArgument::Kind::TextureOrigin) {
      prepared.origin = true;
      return prepared;
    }
    if (argument.kind == KernelArgument::Kind::PrintLines) {
      prepared.lines = true;
      return prepared;
    }
    if (argument.kind != KernelArgument::Kind::Scalar) {
      prepared.array = array_named(argument.buffer);
      prepared.at = shape_programs(argument.at);
      PreparedPlan::Sides& sides = out_.sides[static_cast<std::size_t>(prepared.array)];
      const bool device_memory = on_device && target_.backend == Backend::Cuda;
      (device_memory ? sides.device : sides.host) = true;
      return prepared;
    }
    prepared.value = HostProgram(argument.value, out_.symbols, Integers::Exact);
    const std::vector<int>& uses = prepared.value.uses();
    prepared.each_run =
        std::any_of(uses.begin(), uses.end(), [&](int slot) { return slot >= out_.first_scalar_slot; });
    if (prepared.each_run && argument.value.as<VarRef>() != nullptr) {
      const int slot = uses.front();
      if (out_.symbols.type(slot) == argument.type) prepared.scalar = slot - out_.first_scalar_slot;
    }
    return prepared;
  }

  PreparedPlan& out_;
  const Plan& plan_;
  const Target& target_;
  std::vector<std::vector<int>> scalars_of_checks_;
};

}  // namespace

const CompiledVariant::Kernels& PreparedPlan::kernels() const {
  if (!compiled->load) return compiled->kernels;
  std::call_once(loading_, [this] {
    const TraceScope trace("load variant");
    const DefaultFloatMode mode;
    loaded_ = compiled->load();
  });
  return loaded_;
}

LoadedKernel* PreparedPlan::kernel_of(std::size_t launch) const {
  const std::string& name = plan().launches.at(launch).kernel;
  for (const auto& [kernel_name, kernel] : kernels()) {
    if (kernel_name == name) return kernel.get();
  }
  throw InternalError("the plan launches the kernel \"" + name + "\", which was not loaded");
}

std::shared_ptr<const PreparedPlan> prepare_plan(std::shared_ptr<const CompiledVariant> compiled,
                                                 const Variant& variant, const Target& target) {
  internal_check(compiled != nullptr, "the compiler returned no variant");
  auto prepared = std::make_shared<PreparedPlan>();
  prepared->compiled = std::move(compiled);
  prepared->variant = variant;
  PlanPreparer(*prepared, target).prepare();
  for (std::size_t i = 0; i < prepared->launches.size() && !prepared->compiled->load; ++i) {
    (void)prepared->kernel_of(i);
  }
  return prepared;
}

std::vector<std::int64_t> shape_key(const PreparedPlan& plan, const BoundArguments& bound) {
  std::vector<std::int64_t> key;
  key.reserve(bound.buffers.size() * (3 * static_cast<std::size_t>(kMaxDimensions) + 2) +
              plan.shape_scalars.size() + 1);
  key.push_back((bound.in_place ? 1 : 0) + (bound.in_graph ? 2 : 0));
  for (const AnyBuffer* buffer : bound.buffers) {
    for (const BufferDim& dim : buffer->dims()) {
      key.push_back(dim.min);
      key.push_back(dim.extent);
      key.push_back(dim.stride);
    }
    const std::int64_t bytes = buffer->offset() * buffer->type().bytes();
    const auto period = static_cast<std::int64_t>(kAddressPeriod);
    key.push_back((buffer->storage()->host_phase() + bytes) % period);
    key.push_back((buffer->storage()->device_phase() + bytes) % period);
  }
  for (const int scalar : plan.shape_scalars) {
    key.push_back(static_cast<std::int64_t>(bound.scalars[static_cast<std::size_t>(scalar)]));
  }
  return key;
}

void read_scalars(const PreparedPlan& plan, const BoundArguments& bound, HostValue* symbols) {
  HostValue* slot = symbols + plan.first_scalar_slot;
  const std::vector<Plan::Scalar>& scalars = plan.plan().scalars;
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    *slot++ = unpack_value(bound.scalars[i], scalars[i].param->type);
  }
}

std::uint64_t scalar_argument(const PreparedPlan& plan, std::size_t launch, std::size_t argument,
                              const BoundArguments& bound, const HostValue* symbols) {
  const PreparedPlan::Argument& prepared = plan.launches[launch].arguments[argument];
  if (prepared.scalar >= 0) return bound.scalars[static_cast<std::size_t>(prepared.scalar)];
  const Type type = plan.plan().launches[launch].arguments[argument].type;
  return convert_and_pack(prepared.value.run(symbols), prepared.value.type(), type);
}

}  // namespace mica
