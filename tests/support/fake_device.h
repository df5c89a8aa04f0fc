// A device in host memory of its own that writes down what is asked of it, and kernels that write
// down how they were launched: the runtime's host side is tested with them on any machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "dsl/expr/diagnostics.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/run/device.h"

namespace mica::test {

class FakeDevice final : public Device {
 public:
  explicit FakeDevice(std::string name = "fake") : name_(std::move(name)) {}

  std::uint64_t allocate(std::size_t bytes, Stream stream) override {
    void* memory = allocate_host_memory(bytes);
    std::memset(memory, 0xcd, bytes);
    note("allocate " + std::to_string(bytes) + on(stream));
    return reinterpret_cast<std::uintptr_t>(memory);
  }
  void release(std::uint64_t address, std::size_t bytes, Stream stream) override {
    free_host_memory(at(address));
    note("release " + std::to_string(bytes) + on(stream));
  }
  void copy_to_device(std::uint64_t to, const void* from, std::size_t bytes, Stream stream) override {
    std::memcpy(at(to), from, bytes);
    note("upload " + std::to_string(bytes) + on(stream));
  }
  void copy_to_host(void* to, std::uint64_t from, std::size_t bytes, Stream stream) override {
    std::memcpy(to, at(from), bytes);
    note("download " + std::to_string(bytes) + on(stream));
  }
  /// The texture begins two elements before the memory.
  TextureView texture(std::uint64_t address, std::size_t bytes, Type type,
                      const std::string& array) override {
    note("texture " + std::to_string(bytes) + " of " + array);
    return {address - 2 * static_cast<std::uint64_t>(type.bytes()), 2, nullptr};
  }
  void synchronize(Stream stream) override {
    note("synchronize" + on(stream));
    if (std::exchange(fail_next_wait_, false)) throw DeviceError("synchronize", 1, "as ordered");
  }
  [[nodiscard]] std::string name() const override { return name_; }

  void fail_next_wait() { fail_next_wait_ = true; }
  /// What was asked since the last call, in order.
  std::vector<std::string> take_log() {
    const std::lock_guard lock(mutex_);
    return std::exchange(log_, {});
  }
  void note(std::string what) {
    const std::lock_guard lock(mutex_);
    log_.push_back(std::move(what));
  }
  /// The memory at a device address.
  static void* at(std::uint64_t address) { return reinterpret_cast<void*>(address); }

 private:
  static std::string on(Stream stream) {
    return stream.handle == nullptr ? "" : " on the user's stream";
  }

  std::string name_;
  bool fail_next_wait_ = false;
  std::mutex mutex_;
  std::vector<std::string> log_;
};

/// A kernel that copies its arguments' eight low bytes and then calls `body` with them.
class FakeKernel final : public LoadedKernel {
 public:
  struct Launch {
    LaunchShape shape;
    std::vector<std::uint64_t> arguments;
    void* stream = nullptr;
  };
  using Body = std::function<void(const Launch&)>;

  explicit FakeKernel(Body body = {}) : body_(std::move(body)) {}

  void launch(const LaunchShape& shape, void* const* arguments, std::size_t count,
              Stream stream) override {
    Launch launch{shape, {}, stream.handle};
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t value = 0;
      std::memcpy(&value, arguments[i], sizeof(value));
      launch.arguments.push_back(value);
    }
    if (body_) body_(launch);
    const std::lock_guard lock(mutex_);
    launches_.push_back(std::move(launch));
  }
  void describe(KernelInfo& info) const override { info.registers = 24; }

  /// Launches since the last call.
  std::vector<Launch> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(launches_, {});
  }

 private:
  Body body_;
  std::mutex mutex_;
  std::vector<Launch> launches_;
};

}  // namespace mica::test
