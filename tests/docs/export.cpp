// The code of docs/export.md, to be compiled.
#include <mica/mica.h>

using namespace mica;

void export_pipelines(const Func& next, const Func& flux);

void export_pipelines(const Func& next, const Func& flux) {
  // clang-format off
  compile_to_library(next, "out/diffuse", Target::host());                          // out/diffuse.a, out/diffuse.h
  compile_to_library(next, "out/diffuse_gpu", Target{Backend::Cuda}, {.sm = 90});   // and .ptx; .cubin where ptxas is found
  compile_to_library({next, flux}, "out/both", Target::host(), {.shared = true});   // and out/both.so
  // clang-format on
}
