// The data of runtime/export/exported.h for a pipeline, and the functions of docs/export.md.
#include "codegen/llvm/export_objects.h"

#include <algorithm>
#include <iterator>

#include <llvm/IR/DerivedTypes.h>

#include "codegen/llvm/constant_data_llvm.h"
#include "codegen/llvm/emit_program_llvm.h"
#include "codegen/llvm/host_jit_llvm.h"
#include "codegen/llvm/types_llvm.h"
#include "runtime/cuda/huge_ptx.h"
#include "runtime/export/features.h"

namespace mica::llvm_backend {

namespace {

using llvm::Constant;
using List = std::vector<Constant*>;

std::string runtime_name(const std::string& function) { return MICA_RUNTIME_PREFIX + function; }

/// DLPack's code of a type, as MICA_INT and so on.
int type_code(Type type) {
  switch (type.code) {
    case TypeCode::Int: return 0;
    case TypeCode::UInt: return 1;
    case TypeCode::Float: return 2;
    case TypeCode::BFloat: return 4;
    case TypeCode::Bool: return 6;
  }
  throw InternalError("a type without a code");
}
int stored_bits(Type type) { return 8 * type.bytes(); }

std::string place_text(const SourceLocation& where) { return to_string(where); }

/// Pipeline::features of a CPU with these features, as LLVM writes them.
std::int64_t features_of(const std::string& cpu) {
#define MICA_FEATURE_NAME(name) name,
  constexpr const char* kNames[] = {MICA_CPU_FEATURES(MICA_FEATURE_NAME)};
#undef MICA_FEATURE_NAME
  std::int64_t bits = 0;
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    const std::string word = std::string("+") + kNames[i];
    if ((cpu + ",").find(word + ",") != std::string::npos) bits |= std::int64_t{1} << i;
  }
  return bits;
}

std::string kernel_name(const ExportedPipeline& pipeline, std::size_t variant,
                        const ir::Kernel& kernel) {
  return pipeline.name + ".v" + std::to_string(variant) + "." + kernel.name;
}

/// Writes one variant of Pipeline::variants.
class VariantWriter {
 public:
  VariantWriter(const ExportedPipeline& pipeline, std::size_t number, llvm::Module& module,
                ConstantData& data, const TargetFacts& facts)
      : pipeline_(pipeline),
        number_(number),
        module_(module),
        data_(data),
        facts_(facts),
        exported_(pipeline.variants[number]),
        prepared_(*exported_.prepared),
        plan_(prepared_.plan()) {}

  Constant* write() {
    const List temporaries = write_temporaries(), checks = write_checks();
    List launches, alignments;
    for (std::size_t l = 0; l < plan_.launches.size(); ++l) launches.push_back(write_launch(l));
    for (std::size_t a = 0; a < plan_.alignments.size(); ++a) {
      const PreparedPlan::Alignment& alignment = prepared_.alignments[a];
      alignments.push_back(
          data_.record({data_.i64(alignment.array), data_.i64(plan_.alignments[a].bytes),
                        data_.i64(want(alignment.at))}));
    }
    std::vector<WantedValue> holds, conditions;
    for (const PreparedPlan::Check& check : prepared_.checks) holds.push_back({&check.holds});
    for (const auto& choice : prepared_.choices) {
      for (const HostProgram& condition : choice) conditions.push_back({&condition});
    }
    const Variant& variant = prepared_.variant;
    const std::size_t most = std::max(
        {values_.size(), holds.size(), conditions.size(), 2 * static_cast<std::size_t>(kMaxDimensions)});
    return data_.record({data_.i64(variant.index32),
                         data_.i64(variant.aligned),
                         data_.i64(variant.grid3),
                         data_.i64(variant.unit_stride),
                         data_.i64(variant.separate),
                         write_inner(),
                         write_chosen(),
                         data_.i64(prepared_.first_scalar_slot),
                         data_.i64(prepared_.first_value_slot),
                         prepared_.values.empty() ? data_.null() : function(prepared_.values),
                         data_.i64(prepared_.symbols.size()),
                         data_.i64(static_cast<std::int64_t>(temporaries.size())),
                         data_.list(temporaries),
                         data_.i64(static_cast<std::int64_t>(checks.size())),
                         data_.list(checks),
                         function(holds),
                         data_.i64(static_cast<std::int64_t>(alignments.size())),
                         data_.list(alignments),
                         data_.i64(static_cast<std::int64_t>(launches.size())),
                         data_.list(launches),
                         data_.i64(static_cast<std::int64_t>(most)),
                         function(values_),
                         function(conditions),
                         exported_.cubin.empty() ? data_.null() : data_.text(exported_.cubin),
                         exported_.ptx.empty() ? data_.null() : data_.text(exported_.ptx),
                         data_.i64(is_huge_ptx(exported_.ptx))});
  }

 private:
  /// Adds values to those that the variant's launches need; the number of the first.
  std::int64_t want(const std::vector<HostProgram>& programs) {
    const auto first = static_cast<std::int64_t>(values_.size());
    for (const HostProgram& program : programs) values_.push_back({&program});
    return first;
  }
  std::int64_t want(const WantedValue& value) {
    values_.push_back(value);
    return static_cast<std::int64_t>(values_.size()) - 1;
  }

  Constant* function(const std::vector<WantedValue>& wanted) {
    return add_programs(module_, "values", wanted, facts_);
  }
  Constant* function(const std::vector<HostProgram>& programs) {
    std::vector<WantedValue> wanted;
    for (const HostProgram& program : programs) wanted.push_back({&program});
    return function(wanted);
  }

  Constant* write_inner() {
    if (prepared_.variant.inner.empty()) return data_.null();
    List all;
    for (const Variant::Inner& inner : prepared_.variant.inner) {
      all.push_back(data_.record({data_.i64(inner.stride), data_.i64(inner.unit)}));
    }
    return data_.list(all);
  }

  Constant* write_chosen() {
    const std::vector<std::uint8_t>& chosen = prepared_.variant.chosen;
    return data_.integers({chosen.begin(), chosen.end()});
  }

  List write_temporaries() {
    List all;
    for (std::size_t t = 0; t < plan_.temporaries.size(); ++t) {
      const PlanTemporary& temporary = plan_.temporaries[t];
      const PreparedPlan::Temporary& programs = prepared_.temporaries[t];
      std::vector<WantedValue> box;
      std::vector<std::int64_t> align;
      for (std::size_t d = 0; d < temporary.extents.size(); ++d) {
        box.push_back({&programs.mins[d]});
        box.push_back({&programs.extents[d]});
        align.push_back(d < temporary.align.size() ? temporary.align[d] : 1);
      }
      const int slot = prepared_.first_slot[plan_.buffers.size() + t];
      all.push_back(data_.record({data_.text(temporary.name), data_.text(place_text(temporary.where)),
                                  data_.i64(temporary.type.bytes()),
                                  data_.i64(static_cast<std::int64_t>(align.size())), data_.i64(slot),
                                  data_.integers(align), function(box)}));
    }
    return all;
  }

  List write_checks() {
    List all;
    for (std::size_t c = 0; c < plan_.checks.size(); ++c) {
      const PlanCheck& check = plan_.checks[c];
      std::vector<std::int64_t> codes;
      for (const HostProgram& value : prepared_.checks[c].values) {
        internal_check(!value.type().is_float(), "a check shows no floating-point numbers");
        codes.push_back(type_code(value.type()));
      }
      all.push_back(data_.record({data_.text(check.message), data_.text(place_text(check.where)),
                                  data_.i64(static_cast<std::int64_t>(codes.size())),
                                  data_.integers(codes), function(prepared_.checks[c].values)}));
    }
    return all;
  }

  Constant* write_argument(const KernelArgument& argument, const PreparedPlan::Argument& prepared) {
    enum : std::int64_t { kPointer, kScalar, kParam };
    if (prepared.array >= 0) {
      const std::int64_t at = prepared.at.empty() ? -1 : want(prepared.at);
      return data_.record({data_.i64(kPointer), data_.i64(prepared.array), data_.i64(at),
                           data_.i64(argument.written), data_.i64(0)});
    }
    const bool is_param = prepared.scalar >= 0;
    const std::int64_t value =
        is_param ? prepared.scalar : want(WantedValue{&prepared.value, argument.type});
    return data_.record({data_.i64(is_param ? kParam : kScalar), data_.i64(-1), data_.i64(-1),
                         data_.i64(0), data_.i64(value)});
  }

  Constant* write_launch(std::size_t number) {
    const PlanLaunch& launch = plan_.launches[number];
    const PreparedPlan::Launch& prepared = prepared_.launches[number];
    List arguments;
    for (std::size_t a = 0; a < launch.arguments.size(); ++a) {
      arguments.push_back(write_argument(launch.arguments[a], prepared.arguments[a]));
    }
    const std::int64_t when = prepared.when.defined() ? want(WantedValue{&prepared.when}) : -1;
    internal_check(!launch.on_device || prepared.grid.size() == 3, "a grid has three dimensions");
    const std::int64_t grid = want(prepared.grid);
    return data_.record({data_.text(launch.kernel), kernel_function(launch), data_.i64(when),
                         data_.i64(static_cast<std::int64_t>(arguments.size())), data_.list(arguments),
                         launch.on_device ? data_.text(exported_.entries[number]) : data_.null(),
                         data_.i64(static_cast<std::int64_t>(number)), data_.i64(grid),
                         data_.i64(launch.block[0]), data_.i64(launch.block[1]),
                         data_.i64(launch.block[2]), data_.i64(launch.shared_bytes)});
  }

  Constant* kernel_function(const PlanLaunch& launch) {
    if (launch.on_device) return data_.null();
    const auto& kernels = exported_.module->kernels;
    const auto kernel = std::find_if(kernels.begin(), kernels.end(),
                                     [&](const ir::Kernel& k) { return k.name == launch.kernel; });
    internal_check(kernel != kernels.end(), "a launch names a kernel of its module");
    auto* pointer = llvm::PointerType::get(module_.getContext(), 0);
    auto* type = llvm::FunctionType::get(llvm::Type::getInt64Ty(module_.getContext()), {pointer}, false);
    const std::string name = kernel_name(pipeline_, number_, *kernel);
    llvm::FunctionCallee callee = module_.getOrInsertFunction(name, type);
    auto* declared = llvm::cast<llvm::Function>(callee.getCallee());
    declared->setVisibility(llvm::GlobalValue::HiddenVisibility);
    return declared;
  }

  const ExportedPipeline& pipeline_;
  const std::size_t number_;
  llvm::Module& module_;
  ConstantData& data_;
  const TargetFacts& facts_;
  const ExportedVariant& exported_;
  const PreparedPlan& prepared_;
  const Plan& plan_;
  std::vector<WantedValue> values_;  // of Variant::launch_values
};

/// Writes the pipeline and the functions that a program calls.
class PipelineWriter {
 public:
  PipelineWriter(const ExportedPipeline& pipeline, llvm::Module& module, const HostTarget& target)
      : pipeline_(pipeline),
        module_(module),
        data_(module),
        target_(target),
        plan_(pipeline.variants.front().prepared->plan()),
        prepared_(*pipeline.variants.front().prepared) {}

  void write() {
    Constant* description = write_description();
    List variants;
    for (std::size_t v = 0; v < pipeline_.variants.size(); ++v) {
      variants.push_back(VariantWriter(pipeline_, v, module_, data_, target_.facts).write());
    }
    const List sharing = write_sharing();
    std::vector<std::int64_t> conditions;
    for (const PlanChoice& choice : plan_.choices) {
      conditions.push_back(static_cast<std::int64_t>(choice.conditions.size()));
    }
    Constant* pipeline = data_.placed(data_.record(
        {description, data_.i64(pipeline_.cuda), data_.list(write_arrays()),
         data_.i64(static_cast<std::int64_t>(sharing.size())), data_.list(sharing),
         data_.i64(static_cast<std::int64_t>(conditions.size())), data_.integers(conditions),
         data_.i64(static_cast<std::int64_t>(variants.size())), data_.list(variants), read_scalars(),
         data_.i64(features_of(target_.name)), data_.placed(data_.null(), /*constant=*/false)}));
    write_functions(description, pipeline);
  }

 private:
  [[nodiscard]] llvm::Type* pointer() const { return llvm::PointerType::get(module_.getContext(), 0); }
  [[nodiscard]] llvm::Type* integer(unsigned bits) const {
    return llvm::IntegerType::get(module_.getContext(), bits);
  }

  Constant* write_description() {
    List arrays, scalars;
    for (const int number : pipeline_.order) {
      const PlanBuffer& buffer = plan_.buffers[static_cast<std::size_t>(number)];
      arrays.push_back(data_.record({data_.text(buffer.name), data_.i32(buffer.dimensions),
                                     data_.i32(buffer.is_output),
                                     data_.u8(static_cast<std::uint8_t>(type_code(buffer.type))),
                                     data_.u8(static_cast<std::uint8_t>(stored_bits(buffer.type)))}));
    }
    for (const Plan::Scalar& scalar : plan_.scalars) {
      scalars.push_back(
          data_.record({data_.text(scalar.param->name),
                        data_.i64(static_cast<std::int64_t>(scalar.param->bits.load())),
                        data_.u8(static_cast<std::uint8_t>(type_code(scalar.param->type))),
                        data_.u8(static_cast<std::uint8_t>(stored_bits(scalar.param->type)))}));
    }
    return data_.placed(
        data_.record({data_.i32(1), data_.i32(static_cast<std::int32_t>(arrays.size())),
                      data_.i32(static_cast<std::int32_t>(scalars.size())), data_.text(MICA_VERSION),
                      data_.text(pipeline_.name), data_.text(pipeline_.target),
                      data_.text(pipeline_.code), data_.list(arrays), data_.list(scalars)}));
  }

  List write_arrays() {
    List arrays;
    for (std::size_t k = 0; k < plan_.buffers.size(); ++k) {
      const PlanBuffer& buffer = plan_.buffers[k];
      const auto place = std::find(pipeline_.order.begin(), pipeline_.order.end(), static_cast<int>(k));
      const std::string why = buffer.why_type.empty() ? "" : " (" + buffer.why_type + ")";
      arrays.push_back(data_.record(
          {data_.text(buffer.name), data_.text(why), data_.i64(type_code(buffer.type)),
           data_.i64(stored_bits(buffer.type)), data_.i64(buffer.type.bytes()),
           data_.i64(buffer.dimensions), data_.i64(buffer.is_output),
           data_.i64(place - pipeline_.order.begin()), data_.i64(prepared_.first_slot[k])}));
    }
    return arrays;
  }

  [[nodiscard]] std::int64_t array_named(const std::string& name) const {
    const auto found = std::find_if(plan_.buffers.begin(), plan_.buffers.end(),
                                    [&](const PlanBuffer& buffer) { return buffer.name == name; });
    return found - plan_.buffers.begin();
  }

  List write_sharing() {
    List sharing;
    for (const PlanSharing& pair : plan_.sharing) {
      sharing.push_back(
          data_.record({data_.i64(array_named(pair.output)), data_.i64(array_named(pair.input)),
                        data_.text(pair.obstacle), data_.text(place_text(pair.where))}));
    }
    return sharing;
  }

  /// void (const void* const* scalars, Value* symbols)
  Constant* read_scalars() {
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(module_.getContext()),
                                         {pointer(), pointer()}, false);
    auto* function =
        llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, "scalars", module_);
    Builder b(llvm::BasicBlock::Create(module_.getContext(), "entry", function));
    for (unsigned i = 0; i < plan_.scalars.size(); ++i) {
      const Type scalar = plan_.scalars[i].param->type;
      llvm::Value* at = b.CreateLoad(pointer(), b.CreateConstGEP1_64(pointer(), function->getArg(0), i));
      llvm::Value* bits = b.CreateLoad(memory_type(module_.getContext(), scalar), at);
      b.CreateStore(unpack_value(b, target_.facts, scalar, bits),
                    b.CreateConstGEP1_64(integer(64), function->getArg(1), i));
    }
    b.CreateRetVoid();
    return function;
  }

  llvm::Function* exported_function(const std::string& tail, llvm::Type* result,
                                    const std::vector<llvm::Type*>& params) {
    auto* type = llvm::FunctionType::get(result, params, false);
    return llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, pipeline_.name + tail,
                                  module_);
  }

  /// A function of runtime/export.
  llvm::FunctionCallee runtime_function(const std::string& name, llvm::Type* result,
                                        const std::vector<llvm::Type*>& params) {
    llvm::FunctionCallee callee =
        module_.getOrInsertFunction(runtime_name(name), llvm::FunctionType::get(result, params, false));
    llvm::cast<llvm::Function>(callee.getCallee())->setVisibility(llvm::GlobalValue::HiddenVisibility);
    return callee;
  }

  Constant* backend() {
    auto* global = new llvm::GlobalVariable(  // the module owns it
        module_, integer(8), /*isConstant=*/true, llvm::GlobalValue::ExternalLinkage, nullptr,
        runtime_name(pipeline_.cuda ? "cuda" : "host"));
    global->setVisibility(llvm::GlobalValue::HiddenVisibility);
    return global;
  }

  void write_functions(Constant* description, Constant* pipeline) {
    llvm::Type *p = pointer(), *i32 = integer(32), *i64 = integer(64);
    llvm::FunctionCallee run = runtime_function("run", i32, {p, p, p, p, p, p, i64});
    Constant* where = backend();
    llvm::Function* call = exported_function("_call", i32, {p, p, p, p, i64});
    {
      Builder b(llvm::BasicBlock::Create(module_.getContext(), "entry", call));
      b.CreateRet(b.CreateCall(run, {pipeline, where, call->getArg(0), call->getArg(1), call->getArg(2),
                                     call->getArg(3), call->getArg(4)}));
    }
    write_typed(run, pipeline, where);
    llvm::Function* describe = exported_function("_describe", p, {});
    Builder(llvm::BasicBlock::Create(module_.getContext(), "entry", describe)).CreateRet(description);
    llvm::Function* error = exported_function("_error", p, {});
    {
      Builder b(llvm::BasicBlock::Create(module_.getContext(), "entry", error));
      b.CreateRet(b.CreateCall(runtime_function("error", p, {}), {}));
    }
    if (pipeline_.cuda) return;
    llvm::Type* nothing = llvm::Type::getVoidTy(module_.getContext());
    llvm::Function* set = exported_function("_set_parallel_for", nothing, {p, p});
    Builder b(llvm::BasicBlock::Create(module_.getContext(), "entry", set));
    b.CreateCall(runtime_function("set_loop_runner", nothing, {p, p}), {set->getArg(0), set->getArg(1)});
    b.CreateRetVoid();
  }

  /// The function of the pipeline's name: buffers, scalars by value and, with CUDA, a stream.
  void write_typed(llvm::FunctionCallee run, Constant* pipeline, Constant* where) {
    const std::size_t buffers = pipeline_.order.size(), scalars = plan_.scalars.size();
    std::vector<llvm::Type*> params(buffers, pointer());
    for (const Plan::Scalar& scalar : plan_.scalars) {
      params.push_back(memory_type(module_.getContext(), scalar.param->type));
    }
    if (pipeline_.cuda) params.push_back(pointer());
    llvm::Function* function = exported_function("", integer(32), params);
    Builder b(llvm::BasicBlock::Create(module_.getContext(), "entry", function));
    const auto addresses = [&](std::size_t count) {
      return b.CreateAlloca(llvm::ArrayType::get(pointer(), std::max<std::size_t>(count, 1)));
    };
    llvm::Value* given = addresses(buffers);
    llvm::Value* values = addresses(scalars);
    for (unsigned i = 0; i < buffers; ++i) {
      b.CreateStore(function->getArg(i), b.CreateConstGEP1_64(pointer(), given, i));
    }
    for (unsigned i = 0; i < scalars; ++i) {
      llvm::Value* value = function->getArg(static_cast<unsigned>(buffers) + i);
      llvm::Value* held = b.CreateAlloca(value->getType());
      b.CreateStore(value, held);
      b.CreateStore(held, b.CreateConstGEP1_64(pointer(), values, i));
    }
    llvm::Value* stream = pipeline_.cuda
                              ? static_cast<llvm::Value*>(function->getArg(function->arg_size() - 1))
                              : data_.null();
    b.CreateRet(
        b.CreateCall(run, {pipeline, where, given, values, stream, data_.null(), b.getInt64(0)}));
  }

  const ExportedPipeline& pipeline_;
  llvm::Module& module_;
  ConstantData data_;
  const HostTarget& target_;
  const Plan& plan_;
  const PreparedPlan& prepared_;
};

/// What a library is linked to under names of its own: a program may also hold Mica, and several
/// libraries.
void use_runtime(llvm::Module& module) {
  for (const char* name : {"parallel_for", "allocate", "free"}) {
    llvm::Function* function = module.getFunction(std::string("mica_") + name);
    if (function == nullptr) continue;
    function->setName(runtime_name(name));
    function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  }
}

}  // namespace

std::string host_code_name(HostCpu cpu) {
  return cpu == HostCpu::Native ? host_cpu_name() : "every 64-bit CPU of the family";
}

std::vector<ArchiveMember> export_objects(const ExportedPipeline& pipeline) {
  HostTarget target(pipeline.cuda ? HostCpu::Baseline : pipeline.cpu);
  target.guarded = false;
  std::vector<ArchiveMember> members;
  members.push_back(
      {pipeline.name + ".o", compile_object(pipeline.name, target, [&](llvm::Module& module) {
         PipelineWriter(pipeline, module, target).write();
       })});
  for (std::size_t v = 0; v < pipeline.variants.size() && !pipeline.cuda; ++v) {
    ObjectNames names;
    names.kernel = [&](const ir::Kernel& kernel) { return kernel_name(pipeline, v, kernel); };
    names.finish = [&](llvm::Module& module) {
      for (llvm::Function& function : module) {
        if (!function.isDeclaration() && function.hasExternalLinkage()) {
          function.setVisibility(llvm::GlobalValue::HiddenVisibility);
        }
      }
      use_runtime(module);
    };
    int part = 0;
    for (std::string& object :
         compile_objects(*pipeline.variants[v].module, target, pipeline.depth, names)) {
      members.push_back({pipeline.name + ".v" + std::to_string(v) + "." + std::to_string(part++) + ".o",
                         std::move(object)});
    }
  }
  return members;
}

}  // namespace mica::llvm_backend
