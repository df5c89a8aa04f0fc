#include "runtime/run/executable.h"

#include <array>
#include <map>
#include <mutex>
#include <utility>

#include "dsl/expr/float_mode.h"
#include "runtime/run/check_arguments.h"
#include "runtime/run/launch_run.h"
#include "runtime/run/prepared_run_state.h"
#include "runtime/run/print_line.h"
#include "runtime/run/run_plan.h"
#include "runtime/run/trace.h"

namespace mica {

namespace {

// Sets of shapes whose evaluation is kept, so that the levels of a multigrid cycle share one
// Executable without evaluating again.
constexpr std::size_t kKeptShapes = 16;

/// One variant, compiled at most once.
struct VariantSlot {
  std::mutex compiling;
  std::shared_ptr<const PreparedPlan> prepared;
};

}  // namespace

struct Executable::State {
  State(Target target_arg, std::vector<std::string> outputs_arg, VariantCompiler compiler_arg,
        std::shared_ptr<Device> device_arg)
      : target(target_arg),
        outputs(std::move(outputs_arg)),
        compiler(std::move(compiler_arg)),
        device(std::move(device_arg)) {}

  /// The device, opened by the first call.
  std::shared_ptr<Device> open_device();
  /// The plan of a variant, compiled by the first call for it. After an error the next call tries
  /// again.
  std::shared_ptr<const PreparedPlan> plan_for(const Variant& variant);
  /// What to do for these arguments, from an earlier run with the same shapes where there was one.
  std::shared_ptr<const ShapedRun> shaped_run(const BoundArguments& bound);
  std::shared_ptr<const ShapedRun> kept_shape(const std::vector<std::int64_t>& key);
  /// The arguments of a run, checked.
  BoundArguments bind(const std::vector<AnyBuffer*>& given, const RunOptions& options,
                      const CallSite& at);
  void run(const std::vector<AnyBuffer*>& given, const RunOptions& options, const CallSite& at);

  const Target target;
  const std::vector<std::string> outputs;
  const VariantCompiler compiler;

  std::mutex mutex;  // guards the members below; never held while compiling or launching
  std::shared_ptr<Device> device;
  std::map<Variant, std::shared_ptr<VariantSlot>> variants;
  std::shared_ptr<const PreparedPlan> default_plan;
  std::vector<std::shared_ptr<const ShapedRun>> shapes;  // most recently used first
};

std::shared_ptr<Device> Executable::State::open_device() {
  {
    const std::lock_guard lock(mutex);
    if (device != nullptr) return device;
  }
  std::shared_ptr<Device> opened = device_for(target);
  const std::lock_guard lock(mutex);
  if (device == nullptr) device = std::move(opened);
  return device;
}

std::shared_ptr<const PreparedPlan> Executable::State::plan_for(const Variant& variant) {
  std::shared_ptr<VariantSlot> slot;
  {
    const std::lock_guard lock(mutex);
    if (variant == Variant{} && default_plan != nullptr) return default_plan;
    std::shared_ptr<VariantSlot>& found = variants[variant];
    if (found == nullptr) found = std::make_shared<VariantSlot>();
    slot = found;
  }
  const std::lock_guard compiling(slot->compiling);
  if (slot->prepared == nullptr) {
    const TraceScope trace("compile variant");
    const DefaultFloatMode mode;
    slot->prepared = prepare_plan(compiler(variant), variant, target);
  }
  if (variant == Variant{}) {
    const std::lock_guard lock(mutex);
    default_plan = slot->prepared;
  }
  return slot->prepared;
}

std::shared_ptr<const ShapedRun> Executable::State::kept_shape(const std::vector<std::int64_t>& key) {
  const std::lock_guard lock(mutex);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i]->key != key) continue;
    std::shared_ptr<const ShapedRun> found = shapes[i];
    if (i > 0) {
      shapes.erase(shapes.begin() + static_cast<std::ptrdiff_t>(i));
      shapes.insert(shapes.begin(), found);
    }
    return found;
  }
  return nullptr;
}

std::shared_ptr<const ShapedRun> Executable::State::shaped_run(const BoundArguments& bound) {
  std::shared_ptr<const PreparedPlan> plan = plan_for(Variant{});
  // Keys are made with the default variant's plan: all variants have the same buffers and scalars.
  std::vector<std::int64_t> key = shape_key(*plan, bound);
  if (std::shared_ptr<const ShapedRun> kept = kept_shape(key)) {
    check_scalars(*kept, bound);
    return kept;
  }
  const TraceScope trace("evaluate plan");
  ShapedRun shaped = shape_run(plan, bound);
  while (shaped.wanted != shaped.plan->variant) {
    shaped = shape_run(plan_for(shaped.wanted), bound);
  }
  for (ShapedLaunch& launch : shaped.launches) launch.kernel = shaped.plan->kernel_of(launch.launch);
  shaped.key = std::move(key);
  auto made = std::make_shared<const ShapedRun>(std::move(shaped));
  const std::lock_guard lock(mutex);
  shapes.insert(shapes.begin(), made);
  if (shapes.size() > kKeptShapes) shapes.pop_back();
  return made;
}

BoundArguments Executable::State::bind(const std::vector<AnyBuffer*>& given, const RunOptions& options,
                                       const CallSite& at) {
  const std::shared_ptr<const PreparedPlan> plan = plan_for(Variant{});
  BoundArguments bound = bind_arguments(plan->plan(), outputs, given, options, at);
  if (!bound.nothing_to_do) bound.in_place = check_overlaps(plan->plan(), bound.buffers, target);
  return bound;
}

void Executable::State::run(const std::vector<AnyBuffer*>& given, const RunOptions& options,
                            const CallSite& at) {
  const TraceScope trace("run");
  const BoundArguments bound = bind(given, options, at);
  if (bound.nothing_to_do) return;
  const std::shared_ptr<const ShapedRun> shaped = shaped_run(bound);
  LineSink lines(options.print);
  RunLauncher(*shaped, bound, target, open_device(), options.stream).launch(lines);
  lines.finish();
}

Executable::Executable(Target target, std::vector<std::string> outputs, VariantCompiler compiler)
    : Executable(target, std::move(outputs), std::move(compiler), nullptr) {}

Executable::Executable(Target target, std::vector<std::string> outputs, VariantCompiler compiler,
                       std::shared_ptr<Device> device)
    : state_(
          std::make_shared<State>(target, std::move(outputs), std::move(compiler), std::move(device))) {}

namespace {

void require_defined(bool defined, const SourceLocation& where = {}) {
  if (defined) return;
  throw UserError("an Executable that was never compiled is used: assign it from compile()", where);
}

}  // namespace

void Executable::run(AnyBuffer& output, const RunOptions& options, CallSite at) {
  run({&output}, options, at);
}

void Executable::run(const std::vector<AnyBuffer*>& outputs, const RunOptions& options, CallSite at) {
  if (!defined()) require_defined(false, at);
  in_a_run([&] { state_->run(outputs, options, at); });
}

PreparedRun Executable::prepare(AnyBuffer& output, const RunOptions& options, CallSite at) {
  return prepare(std::vector<AnyBuffer*>{&output}, options, at);
}

PreparedRun Executable::prepare(const std::vector<AnyBuffer*>& outputs, const RunOptions& options,
                                CallSite at) {
  if (!defined()) require_defined(false, at);
  auto state = std::make_shared<PreparedRun::State>();
  in_a_run([&] {
    for (const AnyBuffer* output : outputs) state->outputs.push_back(*output);
    std::vector<AnyBuffer*> own;
    for (AnyBuffer& output : state->outputs) own.push_back(&output);
    state->options = options;
    state->target = state_->target;
    state->bound = state_->bind(own, state->options, at);
    state->plan = state_->plan_for(Variant{});
    state->device = state_->open_device();
    state->shape = [shared = state_](const BoundArguments& bound) { return shared->shaped_run(bound); };
    state->make_ready();
  });
  return PreparedRun(std::move(state));
}

void Executable::load(const std::vector<AnyBuffer*>& outputs, const RunOptions& options, CallSite at) {
  if (!defined()) require_defined(false, at);
  in_a_run([&] {
    const BoundArguments bound = state_->bind(outputs, options, at);
    if (!bound.nothing_to_do) static_cast<void>(state_->shaped_run(bound));
  });
}

void Executable::synchronize() {
  require_defined(defined());
  state_->open_device()->synchronize({});
}

const Target& Executable::target() const {
  require_defined(defined());
  return state_->target;
}

const Plan& Executable::plan() const {
  require_defined(defined());
  return state_->plan_for(Variant{})->plan();
}

std::vector<KernelInfo> Executable::kernels() const {
  require_defined(defined());
  std::shared_ptr<const ShapedRun> last;
  {
    const std::lock_guard lock(state_->mutex);
    if (!state_->shapes.empty()) last = state_->shapes.front();
  }
  const std::shared_ptr<const PreparedPlan> plan =
      last != nullptr ? last->plan : state_->plan_for(Variant{});
  std::vector<KernelInfo> infos;
  for (const auto& [name, kernel] : plan->kernels()) {
    KernelInfo info;
    info.name = name;
    for (const PlanLaunch& launch : plan->plan().launches) {
      if (launch.kernel == name) info.on_device = launch.on_device;
      if (launch.kernel == name && launch.on_device) info.shape = block_shape(launch);
    }
    if (last != nullptr) {
      for (const ShapedLaunch& launch : last->launches) {
        if (launch.kernel == kernel.get()) info.shape = launch.shape;
      }
    }
    kernel->describe(info);
    infos.push_back(std::move(info));
  }
  return infos;
}

}  // namespace mica
