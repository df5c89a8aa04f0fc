// Plans written by hand: what the compiler would hand to Executable, with kernels that record their
// launches.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "dsl/expr/operators.h"
#include "runtime/run/executable.h"
#include "tests/support/fake_device.h"

namespace mica::test {

inline KernelArgument pointer_argument(const std::string& buffer, Type type, bool written) {
  KernelArgument argument;
  argument.kind = KernelArgument::Kind::Pointer;
  argument.name = buffer;
  argument.buffer = buffer;
  argument.type = type;
  argument.written = written;
  return argument;
}

inline KernelArgument scalar_argument(const std::string& name, Type type, const Expr& value) {
  KernelArgument argument;
  argument.name = name;
  argument.type = type;
  argument.value = value;
  return argument;
}

/// next(x, ...) = c * u(x, ...): input u and output next of one type and rank, a Param c, one kernel
/// "next" with arguments u, next, extent 0 and c. Tests change `plan` before the first run.
struct FakePipeline {
  std::shared_ptr<ImageData> u = std::make_shared<ImageData>();
  std::shared_ptr<ParamData> c = std::make_shared<ParamData>();
  Plan plan;
  std::map<std::string, std::shared_ptr<FakeKernel>> kernels;
  std::shared_ptr<FakeDevice> device = std::make_shared<FakeDevice>();

  explicit FakePipeline(int dimensions = 1, Type type = Float(32)) {
    u->name = "u";
    u->type = type;
    u->dimensions = dimensions;
    u->where = CallSite::current();
    c->name = "c";
    c->type = Float(32);
    plan.buffers.push_back({"u", type, dimensions, false, u});
    plan.buffers.push_back({"next", type, dimensions, true, nullptr});
    plan.scalars.push_back({"c", c});
    PlanLaunch launch;
    launch.kernel = "next";
    launch.arguments = {pointer_argument("u", type, false), pointer_argument("next", type, true),
                        scalar_argument("n", Int(32), make_var("next.extent.0")),
                        scalar_argument("c", Float(32), make_var("c", Float(32)))};
    plan.launches.push_back(launch);
    kernels["next"] = std::make_shared<FakeKernel>();
  }

  [[nodiscard]] FakeKernel& next() { return *kernels.at("next"); }
  void set_u(const AnyBuffer& buffer) const { u->bound = std::make_shared<AnyBuffer>(buffer); }
  /// Turns launch `index` into one on the device, one block for 32 points of dimension 0.
  void on_device(std::size_t index = 0) {
    PlanLaunch& launch = plan.launches[index];
    launch.on_device = true;
    launch.grid = {(make_var("next.extent.0") + 31) / 32, Expr(1), Expr(1)};
    launch.block[0] = 32;
  }

  /// An executable of this pipeline, which must outlive it.
  Executable executable(const Target& target = Target::host()) {
    return Executable(
        target, {"next"}, [this](const Variant& variant) { return compile(variant); },
        target.backend == Backend::Cuda ? std::shared_ptr<Device>(device) : cpu_device());
  }
  /// Variants compiled so far, in order.
  std::vector<Variant> compiled() {
    const std::lock_guard lock(mutex_);
    return compiled_;
  }

 private:
  std::shared_ptr<const CompiledVariant> compile(const Variant& variant) {
    auto made = std::make_shared<CompiledVariant>();
    made->plan = plan;
    if (!variant.grid3) {
      for (PlanLaunch& launch : made->plan.launches) {
        if (launch.on_device) launch.grid = {launch.grid[0] * launch.grid[1] * launch.grid[2]};
      }
    }
    for (const auto& [name, kernel] : kernels) made->kernels.emplace_back(name, kernel);
    const std::lock_guard lock(mutex_);
    compiled_.push_back(variant);
    return made;
  }

  std::mutex mutex_;
  std::vector<Variant> compiled_;
};

}  // namespace mica::test
