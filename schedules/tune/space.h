// Which schedules suit an algorithm: named ones, and the values that their parameters may take.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "schedules/tune/subject.h"

namespace mica::tuning {

/// A named schedule with values of its parameters; the others keep their defaults.
struct Family {
  struct Axis {
    std::string name;
    std::vector<std::int64_t> values;  ///< neighbours side by side
  };
  std::string recipe;
  std::vector<Axis> axes;

  /// The candidate with each axis' value at `places`.
  [[nodiscard]] TuneCandidate at(const std::vector<std::size_t>& places) const;
  /// Where a candidate stands; nothing for one of other parameters or values, as a store may hold.
  [[nodiscard]] std::optional<std::vector<std::size_t>> places_of(const TuneCandidate& candidate) const;
  [[nodiscard]] std::size_t size() const;
};

/// How many steps may be taken at once: 2, 3, 4, 6 and so on whose levels reach no farther beside a
/// block than the grid does. None of a Func that is no step.
std::vector<std::int64_t> steps_at_once(const Subject& subject);

/// The families that suit the algorithm's shape on the target: what it reads decides, never its name.
/// Values that cannot differ on this grid (tiles wider than it) are left out. `only`: those of this
/// recipe, if one is named; none where it does not suit.
std::vector<Family> families_of(const Subject& subject, const std::string& only = {});

/// The candidates one step along one axis from `candidate`, which need not stand on the axes' values;
/// none for one that is not of the family.
std::vector<TuneCandidate> neighbours(const Family& family, const TuneCandidate& candidate);
/// One candidate of the family, each as likely as any other.
TuneCandidate drawn(const Family& family, std::mt19937_64& random);

}  // namespace mica::tuning
