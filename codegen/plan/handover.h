// Where two crews meet along a march: the warps that fill rings of planes, and the threads of the tile.
//
//   u: star of radius 1, AsyncCopy, pipeline(u, 2), warp_split(1); 256 threads compute, 32 fill
//
//   32 fill, step s                                256 compute, step t
//     wait    empty of step s - 1                    wait    full of step t - 2
//     begin to copy plane s + 3                      read planes t - 1 ... t + 1
//     wait for the copies of step s - 1              compute plane t
//     arrive  full of step s - 1                     arrive  empty of step t
//
// One pair of named barriers serves a step: those that arrive go on, those that wait see what was done.
// A crew may arrive again before the other has come to where it arrived last; so steps take the barriers
// of a pair in turn, as many as one crew can be ahead of the other. Where the copy engine fills all
// rings, its transaction barriers say that planes are full, if each step waits at one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/plan/kernel_plan.h"
#include "dsl/pipeline/pipeline.h"

namespace mica::planning {

/// Do other threads fill `a` than `b`?
bool are_apart(const Stage& a, const Stage& b);

/// Gives the edges of a kernel with further warps their barriers. UserError: the copy engine is asked so
/// early that there are too few.
void assign_meetings(const KernelPlan& plan, std::vector<Edge>& edges);

/// Does each step in which the threads of the tile say that places are empty wait for a plane that the
/// copy engine brings, as late as it asks for any? Then nobody else has to say that planes are full.
bool engine_says_all(const KernelPlan& plan, const std::vector<Edge>& edges);

/// What the edges between crews say of a step.
struct Handover {
  Crew filling, computing;
  Meeting full, empty;
  std::int64_t lead = 0;   ///< step t computes with what was filled up to step t - lead
  std::int64_t left = 1;   ///< step s fills places that were read up to step s - left
  std::int64_t late = 0;   ///< the end of step s says what was filled up to step s - late
  std::int64_t first = 0;  ///< the first step that computes with what was filled
  /// Groups of the threads' copies that may be under way when a step says so; empty: they make none.
  std::optional<int> pending = {};
  bool says_full = false;  ///< further warps say that planes are full
  bool by_engine = false;  ///< some planes are filled by the copy engine
};
/// Empty where no two crews meet along the march. In blocks that are not all `inside`, threads copy what
/// the copy engine would bring.
std::optional<Handover> handover_of(const KernelPlan& plan, bool inside);

}  // namespace mica::planning
