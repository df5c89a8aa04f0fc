// interiors: which iterations of a loop stay inside of what its expressions ask for, and what the body
// is there: a min or max of a coordinate that follows the loop and one that does not, a remainder of
// one, and a comparison that cannot wrap give inequalities in the loop's variable. So do those of
// several loops at once, such as the blocks of a kernel: then the inequalities are in all of theirs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codegen/analysis/intervals.h"
#include "codegen/analysis/linear.h"
#include "codegen/analysis/value_ranges.h"
#include "codegen/ir/stmt.h"
#include "dsl/expr/node_map.h"
#include "dsl/expr/traverse.h"

namespace mica::analysis {

/// What holds in the interior: factor*v + rest >= 0, in integers without bounds. Of several loops the
/// factor is 0, and the variables are in `rest`.
struct Inequality {
  std::int64_t factor = 0;
  Linear rest;
};

/// Adds one: of two that differ in their constants, the one that asks for more stands for both.
void add_inequality(std::vector<Inequality>& all, Inequality one);

/// The body of a loop over `variable` as it is where the inequalities hold: those of an expression for
/// all iterations of the loops of constant extents inside `body`.
class Interior {
 public:
  /// `ranges`: of the names around the loop and of `variable`.
  Interior(std::string variable, const ir::Stmt& body, const Ranges& ranges)
      : Interior(std::set<std::string>{std::move(variable)}, body, ranges, Of::Loop) {}
  /// Of the loops over all of `variables` together, the blocks of a kernel: a march in `body` walks all
  /// of its planes, and tests around statements follow the blocks, too.
  static Interior of_blocks(std::set<std::string> variables, const ir::Stmt& body,
                            const Ranges& ranges) {
    return {std::move(variables), body, ranges, Of::Blocks};
  }
  /// Of blocks of which no coordinate is more than a period beside what it is a remainder for: such a
  /// remainder becomes a choice of three, and everything else stays.
  static Interior within_a_period(std::set<std::string> variables, const ir::Stmt& body,
                                  const Ranges& ranges) {
    return {std::move(variables), body, ranges, Of::BlocksWithinAPeriod};
  }

  ir::Stmt run(const ir::Stmt& s);
  [[nodiscard]] const std::vector<Inequality>& inequalities() const { return inequalities_; }
  /// The largest factor of the loop's variable in them: the points of an iteration.
  [[nodiscard]] std::int64_t stride() const;
  /// The loops inside that walk what an iteration of this one leaves out: of a tile, the tile's.
  [[nodiscard]] const std::set<std::string>& tiles() const { return tiles_; }
  /// How many expressions follow the loops, but are no inequality in their variables.
  [[nodiscard]] std::size_t failures() const { return failures_; }

 private:
  enum class Of : std::uint8_t { Loop, Blocks, BlocksWithinAPeriod };
  Interior(std::set<std::string> variables, const ir::Stmt& body, const Ranges& ranges, Of of);
  Ranges with_inner(const ir::Stmt& body, const Ranges& ranges);
  void find_inner(const ir::Stmt& s, Ranges& ranges);
  void add_inner(const ir::For& inner, const Ranges& ranges);
  void find_tiles(const Expr& high, const Expr& low);
  ir::Stmt run_let(const ir::Stmt& s, const ir::LetStmt& let);
  Expr run(const Expr& e, bool coordinate);
  Expr run_new(const Expr& e, bool coordinate);
  Expr run_binary(const Expr& e, const Binary& op, bool coordinate);
  bool repeats(const Binary& mod);
  Expr run_compare(const Expr& e, const Compare& op);
  bool follows(const Expr& e);
  /// Is a bound passed late in the loop? `beside` is what passes it.
  bool is_late(const Linear& bound, const Expr& beside);
  bool is_late(const Expr& bound, const Expr& beside) { return is_late(linearize(bound), beside); }
  bool falls_late(BinaryOp op, const Expr& moving, const Expr& still);
  bool assume(const Expr& high, const Expr& low);
  bool try_assume(const Expr& high, const Expr& low);
  bool is_known(const Expr& e);
  /// Is it made of where an array begins or ends?
  bool is_of_array(const Expr& e);
  /// Does it stand for a number of points: an array's extent, or such a number in parts or at least 1?
  bool is_extent(const Expr& e);
  bool is_extent(const Binary& op);
  [[nodiscard]] bool is_variable(const Expr& e) const;

  std::set<std::string> variables_;
  bool blocks_, near_;
  Scope inner_;                   // loops inside this one of at most a constant extent
  std::set<std::string> serial_;  // those of them that a schedule has not made vectors of
  std::set<std::string> tiles_;
  std::set<std::string> unknown_;  // other names that are bound inside
  // What has no value before the loop begins: as follows_.
  NodeMap<std::pair<Expr, bool>> inside_;
  Ranges known_;  ///< of the names around and of the loops inside
  RangeFinder ranges_;
  /// By which the variable is divided: a loop that was fused goes through many periods of one.
  std::vector<Expr> divisors_;
  std::vector<Inequality> inequalities_;
  std::size_t tries_ = 0, failures_ = 0;
  RewriteMemo memo_[2];
  SharedIntervals intervals_;  // in inner_
  // Keyed by address for lookup only; the Expr of a value keeps the node alive.
  NodeMap<std::pair<Expr, bool>> follows_, of_arrays_, extents_;
};

}  // namespace mica::analysis
