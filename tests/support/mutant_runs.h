// Runs the mutants of scheduled pipelines on the emulator.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "dsl/pipeline/pipeline.h"
#include "fuzz/expected_outputs.h"
#include "runtime/run/executable.h"
#include "tests/support/mutants.h"

namespace mica::test {

/// How a run shows a fault.
enum class Caught : std::uint8_t {
  Survived,
  Idle,           ///< survived, and no thread came to where it would act
  Race,           ///< accesses that nothing orders, early ones to copied elements among them
  Uninitialised,  ///< a read of shared memory that nothing has written
  OutOfRange,
  CopyRule,  ///< misaligned, left under way, wrong numbers of bytes, ...
  Stuck,     ///< a wait that nothing ends, a barrier to which not all come, or some twice
  Bits,      ///< the oracle's differ, or memory outside an output is written
};
const char* to_string(Caught caught);

/// The mutants of one scheduled pipeline.
class MutantRuns {
 public:
  /// Lowers the pipeline of `outputs` for the emulator, which may throw a UserError. The first run() of
  /// all must be of mutant 0.
  MutantRuns(const std::vector<Func>& outputs, std::set<Mutation> wanted);
  /// The mutants of the code that the last run took; the numbers of run() count from 1.
  [[nodiscard]] const std::vector<Mutant>& mutants() const { return taken_->mutants; }
  /// Runs mutant `number`, or the code as it is for 0, in an order of blocks and threads that `seed`
  /// decides. `message`, if given, gets what was found.
  Caught run(const ExpectedOutputs& expected, int number, std::uint64_t seed,
             std::string* message = nullptr);

 private:
  struct Compiled {
    std::vector<Mutant> mutants;
    CompiledVariant code;
  };
  std::shared_ptr<const CompiledVariant> compile(const Variant& variant, int number);

  Pipeline pipeline_;
  std::set<Mutation> wanted_;
  std::map<Variant, Compiled> compiled_;
  const Compiled* taken_ = nullptr;
};

/// Counts by mutation and by how they were caught, and a text for each survivor.
struct MutantTable {
  std::map<Mutation, std::map<Caught, int>> counts;
  std::map<std::string, int> excused;  ///< how many survived for a reason that is known
  std::vector<std::string> survivors;
};
std::string to_string(const MutantTable& table);

/// Inputs and outputs of a run.
struct Situation {
  std::function<std::vector<std::shared_ptr<void>>()> bind;  ///< sets the inputs; the result keeps them
  ExpectedOutputs expected;
};
/// Runs every mutant of `runs` in each of the situations, in up to `orders` orders, until it is caught.
/// All situations must lead to the same variant of the code. Survivors for which there is a reason
/// (why_equivalent) are counted; what the code itself does wrong goes to the survivors, too. `name` is
/// the pipeline's, for the texts.
void run_all(const std::string& name, MutantRuns& runs, const std::vector<Situation>& situations,
             int orders, MutantTable& table);

}  // namespace mica::test
