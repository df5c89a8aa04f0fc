// Stencils iterated in time: single steps and time tiles, against the roof of single sweeps.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "bench/time_steps.h"
#include "codegen/iterate/iteration.h"
#include "schedules/registry.h"

namespace mica::bench {

/// How many steps at once are tried, and how a step is scheduled for them.
struct TimeVariant {
  int steps = 1;
  /// threads_x, threads_y, rows, chunk, vec, scatter, registers: of the step's tile and march (no march:
  /// chunk 0). In two dimensions a march has one warp a block, and neither threads_y nor rows; it asks
  /// for rows `ahead` steps early.
  schedules::Parameters parameters;
  bool plain = false;  ///< on a GPU the step has no directives: Mica chooses its tile and march
};

/// A stencil that is iterated.
struct TimeCase {
  std::string name, description;
  Type type;
  int dimensions = 3;
  std::int64_t size = 0;  ///< points along each side
  std::vector<TimeVariant> variants;
};

/// "7pt-f32", "7pt-f64", "27pt-f64", "13pt-f32", "5pt-f32", "5pt-f64", "9pt-box-f64", of fixed
/// boundaries; "7pt-f32-repeat-edge", "5pt-f64-repeat-edge", "5pt-f32-constant-exterior";
/// "7pt-f32-places" and "5pt-f32-places", with a source and receivers; "staggered-2d-f32" and
/// "staggered-3d-f32", of several Funcs; "gray-scott-f32", periodic.
std::vector<TimeCase> time_cases();

/// The step of the time case `name`, iterated as a variant says on `target`. UserError if there is no
/// such case.
Iteration make_time_case(const std::string& name, const TimeVariant& variant, const Target& target);
/// Random values for the fields of a case. The first point that a step computes stands at the begin of a
/// line.
std::vector<AnyBuffer> random_fields(const TimeCase& c, const std::vector<std::int64_t>& extents);

struct TimeOptions {
  Target target;
  std::string filter;           ///< the case of this name, or all whose name contains it
  std::int64_t size = 0;        ///< points along each side; 0: the case's own
  std::int64_t steps = 500;     ///< of a timed run, rounded up to whole time tiles
  int runs = 5;                 ///< timed runs of each; the median counts
  double pause = 0;             ///< seconds of rest before a timed run: a GPU at its power limit cools
  std::vector<int> tiles = {};  ///< steps at once to try; empty: the case's own
  schedules::Parameters parameters;  ///< in place of the case's own
  bool plain = false;                ///< no directives but time_tile; see TimeVariant::plain
};

/// A line for each case and number of steps at once: milliseconds a step, 10^9 point updates a second,
/// their share of the roof of single sweeps (what a copy of as many bytes as one reads and writes
/// allows, in this process), and whether the fields have the bits of single steps. InternalError at the
/// end if some have not; UserError if the filter names no case.
void run_time(const TimeOptions& options, std::ostream& out);

}  // namespace mica::bench
