#include "tests/support/emulated_launches.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "codegen/llvm/backend.h"
#include "codegen/lower.h"
#include "dsl/expr/deep_stack.h"
#include "dsl/pipeline/func_graph.h"
#include "dsl/pipeline/pipeline.h"

namespace mica::test {

EmulatedLaunches::EmulatedLaunches() {
  fake_.on_launch([](const FakeCudaLaunch* launch,
                     void* closure) { static_cast<const EmulatedLaunches*>(closure)->run(*launch); },
                  this);
}

EmulatedLaunches::~EmulatedLaunches() { fake_.on_launch(nullptr, nullptr); }

void EmulatedLaunches::add(const std::vector<Func>& outputs, const Variant& variant) {
  const LowerOptions options{{Backend::Cuda, 0}, variant, {}, DeviceLimits{}};
  const Pipeline pipeline = make_pipeline(functions_of(outputs));
  ir::Module module = to_module(lower(pipeline, options));
  std::erase_if(module.kernels, [](const ir::Kernel& kernel) { return !kernel.on_device; });
  const llvm_backend::LoadedKernels loaded =
      made_with_stack_for(pipeline.depth, [&] { return llvm_backend::load_emulated_kernels(module); });
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    const std::string name = llvm_backend::ptx_name(loaded[i].first);
    if (!kernels_.emplace(name, Kernel{module.kernels[i].params, loaded[i].second}).second) {
      throw std::logic_error("two kernels are named " + name);
    }
  }
}

void EmulatedLaunches::run(const FakeCudaLaunch& launch) const {
  const auto found = kernels_.find(launch.kernel);
  if (found == kernels_.end()) throw std::logic_error(std::string("unknown kernel ") + launch.kernel);
  const auto& [params, kernel] = found->second;
  std::vector<void*> arguments(launch.arguments, launch.arguments + params.size());
  // The emulator has no textures: it takes the address of logical index 0 in a texture object's place.
  std::vector<std::uint64_t> addresses(params.size());
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (!params[i].texture) continue;
    const auto origin = std::find_if(params.begin(), params.end(), [&](const ir::KernelParam& p) {
      return p.name == ir::texture_origin(params[i].name);
    });
    std::uint64_t texture = 0;
    std::int64_t elements = 0;
    std::memcpy(&texture, arguments[i], sizeof texture);
    std::memcpy(&elements, arguments[static_cast<std::size_t>(origin - params.begin())],
                sizeof elements);
    addresses[i] =
        fake_.texture_start(texture) + static_cast<std::uint64_t>(elements * params[i].type.bytes());
    arguments[i] = &addresses[i];
  }
  LaunchShape shape;
  std::copy(std::begin(launch.grid), std::end(launch.grid), std::begin(shape.grid));
  std::copy(std::begin(launch.block), std::end(launch.block), std::begin(shape.block));
  shape.shared_bytes = launch.shared_bytes;
  kernel->launch(shape, arguments.data(), arguments.size(), {});
}

}  // namespace mica::test
