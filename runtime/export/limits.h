// Limits that the compiler and exported pipelines share, for C; codegen/export/compile_to_library.cpp
// checks that they are those of the C++ side.
#pragma once

#include <stdint.h>

#define LARGEST_MIN ((int64_t)1 << 28)          /* dsl/expr/limits.h */
#define LARGEST_EXTENT (((int64_t)1 << 30) - 1) /* dsl/expr/limits.h */
#define LARGEST_STRIDE ((int64_t)1 << 48)       /* runtime/buffer/buffer_layout.cpp */
#define LARGEST_OFFSET32 (((int64_t)1 << 31) - 1 - ((int64_t)1 << 24)) /* runtime/run/plan.h */
#define LARGEST_GRID_X (((int64_t)1 << 31) - 1)
#define LARGEST_GRID_YZ ((int64_t)65535)
#define MOST_CHECK_VALUES 8
#define MOST_ERROR_BYTES 2048
