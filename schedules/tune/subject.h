// What is tuned: an algorithm, a grid and a target, and what a model asks of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dsl/func/func.h"
#include "runtime/run/target.h"
#include "schedules/input_taps.h"
#include "schedules/tune/tune.h"

namespace mica::tuning {

/// An input's taps as a model sees them.
struct Reads {
  std::string name;
  int bytes = 4;         ///< of an element
  std::size_t taps = 1;  ///< different ones
  std::size_t rows = 1;  ///< different rows: taps that differ in more than dimension 0
  /// Along each dimension, how far the taps reach from the least to the largest offset.
  std::vector<std::int64_t> reach;
  bool in_column = false;  ///< as InputTaps
};

/// What the values of the output, with all Funcs behind it taken in, are made of.
struct Features {
  int dimensions = 0;
  int widest = 1;         ///< bytes of the widest value
  int written_bytes = 0;  ///< a point, all values
  std::vector<Reads> inputs;
  double operations = 0;      ///< arithmetic a point
  std::size_t producers = 0;  ///< Funcs behind the output
  /// All Funcs have one definition, without a recurrence: the schedules of the registry are made for
  /// such.
  bool plain = true;
};

/// The algorithm with the name of a candidate.
class Subject {
 public:
  /// UserErrors at `at`: extents that are not one for each dimension, or below 1; `output` is not
  /// defined.
  Subject(const Func& output, std::vector<std::int64_t> extents, const Target& target,
          const CallSite& at);

  [[nodiscard]] const Features& features() const { return features_; }
  [[nodiscard]] const std::vector<std::int64_t>& extents() const { return extents_; }
  [[nodiscard]] const Target& target() const { return target_; }
  [[nodiscard]] std::int64_t points() const;
  /// A copy of the algorithm, of its own, with that schedule. UserErrors of schedules::apply and of
  /// what it writes.
  [[nodiscard]] Func scheduled(const TuneCandidate& candidate) const;

 private:
  [[nodiscard]] Func copied() const;

  Func output_;
  std::vector<std::int64_t> extents_;
  Target target_;
  Features features_;
};

}  // namespace mica::tuning
