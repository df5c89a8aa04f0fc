// What running a pipeline must leave in memory, by the oracle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fuzz/oracle.h"
#include "runtime/run/executable.h"

namespace mica::test {

enum class Verdict : std::uint8_t {
  Same,           ///< the oracle's bits
  Refused,        ///< a UserError
  Differs,        ///< other bits than the oracle's
  WritesOutside,  ///< memory outside an output's box was written
  Failed,         ///< another exception: an InternalError, the emulator's findings, the oracle's
  Crashed,
  Hung,
};
const char* to_string(Verdict verdict);
[[nodiscard]] inline bool is_failure(Verdict verdict) { return verdict > Verdict::Refused; }

struct Outcome {
  Verdict verdict = Verdict::Same;
  std::string message;
};

/// How the outputs' memory is laid out: poisoned points around each array, unused elements after each
/// row, and whether the last dimension is the fastest.
struct OutputLayout {
  std::int64_t margin = 3, row_padding = 2;
  bool transposed = false;
};

/// The oracle's values of a pipeline's outputs.
class ExpectedOutputs {
 public:
  /// Interprets `outputs`, each over its box, with the inputs that are bound now.
  ExpectedOutputs(const std::vector<Func>& outputs, const std::vector<Box>& boxes,
                  const OutputLayout& layout);
  /// Runs into newly poisoned memory, and compares: Same, Differs or WritesOutside, with the place. What
  /// the run throws is passed on.
  Outcome run(Executable& executable, const RunOptions& options = {}) const;
  /// The same with output `i` into `memory`, of which the output's box alone is looked at.
  Outcome run_into(Executable& executable, std::size_t i, AnyBuffer& memory) const;
  [[nodiscard]] std::size_t size() const { return expected_.size(); }
  [[nodiscard]] Type type(std::size_t i) const { return expected_[i].type(); }
  [[nodiscard]] const AnyBuffer& values(std::size_t i) const { return expected_[i]; }
  [[nodiscard]] const Box& box(std::size_t i) const { return boxes_[i]; }

 private:
  /// With `given`, output `i` goes there.
  Outcome run(Executable& executable, const RunOptions& options, std::size_t i, AnyBuffer* given) const;
  OutputLayout layout_;
  std::vector<AnyBuffer> expected_;  // Tuple elements one after another
  std::vector<Box> boxes_;           // one for each of them
};

}  // namespace mica::test
