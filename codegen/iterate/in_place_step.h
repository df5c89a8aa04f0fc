// Steps that keep one copy of their fields.
//
// A step reads each field f at one neighbour of its point, x - c(f), as populations of a lattice
// Boltzmann method stream. For each field there is one, o(f), that is read on the other side,
// c(o(f)) = -c(f). Then two steps in turn need no second copy of the fields:
//
//   before  next.f(x) = F.f(u.a(x - c(a)), u.b(x - c(b)), ...)
//   away    the same; the value of f takes the element of o(f) that the point has read, x + c(f)
//   back    next.f(x) = F.f(o(a)(x), o(b)(x), ...) takes the element x of f: what u.f(x - c(f)) is now
//           lies at x of o(f)
//
// Each element is read for one point, which writes it: the points may be computed in any order. After an
// odd number of steps `home` brings the values where they belong: f(x) and o(f)(x + c(f)) change places.
// The scheme is known as AA pattern (P. Bailey, J. Myre, S. Walsh, D. Lilja, M. Saar, International
// Conference on Parallel Processing (2009) 550-557).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "codegen/iterate/iteration_state.h"

namespace mica::iterate {

struct InPlaceStep {
  Func away, back, home;
  /// Of each of these, by value: the field whose memory takes it.
  std::vector<std::size_t> away_to, back_to, home_to;
};

/// The same, compiled.
struct CompiledInPlace {
  CompiledInPlace(const Iteration::State& state, const Target& target);
  InPlaceStep step;
  Executable away, back, home;
};

/// The step of `state` as above; with no `home`, if values go to the elements at their points.
/// UserErrors at `at`: a step of several Funcs, with updates, or that reads itself; a field that takes
/// the values of another field; one that is read at several points or, beside the point, not around its
/// box; one without a field on the other side.
InPlaceStep make_in_place_step(const Iteration::State& state, const CallSite& at);

}  // namespace mica::iterate
