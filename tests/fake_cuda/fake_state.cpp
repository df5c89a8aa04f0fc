#include "tests/fake_cuda/fake_state.h"

#include <cstdlib>
#include <sstream>

namespace fakecuda {

State State::from_environment() {
  State made;
  if (const char* devices = std::getenv("FAKECUDA_DEVICES")) made.devices = std::atoi(devices);
  const char* const failures = std::getenv("FAKECUDA_FAIL");
  std::istringstream list(failures != nullptr ? failures : "");
  for (std::string item; std::getline(list, item, ',');) {
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos) continue;
    made.failures[item.substr(0, equals)] = {std::atoi(item.c_str() + equals + 1), 0, -1};
  }
  return made;
}

State& state() {
  static auto* const the_state = new State(State::from_environment());
  return *the_state;
}

std::mutex& state_mutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

std::vector<Context*>& context_stack() {
  thread_local std::vector<Context*> stack;
  return stack;
}

bool State::holds(cuda::Address address, std::size_t bytes) const {
  auto block = sizes.upper_bound(address);
  if (block == sizes.begin()) return false;
  --block;
  const std::size_t offset = address - block->first;
  return offset <= block->second && bytes <= block->second - offset;
}

Call::Call(const char* function, Needs needs) : lock_(state_mutex()) {
  State& now = state();
  ++now.calls[function];
  if (const auto ordered = now.failures.find(function); ordered != now.failures.end()) {
    Failure& failure = ordered->second;
    if (failure.skip > 0) {
      --failure.skip;
    } else if (failure.times != 0) {
      if (failure.times > 0) --failure.times;
      result_ = failure.result;
      return;
    }
  }
  constexpr Result kNotInitialised = 3;
  if (needs != Needs::Nothing && !now.initialised) {
    result_ = kNotInitialised;
  } else if (needs == Needs::Context && context_stack().empty()) {
    result_ = cuda::kErrorInvalidContext;
  }
}

}  // namespace fakecuda

extern "C" {

void fakecuda_reset() {
  const std::lock_guard lock(fakecuda::state_mutex());
  fakecuda::context_stack().clear();
  fakecuda::state() = fakecuda::State::from_environment();
}

void fakecuda_set_driver_version(int version) {
  const std::lock_guard lock(fakecuda::state_mutex());
  fakecuda::state().driver_version = version;
}

void fakecuda_set_devices(int count) {
  const std::lock_guard lock(fakecuda::state_mutex());
  fakecuda::state().devices = count;
}

void fakecuda_set_sm(int sm) {
  const std::lock_guard lock(fakecuda::state_mutex());
  fakecuda::state().sm = sm;
}

void fakecuda_set_total_memory(std::size_t bytes) {
  const std::lock_guard lock(fakecuda::state_mutex());
  fakecuda::state().total_memory = bytes;
}

void fakecuda_fail(const char* function, int result, int skip, int times) {
  const std::lock_guard lock(fakecuda::state_mutex());
  fakecuda::state().failures[function] = {result, skip, times};
}

int fakecuda_calls(const char* function) {
  const std::lock_guard lock(fakecuda::state_mutex());
  const auto& calls = fakecuda::state().calls;
  const auto found = calls.find(function);
  return found == calls.end() ? 0 : found->second;
}

int fakecuda_called(const char** names, int most) {
  const std::lock_guard lock(fakecuda::state_mutex());
  int count = 0;
  for (const auto& [name, times] : fakecuda::state().calls) {
    if (count < most) names[count] = name.c_str();
    ++count;
  }
  return count;
}

unsigned long long fakecuda_texture_start(unsigned long long texture) {
  const std::lock_guard lock(fakecuda::state_mutex());
  const auto& textures = fakecuda::state().textures;
  const auto found = textures.find(texture);
  return found == textures.end() ? 0 : found->second;
}

FakeCudaLive fakecuda_live() {
  const std::lock_guard lock(fakecuda::state_mutex());
  const fakecuda::State& now = fakecuda::state();
  std::size_t retained = 0;
  for (const auto& [device, count] : now.retained) retained += static_cast<std::size_t>(count);
  return {now.memory.size(), now.used_memory,     now.streams.size(),
          now.events.size(), now.modules.size(),  now.links.size(),
          retained,          now.textures.size(), now.graphs.size() + now.execs.size(),
          now.pinned.size()};
}

void fakecuda_on_launch(void (*body)(const FakeCudaLaunch*, void*), void* closure) {
  const std::lock_guard lock(fakecuda::state_mutex());
  fakecuda::state().on_launch = body;
  fakecuda::state().on_launch_closure = closure;
}

void* fakecuda_make_context(int device) {
  const std::lock_guard lock(fakecuda::state_mutex());
  auto context = std::make_unique<fakecuda::Context>();
  context->device = device;
  fakecuda::Context* const made = context.get();
  fakecuda::state().own_contexts.insert(std::move(context));
  fakecuda::context_stack().push_back(made);
  return made;
}

int fakecuda_context_depth() { return static_cast<int>(fakecuda::context_stack().size()); }

void* fakecuda_current_context() {
  return fakecuda::context_stack().empty() ? nullptr : fakecuda::context_stack().back();
}

void* fakecuda_make_stream() {
  const std::lock_guard lock(fakecuda::state_mutex());
  auto stream = std::make_unique<fakecuda::Stream>();
  stream->context = fakecuda::context_stack().empty() ? nullptr : fakecuda::context_stack().back();
  return fakecuda::add<void*>(fakecuda::state().streams, std::move(stream));
}
}
