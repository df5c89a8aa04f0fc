// The host as a backend: kernels are functions, memory is the C library's.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/export/features.h"
#include "runtime/export/run.h"

// The first of Pipeline::features that this CPU does not have; null: it has all.
static const char* missing_feature(int64_t features) {
  __builtin_cpu_init();
#define MISSING(name)                                                    \
  if ((features & 1) != 0 && !__builtin_cpu_supports(name)) return name; \
  features >>= 1;
  MICA_CPU_FEATURES(MISSING)
#undef MISSING
  return NULL;
}

// Blocks that runs have given back, for later ones: to have memory from the system anew costs more than
// many a kernel. Those too large for that are given to the system.
enum { KEPT_BLOCKS = 32 };
typedef struct Block {
  struct Block* next;  // of the same run
  void* memory;
  uint64_t bytes;
} Block;
static pthread_mutex_t kept_mutex = PTHREAD_MUTEX_INITIALIZER;
static Block kept[KEPT_BLOCKS];
static uint64_t kept_bytes;

static uint64_t keep_at_most(void) {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page / 8 : 0;
}

// A kept block of at least `bytes`, of which at most a quarter stays unused; memory is null: none.
static Block take_kept(uint64_t bytes) {
  Block found = {0};
  pthread_mutex_lock(&kept_mutex);
  Block* best = NULL;
  for (int i = 0; i < KEPT_BLOCKS; ++i) {
    Block* block = &kept[i];
    if (block->memory == NULL || block->bytes < bytes || block->bytes - bytes > block->bytes / 4)
      continue;
    if (best == NULL || block->bytes < best->bytes) best = block;
  }
  if (best != NULL) {
    found = *best;
    best->memory = NULL;
    kept_bytes -= found.bytes;
  }
  pthread_mutex_unlock(&kept_mutex);
  return found;
}

static void give_back(Block block) {
  pthread_mutex_lock(&kept_mutex);
  for (int i = 0; i < KEPT_BLOCKS && kept_bytes + block.bytes <= keep_at_most(); ++i) {
    if (kept[i].memory != NULL) continue;
    kept[i] = block;
    kept_bytes += block.bytes;
    block.memory = NULL;
    break;
  }
  pthread_mutex_unlock(&kept_mutex);
  free(block.memory);
}

__attribute__((destructor)) static void free_kept(void) {
  for (int i = 0; i < KEPT_BLOCKS; ++i) {
    free(kept[i].memory);
    kept[i].memory = NULL;
  }
  kept_bytes = 0;
}

static int begin(Run* run) {
  const char* missing = missing_feature(run->pipeline->features);
  if (missing != NULL) {
    return FAIL(MICA_NOT_SERVED,
                "the code of %s is for a CPU with %s, which this one does not have: export it with "
                "`--cpu baseline`",
                run->pipeline->description->name, missing);
  }
  for (int64_t k = 0; k < run->pipeline->description->array_count; ++k) {
    const mica_buffer* given = run->given[run->pipeline->arrays[k].argument];
    run->addresses[k] = MICA_RUNTIME(has_elements)(given) ? (uint64_t)(uintptr_t)given->data : 0;
  }
  return MICA_OK;
}

static void ask_for_large_pages(void* memory, uint64_t bytes) {
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), begin = (uint64_t)(uintptr_t)memory;
  const uint64_t first = (begin + page - 1) / page * page, last = (begin + bytes) / page * page;
  // Advice only: a system without them answers with an error that changes nothing.
  if (bytes >= (uint64_t)4 << 20) (void)madvise((void*)(uintptr_t)first, last - first, MADV_HUGEPAGE);
}

static int allocate(Run* run, const char* array, uint64_t bytes, uint64_t* address) {
  // Large blocks begin at different places of a page: points with the same coordinates in many arrays
  // would else have the same few places in the caches.
  enum { ALIGNMENT = 256, PLACES = 16 };
  const bool large = bytes >= 64 * 1024;
  uint64_t number = 0;
  for (const Block* b = run->backend; b != NULL; b = b->next) ++number;
  const uint64_t shift = large ? number % PLACES * ALIGNMENT : 0;
  uint64_t size = bytes + (large ? PLACES * ALIGNMENT : 0);
  Block* block = calloc(1, sizeof *block);
  if (block != NULL && bytes <= (uint64_t)1 << 62) {
    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    *block = take_kept(size);
    if (block->memory == NULL) {
      block->bytes = size;
      block->memory = aligned_alloc(ALIGNMENT, size);
      if (block->memory != NULL) ask_for_large_pages(block->memory, size);
    }
  }
  if (block == NULL || block->memory == NULL) {
    free(block);
    return FAIL(MICA_NO_MEMORY, "no memory for the %llu bytes of %s", (unsigned long long)bytes, array);
  }
  block->next = run->backend;
  run->backend = block;
  *address = (uint64_t)(uintptr_t)block->memory + shift;
  return MICA_OK;
}

static int launch(Run* run, const Launch* launch, void** arguments) {
  (void)run;
  const int64_t failed = launch->kernel(arguments);
  if (failed == 0) return MICA_OK;
  if (failed < -1) {
    return FAIL(MICA_NO_MEMORY,
                "kernel %s needs %lld elements at once of a Func that is computed inside its loops, more "
                "than 2147483647: compute it at an inner loop, or with compute_root()",
                launch->name, (long long)(failed - INT64_MIN));
  }
  return FAIL(MICA_NO_MEMORY,
              "no memory for the %lld bytes that kernel %s keeps for values computed inside its loops: "
              "compute them at inner loops or use smaller tiles",
              (long long)failed, launch->name);
}

static int end(Run* run, int result) {
  for (Block* block = run->backend; block != NULL;) {
    Block* next = block->next;
    give_back(*block);
    free(block);
    block = next;
  }
  return result;
}

const Backend MICA_RUNTIME(host) = {begin, allocate, launch, end};
