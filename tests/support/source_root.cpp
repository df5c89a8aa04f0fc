#include "tests/support/source_root.h"

#include <cstdlib>

namespace mica::test {

std::filesystem::path source_root() {
  const char* from_environment = std::getenv("MICA_SOURCE_DIR");
  return from_environment != nullptr ? from_environment : MICA_SOURCE_DIR;
}

}  // namespace mica::test
