#include "codegen/pipeline_variants.h"

#include "dsl/pipeline/func_graph.h"
#include "dsl/pipeline/pipeline.h"
#include "runtime/cuda/gpu_facts.h"

namespace mica {

Pipeline pipeline_of(const std::vector<Func>& outputs, const Chosen& chosen) {
  return make_pipeline(functions_of(outputs), chosen);
}

Pipelines pipelines_of(const std::vector<Func>& outputs) {
  constexpr std::size_t kMost = 16;
  const Pipeline plain = pipeline_of(outputs);
  std::size_t count = 1;
  bool exact = true;
  for (const auto& choice : plain.choices) {
    exact = count < std::size_t{1} << 32;
    if (exact) count *= choice.size() + 1;
  }
  if (count > kMost) {
    throw UserError(std::string("the specializations of this pipeline have ") +
                    (exact ? "" : "more than ") + std::to_string(count) + " combinations; at most " +
                    std::to_string(kMost) +
                    " are possible: leave some out, or compile Funcs of their own");
  }
  Pipelines all;
  Chosen chosen;
  for (std::size_t i = 0; i < count; ++i) {
    all.emplace(chosen, i == 0 ? plain : pipeline_of(outputs, chosen));
    chosen.resize(plain.choices.size());
    for (std::size_t c = 0; c < chosen.size() && ++chosen[c] > plain.choices[c].size(); ++c) {
      chosen[c] = 0;
    }
  }
  return all;
}

DeviceLimits device_limits(const Target& target) {
  DeviceLimits limits;
  if (target.is_gpu()) limits.shared_bytes = gpu_facts(target).max_shared_per_block_optin;
  return limits;
}

ir::Module part_of(const ir::Module& module, bool on_device) {
  ir::Module part;
  part.name = module.name;
  for (const auto& kernel : module.kernels) {
    if (kernel.on_device == on_device) part.kernels.push_back(kernel);
  }
  return part;
}

std::vector<std::string> output_names(const Pipeline& pipeline) {
  std::vector<std::string> names;
  for (const auto& name : pipeline.outputs) {
    const FunctionData& func = *pipeline.find(name);
    for (std::size_t i = 0; i < func.types.size(); ++i) {
      names.push_back(storage_name(name, static_cast<int>(i), func.types.size()));
    }
  }
  return names;
}

}  // namespace mica
