// When a value that is computed inline is the same for many points of what reads it: a Func that does
// not follow one of the reader's variables (a picture's luminance, in a pyramid of several intensities),
// and a table that data choose from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/program.h"
#include "dsl/pipeline/func_graph.h"

namespace mica::passes {

/// Efforts, those of its indices counted in, from which a value is dear: to load it takes less.
inline constexpr double kDear = 32;
/// Entries of the largest table that is computed whole, whatever part of it is read; and points, at
/// most, of the box around reads of one point.
inline constexpr std::int64_t kLargestTable = 4096;

/// Does the Func compute nothing: is its value one tap, whatever it depends on?
bool only_moves(const FunctionData& func);

/// About how many times an addition's time an operation takes, on vectors of a CPU; 0 for what is none.
double effort_of(const Expr& node);
/// Of a point, in additions' time; coordinates and where they lie take none. What Funcs that are
/// computed inline have in common is computed once.
double effort_of_point(const Definition& definition);
/// Of one point of the graph's outputs, where all other Funcs are computed at each point that is read of
/// them: a chain of n Funcs that each read two points of the one before is 2^n points of the first.
double inlined_effort(const FuncGraph& graph);

/// The arguments of one definition's reads of a Func, in the definition's variables.
using Arguments = std::vector<const std::vector<Expr>*>;

/// Do they lie so close to each other that the Func's box around them is hardly more than what is read?
bool is_close(const Arguments& reads);

/// What the values that `definition` of a Func `reader` reads are the same for: "k of g", or, of a
/// table, "point of g, where data choose from 1793 values". Nothing where they follow all variables, or
/// where far more would be computed than is read: `points` are those of the Func's box for a point of
/// its readers, at most; infinite where nothing bounds the box.
std::optional<std::string> repeated_for(const Arguments& reads, const Definition& definition,
                                        const std::string& reader, double points);

}  // namespace mica::passes
