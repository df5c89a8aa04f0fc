// What a kernel is to the learned part of the model (schedules/tune/forest.h): some forty numbers that
// have no unit, or the same one on every grid.
#pragma once

#include <array>
#include <string_view>

#include "codegen/analysis/traffic/traffic.h"
#include "schedules/tune/subject.h"

namespace mica::tuning {

/// A kernel on a machine, as the formula of predict.h has it.
struct Running {
  double seconds = 0;         ///< that the formula expects
  double memory_seconds = 0;  ///< of its different bytes at the memory's rate
  double registers = 0;       ///< a thread
  double spilled = 0;         ///< bytes that a thread writes to local memory or reads there in a step
  double most_registers = 0;  ///< that a thread may have
  double resident = 0;        ///< blocks that fit a multiprocessor
  double blocks = 0;          ///< of a multiprocessor, in all
  double at_once = 0;         ///< blocks of a multiprocessor that run at once
  double steps = 1;           ///< of a march
  double under_way = 0;       ///< bytes that a multiprocessor reads from memory in a step
  double levels = 1;          ///< steps of an Iteration that are taken at once
};

/// Their names, in the order of figures_of: the columns of what trees learn from.
inline constexpr std::array<std::string_view, 43> kFigureNames = {
    "formula",         "dram",         "l2",        "l1",           "l1_accesses", "shared",
    "shared_accesses", "shared_reuse", "written",   "intensity",    "operations",  "step_operations",
    "steps",           "resident",     "warps",     "rounds",       "tail",        "under_way",
    "under_way_early", "async",        "early",     "lanes",        "width",       "threads_x",
    "threads_y",       "threads_z",    "threads",   "rows_of_grid", "row_bytes",   "points",
    "loaded",          "shared_bytes", "latency",   "held",         "held_planes", "most_registers",
    "spare_registers", "min_blocks",   "registers", "local_bytes",  "dimensions",  "staged",
    "levels"};
using Figures = std::array<float, kFigureNames.size()>;

Figures figures_of(const KernelTraffic& kernel, const Running& running, const Features& features);

}  // namespace mica::tuning
