// Which memory holds each field of an Iteration, step by step.
//
// A step writes the new values of a field where no field lives that is still needed: into memory of its
// own, into that of the step before, or, where the taps allow it, into the very memory of a field that
// ends with this step. Outside of the stepped box a field's values never change, so memory that a field
// enters gets them once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "codegen/iterate/stepped_boxes.h"
#include "runtime/buffer/buffer.h"
#include "runtime/run/executable.h"
#include "runtime/run/target.h"

namespace mica::iterate {

/// Copies points of buffers of one type and box on a target. Several threads may share one, with what
/// it has compiled.
class BoxCopier {
 public:
  explicit BoxCopier(Target target) : target_(target) {}
  /// The points of `box`; a box of no points is copied at once.
  void copy(const AnyBuffer& from, const AnyBuffer& to, const Ranges& box);
  /// All points but those of `inner`.
  void copy_outside(const AnyBuffer& from, const AnyBuffer& to, const Ranges& inner);

 private:
  struct Copy {
    ImageParam from;
    Executable run;
  };
  Copy copy_of(const Type& type, int dimensions);
  Target target_;
  std::mutex compiling_;                                ///< guards copies_
  std::map<std::pair<std::string, int>, Copy> copies_;  ///< by type and number of dimensions
};

/// What replaces a field: an output of the step, or another field.
struct FieldRule {
  int output = -1;  ///< number of the output, in the order of Executable::run
  int field = -1;
  Ranges box = {};                      ///< with an output: the points that it computes
  std::vector<int> may_overwrite = {};  ///< fields whose memory the output may take in place
  /// With an output: the field whose values lie outside of the box after it; -1: its own.
  int outside = -1;
};

/// The fields of one run. The numbers of fields and rules are the same.
class FieldBuffers {
 public:
  /// `fields`: the user's buffers, whose values they hold. `rules`: those of most steps.
  FieldBuffers(std::vector<AnyBuffer> fields, const std::vector<FieldRule>& rules, const Target& target,
               std::shared_ptr<BoxCopier> copier);

  /// Chooses the memory of the next step and fills in what lies outside of the stepped boxes.
  /// output(f) is then where the step writes field f (of a rule with an output), current(f) what it
  /// reads. `rules` are used until the next call.
  void prepare(const std::vector<FieldRule>& rules);
  [[nodiscard]] AnyBuffer output(std::size_t field) const;
  [[nodiscard]] const AnyBuffer& current(std::size_t field) const;
  /// The step has run: the outputs are current.
  void advance();
  /// The user's buffers hold the fields.
  void finish();

 private:
  struct Slot {
    AnyBuffer buffer;
    int outside_of = 0;  ///< the field whose values, as they were first, lie outside of the stepped box
  };
  [[nodiscard]] int slot_for(std::size_t field, const std::vector<int>& next, std::vector<bool>& taken);
  [[nodiscard]] const FieldRule& rule(std::size_t field) const { return (*rules_)[field]; }
  /// Whose values lie outside of the box after this step.
  [[nodiscard]] int outside_of(std::size_t field) const;
  [[nodiscard]] bool same_box(const AnyBuffer& a, const AnyBuffer& b) const;

  std::vector<AnyBuffer> fields_;
  const std::vector<FieldRule>* rules_;
  Target target_;
  std::shared_ptr<BoxCopier> copier_;
  std::vector<Slot> slots_;
  std::vector<int> current_, next_;
};

/// A buffer of the same type and box as `like`, in rows that are whole lines of 128 bytes and in which
/// the first point of `inner` is the first of a line.
AnyBuffer aligned_like(const AnyBuffer& like, const Ranges& inner);

}  // namespace mica::iterate
