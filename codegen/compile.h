// The compiler's public entry: an algorithm and its schedule become an Executable.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dsl/func/func.h"
#include "runtime/run/executable.h"
#include "runtime/run/target.h"

namespace mica {

/// Is the environment variable MICA_LINE_INFO 1?
bool line_info_from_environment();

/// How a pipeline is compiled: `compile(f, target, {.bake = {{"u.extent.0", 512}}})`.
struct CompileOptions {
  /// Mins, extents and strides of inputs and outputs that are compiled in as constants: symbol -> value,
  /// such as {"u.extent.0", 512}: the array's name as the user wrote it, dots and all, then the field
  /// and the dimension; {"f.1.extent.0", 512} for element 1 of the Tuple f. A run with another value is
  /// a UserError. So is a min beyond kLargestMin, an extent beyond kLargestExtent (dsl/expr/limits.h)
  /// and a stride beyond 32 bits.
  std::map<std::string, std::int64_t> bake;
  /// Use and fill the disk cache of machine code.
  bool use_cache = true;
  /// The code of GPU kernels says which line of the user's program it comes from (.loc of PTX, and the
  /// table of lines that ptxas makes of it), for profilers and debuggers that read what nvcc -lineinfo
  /// makes. A load has the line of its tap, an operation that of the taps below it if they have one, all
  /// else that of the definition. The instructions are the same.
  bool line_info = line_info_from_environment();
};

/// Compiles for Target::best() or `target`. UserErrors name the directive or definition at fault.
Executable compile(const Func& output);
Executable compile(const Func& output, const Target& target, const CompileOptions& options = {});
/// Several outputs in one pipeline.
Executable compile(const std::vector<Func>& outputs, const Target& target,
                   const CompileOptions& options = {});

/// PTX of the device kernels of the default variant, without a GPU at hand. `sm`: the compute capability
/// times ten; `ptx_version`: times ten, 0: the lowest that serves; `line_info`: as CompileOptions has
/// it. UserError if no kernel is on the GPU.
std::string compile_to_ptx(const Func& output, int sm = 90, int ptx_version = 0,
                           bool line_info = line_info_from_environment());
std::string compile_to_ptx(const std::vector<Func>& outputs, int sm = 90, int ptx_version = 0,
                           bool line_info = line_info_from_environment());
/// The scheduled loops of a pipeline of several outputs as text, as Func::print_loop_nest has those of
/// one.
std::string print_loop_nest(const std::vector<Func>& outputs, const Target& target);
/// The plans of a pipeline's kernels as text, as Func::print_plan has those of one output.
std::string print_plan(const std::vector<Func>& outputs, const Target& target);
/// Names of the compiler's passes in order, and the code after one of them ("" for the last).
std::vector<std::string> pass_names();
std::string code_after_pass(const Func& output, const Target& target, const std::string& pass);
std::string code_after_pass(const std::vector<Func>& outputs, const Target& target,
                            const std::string& pass);

}  // namespace mica
