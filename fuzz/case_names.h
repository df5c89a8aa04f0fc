// Cases whose parts are called what users may call them. Programs and schedules are drawn, shrunk and
// compared with plain names; the others take their places when a case is built or printed.
#pragma once

#include <map>
#include <string>

#include "dsl/schedule/schedule.h"
#include "fuzz/random_data.h"

namespace mica::test {

struct Program;

/// Plain names of inputs, stages, variables, loops, reductions ("r", "s") and Params ("p") -> what they
/// are called. A part that is not here keeps its plain name.
using CaseNames = std::map<std::string, std::string>;

/// What the part of this plain name is called. "u0.in.f1", "u0.repeat_edge", "x.block" and "r.x" follow
/// their parts.
std::string called(const CaseNames& names, const std::string& plain);

/// The schedule of a case with its names, and with those of its loops alone.
Schedule with_names(const Schedule& schedule, const CaseNames& names);
Schedule with_loop_names(const Schedule& schedule, const CaseNames& names);

/// Names for a few parts: Mica's own words, names of other parts, text that is no word.
CaseNames random_names(const Program& program, const Schedule& schedule, Random& random);

/// A text as a literal of C++.
std::string literal(const std::string& text);

}  // namespace mica::test
