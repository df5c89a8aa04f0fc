// Funcs whose first definition reads the Func itself (dsl/func/func.h says what that means), and updates
// that read it at neighbours.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "dsl/func/function.h"

namespace mica {

/// The recurrence of a first definition f(args...) = values; none where it does not read `f`.
/// UserErrors, naming the tap: a read at the point itself, at another coordinate in two dimensions, at a
/// distance that is not constant; reads along two dimensions, or both behind and ahead.
std::optional<Recurrence> find_recurrence(const FunctionData& f, const std::vector<std::string>& args,
                                          const std::vector<Expr>& values);
/// That of a Func; null if it has none.
const Recurrence* recurrence_of(const FunctionData& f);

/// UserErrors of a Func whose users' definitions are complete: a recurrence of a Func that is no output
/// and says nowhere where it starts; an update that reads its Func at neighbours along a Var and has no
/// color, or one that the neighbours may have, too.
void check_self_reads(const FunctionData& f, bool is_output);

/// By how much a read of an update with a color is away along each dimension of `f`, at most: (behind,
/// ahead), both at least 0.
std::vector<std::pair<std::int64_t, std::int64_t>> reach_of_coloring(const FunctionData& f,
                                                                     const Definition& update);
/// The coloring that a Func's update `definition` has with `color`, of the form sum % count. UserErrors
/// as Stage::color says.
Coloring coloring_of(const FunctionData& f, int definition, const Expr& color,
                     const SourceLocation& where);
/// The factors of `coloring` for each dimension of `f`.
std::vector<std::int64_t> color_factors(const FunctionData& f, const Coloring& coloring);

}  // namespace mica
