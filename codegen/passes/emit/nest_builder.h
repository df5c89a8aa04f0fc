// The recursive construction behind build_loop_nest.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "codegen/passes/emit/block_fills.h"
#include "codegen/passes/emit/slide_plan.h"
#include "codegen/plan/filling.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/storage_shape.h"
#include "codegen/program.h"

namespace mica::passes {

using planning::Crew;
using planning::Fold;
using planning::Guard;
using planning::kPlaneSymbol;
using planning::LoopVars;
using planning::MarchPlan;
using planning::MarchStage;

/// What surrounds the code under construction.
struct NestContext {
  bool on_gpu = false;     ///< the nest has block or thread loops
  bool in_block = false;   ///< inside all block loops
  bool in_thread = false;  ///< inside a thread loop
  /// The block's points all lie in the domain, so nothing that they need lies outside what the
  /// pipeline needs.
  bool interior = false;
  /// The same holds for the points of one step of the block's march.
  bool interior_step = false;
  /// Points that the pipeline does not need are computed like others: loads stay within their arrays.
  bool any_point = false;
  /// Inside a march, whose steps wait for the asynchronous copies that they begin.
  bool in_step = false;
  /// Of the root Func around; null where it has none.
  const planning::KernelPlan* kernel = nullptr;
  /// Undefined outside a block of the marched or staging Func.
  planning::BlockRow row;
  /// Threads in x, y, z of the block, or of the loops of a Func that is computed in it.
  std::int64_t threads[3] = {1, 1, 1};
  /// The innermost loop around whose iterations run at once, as "the Parallel loop y"; empty: none.
  std::string concurrent;
  /// Dimensions of which the Func under construction is to fill a part that may be empty, since it
  /// slides.
  std::set<std::size_t> parts;
  /// All points that the Func under construction is to fill are needed: its loops are not clipped.
  bool all_needed = false;
  /// The stored boxes of Funcs whose storage was made at a loop around, but which are computed deeper.
  std::map<std::string, analysis::Box> stored;
  /// Ranges of the loops around.
  analysis::Ranges ranges;
  /// Boxes lie inside their arrays whole, so that the engine may copy them.
  [[nodiscard]] bool copies_whole() const { return interior && !any_point; }
};

/// What is found while the loops of one Func at the root are built.
struct NestFindings {
  std::vector<PlanCheck> checks = {};  ///< conditions on a launch that the loops need
  std::vector<std::string> notes = {};
  /// Of Funcs whose storage stands in the frame that computes them, as their innermost loops have it.
  std::map<std::string, Fold> folds = {};
  /// Funcs with store_root whose folded storage stands in the nest: they have no array.
  std::set<std::string> kept_in_nests = {};
  /// Funcs computed in a thread that have an array, as with store_root: how many points a thread needs
  /// is not constant, and no other thread needs them.
  std::set<std::string> kept_in_arrays = {};
};

class NestBuilder {
 public:
  NestBuilder(const Program& program, NestFindings& findings) : program_(program), findings_(findings) {}

  /// The loops of definition `index` of root Func `func` over its whole buffer.
  ir::Stmt build_root(const FunctionData& func, std::size_t index, bool& on_gpu) const;

 private:
  struct Frame;  // one definition under construction

  ir::Stmt build_func(const FunctionData& func, const analysis::Box& box,
                      const NestContext& context) const;
  ir::Stmt build_definitions(const FunctionData& func, const analysis::Box& box,
                             const NestContext& context) const;
  ir::Stmt build_definition(const FunctionData& func, std::size_t index, const analysis::Box& box,
                            const NestContext& context) const;
  /// Fused loops count their iterations in 32 bits.
  void check_fused(const FunctionData& func, std::size_t index,
                   const std::vector<std::pair<std::string, Expr>>& extents) const;
  ir::Stmt emit_loops(const Frame& frame, std::size_t outermost_left, const NestContext& context) const;
  ir::Stmt emit_body(const Frame& frame) const;
  ir::Stmt emit_inside(const Frame& frame, std::size_t position, const NestContext& context) const;
  /// The loops inside the thread loop `position`, of which no Func is computed: without tests where all
  /// of the thread's points are to be computed.
  ir::Stmt emit_points(const Frame& frame, std::size_t position, const NestContext& context) const;
  ir::Stmt emit_vector_loop(const Frame& frame, std::size_t position, const NestContext& context) const;
  /// Allocations and computations of the Funcs placed at this loop, around `body`.
  ir::Stmt place_funcs(const Frame& frame, std::size_t position, const NestContext& context,
                       ir::Stmt body) const;
  /// The same place in words of those that fill boxes.
  [[nodiscard]] FillPlace fill_place(const NestContext& context) const;
  // ---- Funcs that read themselves (nest_recurrence.cpp) --------------------------------------------
  /// The registers that carry the recurrence of `frame` along loop `position`, if that is where a thread
  /// begins to walk its column, and they are few.
  [[nodiscard]] std::optional<Carried> carried_at(const Frame& frame, std::size_t position,
                                                  const NestContext& context) const;
  /// The walk along loop `position`, with the values that it carries in registers.
  ir::Stmt emit_carried(const Frame& frame, std::size_t position, const NestContext& context,
                        const Carried& carried) const;
  /// The written-out loop `position` along a recurrence: without tests where all of its steps are to be
  /// made, so that their loads can be under way together, and as a loop for the last few. Undefined
  /// where nothing is to be tested.
  ir::Stmt emit_steps(const Frame& frame, std::size_t position, const NestContext& context) const;

  /// Boxes of all Funcs computed at `frame`'s loop `position` or deeper, for one iteration of it.
  [[nodiscard]] std::map<std::string, analysis::Box> boxes_at(const Frame& frame,
                                                              std::size_t position) const;
  /// The loop of `frame` in which `func` is computed, directly or inside another Func; -1 if none.
  [[nodiscard]] int loop_of(const Frame& frame, const std::string& func) const;
  /// The Funcs that are stored at `frame`'s loop `position` and computed inside it.
  [[nodiscard]] std::vector<const FunctionData*> stored_around(const Frame& frame,
                                                               std::size_t position) const;
  /// `body` in their storage.
  [[nodiscard]] ir::Stmt store_funcs(const Frame& frame, std::size_t position,
                                     const NestContext& context, ir::Stmt body) const;
  /// Adds their boxes to `context`.
  void add_stored(const Frame& frame, std::size_t position, NestContext& context) const;
  /// What `func` is to be computed for at most: what the pipeline needs and its storage holds.
  [[nodiscard]] analysis::Box needed_box(const FunctionData& func, const NestContext& context) const;
  /// May iterations of such a loop be under way at the same time?
  static bool runs_at_once(LoopKind kind);
  /// "the Parallel loop y"
  static std::string loop_text(const LoopVars::Loop& loop);
  void check_storage_level(const Frame& frame, const FunctionData& func, std::size_t position) const;
  void check_storage_root(const Frame& frame, std::size_t position, const FunctionData& func,
                          const analysis::Box& box, const NestContext& context) const;
  /// Do iterations of loop `position` and of those around it that run at once need no points in common,
  /// where one needs `box`?
  [[nodiscard]] bool has_own_points(const Frame& frame, std::size_t position,
                                    const analysis::Box& box) const;
  /// Is what a thread needs of `func`, `box`, to be kept in an array?
  [[nodiscard]] bool needs_array(const Frame& frame, std::size_t position, const FunctionData& func,
                                 const analysis::Box& box, const NestContext& context) const;
  [[nodiscard]] int position_of(const Frame& frame, const std::string& dim) const;
  /// `body` between the lines that Func::trace_realizations asks for, where it does, in storage for
  /// `box`.
  [[nodiscard]] ir::Stmt with_trace(const FunctionData& func, const analysis::Box& box,
                                    const NestContext& context, const ir::Stmt& body) const;
  /// `stage`: kept along a march, in a ring where the Func has a marched dimension.
  [[nodiscard]] ir::Stmt allocate(const FunctionData& func, const analysis::Box& box,
                                  const NestContext& context, const ir::Stmt& body,
                                  const MarchStage* stage = nullptr) const;

  // ---- sliding (nest_sliding.cpp) ------------------------------------------------------------------
  /// Computes what an iteration of `frame`'s loop `position` reads of `func`, which is stored outside of
  /// it, except what earlier iterations have computed.
  ir::Stmt build_slid(const Frame& frame, std::size_t position, const FunctionData& func,
                      const analysis::Box& box, const NestContext& context) const;
  /// Computes `box`, in loops of constant extents where all of it is needed.
  ir::Stmt build_split(const FunctionData& func, const analysis::Box& box,
                       const NestContext& context) const;
  /// The part of `box` that is new in an iteration, where `plan` slides along `loops`.
  ir::Stmt build_new(const FunctionData& func, const analysis::Box& box, const SlidePlan& plan,
                     const std::vector<LoopVars::Loop>& loops, const NestContext& context) const;
  /// Records how far the storage of `func` is folded, if it is.
  void fold(const Frame& frame, const FunctionData& func, const SlidePlan& plan,
            const std::vector<LoopVars::Loop>& loops) const;
  /// The loops of `frame` from `position` to where `func` is stored, or to the outermost.
  [[nodiscard]] std::vector<LoopVars::Loop> loops_to_storage(const Frame& frame, std::size_t position,
                                                             const FunctionData& func) const;
  /// `body`, the whole nest of root Func `func`, in the folded storage of Funcs with store_root.
  [[nodiscard]] ir::Stmt store_folded(const FunctionData& func, ir::Stmt body) const;
  /// A line for print_loop_nest.
  void note(const std::string& text) const;

  // ---- marches (nest_march.cpp) --------------------------------------------------------------------
  ir::Stmt emit_march(const Frame& frame, std::size_t position, const NestContext& context) const;
  ir::Stmt emit_step(const Frame& frame, std::size_t position, const MarchPlan& plan, const Expr& count,
                     const NestContext& context) const;
  ir::Stmt emit_stage(const Frame& frame, std::size_t position, const MarchStage& stage,
                      const Expr& plane, const NestContext& context) const;
  [[nodiscard]] ir::Stmt emit_bulk_wait(const MarchStage& stage, const MarchPlan& plan, const Expr& step,
                                        const Expr& count) const;
  /// The plane of a staged Func whose own points the registers of `window` hold.
  ir::Stmt fill_around(const Frame& frame, std::size_t position, const MarchStage& stage,
                       const analysis::Box& box, const NestContext& context) const;
  /// `point` at the points that a thread has inside of loop `position`.
  [[nodiscard]] ir::Stmt at_own_points(const Frame& frame, std::size_t position,
                                       const ir::Stmt& point) const;
  /// Both versions of a block: all of its points inside the domain, or some outside.
  ir::Stmt split_block(const Frame& frame, std::size_t position, const NestContext& context) const;
  [[nodiscard]] bool keeps_funcs(const Frame& frame) const;
  /// Conditions that `value` of each dimension lies in `need` of the Func, where
  /// the box does not prove it; undefined when there is nothing to check.
  [[nodiscard]] Expr clip_condition(const FunctionData& func, const analysis::Box& box,
                                    const analysis::Box& need, const NestContext& context,
                                    const std::function<Expr(const std::string&)>& value_of) const;
  [[nodiscard]] const FunctionData& find(const std::string& name) const;

  const Program& program_;
  NestFindings& findings_;
};

}  // namespace mica::passes
