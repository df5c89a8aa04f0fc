// A run of an exported pipeline: what Executable::run does, in C. Arguments are evaluated as in
// runtime/run/shape_run.cpp.
#include "runtime/export/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/export/shape_rules.h"

// As dsl/expr/limits.h, runtime/run/plan.h and shape_run.cpp have them, which check it.
#include "runtime/export/limits.h"

static size_t print_value(Value value, int64_t type_code, char* text, size_t bytes) {
  const int length = type_code == MICA_BOOL ? snprintf(text, bytes, "%s", value.i ? "true" : "false")
                     : type_code == MICA_UINT
                         ? snprintf(text, bytes, "%llu", (unsigned long long)value.i)
                         : snprintf(text, bytes, "%lld", (long long)value.i);
  return (size_t)length < bytes ? (size_t)length : bytes - 1;
}

// The error of a check that does not hold: its message with "{k}" replaced by values[k].
static int report(const Check* check, const Value* symbols) {
  Value values[MOST_CHECK_VALUES];
  if (check->count > 0) check->values(symbols, values);
  char text[MOST_ERROR_BYTES];
  size_t used = 0;
  for (const char* c = check->message; *c != '\0' && used + 1 < sizeof text;) {
    const int64_t k = c[0] == '{' && c[1] >= '0' && c[1] <= '9' && c[2] == '}' ? c[1] - '0' : -1;
    if (k >= 0 && k < check->count) {
      used += print_value(values[k], check->type_code[k], text + used, sizeof text - used);
      c += 3;
    } else {
      text[used++] = *c++;
    }
  }
  text[used] = '\0';
  return FAIL(MICA_WRONG_ARGUMENT, "%s%s%s", check->place, check->place[0] ? ": " : "", text);
}

static void set_symbols(Run* run, const Variant* variant) {
  const Pipeline* pipeline = run->pipeline;
  for (int64_t k = 0; k < pipeline->description->array_count; ++k) {
    const Array* array = &pipeline->arrays[k];
    const mica_dimension* dim = run->given[array->argument]->dim;
    Value* slot = run->symbols + array->first_slot;
    for (int64_t d = 0; d < array->dimensions; ++d) {
      (slot++)->i = dim[d].min;
      (slot++)->i = dim[d].extent;
      (slot++)->i = dim[d].stride;
    }
  }
  if (pipeline->read_scalars) {
    pipeline->read_scalars(run->scalars, run->symbols + variant->first_scalar);
  }
}

// Does each choice of the variant hold? As chosen_now in shape_run.cpp.
static bool is_chosen(const Run* run, const Variant* variant) {
  if (variant->chosen == NULL) return true;
  variant->choices(run->symbols, run->results);
  const Value* condition = run->results;
  for (int64_t c = 0; c < run->pipeline->choice_count; ++c) {
    int64_t first = 0;
    for (int64_t k = 0; k < run->pipeline->conditions[c]; ++k, ++condition) {
      if (first == 0 && condition->i != 0) first = k + 1;
    }
    if (first != variant->chosen[c]) return false;
  }
  return true;
}

static int size_temporary(Run* run, const Temporary* temporary) {
  temporary->box(run->symbols, run->results);
  Value* slot = run->symbols + temporary->first_slot;
  int64_t stride = 1;
  for (int64_t d = 0; d < temporary->dimensions; ++d) {
    const int64_t min = run->results[2 * d].i;
    const int64_t extent = run->results[2 * d + 1].i > 0 ? run->results[2 * d + 1].i : 0;
    if (extent > 0 && (min < -LARGEST_MIN || min > LARGEST_MIN || extent > LARGEST_EXTENT)) {
      return FAIL(
          MICA_WRONG_ARGUMENT,
          "%s%s%s would be computed from index %lld for %lld points in dimension %lld, but a min "
          "lies in %lld..%lld and an extent is at most %lld: clamp the indices at which it is read",
          temporary->place, temporary->place[0] ? ": " : "", temporary->name, (long long)min,
          (long long)extent, (long long)d, (long long)-LARGEST_MIN, (long long)LARGEST_MIN,
          (long long)LARGEST_EXTENT);
    }
    (slot++)->i = min;
    (slot++)->i = extent;
    (slot++)->i = stride;
    stride = next_stride(stride, extent, temporary->align[d]);
  }
  return MICA_OK;
}

typedef struct View {  // of an array of the run, by number
  const Value* symbols;
  int64_t dimensions, element_bytes;
} View;

static View view_of(const Run* run, const Variant* variant, int64_t number) {
  const int64_t own = run->pipeline->description->array_count;
  if (number < own) {
    const Array* array = &run->pipeline->arrays[number];
    return (View){run->symbols + array->first_slot, array->dimensions, array->element_bytes};
  }
  const Temporary* t = &variant->temporaries[number - own];
  return (View){run->symbols + t->first_slot, t->dimensions, t->element_bytes};
}

// Why the variant does not serve this run; null if it does. As choose_variant in shape_run.cpp.
static const char* why_not(const Run* run, const Variant* variant, bool in_place) {
  if (variant->separate && in_place) return "an output that is the memory of an input (in_place)";
  const int64_t arrays = run->pipeline->description->array_count + variant->temporary_count;
  for (int64_t k = 0; k < arrays; ++k) {
    const View array = view_of(run, variant, k);
    if (variant->unit_stride && stride_of(array.symbols, 0) != 1) {
      return "an array whose dimension 0 has another stride than 1 (strided)";
    }
    if (variant->inner == NULL || k >= run->pipeline->description->array_count) continue;
    const Inner* inner = &variant->inner[k];
    if ((inner->stride != 0 && stride_of(array.symbols, 0) != inner->stride) ||
        (inner->unit != 0 && stride_of(array.symbols, inner->unit) != 1)) {
      return "an array of such strides (strided)";
    }
  }
  for (int64_t l = 0; l < variant->launch_count; ++l) {
    const Launch* launch = &variant->launches[l];
    for (int64_t a = 0; a < launch->argument_count && variant->index32; ++a) {
      const Argument* argument = &launch->arguments[a];
      if (argument->kind != ARGUMENT_POINTER) continue;
      const View array = view_of(run, variant, argument->array);
      const Value* origin = argument->at < 0 ? NULL : run->results + argument->at;
      if (largest_offset(array.symbols, array.dimensions, origin) > LARGEST_OFFSET32) {
        return "an array whose elements lie 2^31 and more from the first (large)";
      }
    }
    for (int64_t axis = 0; axis < 3 && launch->entry && variant->grid3; ++axis) {
      if (run->results[launch->grid + axis].i > (axis == 0 ? LARGEST_GRID_X : LARGEST_GRID_YZ)) {
        return "so many blocks (large)";
      }
    }
  }
  for (int64_t a = 0; a < variant->alignment_count && variant->aligned; ++a) {
    const Alignment* wanted = &variant->alignments[a];
    const View array = view_of(run, variant, wanted->array);
    // What a run allocates stands at multiples of 256 bytes.
    const bool own = wanted->array >= run->pipeline->description->array_count;
    const int64_t address = own ? 0 : (int64_t)(run->addresses[wanted->array] % 256);
    if (!is_aligned(array.symbols, array.dimensions, run->results + wanted->at, array.element_bytes,
                    wanted->bytes, address)) {
      return "rows that do not begin at multiples of 16 bytes (unaligned)";
    }
  }
  return NULL;
}

static int allocate_temporaries(Run* run, const Backend* backend) {
  const int64_t own = run->pipeline->description->array_count;
  for (int64_t t = 0; t < run->variant->temporary_count; ++t) {
    const Temporary* temporary = &run->variant->temporaries[t];
    const View array = view_of(run, run->variant, own + t);
    run->addresses[own + t] = 0;
    if (is_empty(array.symbols, array.dimensions)) continue;
    int64_t first = 0, last = 0, bytes = 0;
    MICA_RUNTIME(element_range)(array.symbols, array.dimensions, &first, &last);
    if (stride_of(array.symbols, array.dimensions - 1) == INT64_MAX ||
        __builtin_mul_overflow(last + 1, array.element_bytes, &bytes)) {
      return FAIL(MICA_NO_MEMORY, "%s would be larger than 2^63 bytes", temporary->name);
    }
    const int result =
        backend->allocate(run, temporary->name, (uint64_t)bytes, &run->addresses[own + t]);
    if (result != MICA_OK) return result;
  }
  return MICA_OK;
}

static int launch_one(Run* run, const Backend* backend, const Launch* launch, void** arguments,
                      uint64_t* values) {
  if (launch->when >= 0 && run->results[launch->when].i == 0) return MICA_OK;
  for (int64_t axis = 0; axis < 3 && launch->entry; ++axis) {
    const int64_t blocks = run->results[launch->grid + axis].i;
    if (blocks <= 0) return MICA_OK;
    const int64_t limit = axis == 0 ? LARGEST_GRID_X : LARGEST_GRID_YZ;
    if (blocks > limit) {
      return FAIL(MICA_WRONG_ARGUMENT,
                  "kernel %s needs a grid of %lld blocks in dimension %lld, more than %lld: use larger "
                  "tiles",
                  launch->name, (long long)blocks, (long long)axis, (long long)limit);
    }
  }
  for (int64_t a = 0; a < launch->argument_count; ++a) {
    const Argument* argument = &launch->arguments[a];
    arguments[a] = &values[a];
    if (argument->kind == ARGUMENT_PARAM) {
      arguments[a] = (void*)run->scalars[argument->value];
    } else if (argument->kind == ARGUMENT_SCALAR) {
      values[a] = (uint64_t)run->results[argument->value].i;
    } else {
      const View array = view_of(run, run->variant, argument->array);
      const Value* origin = argument->at < 0 ? NULL : run->results + argument->at;
      const int64_t offset = offset_of(array.symbols, array.dimensions, origin);
      const uint64_t start = run->addresses[argument->array];
      values[a] = start == 0 ? 0 : start + (uint64_t)(offset * array.element_bytes);
    }
  }
  return backend->launch(run, launch, arguments);
}

// Finds the variant; its symbols and results are set then.
static int choose_variant(Run* run, bool in_place) {
  const char* why = "";
  for (int64_t v = 0; v < run->pipeline->variant_count; ++v) {
    const Variant* variant = &run->pipeline->variants[v];
    set_symbols(run, variant);
    if (!is_chosen(run, variant)) {
      why = "what its specialization stands for (chosen)";
      continue;
    }
    if (variant->values) variant->values(run->symbols, run->symbols + variant->first_value);
    for (int64_t t = 0; t < variant->temporary_count; ++t) {
      const int result = size_temporary(run, &variant->temporaries[t]);
      if (result != MICA_OK) return result;
    }
    if (variant->check_count > 0) variant->checks_hold(run->symbols, run->results);
    for (int64_t c = 0; c < variant->check_count; ++c) {
      if (run->results[c].i == 0) return report(&variant->checks[c], run->symbols);
    }
    variant->launch_values(run->symbols, run->results);
    why = why_not(run, variant, in_place);
    if (why == NULL) {
      run->variant = variant;
      return MICA_OK;
    }
  }
  return FAIL(MICA_NOT_SERVED,
              "the library of %s holds no code for %s: export it with that variant, in brackets, or "
              "with `general`",
              run->pipeline->description->name, why);
}

static int run_variant(Run* run, const Backend* backend, bool in_place) {
  int result = choose_variant(run, in_place);
  if (result != MICA_OK) return result;
  result = allocate_temporaries(run, backend);
  int64_t most = 1;
  for (int64_t l = 0; l < run->variant->launch_count; ++l) {
    const int64_t count = run->variant->launches[l].argument_count;
    if (count > most) most = count;
  }
  void** arguments = malloc((size_t)most * (sizeof(void*) + sizeof(uint64_t)));
  if (arguments == NULL) return FAIL(MICA_NO_MEMORY, "no memory on the host for what a run needs");
  uint64_t* values = (uint64_t*)(arguments + most);
  for (int64_t l = 0; l < run->variant->launch_count && result == MICA_OK; ++l) {
    result = launch_one(run, backend, &run->variant->launches[l], arguments, values);
  }
  free(arguments);
  return result;
}

static int run_bound(Run* run, const Backend* backend) {
  const Pipeline* pipeline = run->pipeline;
  const int64_t count = pipeline->description->array_count;
  if (run->given == NULL) return FAIL(MICA_WRONG_ARGUMENT, "no buffers are given");
  bool any_output = false;
  for (int64_t k = 0; k < count; ++k) {
    const Array* array = &pipeline->arrays[k];
    const int result = MICA_RUNTIME(check_buffer)(run, array);
    if (result != MICA_OK) return result;
    any_output =
        any_output || (array->is_output && MICA_RUNTIME(has_elements)(run->given[array->argument]));
  }
  for (int64_t i = 0; i < pipeline->description->scalar_count; ++i) {
    if (run->scalars == NULL || run->scalars[i] == NULL) {
      return FAIL(MICA_WRONG_ARGUMENT, "no value is given for the Param %s",
                  pipeline->description->scalars[i].name);
    }
  }
  if (!any_output) return MICA_OK;
  bool in_place = false;
  int result = MICA_RUNTIME(check_overlaps)(run, &in_place);
  if (result != MICA_OK) return result;
  int64_t symbols = 1, results = 1, arrays = count;
  for (int64_t v = 0; v < pipeline->variant_count; ++v) {
    const Variant* variant = &pipeline->variants[v];
    if (variant->symbol_count > symbols) symbols = variant->symbol_count;
    if (variant->result_count > results) results = variant->result_count;
    if (count + variant->temporary_count > arrays) arrays = count + variant->temporary_count;
  }
  run->symbols = calloc((size_t)(symbols + results + arrays), sizeof(Value));
  if (run->symbols == NULL) return FAIL(MICA_NO_MEMORY, "no memory on the host for what a run needs");
  run->results = run->symbols + symbols;
  run->addresses = (uint64_t*)(run->results + results);
  set_symbols(run, &pipeline->variants[0]);
  result = backend->begin(run);
  if (result == MICA_OK) result = run_variant(run, backend, in_place);
  result = backend->end(run, result);
  free(run->symbols);
  return result;
}

int MICA_RUNTIME(run)(const Pipeline* pipeline, const Backend* backend, const mica_buffer* const* given,
                      const void* const* scalars, void* stream, char* error, size_t error_bytes) {
  FAIL(MICA_OK, "%s", "");
  Run run = {.pipeline = pipeline, .given = given, .scalars = scalars, .stream = stream};
  const unsigned mode = default_float_mode();
  const int result = run_bound(&run, backend);
  set_float_mode(mode);
  if (error != NULL && error_bytes > 0) snprintf(error, error_bytes, "%s", MICA_RUNTIME(error)());
  return result;
}
