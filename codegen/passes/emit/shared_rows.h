// What a thread of a common frame (codegen/plan/frame/common_frame.h) takes from others, so that
// its registers hold all that it reads of a Func: its own points and those around them.
//
//   a warp's rows, four points a lane            registers of a lane
//
//        lane 1    lane 2    lane 3                  u u u u       rows of other warps, by shared memory
//     ...|a a a a|b b b b|c c c c|...          . . a b b b b c . .
//                                              . . a b b b b c . .
//                                                    d d d d
//
// Every thread stores the rows at the edges of its points, t.rows, one of two places a plane in turn;
// after a barrier each reads those beside it. Of a copy of planes in shared memory those hold the rows
// already. Threads at the frame's edge, which have no neighbour, take their own in its place: no point
// that is stored is made of them.
#pragma once

#include <set>
#include <string>

#include "codegen/plan/frame/loop_vars.h"
#include "codegen/plan/march_plan.h"
#include "codegen/program.h"

namespace mica::passes {

/// Of the newest plane of a stage that a step reads: each thread gives to others what they read beside
/// their own points, and takes what it reads itself. Undefined if nothing.
struct GivenRows {
  ir::Stmt given, taken;
};
/// Of `stage` of the march of `marched`, whose loops `vars` has, in the step of `plane`. UserErrors:
/// threads that do not hold what their neighbours read.
GivenRows exchange_rows(const Program& program, const FunctionData& marched,
                        const planning::LoopVars& vars, const planning::MarchStage& stage,
                        const Expr& plane);
/// `body` in the shared memory through which `stage` passes the rows at the edges of threads' points;
/// `around` are the loops around.
ir::Stmt in_shared_rows(const Program& program, const FunctionData& marched,
                        const planning::LoopVars& vars, const std::set<std::string>& around,
                        const planning::MarchStage& stage, const ir::Stmt& body);

}  // namespace mica::passes
