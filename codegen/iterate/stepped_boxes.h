// The points that a step computes: those of each field at which every tap has a value.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dsl/func/func.h"
#include "runtime/buffer/buffer.h"

namespace mica::iterate {

/// {min, extent} for each dimension.
using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;

Ranges ranges_of(const AnyBuffer& buffer);
std::int64_t points_in(const Ranges& box);
bool is_inside(const Ranges& inner, const Ranges& outer);
/// The smallest box around both; an empty one has no part in it.
Ranges box_around(const Ranges& a, const Ranges& b);
/// The smallest around all of one number of dimensions, else the first.
Ranges box_around(const std::vector<Ranges>& boxes);
/// "[0..9] x [-1..4]".
std::string text_of(const Ranges& ranges);

/// What a box of every output reads: of inputs and of one another. Made once an Iteration.
class StepReads {
 public:
  /// UserErrors of the algorithm, as compile's.
  explicit StepReads(const std::vector<Func>& outputs);
  ~StepReads();
  StepReads(const StepReads&) = delete;
  StepReads& operator=(const StepReads&) = delete;

  [[nodiscard]] bool reads(const ImageData* input) const;
  /// Does the step ask where an input begins or ends along dimension 0, as boundary conditions do?
  [[nodiscard]] bool asks_for_row_ends() const;
  /// Does the step read anything at remainders of coordinates, as mirrors do?
  [[nodiscard]] bool at_remainders() const;
  [[nodiscard]] bool has_scalar(const ParamData* param) const;

  /// Shrinks the boxes of those outputs that are not `fixed` until what they read lies inside the boxes
  /// of the inputs that `inputs` names and, of an output that another reads, inside its own box.
  /// `params`: the integer Params that indices depend on. UserError at `at` if nothing is left.
  [[nodiscard]] std::vector<Ranges> inside(
      std::vector<Ranges> boxes, const std::vector<bool>& fixed,
      const std::vector<std::pair<const ImageData*, AnyBuffer>>& inputs,
      const std::map<const ParamData*, std::int64_t>& params, const CallSite& at) const;

  /// Do steps before others have to compute ever more points around `box`, the last one's, where a Func
  /// or one of `fields` is read at 2*x, say? Reads at a distance, or bent into a range, take as many
  /// each time. Of outputs with as many dimensions as `box`; `inputs` and `params` as of `inside`.
  [[nodiscard]] bool widens(const Ranges& box, const std::vector<const ImageData*>& fields,
                            const std::vector<std::pair<const ImageData*, AnyBuffer>>& inputs,
                            const std::map<const ParamData*, std::int64_t>& params) const;
  /// Is `widens` to be asked? Known without a box: not of a step whose every index has one variable and
  /// no product, say, as of u(y + 1, x).
  [[nodiscard]] bool may_widen() const;

 private:
  struct Parts;
  std::unique_ptr<const Parts> parts_;
};

}  // namespace mica::iterate
