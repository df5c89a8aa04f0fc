// Entries of the disk cache: what is not the whole entry is not there, and what is stored afterwards is.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "runtime/cache/kernel_cache.h"
#include "tests/harness/harness.h"
#include "tests/support/temporary_folder.h"

namespace {

const std::string& payload() {
  static const std::string text = "machine code, or PTX; " + std::string(300, 'p');
  return text;
}

mica::CacheKey key(const std::string& kernel = "next") {
  mica::CacheKey key;
  key.add("driver", "12080").add("kernel", kernel);
  return key;
}

/// A cache whose entry of key() is in a file; for the life of the process.
struct Folder {
  mica::test::TemporaryFolder folder;
  mica::KernelCache cache{folder.path() / "cache"};
  Folder() { cache.store(key(), payload()); }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder at;
  const std::filesystem::path path = at.cache.entry_path(key());
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  const auto found = at.cache.load(key());
  if (found && *found != payload()) std::abort();
  at.cache.store(key(), payload());
  if (at.cache.load(key()) != payload()) std::abort();
  return 0;
}

std::vector<std::string> mica::test::harness_seeds() {
  std::vector<std::string> seeds;
  for (const std::string kernel : {"next", "another"}) {
    seeds.push_back(written_by([&](const std::string& path) {
      const KernelCache cache(path);
      cache.store(key(kernel), payload());
      const std::filesystem::path entry = path + ".entry";
      std::filesystem::copy_file(cache.entry_path(key(kernel)), entry);
      std::filesystem::remove_all(path);
      std::filesystem::rename(entry, path);
    }));
  }
  return seeds;
}
