// One program with a schedule, a target and data: what the fuzzer runs, shrinks and prints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dsl/schedule/schedule.h"
#include "fuzz/case_names.h"
#include "fuzz/compare_memory.h"
#include "fuzz/expected_outputs.h"
#include "fuzz/known_shapes.h"
#include "fuzz/program.h"
#include "fuzz/random_data.h"
#include "runtime/run/target.h"

namespace mica::test {

struct FuzzCase {
  std::uint64_t seed = 0;  ///< that it was drawn from
  Program program;
  Schedule schedule;
  CaseNames names;  ///< the program and its schedule have plain ones
  Target target = Target::host();
  std::vector<Box> boxes;  ///< wanted of each output; see output_boxes
  /// Boxes of the inputs that boundary conditions complete; other inputs span what is read.
  std::map<std::string, Box> bounded_inputs;
  std::uint64_t data_seed = 1;
  Contents contents = Contents::Ordinary;
  /// Poisoned points around each array, and unused elements after each row.
  int margin = 3, row_padding = 2;
  bool transposed = false;  ///< the last dimension of the inputs' and outputs' memory is the fastest
  Baked bake;               ///< what the compilation knows
  /// After a run that was right: each output once more in the memory of each input that could hold it,
  /// and runs from several threads, each with inputs and Params of its own (fuzz/more_runs.h).
  bool in_place = false, in_threads = false;
  /// Then so many steps of an Iteration, if it can be one's step, this many at once (fuzz/step_runs.h).
  int steps = 0, time_tile = 1;
};

/// Do two failures look like one bug? Exceptions must agree in the words of their first line, numbers
/// and names aside.
bool is_same_kind(const Outcome& a, const Outcome& b);

/// Gives the Funcs of `pipeline` these directives; UserError for a Func or definition that is not there.
void put_schedule(TestPipeline& pipeline, const Schedule& schedule);
/// The directives of all Funcs of `pipeline`.
Schedule schedule_of(const TestPipeline& pipeline);

/// The arrays that a case runs on: those of input i are under its name, an output's under those of its
/// values.
ArrayDims arrays_of(const FuzzCase& drawn);
/// What is computed of each Func when none is inlined.
std::map<std::string, Box> boxes_of_funcs(const FuzzCase& drawn);
/// Moves `bound`s that are the Funcs' boxes of `before` to those of `changed`.
void follow_boxes(FuzzCase& changed, const FuzzCase& before);

/// The algorithm of a case with its inputs bound and its schedule given.
struct BoundCase {
  TestPipeline pipeline;
  std::vector<std::unique_ptr<PoisonedOutput>> memory;  ///< of the inputs
  /// The oracle is asked first: it ignores the schedule that compiling may refuse.
  std::unique_ptr<ExpectedOutputs> expected;
};
BoundCase bind(const FuzzCase& drawn);
/// Memory of input `i` with its contents.
std::unique_ptr<PoisonedOutput> input_memory(const FuzzCase& drawn, std::size_t i);

/// Compiles, runs and compares in this process.
Outcome run_case(const FuzzCase& drawn);

/// A whole program that runs the case against the unscheduled algorithm on the host, with the outcome
/// as a comment.
std::string to_string(const FuzzCase& drawn, const Outcome& outcome);

}  // namespace mica::test
