// Loop nests that make no kernel.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "dsl/check/check_schedule.h"
#include "dsl/expr/names.h"
#include "dsl/schedule/loop_dims.h"
#include "dsl/schedule/schedule_view.h"

namespace mica {

namespace {

constexpr std::size_t kMaxAxes = 3;
constexpr std::int64_t kMaxThreads = 1024;
constexpr std::int64_t kMaxThreadsZ = 64;

/// The checks of one definition's loops.
class NestChecker {
 public:
  /// `context` surrounds the loops, `level` is where the Func is computed.
  NestChecker(const FuncView& f, std::size_t definition, GpuContext context, LoopLevel level,
              bool target_is_gpu, Diagnostics& findings)
      : f_(f),
        name_(definition_name(*f.func, static_cast<int>(definition))),
        dims_(f.loops[definition].dims),
        context_(context),
        level_(std::move(level)),
        at_root_(level_.func.empty()),
        target_is_gpu_(target_is_gpu),
        findings_(findings) {
    for (std::size_t i = 0; i < dims_.size(); ++i) {
      if (dims_[i].kind == LoopKind::GpuBlock) blocks_.push_back(i);
      if (dims_[i].kind == LoopKind::GpuThread) threads_.push_back(i);
    }
  }

  void run() {
    check_axes(blocks_, "block", "gpu_blocks");
    check_axes(threads_, "thread", "gpu_threads");
    check_order();
    check_thread_extents();
    check_cpu_kinds();
    check_written_out();
    if (target_is_gpu_) check_outside_blocks();
  }

 private:
  void report(const LoopDim& dim, const std::string& what) {
    findings_.push_back({fmt::format("{}: {}", name_, what), dim.where});
  }
  [[nodiscard]] std::string list(const std::vector<std::size_t>& places) const {
    std::vector<std::string> names;
    for (auto i : places) names.push_back(dims_[i].name);
    return joined(names);
  }

  void check_axes(const std::vector<std::size_t>& places, const char* what, const char* directive) {
    if (places.size() <= kMaxAxes) return;
    report(dims_[places[kMaxAxes]],
           fmt::format("{} {} loops, {}, but a GPU has {} axes: fuse some before {}", places.size(),
                       what, list(places), kMaxAxes, directive));
  }

  void check_order() {
    if (!blocks_.empty() && (context_.in_block || context_.in_thread || context_.between_blocks)) {
      report(dims_[blocks_.front()],
             fmt::format("block loop {} stands inside the blocks of the Func that {} is computed in: "
                         "only gpu_threads are possible there",
                         dims_[blocks_.front()].name, f_.name()));
    } else if (!blocks_.empty() && !at_root_) {
      report(
          dims_[blocks_.front()],
          fmt::format("block loop {} makes a kernel, and {} is computed inside loop {} of {}, which is "
                      "in none: compute {} at the root, or {} in blocks",
                      dims_[blocks_.front()].name, f_.name(), level_.var, level_.func, f_.name(),
                      level_.func));
    }
    if (threads_.empty()) return;
    const LoopDim& outermost_thread = dims_[threads_.back()];
    if (context_.in_thread) {
      report(outermost_thread,
             fmt::format("thread loop {} stands inside a thread loop of the Func that {} is computed "
                         "in: compute it at a block loop, or leave its loops serial",
                         outermost_thread.name, f_.name()));
    } else if (blocks_.empty() && !context_.in_block) {
      report(outermost_thread,
             fmt::format("thread loop {} stands in no block loop: add gpu_blocks, or use gpu_tile",
                         outermost_thread.name));
    }
    if (!blocks_.empty() && threads_.back() > blocks_.front()) {
      report(outermost_thread,
             fmt::format("thread loop {} stands outside block loop {}; the loops are {} (innermost "
                         "first): reorder thread loops inside all block loops",
                         outermost_thread.name, dims_[blocks_.front()].name, loop_list()));
      return;
    }
    for (std::size_t i = 1; i < threads_.size(); ++i) {
      if (threads_[i] == threads_[i - 1] + 1) continue;
      if (dims_[threads_[i] - 1].kind == LoopKind::Vectorized) continue;  // has a finding
      report(dims_[threads_[i]],
             fmt::format("loop {} stands between thread loops {} and {}; the loops are {} (innermost "
                         "first): reorder it inside all thread loops",
                         dims_[threads_[i] - 1].name, dims_[threads_[i]].name,
                         dims_[threads_[i - 1]].name, loop_list()));
      return;
    }
  }

  void check_thread_extents() {
    std::int64_t product = 1;
    std::vector<std::string> factors;
    for (auto i : threads_) {
      const LoopDim& dim = dims_[i];
      if (dim.extent == 0) {
        // Elsewhere the extent is that of the box which one iteration of the consumer reads.
        if (at_root_) {
          report(dim, fmt::format("thread loop {} has no constant extent: split it by the number of "
                                  "threads first, use gpu_tile, or give {} a bound",
                                  dim.name, f_.name()));
        }
        return;
      }
      product = std::min<std::int64_t>(product, std::int64_t{1} << 31) * dim.extent;
      factors.push_back(std::to_string(dim.extent));
    }
    if (product > kMaxThreads) {
      std::string text;
      for (const auto& factor : factors) text += (text.empty() ? "" : " x ") + factor;
      report(dims_[threads_.front()],
             fmt::format("{} threads in a block ({} = {}); legal are at most {}", product,
                         list(threads_), text, kMaxThreads));
    }
    if (threads_.size() == kMaxAxes && dims_[threads_.back()].extent > kMaxThreadsZ) {
      const LoopDim& z = dims_[threads_.back()];
      report(z, fmt::format("{} threads along the block's z axis ({}); legal are at most {}: make "
                            "another loop the outermost thread loop",
                            z.extent, z.name, kMaxThreadsZ));
    }
  }

  void check_cpu_kinds() {
    const bool in_kernel = !blocks_.empty() || !threads_.empty() || context_.in_block;
    const LoopDim* vector = nullptr;
    for (std::size_t i = 0; i < dims_.size(); ++i) {
      const LoopDim& dim = dims_[i];
      if (dim.kind == LoopKind::Parallel && in_kernel) {
        report(dim, fmt::format("parallel loop {} stands in a GPU kernel, where work is spread by "
                                "gpu_blocks and gpu_threads; parallel is for CPU threads",
                                dim.name));
      }
      if (dim.kind != LoopKind::Vectorized) continue;
      if (vector) {
        report(dim, fmt::format("loops {} and {} are both vectorized; one loop can be", vector->name,
                                dim.name));
      }
      vector = &dim;
      for (std::size_t inner = 0; inner < i; ++inner) {
        const LoopKind kind = dims_[inner].kind;
        if (kind != LoopKind::GpuThread && kind != LoopKind::GpuBlock && kind != LoopKind::Parallel) {
          continue;
        }
        report(dim, fmt::format("vectorized loop {} stands outside loop {}, which is {}: reorder it "
                                "inside",
                                dim.name, dims_[inner].name, to_string(kind)));
        break;
      }
    }
  }

  void check_written_out() {
    if (!at_root_) return;
    for (const auto& dim : dims_) {
      const bool vector = dim.kind == LoopKind::Vectorized;
      if (dim.extent > 0 || (!vector && dim.kind != LoopKind::Unrolled)) continue;
      const char* word = vector ? "vectorize" : "unroll";
      report(dim, fmt::format("{}({}): the loop has no constant extent: write {}({}, 4), which splits "
                              "it, or give {} a bound",
                              word, dim.name, word, dim.name, f_.name()));
    }
  }

  void check_outside_blocks() {
    if (blocks_.empty() || is_march_left_out()) return;
    for (std::size_t i = blocks_.front() + 1; i < dims_.size(); ++i) {
      const LoopDim& dim = dims_[i];
      if (dim.kind == LoopKind::GpuBlock || dim.kind == LoopKind::GpuThread) continue;
      if (dim.kind == LoopKind::Parallel) continue;  // has a finding
      const LoopDim& block = dims_[blocks_.front()];
      if (dim.is_ordered()) {
        report(block,
               fmt::format("{} loop {} stands outside block loop {}; the loops are {} "
                           "(innermost first): reorder it inside the thread loops",
                           dim.recurs ? "recurrence" : "reduction", dim.name, block.name, loop_list()));
        continue;
      }
      report(block, fmt::format("unscheduled dimension {} of {}: it stands outside block loop {}. Write "
                                "gpu_tile with {} among its Vars, or gpu_blocks({}), or reorder it "
                                "inside the thread loops",
                                dim.name, f_.name(), block.name, dim.name, dim.name));
    }
  }

  /// A march that is a finding left its loops where they were.
  [[nodiscard]] bool is_march_left_out() const {
    const auto& directives = f_.func->definitions.front().directives;
    const auto marches = std::count_if(directives.begin(), directives.end(), [](const Directive& d) {
      return std::holds_alternative<directive::March>(d.op);
    });
    return marches > std::count_if(f_.loops.front().dims.begin(), f_.loops.front().dims.end(),
                                   [](const LoopDim& dim) { return dim.kind == LoopKind::March; });
  }
  [[nodiscard]] std::string loop_list() const {
    std::vector<std::string> names;
    for (const auto& dim : dims_) names.push_back(dim.name);
    return joined(names);
  }

  const FuncView& f_;
  std::string name_;
  const std::vector<LoopDim>& dims_;
  GpuContext context_;
  LoopLevel level_;
  bool at_root_;
  bool target_is_gpu_;
  Diagnostics& findings_;
  std::vector<std::size_t> blocks_, threads_;
};

}  // namespace

void check_loop_nests(const ScheduleView& view, bool target_is_gpu, Diagnostics& findings) {
  for (const auto& f : view.funcs()) {
    for (std::size_t d = 0; d < f.func->definitions.size(); ++d) {
      if (!f.is_inline()) {
        NestChecker(f, d, view.context_of(f), view.level_of(f), target_is_gpu, findings).run();
        continue;
      }
      for (const auto& directive : f.func->definitions[d].directives) {
        if (!acts_on_loops(directive)) continue;
        findings.push_back({fmt::format("{}: {} is computed inline and has no loops: add compute_root() "
                                        "or compute_at(...), or remove this",
                                        described(f, d, directive), f.name()),
                            directive.where});
        break;
      }
    }
  }
}

Diagnostics check_loops(const FunctionData& root, std::size_t definition) {
  Diagnostics findings;
  FuncView f;
  f.func = &root;
  f.loops.resize(root.definitions.size());
  // The pure definition's say what marches.
  for (const std::size_t d : {std::size_t{0}, definition}) {
    f.loops[d] = expand_loops(root, static_cast<int>(d), findings);
  }
  NestChecker(f, definition, {}, {}, true, findings).run();
  return findings;
}

}  // namespace mica
