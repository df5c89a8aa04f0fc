// NestBuilder: Funcs computed inside another's loops — their boxes, memory and cooperative filling.
#include <algorithm>

#include "codegen/passes/infer_bounds.h"
#include "codegen/passes/nest_builder.h"
#include "codegen/passes/nest_frame.h"
#include "dsl/traverse.h"

namespace mica::passes {

using analysis::Box;

namespace {

constexpr std::int64_t kStackBytes = 65536;
constexpr std::int64_t kUnrolledSteps = 16;

Expr constant(std::int64_t value) { return make_const(Int(32), value); }

Expr both(const Expr& a, const Expr& b) {
  if (!a.defined()) return b;
  return b.defined() ? a && b : a;
}

// The size of a box inside a block; UserError where it varies.
std::vector<std::int64_t> constant_extents(const FunctionData& func, const Box& box,
                                           const SourceLocation& where) {
  std::vector<std::int64_t> extents;
  for (std::size_t d = 0; d < box.size(); ++d) {
    auto count = analysis::constant_extent(box[d]);
    if (!count) {
      throw UserError("inside a block, " + func.name + " needs indices " + to_string(box[d].min) +
                          " to " + to_string(box[d].max) + " of dimension " + std::to_string(d) + " (" +
                          func.args[d] + "), whose number is not constant; split " + func.args[d] +
                          " by a constant in its consumer, or compute_root " + func.name,
                      where);
    }
    extents.push_back(*count);
  }
  return extents;
}

}  // namespace

bool NestBuilder::Frame::uses_loop(const Expr& e, const std::string& loop) { return uses_var(e, loop); }

int NestBuilder::position_of(const Frame& frame, const std::string& dim) const {
  const auto& loops = frame.vars.loops();
  for (std::size_t i = 0; i < loops.size(); ++i) {
    // A staged source names no loop: it belongs to the innermost block loop.
    if (dim.empty() ? loops[i].kind == LoopKind::GpuBlock : loops[i].dim == dim) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

int NestBuilder::loop_of(const Frame& frame, const std::string& func, bool storage) const {
  std::string at = func;
  for (std::size_t steps = 0; steps <= program_.placement.size(); ++steps) {
    auto it = program_.placement.find(at);
    if (it == program_.placement.end() || it->second.level != Placement::Level::At) return -1;
    const Placement& p = it->second;
    const LoopLevel& level = storage && at == func && p.store ? *p.store : p.compute;
    if (level.func == frame.func.name) return position_of(frame, level.var);
    at = level.func;
  }
  return -1;
}

std::map<std::string, Box> NestBuilder::boxes_at(const Frame& frame, std::size_t position) const {
  const Definition& definition = frame.func.definitions[frame.index];
  analysis::Scope own;
  for (const auto& [dim, root] : frame.vars.roots()) own[dim] = frame.vars.interval(dim, frame.fixed);

  std::map<std::string, Box> boxes;
  const auto& funcs = program_.pipeline.funcs;
  auto inside = [&](const std::string& name) {
    int at = loop_of(frame, name, false);
    return at >= 0 && at <= static_cast<int>(position);
  };
  for (auto it = funcs.rbegin(); it != funcs.rend(); ++it) {
    const FunctionData& func = **it;
    if (!inside(func.name)) continue;
    Box box = analysis::accessed_box(definition, func.name, own);
    for (const auto& [consumer_name, consumer_box] : boxes) {
      const FunctionData& consumer = find(consumer_name);
      for (const auto& d : consumer.definitions) {
        unite(box, analysis::accessed_box(d, func.name,
                                          analysis::definition_scope(consumer, d, consumer_box)));
      }
    }
    if (!box.empty()) boxes[func.name] = with_updates(func, box);
  }
  return boxes;
}

ir::Stmt NestBuilder::place_funcs(Frame& frame, std::size_t position, const NestContext& context,
                                  const std::function<ir::Stmt()>& rest) const {
  std::vector<const FunctionData*> computed, stored;
  for (const auto& func : program_.pipeline.funcs) {
    const Placement& p = program_.placement.at(func->name);
    if (p.level != Placement::Level::At) continue;
    const int at = static_cast<int>(position);
    bool computed_here = p.compute.func == frame.func.name && position_of(frame, p.compute.var) == at;
    const LoopLevel& store = p.store ? *p.store : p.compute;
    bool stored_here = store.func == frame.func.name && position_of(frame, store.var) == at;
    if (computed_here) computed.push_back(func.get());
    if (stored_here) {
      check_storage_level(frame, *func, position);
      stored.push_back(func.get());
    }
  }
  ir::Stmt body = rest();
  if (computed.empty() && stored.empty()) return body;

  const auto boxes = boxes_at(frame, position);
  // Consumers stand last: build from the last producer outwards.
  for (auto it = computed.rbegin(); it != computed.rend(); ++it) {
    auto box = boxes.find((*it)->name);
    if (box == boxes.end()) continue;  // this definition does not read it
    body = ir::make_block({build_func(**it, box->second, context), body});
    auto here = std::find(stored.begin(), stored.end(), *it);
    if (here == stored.end()) continue;
    body = allocate(**it, box->second, context, body);
    stored.erase(here);
  }
  for (const FunctionData* func : stored) {
    auto box = boxes.find(func->name);
    if (box != boxes.end()) body = allocate(*func, box->second, context, body);
  }
  return body;
}

// Iterations that run at once would fill one another's storage.
void NestBuilder::check_storage_level(const Frame& frame, const FunctionData& func,
                                      std::size_t position) const {
  const int compute = loop_of(frame, func.name, false);
  for (int i = compute; i >= 0 && i < static_cast<int>(position); ++i) {
    const LoopVars::Loop& loop = frame.vars.loops()[static_cast<std::size_t>(i)];
    if (loop.kind == LoopKind::Serial || loop.kind == LoopKind::Unrolled) continue;
    throw UserError(
        "store_at(" + frame.func.name + ", " + frame.vars.loops()[position].dim + ") of " + func.name +
            ": the " + to_string(loop.kind) + " loop " + loop.dim +
            " stands between the storage and the computation, and its iterations would share the "
            "storage; store inside it, or make it serial",
        program_.placement.at(func.name).where);
  }
}

ir::Stmt NestBuilder::allocate(const FunctionData& func, const Box& box, const NestContext& context,
                               const ir::Stmt& body) const {
  const Placement& placement = program_.placement.at(func.name);
  std::vector<Expr> mins, extents;
  std::int64_t elements = 1;
  bool fixed_size = true;
  for (std::size_t d = 0; d < box.size(); ++d) {
    auto count = analysis::constant_extent(box[d]);
    const int align = storage_alignment(func, d, 1);
    if (count) count = (*count + align - 1) / align * align;
    mins.push_back(box[d].min);
    extents.push_back(count ? constant(*count)
                      : align == 1
                          ? analysis::extent_of(box[d])
                          : simplify((analysis::extent_of(box[d]) + (align - 1)) / align * align));
    if (count) elements *= *count;
    fixed_size = fixed_size && count.has_value();
  }
  if (context.in_block) constant_extents(func, box, placement.where);
  MemoryType memory = placement.memory;
  std::int64_t bytes = 0;
  for (const auto& type : func.types) bytes += elements * type.bytes();
  if (memory == MemoryType::Auto) {
    if (context.in_thread) {
      memory = MemoryType::Register;
    } else if (context.in_block) {
      memory = MemoryType::Shared;
    } else {
      memory = fixed_size && bytes <= kStackBytes ? MemoryType::Stack : MemoryType::Heap;
    }
  }
  if (context.in_thread && memory == MemoryType::Shared) {
    throw UserError("store_in(MemoryType::Shared): " + func.name +
                        " is computed inside a thread, and shared memory belongs to the block; "
                        "compute it at a block loop",
                    placement.where);
  }
  if (context.in_block && !context.in_thread && memory != MemoryType::Shared) {
    throw UserError("store_in(MemoryType::" + to_string(memory) + "): " + func.name +
                        " is computed for a whole block, whose threads share only "
                        "MemoryType::Shared; compute it at a thread loop to keep it in registers",
                    placement.where);
  }
  ir::Stmt result = body;
  for (std::size_t i = func.types.size(); i-- > 0;) {
    ir::Allocate alloc;
    alloc.buffer = storage_name(func.name, static_cast<int>(i), func.types.size());
    alloc.type = func.types[i];
    alloc.memory = memory;
    alloc.mins = mins;
    alloc.extents = extents;
    alloc.body = result;
    result = ir::make_stmt(std::move(alloc));
  }
  return result;
}

Expr NestBuilder::clip_condition(const FunctionData& func, const Box& box, const NestContext& context,
                                 const std::function<Expr(const std::string&)>& value_of) const {
  Expr condition;
  const Box& need = program_.required.at(func.name);
  analysis::Ranges ranges = context.ranges;
  for (std::size_t d = 0; d < box.size(); ++d) {
    // An update's other dimensions take constant values inside the box.
    Expr value = value_of(func.args[d]);
    if (!value.defined()) continue;
    if (decide(box[d].min >= need[d].min, ranges) != std::optional(true)) {
      condition = both(condition, value >= need[d].min);
    }
    if (decide(box[d].max <= need[d].max, ranges) != std::optional(true)) {
      condition = both(condition, value <= need[d].max);
    }
  }
  return condition.defined() ? simplify(condition) : condition;
}

ir::Stmt NestBuilder::build_cooperative(const FunctionData& func, std::size_t index, const Box& box,
                                        LoadPolicy policy, const NestContext& context) const {
  const Definition& definition = func.definitions[index];
  const std::string prefix = func.name + (index ? ".u" + std::to_string(index) : "");
  const std::size_t dims = box.size();
  const std::vector<std::int64_t> extent =
      constant_extents(func, box, program_.placement.at(func.name).where);
  std::int64_t points = 1, threads = 1;
  for (auto count : extent) points *= count;
  for (auto t : context.threads) threads *= t;

  static constexpr const char* kAxis[] = {".tx", ".ty", ".tz"};
  std::vector<Expr> offset(dims);
  Expr condition;
  struct Loop {
    std::string name;
    std::int64_t extent;
    LoopKind kind;
  };
  std::vector<Loop> loops;  // outermost first
  auto thread_loop = [&](std::size_t axis, std::int64_t count) {
    loops.push_back({prefix + kAxis[axis], count, LoopKind::GpuThread});
    return make_var(prefix + kAxis[axis]);
  };
  auto step_loop = [&](const std::string& name, std::int64_t count) {
    loops.push_back(
        {prefix + "." + name, count, count <= kUnrolledSteps ? LoopKind::Unrolled : LoopKind::Serial});
    return make_var(prefix + "." + name);
  };
  switch (policy) {
    case LoadPolicy::HaloThreads:
      for (std::size_t d = std::min<std::size_t>(dims, 3); d-- > 0;) {
        offset[d] = thread_loop(d, extent[d]);
      }
      for (std::size_t d = dims; d-- > 3;) offset[d] = step_loop(func.args[d], extent[d]);
      break;
    case LoadPolicy::Strided: {
      std::vector<Expr> thread(3);
      for (std::size_t d = 3; d-- > 0;) {
        thread[d] = thread_loop(d, context.threads[d]);
      }
      for (std::size_t d = dims; d-- > 0;) {
        std::int64_t width = d < 3 ? context.threads[d] : 1;
        offset[d] = step_loop(func.args[d], (extent[d] + width - 1) / width) * constant(width);
        if (d < 3) offset[d] = offset[d] + thread[d];
        if (extent[d] % width != 0) condition = both(condition, offset[d] < constant(extent[d]));
      }
      // Axes that the box lacks: one of their threads does the work.
      for (std::size_t d = dims; d < 3; ++d) condition = both(condition, thread[d] == constant(0));
      break;
    }
    case LoadPolicy::TwoStep: {
      Expr linear;
      for (std::size_t d = 3; d-- > 0;) {
        Expr t = thread_loop(d, context.threads[d]);
        linear = linear.defined() ? linear * constant(context.threads[d]) + t : t;
      }
      Expr number = step_loop("step", (points + threads - 1) / threads) * constant(threads) + linear;
      if (points % threads != 0) condition = number < constant(points);
      for (std::size_t d = 0; d < dims; ++d) {
        offset[d] = d + 1 < dims ? number % constant(extent[d]) : number;
        if (d + 1 < dims) number = number / constant(extent[d]);
      }
      break;
    }
  }
  std::map<std::string, Expr> value;
  for (std::size_t d = 0; d < dims; ++d) value[func.args[d]] = simplify(box[d].min + offset[d]);
  if (definition.domain) {
    for (const auto& dim : definition.domain->dims) {
      value[dim.name] = make_var(prefix + "." + dim.name) + constant(dim.min);
    }
  }
  for (const auto& arg : func.args) {
    const auto& pure = definition.pure_vars;
    if (std::find(pure.begin(), pure.end(), arg) == pure.end()) value.erase(arg);
  }
  auto value_of = [&](const std::string& name) {
    auto it = value.find(name);
    return it == value.end() ? Expr() : it->second;
  };
  condition = both(condition, clip_condition(func, box, context, value_of));
  ir::Stmt stmt = emit_store(func, index, value_of);
  if (definition.domain) {
    for (const auto& dim : definition.domain->dims) {
      stmt = ir::make_stmt(
          ir::For{prefix + "." + dim.name, constant(0), constant(dim.extent), LoopKind::Serial, stmt});
    }
  }
  if (condition.defined()) stmt = ir::make_stmt(ir::If{simplify(condition), stmt, {}});
  for (auto it = loops.rbegin(); it != loops.rend(); ++it) {
    stmt = ir::make_stmt(ir::For{it->name, constant(0), constant(it->extent), it->kind, stmt});
  }
  return stmt;
}

}  // namespace mica::passes
