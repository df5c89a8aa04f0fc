#include "runtime/export/cuda_driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static Driver driver;
static char why_none[512];
static pthread_once_t driver_once = PTHREAD_ONCE_INIT;

static void load_driver(void) {
  const char* path = getenv("MICA_LIBCUDA");
  if (path == NULL || *path == '\0') path = "libcuda.so.1";
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    const char* why = dlerror();
    snprintf(why_none, sizeof why_none,
             "dlopen: the NVIDIA driver's library cannot be loaded (%s); install the NVIDIA driver, or "
             "name its library in MICA_LIBCUDA",
             why != NULL ? why : path);
    return;
  }
  // A function's address from dlsym's void*, as POSIX has it.
#define CUDA_FIND(name, parameters) *(void**)&driver.name = dlsym(library, #name);
  CUDA_REQUIRED(CUDA_FIND)
  CUDA_OPTIONAL(CUDA_FIND)
#undef CUDA_FIND
#define CUDA_CHECK(name, parameters)                                                                  \
  if (driver.name == NULL) {                                                                          \
    snprintf(why_none, sizeof why_none,                                                               \
             "dlsym: %s has no function " #name ": a driver for CUDA 11.0 or newer is needed", path); \
    return;                                                                                           \
  }
  CUDA_REQUIRED(CUDA_CHECK)
#undef CUDA_CHECK
  const int result = driver.cuInit(0);
  if (result != 0) {
    MICA_RUNTIME(driver_error)("cuInit", result, NULL);
    snprintf(why_none, sizeof why_none, "%s", MICA_RUNTIME(error)());
  }
}

const Driver* MICA_RUNTIME(driver)(void) {
  pthread_once(&driver_once, load_driver);
  if (why_none[0] == '\0') return &driver;
  FAIL(MICA_DEVICE_FAILED, "%s", why_none);
  return NULL;
}

int MICA_RUNTIME(driver_error)(const char* call, int result, const char* detail) {
  const char *name = NULL, *text = NULL;
  (void)driver.cuGetErrorName(result, &name);
  (void)driver.cuGetErrorString(result, &text);
  const int code = result == CUDA_OUT_OF_MEMORY ? MICA_NO_MEMORY : MICA_DEVICE_FAILED;
  return FAIL(code, "%s: %s%s%s%s%s%s", call,
              name != NULL ? name : "an error that this driver does not name", text != NULL ? ": " : "",
              text != NULL ? text : "", detail != NULL ? " (" : "", detail != NULL ? detail : "",
              detail != NULL ? ")" : "");
}

// A variant's kernels in one context.
struct Loaded {
  struct Loaded* next;
  const Variant* variant;
  Handle context;
  unsigned long long id;  // of the context: another one may come to have its handle
  Handle functions[];     // by launch
};
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int link_module(const Pipeline* pipeline, const char* ptx, int64_t is_huge, Handle* module) {
  char log[1024] = "";
  int options[4] = {CUDA_ERROR_LOG, CUDA_ERROR_LOG_BYTES};
  void* values[4] = {log, (void*)(uintptr_t)sizeof log};
  unsigned count = 2;
  if (strstr(ptx, "\n\t.loc\t") != NULL) {
    options[count] = CUDA_GENERATE_LINE_INFO;
    values[count++] = (void*)(uintptr_t)1;
  }
  if (is_huge) {
    options[count] = CUDA_OPTIMIZATION_LEVEL;
    values[count++] = (void*)(uintptr_t)1;
  }
  Handle link = NULL;
  void* code = NULL;
  size_t bytes = 0;
  const char* call = "cuLinkCreate_v2";
  int result = driver.cuLinkCreate_v2(count, options, values, &link);
  if (result != 0) return MICA_RUNTIME(driver_error)(call, result, NULL);
  call = "cuLinkAddData_v2";
  result = driver.cuLinkAddData_v2(link, CUDA_INPUT_PTX, (void*)ptx, strlen(ptx) + 1,
                                   "mica.ptx", 0, NULL, NULL);
  if (result == 0) {
    call = "cuLinkComplete";
    result = driver.cuLinkComplete(link, &code, &bytes);
  }
  if (result == 0) {
    call = "cuModuleLoadData";
    result = driver.cuModuleLoadData(module, code);
  }
  log[sizeof log - 1] = '\0';
  if (result != 0) {
    (void)MICA_RUNTIME(driver_error)(call, result, log[0] != '\0' ? log : pipeline->description->code);
  }
  (void)driver.cuLinkDestroy(link);
  return result == 0 ? MICA_OK : MICA_DEVICE_FAILED;
}

static const char read_only_load[] = "ld.global.nc";

// Has the variant read-only loads, and a kernel that keeps values in local memory? Then they may go wrong:
// see runtime/cuda/plain_loads.h.
static int spills(const Variant* variant, Handle module) {
  if (strstr(variant->ptx, read_only_load) == NULL) return 0;
  for (int64_t l = 0; l < variant->launch_count; ++l) {
    Handle function = NULL;
    int bytes = 0;
    if (driver.cuModuleGetFunction(&function, module, variant->launches[l].entry) == 0 &&
        driver.cuFuncGetAttribute(&bytes, CUDA_LOCAL_BYTES, function) == 0 && bytes > 0)
      return 1;
  }
  return 0;
}

// The PTX with plain loads in place of all read-only ones, to be freed; null: there is no memory for it.
static char* plain_loads(const char* ptx) {
  enum { LOAD = sizeof read_only_load - 1, READ_ONLY = 3 /* bytes of ".nc" */ };
  char* const copy = malloc(strlen(ptx) + 1);
  if (copy == NULL) return NULL;
  char* to = copy;
  for (const char* found; (found = strstr(ptx, read_only_load)) != NULL; ptx = found + LOAD) {
    const size_t kept = (size_t)(found - ptx) + LOAD - READ_ONLY;
    memcpy(to, ptx, kept);
    to += kept;
  }
  memcpy(to, ptx, strlen(ptx) + 1);
  return copy;
}

// A module of the variant's machine code or, where the GPU is another one, of its PTX.
static int load_module(const Pipeline* pipeline, const Variant* variant, Handle* module) {
  if (variant->image != NULL) {
    const int result = driver.cuModuleLoadData(module, variant->image);
    if (result == 0) return MICA_OK;
    if (result != CUDA_INVALID_IMAGE && result != CUDA_NO_BINARY_FOR_GPU) {
      return MICA_RUNTIME(driver_error)("cuModuleLoadData", result, pipeline->description->code);
    }
  }
  int result = link_module(pipeline, variant->ptx, variant->is_huge, module);
  if (result != MICA_OK || !spills(variant, *module)) return result;
  char* const plain = plain_loads(variant->ptx);
  if (plain == NULL) return FAIL(MICA_NO_MEMORY, "no memory on the host for what a run needs");
  (void)driver.cuModuleUnload(*module);
  result = link_module(pipeline, plain, variant->is_huge, module);
  free(plain);
  return result;
}

static int load_functions(const Pipeline* pipeline, const Variant* variant, struct Loaded* loaded) {
  enum { USUAL_SHARED_BYTES = 48 * 1024 };
  Handle module = NULL;
  const int result = load_module(pipeline, variant, &module);
  if (result != MICA_OK) return result;
  for (int64_t l = 0; l < variant->launch_count; ++l) {
    const Launch* launch = &variant->launches[l];
    int failed = driver.cuModuleGetFunction(&loaded->functions[l], module, launch->entry);
    if (failed != 0) return MICA_RUNTIME(driver_error)("cuModuleGetFunction", failed, launch->entry);
    if (launch->shared_bytes <= USUAL_SHARED_BYTES) continue;
    failed = driver.cuFuncSetAttribute(loaded->functions[l], CUDA_MAX_DYNAMIC_SHARED_BYTES,
                                       (int)launch->shared_bytes);
    if (failed != 0) {
      char detail[256];
      snprintf(detail, sizeof detail, "kernel %s needs %lld bytes of shared memory a block",
               launch->name, (long long)launch->shared_bytes);
      return MICA_RUNTIME(driver_error)("cuFuncSetAttribute", failed, detail);
    }
  }
  return MICA_OK;
}

Handle MICA_RUNTIME(kernel_of)(const Pipeline* pipeline, const Variant* variant, const Launch* launch,
                               Handle context) {
  unsigned long long id = 0;
  if (driver.cuCtxGetId != NULL) (void)driver.cuCtxGetId(context, &id);
  pthread_mutex_lock(&mutex);
  struct Loaded* loaded = *pipeline->loaded;
  while (loaded != NULL &&
         (loaded->variant != variant || loaded->context != context || loaded->id != id)) {
    loaded = loaded->next;
  }
  if (loaded == NULL) {
    loaded = calloc(1, sizeof *loaded + (size_t)variant->launch_count * sizeof(Handle));
    int result = MICA_NO_MEMORY;
    if (loaded == NULL) {
      FAIL(MICA_NO_MEMORY, "no memory on the host for what a run needs");
    } else {
      loaded->variant = variant;
      loaded->context = context;
      loaded->id = id;
      result = load_functions(pipeline, variant, loaded);
    }
    if (result == MICA_OK) {
      loaded->next = *pipeline->loaded;
      *pipeline->loaded = loaded;
    } else {
      free(loaded);
      loaded = NULL;
    }
  }
  const Handle function = loaded != NULL ? loaded->functions[launch->number] : NULL;
  pthread_mutex_unlock(&mutex);
  return function;
}
