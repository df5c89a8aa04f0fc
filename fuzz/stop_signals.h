// Ctrl-C as a question: has anybody asked to stop?
#pragma once

#include <csignal>

namespace mica::test {

/// While it lives SIGINT, SIGTERM and SIGHUP do not end the process: they wait until they are asked for.
/// For programs without other threads: those that began before it are ended by the signals.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  /// Has one of them come, now or earlier?
  bool asked();

 private:
  sigset_t signals_{}, before_{};
  bool asked_ = false;
};

}  // namespace mica::test
