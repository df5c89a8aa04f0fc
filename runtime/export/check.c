// What is wrong with the arguments of a run: as runtime/run/check_arguments.cpp and
// runtime/buffer/buffer_layout.cpp say it.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/export/limits.h"
#include "runtime/export/run.h"
#include "runtime/export/shape_rules.h"

static __thread char last_error[MOST_ERROR_BYTES];

const char* MICA_RUNTIME(error)(void) { return last_error; }

int MICA_RUNTIME(fail)(int code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(last_error, sizeof last_error, format, arguments);
  va_end(arguments);
  return code;
}

static const char* role(const Array* array) { return array->is_output ? "output" : "input"; }

static const char* type_text(int code, int bits, char* text, size_t bytes) {
  const char* letters = code == MICA_INT      ? "i"
                        : code == MICA_UINT   ? "u"
                        : code == MICA_FLOAT  ? "f"
                        : code == MICA_BFLOAT ? "bf"
                        : code == MICA_BOOL   ? "bool"
                                              : "an unknown type of bits ";
  if (code == MICA_BOOL) return letters;
  snprintf(text, bytes, "%s%d", letters, bits);
  return text;
}

// "f32 [0..511] x [0..255]".
static const char* describe(const mica_buffer* buffer, char* text, size_t bytes) {
  char type[48];
  size_t used = (size_t)snprintf(text, bytes, "%s",
                                 type_text(buffer->type_code, buffer->type_bits, type, sizeof type));
  const int dimensions =
      buffer->dimensions < MICA_MAX_DIMENSIONS ? buffer->dimensions : MICA_MAX_DIMENSIONS;
  for (int d = 0; d < dimensions && used < bytes; ++d) {
    const mica_dimension* dim = &buffer->dim[d];
    used += (size_t)snprintf(text + used, bytes - used, "%s[%lld..%lld]", d ? " x " : " ",
                             (long long)dim->min, (long long)(dim->min + dim->extent - 1));
  }
  return text;
}

static int check_dimensions(const Array* array, const mica_buffer* given, const char* text) {
  for (int d = 0; d < given->dimensions; ++d) {
    const mica_dimension* dim = &given->dim[d];
    if (dim->extent < 0) {
      return FAIL(MICA_WRONG_ARGUMENT, "dimension %d of %s %s has extent %lld: it must be 0 or more", d,
                  role(array), array->name, (long long)dim->extent);
    }
    if (dim->min < -LARGEST_MIN || dim->min > LARGEST_MIN || dim->extent > LARGEST_EXTENT) {
      return FAIL(
          MICA_WRONG_ARGUMENT,
          "%s %s, %s, has min %lld and extent %lld in dimension %d, but a min lies in %lld..%lld "
          "and an extent is at most %lld: give it more dimensions, or another min",
          role(array), array->name, text, (long long)dim->min, (long long)dim->extent, d,
          (long long)-LARGEST_MIN, (long long)LARGEST_MIN, (long long)LARGEST_EXTENT);
    }
    if (dim->stride > LARGEST_STRIDE || dim->stride < -LARGEST_STRIDE) {
      return FAIL(MICA_WRONG_ARGUMENT,
                  "dimension %d of %s %s has a stride of %lld elements: none may exceed 2^48", d,
                  role(array), array->name, (long long)dim->stride);
    }
  }
  return MICA_OK;
}

static int64_t absolute(int64_t value) { return value < 0 ? -value : value; }

// Do no two elements share an address, and are there no more than 64 bits count?
static int check_strides(const Array* array, const mica_buffer* given, const char* text) {
  bool done[MICA_MAX_DIMENSIONS] = {false};
  int64_t span = 1;
  for (int round = 0; round < given->dimensions; ++round) {
    int next = -1;  // of those left, the one with the smallest stride
    for (int d = 0; d < given->dimensions; ++d) {
      if (done[d] || given->dim[d].extent <= 1) continue;
      if (next < 0 || absolute(given->dim[d].stride) < absolute(given->dim[next].stride)) next = d;
    }
    if (next < 0) break;
    done[next] = true;
    const int64_t stride = absolute(given->dim[next].stride);
    if (stride < span) {
      return FAIL(MICA_WRONG_ARGUMENT,
                  "%s %s, %s, has a stride of %lld where the faster dimensions span %lld elements: "
                  "elements would share addresses",
                  role(array), array->name, text, (long long)given->dim[next].stride, (long long)span);
    }
    int64_t grown = 0, bytes = 0;
    if (__builtin_mul_overflow(given->dim[next].extent - 1, stride, &grown) ||
        __builtin_add_overflow(grown, span, &grown) ||
        __builtin_mul_overflow(grown, array->element_bytes, &bytes)) {
      return FAIL(MICA_WRONG_ARGUMENT, "%s %s, %s, is larger than 2^63 bytes", role(array), array->name,
                  text);
    }
    span = grown;
  }
  return MICA_OK;
}

bool MICA_RUNTIME(has_elements)(const mica_buffer* buffer) {
  for (int d = 0; d < buffer->dimensions; ++d) {
    if (buffer->dim[d].extent == 0) return false;
  }
  return true;
}

int MICA_RUNTIME(check_buffer)(const Run* run, const Array* array) {
  const mica_buffer* given = run->given[array->argument];
  if (given == NULL) {
    return FAIL(MICA_WRONG_ARGUMENT, "the buffer given for %s %s is a null pointer", role(array),
                array->name);
  }
  char text[256], wanted_text[48];
  if (given->dimensions != array->dimensions) {
    return FAIL(MICA_WRONG_ARGUMENT, "%s %s has %lld dimension%s, but the buffer given has %d",
                role(array), array->name, (long long)array->dimensions,
                array->dimensions == 1 ? "" : "s", given->dimensions);
  }
  describe(given, text, sizeof text);
  if (given->type_code != array->type_code || given->type_bits != array->type_bits) {
    const char* wanted =
        type_text((int)array->type_code, (int)array->type_bits, wanted_text, sizeof wanted_text);
    return FAIL(MICA_WRONG_ARGUMENT,
                "%s %s has elements of type %s%s, but the buffer given holds %s: give a buffer of %s",
                role(array), array->name, wanted, array->why_type, text, wanted);
  }
  if (given->memory != MICA_HOST && (given->memory != MICA_DEVICE || !run->pipeline->is_cuda)) {
    return FAIL(MICA_WRONG_ARGUMENT,
                run->pipeline->is_cuda
                    ? "the memory of %s %s is %d: it must be MICA_HOST (0) or MICA_DEVICE (1)"
                    : "the memory of %s %s is %d, but the pipeline runs on the host: it must be "
                      "MICA_HOST (0)",
                role(array), array->name, given->memory);
  }
  int result = check_dimensions(array, given, text);
  if (result == MICA_OK) result = check_strides(array, given, text);
  if (result != MICA_OK || !MICA_RUNTIME(has_elements)(given)) return result;
  if (given->data == NULL) {
    return FAIL(MICA_WRONG_ARGUMENT, "%s %s, %s, has no data: its pointer is null", role(array),
                array->name, text);
  }
  if ((uintptr_t)given->data % (uint64_t)array->element_bytes != 0) {
    return FAIL(
        MICA_WRONG_ARGUMENT,
        "the data of %s %s, %s, lie at an address that is no multiple of an element's %lld bytes",
        role(array), array->name, text, (long long)array->element_bytes);
  }
  return MICA_OK;
}

void MICA_RUNTIME(element_range)(const Value* array, int64_t dimensions, int64_t* first, int64_t* last) {
  *first = *last = 0;
  for (int64_t d = 0; d < dimensions; ++d) {
    const int64_t reach = (extent_of(array, d) - 1) * stride_of(array, d);
    *(reach < 0 ? first : last) += reach;
  }
}

// Are there, in dimensions [0, count) of `order` (smallest stride first), differences of indices within
// the two boxes that span `distance` elements? As differences_reach in buffer_layout.cpp.
static bool reach(const mica_dimension* a, const mica_dimension* b, const int* order, int count,
                  int64_t distance) {
  if (count == 0) return distance == 0;
  const int d = order[count - 1];
  int64_t smaller = 0;
  for (int i = 0; i + 1 < count; ++i) {
    const int k = order[i];
    const int64_t extent = a[k].extent > b[k].extent ? a[k].extent : b[k].extent;
    smaller += (extent - 1) * absolute(a[k].stride);
  }
  const int64_t stride = absolute(a[d].stride);
  const int64_t toward = a[d].stride < 0 ? -distance : distance;
  int64_t low = (toward - smaller) / stride - 1, high = (toward + smaller) / stride + 1;
  if (low < 1 - b[d].extent) low = 1 - b[d].extent;
  if (high > a[d].extent - 1) high = a[d].extent - 1;
  for (int64_t c = low; c <= high; ++c) {
    const int64_t left = distance - c * a[d].stride;
    if (absolute(left) <= smaller && reach(a, b, order, count - 1, left)) return true;
  }
  return false;
}

// Do two buffers that are not empty share memory? As AnyBuffer::overlaps.
static bool overlap(const mica_buffer* a, int64_t a_bytes, const mica_buffer* b, int64_t b_bytes) {
  if (a->memory != b->memory) return false;
  int64_t range[2][2] = {{0, 0}, {0, 0}};
  const mica_buffer* both[2] = {a, b};
  for (int i = 0; i < 2; ++i) {
    for (int d = 0; d < both[i]->dimensions; ++d) {
      const int64_t span = (both[i]->dim[d].extent - 1) * both[i]->dim[d].stride;
      range[i][span < 0 ? 0 : 1] += span;
    }
  }
  const int64_t distance = (int64_t)((uintptr_t)b->data - (uintptr_t)a->data);
  if ((range[0][1] + 1) * a_bytes <= distance + range[1][0] * b_bytes ||
      distance + (range[1][1] + 1) * b_bytes <= range[0][0] * a_bytes) {
    return false;
  }
  if (a_bytes != b_bytes || distance % a_bytes != 0 || a->dimensions != b->dimensions) return true;
  int order[MICA_MAX_DIMENSIONS], count = 0;
  for (int d = 0; d < a->dimensions; ++d) {
    if (a->dim[d].extent == 1 && b->dim[d].extent == 1) continue;
    if (a->dim[d].stride != b->dim[d].stride) return true;
    int at = count++;
    for (; at > 0 && absolute(a->dim[order[at - 1]].stride) > absolute(a->dim[d].stride); --at) {
      order[at] = order[at - 1];
    }
    order[at] = d;
  }
  return reach(a->dim, b->dim, order, count, distance / a_bytes);
}

// Of an output that shares memory with another array: is it that array's own memory, element for
// element, as the plan allows? As why_apart in check_arguments.cpp.
static int check_shared(const Run* run, int64_t output, int64_t other) {
  const Pipeline* pipeline = run->pipeline;
  const Array *to = &pipeline->arrays[output], *from = &pipeline->arrays[other];
  const mica_buffer *a = run->given[to->argument], *b = run->given[from->argument];
  const Sharing* pair = NULL;
  for (int64_t i = 0; i < pipeline->sharing_count && pair == NULL; ++i) {
    const Sharing* one = &pipeline->sharing[i];
    if (one->output == output && one->input == other) pair = one;
  }
  char a_text[256], b_text[256];
  describe(a, a_text, sizeof a_text);
  describe(b, b_text, sizeof b_text);
  const char *why = "", *place = "", *after = "";
  if (pair != NULL && pair->obstacle[0] != '\0') {
    why = pair->obstacle;
    place = pair->place;
    after = "; ";
  } else if (pair != NULL) {
    int64_t elements = 0;
    for (int d = 0; d < a->dimensions && why[0] == '\0'; ++d) {
      elements += (b->dim[d].min - a->dim[d].min) * a->dim[d].stride;
      if (a->dim[d].extent != 1 && a->dim[d].stride != b->dim[d].stride) {
        why =
            "it may take the place of that input, but their strides differ; give views of equal "
            "strides or ";
      }
    }
    const int64_t apart = (int64_t)((uintptr_t)a->data - (uintptr_t)b->data);
    if (why[0] == '\0' && apart + elements * to->element_bytes == 0) return MICA_OK;
    if (why[0] == '\0') {
      why =
          "it may take the place of that input, but its elements do not lie where those of the same "
          "coordinates do; give views in which they do, or ";
    }
  }
  return FAIL(MICA_WRONG_ARGUMENT,
              "%s%soutput %s %s shares memory with %s %s %s: %s%swrite to a buffer of its own", place,
              place[0] ? ": " : "", to->name, a_text, role(from), from->name, b_text, why, after);
}

int MICA_RUNTIME(check_overlaps)(const Run* run, bool* in_place) {
  const Pipeline* pipeline = run->pipeline;
  const int64_t count = pipeline->description->array_count;
  for (int64_t i = 0; i < count; ++i) {
    const Array* output = &pipeline->arrays[i];
    if (!output->is_output || !MICA_RUNTIME(has_elements)(run->given[output->argument])) continue;
    for (int64_t j = 0; j < count; ++j) {
      const Array* other = &pipeline->arrays[j];
      if (i == j || (other->is_output && j < i) ||
          !MICA_RUNTIME(has_elements)(run->given[other->argument]))
        continue;
      if (!overlap(run->given[output->argument], output->element_bytes, run->given[other->argument],
                   other->element_bytes)) {
        continue;
      }
      const int result = check_shared(run, i, j);
      if (result != MICA_OK) return result;
      *in_place = true;
    }
  }
  return MICA_OK;
}
