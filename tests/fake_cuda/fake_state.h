// The state of the stand-in driver, and what its functions have in common.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "runtime/cuda/cuda_driver.h"
#include "tests/fake_cuda/fake_cuda.h"

namespace fakecuda {

namespace cuda = mica::cuda;
using cuda::Result;

struct Context {
  cuda::DeviceId device = 0;
};
struct Stream {
  Context* context = nullptr;
};
struct Event {
  bool timed = true;
  int record = 0;  // number of the record that set it; 0: none did
};
struct Kernel {
  std::string name;
  int registers = 32, local_bytes = 0, static_shared_bytes = 0, most_threads = 1024;
  int most_dynamic_bytes = 48 << 10;
  std::size_t parameters = 0;
};
struct Module {
  std::vector<std::unique_ptr<Kernel>> kernels;
};
struct Link {
  std::string code;
  char* error_log = nullptr;
  std::size_t error_log_bytes = 0;
  bool keeps_lines = false;
  std::size_t level = 4;    // of optimisation
  void** values = nullptr;  // of its options, the caller's, and what is in them
  std::vector<void*> known;
};
struct GraphLaunch {
  cuda::KernelNode node;
  std::vector<unsigned long long> values;  // of the arguments
};
/// Launches in the order in which they were added: a graph, or what is made of it to be launched.
struct Graph {
  std::vector<GraphLaunch> launches;
  std::vector<std::vector<std::size_t>> after;  // the places of those that a launch waits for
};
struct Failure {
  Result result = 0;
  int skip = 0, times = 0;
};

struct State {
  /// As the environment variables say.
  static State from_environment();

  int driver_version = 13000, devices = 1, sm = 90;
  std::size_t total_memory = std::size_t{1} << 30, used_memory = 0;
  bool initialised = false;
  std::map<std::string, int> calls;
  std::map<std::string, Failure> failures;
  std::map<cuda::Address, std::unique_ptr<std::byte[]>> memory;
  std::map<cuda::Address, std::size_t> sizes;
  std::map<void*, std::unique_ptr<std::byte[]>> pinned;  // page-locked host memory
  std::map<cuda::DeviceId, Context> primary;
  std::map<cuda::DeviceId, int> retained;
  std::set<std::unique_ptr<Context>> own_contexts;
  std::map<void*, std::unique_ptr<Stream>> streams;
  std::map<void*, std::unique_ptr<Event>> events;
  std::map<void*, std::unique_ptr<Module>> modules;
  std::map<void*, std::unique_ptr<Link>> links;
  std::map<void*, std::unique_ptr<Graph>> graphs, execs;
  std::map<cuda::TextureHandle, cuda::Address> textures;  // where their memory starts
  cuda::TextureHandle last_texture = 0;
  int records = 0;
  void (*on_launch)(const FakeCudaLaunch*, void*) = nullptr;
  void* on_launch_closure = nullptr;

  /// Is [address, address + bytes) within one allocation?
  [[nodiscard]] bool holds(cuda::Address address, std::size_t bytes) const;
};

/// The library's state and the lock that guards it.
State& state();
std::mutex& state_mutex();
/// The calling thread's contexts, the current one last.
std::vector<Context*>& context_stack();

/// Is it null, CU_STREAM_LEGACY or CU_STREAM_PER_THREAD: a stream that every context has?
inline bool is_default_stream(void* handle) { return reinterpret_cast<std::uintptr_t>(handle) <= 2; }

/// Counts a call of a driver function, holds the state while it runs, and says what it must return
/// before it does anything: an error ordered by fakecuda_fail, or that cuInit was not called, or that
/// no context is current.
class Call {
 public:
  enum class Needs { Nothing, Init, Context };
  Call(const char* function, Needs needs);
  [[nodiscard]] Result result() const { return result_; }

 private:
  std::lock_guard<std::mutex> lock_;
  Result result_ = cuda::kSuccess;
};

/// Checks the call of the function that it stands in, and returns early with the error that it must
/// give.
#define FAKE_CALL(needs)                                                  \
  const fakecuda::Call fake_call(__func__, fakecuda::Call::Needs::needs); \
  if (fake_call.result() != fakecuda::cuda::kSuccess) return fake_call.result()

template <typename Object, typename Handle>
Object* find(const std::map<void*, std::unique_ptr<Object>>& objects, Handle handle) {
  const auto found = objects.find(static_cast<void*>(handle));
  return found == objects.end() ? nullptr : found->second.get();
}

template <typename Handle, typename Object>
Handle add(std::map<void*, std::unique_ptr<Object>>& objects, std::unique_ptr<Object> object) {
  void* const handle = object.get();
  objects.emplace(handle, std::move(object));
  return static_cast<Handle>(handle);
}

}  // namespace fakecuda

// The driver functions, as runtime/cuda/cuda_driver.h has them: a definition with other parameters does
// not compile.
namespace mica::cuda {
extern "C" {
#define FAKECUDA_DECLARE(function, ...) Result function(__VA_ARGS__);
MICA_CUDA_REQUIRED_FUNCTIONS(FAKECUDA_DECLARE)
MICA_CUDA_OPTIONAL_FUNCTIONS(FAKECUDA_DECLARE)
#undef FAKECUDA_DECLARE
}
}  // namespace mica::cuda
