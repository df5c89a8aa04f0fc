#include "tests/soak/spawn.h"

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mica::soak {

pid_t start(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "mica_soak");
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, pointers.data(), environ);
  if (error != 0) throw std::runtime_error(std::string("posix_spawn: ") + std::strerror(error));
  return child;
}

int wait_for(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) throw std::runtime_error(std::string("waitpid: ") + std::strerror(errno));
  }
  return status;
}

std::string told(int status) {
  if (WIFSIGNALED(status)) return fmt::format("was ended by signal {}", WTERMSIG(status));
  return fmt::format("ended with {}", WEXITSTATUS(status));
}

}  // namespace mica::soak
