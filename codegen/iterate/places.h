// Sources and receivers: values added to a field, or taken from it, at places on or between grid points.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "codegen/iterate/iteration.h"
#include "codegen/iterate/stepped_boxes.h"
#include "runtime/run/executable.h"

namespace mica::iterate {

/// Adds series(k, n) at place k, n being the number of a step. Different grid points are written, each
/// once: what several places add to one is summed first, in their order.
class Sources {
 public:
  /// UserErrors: as Iteration::add_at's.
  Sources(const ImageParam& field, const std::vector<Place>& places, const AnyBuffer& series,
          const CallSite& at);
  [[nodiscard]] const ImageParam& field() const { return field_; }
  /// The smallest box around its grid points.
  [[nodiscard]] const Ranges& box() const { return box_; }
  /// Those that write points of `box`; nothing if there are none.
  [[nodiscard]] std::optional<Sources> those_in(const Ranges& box) const;
  /// UserErrors at the line of the call: a grid point outside of `buffer`, or of the points `computed`
  /// by a step, if these are given: beside them a field has one value in all its memory.
  void check_inside(const AnyBuffer& buffer, const Ranges& computed) const;
  /// What adds them, on a target.
  [[nodiscard]] Executable compile_for(const Target& target) const;
  /// What adds those of step() to the field in `buffer`, by what compile_for gave.
  [[nodiscard]] PreparedRun prepare(Executable run, AnyBuffer buffer) const;

 private:
  ImageParam field_;
  AnyBuffer series_;
  SourceLocation where_;
  std::vector<std::vector<std::int64_t>> points_;
  Ranges box_;
  AnyBuffer at_, from_, weights_;  ///< of each grid point: coordinates; places and their weights
  ImageParam at_input_, from_input_, weights_input_, series_input_;
};

/// Takes the weighted sums of the field at each place into values(k, n).
class Receivers {
 public:
  /// UserErrors: as Iteration::record's.
  Receivers(const ImageParam& field, const std::vector<Place>& places, const AnyBuffer& values,
            const CallSite& at);
  [[nodiscard]] const ImageParam& field() const { return field_; }
  /// The smallest box around its grid points.
  [[nodiscard]] const Ranges& box() const { return box_; }
  /// UserError at the line of the call for a grid point outside of `buffer`.
  void check_inside(const AnyBuffer& buffer) const;
  /// UserError at the line of the call for steps that `values` lacks.
  void check(std::int64_t first_step, std::int64_t steps) const;
  /// What takes them, on a target.
  [[nodiscard]] Executable compile_for(const Target& target) const;
  /// What takes those of step() from the field in `buffer`, by what compile_for gave.
  [[nodiscard]] PreparedRun prepare(Executable run, const AnyBuffer& buffer) const;

 private:
  ImageParam field_;
  AnyBuffer values_;
  SourceLocation where_;
  std::vector<Place> places_;
  Ranges box_;
  AnyBuffer at_, weights_;
  ImageParam at_input_, weights_input_, values_input_;
};

}  // namespace mica::iterate
