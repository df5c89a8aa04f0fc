// Which process a number belongs to: numbers are used again.
#pragma once

#include <string>

namespace mica::test {

/// When the process began, with the machine's start: no two processes of one machine share number and
/// birth. Empty if there is no such process, or it has ended and nobody has asked how.
std::string birth_of_process(long pid);

}  // namespace mica::test
