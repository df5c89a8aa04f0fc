// An animation as numbered PNG files.
#pragma once

#include <string>

#include "examples/common/pictures.h"

namespace mica::examples {

/// frame_0000.png, frame_0001.png, ... in a folder. Each is written beside its place and then renamed,
/// so that a program that is stopped leaves whole pictures.
class Frames {
 public:
  /// Makes the folder if there is none. UserErrors: it cannot be made, or is a file.
  explicit Frames(std::string folder);
  /// The next picture. UserError when it cannot be written; what was there beside it is gone then.
  void add(const Page& page);
  [[nodiscard]] int count() const { return count_; }

 private:
  std::string folder_;
  int count_ = 0;
};

}  // namespace mica::examples
