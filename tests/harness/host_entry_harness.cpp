// Machine code of the host in the disk cache: whatever its file holds, the pipeline gives its values.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "codegen/compile.h"
#include "dsl/func/func.h"
#include "tests/harness/harness.h"
#include "tests/support/temporary_folder.h"

namespace {

/// f(x) = 3 x + 1 at 5, compiled or from the cache.
int value() {
  const mica::Var x("x");
  mica::Func f("f");
  f(x) = 3 * x + 1;
  mica::Buffer<std::int32_t> out(8);
  mica::compile(f, mica::Target::host()).run(out);
  return out(5);
}

/// A cache with the entry of value(); for the life of the process.
struct Folder {
  mica::test::TemporaryFolder folder;
  std::filesystem::path entry;
  Folder() {
    const std::filesystem::path cache = folder.path() / "cache";
    setenv("MICA_CACHE_DIR", cache.c_str(), 1);
    if (value() != 16) std::abort();
    for (const auto& file : std::filesystem::directory_iterator(cache)) entry = file.path();
    if (entry.extension() != ".bin") std::abort();
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder at;
  std::ofstream(at.entry, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  if (value() != 16) std::abort();
  return 0;
}

std::vector<std::string> mica::test::harness_seeds() {
  const Folder at;
  std::ifstream in(at.entry, std::ios::binary);
  return {{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()}};
}
