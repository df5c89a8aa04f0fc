#include "codegen/passes/loops/split_host_device.h"

#include <algorithm>
#include <map>
#include <set>

#include "codegen/analysis/shared_arrays.h"
#include "codegen/analysis/simplify.h"
#include "codegen/ir/traverse.h"
#include "dsl/expr/names.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::passes {
namespace {

// Local memory of a thread (CUDA C++ Programming Guide, "Technical Specifications per Compute
// Capability").
constexpr std::int64_t kMostThreadBytes = 512 * 1024;

// Free variables and parameter arrays of a nest, in order of first use.
class FreeNames {
 public:
  struct Array {
    std::string name;
    Type type;
    bool written = false;
  };
  std::vector<std::pair<std::string, Type>> scalars;
  std::vector<Array> arrays;

  void run(const ir::Stmt& s) {
    if (!s.defined()) return;
    if (const auto* loop = s.as<ir::For>()) {
      run(loop->min), run(loop->extent);
      return with(loop->name, [&] { run(loop->body); });
    }
    if (const auto* let = s.as<ir::LetStmt>()) {
      run(let->value);
      return with(let->name, [&] { run(let->body); });
    }
    if (const auto* alloc = s.as<ir::Allocate>()) {
      for (const auto& e : alloc->mins) run(e);
      for (const auto& e : alloc->extents) run(e);
      auto added = local_.emplace(alloc->buffer, alloc->type).second;
      run(alloc->body);
      if (added) local_.erase(alloc->buffer);
      return;
    }
    if (const auto* store = s.as<ir::Store>()) array(store->buffer, store->value.type(), true);
    // What is copied into shared memory has the type that is there.
    if (const auto* copy = s.as<ir::AsyncCopy>()) array(copy->from, local_.at(copy->to), false);
    if (const auto* copy = s.as<ir::BulkCopy>()) array(copy->from, local_.at(copy->to), false);
    ir::for_each_child(
        s, [this](const ir::Stmt& child) { run(child); }, [this](const Expr& e) { run(e); });
  }

 private:
  void run(const Expr& e) {
    visited_ = {};
    visit(e);
  }
  template <typename Fn>
  void with(const std::string& name, const Fn& body) {
    bool added = bound_.insert(name).second;
    body();
    if (added) bound_.erase(name);
  }

  void visit(const Expr& e) {
    if (const auto* var = e.as<VarRef>()) {
      if (bound_.count(var->name) || is_axis(var->name)) return;
      auto known = [&](const auto& s) { return s.first == var->name; };
      if (std::none_of(scalars.begin(), scalars.end(), known)) {
        scalars.emplace_back(var->name, e.type().element());
      }
      return;
    }
    if (!visited_.enter(e)) return;
    if (const auto* let = e.as<Let>()) {
      visit(let->value);
      // Names bound here may be free elsewhere.
      VisitedNodes outside = visited_;
      with(let->name, [&] { visit(let->body); });
      visited_ = std::move(outside);
      return;
    }
    if (const auto* load = e.as<Load>()) array(load->buffer, e.type(), false);
    for_each_child(e, [this](const Expr& child) { visit(child); });
  }

  void array(const std::string& name, Type type, bool written) {
    if (local_.count(name)) return;
    for (auto& a : arrays) {
      if (a.name == name) {
        a.written = a.written || written;
        return;
      }
    }
    arrays.push_back({name, type.element(), written});
  }

  static bool is_axis(const std::string& name) {
    return std::any_of(std::begin(ir::kGpuAxisNames) + 1, std::end(ir::kGpuAxisNames),
                       [&](const char* axis) { return name == axis; });
  }

  VisitedNodes visited_;  // of the expression at hand
  std::set<std::string> bound_;
  std::map<std::string, Type> local_;  // arrays allocated around, with their elements' types
};

// How many registers a thread may have so that a block can start. They are given to warps, 8 a thread at
// a time (CUDA Occupancy Calculator); ptxas looks at the block's size only where no number is asked for.
int registers_of_thread(const int (&block)[3], const DeviceLimits& limits) {
  constexpr int kWarp = 32, kUnit = 8;
  const int warps = (block[0] * block[1] * block[2] + kWarp - 1) / kWarp;
  return limits.registers / (warps * kWarp) / kUnit * kUnit;
}

// May the array be the same memory as another that the kernel uses?
bool may_be_shared(const Program& program, const std::string& array) {
  if (program.options.variant.separate) return false;
  const auto& pairs = program.plan.sharing;
  return std::any_of(pairs.begin(), pairs.end(), [&](const PlanSharing& pair) {
    return pair.obstacle.empty() && (pair.output == array || pair.input == array);
  });
}

void add_scalar(Nest& nest, PlanLaunch& launch, const std::string& name, Type type) {
  for (const auto& p : nest.kernel.params) {
    if (p.name == name) return;
  }
  ir::KernelParam param;
  param.name = name;
  param.type = type;
  nest.kernel.params.push_back(param);
  KernelArgument argument;
  argument.name = name;
  argument.type = type;
  argument.value = make_var(name, type);
  launch.arguments.push_back(argument);
}

// Does the code print lines?
bool prints(const ir::Stmt& body) {
  bool found = false;
  ir::walk(body, nullptr, [&](const Expr& e) { found = found || e.as<Print>() != nullptr; });
  return found;
}

void add_print_lines(Nest& nest, PlanLaunch& launch) {
  ir::KernelParam param;
  param.name = ir::kPrintLines;
  param.type = Int(64);
  KernelArgument argument;
  argument.kind = KernelArgument::Kind::PrintLines;
  argument.name = param.name;
  argument.type = param.type;
  nest.kernel.params.push_back(std::move(param));
  launch.arguments.push_back(std::move(argument));
}

// The array parameter made last becomes a texture, with its origin after it.
void make_texture(Nest& nest, PlanLaunch& launch, const SourceLocation& where) {
  ir::KernelParam& param = nest.kernel.params.back();
  if (param.is_written || !ir::has_textures(param.type)) {
    throw UserError(nest.func + " cannot read " + param.name + ", an array of " + to_string(param.type) +
                        (param.is_written ? " that it also writes" : "") +
                        ", as a texture: textures are arrays of f32, i32 or u32 that are only read",
                    where);
  }
  param.texture = true;
  launch.arguments.back().kind = KernelArgument::Kind::Texture;
  ir::KernelParam origin;
  origin.name = ir::texture_origin(param.name);
  origin.type = Int(64);
  KernelArgument argument;
  argument.kind = KernelArgument::Kind::TextureOrigin;
  argument.name = origin.name;
  argument.buffer = param.name;
  argument.type = origin.type;
  nest.kernel.params.push_back(origin);
  launch.arguments.push_back(argument);
}

void add_array(const Program& program, Nest& nest, PlanLaunch& launch, const FreeNames::Array& array,
               const FuncSchedule& schedule) {
  ir::KernelParam param;
  param.name = array.name;
  param.type = array.type;
  param.is_pointer = true;
  param.is_written = array.written;
  param.read_only = schedule.read_only.count(array.name) > 0;
  param.shared = may_be_shared(program, array.name);
  nest.kernel.params.push_back(param);
  KernelArgument argument;
  argument.kind = KernelArgument::Kind::Pointer;
  argument.name = argument.buffer = array.name;
  argument.type = array.type;
  argument.written = array.written;
  if (const auto folded = nest.origins.find(array.name); folded != nest.origins.end()) {
    argument.at = folded->second;
  }
  launch.arguments.push_back(argument);
}

/// Where coordinates are checked against every array's box.
void add_boxes(const Program& program, Nest& nest, PlanLaunch& launch, const FreeNames& names) {
  for (const auto& array : names.arrays) {
    for (std::size_t d = 0; d < kind_of(program.plan, array.name).rank; ++d) {
      add_scalar(nest, launch, symbol_name(array.name, BufferField::Min, d), Int(32));
      add_scalar(nest, launch, symbol_name(array.name, BufferField::Extent, d), Int(32));
    }
  }
}

void size_blocks(const Program& program, const Nest& nest, PlanLaunch& launch,
                 const SourceLocation& where) {
  launch.grid = nest.grid;
  for (int i = 0; i < 3; ++i) launch.block[i] = nest.kernel.block[i];
  const std::int64_t shared_bytes = ir::shared_bytes(nest.kernel);
  if (shared_bytes > program.options.limits.shared_bytes) {
    throw UserError("a block of " + nest.func + " needs " + std::to_string(shared_bytes) +
                        " bytes of shared memory, and the device allows " +
                        std::to_string(program.options.limits.shared_bytes) + ": " +
                        analysis::shared_arrays(nest.body) +
                        "; use smaller tiles, fewer planes ahead, or stage fewer arrays",
                    where);
  }
  launch.shared_bytes = static_cast<int>(shared_bytes);
  if (const std::int64_t own = ir::thread_bytes(nest.body); own > kMostThreadBytes) {
    throw UserError("a thread of " + nest.func + " keeps " + std::to_string(own) +
                        " bytes for itself, and a GPU's thread has at most " +
                        std::to_string(kMostThreadBytes) + ": " + analysis::thread_arrays(nest.body) +
                        "; compute fewer points a thread, or in shared memory for the whole block",
                    where);
  }
}

PlanLaunch launch_of(const Program& program, Nest& nest) {
  const FunctionData& func = *program.pipeline.find(nest.func);
  const FuncSchedule& schedule = schedule_of(program, func);
  nest.kernel.on_device = nest.on_device;
  nest.kernel.body = nest.body;
  nest.kernel.min_blocks = schedule.min_blocks;
  nest.kernel.overlapped = nest.on_device && program.options.variant.overlapped;
  nest.kernel.max_registers =
      std::min(schedule.max_registers, registers_of_thread(nest.kernel.block, program.options.limits));

  FreeNames names;
  names.run(nest.body);
  PlanLaunch launch;
  launch.kernel = nest.kernel.name;
  launch.on_device = nest.on_device;
  for (const auto& array : names.arrays) {
    add_array(program, nest, launch, array, schedule);
    if (nest.on_device && nest.textures.count(array.name)) make_texture(nest, launch, func.where);
  }
  for (const auto& [name, type] : names.scalars) add_scalar(nest, launch, name, type);
  const bool on_cpu = !nest.on_device || program.options.target.backend == Backend::GpuEmulator;
  if (on_cpu && prints(nest.body)) add_print_lines(nest, launch);
  const Backend checked = nest.on_device ? Backend::GpuEmulator : Backend::HostChecked;
  if (program.options.target.backend == checked) add_boxes(program, nest, launch, names);
  if (nest.on_device) size_blocks(program, nest, launch, func.where);
  // Nothing to do for an empty box.
  const std::string array = storage_name(func.name, 0, func.types.size());
  for (std::size_t d = 0; d < func.args.size(); ++d) {
    Expr some = extent_symbol(array, d) > 0;
    launch.when = launch.when.defined() ? launch.when && some : some;
  }
  return launch;
}

}  // namespace

void split_host_device(Program& program) {
  for (auto& nest : program.nests) program.plan.launches.push_back(launch_of(program, nest));
}

}  // namespace mica::passes
