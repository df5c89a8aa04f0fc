/* What exported pipelines (codegen/export) and the programs that call them agree on: docs/export.md.
 * This text stands in each exported header, so it is C99 and includes the C library alone. */
#pragma once

#ifndef MICA_EXPORT_ABI
#define MICA_EXPORT_ABI 1

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a run returns. The text of the error says which argument, both numbers, and what to do. */
enum {
  MICA_OK = 0,
  MICA_WRONG_ARGUMENT = 1, /* nothing was computed */
  MICA_NO_MEMORY = 2,      /* on the host or the GPU; what the outputs hold is unspecified */
  MICA_DEVICE_FAILED = 3,  /* a call of the CUDA driver failed; so are the outputs' elements */
  MICA_NOT_SERVED = 4      /* the library holds no code for arguments of such a shape */
};

/* What an element is: DLPack's codes. A bool has 8 bits, 0 or 1. */
enum { MICA_INT = 0, MICA_UINT = 1, MICA_FLOAT = 2, MICA_BFLOAT = 4, MICA_BOOL = 6 };

/* Where a buffer's data are. */
enum { MICA_HOST = 0, MICA_DEVICE = 1 };

#define MICA_MAX_DIMENSIONS 6

/* Coordinates run from min to min + extent - 1; neighbours lie `stride` elements apart, which may be
 * negative. */
typedef struct mica_dimension {
  int64_t min, extent, stride;
} mica_dimension;

/* An array. Dimension 0 is that of a Func's first Var. */
typedef struct mica_buffer {
  void* data; /* the element whose coordinates are the mins: an address of the host, or a CUdeviceptr */
  int32_t dimensions;           /* 1 ... MICA_MAX_DIMENSIONS */
  uint8_t type_code, type_bits; /* MICA_FLOAT, 32 */
  uint8_t memory;               /* MICA_HOST or MICA_DEVICE */
  uint8_t reserved;             /* 0 */
  mica_dimension dim[MICA_MAX_DIMENSIONS];
} mica_buffer;

typedef struct mica_array_description {
  const char* name;
  int32_t dimensions, is_output;
  uint8_t type_code, type_bits;
} mica_array_description;

typedef struct mica_scalar_description {
  const char* name;
  uint64_t value; /* what the Param held when it was exported, its bytes in the low end */
  uint8_t type_code, type_bits;
} mica_scalar_description;

/* What a library holds, for programs that find out at run time. */
typedef struct mica_pipeline_description {
  int32_t abi; /* MICA_EXPORT_ABI */
  int32_t array_count, scalar_count;
  const char* mica_version;
  const char* name;
  const char* target;                   /* "host" or "cuda:90" */
  const char* code;                     /* which CPU or GPU the code is for */
  const mica_array_description* arrays; /* inputs, then outputs */
  const mica_scalar_description* scalars;
} mica_pipeline_description;

/* Calls body(i, closure) once for every i in [min, min + extent), on several threads at once, and
 * returns when all calls have returned. Calls may nest. `user` is what it was set with. */
typedef void (*mica_loop_runner)(void (*body)(int64_t i, void* closure), int64_t min, int64_t extent,
                                 void* closure, void* user);

/* An array of the host, dimension 0 fastest, all mins 0. */
static inline mica_buffer mica_dense(void* data, int type_code, int type_bits, int dimensions,
                                     const int64_t* extents) {
  mica_buffer buffer;
  int64_t stride = 1;
  buffer.data = data;
  buffer.dimensions = dimensions;
  buffer.type_code = (uint8_t)type_code;
  buffer.type_bits = (uint8_t)type_bits;
  buffer.memory = MICA_HOST;
  buffer.reserved = 0;
  for (int d = 0; d < MICA_MAX_DIMENSIONS; ++d) {
    buffer.dim[d].min = 0;
    buffer.dim[d].extent = d < dimensions ? extents[d] : 0;
    buffer.dim[d].stride = stride;
    stride *= d < dimensions ? extents[d] : 1;
  }
  return buffer;
}

#ifdef __cplusplus
}
#endif

#endif
