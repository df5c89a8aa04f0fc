// The marches in whose registers a GPU computes the levels of a time tile: the step's own, or, where it
// has none, marches of rows or planes that fit a thread's registers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codegen/iterate/iteration_state.h"
#include "codegen/iterate/time_levels.h"

namespace mica::iterate {

/// How the fields' planes come to the threads of a march.
enum class Planes : std::uint8_t {
  Staged,  ///< copied to shared memory some planes ahead, where the rows of other warps are read, too
  Asked,   ///< to the threads' own registers, some planes ahead: a warp waits for nobody
  Direct,  ///< when they are read
};

/// Loops of a march, and how the planes of fields come to it.
struct Marching {
  std::vector<Directive> loops;
  std::string var;  ///< is marched
  /// By how many planes fields are asked for before they are read, where the user says so.
  std::optional<int> ahead = {};
  std::optional<Planes> planes = {};  ///< where to, if the user says so: Staged or Asked
  /// Of marches_of_planes: taken only where registers turn out to hold the levels.
  bool must_fit = false;
};

/// The directives that name loops alone, and no source.
std::vector<Directive> loops_of(const Func& step);
bool is_scatter(const Directive& directive);
/// Lanes of the widest vectors that loops ask for.
int widest_vector(const std::vector<Directive>& loops);

/// How blocks share a row of a tile of so many steps, by the step's own directives or, in three
/// dimensions, by the best of marches_of_planes.
RowTiles row_tiles(const Iteration::State& state, int steps);

/// How far from a point the last level of a tile, scheduled in a frame, reads the fields that the step
/// replaces along the last dimension, through the levels before it and other Funcs. Nothing where an
/// index there is no coordinate and a constant.
std::optional<std::int64_t> reach_along_march(const Iteration::State& state, const Func& last);
/// Planes or rows that a block of the step's march walks; 1: it has none.
std::int64_t chunk_of(const Iteration::State& state);

/// The march of the step's own directives.
std::optional<Marching> marching_of(const Iteration::State& state);
/// Those for a step of two dimensions that says nothing, the best first. `fields` are those that threads
/// keep in registers, too.
std::vector<Marching> marches_of_rows(const Iteration::State& state, const TimeLevels& tile,
                                      const std::vector<Func>& fields);

/// Those for a step of three dimensions, the best first: several warps beside each other in y, with as
/// many rows a thread and as wide vectors as registers are taken to hold. None where taps reach further
/// than two planes, of which no tile was faster than single steps, or where what tiles compute twice
/// would be most of it. `edges`: reads at them were opened (TimeLevels::edges).
std::vector<Marching> marches_of_planes(const Iteration::State& state, int levels, bool edges);
/// Why single steps of the box are faster than tiles by marches_of_planes: these are so few blocks that
/// the multiprocessors without one cost more than tiles gain. Empty: they are not, or the step is
/// computed otherwise.
std::string why_too_few(const Iteration::State& state, const Ranges& box, int multiprocessors);

/// Do the registers of a kernel's threads hold what it keeps, but for a few words?
bool fits_registers(const Executable& executable);

/// Those worth trying for so many levels, the best first. In two dimensions a warp marches alone, and
/// has no rows beside: its rows arrive in shared memory where sums are cut or levels are many, which
/// leaves registers for more rows on their way. On an H200 that took 0.045 ms a step for 0.053 (5 points
/// of f64, eight steps), 0.080 for 0.092 (a box of nine) and 0.080 for 0.090 (5 of f32, twelve); where
/// registers keep what was read, of eight steps 0.024 for 0.030 (5 of f32) and 0.075 for 0.103 (a
/// staggered grid of three fields), of four 0.042 for 0.042 and 0.125 for 0.116.
std::vector<Planes> ways_of_planes(const Marching& marching, int dimensions, std::size_t levels);

/// By how many planes threads ask for fields before they are read. Warps that compute few levels come
/// to the next plane sooner.
int asked_ahead(const TimeLevels& tile);

/// By how many planes they are copied to shared memory before they are read. A warp that marches alone
/// in two dimensions waits for memory alone: of eight levels seven ahead, where all blocks of a
/// multiprocessor have memory for them, took 0.0417 ms a step for 0.0457 of three (5 points of f64, an
/// H200). On two machines, a staggered grid of three fields took 0.0680 for 0.0820, and four levels of
/// 5 points of f64 0.0783 for 0.0762.
int copied_ahead(const Marching& marching, const TimeLevels& tile, const std::vector<Func>& fields);

}  // namespace mica::iterate
