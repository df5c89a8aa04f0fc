// Pipelines for programs without Mica: docs/export.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dsl/func/func.h"
#include "runtime/run/plan.h"
#include "runtime/run/target.h"

namespace mica {

/// How a pipeline is exported: `compile_to_library(f, "out/blur", target, {.name = "blur_image"})`.
struct ExportOptions {
  /// The C function, with which all names in the library begin; empty: the last part of the stem.
  /// UserError if it is no identifier of C, or one that C or the library has for something else.
  std::string name = {};
  /// As CompileOptions::bake.
  std::map<std::string, std::int64_t> bake = {};
  /// The variants of the code that the library holds, in the order in which a run tries them; a run that
  /// none of them serves is an error. Empty: usual_variants.
  std::vector<Variant> variants = {};
  /// Host: code that runs on every 64-bit CPU of this family, else on those that have what this one has.
  /// The results are the same.
  bool baseline_cpu = false;
  /// CUDA: the compute capability times ten. The code runs on newer GPUs too, by way of PTX.
  int sm = 90;
  /// CUDA: as CompileOptions::line_info.
  bool line_info = false;
  /// Makes STEM.so, too, by the system's C compiler; UserError if there is none.
  bool shared = false;
};

/// The variants that serve every run: that for dense arrays whose rows are aligned, those for what the
/// pipeline's schedule specializes, where it matters that for unaligned rows, and one that assumes
/// nothing. UserErrors as compile()'s.
std::vector<Variant> usual_variants(const std::vector<Func>& outputs, const Target& target);

/// Writes `stem`.a, a static library, and `stem`.h, the C header that says what it holds; for CUDA also
/// `stem`.ptx and, where NVIDIA's ptxas is found, `stem`.cubin, with the code of the first variant. They
/// need neither Mica nor LLVM nor anything of CUDA but the driver. For a GPU none is needed at hand: of
/// Target{Backend::Cuda} the device's number means nothing. Returns the names of the files.
/// UserErrors: those of compile(); Funcs that print on the host or are traced; textures; a GPU pipeline
/// with loops on the host; a Buffer that is read as such; a file that cannot be written; the emulator.
std::vector<std::string> compile_to_library(const std::vector<Func>& outputs, const std::string& stem,
                                            const Target& target, const ExportOptions& options = {});
std::vector<std::string> compile_to_library(const Func& output, const std::string& stem,
                                            const Target& target, const ExportOptions& options = {});

}  // namespace mica
