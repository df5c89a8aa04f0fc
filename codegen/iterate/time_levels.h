// Several steps at once: the algorithm of a time tile.
//
//   before  Iteration({{u, next}}): next(x) = u(x - 1) + u(x + 1)
//   after   next.t1(x) = select(inside(x), held(x - 1) + held(x + 1), held(x))      held is u, within
//   its box
//           next.t2(x) = next.t1(x - 1) + next.t1(x + 1)                          two steps of u
//
// `inside` is the stepped box: points outside keep their values in every step. Where the stepped box is
// the whole field, as with boundary conditions, nothing is chosen. It is an algorithm like any other, so
// its bits are those of single steps under every schedule.
//
// Where the step repeats (periodic_step.h), the levels do:
//
//   before  next(x) = u.repeat_image(x - 1) + u.repeat_image(x + 1)
//   after   next.t1(x) = held(x - 1) + held(x + 1)          held(x) is u(min + (x - min) % extent)
//           next.t2(x) = next.t1(x - 1) + next.t1(x + 1)    next.t1 is computed beyond the box, too
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/iterate/iteration_state.h"
#include "codegen/iterate/joint_step.h"
#include "codegen/iterate/open_edges.h"

namespace mica::iterate {

/// What the code of several steps at once takes for granted of a run.
struct TileForm {
  bool whole = false;     ///< the stepped box is all of each field
  bool in_lines = false;  ///< inputs are given in whole lines (StepPlan::lines_from)
  /// Of a row the tile stores the points on either side of the stepped box, too, which no step changes:
  /// as many as a step reads there, or more. Tiles at the box's ends then need nothing beyond their own
  /// points:
  ///
  ///      0           tiles of 12 points, of which 2 on either side are others', a box of 26 and 1 point
  ///      [..........--]           on either side: 2 tiles end where 3 would be needed
  ///              [--........--]
  ///                      [--..........]
  ///                                  27
  bool still_ends = false;
  bool open = false;  ///< reads that boundary conditions bend are opened (open_edges.h), if they can be
  /// The step's Funcs compute boxes of their own, and a tile stores what lies around all of them: each
  /// value keeps outside of its Func's box what it was.
  bool apart = false;
  friend bool operator==(const TileForm&, const TileForm&) = default;
};

/// Points that keep their values before and after a box, for each dimension. Empty where it is all of
/// the field.
using Margins = std::vector<std::pair<Param<std::int32_t>, Param<std::int32_t>>>;
constexpr std::int32_t kWidestMargin = 1 << 24;
/// Those of `box` in a field whose points are `field`, added to `params`. False where there are more
/// than kWidestMargin.
bool add_margins(const Margins& margins, const Ranges& box, const Ranges& field,
                 std::vector<RunParam>& params, const CallSite& at);

/// The algorithm of a time tile.
struct TimeLevels {
  /// Its value i is what the field of replacement i holds after all steps.
  Func last;
  /// The values of the last step, in the order of the joint step's (joint_step.h), and `last` as it
  /// reads them or, usually, computes them itself. Kept in registers they are computed whether they are
  /// stored or not, so that no code has them twice, for vectors and for points.
  Func computed;
  std::vector<Expr> kept, direct;
  void keep_last(bool keep);
  /// The Funcs of the steps before, in order, and the fields' values within their boxes.
  std::vector<Func> levels, held;
  /// What a step reads through a Func that is not inline, without directives: again for each step, or
  /// once for all of them where the fields have no part in it.
  struct Producer {
    Func func;
    std::shared_ptr<const FunctionData> original;
    std::optional<std::size_t> level;  ///< reads it; that of `last` is levels.size(). None: all do
    bool near = true;                  ///< its points need the fields around themselves alone
  };
  std::vector<Producer> producers;
  /// Of the stepped boxes, each in the first field that its Func replaces: by Func where these are
  /// apart, else one for all.
  std::vector<Margins> margins;
  /// Of the step. Along dimensions that repeat the levels are computed beyond the box, as far as they
  /// are read, and `box` is the field whose box repeats.
  Periods periods;
  std::shared_ptr<const ImageData> box;
  /// What was opened, of TileForm::open.
  std::vector<OpenedEdge> edges;

  [[nodiscard]] std::vector<Func*> all();
};

/// `steps` steps of the Iteration, one or more.
/// UserError at `at` for an Iteration whose step reads itself, has updates, or Funcs of several numbers
/// of dimensions.
TimeLevels make_time_levels(const Iteration::State& state, int steps, const TileForm& form,
                            const CallSite& at);
/// Are reads that boundary conditions bend opened? On a GPU, where levels stand in registers, as they
/// can be. On the CPU a level whose index is a remainder, as of mirrors, would be computed whole for
/// each row of the next one (4 steps of 3000^2 points 357 ms a step, opened 1.8); others of one and two
/// dimensions are as fast opened or faster, and their code is made in time proportional to the steps; of
/// three they take two thirds as long closed.
bool opens_edges(const Iteration::State& state, const Target& target);
/// That of runs whose fields have points on either side of the stepped box where the step neither
/// repeats nor has other boundary conditions, and whose rows are a tile less for it.
TileForm usual_form(const Iteration::State& state, const Target& target);
/// May tiles have still ends along rows? In three dimensions, where those of a row are few: the
/// thousands of columns of two would have one tile in some seventy less, for a choice at each of the
/// last level's points.
bool may_have_still_ends(const Target& target, std::size_t dimensions);

/// Points of a tile of several steps on the host along the first, the second and the slowest dimension;
/// 0: all of them.
struct HostTile {
  int x = 0, y = 0, slowest = 0;
};
HostTile host_tile(int dimensions);

/// What becomes of levels that cannot be computed tile by tile.
enum class Otherwise : std::uint8_t { OneAfterTheOther, Nothing };
/// Makes what is wanted of the levels, of which it is given the last. False: threads need more registers
/// than they have.
using MakeLevels = std::function<bool(const Func& last)>;
/// Schedules the levels tile by tile in the first of the target's ways for which `make` raises no
/// UserError and, where the user's directives do not say the way, does not return false; else as
/// `otherwise` says. Why they are not computed tile by tile;
/// empty: they are. UserErrors of `make` for levels one after the other. `in_lines` as of
/// TileForm.
std::string schedule_levels(const Iteration::State& state, TimeLevels& tile, const Target& target,
                            bool in_lines, const MakeLevels& make,
                            Otherwise otherwise = Otherwise::OneAfterTheOther);

/// The levels of the Iteration's time tile in this form, scheduled by schedule_levels for `make`, if it
/// makes any; with reads as the step has them where opening them does not help. Why they are not
/// computed tile by tile; empty: they are. UserErrors of make_time_levels and schedule_levels.
std::string make_levels(const Iteration::State& state, TileForm form, const Target& target,
                        TimeLevels& tile, const MakeLevels& make,
                        Otherwise otherwise = Otherwise::OneAfterTheOther);

}  // namespace mica::iterate

namespace mica {

struct Iteration::State::Tile {
  Target target;
  int steps = 1;
  iterate::TileForm form;
  std::vector<Schedule> schedules;  ///< of the step, when the tile was made
  iterate::TimeLevels levels;
  std::string why;  ///< the levels are not computed tile by tile; empty: they are
  iterate::Otherwise otherwise = {};
  Executable executable;  ///< not to be run where they are not, and are nothing otherwise
};

}  // namespace mica
