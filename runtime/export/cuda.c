// A GPU as a backend. Runs are enqueued in the caller's stream; arrays of the host are copied to the GPU
// and back.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/export/cuda_driver.h"

// Memory of one run on the GPU: of temporaries, or a copy of host memory that some of the arrays are in.
typedef struct Region {
  struct Region* next;
  Address address;
  uint64_t bytes;
  char* host;    // null: a temporary
  bool written;  // an output is in it
} Region;

typedef struct CudaRun {
  const Driver* driver;
  Handle context;
  bool pushed, waits;
  Region* regions;
} CudaRun;

// The first GPU's primary context, retained by the first run that finds no other.
static Handle primary;
static pthread_mutex_t primary_mutex = PTHREAD_MUTEX_INITIALIZER;

static int enter_context(CudaRun* cuda) {
  const Driver* driver = cuda->driver;
  int result = driver->cuCtxGetCurrent(&cuda->context);
  if (result != 0) return MICA_RUNTIME(driver_error)("cuCtxGetCurrent", result, NULL);
  if (cuda->context != NULL) return MICA_OK;
  const char* call = "cuDeviceGet";
  int device = 0;
  pthread_mutex_lock(&primary_mutex);
  if (primary == NULL) {
    result = driver->cuDeviceGet(&device, 0);
    if (result == 0) {
      call = "cuDevicePrimaryCtxRetain";
      result = driver->cuDevicePrimaryCtxRetain(&primary, device);
    }
  }
  cuda->context = primary;
  pthread_mutex_unlock(&primary_mutex);
  if (result == 0) {
    call = "cuCtxPushCurrent_v2";
    result = driver->cuCtxPushCurrent_v2(cuda->context);
  }
  if (result != 0) return MICA_RUNTIME(driver_error)(call, result, NULL);
  cuda->pushed = true;
  return MICA_OK;
}

static bool allocates_in_order(const Driver* driver) {
  return driver->cuMemAllocAsync != NULL && driver->cuMemFreeAsync != NULL;
}

static Region* make_region(Run* run, const char* what, uint64_t bytes) {
  CudaRun* cuda = run->backend;
  const Driver* driver = cuda->driver;
  Region* region = calloc(1, sizeof *region);
  if (region == NULL) {
    FAIL(MICA_NO_MEMORY, "no memory on the host for what a run needs");
    return NULL;
  }
  const bool in_order = allocates_in_order(driver);
  const int result = in_order ? driver->cuMemAllocAsync(&region->address, bytes, run->stream)
                              : driver->cuMemAlloc_v2(&region->address, bytes);
  if (result != 0) {
    char detail[256];
    snprintf(detail, sizeof detail, "asked for %llu bytes for %s", (unsigned long long)bytes, what);
    (void)MICA_RUNTIME(driver_error)(in_order ? "cuMemAllocAsync" : "cuMemAlloc_v2", result, detail);
    free(region);
    return NULL;
  }
  region->bytes = bytes;
  region->next = cuda->regions;
  cuda->regions = region;
  return region;
}

// Where an array of the host begins and ends.
static void range_of(const Run* run, const Array* array, char** begin, char** end) {
  const Value* symbols = run->symbols + array->first_slot;
  int64_t first = 0, last = 0;
  MICA_RUNTIME(element_range)(symbols, array->dimensions, &first, &last);
  char* data = run->given[array->argument]->data;
  *begin = data + first * array->element_bytes;
  *end = data + (last + 1) * array->element_bytes;
}

// Copies host memory to the GPU once, however many of the arrays lie in it, so that arrays that share
// memory still do.
static int copy_to_gpu(Run* run, int64_t number) {
  CudaRun* cuda = run->backend;
  const Pipeline* pipeline = run->pipeline;
  char *begin = NULL, *end = NULL, *data = run->given[pipeline->arrays[number].argument]->data;
  range_of(run, &pipeline->arrays[number], &begin, &end);
  for (const Region* region = cuda->regions; region != NULL; region = region->next) {
    if (region->host > begin || region->host + region->bytes < end) continue;
    run->addresses[number] = region->address + (uint64_t)(data - region->host);
    return MICA_OK;
  }
  bool written = false, grown = true;
  while (grown) {
    grown = false;
    for (int64_t k = 0; k < pipeline->description->array_count; ++k) {
      const Array* array = &pipeline->arrays[k];
      const mica_buffer* given = run->given[array->argument];
      if (given->memory != MICA_HOST || !MICA_RUNTIME(has_elements)(given)) continue;
      char *other_begin = NULL, *other_end = NULL;
      range_of(run, array, &other_begin, &other_end);
      if (other_end <= begin || other_begin >= end) continue;
      written = written || array->is_output;
      grown = grown || other_begin < begin || other_end > end;
      if (other_begin < begin) begin = other_begin;
      if (other_end > end) end = other_end;
    }
  }
  Region* region = make_region(run, pipeline->arrays[number].name, (uint64_t)(end - begin));
  if (region == NULL) return MICA_NO_MEMORY;
  region->host = begin;
  region->written = written;
  run->addresses[number] = region->address + (uint64_t)(data - begin);
  const int result =
      cuda->driver->cuMemcpyHtoDAsync_v2(region->address, begin, region->bytes, run->stream);
  return result == 0
             ? MICA_OK
             : MICA_RUNTIME(driver_error)("cuMemcpyHtoDAsync_v2", result, pipeline->arrays[number].name);
}

static int begin(Run* run) {
  const Driver* driver = MICA_RUNTIME(driver)();
  if (driver == NULL) return MICA_DEVICE_FAILED;
  CudaRun* cuda = calloc(1, sizeof *cuda);
  if (cuda == NULL) return FAIL(MICA_NO_MEMORY, "no memory on the host for what a run needs");
  run->backend = cuda;
  cuda->driver = driver;
  cuda->waits = run->stream == NULL;
  int result = enter_context(cuda);
  for (int64_t k = 0; k < run->pipeline->description->array_count && result == MICA_OK; ++k) {
    const mica_buffer* given = run->given[run->pipeline->arrays[k].argument];
    run->addresses[k] = 0;
    if (!MICA_RUNTIME(has_elements)(given)) continue;
    if (given->memory == MICA_DEVICE) {
      run->addresses[k] = (uint64_t)(uintptr_t)given->data;
    } else {
      cuda->waits = true;
      result = copy_to_gpu(run, k);
    }
  }
  return result;
}

static int allocate(Run* run, const char* array, uint64_t bytes, uint64_t* address) {
  const Region* region = make_region(run, array, bytes);
  if (region == NULL) return MICA_NO_MEMORY;
  *address = region->address;
  return MICA_OK;
}

static int launch(Run* run, const Launch* launch, void** arguments) {
  const CudaRun* cuda = run->backend;
  const Handle kernel = MICA_RUNTIME(kernel_of)(run->pipeline, run->variant, launch, cuda->context);
  if (kernel == NULL) return MICA_DEVICE_FAILED;
  const Value* grid = run->results + launch->grid;
  const int result = cuda->driver->cuLaunchKernel(
      kernel, (unsigned)grid[0].i, (unsigned)grid[1].i, (unsigned)grid[2].i, (unsigned)launch->block[0],
      (unsigned)launch->block[1], (unsigned)launch->block[2], (unsigned)launch->shared_bytes,
      run->stream, arguments, NULL);
  if (result == 0) return MICA_OK;
  char detail[256];
  snprintf(detail, sizeof detail,
           "kernel %s, grid %lldx%lldx%lld, block %lldx%lldx%lld, %lld bytes of shared memory",
           launch->name, (long long)grid[0].i, (long long)grid[1].i, (long long)grid[2].i,
           (long long)launch->block[0], (long long)launch->block[1], (long long)launch->block[2],
           (long long)launch->shared_bytes);
  return MICA_RUNTIME(driver_error)("cuLaunchKernel", result, detail);
}

static int end(Run* run, int result) {
  CudaRun* cuda = run->backend;
  if (cuda == NULL) return result;
  const Driver* driver = cuda->driver;
  const bool in_order = allocates_in_order(driver);
  for (const Region* region = cuda->regions; region != NULL && result == MICA_OK;
       region = region->next) {
    if (!region->written) continue;
    const int failed =
        driver->cuMemcpyDtoHAsync_v2(region->host, region->address, region->bytes, run->stream);
    if (failed != 0) result = MICA_RUNTIME(driver_error)("cuMemcpyDtoHAsync_v2", failed, NULL);
  }
  // Without memory in the stream's order what the kernels use is given back when they are done.
  if (cuda->context != NULL && (cuda->waits || (cuda->regions != NULL && !in_order))) {
    const int failed = driver->cuStreamSynchronize(run->stream);
    if (failed != 0 && result == MICA_OK) {
      result = MICA_RUNTIME(driver_error)("cuStreamSynchronize", failed, "a kernel may have failed");
    }
  }
  while (cuda->regions != NULL) {
    Region* region = cuda->regions;
    cuda->regions = region->next;
    (void)(in_order ? driver->cuMemFreeAsync(region->address, run->stream)
                    : driver->cuMemFree_v2(region->address));
    free(region);
  }
  Handle popped = NULL;
  if (cuda->pushed) (void)driver->cuCtxPopCurrent_v2(&popped);
  free(cuda);
  return result;
}

const Backend MICA_RUNTIME(cuda) = {begin, allocate, launch, end};
