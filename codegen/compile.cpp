#include "codegen/compile.h"

#include <cstdlib>
#include <map>
#include <optional>
#include <string_view>

#include "codegen/ir/fingerprint.h"
#include "codegen/llvm/backend.h"
#include "codegen/lower.h"
#include "codegen/pipeline_variants.h"
#include "codegen/planned.h"
#include "codegen/print_loops.h"
#include "dsl/expr/deep_stack.h"
#include "dsl/expr/float_mode.h"
#include "dsl/expr/names.h"
#include "dsl/expr/traverse.h"
#include "dsl/pipeline/pipeline.h"
#include "runtime/cache/kernel_cache.h"
#include "runtime/cuda/gpu_facts.h"
#include "runtime/run/gpu_module.h"

namespace mica {
namespace {

// The conditions that were chosen: "few == 1, wide".
std::string conditions_text(const Pipeline& pipeline, const Chosen& chosen) {
  std::vector<std::string> conditions;
  for (std::size_t c = 0; c < chosen.size(); ++c) {
    if (chosen[c] > 0) conditions.push_back(brief(pipeline.choices[c][chosen[c] - 1U]));
  }
  return joined(conditions);
}

// `depth`: of the expressions, as Pipeline::depth.
llvm_backend::LoadedKernels load_cuda(const ir::Module& module, std::int64_t depth, const Target& target,
                                      bool use_cache) {
  const GpuFacts facts = gpu_facts(target);
  const std::vector<std::string> entries = llvm_backend::ptx_names(module);
  std::vector<int> shared;
  CacheKey key;
  key.add("compiler", llvm_backend::version());
  for (const auto& kernel : module.kernels) {
    shared.push_back(static_cast<int>(ir::shared_bytes(kernel)));
    key.add("kernel", made_with_stack_for(depth, [&] { return ir::fingerprint(kernel); }));
  }
  std::optional<llvm_backend::LoadedKernels> loaded;
  if (use_cache) loaded = load_cached_cuda_kernels(target, entries, shared, key);
  if (!loaded) {
    // A driver newer than the compiler takes older PTX.
    const int version = llvm_backend::newest_ptx_version(facts.ptx_version);
    const std::string ptx =
        made_with_stack_for(depth, [&] { return llvm_backend::emit_ptx(module, facts.sm, version); });
    loaded = load_cuda_kernels(target, ptx, entries, shared, key, use_cache);
  }
  // Launches name kernels as the program does.
  for (std::size_t i = 0; i < loaded->size(); ++i) (*loaded)[i].first = module.kernels[i].name;
  return std::move(*loaded);
}

ir::Module lower_variant(const Pipeline& pipeline, const Target& target, const CompileOptions& options,
                         const Variant& variant) {
  const bool line_info = options.line_info && target.backend == Backend::Cuda;
  return to_module(lower(pipeline, {target, variant, options.bake, device_limits(target), line_info}));
}

CompiledVariant::Kernels load_kernels(const ir::Module& module, std::int64_t depth, const Target& target,
                                      const CompileOptions& options) {
  CompiledVariant::Kernels kernels;
  ir::Module on_host = part_of(module, false), on_device = part_of(module, true);
  if (!on_host.kernels.empty()) {
    const KernelCache cache = options.use_cache ? KernelCache::from_environment() : KernelCache({});
    const auto accesses = target.backend == Backend::HostChecked ? llvm_backend::Accesses::Checked
                                                                 : llvm_backend::Accesses::Plain;
    kernels = made_with_stack_for(depth, [&] {
      return llvm_backend::load_host_kernels(on_host, llvm_backend::HostCpu::Native, cache, depth,
                                             accesses);
    });
  }
  if (!on_device.kernels.empty()) {
    auto loaded =
        target.backend == Backend::Cuda
            ? load_cuda(on_device, depth, target, options.use_cache)
            : made_with_stack_for(depth, [&] { return llvm_backend::load_emulated_kernels(on_device); });
    for (auto& kernel : loaded) kernels.push_back(std::move(kernel));
  }
  return kernels;
}

std::shared_ptr<const CompiledVariant> variant_of(const std::shared_ptr<const ir::Module>& module,
                                                  std::int64_t depth, const Target& target,
                                                  const CompileOptions& options) {
  auto compiled = std::make_shared<CompiledVariant>();
  compiled->plan = module->plan;
  compiled->load = [module, depth, target, options] {
    return load_kernels(*module, depth, target, options);
  };
  return compiled;
}

}  // namespace

bool line_info_from_environment() {
  const char* const value = std::getenv("MICA_LINE_INFO");
  return value != nullptr && std::string_view(value) == "1";
}

Executable compile(const std::vector<Func>& outputs, const Target& target,
                   const CompileOptions& options) {
  const DefaultFloatMode mode;
  // On this thread, so that a CUDA context that the user has made current is found and used.
  if (target.backend == Backend::Cuda) device_for(target);
  auto pipelines = std::make_shared<const Pipelines>(pipelines_of(outputs));
  const Pipeline& plain = pipelines->at({});
  // What the user can get wrong shows now, not at the first run, which most often wants these variants.
  const auto usual = std::make_shared<std::map<Chosen, std::shared_ptr<const ir::Module>>>();
  const auto lowered = [target, options](const Pipeline& pipeline, const Variant& variant) {
    return std::make_shared<const ir::Module>(lower_variant(pipeline, target, options, variant));
  };
  for (const auto& [chosen, pipeline] : *pipelines) {
    usual->emplace(chosen, lowered(pipeline, {.chosen = chosen}));
  }
  return Executable(
      target, output_names(plain), [pipelines, usual, lowered, target, options](const Variant& variant) {
        const Pipeline& pipeline = pipelines->at(variant.chosen);
        const bool is_usual = variant == Variant{.chosen = variant.chosen};
        return variant_of(is_usual ? usual->at(variant.chosen) : lowered(pipeline, variant),
                          pipeline.depth, target, options);
      });
}

Executable compile(const Func& output, const Target& target, const CompileOptions& options) {
  return compile(std::vector<Func>{output}, target, options);
}

Executable compile(const Func& output) { return compile(output, Target::best()); }

std::string compile_to_ptx(const Func& output, int sm, int ptx_version, bool line_info) {
  return compile_to_ptx(std::vector<Func>{output}, sm, ptx_version, line_info);
}

std::string compile_to_ptx(const std::vector<Func>& outputs, int sm, int ptx_version, bool line_info) {
  const DefaultFloatMode mode;
  const Target target{Backend::Cuda, 0};  // nothing of a device is asked for
  const LowerOptions options{target, Variant{}, {}, DeviceLimits{}, line_info};
  const Pipeline pipeline = pipeline_of(outputs);
  ir::Module module = to_module(lower(pipeline, options));
  ir::Module device = part_of(module, true);
  if (device.kernels.empty()) {
    std::vector<std::string> names;
    for (const Func& f : outputs) names.push_back(f.name());
    throw UserError("no Func behind " + joined(names) +
                    " is scheduled on the GPU; give its loops to gpu_tile or gpu_blocks");
  }
  return made_with_stack_for(pipeline.depth,
                             [&] { return llvm_backend::emit_ptx(device, sm, ptx_version); });
}

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const auto& pass : pass_list()) names.emplace_back(pass.name);
  return names;
}

std::string print_loop_nest(const std::vector<Func>& outputs, const Target& target) {
  const DefaultFloatMode mode;
  const LowerOptions options{target, Variant{}, {}, DeviceLimits{}};
  std::string text;
  for (const auto& [chosen, pipeline] : pipelines_of(outputs)) {
    if (!chosen.empty()) text += "\nwhere " + conditions_text(pipeline, chosen) + ":\n";
    text += print_loops(lower(pipeline, options, "simplify_loops"));
  }
  return text;
}

std::vector<Planned> planned(const std::vector<Func>& outputs, const Target& target) {
  const DefaultFloatMode mode;
  const LowerOptions options{target, Variant{}, {}, DeviceLimits{}};
  std::vector<Planned> all;
  for (const auto& [chosen, pipeline] : pipelines_of(outputs)) {
    all.push_back({chosen.empty() ? "" : conditions_text(pipeline, chosen),
                   lower(pipeline, options, "plan_kernels")});
  }
  return all;
}

std::string print_plan(const std::vector<Func>& outputs, const Target& target) {
  std::string text;
  for (const auto& [where, program] : planned(outputs, target)) {
    if (!where.empty()) text += "\nwhere " + where + ":\n";
    for (const auto& kernel : program.kernels) {
      text += (text.empty() ? "" : "\n") + planning::to_string(kernel);
    }
  }
  return text;
}

std::string code_after_pass(const Func& output, const Target& target, const std::string& pass) {
  return code_after_pass(std::vector<Func>{output}, target, pass);
}

std::string code_after_pass(const std::vector<Func>& outputs, const Target& target,
                            const std::string& pass) {
  const DefaultFloatMode mode;
  const bool line_info = target.backend == Backend::Cuda && line_info_from_environment();
  const LowerOptions options{target, Variant{}, {}, DeviceLimits{}, line_info};
  return to_string(lower(pipeline_of(outputs), options, pass));
}

}  // namespace mica
