// Iteration: a step of an algorithm, carried out again and again.
//
//   Iteration heat({{u, next}});                       // after a step, u holds what next computed
//   Iteration wave({{before, now}, {now, next}});      // leapfrog: two levels of time
//   heat.run({{u, a}}, 1000);                          // the result is in a
//
// Which memory holds a field between two steps is the Iteration's business: fields move from buffer to
// buffer, or stay where they are if the taps allow (codegen/analysis/in_place.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dsl/func/func.h"
#include "runtime/buffer/buffer.h"
#include "runtime/run/prepared_run.h"
#include "runtime/run/run_options.h"
#include "runtime/run/target.h"

namespace mica {

/// In an algorithm: the number of the step under way, an Int(32), from 0 on; resumed runs go on
/// counting. What changes with time is read there, as in `wavelet(step())` or `cos(omega *
/// cast<float>(step()))`. 0 in runs that belong to no Iteration.
Expr step();

/// What a field holds after a step.
struct Replacement {
  /// The value that `value` computed; of a Tuple, that of its element `element`.
  Replacement(const ImageParam& field, const Func& value, CallSite at = CallSite::current());
  Replacement(const ImageParam& field, const Func& value, int element,
              CallSite at = CallSite::current());
  /// What the field `value` held before the step.
  Replacement(const ImageParam& field, const ImageParam& value, CallSite at = CallSite::current());

  ImageParam field;
  std::optional<Func> func = {};
  int element = 0;
  std::optional<ImageParam> input = {};
  CallSite where;
};

/// A point of the grid and how much it counts.
struct GridPoint {
  std::vector<std::int64_t> at;  ///< coordinates in the field
  double weight = 1;             ///< rounded to the field's type
};
/// A place on or between points of the grid: the points around it with their weights of interpolation.
using Place = std::vector<GridPoint>;
/// The place that is a point of the grid.
inline Place place_at(std::vector<std::int64_t> point) { return {{std::move(point)}}; }

/// A run as callbacks see it: between two steps.
class RunningIteration {
 public:
  virtual ~RunningIteration() = default;
  /// How many steps have been done, those before a resumed run included.
  [[nodiscard]] virtual std::int64_t steps_done() const = 0;
  /// The values of a field now, over its whole box. The buffer is the run's own: copy what must outlive
  /// the callback, and write nothing to it. UserError for an input that no pair replaces.
  [[nodiscard]] virtual AnyBuffer field(const ImageParam& field,
                                        CallSite at = CallSite::current()) const = 0;
};

/// How steps are carried out: `heat.run({{u, a}}, 1000, {.target = Target::host()})`.
struct IterationOptions {
  /// Target::best() if there is none.
  std::optional<Target> target = {};
  /// Values of Params for this run, as RunOptions::params.
  std::vector<RunParam> params = {};
  /// What step() is in the first step, and how many steps were done before it.
  std::int64_t first_step = 0;
};

/// How Iteration::prepare's run is carried out.
struct PrepareOptions {
  /// Target::best() if there is none.
  std::optional<Target> target = {};
  std::vector<RunParam> params = {};
  /// What step() is in its first step.
  std::int64_t first_step = 0;
  /// As RunOptions::stream.
  Stream stream = {};
};

/// When run_until looks and gives up.
struct UntilOptions {
  std::int64_t check_every = 10;
  std::int64_t max_steps = 100000;
  /// The run ends with a UserError when the left side of the condition is more than this many times the
  /// least value it had before.
  double growth = 1e6;
  std::optional<Target> target = {};
  std::vector<RunParam> params = {};
  std::int64_t first_step = 0;
};

/// What a run came to.
struct IterationResult {
  std::int64_t steps = 0;  ///< steps of this run
  bool converged = false;  ///< of run_until: the condition holds
  double value = 0;        ///< of run_until: the left side of the condition when it was last evaluated
};

/// Steps of an algorithm in time. Copies of the handle stand for one Iteration. Several threads may run
/// it at once, each on fields of its own; nobody else may change it, or the Funcs' schedules, meanwhile.
class Iteration {
 public:
  /// UserErrors: no pair, a field replaced twice, types or dimensions that differ, an element that the
  /// Func does not have or that no field takes, a field that nothing in the step reads.
  explicit Iteration(std::vector<Replacement> replacements, CallSite at = CallSite::current());

  /// The points that a step computes, of every Func that replaces a field, or of one: {min, extent} for
  /// each dimension. Points outside keep their values. Without it: all points of the field's buffer at
  /// which every tap has a value (all of them, where the algorithm has boundary conditions). UserErrors:
  /// another number of dimensions, an extent below 1, a Func that replaces nothing.
  Iteration& over(std::vector<std::pair<std::int64_t, std::int64_t>> box,
                  CallSite at = CallSite::current());
  Iteration& over(const Func& func, std::vector<std::pair<std::int64_t, std::int64_t>> box,
                  CallSite at = CallSite::current());

  /// Carries out `steps` steps at once where it can, so that fields are read and written once for all of
  /// them. On the CPU in tiles of its own, whatever directives the step has; on a GPU in the registers
  /// of the step's march (in two dimensions, where it has none, of one that is chosen; of several Funcs
  /// that of the first pair's), in whose frame blocks compute again what lies beside their points. The
  /// bits are those of single steps. What is left over, and what ends at a callback, a checkpoint or a
  /// check, runs step by step. Sources and receivers act in patches of the fields that are computed step
  /// by step beside the tile, where these are a small part of all points, else step by step. Where
  /// levels cannot stand in one kernel they are computed one after the other, and a note on standard
  /// error says why, once a run. UserErrors: less than 1; in a run, a step with updates or that reads
  /// itself, or Funcs of other dimensions; more steps than the run, or than between two checks of
  /// run_until.
  Iteration& time_tile(int steps, CallSite at = CallSite::current());

  /// Keeps one copy of the fields, in the memory that a run is given, where a step reads each of them at
  /// one point, around its box (BoundaryConditions::repeat_image), as populations of a lattice Boltzmann
  /// method stream: a value takes the place of the element that is read on the other side of the point,
  /// where the next step finds it, and that step's values go to their own places
  /// (codegen/iterate/in_place_step.h). The bits are those of steps with two copies. After an odd number
  /// of steps, as at a callback, a check, or each source and receiver, the fields are put in order,
  /// which reads and writes them once more. UserErrors: a field that is read at several points or,
  /// beside the point, not around its box; one without a field of its type on the other side; a step of
  /// several Funcs, with updates, or that reads itself; a field that takes what another held; time_tile;
  /// in a run, points of a field that are not computed.
  Iteration& in_place(CallSite at = CallSite::current());

  /// The directives of the step's Funcs, and the steps at once; and their replacement, as Func::apply
  /// has it, by what Schedule::steps says as time_tile would. So a schedule that tune() found
  /// (schedules/tune/tune.h), or that load_schedule read, is put on an Iteration. UserErrors: a name
  /// that is none of the step's Funcs, inputs or loops; less than 1 step.
  [[nodiscard]] Schedule schedule() const;
  Iteration& apply(const Schedule& schedule, CallSite at = CallSite::current());

  /// After each step n (as step() counts) series(k, n) times its weights is added to `field` at place k:
  /// sources. What several places give to one grid point is summed first, in their order, one fma each,
  /// so that the bits are the same on every target. Steps beyond the series' extent add nothing.
  /// `series` has the field's type, a floating-point one, and two dimensions. UserErrors: coordinates of
  /// another number, or, in a run, of points outside the field or that a step does not compute.
  Iteration& add_at(const ImageParam& field, std::vector<Place> places, const AnyBuffer& series,
                    CallSite at = CallSite::current());
  /// After each step n values(k, n) becomes the weighted sum of `field` at place k, one fma for each
  /// point after the first: receivers. What add_at adds in this step is in it. UserErrors as there; in a
  /// run, a step that `values` does not hold.
  Iteration& record(const ImageParam& field, std::vector<Place> places, const AnyBuffer& values,
                    CallSite at = CallSite::current());

  /// Calls back when the number of steps done is a multiple of n. When a callback throws, the run ends
  /// with its exception, and the user's buffers hold the fields as they are after the last step.
  /// UserError for n below 1.
  Iteration& every(std::int64_t n, std::function<void(const RunningIteration&)> callback,
                   CallSite at = CallSite::current());
  /// Calls back with the steps of this run that are done and, if that is known, their number in all
  /// (else 0), at most ten times a second and at the end.
  Iteration& on_progress(std::function<void(std::int64_t done, std::int64_t total)> callback);
  /// Draws a bar of the steps done on standard error, if that is a terminal.
  Iteration& show_progress(std::string label);
  /// A condition on Params, such as `c <= 1.0F / 6`: a run for which it does not hold says so, with the
  /// number on its left, on standard error, and goes on.
  Iteration& stable_if(const Expr& condition, CallSite at = CallSite::current());

  /// Writes all fields and the number of steps done to a file every n steps and at a run's end, beside
  /// it first and then in its place: what was there stays whole until the new one is. DeviceError when
  /// the file cannot be written (the fields are then as after the last step).
  Iteration& checkpoint(std::string path, std::int64_t every, CallSite at = CallSite::current());
  /// Reads the fields of a checkpoint into `fields` and gives the number of steps done: for
  /// `.first_step`, so that a run goes on with the same bits. UserErrors, before any field is changed:
  /// no such file, a damaged one, one of another algorithm, type or extent.
  std::int64_t resume(const std::string& path, const std::vector<RunInput>& fields,
                      CallSite at = CallSite::current()) const;

  /// Carries out `steps` steps on the fields, whose buffers then hold the result. What else the
  /// algorithm reads may be named beside them, or be set as for any run; it is what it is when the run
  /// begins, whatever a callback sets. Where nothing says how steps are carried out, neither a directive
  /// nor time_tile, it is what tuning found for such fields, if it did (docs/tuning.md). UserErrors
  /// before the first step: a field that is missing or named twice, buffers that share memory or have
  /// another shape than one that they replace, a box so small that no point has all its taps, a negative
  /// number of steps.
  IterationResult run(const std::vector<RunInput>& fields, std::int64_t steps,
                      const IterationOptions& options = {}, CallSite at = CallSite::current());
  /// Steps until `condition` holds, a comparison whose sides are numbers without Vars made of Funcs
  /// without dimensions, Params and constants: `norm() < 1e-6F`. UserErrors: no such comparison; its
  /// left side becomes NaN, or grows beyond UntilOptions::growth (the fields are then as at that step).
  IterationResult run_until(const std::vector<RunInput>& fields, const Expr& condition,
                            const UntilOptions& options = {}, CallSite at = CallSite::current());

  /// The steps that time_tile says (one without it) as one run, for programs that launch themselves: in
  /// streams and graphs, from and to memory that they choose. It reads `fields`, named as for run(), and
  /// writes `results`, {field, buffer} for every field that the step computes (after several steps: for
  /// every field). A result may have fewer points than its field: those are computed and no others, as
  /// in a slab whose neighbours compute the rest. Points outside of the stepped box, which keep their
  /// values, are in no result. At an edge of `fields` beyond which the problem goes on, they are those
  /// of before: results that are as far from it as the taps of all steps reach do not depend on them.
  ///
  ///   heat.time_tile(4);
  ///   PreparedRun four = heat.prepare({{u, slab}}, {{u, inner}}, {.stream = mine});
  ///   four.run();
  ///
  /// Callbacks, checkpoints and conditions are run()'s alone. UserErrors as run()'s; a result that is
  /// missing, named twice, of no field, or with points outside of the stepped box; sources or receivers;
  /// several steps that would be computed step by step. DeviceErrors as Executable::prepare.
  [[nodiscard]] PreparedRun prepare(const std::vector<RunInput>& fields,
                                    const std::vector<RunInput>& results,
                                    const PrepareOptions& options = {},
                                    CallSite at = CallSite::current());

  /// The loops of a step and, with time_tile, those of several steps at once (of a stepped box that is
  /// not all of the fields), as Func::print_loop_nest has them.
  [[nodiscard]] std::string print_loop_nest(const Target& target) const;

  /// PTX of a step or, with time_tile, of several steps at once (of a stepped box that is not all of the
  /// fields), without a GPU at hand. UserError if no kernel is on the GPU.
  [[nodiscard]] std::string compile_to_ptx(int sm = 90) const;

  /// The Func that computes all steps of a time tile (of a stepped box that is not all of the fields),
  /// with the schedule that a run on `target` gives it: for its print_plan and the like, not for
  /// directives. UserError without time_tile.
  [[nodiscard]] Func steps_at_once(const Target& target, CallSite at = CallSite::current()) const;

  struct State;
  /// What the handles share; for the library's own use.
  [[nodiscard]] const std::shared_ptr<State>& state() const { return state_; }

 private:
  std::shared_ptr<State> state_;
};

}  // namespace mica
