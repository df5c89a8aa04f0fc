// Things that end in a thread of their own, while those that made them go on.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace mica::soak {

/// Drops what it is given some milliseconds later, in its own thread; what is left at its own end.
class Undertaker {
 public:
  /// `dropped` is called for each, in that thread.
  explicit Undertaker(std::function<void()> dropped)
      : dropped_(std::move(dropped)), thread_([this](const std::stop_token& stop) {
          constexpr std::chrono::milliseconds kPause{2};
          for (; !stop.stop_requested(); std::this_thread::sleep_for(kPause)) drop();
          drop();
        }) {}
  template <typename T>
  void take(T thing) {
    auto kept = std::make_shared<T>(std::move(thing));
    const std::lock_guard lock(mutex_);
    things_.push_back(std::move(kept));
  }

 private:
  void drop() {
    std::vector<std::shared_ptr<void>> dead;
    {
      const std::lock_guard lock(mutex_);
      dead.swap(things_);
    }
    for (std::shared_ptr<void>& thing : dead) {
      thing.reset();
      dropped_();
    }
  }

  std::function<void()> dropped_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<void>> things_;
  std::jthread thread_;
};

}  // namespace mica::soak
