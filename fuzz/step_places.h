// Sources and receivers of a case's Iteration, and what the oracle makes of them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "codegen/iterate/iteration.h"
#include "fuzz/fuzz_case.h"

namespace mica::test {

/// Drawn from the case's data: of one case in three, on fields of f32 and f64.
class StepPlaces {
 public:
  /// `fields`: the memory of the inputs that the steps replace, in each of which they compute its box.
  StepPlaces(const FuzzCase& drawn, const std::vector<AnyBuffer>& fields, const std::vector<Box>& boxes);

  /// Makes them act between the steps of `steps`, which replaces `inputs`.
  void add_to(Iteration& steps, const std::vector<ImageParam>& inputs) const;
  /// What they do after step `number`, by the oracle: `fields` are in host memory.
  void act(std::vector<AnyBuffer>& fields, int number);
  /// What receivers have taken is forgotten.
  void forget();
  /// Is what the receivers have taken what the oracle has? Else in what it differs.
  [[nodiscard]] std::string difference() const;

 private:
  struct Call {
    std::size_t field = 0;
    std::vector<Place> places;
    AnyBuffer values, expected;  ///< of a source: its series
  };
  std::vector<Call> sources_, receivers_;
};

}  // namespace mica::test
