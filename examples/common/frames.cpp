#include "examples/common/frames.h"

#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "dsl/expr/diagnostics.h"

namespace mica::examples {

Frames::Frames(std::string folder) : folder_(std::move(folder)) {
  std::error_code why;
  std::filesystem::create_directories(folder_, why);
  std::error_code unknown;  // `why` says more
  if (!std::filesystem::is_directory(folder_, unknown)) {
    throw UserError("cannot make the folder " + folder_ + ": " +
                    (why ? why.message() : "there is a file of that name"));
  }
}

void Frames::add(const Page& page) {
  char name[32];
  std::snprintf(name, sizeof name, "/frame_%04d.png", count_);
  const std::string path = folder_ + name, beside = path + ".part";
  std::error_code why;
  try {
    page.save(beside);
  } catch (...) {
    std::filesystem::remove(beside, why);
    throw;
  }
  std::filesystem::rename(beside, path, why);
  if (why) throw UserError("cannot write " + path + ": " + why.message());
  ++count_;
}

}  // namespace mica::examples
