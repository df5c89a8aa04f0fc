// One run of an exported pipeline, in parts that know nothing of each other's insides: run.c binds and
// checks, host.c and cuda.c have the memory and launch.
#pragma once

#include "runtime/export/exported.h"

typedef struct Run {
  const Pipeline* pipeline;
  const mica_buffer* const* given;  // in the order of the description
  const void* const* scalars;
  void* stream;
  const Variant* variant;
  Value* symbols;
  Value* results;
  uint64_t* addresses;  // of the element at the mins of each array, where the launches run
  void* backend;        // what the backend keeps for the run
} Run;

// Where a pipeline's launches run. Functions return a code of abi.h, and have said why with FAIL.
typedef struct Backend {
  // Sets the addresses of the pipeline's arrays.
  int (*begin)(Run* run);
  // `bytes` of memory until the run ends.
  int (*allocate)(Run* run, const char* array, uint64_t bytes, uint64_t* address);
  int (*launch)(Run* run, const Launch* launch, void** arguments);
  // Always called, with the result so far.
  int (*end)(Run* run, int result);
} Backend;

extern const Backend MICA_RUNTIME(host);
extern const Backend MICA_RUNTIME(cuda);

// Carries out a run; `error` gets its message. The functions that a library exports call these.
int MICA_RUNTIME(run)(const Pipeline* pipeline, const Backend* backend, const mica_buffer* const* given,
                      const void* const* scalars, void* stream, char* error, size_t error_bytes);
// The message of this thread's last run; "" if there was no error.
const char* MICA_RUNTIME(error)(void);
void MICA_RUNTIME(set_loop_runner)(mica_loop_runner runner, void* user);

// Notes the message of an error, and is `code`.
int MICA_RUNTIME(fail)(int code, const char* format, ...) __attribute__((format(printf, 2, 3)));
#define FAIL MICA_RUNTIME(fail)

// The errors of one array, and of all that overlap; `in_place`: an output is an input's memory.
int MICA_RUNTIME(check_buffer)(const Run* run, const Array* array);
int MICA_RUNTIME(check_overlaps)(const Run* run, bool* in_place);
bool MICA_RUNTIME(has_elements)(const mica_buffer* buffer);

// Elements of the array from the one at the mins to the first and the last in memory; not of no
// elements.
void MICA_RUNTIME(element_range)(const Value* array, int64_t dimensions, int64_t* first, int64_t* last);

// Host code calls these, as mica_parallel_for, mica_allocate and mica_free (runtime/cpu/cpu_device.h).
void MICA_RUNTIME(parallel_for)(void (*body)(int64_t i, void* closure), int64_t min, int64_t extent,
                                void* closure, int64_t* failed);
void* MICA_RUNTIME(allocate)(size_t bytes, int64_t* failed);
void MICA_RUNTIME(free)(void* memory);

// Sets the floating-point mode that code expects, and returns the one before; sets that again.
static inline unsigned default_float_mode(void) {
  const unsigned before = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(0x1f80U | (before & 0x3fU));
  return before;
}
static inline void set_float_mode(unsigned mode) { __builtin_ia32_ldmxcsr(mode); }
