#include "tests/harness/harness.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

#include <sys/mman.h>
#include <unistd.h>

#include "dsl/expr/diagnostics.h"
#include "tests/support/temporary_folder.h"

namespace mica::test {

void read_as_file(const std::uint8_t* data, std::size_t size,
                  const std::function<void(const std::string& path)>& read) {
  const int file = memfd_create("input", MFD_CLOEXEC);
  if (file < 0 || write(file, data, size) != static_cast<ssize_t>(size)) std::abort();
  try {
    read("/proc/self/fd/" + std::to_string(file));
  } catch (const UserError&) {
  } catch (...) {
    close(file);
    throw;
  }
  close(file);
}

std::string written_by(const std::function<void(const std::string& path)>& write) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "seed").string();
  write(path);
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace mica::test
