// The loops of one definition after its splits and fuses, and the dimensions' values in terms of
// them. Geometry only: loop_vars builds no code.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codegen/analysis/bounds.h"
#include "dsl/func/function.h"
#include "dsl/schedule/loop_dims.h"

namespace mica::planning {

/// A condition under which an iteration is inside the domain: offset < extent, where `loops` are the
/// loops that `offset` is made of.
struct Guard {
  Expr offset, extent;
  std::set<std::string> loops;
};

class LoopVars {
 public:
  /// The range of one dimension (a Func's argument or a reduction variable) before any split.
  struct Root {
    Expr base, extent;  ///< values are base ... base + extent - 1
    /// They are taken from the last to the first.
    bool descends = false;
    /// Of a dimension of which only each step-th value is taken: `extent` counts those, the first is
    /// base + phase, in 0 ... step - 1, and they stay below base + points. `phase` uses other
    /// dimensions.
    std::int64_t step = 1;
    Expr phase = {}, points = {};
    /// Blocks overlap: of the points that a block has, at least so many before and behind those that are
    /// its own (codegen/plan/frame/common_frame.h).
    std::int64_t before = 0, after = 0;
    /// The first block needs nothing before its own points, and the last one nothing behind them.
    bool still_ends = false;
    /// A block's threads compute Funcs at all points that they walk (CommonFrame), which are to be the
    /// block's own: the directive that asks for it.
    std::optional<SourceLocation> framed = {};
  };
  /// Loops have the names that loop_name gives them for `prefix`, the Func or "f.u1". `of_fixed_size`:
  /// intervals have constant sizes where splits do, though they may then reach past the last points.
  LoopVars(const LoopNestSpec& spec, const std::map<std::string, Root>& roots, std::string prefix,
           bool of_fixed_size = false);

  /// Loops, innermost first, with full names.
  struct Loop {
    std::string dim, name;
    LoopKind kind;
    Expr extent;
    bool recurs = false;  ///< of LoopDim
  };
  [[nodiscard]] const std::vector<Loop>& loops() const { return loops_; }
  [[nodiscard]] const std::vector<Guard>& guards() const { return guards_; }
  /// The extents of the loops that fuses make, and the loops' names.
  [[nodiscard]] std::vector<std::pair<std::string, Expr>> fused_extents() const;
  /// One of the loops is a march.
  [[nodiscard]] bool is_marched() const;
  /// The innermost loop over threads, which are a warp's lanes; null: none.
  [[nodiscard]] const Loop* lanes() const;
  /// Do the lanes of a warp stand beside one another along the dimension?
  [[nodiscard]] bool walks_lanes(const std::string& dim) const;
  /// How blocks overlap along a dimension: each has `points`, of which the first `before` and the last
  /// `after` are others' own; whole vectors, where the dimension has vectors.
  struct Overlap {
    std::string block;  ///< the loop
    std::int64_t points = 0, before = 0, after = 0;
    bool still_ends = false;  ///< the first and the last points of all are own ones of their blocks
  };
  [[nodiscard]] const std::map<std::string, Overlap>& overlaps() const { return overlaps_; }
  /// Names by which values and guards know where a block's chunk of a march begins and ends, counted
  /// from the first plane, if not all are of one length, and what they stand for in terms of the loop
  /// `block`.
  struct Place {
    std::string block, name;
    Expr value;
  };
  [[nodiscard]] const std::vector<Place>& places() const { return places_; }
  /// The value of a dimension in terms of the loops.
  [[nodiscard]] Expr value(const std::string& dim) const;
  /// All values the dimension takes while the loops in `fixed` (full names) keep theirs.
  [[nodiscard]] analysis::Interval interval(const std::string& dim,
                                            const std::set<std::string>& fixed) const;
  [[nodiscard]] const std::map<std::string, Root>& roots() const { return roots_; }
  /// The same loops, guards and values of all dimensions.
  friend bool operator==(const LoopVars& a, const LoopVars& b);

 private:
  /// The first step from `from` on that takes `dim` apart; -1 for a loop.
  [[nodiscard]] int step_of(const std::string& dim, int from) const;
  Expr offset_at(const std::string& dim, int from) const;
  /// The names of places().
  [[nodiscard]] Expr start_of(const SplitStep& step) const;
  [[nodiscard]] Expr end_of(const SplitStep& step) const;
  void add_places(const SplitStep& step, const Expr& extent, const Expr& count);
  /// phase + step * its offset.
  [[nodiscard]] Expr stepped_offset(const std::string& dim) const;
  void add_step_guards();
  /// UserError if loops walk more points along a framed dimension than a block has.
  void check_framed(const std::string& dim, const Root& root) const;
  void add_overlap(const std::string& dim, const Root& root);
  /// By how much a dimension's values stand before what its loops' offsets say, since blocks overlap.
  [[nodiscard]] Expr moved(const std::string& dim) const;
  analysis::Interval interval_at(const std::string& dim, int from,
                                 const std::set<std::string>& fixed) const;
  void collect_loops(const std::string& dim, int from, std::set<std::string>& names) const;

  LoopNestSpec spec_;
  std::map<std::string, Root> roots_;
  std::string prefix_;
  bool of_fixed_size_;
  std::vector<Loop> loops_;
  std::vector<Guard> guards_;
  std::map<std::string, Overlap> overlaps_;
  std::vector<Place> places_;
  // Extents of the variables that each step consumes and makes (names may be used again by a split
  // whose outer loop keeps the old name).
  std::vector<Expr> old_extent_, outer_extent_, inner_extent_;
  std::vector<bool> exact_;  // splits: all iterations of the parts are some of the whole
};

}  // namespace mica::planning
