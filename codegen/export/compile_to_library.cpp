#include "codegen/export/compile_to_library.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "codegen/export/c_header.h"
#include "codegen/export/c_names.h"
#include "codegen/export/runtime_files.h"
#include "codegen/export/system_tools.h"
#include "codegen/llvm/export_objects.h"
#include "codegen/lower.h"
#include "codegen/pipeline_variants.h"
#include "dsl/expr/deep_stack.h"
#include "dsl/expr/float_mode.h"
#include "dsl/expr/limits.h"
#include "dsl/expr/names.h"
#include "runtime/export/limits.h"
#include "runtime/run/run_plan.h"

namespace mica {

namespace {

static_assert(kLargestMin == LARGEST_MIN && kLargestExtent == LARGEST_EXTENT);
static_assert(kLargestConstant32 == (std::int64_t{1} << 31) - 1 - LARGEST_OFFSET32);

/// Bytes of shared memory that a block may have (CUDA C++ Programming Guide, "Technical Specifications
/// per Compute Capability").
int shared_bytes_of(int sm) {
  constexpr int kKiB = 1024;
  if (sm >= 120 || sm == 86 || sm == 89) return 99 * kKiB;
  return (sm >= 90 ? 227 : 163) * kKiB;
}

/// Lowers the variants of one export.
class Lowering {
 public:
  Lowering(const std::vector<Func>& outputs, const Target& target, const ExportOptions& options)
      : pipelines_(pipelines_of(outputs)),
        target_(target),
        bake_(options.bake),
        line_info_(options.line_info && target.is_gpu()) {
    if (target.is_gpu()) limits_.shared_bytes = shared_bytes_of(options.sm);
  }

  [[nodiscard]] const Pipelines& pipelines() const { return pipelines_; }
  [[nodiscard]] const Pipeline& plain() const { return pipelines_.begin()->second; }

  llvm_backend::ExportedVariant operator()(const Variant& variant) const {
    const auto pipeline = pipelines_.find(variant.chosen);
    if (pipeline == pipelines_.end()) {
      throw UserError(
          "a variant is to be exported for specializations that the pipeline does not have: " +
          to_string(variant));
    }
    llvm_backend::ExportedVariant exported;
    auto module = std::make_shared<const ir::Module>(
        to_module(lower(pipeline->second, {target_, variant, bake_, limits_, line_info_})));
    auto compiled = std::make_shared<CompiledVariant>();
    compiled->plan = module->plan;
    compiled->load = [] { return CompiledVariant::Kernels(); };  // nothing is launched here
    exported.prepared = prepare_plan(std::move(compiled), variant, target_);
    exported.module = std::move(module);
    return exported;
  }

 private:
  const Pipelines pipelines_;
  const Target target_;
  const std::map<std::string, std::int64_t> bake_;
  const bool line_info_;
  DeviceLimits limits_;
};

std::vector<Variant> usual(const Lowering& lowered) {
  std::vector<Variant> variants;
  const auto add = [&](const Variant& variant) {
    if (std::find(variants.begin(), variants.end(), variant) == variants.end()) {
      variants.push_back(variant);
    }
  };
  // Those of specializations come first: each assumes what the plain one does, and more.
  for (auto p = lowered.pipelines().rbegin(); p != lowered.pipelines().rend(); ++p) {
    add({.chosen = p->first});
  }
  if (!lowered(Variant{}).prepared->plan().alignments.empty()) add({.aligned = false});
  add({.index32 = false, .aligned = false, .grid3 = false, .unit_stride = false, .separate = false});
  return variants;
}

// What a library cannot do.
void check_exportable(const Plan& plan, bool cuda) {
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.image != nullptr && buffer.image->is_buffer) {
      throw UserError("the pipeline reads the Buffer " + buffer.name +
                          " itself, and a library holds no data: read an ImageParam in its place, which "
                          "becomes an argument",
                      buffer.image->where);
    }
  }
  const auto traced = [](const auto& array) {
    if (array.traced.empty()) return;
    throw UserError("the realizations of " + array.traced +
                        " are traced, and a library prints nothing: leave trace_realizations out",
                    array.where);
  };
  for (const PlanBuffer& buffer : plan.buffers) traced(buffer);
  for (const PlanTemporary& temporary : plan.temporaries) traced(temporary);
  for (const PlanLaunch& launch : plan.launches) {
    if (cuda && !launch.on_device) {
      throw UserError("kernel " + launch.kernel +
                      " runs on the host, and a library for GPUs launches kernels on the GPU only: give "
                      "the loops of its Func to gpu_tile or gpu_blocks, or compute it inside another");
    }
    for (const KernelArgument& argument : launch.arguments) {
      if (argument.kind == KernelArgument::Kind::PrintLines) {
        throw UserError("kernel " + launch.kernel +
                        " prints, and a library prints nothing on the host: leave print and the traces "
                        "of its Funcs out");
      }
      if (argument.kind == KernelArgument::Kind::Texture) {
        throw UserError("kernel " + launch.kernel + " reads " + argument.buffer +
                        " as a texture, which a library has no support for: read it without textures");
      }
    }
  }
}

/// order[k]: the number in the plan of the k-th array of the C functions: inputs, then outputs as given.
std::vector<int> array_order(const Plan& plan, const std::vector<std::string>& outputs) {
  std::vector<int> order;
  for (std::size_t k = 0; k < plan.buffers.size(); ++k) {
    if (!plan.buffers[k].is_output) order.push_back(static_cast<int>(k));
  }
  for (const std::string& name : outputs) {
    const auto found =
        std::find_if(plan.buffers.begin(), plan.buffers.end(),
                     [&](const PlanBuffer& buffer) { return buffer.is_output && buffer.name == name; });
    internal_check(found != plan.buffers.end(), "a pipeline's output is in its plan");
    order.push_back(static_cast<int>(found - plan.buffers.begin()));
  }
  return order;
}

void add_device_code(llvm_backend::ExportedVariant& variant, const ExportOptions& options,
                     std::int64_t depth) {
  const std::vector<std::string> entries = llvm_backend::ptx_names(*variant.module);
  for (const PlanLaunch& launch : variant.prepared->plan().launches) {
    const auto& kernels = variant.module->kernels;
    const auto kernel = std::find_if(kernels.begin(), kernels.end(),
                                     [&](const ir::Kernel& k) { return k.name == launch.kernel; });
    internal_check(kernel != kernels.end(), "a launch names a kernel of its module");
    variant.entries.push_back(entries[static_cast<std::size_t>(kernel - kernels.begin())]);
  }
  variant.ptx =
      made_with_stack_for(depth, [&] { return llvm_backend::emit_ptx(*variant.module, options.sm, 0); });
  variant.cubin = exported::assemble(variant.ptx, options.sm);
}

std::string name_of(const std::string& stem, const ExportOptions& options) {
  std::string name =
      options.name.empty() ? std::filesystem::path(stem).filename().string() : options.name;
  exported::check_function_name(name);
  return name;
}

}  // namespace

std::vector<Variant> usual_variants(const std::vector<Func>& outputs, const Target& target) {
  const DefaultFloatMode mode;
  return usual(Lowering(outputs, target, {}));
}

std::vector<std::string> compile_to_library(const std::vector<Func>& outputs, const std::string& stem,
                                            const Target& target, const ExportOptions& options) {
  const DefaultFloatMode mode;
  if (target.backend == Backend::GpuEmulator || target.backend == Backend::HostChecked) {
    throw UserError((target.is_gpu() ? "the emulator runs" : "checked code for the host runs") +
                    std::string(" inside Mica only: export for Target::host() or a GPU"));
  }
  llvm_backend::ExportedPipeline pipeline;
  pipeline.name = name_of(stem, options);
  pipeline.cuda = target.backend == Backend::Cuda;
  pipeline.cpu = options.baseline_cpu ? llvm_backend::HostCpu::Baseline : llvm_backend::HostCpu::Native;
  pipeline.target = pipeline.cuda ? "cuda:" + std::to_string(options.sm) : "host";
  const Lowering lowered(outputs, target, options);
  pipeline.depth = lowered.plain().depth;
  for (const Variant& variant : options.variants.empty() ? usual(lowered) : options.variants) {
    pipeline.variants.push_back(lowered(variant));
    check_exportable(pipeline.variants.back().prepared->plan(), pipeline.cuda);
  }
  const Plan& plan = pipeline.variants.front().prepared->plan();
  pipeline.order = array_order(plan, output_names(lowered.plain()));
  for (auto& variant : pipeline.variants) {
    if (pipeline.cuda) add_device_code(variant, options, pipeline.depth);
  }
  const auto& first = pipeline.variants.front();
  if (pipeline.cuda) {
    pipeline.code =
        "sm_" + std::to_string(options.sm) + (first.cubin.empty() ? " PTX" : " cubin and PTX");
  } else {
    pipeline.code = llvm_backend::host_code_name(pipeline.cpu);
  }

  std::vector<llvm_backend::ArchiveMember> members = llvm_backend::export_objects(pipeline);
  for (auto& member : llvm_backend::archive_members(exported::runtime_archive())) {
    members.push_back(std::move(member));
  }
  const std::string library = stem + ".a";
  std::vector<exported::OutputFile> files = {{library, llvm_backend::make_archive(members)}};
  exported::HeaderFacts facts;
  if (pipeline.cuda) {
    files.push_back({stem + ".ptx", first.ptx});
    if (!first.cubin.empty()) files.push_back({stem + ".cubin", first.cubin});
    for (std::size_t i = 1; i < files.size(); ++i) {
      facts.beside.push_back(std::filesystem::path(files[i].path).filename().string());
    }
  }
  facts.name = pipeline.name;
  facts.library = std::filesystem::path(library).filename().string();
  facts.target = pipeline.target;
  facts.code = pipeline.code;
  facts.cuda = pipeline.cuda;
  facts.plan = &plan;
  facts.order = pipeline.order;
  facts.entries = first.entries;
  for (const auto& variant : pipeline.variants) facts.variants.push_back(variant.prepared->variant);
  files.push_back({stem + ".h", exported::c_header(facts)});
  exported::write_files(files);
  std::vector<std::string> names;
  for (const exported::OutputFile& file : files) names.push_back(file.path);
  if (options.shared) names.push_back(exported::link_shared(stem, pipeline.name, pipeline.cuda));
  return names;
}

std::vector<std::string> compile_to_library(const Func& output, const std::string& stem,
                                            const Target& target, const ExportOptions& options) {
  return compile_to_library(std::vector<Func>{output}, stem, target, options);
}

}  // namespace mica
