// What stands behind expand_loops: the loops of one definition while its directives apply in order.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dsl/schedule/loop_dims.h"

namespace mica {

class LoopExpander {
 public:
  LoopExpander(const FunctionData& f, int definition, Diagnostics& findings)
      : f_(f),
        definition_(definition),
        directives_(f.definitions.at(static_cast<std::size_t>(definition)).directives),
        findings_(findings) {}

  LoopNestSpec run();

  void operator()(const directive::Split& d);
  void operator()(const directive::Fuse& d);
  void operator()(const directive::Reorder& d);
  void operator()(const directive::MarkLoop& d);
  void operator()(const directive::Vectorize& d);
  void operator()(const directive::Unroll& d);
  // ---- blocks and marches (loop_blocks.cpp) --------------------------------------------------------
  void operator()(const directive::GpuTile& d);
  void operator()(const directive::March& d);
  void operator()(const directive::OrderBlocks& d);
  void operator()(const directive::GpuSingleThread& d);
  /// Others do not touch loops.
  template <typename D>
  requires(D::traits.acts != directive::ActsOn::Loops) void operator()(const D&) {}

 private:
  std::vector<LoopDim>& dims() { return spec_.dims; }
  [[nodiscard]] SourceLocation where() const { return directives_[current_].where; }
  void report(const std::string& what);
  void add_initial_loops();
  [[nodiscard]] std::optional<std::size_t> find(const std::string& name) const;
  [[nodiscard]] std::string loop_list() const;

  // ---- checks: false after reporting (loop_checks.cpp) ---------------------------------------------
  bool is_loop(const std::string& name);
  /// May a new loop be called `name`? `replaced` is the loop that goes away.
  bool is_free(const std::string& name, const std::string& replaced);
  bool is_factor(int factor, const char* what);
  /// Does taking loop `name` apart by `factor` leave room in 32 bits for the rounded-up points?
  bool has_room(const std::string& name, std::int64_t factor);
  bool is_width(std::int64_t width);
  bool is_unroll(std::int64_t factor);
  /// Splits and fuses come before marks, so that a mark names the loop it means.
  bool is_unmarked(const std::string& name);
  bool may_run_as(std::size_t place, LoopKind kind);
  /// "carries c(x, y, z) on from c(x, y, z - 1)"
  [[nodiscard]] std::string recurrence_text() const;
  /// ": r.x stands alone in no place ..." of a loop over a dimension of the domain; empty for others.
  [[nodiscard]] std::string why_ordered(const std::string& loop) const;
  /// Tails that compute a point twice, or points that are not there, would add terms twice.
  bool may_use_tail(const std::string& name, TailStrategy tail);
  /// Only a dimension of the Func that nothing has taken apart or marked can be marched.
  bool is_marchable(const directive::March& d);
  /// Do chunks get shorter by halves of them?
  bool are_chunks(const directive::March& d);
  /// Reports that nothing takes loop `name` of the march apart or gives it another kind; false.
  bool is_not_marched(const std::string& name);
  [[nodiscard]] static std::vector<std::string> reduction_order(const std::vector<LoopDim>& loops);

  // ---- changes -------------------------------------------------------------------------------------
  void add_step(const std::string& old_var, const std::string& outer, const std::string& inner,
                int factor, TailStrategy tail);
  /// `old_var` becomes `inner` inside `outer`, in its place. Both keep its kind.
  bool split(const std::string& old_var, const std::string& outer, const std::string& inner, int factor,
             TailStrategy tail);
  void mark(const std::string& name, LoopKind kind);
  /// vectorize(v, n) and unroll(v, n): v keeps its name and kind outside the new loop.
  void split_and_mark(const std::string& v, const std::string& inner, int factor, TailStrategy tail,
                      LoopKind kind);

  /// The points along one Var that a thread computes, from a later vectorize or unroll.
  struct Points {
    int factor = 1;
    TailStrategy tail = TailStrategy::Auto;
    std::string loop;  // empty: one point
  };
  /// The later directive of kind D with a factor on tiled `var`, before `var` names another loop.
  template <typename D>
  const D* take_later(const std::string& var);
  /// Adds the loop over the points to `inner`.
  template <typename D>
  Points take_points(const std::string& var, const char* suffix, LoopKind kind,
                     std::vector<LoopDim>& inner);
  /// v = ((v.block*threads + v.thread)*rows + v.unroll)*vector + v.vec. The block's whole tile is split
  /// off with the tile's tail; the rest divides it. A vector or row with a tail of its own is split off
  /// first with that instead.
  void add_tile_steps(const std::string& v, int threads, const Points& vector, const Points& rows,
                      TailStrategy tail);
  void tile(const directive::GpuTile& d);
  /// Marches stand directly inside the block loops, and block loops made by a march outside the others.
  void place_marches();
  /// The loops of gpu_single_thread, around all others.
  void add_single_loops();

  const FunctionData& f_;
  int definition_;
  const std::vector<Directive>& directives_;
  Diagnostics& findings_;
  LoopNestSpec spec_;
  std::set<std::string> used_;  // every name a variable or loop of this definition has had
  std::vector<bool> absorbed_;  // directives that an earlier gpu_tile took up
  std::map<std::string, std::int64_t> scales_;  // by how many points a step of a split's loop goes on
  std::size_t current_ = 0;
  const Directive* march_ = nullptr;   // the march that the loops have
  const Directive* single_ = nullptr;  // the gpu_single_thread that they have
};

}  // namespace mica
