#include "codegen/llvm/index/strided_taps.h"

#include <functional>
#include <optional>

#include "codegen/llvm/index/lane_index.h"
#include "codegen/llvm/index/split_index.h"
#include "dsl/expr/node_map.h"
#include "dsl/expr/traverse.h"

namespace mica::llvm_backend {
namespace {

/// The first tap of a line, of `stride`, that no tap before takes along takes those behind it along, if
/// with the last of these nothing is read that would not be.
void share(std::map<std::int64_t, std::int64_t>& taps, std::int64_t stride) {
  std::optional<std::int64_t> start;
  for (auto& [constant, before] : taps) {
    if (taps.count(constant + stride - 1) > 0 && (!start || constant - *start >= stride)) {
      start = constant;
    }
    if (start && constant - *start < stride) before = constant - *start;
  }
}

}  // namespace

StridedTaps::StridedTaps(const Expr& e) {
  NodeSet met;
  const std::function<void(const Expr&)> find = [&](const Expr& at) {
    if (!met.insert(&at.node()) || at.as<Let>() != nullptr) return;
    if (const auto* select = at.as<Select>()) return find(select->condition);
    for_each_child(at, find);
    const auto* load = at.as<Load>();
    if (load == nullptr || at.type().is_scalar() || load->index.size() != 1) return;
    const std::optional<LaneIndex> form = lane_index(load->index[0]);
    if (!form || form->bases.size() != 1) return;
    if (form->stride < kNarrowestStride || form->stride > kWidestStride) return;
    const Place found = place(load->buffer, form->bases[0], form->stride);
    lines_[found.line].emplace(found.constant, -1);
  };
  if (e.defined()) find(e);
  for (auto& [line, taps] : lines_) share(taps, std::get<std::int64_t>(line));
}

StridedTaps::Place StridedTaps::place(const std::string& buffer, const Expr& first,
                                      std::int64_t stride) {
  const SplitIndex split = split_constant(first);
  const ExprNode* rest = split.rest.defined() ? &nodes_(split.rest).node() : nullptr;
  return {{buffer, stride, rest}, split.constant};
}

std::int64_t StridedTaps::elements_before(const std::string& buffer, const Expr& first,
                                          std::int64_t stride) {
  const Place own = place(buffer, first, stride);
  const auto line = lines_.find(own.line);
  if (line == lines_.end()) return -1;
  const auto tap = line->second.find(own.constant);
  return tap == line->second.end() ? -1 : tap->second;
}

}  // namespace mica::llvm_backend
