// What the oracle knows of each Func and input while it runs.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dsl/func/function.h"
#include "dsl/pipeline/pipeline.h"
#include "fuzz/oracle_grid.h"
#include "fuzz/oracle_tape.h"

namespace mica::test {

/// Part of a Func with updates: all its definitions carried out over one box.
struct Slice {
  Corners box;
  std::vector<Value> data;
  /// `box` and the points outside it that the updates read.
  Corners wanted;
};

struct DefinitionCode {
  const Definition* definition = nullptr;
  std::vector<std::string> variables;  ///< pure Vars, then the reduction's
  Tape tape;                           ///< arguments of the left-hand side, then values
  Tape bounds;                         ///< of the domain: min, extent, min, extent, ...
  Tape start;                          ///< of a recurrence that says where it starts
  Tape color;                          ///< of an update with colors: the sum that is taken modulo
  Tape taps;                           ///< of an update with colors: coordinates of its own reads
};

struct FuncState {
  explicit FuncState(const FunctionData* f) : data(f), memo(f->types.size()) { independent.fill(true); }
  const FunctionData* data;
  std::vector<DefinitionCode> definitions;
  /// Dimensions along which points are independent, see oracle.h. All, without updates.
  std::array<bool, kMaxDimensions> independent{};
  Memo memo;
  std::map<Point, Slice> slices;  ///< by coordinates, 0 in dependent dimensions
  Slice* current = nullptr;       ///< the slice whose updates are running
  std::optional<Corners> box;     ///< of an output: what is asked for
  std::vector<Memo> after;        ///< values after each definition, where they are asked for one by one
  bool has_colors = false;
  std::size_t turn = 0;        ///< with colors: the definition that is evaluated ...
  std::int64_t own_color = 0;  ///< ... and the color of its point
  bool is_first = false;       ///< without: the first definition is evaluated
};

struct InputState {
  const Pipeline::Input* input = nullptr;
  const char* data = nullptr;
  std::optional<Corners> demanded;
};

}  // namespace mica::test
