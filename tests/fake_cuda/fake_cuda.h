// A stand-in for NVIDIA's libcuda.so.1: GPUs made of host memory, for tests on machines without one.
//
// libfakecuda.so exports the driver functions that Mica uses and the functions below, which tests call
// to give orders and to ask what happened (tests/support/fake_cuda.h finds them). Work in streams is
// done at once. Handles that are unknown, contexts that are not current, memory freed twice and launches
// beyond a kernel's limits get the errors that the real driver gives.
//
// Code: "PTX" is text with the lines `.version 9.0`, `.target sm_90` and `.entry NAME(` with the
// kernel's .param declarations up to ")". A line `// fake: NAME registers=40 local=0 shared=0
// threads=1024` says what cuFuncGetAttribute answers. The text "syntax error" is one.
//
// libfakecuda_old.so lacks the functions that newer drivers added; libfakecuda_incomplete.so lacks
// cuLaunchKernel.
//
// The environment, read when the library is loaded and by fakecuda_reset:
// FAKECUDA_FAIL="cuInit=999,cuMemAlloc_v2=2" makes calls fail from the start, FAKECUDA_DEVICES=2 sets
// the number of GPUs (1). While FAKECUDA_SPILLS is set, kernels of PTX with read-only loads spill.
#pragma once

#include <cstddef>

/// One launch, as the callback of fakecuda_on_launch sees it.
struct FakeCudaLaunch {
  const char* kernel;
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  void* stream;
  void** arguments;
};

/// What has been made and not given back.
struct FakeCudaLive {
  std::size_t allocations, bytes, streams, events, modules, links, retained_contexts, textures, graphs,
      pinned;
};

extern "C" {

/// As if newly loaded, with one GPU of sm_90, 1 GiB of memory and a driver for CUDA 13.0; the calling
/// thread has no current context. Memory still allocated is freed.
void fakecuda_reset();
void fakecuda_set_driver_version(int version);
void fakecuda_set_devices(int count);
/// Of all GPUs, times ten: 80 is sm_80. Machine code of another one is refused.
void fakecuda_set_sm(int sm);
void fakecuda_set_total_memory(std::size_t bytes);

/// After `skip` more calls, the next `times` calls of `function` return `result` and do nothing; times
/// -1: all of them.
void fakecuda_fail(const char* function, int result, int skip, int times);
/// Calls of `function` since the reset, the ones that were made to fail included.
int fakecuda_calls(const char* function);
FakeCudaLive fakecuda_live();
/// Names of the functions called since the reset, in alphabetical order: the first `most` of them, which
/// stay valid until the next reset, go to `names`; how many there are.
int fakecuda_called(const char** names, int most);
/// Address at which the memory of `texture` starts; 0 for what is no texture.
unsigned long long fakecuda_texture_start(unsigned long long texture);

/// Is called in place of running a kernel; null: nothing is done.
void fakecuda_on_launch(void (*body)(const FakeCudaLaunch* launch, void* closure), void* closure);

/// A context of a user's own for GPU number `device`, current for the calling thread.
void* fakecuda_make_context(int device);
/// Contexts on the calling thread's stack, and the uppermost (null: none).
int fakecuda_context_depth();
void* fakecuda_current_context();
/// A stream of a user's own in the current context.
void* fakecuda_make_stream();
}
