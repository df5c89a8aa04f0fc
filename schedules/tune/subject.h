// What is tuned: an algorithm, a grid and a target, and what a model asks of them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/iterate/iteration_state.h"
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
  bool in_column = false;                               ///< as InputTaps
  std::vector<std::vector<std::int64_t>> offsets = {};  ///< of the taps
};

/// What the values of the outputs, with all Funcs behind them taken in, are made of.
struct Features {
  int dimensions = 0;
  int widest = 1;         ///< bytes of the widest value
  int written_bytes = 0;  ///< a point, all values
  std::vector<Reads> inputs;
  double operations = 0;  ///< arithmetic a point, of each Func once
  /// On the CPU: the same where a Func is computed for each point that is read of it, unless the
  /// compiler computes it ahead; and elements that are read for a point, of each Func once.
  double inlined_operations = 0, accesses = 0;
  std::size_t producers = 0;  ///< Funcs behind the outputs
  std::size_t computing = 0;  ///< those of them that do more than move values
  /// All Funcs have one definition, without a recurrence: the schedules of the registry are made for
  /// such.
  bool plain = true;

  /// Of each dimension what reach() says where boundary conditions keep taps to a box. Levels of an
  /// Iteration are computed so far beside a tile.
  std::vector<std::int64_t> reach_inside;

  /// How far the taps of any input reach along a dimension, from the least to the largest offset.
  [[nodiscard]] std::int64_t reach(std::size_t dim) const;
};

/// What the step of an Iteration is, beside its Funcs.
struct Stepping {
  /// Without its callbacks, checkpoint, sources and receivers, which no trial may call or write.
  std::shared_ptr<const Iteration::State> state;
  bool whole = false;  ///< a step computes all points of each field
  int most = 1;        ///< steps at once that may be tried
  /// Steps after which something is due between two of them; 0: nothing is that counts.
  std::int64_t due = 0;
  bool apart = false;  ///< its Funcs compute other boxes
  /// Mins and extents of what a step reads where the first point of all its boxes is at 0, by their
  /// symbols, and, by Func, the points of the first field that it replaces before and after its own box.
  std::map<std::string, std::int64_t> symbols = {};
  std::vector<iterate::Ranges> kept = {};
};

/// The algorithm with the name of a candidate: Funcs, or the step of an Iteration.
class Subject {
 public:
  /// UserErrors at `at`: no output, extents that are not one for each dimension, or below 1; an output
  /// that is not defined, or of other dimensions than the first.
  Subject(std::vector<Func> outputs, std::vector<std::int64_t> extents, const Target& target,
          const CallSite& at, std::optional<Stepping> stepping = {});
  Subject(const Func& output, std::vector<std::int64_t> extents, const Target& target,
          const CallSite& at)
      : Subject(std::vector<Func>{output}, std::move(extents), target, at) {}

  [[nodiscard]] const Features& features() const { return features_; }
  [[nodiscard]] const std::vector<std::int64_t>& extents() const { return extents_; }
  [[nodiscard]] const Target& target() const { return target_; }
  [[nodiscard]] std::size_t outputs() const { return outputs_.size(); }
  [[nodiscard]] std::int64_t points() const;
  /// Have the outputs' arrays other points beside each other in memory than those of dimension 0?
  [[nodiscard]] bool is_other_layout() const { return is_other_; }
  /// Those of the last of three dimensions, from 0 on, of which there are 2 to 4?
  [[nodiscard]] bool is_interleaved() const { return is_interleaved_; }
  /// Arrays of outputs as runs will write, one for each value. UserErrors: others than the outputs'.
  void set_outputs(const std::vector<AnyBuffer>& outputs, const CallSite& at);
  /// Of an Iteration's step; null: there is none.
  [[nodiscard]] const Stepping* stepping() const { return stepping_ ? &*stepping_ : nullptr; }
  /// A copy of the algorithm, of its own, with that schedule. UserErrors of schedules::apply and of
  /// what it writes.
  [[nodiscard]] std::vector<Func> scheduled(const TuneCandidate& candidate) const;
  /// The Iteration with that schedule of its step, and the candidate's steps at once.
  [[nodiscard]] std::shared_ptr<Iteration::State> scheduled_steps(const TuneCandidate& candidate) const;

 private:
  std::vector<Func> outputs_;
  std::vector<std::int64_t> extents_;
  Target target_;
  Features features_;
  bool is_interleaved_ = false, is_other_ = false;
  std::optional<Stepping> stepping_;
};

}  // namespace mica::tuning
