#include "fuzz/stop_signals.h"

#include <ctime>
#include <initializer_list>

namespace mica::test {

StopSignals::StopSignals() {
  sigemptyset(&signals_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals_, signal);
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
}

StopSignals::~StopSignals() {
  (void)asked();  // or it would end the process now
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool StopSignals::asked() {
  const timespec now{};
  while (sigtimedwait(&signals_, nullptr, &now) > 0) asked_ = true;
  return asked_;
}

}  // namespace mica::test
