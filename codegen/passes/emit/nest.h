// The construction behind build_loop_nest, from the outermost loop inwards: functions whose arguments
// are values, of which each place of a nest has its own.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "codegen/passes/emit/block_fills.h"
#include "codegen/passes/emit/own_points.h"
#include "codegen/plan/filling.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/slide_plan.h"
#include "codegen/plan/storage_shape.h"
#include "codegen/program.h"

namespace mica::passes::nest {

using planning::Crew;
using planning::Fold;
using planning::Guard;
using planning::kPlaneSymbol;
using planning::LoopVars;
using planning::MarchPlan;
using planning::MarchStage;
using planning::SlidDim;
using planning::SlidePlan;

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

/// What all functions below read, and what they find.
struct Nesting {
  const Program& program;
  NestFindings& findings;
  /// needed_boxes of the program, where a plan holds loads inside them at the edge; else nothing.
  const std::map<std::string, analysis::Box>& needed;
};

/// What surrounds the code under construction.
struct Around {
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

/// One definition under construction, at one place of its nest.
struct Nested {
  const FunctionData& func;
  std::size_t index;
  const LoopVars& vars;
  OpenGuards open;
  Expr clip = {};    ///< further condition on the point, or undefined
  Expr tested = {};  ///< points where this does not hold are computed and not stored
  /// Set inside the loop along which registers carry the Func's recurrence.
  const Carried* carried = nullptr;
  /// The thread's points may lie outside: its loops are not written out.
  bool rolled = false;
  /// A block at the domain's edge that keeps nothing.
  bool at_edge = false;
  /// Of a definition at the root.
  const planning::KernelPlan* kernel = nullptr;
  /// Of blocks whose threads keep what is read beside their own points.
  std::optional<planning::CommonFrame> common = {};
};

/// The loops of definition `index` of root Func `func` over its whole buffer.
ir::Stmt build_root(const Nesting& nesting, const FunctionData& func, std::size_t index, bool& on_gpu);

ir::Stmt build_func(const Nesting& nesting, const FunctionData& func, const analysis::Box& box,
                    const Around& context);
ir::Stmt build_definitions(const Nesting& nesting, const FunctionData& func, const analysis::Box& box,
                           const Around& context);
ir::Stmt emit_loops(const Nesting& nesting, const Nested& frame, std::size_t outermost_left,
                    const Around& context);
ir::Stmt emit_inside(const Nesting& nesting, const Nested& frame, std::size_t position,
                     const Around& context);
/// The loops inside the thread loop `position`, of which no Func is computed: without tests where all
/// of the thread's points are to be computed.
ir::Stmt emit_points(const Nesting& nesting, const Nested& frame, std::size_t position,
                     const Around& context);
/// Allocations and computations of the Funcs placed at this loop, around `body`.
ir::Stmt place_funcs(const Nesting& nesting, const Nested& frame, std::size_t position,
                     const Around& context, ir::Stmt body);
/// The same place in words of those that fill boxes.
FillPlace fill_place(const Nesting& nesting, const Around& context);
// ---- Funcs that read themselves (nest_recurrence.cpp) --------------------------------------------
/// The registers that carry the recurrence of `frame` along loop `position`, if that is where a thread
/// begins to walk its column, and they are few.
std::optional<Carried> carried_at(const Nesting& nesting, const Nested& frame, std::size_t position,
                                  const Around& context);
/// The walk along loop `position`, with the values that it carries in registers.
ir::Stmt emit_carried(const Nesting& nesting, const Nested& frame, std::size_t position,
                      const Around& context, const Carried& carried);
/// The written-out loop `position` along a recurrence: without tests where all of its steps are to be
/// made, so that their loads can be under way together, and as a loop for the last few. Undefined
/// where nothing is to be tested.
ir::Stmt emit_steps(const Nesting& nesting, const Nested& frame, std::size_t position,
                    const Around& context);

/// `body` in their storage.
ir::Stmt store_funcs(const Nesting& nesting, const Nested& frame, std::size_t position,
                     const Around& context, ir::Stmt body);
/// Adds their boxes to `context`.
void add_stored(const Nesting& nesting, const Nested& frame, std::size_t position, Around& context);
/// What `func` is to be computed for at most: what the pipeline needs and its storage holds.
analysis::Box needed_box(const Nesting& nesting, const FunctionData& func, const Around& context);
/// May iterations of such a loop be under way at the same time?
bool runs_at_once(LoopKind kind);
/// "the Parallel loop y"
std::string loop_text(const LoopVars::Loop& loop);
/// `stage`: kept along a march, in a ring where the Func has a marched dimension.
ir::Stmt allocate(const Nesting& nesting, const FunctionData& func, const analysis::Box& box,
                  const Around& context, const ir::Stmt& body, const MarchStage* stage = nullptr);

// ---- sliding (nest_sliding.cpp) ------------------------------------------------------------------
/// Computes what an iteration of `frame`'s loop `position` reads of `func`, which is stored outside of
/// it, except what earlier iterations have computed.
ir::Stmt build_slid(const Nesting& nesting, const Nested& frame, std::size_t position,
                    const FunctionData& func, const analysis::Box& box, const Around& context);
/// `body`, the whole nest of root Func `func`, in the folded storage of Funcs with store_root.
ir::Stmt store_folded(const Nesting& nesting, const FunctionData& func, ir::Stmt body);
/// A line for print_loop_nest.
void note(const Nesting& nesting, const std::string& text);

// ---- marches (nest_march.cpp) --------------------------------------------------------------------
ir::Stmt emit_march(const Nesting& nesting, const Nested& frame, std::size_t position,
                    const Around& context);
/// `point` at the points that a thread has inside of loop `position`.
ir::Stmt at_own_points(const Nesting& nesting, const Nested& frame, std::size_t position,
                       const ir::Stmt& point);
/// Are points stored one by one: by atomic operations, or those of a colour?
bool stores_apart(const Nesting& nesting, const Nested& frame);
/// The plane `box` of `stage`, whose own points the registers of a window hold (nest_window.cpp).
///
///        y strip           the tile's own points come from the window; with a star no corner is read
///     +-----------+
///   x |   tile    | x
///     +-----------+
///        y strip
ir::Stmt fill_around(const Nesting& nesting, const Nested& frame, std::size_t position,
                     const MarchStage& stage, const analysis::Box& box, const Around& context);
/// Both versions of a block: all of its points inside the domain, or some outside.
ir::Stmt split_block(const Nesting& nesting, const Nested& frame, std::size_t position,
                     const Around& context);
bool keeps_funcs(const Nesting& nesting, const Nested& frame);
/// Conditions that `value` of each dimension lies in `need` of the Func, where
/// the box does not prove it; undefined when there is nothing to check.
Expr clip_condition(const FunctionData& func, const analysis::Box& box, const analysis::Box& need,
                    const Around& context, const std::function<Expr(const std::string&)>& value_of);
const FunctionData& find(const Nesting& nesting, const std::string& name);

}  // namespace mica::passes::nest
