// The families of named schedules, one file each.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "schedules/registry.h"

namespace mica::schedules {

std::vector<Recipe> pmpp_family();
std::vector<Recipe> blur_family();
std::vector<Recipe> tile_family();
std::vector<Recipe> jacobi2d_family();
std::vector<Recipe> march_family();
std::vector<Recipe> seismic_family();
std::vector<Recipe> pipeline_family();
std::vector<Recipe> fields_family();
std::vector<Recipe> cfd_family();
std::vector<Recipe> multigrid_family();
std::vector<Recipe> image_family();
std::vector<Recipe> host_family();
std::vector<Recipe> time_family();

/// The documents that describe the kernels, as they call themselves.
inline constexpr const char* kDocumentStencil =
    "Stencil notes after Hwu, Kirk, El Hajj: Programming Massively Parallel Processors, chapter 8";
inline constexpr const char* kDocumentStructuredGrids =
    "J. Owens, K. Seitz: Structured Grids (Stencils), EEC 289Q lecture 12, UC Davis 2018";
inline constexpr const char* kDocumentWhatYouMean =
    "J. Monsalve, J. Arteaga, S. Zuckerman: What, You Mean GPUs Can Be Fast?!, CAPSL";

inline constexpr const char* kDocumentSeismic =
    "J. Chang, O. O'Reilly: Seismic stencil codes, part 3, 2024";
inline constexpr const char* kDocumentFiniteDifference =
    "P. Micikevicius: 3D Finite Difference on a single GPU, NVIDIA 2009";

/// The Funcs that `func` is computed from, inputs' side first, without itself.
std::vector<Func> producers_of(const Func& func);
/// Those Funcs behind the outputs that the compiler computes ahead on the CPU where nothing at all is
/// scheduled, as nothing is here. None where it then compiles nothing, such as a Func that is inline and
/// whose realizations are traced.
std::set<const FunctionData*> computed_ahead_of(const std::vector<Func>& outputs);
/// Names of the inputs that `func`'s own definitions read, in order met.
std::vector<std::string> inputs_of(const Func& func);
/// Names of the Funcs that `func`'s own definitions read, in order met.
std::vector<std::string> funcs_read_by(const Func& func);
/// Puts a source of `func` (an input or Func by name) in memory for the block, as Func::stage does.
void stage_source(Func& func, const std::string& source, LoadPolicy load);
/// Loads of an input (by name) on the read-only path.
void read_only_input(Func& func, const std::string& input);

/// Inputs (by name) with taps off the plane's point itself, or on several planes of the dimension that
/// march_gpu walks: those that are worth keeping in shared memory. With `windows` a point's own column
/// is in registers, and inputs that are read nowhere else are left out.
std::vector<std::string> marched_inputs_of(const Func& func, bool windows = false);
/// Those of them with taps at the point's own column on several planes.
std::vector<std::string> windowed_inputs_of(const Func& func);
/// Registers for an input's own column, planes asked for ahead, and partial sums, along that dimension.
/// A value that is no sum plane by plane is gathered as it stands.
void window_source(Func& func, const std::string& source);
void prefetch_source(Func& func, const std::string& source, std::int64_t depth);
void scatter_sum_of(Func& func, Partials partials);
/// The dimension that march_gpu walks: the third, or the last of fewer.
Var marched_var(const Func& func);

/// Where host/rows computes the Funcs behind the output, its parameter "place": as the compiler would,
/// ahead of it, in each strip, along the rows of a strip each row once, for each row.
enum HostPlace : std::int64_t { kUsual = 0, kRoot = 1, kStrip = 2, kSlid = 3, kRow = 4 };

struct MarchTile {
  std::int64_t threads_x = 32, threads_y = 8, chunk = 64, vec = 1, rows = 1;
  std::int64_t halves =
      0;  ///< how often the last chunks are halved; chunk is rounded down to a multiple of 2^halves
};
/// Blocks of threads_x (x threads_y) threads with vec x rows points each that walk marched_var, `chunk`
/// planes a block (a Func of four dimensions: whole columns, the fourth dimension over blocks).
void march_gpu(Func& func, const MarchTile& tile);

/// A name for a loop that a recipe makes: `wanted`, numbered where a dimension of `func` is called so.
std::string new_loop(const Func& func, const std::string& wanted);

/// gpu_tile over the Func's dimensions (the third and fourth are fused) with `sizes` threads, and
/// `vec` points of the first dimension a thread.
void tile_gpu(Func& func, const std::vector<std::int64_t>& sizes, std::int64_t vec = 1);

/// Each Func behind `func`, and `func` itself, is a kernel of its own, tiled by tile_gpu.
void kernel_a_stage(Func& func, const std::vector<std::int64_t>& sizes, std::int64_t vec);

}  // namespace mica::schedules
