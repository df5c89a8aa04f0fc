// The model of one kernel as a value: a small graph of stages in a common frame. plan_kernels makes it,
// verify_plan says what holds of it, build_loop_nest writes it out as loops, and to_string prints it:
//
//   next(x, y, z) = a star of u;  gpu_tile(x, y, 32, 8), vectorize(x, 4), march(z, 64),
//   stage(u, Shared, AsyncCopy), pipeline(u, 2)
//
//   next
//   frame   block of 32 x 8 threads of 4 points = 128 x 8; march z, chunks of 64
//   stage     box                lag  ring  level  filled                               kept
//   u.staged  [-1,129) x [-1,9)   -3     5  step   cp.async of 16 bytes, 2 steps early  shared, ...
//   next      [0,128) x [0,8)      0     -  step   computed                             stored
//   taps    u.staged <- u: 1 global
//           next <- u.staged: 7 shared
//   edges   u.staged -> next: filled, read 2 steps later; group wait 1, barrier
//           next -> u.staged: read, refilled in the next step; barrier
//   inside  no tests in blocks inside; others hold loads inside their arrays and test stores
//
// Words, the same in every field, message and print:
//
//   frame    one system of coordinates a block: 0 is the block's first point, in the marched dimension
//            the plane of the step
//   stage    a Func of which the block keeps what it reads, and the Func of the kernel itself, in the
//            order of one step
//   lag      by how many planes a stage stands behind the Func of the kernel; negative: it runs ahead
//   ring     places for planes that are alive at once
//   crew     the threads that fill a stage: those of the tile, or further warps (warp_split), which go
//            through the steps of a march at their own pace
//   tap      a read of one stage, input or Func at the root by a stage
//   edge     who must have finished before whom
//
// Sizes are in points unless a name says bytes; registers have 32 bits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/ir/stmt.h"
#include "codegen/plan/crew.h"
#include "codegen/plan/frame/loop_vars.h"
#include "codegen/plan/march_plan.h"

namespace mica::planning {

/// The points of a block along dimension 0.
struct BlockRow {
  Expr origin;  ///< the first; undefined where their number is not constant, or nothing is kept
  std::int64_t points = 1;
  int lanes = 1;  ///< how many a thread takes in one vector
};

/// The march of a kernel's Func.
struct March {
  std::string dim;           ///< the Func's dimension that it walks
  std::size_t position = 0;  ///< of its loop in KernelFrame::vars
  std::optional<int> chunk;  ///< planes of a block; empty: all
  int shortest = 0;          ///< of the last blocks; 0: as many
  friend bool operator==(const March&, const March&) = default;
};

struct KernelFrame {
  LoopVars vars;        ///< the loops of the Func's definition
  bool on_gpu = false;  ///< some are over blocks or threads
  /// Loops that fuses make, and their extents.
  std::vector<std::pair<std::string, Expr>> fused = {};
  std::vector<std::string> dims = {};  ///< of the Func
  /// Points of a block in each dimension, of one step where it marches; empty: not constant.
  std::vector<std::optional<std::int64_t>> block = {};
  /// Points that a thread takes at once: lanes of vectors, rows written out.
  std::vector<std::int64_t> own = {};
  std::int64_t threads[3] = {1, 1, 1};  ///< of a block, in x, y, z, that compute its points
  /// Further warps, which fill what a march keeps of arrays (warp_split); on a host none.
  int filling_warps = 0;
  SourceLocation warp_split = {};  ///< who asked for them
  std::optional<March> march = {};
  BlockRow row = {};
  /// Of threads that read what others hold in registers: blocks overlap.
  std::optional<CommonFrame> common = {};
};

/// One dimension of a box.
struct Side {
  int dim = -1;                        ///< of the frame, in which `first` counts; -1: in none
  std::int64_t first = 0;              ///< from the frame's origin
  std::optional<std::int64_t> points;  ///< empty: not constant
  /// One past the last.
  [[nodiscard]] std::optional<std::int64_t> end() const {
    return points ? std::optional(first + *points) : std::nullopt;
  }
  friend bool operator==(const Side&, const Side&) = default;
};

/// How often a stage is filled: once a block, a plane each step, or by each thread for its own points.
enum class Level : std::uint8_t { Block, Step, Thread };
/// Where a stage is kept: registers of the threads that computed it, memory of the block, an array.
enum class Residence : std::uint8_t { Registers, Shared, Global };

/// How a stage gets its points.
struct Fill {
  enum class Way : std::uint8_t {
    Computed,     ///< its definition is evaluated: the stage copies nothing
    Loads,        ///< loaded and, where it is shared, stored
    AsyncCopies,  ///< cp.async
    BulkCopies,   ///< the bulk-copy engine, row by row, in blocks inside
    Window,       ///< own points from the registers of `window`, those beside them loaded
  };
  Way way = Way::Computed;
  std::optional<LoadPolicy> dealt = {};  ///< how points are dealt to the crew; empty: a thread's own
  std::string window = {};
  /// With a window: the variable of the kernel's Func in each dimension of the stage.
  std::vector<std::string> column = {};
  int bytes = 0;  ///< of one access in blocks inside; 0 of what is computed
  friend bool operator==(const Fill&, const Fill&) = default;
};

struct Stage {
  std::string func;
  std::string copies = {};  ///< the input or Func whose values it moves; empty: none
  Level level = Level::Step;
  /// Of what is kept along the march: its plane, its ring. Of other stages empty.
  std::optional<MarchStage> step = {};
  /// By the Func's dimensions; of Level::Thread from the thread's first point. In the marched dimension
  /// of a stage with a ring: the plane of a step. Empty: not known (inside another stage's loops).
  std::vector<Side> box = {};
  /// Of a stage that does not march: points of the kernel's Func, in its dimensions, for which it is
  /// filled once. Its loop may stand inside loops that the frame has as points of a thread or block.
  std::vector<std::optional<std::int64_t>> serves = {};
  std::vector<Residence> kept = {};  ///< empty: the Func of the kernel, which is stored
  Crew crew = {};
  Fill fill = {};
  bool again = false;             ///< Level::Block: a loop around fills it more than once
  std::int64_t shared_bytes = 0;  ///< of a block: ring, padding of rows, transaction barriers
  std::int64_t registers = 0;     ///< of a thread

  [[nodiscard]] std::int64_t lag() const { return step ? -step->ahead : 0; }
  /// Do planes of it come and go along the march?
  [[nodiscard]] bool is_ring() const { return step && step->dim >= 0; }
  [[nodiscard]] bool is_in(Residence residence) const;
  friend bool operator==(const Stage&, const Stage&) = default;
};

/// What serves a tap.
enum class Server : std::uint8_t {
  OwnRegister,  ///< of the thread, which reads its own points
  Lane,         ///< a register of another thread of the warp, in blocks inside
  Shared,
  Global,
  Texture,
  Itself,  ///< a value of the Func of the kernel: carried in registers or in its array
};

/// All reads at one offset.
struct Tap {
  /// One index of the source: the reader's dimension `of`, plus `offset`. `of` -1: anything else.
  struct Index {
    int of = -1;
    std::int64_t offset = 0;
    friend bool operator==(const Index&, const Index&) = default;
  };
  std::string reader;  ///< a stage
  std::string source;  ///< a stage, an input or a Func at the root
  std::vector<Index> at = {};
  Server server = Server::Global;
  int lanes = 0;   ///< Server::Lane: from how many threads further on in x
  int along = -1;  ///< Server::Lane: the index of `at` beside the thread's own points
  int count = 1;   ///< how often the reader's definition has it
  friend bool operator==(const Tap&, const Tap&) = default;
};

/// How an order is kept.
enum class Wait : std::uint8_t {
  None,     ///< one thread does both
  Barrier,  ///< of the block
  Copies,   ///< each thread waits for its copies, then a barrier
  Arrival,  ///< transaction barriers count the bytes that arrive
};

/// The barrier of a block at which an edge is kept.
struct Meeting {
  int barrier = 0;           ///< 0: of all threads of the block; else named barriers from this one on,
  int turns = 1;             ///< of which each step takes the next
  std::int64_t threads = 0;  ///< that come to each; 0: all of the block
  /// Between crews: those of the edge's start come and go on, and those of its end wait. Else all wait.
  bool hands_over = false;
  friend bool operator==(const Meeting&, const Meeting&) = default;
};

/// `from` has done its part before `to` begins.
struct Edge {
  enum class Kind : std::uint8_t {
    Filled,  ///< stage `from` is filled, `to` reads it
    Reused,  ///< stage `from` has read, `to` is filled again in the same place
    Itself,  ///< one after the other: definitions and loops of `from`; set-up and use of its barriers
  };
  Kind kind = Kind::Filled;
  std::string from, to;
  ir::Kept of = ir::Kept::Points;  ///< what is filled
  std::int64_t steps = 0;          ///< how many steps later
  Wait wait = Wait::Barrier;
  int pending = 0;  ///< Wait::Copies: groups of copies that may still be under way
  /// Wait::Copies: each step waits for the copies that the next one reads, before its last barrier for
  /// rows, which then serves both; else it waits for its own, and a barrier follows.
  bool with_rows = false;
  /// Of a Wait but None. Of Wait::Arrival it is that of blocks where threads copy what the copy engine
  /// brings elsewhere.
  Meeting at = {};
  /// at.hands_over, Kind::Filled: by how many steps those that fill run on before they come.
  std::int64_t late = 0;
  friend bool operator==(const Edge&, const Edge&) = default;
};

/// Where points lie outside of what is computed.
struct Inside {
  enum class Edge : std::uint8_t {
    Nowhere,  ///< no block has such points, or keeps anything: loops end, stores are tested
    /// Blocks that are not inside keep nothing: they take their taps from memory, and test each point.
    DirectTaps,
    /// Loads stay within their arrays, points outside are computed like others, and stores are tested:
    /// in all blocks where `block` is undefined, else in those that are not inside. Of a common frame
    /// split_blocks leaves both out in blocks inside.
    ClampedLoads,
    /// Each point that is filled is tested, and each that is computed: where what is computed outside
    /// would be seen, or a load meet a store of the same kernel.
    TestedFills,
  };
  Edge edge = Edge::Nowhere;
  /// Of a block's loops: all of its points are inside, the last steps of a march aside. Undefined: no
  /// block is told apart.
  Expr block = {};
  bool last_steps = false;  ///< a chunk may end before its planes do
  bool everywhere = false;  ///< `block` holds for all blocks of LowerOptions::grid
};

struct KernelPlan {
  std::string func;
  std::size_t definition = 0;
  KernelFrame frame;
  std::vector<Stage> stages = {};  ///< in the order of a step; the Func's own is among them
  std::vector<Tap> taps = {};
  std::vector<Edge> edges = {};
  Inside inside = {};

  [[nodiscard]] const Stage* find(const std::string& stage) const;  ///< null if none
  /// The stages kept along the march, as nest_march writes them.
  [[nodiscard]] MarchPlan march() const;
  /// Of a block; those that fill included.
  [[nodiscard]] std::int64_t threads() const;
  [[nodiscard]] std::int64_t shared_bytes() const;
  [[nodiscard]] std::int64_t registers() const;  ///< of a thread
};

bool operator==(const KernelPlan& a, const KernelPlan& b);
bool operator==(const MarchStage& a, const MarchStage& b);

/// As above: a line a stage.
std::string to_string(const KernelPlan& plan);
/// What stands in that behind "frame", and in the columns "box", "filled" and "kept" of a stage.
std::string frame_text(const KernelPlan& plan);
std::string box_text(const KernelPlan& plan, const Stage& stage);
std::string fill_text(const KernelPlan& plan, const Stage& stage);
std::string kept_text(const Stage& stage);
/// "4 shared, 2 lane +-1": what serves the taps of `reader` on `source`.
std::string served_text(const KernelPlan& plan, const std::string& reader, const std::string& source);
std::string to_string(Level level);
std::string to_string(Residence residence);
std::string to_string(Server server);

/// The plan of definition `index` of `func`; null if there is none.
const KernelPlan* find_kernel(const std::vector<KernelPlan>& kernels, const std::string& func,
                              std::size_t index);

}  // namespace mica::planning
