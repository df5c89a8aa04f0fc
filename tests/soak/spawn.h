// This program in processes of its own.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace mica::soak {

/// Starts this program with other arguments. std::runtime_error if it cannot.
pid_t start(std::vector<std::string> arguments);
/// Waits for its end: waitpid's status.
int wait_for(pid_t process);
/// "ended with 1", "was ended by signal 11".
std::string told(int status);

}  // namespace mica::soak
