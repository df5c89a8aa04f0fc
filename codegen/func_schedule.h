// What a Func's directives say, read once by read_schedule: the passes that come after find it here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dsl/expr/diagnostics.h"
#include "dsl/func/function.h"
#include "dsl/schedule/loop_dims.h"

namespace mica {

/// A directive as the user wrote it, and where.
struct Said {
  std::string text;  ///< "store_at(f, y)"
  SourceLocation where;
};

struct FuncSchedule {
  struct OfDefinition {
    LoopNestSpec loops;
    int filling_warps = 0;      ///< of warp_split; 0: none
    SourceLocation warp_split;  ///< or else the definition
    bool atomic = false;
  };
  struct March {
    std::string var, loop;  ///< the dimension, and the loop that walks it
    int chunk = 0;          ///< planes of a block; 0: all
  };
  struct Fold {
    Said said;
    std::string var;
    int factor = 0;
  };
  struct Bound {
    SourceLocation where;
    std::string var;
    std::int64_t min = 0, extent = 0;
  };
  struct Exchange {
    std::string source, var;
  };

  std::vector<OfDefinition> definitions;
  int min_blocks = 0;               ///< of launch_bounds: blocks at once on a multiprocessor; 0: none
  int max_registers = 0;            ///< a thread's; 0: none
  std::set<std::string> read_only;  ///< sources
  std::optional<March> march;
  std::set<std::string> streamed_loads, textures;  ///< sources
  bool streamed_stores = false;
  /// Sources that are read through a path that need not see what the kernel writes.
  std::map<std::string, Said> unwritten;
  std::vector<Exchange> exchanges;  ///< of shuffle
  std::vector<Fold> folds;
  std::vector<Bound> bounds;
  std::map<std::string, int> alignment;  ///< dimensions of the storage -> elements
  /// The first split of the pure definition with that tail.
  std::map<TailStrategy, SourceLocation> tails;
  std::optional<Said> compute_at, store_at, store_root, store_in;
  /// What makes a block larger than its tile (a stage whose halos have threads of their own), or else
  /// the tile, or else the Func.
  SourceLocation block;
};

}  // namespace mica
