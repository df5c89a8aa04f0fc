// Where Mica's source tree is, for tests that read it.
#pragma once

#include <filesystem>

namespace mica::test {

/// The folder that MICA_SOURCE_DIR of the environment names, else the one that the tests were built
/// from. It need not exist: tests run on machines without the tree, too.
std::filesystem::path source_root();

}  // namespace mica::test
