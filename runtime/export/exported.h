// A pipeline as its library holds it: data that the compiler writes (codegen/llvm/export_module.cpp) and
// run.c carries out. Structs hold 64-bit integers and pointers only.
#pragma once

#include "runtime/export/abi.h"

// The functions of this runtime that exported code calls, by names that say the version: a program may
// hold libraries of several. MICA_RUNTIME(run) is mica_0_1_0_run.
#define MICA_JOIN_NAMES(prefix, name) prefix##name
#define MICA_PREFIXED(prefix, name) MICA_JOIN_NAMES(prefix, name)
#define MICA_RUNTIME(name) MICA_PREFIXED(MICA_RUNTIME_PREFIX, name)

// An expression's value, as HostValue (runtime/run/evaluate.h).
typedef union Value {
  int64_t i;
  double f;
} Value;

// Writes the values of some of a plan's expressions to `results`. Never fails: see HostProgram.
typedef void (*Evaluate)(const Value* symbols, Value* results);

// As PlanBuffer; arrays stand in the plan's order.
typedef struct Array {
  const char* name;      // as messages call it
  const char* why_type;  // PlanBuffer::why_type, with brackets
  int64_t type_code, type_bits, element_bytes, dimensions, is_output;
  int64_t argument;    // its place in mica_pipeline_description::arrays
  int64_t first_slot;  // of its symbols: min, extent and stride of each dimension
} Array;

// As PlanSharing, for arrays by number.
typedef struct Sharing {
  int64_t output, input;
  const char* obstacle;  // "": the output may be that input's memory
  const char* place;
} Sharing;

// As PlanTemporary. `box` gives min and extent of each dimension.
typedef struct Temporary {
  const char* name;
  const char* place;
  int64_t element_bytes, dimensions, first_slot;
  const int64_t* align;
  Evaluate box;
} Temporary;

// As PlanCheck. Place `k` of the results of Variant::checks_hold says whether check k holds.
typedef struct Check {
  const char* message;
  const char* place;
  int64_t count;             // of values
  const int64_t* type_code;  // of each
  Evaluate values;
} Check;

// As PlanAlignment: the coordinates are results[at], ...
typedef struct Alignment {
  int64_t array, bytes, at;
} Alignment;

enum { ARGUMENT_POINTER = 0, ARGUMENT_SCALAR = 1, ARGUMENT_PARAM = 2 };

// As KernelArgument.
typedef struct Argument {
  int64_t kind;
  int64_t array, at;  // pointers: the coordinates are results[at], ...; -1: all are 0
  int64_t written;
  int64_t value;  // scalars: results[value] holds the bytes; Params: the number of the Param
} Argument;

// As PlanLaunch.
typedef struct Launch {
  const char* name;                        // as messages call the kernel
  int64_t (*kernel)(void* const* values);  // on the host; 0, or the bytes that could not be had
  int64_t when;                            // results[when] is 0: nothing is launched; -1: always
  int64_t argument_count;
  const Argument* arguments;
  const char* entry;  // device launches: the kernel's entry point
  int64_t number;     // among the variant's entry points
  int64_t grid;       // results[grid], ... are the blocks in x, y and z
  int64_t block[3], shared_bytes;
} Launch;

// The symbols of a dimension-0 layout, as Variant::Inner.
typedef struct Inner {
  int64_t stride, unit;
} Inner;

// One compiled variant, as Variant and its Plan. Arrays are numbered: the pipeline's, then temporaries.
typedef struct Variant {
  int64_t index32, aligned, grid3, unit_stride, separate;
  const Inner* inner;     // of each of the pipeline's arrays; null: all strides are unknown
  const int64_t* chosen;  // of each choice; null: any will do
  int64_t first_scalar;   // symbol
  int64_t first_value;    // symbol of the first PlanValue
  Evaluate values;        // writes them there one after the other; null: there are none
  int64_t symbol_count;
  int64_t temporary_count;
  const Temporary* temporaries;
  int64_t check_count;
  const Check* checks;
  Evaluate checks_hold;
  int64_t alignment_count;
  const Alignment* alignments;
  int64_t launch_count;
  const Launch* launches;
  int64_t result_count;  // of what comes first: at and grid, when and scalars
  Evaluate launch_values;
  Evaluate choices;   // all conditions, one choice after the other
  const char* image;  // CUDA: machine code; null: there is none
  const char* ptx;    // CUDA
  int64_t is_huge;    // CUDA: that takes the driver's assembler minutes, but at level 1
} Variant;

typedef struct Pipeline {
  const mica_pipeline_description* description;
  int64_t is_cuda;
  const Array* arrays;  // as many as the description has
  int64_t sharing_count;
  const Sharing* sharing;
  int64_t choice_count;
  const int64_t* conditions;  // of each choice, how many
  int64_t variant_count;
  const Variant* variants;  // those with more assumptions first
  void (*read_scalars)(const void* const* scalars, Value* symbols);
  int64_t features;        // of the CPU that the code needs: see features.h
  struct Loaded** loaded;  // CUDA: what has been loaded, at first null
} Pipeline;
