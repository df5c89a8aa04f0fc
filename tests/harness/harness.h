// What a harness gives its driver: harness_main.cpp here, or libFuzzer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// Reads the bytes as one reader of Mica's does. It returns 0; an exception that is no UserError leaves
/// it, and a wrong result aborts.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace mica::test {

/// Inputs that are right, from which the driver makes others.
std::vector<std::string> harness_seeds();

/// Calls `read` with the path of a file of these bytes, which lies in memory. What it says with a
/// UserError is right.
void read_as_file(const std::uint8_t* data, std::size_t size,
                  const std::function<void(const std::string& path)>& read);

/// The bytes of a file that `write` makes.
std::string written_by(const std::function<void(const std::string& path)>& write);

}  // namespace mica::test
