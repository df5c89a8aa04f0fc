// Faults put into lowered kernels, one at a time, to see that a run shows them.
//
// All mutants of a module are one module: each kernel has one more parameter that says which of its
// faults is there, so that they are compiled together.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "codegen/ir/kernel.h"

namespace mica::test {

enum class Mutation : std::uint8_t {
  DropBarrier,
  DropWait,     ///< a CopyWait or BulkWait is left out, or a CopyWait leaves one group too many
  DropCommit,   ///< a CopyCommit is left out
  DropSetUp,    ///< a BulkInit or BulkExpect is left out
  CountBytes,   ///< a BulkExpect expects, or a BulkCopy copies, 16 bytes more or less
  ShrinkHalo,   ///< a loop or guard of what is written to shared memory ends one early, or its first or
                ///< last thread writes nothing
  ShiftSlot,    ///< an access to a ring goes to the next of its places, or a wait to another phase
  StaleWindow,  ///< a value in registers is not renewed
  ShiftTap,     ///< a load takes the neighbouring element
  DropGuard,    ///< the condition of an If holds for everybody
};
const char* to_string(Mutation mutation);
/// All of them in order.
std::vector<Mutation> all_mutations();

/// One fault.
struct Mutant {
  Mutation mutation;
  ir::Kernel kernel;   ///< as it was
  ir::Stmt original;   ///< the statement that is changed
  std::size_t place;   ///< its number in the kernel's body, parents before children
  std::string detail;  ///< of several changes of one statement, which
  bool has_check = false;
};

/// The mutation, the first line of the code and the detail.
std::string to_string(const Mutant& mutant);

/// Why a mutant that no run shows does what the code as it was does; empty: there is no reason for it.
std::string why_equivalent(const Mutant& mutant);

/// Added to the number of a mutant that `has_check`: what it writes to another place is not written at
/// all, and what it reads from another place is a constant. Nothing depends on such an access if neither
/// shows.
inline constexpr int kCheck = 1'000'000;

struct MutatedModule {
  ir::Module module;
  std::vector<Mutant> mutants;  ///< number 1 is the first
};
/// The device kernels of `module`, and the launches in its plan, with a parameter "mutant": 0 is the
/// code as it was, n the code with the n-th fault, and -n the code as it was with an access out of range
/// where a thread comes to a place at which the n-th fault would change what it does.
MutatedModule with_mutants(const ir::Module& module, const std::set<Mutation>& wanted);
/// The plan that launches mutant `number`.
Plan plan_of_mutant(const Plan& plan, int number);

}  // namespace mica::test
