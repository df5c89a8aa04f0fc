#include "runtime/run/trace.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

namespace mica {

namespace {

/// A trace that is written to a file when the process ends.
struct TraceFile {
  std::string path;
  Trace trace;
  explicit TraceFile(std::string file) : path(std::move(file)) {}
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;
  ~TraceFile() {
    std::ofstream file(path);
    file << trace.to_json() << '\n';
    file.close();
    if (!file) (void)std::fprintf(stderr, "mica: cannot write the trace to %s\n", path.c_str());
  }
};

double microseconds(Trace::Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

}  // namespace

void Trace::add(std::string name, Clock::time_point start, Clock::time_point end) {
  const std::lock_guard lock(mutex_);
  spans_.push_back({std::move(name), start, end, std::this_thread::get_id()});
}

std::string Trace::to_json() const {
  const std::lock_guard lock(mutex_);
  std::map<std::thread::id, int> threads;
  nlohmann::json events = nlohmann::json::array();
  for (const Span& span : spans_) {
    const int thread = threads.emplace(span.thread, static_cast<int>(threads.size())).first->second;
    events.push_back({{"name", span.name},
                      {"ph", "X"},
                      {"ts", microseconds(span.start - begin_)},
                      {"dur", microseconds(span.end - span.start)},
                      {"pid", 0},
                      {"tid", thread}});
  }
  return nlohmann::json{{"traceEvents", std::move(events)}}.dump();
}

Trace* process_trace() {
  static const std::unique_ptr<TraceFile> file = [] {
    const char* path = std::getenv("MICA_TRACE");
    const bool wanted = path != nullptr && *path != '\0';
    return wanted ? std::make_unique<TraceFile>(path) : nullptr;
  }();
  return file == nullptr ? nullptr : &file->trace;
}

}  // namespace mica
