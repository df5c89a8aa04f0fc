// Schedules as C++ text.
#include "dsl/schedule/schedule.h"

#include <algorithm>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "dsl/expr/names.h"

namespace mica {

namespace {

std::string quoted(const std::string& text) {
  std::string literal = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') literal += '\\';
    literal += byte < ' ' || byte == 0x7f ? fmt::format("\\{:03o}", byte) : std::string(1, c);
  }
  return literal + '"';
}

/// A Var, which the text takes to be named as the loop is, or the loop's name.
std::string var_or_name(const std::string& name) { return is_identifier(name) ? name : quoted(name); }

/// ", TailStrategy::RoundUp", or nothing for Auto, which is every directive's default.
std::string tail_argument(TailStrategy tail) {
  return tail == TailStrategy::Auto ? "" : ", TailStrategy::" + to_string(tail);
}

/// The consumer that a wrapper named "source.in.consumer" belongs to; empty for another name.
std::string consumer_of(const std::string& wrapper, const std::string& source) {
  const std::string prefix = source + ".in.";
  return wrapper.rfind(prefix, 0) == 0 ? wrapper.substr(prefix.size()) : "";
}

/// A variable that could hold the Func or input of this name.
std::string handle(const std::string& name) {
  std::string word;
  for (const char c : name) {
    if ((static_cast<unsigned char>(c) & 0xc0) == 0x80) continue;  // a character's further bytes
    word += is_identifier(std::string("_") + c) ? c : '_';
  }
  return is_identifier(word) ? word : "_" + word;
}

std::string mark_name(LoopKind kind) {
  switch (kind) {
    case LoopKind::Serial: return "serial";
    case LoopKind::Parallel: return "parallel";
    case LoopKind::Vectorized: return "vectorize";
    case LoopKind::Unrolled: return "unroll";
    case LoopKind::GpuBlock: return "gpu_blocks";
    case LoopKind::GpuThread: return "gpu_threads";
    case LoopKind::March: return "march";
  }
  return "";
}

std::string factor_argument(int factor) { return factor == 0 ? "" : ", " + std::to_string(factor); }

/// `name_of` gives the C++ expression for the Func or input of a name, `loop` that for a loop.
template <typename NameOf>
struct DirectiveText {
  NameOf name_of;
  std::string (*loop)(const std::string&);

  std::string operator()(const directive::Split& d) const {
    return fmt::format(".split({}, {}, {}, {}{})", loop(d.old_var), loop(d.outer), loop(d.inner),
                       d.factor, tail_argument(d.tail));
  }
  std::string operator()(const directive::Fuse& d) const {
    return fmt::format(".fuse({}, {}, {})", loop(d.inner), loop(d.outer), loop(d.fused));
  }
  std::string operator()(const directive::Reorder& d) const {
    std::vector<std::string> vars;
    for (const auto& v : d.vars) vars.push_back(loop(v));
    return vars.empty() ? ".reorder({})" : fmt::format(".reorder({})", joined(vars));
  }
  std::string operator()(const directive::MarkLoop& d) const {
    return fmt::format(".{}({})", mark_name(d.kind), loop(d.var));
  }
  std::string operator()(const directive::GpuTile& d) const {
    std::vector<std::string> arguments;
    for (const auto& v : d.vars) arguments.push_back(loop(v));
    for (int size : d.sizes) arguments.push_back(std::to_string(size));
    return fmt::format(".gpu_tile({}{})", joined(arguments), tail_argument(d.tail));
  }
  std::string operator()(const directive::Vectorize& d) const {
    return fmt::format(".vectorize({}{}{})", loop(d.var), factor_argument(d.width),
                       d.width > 0 ? tail_argument(d.tail) : "");
  }
  std::string operator()(const directive::Unroll& d) const {
    return fmt::format(".unroll({}{}{})", loop(d.var), factor_argument(d.factor),
                       d.factor > 0 ? tail_argument(d.tail) : "");
  }
  std::string operator()(const directive::ComputeInline&) const { return ".compute_inline()"; }
  std::string operator()(const directive::ComputeRoot&) const { return ".compute_root()"; }
  std::string operator()(const directive::ComputeAt& d) const {
    return fmt::format(".compute_at({}, {})", name_of(d.level.func), loop(d.level.var));
  }
  std::string operator()(const directive::StoreAt& d) const {
    return fmt::format(".store_at({}, {})", name_of(d.level.func), loop(d.level.var));
  }
  std::string operator()(const directive::StoreRoot&) const { return ".store_root()"; }
  std::string operator()(const directive::StoreIn& d) const {
    return fmt::format(".store_in(MemoryType::{})", to_string(d.memory));
  }
  std::string operator()(const directive::In& d) const {
    return fmt::format("{}.in({})", name_of(d.source), name_of(consumer_of(d.wrapper, d.source)));
  }
  std::string operator()(const directive::AlignStorage& d) const {
    return fmt::format(".align_storage({}, {})", loop(d.var), d.elements);
  }
  std::string operator()(const directive::FoldStorage& d) const {
    return fmt::format(".fold_storage({}, {})", loop(d.var), d.factor);
  }
  std::string operator()(const directive::ReorderStorage& d) const {
    std::vector<std::string> vars;
    for (const auto& v : d.vars) vars.push_back(loop(v));
    return vars.empty() ? ".reorder_storage({})" : fmt::format(".reorder_storage({})", joined(vars));
  }
  std::string operator()(const directive::Bound& d) const {
    return fmt::format(".bound({}, {}, {})", loop(d.var), d.min, d.extent);
  }
  std::string operator()(const directive::Stage& d) const {
    const std::string load = d.load == LoadPolicy::TwoStep ? "" : ", LoadPolicy::" + to_string(d.load);
    return fmt::format(".stage({}, MemoryType::{}{})", name_of(d.source), to_string(d.memory), load);
  }
  std::string operator()(const directive::ReadOnly& d) const {
    return fmt::format(".read_only({})", name_of(d.source));
  }
  std::string operator()(const directive::LaunchBounds& d) const {
    return fmt::format(".launch_bounds({})", d.min_blocks);
  }
  std::string operator()(const directive::MaxRegisters& d) const {
    return fmt::format(".max_registers({})", d.count);
  }
  std::string operator()(const directive::March& d) const {
    return fmt::format(".march({}{})", loop(d.var), factor_argument(d.chunk));
  }
  std::string operator()(const directive::RegisterWindow& d) const {
    return fmt::format(".register_window({}, {})", name_of(d.source), loop(d.var));
  }
  std::string operator()(const directive::Prefetch& d) const {
    return fmt::format(".pipeline({}, {})", name_of(d.source), d.depth);
  }
  std::string operator()(const directive::Scatter& d) const {
    const std::string partials =
        d.partials == Partials::EveryPlane ? "" : ", Partials::" + to_string(d.partials);
    return fmt::format(".scatter({}{})", loop(d.var), partials);
  }
  std::string operator()(const directive::Exchange& d) const {
    return fmt::format(".shuffle({}, {})", name_of(d.source), loop(d.var));
  }
  std::string operator()(const directive::OrderBlocks& d) const {
    std::vector<std::string> vars;
    for (const auto& v : d.vars) vars.push_back(loop(v));
    return fmt::format(".order_blocks({})", joined(vars));
  }
  std::string operator()(const directive::StreamLoads& d) const {
    return fmt::format(".stream_loads({})", name_of(d.source));
  }
  std::string operator()(const directive::StreamStores&) const { return ".stream_stores()"; }
  std::string operator()(const directive::Texture& d) const {
    return fmt::format(".texture({})", name_of(d.source));
  }
  std::string operator()(const directive::WarpSplit& d) const {
    return fmt::format(".warp_split({})", d.warps);
  }
  std::string operator()(const directive::Atomic&) const { return ".atomic()"; }
  std::string operator()(const directive::GpuSingleThread&) const { return ".gpu_single_thread()"; }
};

}  // namespace

std::string to_string(const Directive& directive) {
  return std::visit(DirectiveText<std::string (*)(const std::string&)>{&handle, &var_or_name},
                    directive.op);
}

namespace {

using HandleOf = std::function<std::string(const std::string&)>;

std::string schedule_text(const Schedule& schedule, const HandleOf& handle_of,
                          std::string (*loop)(const std::string&)) {
  // How C++ names a Func: wrappers through their sources, others by a variable.
  std::map<std::string, const directive::In*> wrappers;
  for (const auto& stage : schedule.stages) {
    for (const auto& directive : stage.directives) {
      const auto* in = std::get_if<directive::In>(&directive.op);
      if (in && !consumer_of(in->wrapper, in->source).empty()) wrappers[in->wrapper] = in;
    }
  }
  std::function<std::string(const std::string&)> name_of = [&](const std::string& name) {
    const auto it = wrappers.find(name);
    if (it == wrappers.end()) return handle_of(name);
    const directive::In& in = *it->second;
    return fmt::format("{}.in({})", name_of(in.source), name_of(consumer_of(in.wrapper, in.source)));
  };
  const DirectiveText<HandleOf> text{name_of, loop};

  std::string result;
  for (const auto& stage : schedule.stages) {
    std::string chain;
    for (const auto& directive : stage.directives) {
      if (const auto* in = std::get_if<directive::In>(&directive.op)) {
        const bool scheduled =
            std::any_of(schedule.stages.begin(), schedule.stages.end(),
                        [&](const StageSchedule& s) { return s.func == in->wrapper; });
        if (!scheduled) result += text(*in) + ";\n";
        continue;
      }
      chain += (chain.empty() ? "" : "\n    ") + std::visit(text, directive.op);
    }
    if (chain.empty()) continue;
    result += name_of(stage.func);
    if (stage.update > 0) result += fmt::format(".update({})", stage.update - 1);
    result += chain + ";\n";
  }
  return result;
}

}  // namespace

std::string to_string(const Schedule& schedule) {
  return schedule_text(schedule, &handle, &var_or_name);
}

std::string to_string(const Schedule& schedule, const HandleOf& handle_of) {
  return schedule_text(schedule, handle_of, &quoted);
}

std::string to_string(MemoryType memory) {
  switch (memory) {
    case MemoryType::Auto: return "Auto";
    case MemoryType::Heap: return "Heap";
    case MemoryType::Stack: return "Stack";
    case MemoryType::Shared: return "Shared";
    case MemoryType::Register: return "Register";
  }
  return "";
}

std::string to_string(TailStrategy tail) {
  switch (tail) {
    case TailStrategy::Auto: return "Auto";
    case TailStrategy::GuardWithIf: return "GuardWithIf";
    case TailStrategy::ShiftInwards: return "ShiftInwards";
    case TailStrategy::RoundUp: return "RoundUp";
  }
  return "";
}

std::string to_string(LoadPolicy policy) {
  switch (policy) {
    case LoadPolicy::HaloThreads: return "HaloThreads";
    case LoadPolicy::TwoStep: return "TwoStep";
    case LoadPolicy::Strided: return "Strided";
    case LoadPolicy::AsyncCopy: return "AsyncCopy";
    case LoadPolicy::Bulk: return "Bulk";
  }
  return "";
}

std::string to_string(LoopKind kind) {
  switch (kind) {
    case LoopKind::Serial: return "Serial";
    case LoopKind::Parallel: return "Parallel";
    case LoopKind::Vectorized: return "Vectorized";
    case LoopKind::Unrolled: return "Unrolled";
    case LoopKind::GpuBlock: return "GpuBlock";
    case LoopKind::GpuThread: return "GpuThread";
    case LoopKind::March: return "March";
  }
  return "";
}

std::string to_string(Partials partials) {
  switch (partials) {
    case Partials::EveryPlane: return "EveryPlane";
    case Partials::Centre: return "Centre";
  }
  return "";
}

}  // namespace mica
