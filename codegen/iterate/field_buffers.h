// Which memory holds each field of an Iteration, step by step.
//
// A step writes the new values of a field where no field lives that is still needed: into memory of its
// own, into that of the step before, or, where the taps allow it, into the very memory of a field that
// ends with this step. Outside of the stepped box a field's values never change, so memory that a field
// enters gets them once.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "codegen/iterate/stepped_boxes.h"
#include "runtime/buffer/buffer.h"
#include "runtime/run/executable.h"
#include "runtime/run/prepared_run.h"
#include "runtime/run/target.h"

namespace mica::iterate {

/// Copies points of buffers of one type and box on a target. Several threads may use it.
class BoxCopier {
 public:
  explicit BoxCopier(Target target) : target_(target) {}
  [[nodiscard]] const Target& target() const { return target_; }
  /// A run that copies the points of `box`, of which there are some.
  [[nodiscard]] PreparedRun prepare(const AnyBuffer& from, const AnyBuffer& to, const Ranges& box);
  /// The points of `box`; a box of no points is copied at once.
  void copy(const AnyBuffer& from, const AnyBuffer& to, const Ranges& box);
  /// All points but those of `inner`.
  void copy_outside(const AnyBuffer& from, const AnyBuffer& to, const Ranges& inner);

 private:
  struct Copy {
    ImageParam from;
    Executable run;
  };
  /// What copies buffers like `buffer`, compiled by the first call for such.
  Copy copy_for(const AnyBuffer& buffer);

  Target target_;
  std::mutex compiling_;                                ///< guards the copies
  std::map<std::pair<std::string, int>, Copy> copies_;  ///< by type and number of dimensions
};

/// What replaces a field: an output of the step, or another field.
struct FieldRule {
  int output = -1;  ///< number of the output, in the order of Executable::run
  int field = -1;
  /// With an output: the points that it computes. Those that the field does not have are nobody's.
  Ranges box = {};
  std::vector<int> may_overwrite = {};  ///< fields whose memory the output may take in place
  /// With an output: the field whose values lie outside of the box after it; -1: its own.
  int outside = -1;
  /// With an output: the box holds points, too, that keep their values.
  bool with_still = false;
  /// With an output: every step leaves the field in the user's memory, whatever its rows are like.
  bool stays = false;
};

/// The fields of one run. The numbers of fields and rules are the same.
class FieldBuffers {
 public:
  /// Which memory each field is in: numbers without further meaning.
  using Places = std::vector<int>;

  /// `fields`: the user's buffers, whose values they hold. `rules`: those of most steps, whose boxes'
  /// first points begin the rows of all memory that is not the user's. `copier` outlives them.
  FieldBuffers(std::vector<AnyBuffer> fields, const std::vector<FieldRule>& rules, BoxCopier& copier);

  /// Chooses the memory of the next step and fills in what lies outside of the stepped boxes.
  /// output(f) is then where the step writes field f (of a rule with an output), current(f) what it
  /// reads, next(f) what field f is after it. Was anything filled in? `rules` are used until the next
  /// call.
  bool prepare(const std::vector<FieldRule>& rules);
  [[nodiscard]] AnyBuffer output(std::size_t field) const;
  [[nodiscard]] const AnyBuffer& current(std::size_t field) const { return in(current_[field]); }
  [[nodiscard]] const AnyBuffer& next(std::size_t field) const { return in(next_[field]); }
  /// Where the fields are, and will be after the step.
  [[nodiscard]] const Places& places() const { return current_; }
  [[nodiscard]] const Places& next_places() const { return next_; }
  /// The step has run: the outputs are current.
  void advance();
  /// The user's buffers hold the fields.
  void finish();

 private:
  struct Slot {
    AnyBuffer buffer;
    AnyBuffer memory;  ///< all points that it has room for: the buffer's, or more
    /// The field whose values, as they were first, lie outside of the stepped box; -1: none's.
    int outside_of = 0;
  };
  [[nodiscard]] const AnyBuffer& in(int place) const {
    return slots_[static_cast<std::size_t>(place)].buffer;
  }
  /// Adds memory like that of `field` now, and returns its place.
  int add_slot(std::size_t field, int outside_of);
  [[nodiscard]] int slot_for(std::size_t field);
  [[nodiscard]] const FieldRule& rule(std::size_t field) const { return (*rules_)[field]; }
  /// The field whose values lie outside of the box after this step.
  [[nodiscard]] std::size_t outside_of(std::size_t field) const;

  std::vector<AnyBuffer> fields_;
  BoxCopier& copier_;
  const bool gpu_;
  const std::vector<FieldRule>* rules_ = nullptr;
  std::vector<Ranges> aligned_;  ///< boxes, by field, at whose first points rows are aligned
  std::vector<Slot> slots_;      ///< the first are the user's, in the order of the fields
  Places current_, next_;
};

/// A buffer of the type of `like` over what lies around its box and `inner`, in rows that are whole
/// lines of 128 bytes and in which the first point of `inner` is the first of a line.
AnyBuffer aligned_like(const AnyBuffer& like, const Ranges& inner);
/// Can vectors of 16 bytes start at the first point of `inner` in every row?
bool has_aligned_rows(const AnyBuffer& buffer, const Ranges& inner);
/// `buffer` with what its memory holds beside its rows: dimension 0 begins and ends a whole number of
/// lines of 128 bytes from the point `first`. Undefined if its memory ends before.
AnyBuffer in_lines(const AnyBuffer& buffer, std::int64_t first);
/// The box that it has, of a buffer of elements of `type` over `box`.
Ranges in_lines(Type type, Ranges box, std::int64_t first);

}  // namespace mica::iterate
