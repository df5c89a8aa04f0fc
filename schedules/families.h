// The families of named schedules, one file each.
#pragma once

#include "schedules/registry.h"

namespace mica::schedules {

std::vector<Recipe> pmpp_family();
std::vector<Recipe> blur_family();
std::vector<Recipe> tile_family();
std::vector<Recipe> jacobi2d_family();

/// The documents that describe the kernels, as they call themselves.
inline constexpr const char* kDocumentStencil =
    "Stencil notes after Hwu, Kirk, El Hajj: Programming Massively Parallel Processors, chapter 8";
inline constexpr const char* kDocumentStructuredGrids =
    "J. Owens, K. Seitz: Structured Grids (Stencils), EEC 289Q lecture 12, UC Davis 2018";
inline constexpr const char* kDocumentWhatYouMean =
    "J. Monsalve, J. Arteaga, S. Zuckerman: What, You Mean GPUs Can Be Fast?!, CAPSL";

/// The Funcs that `func` is computed from, inputs' side first, without itself.
std::vector<Func> producers_of(const Func& func);
/// Names of the inputs that `func`'s own definitions read, in order met.
std::vector<std::string> inputs_of(const Func& func);
/// Names of the Funcs that `func`'s own definitions read, in order met.
std::vector<std::string> funcs_read_by(const Func& func);
/// Puts a source of `func` (an input or Func by name) in memory for the block, as Func::stage does.
void stage_source(Func& func, const std::string& source, LoadPolicy load);
/// Loads of an input (by name) on the read-only path.
void read_only_input(Func& func, const std::string& input);

/// gpu_tile over the Func's dimensions (the third and fourth are fused) with `sizes` threads, and
/// `vec` points of the first dimension a thread.
void tile_gpu(Func& func, const std::vector<std::int64_t>& sizes, std::int64_t vec = 1);

}  // namespace mica::schedules
