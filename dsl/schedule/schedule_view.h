// What check_schedule looks at: each Func of a pipeline with its place, loops, readers and reads.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "dsl/pipeline/pipeline.h"
#include "dsl/schedule/compute_place.h"
#include "dsl/schedule/loop_dims.h"

namespace mica {

struct FuncView {
  const FunctionData* func = nullptr;
  bool is_output = false;
  ComputePlace place;
  /// The Func that stages this one, and its directive; null for others. A staged Func is computed at
  /// the innermost block loop of that Func.
  const FuncView* staged_by = nullptr;
  const Directive* stage = nullptr;
  std::vector<LoopNestSpec> loops;  ///< per definition
  /// Names of the Funcs and inputs that each definition reads, in order met, without itself.
  std::vector<std::vector<std::string>> reads;

  [[nodiscard]] const std::string& name() const { return func->name; }
  [[nodiscard]] bool is_inline() const { return !staged_by && place.kind == ComputePlace::Kind::Inline; }
  [[nodiscard]] bool reads_directly(const std::string& source) const;
  [[nodiscard]] std::vector<std::string> all_reads() const;
  /// The first definition with a loop `var`, and the loop's place in it (0 is innermost).
  struct LoopPlace {
    const LoopNestSpec* nest = nullptr;
    std::size_t index = 0;
  };
  [[nodiscard]] LoopPlace find_loop(const std::string& var) const;
  /// The same in definition `d`.
  [[nodiscard]] LoopPlace find_loop(const std::string& var, std::size_t d) const;
};

/// Whether code stands inside a block's or a thread's loops.
struct GpuContext {
  bool in_block = false;
  bool between_blocks = false;  ///< inside some but not all block loops
  bool in_thread = false;
  bool between_threads = false;  ///< inside some but not all thread loops
};

class ScheduleView {
 public:
  /// `findings` receives what expand_loops finds in Funcs that have loops.
  ScheduleView(const Pipeline& pipeline, Diagnostics& findings);

  [[nodiscard]] const Pipeline& pipeline() const { return pipeline_; }
  [[nodiscard]] const std::vector<FuncView>& funcs() const { return funcs_; }
  [[nodiscard]] const FuncView* find(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> func_names() const;

  /// Does `f`, or a Func computed inside its loops, read `source` directly?
  [[nodiscard]] bool reads_inside(const FuncView& f, const std::string& source) const;
  /// Does `f` read `input` itself or through Funcs computed for it?
  [[nodiscard]] bool reaches(const FuncView& f, const std::string& input) const;
  /// The Func that a register_window of `f` made for `source`; null if none.
  [[nodiscard]] const FuncView* window_of(const FuncView& f, const std::string& source) const;
  /// A part of a scattered sum: a Func that make_pipeline made.
  [[nodiscard]] bool is_partial_sum(const FuncView& f) const;
  /// A part of the scattered sum of `f`.
  [[nodiscard]] bool is_part_of(const FuncView& part, const FuncView& f) const;
  /// The march at whose loop `f`, which has none of its own, is computed, and the dimension of `f` that
  /// it walks; null where there is none, or `f` has other dimensions.
  struct MarchAround {
    const FuncView* host = nullptr;
    std::string var;
  };
  [[nodiscard]] MarchAround march_around(const FuncView& f) const;
  /// Made by make_pipeline for a directive of `march`ed Funcs, with a place that no user named.
  [[nodiscard]] bool is_made(const FuncView& f) const;
  /// Does definition `d` of `reader` read `wanted` directly or through inlined Funcs?
  [[nodiscard]] bool uses(const FuncView& reader, std::size_t d, const std::string& wanted) const;
  /// Does definition `d` of `host` read `wanted`, itself or through Funcs computed inside its loops?
  [[nodiscard]] bool needs(const FuncView& host, std::size_t d, const FuncView& wanted) const;
  /// Funcs with loops of their own that use `f` (through inlined ones), in the pipeline's order.
  [[nodiscard]] const std::vector<const FuncView*>& consumers(const FuncView& f) const;
  /// The level that `f` is computed at: of compute_at, or of `stage`; an empty func for none.
  [[nodiscard]] LoopLevel level_of(const FuncView& f) const;
  /// Is the computation of `f` inside one iteration of loop `level`, or of any loop of level.func when
  /// level.var is empty? So it must be in every definition of level.func that needs `f`.
  [[nodiscard]] bool is_inside(const FuncView& f, const LoopLevel& level) const;
  /// What surrounds code placed at `level` in definition `d` of the level's Func.
  [[nodiscard]] GpuContext context_at(const LoopLevel& level, std::size_t d) const;
  /// What surrounds the loops of `f`.
  [[nodiscard]] GpuContext context_of(const FuncView& f) const;

 private:
  using Names = std::unordered_set<std::string>;
  using At = std::pair<std::size_t, std::size_t>;  // a Func's place in funcs_, a definition
  /// What uses says yes to.
  [[nodiscard]] const Names& used_by(const FuncView& reader, std::size_t d) const;
  /// What needs says yes to, by places in funcs_.
  [[nodiscard]] const std::vector<bool>& needed_by(const FuncView& host, std::size_t d) const;
  /// By places in funcs_: is it inside a loop of `host`?
  [[nodiscard]] std::vector<bool> all_inside(const FuncView& host) const;
  [[nodiscard]] std::size_t place_of(const FuncView& f) const {
    return static_cast<std::size_t>(&f - funcs_.data());
  }
  [[nodiscard]] bool reaches(const FuncView& f, const std::string& input,
                             std::set<std::string>& seen) const;
  [[nodiscard]] bool is_loop_inside(const FuncView& host, const FuncView& wanted,
                                    const std::string& inner, const std::string& outer) const;
  [[nodiscard]] GpuContext context_of(const FuncView& f, std::size_t steps) const;
  [[nodiscard]] static GpuContext context_in(const FuncView::LoopPlace& place, GpuContext around);

  const Pipeline& pipeline_;
  std::vector<FuncView> funcs_;
  std::unordered_map<std::string, std::size_t> places_;  // in funcs_, by name
  // What has been found out. A view serves one thread.
  mutable std::map<At, Names> used_;
  mutable std::map<At, std::vector<bool>> needed_;
  mutable std::unordered_map<std::string, std::vector<const FuncView*>> consumers_;  // empty: not yet
};

/// Loops of a nest by name, innermost first, and as "x, y".
std::vector<std::string> names_of_loops(const LoopNestSpec& nest);
std::string loop_names(const LoopNestSpec& nest);
/// The place of the innermost GpuBlock loop of `nest`; its loop count if there is none.
std::size_t innermost_block(const LoopNestSpec& nest);
/// "next.split(x, xo, xi, 8)": how messages begin.
std::string described(const FuncView& f, std::size_t definition, const Directive& directive);
/// The name a user knows a Func by: "u" for the copies "u.staged" and "u.window" that directives made.
std::string user_name(const ScheduleView& view, const std::string& name);
/// What `f` reads, as the user knows it, and as "u, b".
std::vector<std::string> read_names(const ScheduleView& view, const FuncView& f);
std::string read_list(const ScheduleView& view, const FuncView& f);

/// The parts of check_schedule; each adds to `findings`.
void check_loop_nests(const ScheduleView& view, bool target_is_gpu, Diagnostics& findings);
void check_places(const ScheduleView& view, Diagnostics& findings);
/// `wrong`: directives of which a finding says already what is wrong.
void check_marches(const ScheduleView& view, const std::set<const Directive*>& wrong,
                   Diagnostics& findings);

}  // namespace mica
