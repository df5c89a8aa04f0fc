#include "codegen/iterate/periodic_step.h"

#include <algorithm>
#include <map>
#include <optional>

#include "dsl/expr/deep_stack.h"
#include "dsl/expr/match.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"
#include "dsl/func/bent_index.h"
#include "dsl/func/image_param.h"
#include "dsl/pipeline/func_graph.h"
#include "dsl/pipeline/march_taps.h"

namespace mica::iterate {
namespace {

using Images = std::vector<std::shared_ptr<const ImageData>>;

/// Looks at all that a step reads.
class Reader {
 public:
  Reader(const Func& step, const Images& fields) : fields_(fields), dims_(step.args().size()) {
    periods_.repeats.assign(dims_, false);
    plain_.assign(dims_, false);
    around_[step.function().get()].assign(dims_, 0);
  }

  Periods run(const FuncGraph& graph) {
    for (auto f = graph.funcs.rbegin(); f != graph.funcs.rend(); ++f) {
      if (!look_at(**f)) return none();
    }
    for (std::size_t d = 0; d < dims_; ++d) {
      // What is read beside a point as it is has no values a period away, and a coordinate has another.
      if (plain_[d]) periods_.repeats[d] = false;
    }
    return periods_;
  }

 private:
  [[nodiscard]] Periods none() const { return {std::vector<bool>(dims_, false)}; }

  bool look_at(const FunctionData& f) {
    if (f.definitions.size() != 1 || f.args.size() != dims_) return false;
    const std::vector<std::int64_t>& around = around_[&f];
    if (around.empty()) return true;  // read by what is not computed
    for (const Expr& value : f.definitions.front().values) {
      const Expr alone = made_with_stack_for(depth_of({value}), [&] { return without_reads(value); });
      for (std::size_t d = 0; d < dims_; ++d) {
        if (uses_var(alone, f.args[d])) plain_[d] = true;
      }
      bool known = true;
      walk(value, [&](const Expr& e) {
        const auto* access = e.as<Access>();
        known = known && (access == nullptr || add(f, *access, around));
      });
      if (!known) return false;
    }
    return true;
  }

  /// What a value depends on besides what it reads.
  Expr without_reads(const Expr& e) {
    return alone_(e, [&] {
      if (e.as<Access>() != nullptr) return make_const(e.type(), std::int64_t{0});
      return map_children(e, [&](const Expr& child) { return without_reads(child); });
    });
  }

  bool add(const FunctionData& reader, const Access& access, const std::vector<std::int64_t>& around) {
    if (access.is_self || access.args.size() != dims_) return false;
    std::vector<std::int64_t> reach(dims_, 0);
    for (std::size_t d = 0; d < dims_; ++d) {
      const Expr index = unwrapped(access.args[d], d, fields_);
      const auto offset = offset_from(index, reader.args[d]);
      if (!offset) return false;
      reach[d] = around[d] + std::abs(*offset);
      const bool wraps = index.ptr() != access.args[d].ptr();
      if (access.image == nullptr && wraps) return false;
      if (wraps) periods_.repeats[d] = true;
      if (access.image != nullptr && !wraps && reach[d] > 0) plain_[d] = true;
    }
    if (access.image != nullptr) return true;
    std::vector<std::int64_t>& of = around_[access.function.get()];
    of.resize(dims_, 0);
    for (std::size_t d = 0; d < dims_; ++d) of[d] = std::max(of[d], reach[d]);
    return true;
  }

  const Images& fields_;
  std::size_t dims_;
  Periods periods_;
  std::vector<bool> plain_;  ///< read beside the point as it is, or values depend on it
  std::map<const FunctionData*, std::vector<std::int64_t>> around_;
  RewriteMemo alone_;
};

}  // namespace

bool Periods::any() const { return std::find(repeats.begin(), repeats.end(), true) != repeats.end(); }

std::uint32_t Periods::bits() const {
  std::uint32_t bits = 0;
  for (std::size_t d = 0; d < repeats.size(); ++d) bits |= repeats[d] ? 1U << d : 0U;
  return bits;
}

Periods periods_of(const Func& step, const Images& fields) {
  return Reader(step, fields).run(collect_graph({step.function()}));
}

Expr wrapped(const Expr& index, std::size_t dimension, const std::shared_ptr<const ImageData>& field) {
  const auto dim = ImageParam(field).dim(static_cast<int>(dimension));
  return boundary::wrapped(index, {dim.min(), dim.extent()});
}

Expr unwrapped(const Expr& index, std::size_t dimension, const Images& fields) {
  const Binary* sum = as_binary(index, BinaryOp::Add);
  const Binary* rest = sum != nullptr ? as_binary(sum->b, BinaryOp::Mod) : nullptr;
  const Binary* from_min = rest != nullptr ? as_binary(rest->a, BinaryOp::Sub) : nullptr;
  if (from_min == nullptr) return index;
  // As repeat_image has it of a range that it is given: max(extent, 1).
  const Binary* greater = as_binary(rest->b, BinaryOp::Max);
  const Expr& period = greater != nullptr && is_const(greater->b, 1) ? greater->a : rest->b;
  for (const auto& field : fields) {
    const auto dim = ImageParam(field).dim(static_cast<int>(dimension));
    const bool same =
        equal(sum->a, dim.min()) && equal(from_min->b, dim.min()) && equal(period, dim.extent());
    if (same) return from_min->a;
  }
  return index;
}

}  // namespace mica::iterate
