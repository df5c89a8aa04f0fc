// Where time goes: named spans of the process, written as a Chrome trace.
//
// With the environment variable MICA_TRACE naming a file, spans are recorded from the first one on
// and written there when the process ends, to be opened in chrome://tracing or Perfetto. Without it a
// span costs one comparison.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace mica {

/// Spans in the order in which they ended. All members may be called from several threads.
class Trace {
 public:
  using Clock = std::chrono::steady_clock;

  void add(std::string name, Clock::time_point start, Clock::time_point end);
  /// The Chrome trace format: {"traceEvents": [{"name", "ph": "X", "ts", "dur", "pid", "tid"}, ...]},
  /// times in microseconds since the Trace was made, threads numbered in the order they appear.
  [[nodiscard]] std::string to_json() const;

 private:
  struct Span {
    std::string name;
    Clock::time_point start, end;
    std::thread::id thread;
  };
  const Clock::time_point begin_ = Clock::now();
  mutable std::mutex mutex_;
  std::vector<Span> spans_;
};

/// The trace that MICA_TRACE asks for, or null.
Trace* process_trace();

/// The time from construction to destruction as a span of `trace` (null: none is recorded).
class TraceScope {
 public:
  explicit TraceScope(const char* name, Trace* trace = process_trace())
      : trace_(trace),
        name_(name),
        start_(trace == nullptr ? Trace::Clock::time_point() : Trace::Clock::now()) {}
  ~TraceScope() {
    if (trace_ != nullptr) trace_->add(name_, start_, Trace::Clock::now());
  }
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  Trace* trace_;
  const char* name_;
  Trace::Clock::time_point start_;
};

}  // namespace mica
