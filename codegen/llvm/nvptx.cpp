#include <algorithm>
#include <cctype>
#include <set>

#include <llvm/IR/CallingConv.h>
#include <llvm/IR/ConstantRange.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "codegen/llvm/backend.h"
#include "codegen/llvm/call_asm_llvm.h"
#include "codegen/llvm/emitter_llvm.h"
#include "codegen/llvm/kernel_function_llvm.h"
#include "codegen/llvm/nvptx_async_llvm.h"
#include "codegen/llvm/nvptx_llvm.h"
#include "codegen/llvm/nvptx_rows_llvm.h"
#include "codegen/llvm/types_llvm.h"

namespace mica::llvm_backend {

namespace {

constexpr unsigned kSharedAlignment = 128;  // bytes, of the dynamic array
constexpr unsigned kFrameAlignment = 16;    // bytes: the widest access
constexpr unsigned kMaxGridX = 2147483647;
constexpr unsigned kMaxGridYZ = 65535;

struct Axis {
  llvm::Intrinsic::ID read;
  unsigned end;  ///< values are below it
};

/// The special register of an axis name; `read` is 0 for other names.
Axis axis_register(const ir::Kernel& kernel, const std::string& name) {
  using ir::GpuAxis;
  const auto is = [&](GpuAxis axis) { return name == ir::kGpuAxisNames[static_cast<int>(axis)]; };
  const auto threads = [&](int d) { return static_cast<unsigned>(kernel.block[d]); };
  if (is(GpuAxis::ThreadX)) return {llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, threads(0)};
  if (is(GpuAxis::ThreadY)) return {llvm::Intrinsic::nvvm_read_ptx_sreg_tid_y, threads(1)};
  if (is(GpuAxis::ThreadZ)) return {llvm::Intrinsic::nvvm_read_ptx_sreg_tid_z, threads(2)};
  if (is(GpuAxis::BlockX)) return {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, kMaxGridX};
  if (is(GpuAxis::BlockY)) return {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y, kMaxGridYZ};
  if (is(GpuAxis::BlockZ)) return {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z, kMaxGridYZ};
  return {llvm::Intrinsic::not_intrinsic, 0};
}

llvm::Value* read_axis(Emitter& emitter, const ir::Kernel& kernel, const std::string& name) {
  const Axis axis = axis_register(kernel, name);
  if (axis.read == llvm::Intrinsic::not_intrinsic) return nullptr;
  if (axis.end == 1) return emitter.builder().getInt32(0);
  llvm::CallInst* value = emitter.builder().CreateIntrinsic(axis.read, {});
  value->addRangeRetAttr(llvm::ConstantRange(llvm::APInt(32, 0), llvm::APInt(32, axis.end)));
  return value;
}

constexpr int kWarpThreads = 32;

/// Threads of one warp meet as a warp, which costs a fraction of the block's barrier.
void emit_barrier(Emitter& emitter, const ir::Kernel& kernel) {
  Builder& b = emitter.builder();
  const std::int64_t threads = std::int64_t{kernel.block[0]} * kernel.block[1] * kernel.block[2];
  if (threads <= kWarpThreads) {
    const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << threads) - 1);
    b.CreateIntrinsic(llvm::Intrinsic::nvvm_bar_warp_sync, {b.getInt32(mask)});
  } else {
    b.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all, {b.getInt32(0)});
  }
}

void emit_named_barrier(Emitter& emitter, const ir::NamedBarrier& barrier, llvm::Value* number) {
  const llvm::Intrinsic::ID id = barrier.waits ? llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_count
                                               : llvm::Intrinsic::nvvm_barrier_cta_arrive_aligned_count;
  Builder& b = emitter.builder();
  b.CreateIntrinsic(id, {number, b.getInt32(static_cast<std::uint32_t>(barrier.threads))});
}

void emit_cluster_barrier(Emitter& emitter) {
  emitter.builder().CreateIntrinsic(llvm::Intrinsic::nvvm_barrier_cluster_arrive_aligned, {});
  emitter.builder().CreateIntrinsic(llvm::Intrinsic::nvvm_barrier_cluster_wait_aligned, {});
}

llvm::Value* cluster_memory(Emitter& emitter, llvm::Value* base, llvm::Value* block) {
  return emitter.builder().CreateIntrinsic(llvm::Intrinsic::nvvm_mapa_shared_cluster, {base, block});
}

constexpr const char* kSharedName = "mica_shared";
constexpr const char* kPrintName = "vprintf";

/// The dynamic shared memory of the module's kernels; its size comes with a launch.
llvm::GlobalVariable* shared_array(llvm::Module& module) {
  if (llvm::GlobalVariable* found = module.getNamedGlobal(kSharedName)) return found;
  auto* bytes = llvm::ArrayType::get(llvm::Type::getInt8Ty(module.getContext()), 0);
  auto* array = new llvm::GlobalVariable(  // the module owns it
      module, bytes, /*isConstant=*/false, llvm::GlobalValue::ExternalLinkage, nullptr, kSharedName,
      nullptr, llvm::GlobalValue::NotThreadLocal, kSharedSpace);
  array->setAlignment(llvm::Align(kSharedAlignment));
  return array;
}

BufferBinding allocate(Emitter& emitter, const std::vector<ir::SharedSlot>& layout,
                       const ir::Allocate& a) {
  BufferBinding binding{nullptr, a.type, false, a.memory};
  switch (a.memory) {
    case MemoryType::Shared: {
      const auto slot = std::find_if(layout.begin(), layout.end(),
                                     [&](const ir::SharedSlot& s) { return s.buffer == a.buffer; });
      binding.base = llvm::ConstantExpr::getGetElementPtr(
          emitter.builder().getInt8Ty(), shared_array(emitter.module()),
          emitter.builder().getInt64(static_cast<std::uint64_t>(slot->offset)));
      return binding;
    }
    case MemoryType::Stack:
    case MemoryType::Register:
      binding.base =
          emitter.frame_memory(memory_type(emitter.context(), a.type),
                               std::max<std::int64_t>(ir::element_count(a), 1), kFrameAlignment);
      return binding;
    case MemoryType::Auto:
    case MemoryType::Heap: break;
  }
  throw InternalError("allocation " + a.buffer + " in a GPU kernel is neither shared nor a thread's");
}

TargetHooks make_hooks(const ir::Kernel& kernel, const std::vector<ir::SharedSlot>& layout) {
  TargetHooks hooks;
  hooks.facts = {.native_half = true,
                 .narrows_to_bfloat = true,
                 .native_f64_minimum = false,
                 .small_accesses = true,
                 .few_conditions = true,
                 .load_registers = 32,
                 .value_registers = kGpuValueRegisters,
                 .atomic_scope = "device"};
  hooks.axis = [&](Emitter& e, const std::string& name) { return read_axis(e, kernel, name); };
  hooks.print_function = kPrintName;
  hooks.print_lines = nullptr;
  hooks.barrier = [&](Emitter& e) { emit_barrier(e, kernel); };
  hooks.named_barrier = emit_named_barrier;
  hooks.cluster_barrier = emit_cluster_barrier;
  hooks.cluster_memory = cluster_memory;
  hooks.allocate = [&](Emitter& e, const ir::Allocate& a) { return allocate(e, layout, a); };
  add_async_hooks(hooks);
  add_row_hooks(hooks, static_cast<int>(kernel.block[0]));
  return hooks;
}

}  // namespace

std::vector<std::string> ptx_names(const std::vector<std::string>& kernels) {
  std::vector<std::string> names;
  std::set<std::string> taken{kSharedName, kPrintName};
  for (const std::string& kernel : kernels) {
    std::string name;
    for (const char c : kernel) {
      const auto byte = static_cast<unsigned char>(c);
      if ((byte & 0xc0) == 0x80) continue;  // a character's further bytes
      const bool legal = byte < 0x80 && (std::isalnum(byte) != 0 || c == '_' || c == '$');
      name += legal ? c : '_';
    }
    // PTX takes _ and $ as a first character, not as the only one.
    const bool lone = name == "_" || name == "$";
    if (name.empty() || lone || std::isdigit(static_cast<unsigned char>(name[0])) != 0)
      name = "_" + name;
    if (name == "_") name = "__";
    std::string free = name;
    for (int count = 2; !taken.insert(free).second; ++count) free = name + "_" + std::to_string(count);
    names.push_back(free);
  }
  return names;
}

std::vector<std::string> ptx_names(const ir::Module& module) {
  std::vector<std::string> kernels;
  for (const ir::Kernel& kernel : module.kernels) {
    if (kernel.on_device) kernels.push_back(kernel.name);
  }
  return ptx_names(kernels);
}

std::string ptx_name(const std::string& kernel) {
  return ptx_names(std::vector<std::string>{kernel}).front();
}

void add_nvptx_kernel(llvm::Module& module, const ir::Kernel& kernel, const std::string& name, int sm,
                      SourceLines* lines) {
  std::vector<FunctionParam> params = params_of(kernel);
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (kernel.params[i].texture) params[i] = {params[i].name, UInt(64), false, false, {}};
  }
  llvm::Function* function = make_function(module, name, params, kGlobalSpace);
  function->setCallingConv(llvm::CallingConv::PTX_Kernel);
  function->addFnAttr("nvvm.maxntid", std::to_string(kernel.block[0]) + "," +
                                          std::to_string(kernel.block[1]) + "," +
                                          std::to_string(kernel.block[2]));
  // Without a promise ptxas guesses at an occupancy to aim for, and spills for it.
  function->addFnAttr("nvvm.minctasm", std::to_string(std::max(kernel.min_blocks, 1)));
  if (kernel.max_registers > 0) {
    function->addFnAttr("nvvm.maxnreg", std::to_string(kernel.max_registers));
  }
  if (ir::cluster_blocks(kernel) > 1) {
    function->addFnAttr("nvvm.cluster_dim", std::to_string(kernel.cluster[0]) + "," +
                                                std::to_string(kernel.cluster[1]) + "," +
                                                std::to_string(kernel.cluster[2]));
  }
  const std::vector<ir::SharedSlot> layout = ir::shared_layout(kernel);
  TargetHooks hooks = make_hooks(kernel, layout);
  hooks.lines = lines;
  auto* entry = llvm::BasicBlock::Create(module.getContext(), "entry", function);
  Emitter emitter(*function, *entry, hooks);
  if (kernel.overlapped && sm >= kOverlapSm) {
    Builder& b = emitter.builder();
    call_asm(b, b.getVoidTy(), "griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;", "", {},
             true);
  }
  bind_params(emitter, params);
  for (const ir::KernelParam& p : kernel.params) {
    if (!p.texture) continue;
    emitter.bind(p.name, BufferBinding{emitter.find(p.name), p.type, true, MemoryType::Heap,
                                       emitter.find(ir::texture_origin(p.name))});
  }
  emitter.emit_body(kernel.body);
  emitter.builder().CreateRetVoid();
}

}  // namespace mica::llvm_backend
