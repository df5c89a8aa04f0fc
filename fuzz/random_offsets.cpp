#include "fuzz/random_offsets.h"

#include <algorithm>

namespace mica::test {

std::vector<std::vector<int>> random_offsets(std::size_t dims, std::int64_t most, Random& random) {
  std::vector<std::vector<int>> result{std::vector<int>(dims, 0)};
  const auto radius = static_cast<int>(random.pick(std::vector<int>{1, 1, 1, 2, 2, 3, 4, 5}));
  const auto full = [&] { return static_cast<std::int64_t>(result.size()) >= most; };
  switch (random.below(3)) {
    case 0:
      for (int r = 1; r <= radius; ++r) {
        for (std::size_t d = 0; d < dims; ++d) {
          for (const int side : {-r, r}) {
            if (full()) return result;
            result.emplace_back(dims, 0);
            result.back()[d] = side;
          }
        }
      }
      break;
    case 1: {
      const int r = std::min(radius, 2);
      for_each_point(Box(dims, {-r, 2 * r + 1}), [&](const std::vector<std::int64_t>& at) {
        if (!full()) result.emplace_back(at.begin(), at.end());
      });
      break;
    }
    default:
      for (std::int64_t n = random.between(0, 6); n > 0 && !full(); --n) {
        result.emplace_back();
        for (std::size_t d = 0; d < dims; ++d) {
          result.back().push_back(static_cast<int>(random.between(-radius, radius)));
        }
      }
  }
  return result;
}

}  // namespace mica::test
