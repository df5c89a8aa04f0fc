// How the local Laplacian filter is computed, and the program that comes of it.
#pragma once

#include <cstdint>

#include "examples/local_laplacian/filter.h"

namespace mica::examples {

/// Gives the filter's Funcs their places and loops: on a GPU each level of each pyramid is a kernel, on
/// the CPU rows slide through the caches of the threads.
void schedule(Filter& filter, const Target& target);

/// What the filter's formula has.
struct Strength {
  double alpha = 1, beta = 0.7, sigma = 0.15;
};

/// The filter compiled for a target, for pictures of any size.
class Program {
 public:
  Program(int channels, int levels, int samples, const Target& target);
  /// Values (x, y, channel) from 0 to `white`, into `result` of the same extents. Complete when it
  /// returns.
  void run(const Buffer<std::uint16_t>& photo, int white, const Strength& strength,
           Buffer<std::uint16_t>& result);

 private:
  Filter filter_;
  Executable executable_;
};

}  // namespace mica::examples
