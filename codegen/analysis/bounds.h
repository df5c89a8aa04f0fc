// Regions as boxes: which box of a Func or input a box of its consumer reads.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codegen/analysis/intervals.h"
#include "dsl/func/function.h"
#include "dsl/pipeline/pipeline.h"

namespace mica::analysis {

/// One interval a dimension; empty: nothing is needed yet.
using Box = std::vector<Interval>;

/// The smallest box that holds both.
void unite(Box& into, const Box& other);
/// max - min + 1, simplified.
Expr extent_of(const Interval& interval);
/// A constant that the extent never exceeds: exact when the ends differ by a constant, with
/// floor((e + k)/a) - floor((e + j)/a) and min(e + k, c) - e counted at their largest.
std::optional<std::int64_t> constant_extent(const Interval& interval);
/// The same of several intervals that share their parts, in which nothing is known.
std::optional<std::int64_t> constant_extent(const Interval& interval, RangeFinder& finder);
/// True when a and b are provably the same expression.
bool same(const Expr& a, const Expr& b);

/// The points of `box`, which is computed of `func`, at which `definition` computes it: of an update
/// with colors those whose reads of the Func stay inside the box.
Box computed_box(const FunctionData& func, const Definition& definition, const Box& box);
/// Calls visit(access) on each Access in a definition's values and left-hand side arguments.
void for_each_access(const Definition& definition, const std::function<void(const Access&)>& visit);
/// The interval of an index of `definition`; where its domain has no points in a run, an interval that
/// no union and no check feels: from kLargestMin down to -kLargestMin.
Interval index_interval(const Definition& definition, const Expr& index, const Scope& scope);
/// The same in the scope of `intervals`, for several indices.
Interval index_interval(const Definition& definition, const Expr& index, SharedIntervals& intervals);
/// The box of callee `name` that `definition` reads with its variables in `scope`; empty if none.
Box accessed_box(const Definition& definition, const std::string& name, const Scope& scope);
/// The box that the Funcs of `pipeline` read of array `name`, computed over the boxes `required`; reads
/// by a Func of that name left out. Empty where nothing reads it.
Box read_box(const Pipeline& pipeline, const std::map<std::string, Box>& required,
             const std::string& name);
/// Intervals of a definition's variables: its pure Vars over `box` (a box of the Func), its
/// reduction variables over their domain.
Scope definition_scope(const FunctionData& func, const Definition& definition, const Box& box);

}  // namespace mica::analysis
