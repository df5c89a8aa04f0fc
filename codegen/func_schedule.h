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
  Said() = default;
  explicit Said(const Directive& directive);
};

/// What a directive leaves stands beside how it is read: `read(op, directive)` takes directive.op, of
/// which all those are left out that say nothing but loops or where the Func is computed. Of several
/// numbers the last counts, of places for errors the first.
struct FuncSchedule {
  struct OfDefinition {
    LoopNestSpec loops;
    int filling_warps = 0;      ///< of warp_split; 0: none
    SourceLocation warp_split;  ///< or else the definition
    bool atomic = false;
  };
  std::vector<OfDefinition> definitions;
  void read(const directive::WarpSplit& op, const Directive& directive) {
    definitions.back().filling_warps = op.warps;
    definitions.back().warp_split = directive.where;
  }
  void read(const directive::Atomic& /*op*/, const Directive& /*directive*/) {
    definitions.back().atomic = true;
  }

  int min_blocks = 0;  ///< of launch_bounds: blocks at once on a multiprocessor; 0: none
  void read(const directive::LaunchBounds& op, const Directive& /*directive*/) {
    min_blocks = op.min_blocks;
  }
  int max_registers = 0;  ///< a thread's; 0: none
  void read(const directive::MaxRegisters& op, const Directive& /*directive*/) {
    max_registers = op.count;
  }

  struct March {
    std::string var, loop;  ///< the dimension, and the loop that walks it
    int chunk = 0;          ///< planes of a block; 0: all
    int shortest = 0;       ///< of the last blocks; 0: as many
  };
  std::optional<March> march;

  std::set<std::string> streamed_loads, textures, read_only;  ///< sources
  /// Sources that are read through a path that need not see what the kernel writes.
  std::map<std::string, Said> unwritten;
  void read(const directive::StreamLoads& op, const Directive& /*directive*/) {
    streamed_loads.insert(op.source);
  }
  void read(const directive::Texture& op, const Directive& directive) {
    textures.insert(op.source);
    unwritten.emplace(op.source, directive);
  }
  void read(const directive::ReadOnly& op, const Directive& directive) {
    read_only.insert(op.source);
    unwritten.emplace(op.source, directive);
  }
  bool streamed_stores = false;
  void read(const directive::StreamStores& /*op*/, const Directive& /*directive*/) {
    streamed_stores = true;
  }

  struct Exchange {
    std::string source, var;
  };
  std::vector<Exchange> exchanges;
  void read(const directive::Shuffle& op, const Directive& /*directive*/) {
    exchanges.push_back({op.source, op.var});
  }

  struct Fold {
    Said said;
    std::string var;
    int factor = 0;
  };
  std::vector<Fold> folds;
  void read(const directive::FoldStorage& op, const Directive& directive) {
    folds.push_back({Said(directive), op.var, op.factor});
  }
  std::map<std::string, int> alignment;  ///< dimensions of the storage -> elements
  void read(const directive::AlignStorage& op, const Directive& /*directive*/) {
    alignment[op.var] = op.elements;
  }
  struct Bound {
    SourceLocation where;
    std::string var;
    std::int64_t min = 0, extent = 0;
  };
  std::vector<Bound> bounds;
  void read(const directive::Bound& op, const Directive& directive) {
    bounds.push_back({directive.where, op.var, op.min, op.extent});
  }

  std::optional<Said> compute_at, store_at, store_root, store_in;  ///< the first
  void read(const directive::ComputeAt& /*op*/, const Directive& directive) {
    if (!compute_at) compute_at.emplace(directive);
  }
  void read(const directive::StoreAt& /*op*/, const Directive& directive) {
    if (!store_at) store_at.emplace(directive);
  }
  void read(const directive::StoreRoot& /*op*/, const Directive& directive) {
    if (!store_root) store_root.emplace(directive);
  }
  void read(const directive::StoreIn& /*op*/, const Directive& directive) {
    if (!store_in) store_in.emplace(directive);
  }

  template <typename Op>
  void read(const Op& /*op*/, const Directive& /*directive*/) {}

  /// The first split of the pure definition with that tail.
  std::map<TailStrategy, SourceLocation> tails;
  /// What makes a block larger than its tile (a stage whose halos have threads of their own), or else
  /// the tile, or else the Func.
  SourceLocation block;
};

}  // namespace mica
