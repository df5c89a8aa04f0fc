#include "tests/ptx/ptxas.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>

#include <unistd.h>

#include "tests/support/temporary_folder.h"

namespace mica::test {

namespace fs = std::filesystem;

namespace {

std::string find_ptxas() {
  const char* path = std::getenv("PATH");
  std::string folders = path == nullptr ? "" : path;
  folders += ":/usr/local/cuda/bin";
  std::size_t begin = 0;
  while (begin <= folders.size()) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    const fs::path candidate = fs::path(folders.substr(begin, end - begin)) / "ptxas";
    if (access(candidate.c_str(), X_OK) == 0) return candidate.string();
    begin = end + 1;
  }
  return "";
}

}  // namespace

int Assembled::largest(const std::string& what) const {
  const std::regex number("([0-9]+) " + what);
  int result = -1;
  for (std::sregex_iterator it(output.begin(), output.end(), number), end; it != end; ++it) {
    result = std::max(result, std::stoi((*it)[1].str()));
  }
  return result;
}

Assembled assemble(const std::string& ptx, int sm) {
  Assembled result;
  const std::string tool = find_ptxas();
  if (tool.empty()) return result;
  result.available = true;
  const TemporaryFolder folder;
  const fs::path source = folder.path() / "kernel.ptx";
  std::ofstream(source) << ptx;
  const std::string command = "'" + tool + "' -v -arch=sm_" + std::to_string(sm) + " -o /dev/null '" +
                              source.string() + "' 2>&1";
  if (FILE* pipe = popen(command.c_str(), "r")) {
    char text[4096];
    while (const std::size_t n = fread(text, 1, sizeof(text), pipe)) result.output.append(text, n);
    result.ok = pclose(pipe) == 0;
  }
  return result;
}

}  // namespace mica::test
