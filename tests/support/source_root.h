// Where Mica's source tree is, for tests that read it.
#pragma once

#include <cstdlib>
#include <filesystem>

namespace mica::test {

/// The folder that MICA_SOURCE_DIR of the environment names, else the one that the tests were built
/// from. It need not exist: tests run on machines without the tree, too.
inline std::filesystem::path source_root() {
  const char* from_environment = std::getenv("MICA_SOURCE_DIR");
  return from_environment != nullptr ? from_environment : MICA_SOURCE_DIR;
}

}  // namespace mica::test
