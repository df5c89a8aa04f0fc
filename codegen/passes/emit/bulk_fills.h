// Rows that the bulk-copy engine brings, and the transaction barriers that count them off.
//
//   step s of a march:   expect bytes of plane s + ahead at barriers[n % depth]     one thread
//                        copy its rows                                              a thread each
//                        wait for plane s + newest                                  all threads
//
// A plane is number n of its ring, counted from 0: its place and its barrier are n % depth, and the
// barrier's phase is n / depth.
#pragma once

#include <cstdint>

#include "codegen/analysis/bounds.h"
#include "codegen/plan/crew.h"
#include "codegen/program.h"

namespace mica::passes {

/// Shared memory for `places` transaction barriers of `func`, set up before `body`.
ir::Stmt with_barriers(const FunctionData& func, std::int64_t places, const ir::Stmt& body);
/// Starts to copy `box`, plane `number` of a ring of `places`; the threads of `crew` do.
ir::Stmt bulk_fill(const Program& program, const FunctionData& func, const analysis::Box& box,
                   const planning::Crew& crew, const Expr& number, std::int64_t places);
/// The threads wait until plane `number` is there.
ir::Stmt bulk_wait(const FunctionData& func, const Expr& number, std::int64_t places);

}  // namespace mica::passes
