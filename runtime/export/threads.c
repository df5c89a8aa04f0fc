// What host code calls: threads for Parallel loops, and scratch memory. MICA_NUM_THREADS limits the
// threads; without it there are as many as CPUs that the process may run on.
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/export/run.h"

// A loop under way. The caller and threads that are idle take iterations, neighbours together: less and
// less of them, so that all end at about one time.
typedef struct Loop {
  struct Loop* next;
  void (*body)(int64_t i, void* closure);
  void* closure;
  int64_t next_iteration, end;
  int64_t* failed;
  int running;  // threads inside of it, the caller left out
} Loop;

// The mutex guards all that follows.
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, left_loop = PTHREAD_COND_INITIALIZER;
static Loop* loops;  // that may have iterations left, innermost first
enum { MOST_THREADS = 4096 };
static pthread_t* threads;
static int thread_count;
static bool started, ending;

static mica_loop_runner loop_runner;
static void* loop_runner_user;

void MICA_RUNTIME(set_loop_runner)(mica_loop_runner runner, void* user) {
  pthread_mutex_lock(&mutex);
  loop_runner = runner;
  loop_runner_user = user;
  pthread_mutex_unlock(&mutex);
}

static bool has_failed(const Loop* loop) {
  return loop->failed != NULL && __atomic_load_n(loop->failed, __ATOMIC_RELAXED) != 0;
}

// Takes iterations until none is left.
static void take_part(Loop* loop) {
  const int64_t shares = 4 * ((int64_t)thread_count + 1);
  int64_t first = __atomic_load_n(&loop->next_iteration, __ATOMIC_RELAXED);
  while (first < loop->end) {
    const int64_t share = (loop->end - first) / shares;
    const int64_t next = first + (share > 1 ? share : 1);
    if (!__atomic_compare_exchange_n(&loop->next_iteration, &first, next, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED)) {
      continue;  // `first` is what another thread has left
    }
    for (int64_t i = first; i < next; ++i) {
      if (!has_failed(loop)) loop->body(i, loop->closure);
    }
    first = __atomic_load_n(&loop->next_iteration, __ATOMIC_RELAXED);
  }
}

static bool has_iterations(const Loop* loop) {
  return __atomic_load_n(&loop->next_iteration, __ATOMIC_RELAXED) < loop->end;
}

static void* run_thread(void* unused) {
  (void)unused;
  default_float_mode();
  pthread_mutex_lock(&mutex);
  while (!ending) {
    Loop* loop = loops;
    while (loop != NULL && !has_iterations(loop)) loop = loop->next;
    if (loop == NULL) {
      pthread_cond_wait(&work, &mutex);
      continue;
    }
    ++loop->running;
    pthread_mutex_unlock(&mutex);
    take_part(loop);
    pthread_mutex_lock(&mutex);
    if (--loop->running == 0) pthread_cond_broadcast(&left_loop);
  }
  pthread_mutex_unlock(&mutex);
  return NULL;
}

static int wanted_threads(void) {
  const char* text = getenv("MICA_NUM_THREADS");
  if (text != NULL && *text != '\0') {
    char* end = NULL;
    const long number = strtol(text, &end, 10);
    if (*end == '\0' && number >= 1 && number <= MOST_THREADS) return (int)number;
    fprintf(stderr, "MICA_NUM_THREADS is \"%s\", not a number from 1 to %d: as many threads as CPUs run\n",
            text, MOST_THREADS);
  }
  cpu_set_t cpus;
  return sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
}

// A child of fork has the thread that called it only.
static void forget_threads(void) {
  pthread_mutex_init(&mutex, NULL);
  pthread_cond_init(&work, NULL);
  pthread_cond_init(&left_loop, NULL);
  loops = NULL;
  threads = NULL;
  thread_count = 0;
  started = false;
}

// With the mutex. Where the system has no more threads, the loops do with those that there are.
static void start_threads(void) {
  static bool watches_forks;
  started = true;
  if (!watches_forks) watches_forks = pthread_atfork(NULL, NULL, forget_threads) == 0;
  const int wanted = wanted_threads() - 1;
  threads = wanted > 0 ? malloc((size_t)wanted * sizeof *threads) : NULL;
  while (threads != NULL && thread_count < wanted &&
         pthread_create(&threads[thread_count], NULL, run_thread, NULL) == 0) {
    ++thread_count;
  }
}

// At the end of the program, and before a shared library is unloaded whose code the threads run.
__attribute__((destructor)) static void end_threads(void) {
  pthread_mutex_lock(&mutex);
  ending = true;
  pthread_cond_broadcast(&work);
  pthread_mutex_unlock(&mutex);
  for (int i = 0; i < thread_count; ++i) {
    if (!pthread_equal(threads[i], pthread_self())) pthread_join(threads[i], NULL);
  }
  free(threads);
  threads = NULL;
  thread_count = 0;
}

// One iteration on a thread of the user's.
static void run_iteration(int64_t i, void* closure) {
  Loop* loop = closure;
  if (has_failed(loop)) return;
  const unsigned mode = default_float_mode();
  loop->body(i, loop->closure);
  set_float_mode(mode);
}

void MICA_RUNTIME(parallel_for)(void (*body)(int64_t i, void* closure), int64_t min, int64_t extent,
                                void* closure, int64_t* failed) {
  if (extent <= 0) return;
  if (extent == 1) {
    body(min, closure);
    return;
  }
  Loop loop = {NULL, body, closure, min, min + extent, failed, 0};
  pthread_mutex_lock(&mutex);
  const mica_loop_runner runner = loop_runner;
  void* const user = loop_runner_user;
  if (runner != NULL) {
    pthread_mutex_unlock(&mutex);
    runner(run_iteration, min, extent, &loop, user);
    return;
  }
  if (!started && !ending) start_threads();
  loop.next = loops;
  loops = &loop;
  pthread_cond_broadcast(&work);
  pthread_mutex_unlock(&mutex);
  take_part(&loop);
  pthread_mutex_lock(&mutex);
  Loop** at = &loops;
  while (*at != &loop) at = &(*at)->next;
  *at = loop.next;
  while (loop.running > 0) pthread_cond_wait(&left_loop, &mutex);
  pthread_mutex_unlock(&mutex);
}

// Scratch blocks that a thread has given back, by power of two; a free one begins with the next.
enum { SMALLEST_CLASS = 6, CLASSES = 25, HEADER = 64 };
static const size_t kept_at_most = (size_t)32 << 20;
typedef struct Scratch {
  void* free[CLASSES];
  size_t kept;
  bool registered;
} Scratch;
static __thread Scratch scratch;
static pthread_key_t scratch_key;
static pthread_once_t scratch_once = PTHREAD_ONCE_INIT;
static bool scratch_has_key;

static void free_scratch(void* of_thread) {
  Scratch* own = of_thread;
  for (int k = 0; k < CLASSES; ++k) {
    while (own->free[k] != NULL) {
      void* block = own->free[k];
      memcpy(&own->free[k], block, sizeof(void*));
      free(block);
    }
  }
  own->kept = 0;
}

static void make_key(void) { scratch_has_key = pthread_key_create(&scratch_key, free_scratch) == 0; }

__attribute__((destructor)) static void delete_key(void) {
  free_scratch(&scratch);
  if (scratch_has_key) pthread_key_delete(scratch_key);
}

// The class of a block of `bytes` and its header; CLASSES for one too large to keep.
static int class_of(size_t bytes) {
  int k = SMALLEST_CLASS;
  while (k < CLASSES && (size_t)1 << k < bytes + HEADER) ++k;
  return k;
}

void* MICA_RUNTIME(allocate)(size_t bytes, int64_t* failed) {
  const size_t most = (size_t)1 << 62;
  char* block = NULL;
  if (bytes <= most) {
    const int k = class_of(bytes);
    if (k < CLASSES && scratch.free[k] != NULL) {
      block = scratch.free[k];
      memcpy(&scratch.free[k], block, sizeof(void*));
      scratch.kept -= (size_t)1 << k;
    } else {
      const size_t whole = (bytes + 2 * HEADER - 1) / HEADER * HEADER;
      block = aligned_alloc(HEADER, k < CLASSES ? (size_t)1 << k : whole);
    }
    if (block != NULL) {
      memcpy(block, &k, sizeof k);
      return block + HEADER;
    }
  }
  if (failed != NULL) {
    const int64_t asked = (int64_t)bytes;
    __atomic_store_n(failed, asked < 0 || bytes <= most ? asked : (int64_t)most, __ATOMIC_RELAXED);
  }
  return NULL;
}

void MICA_RUNTIME(free)(void* memory) {
  if (memory == NULL) return;
  char* block = (char*)memory - HEADER;
  int k = 0;
  memcpy(&k, block, sizeof k);
  if (!scratch.registered) {
    pthread_once(&scratch_once, make_key);
    scratch.registered = scratch_has_key && pthread_setspecific(scratch_key, &scratch) == 0;
  }
  if (k >= CLASSES || !scratch.registered || scratch.kept + ((size_t)1 << k) > kept_at_most) {
    free(block);
    return;
  }
  memcpy(block, &scratch.free[k], sizeof(void*));
  scratch.free[k] = block;
  scratch.kept += (size_t)1 << k;
}
