#include "fuzz/random_coordinates.h"

#include <limits>

namespace mica::test {

int extreme_integer(Random& random) {
  const auto distance = static_cast<int>(random.below(4));
  return random.coin() ? std::numeric_limits<int>::max() - distance
                       : std::numeric_limits<int>::min() + distance;
}

void bend(Index& index, Random& random) {
  if (index.var < 0) return;
  switch (random.below(9)) {
    case 0:
      index.scale = 2;
      index.offset += static_cast<int>(random.below(2));
      break;
    case 1: index.divisor = random.pick(std::vector<int>{2, 2, 3, 3, -1, -2, 0}); break;
    case 2: {
      const int low = static_cast<int>(random.between(-20, 10));
      index.limits = std::pair<int, int>(low, low + static_cast<int>(random.below(30)));
      break;
    }
    case 3: index.scale = -1; break;
    case 4:
      index.modulus = random.pick(std::vector<int>{1, 2, 5, 8, 30, 32, -1, -4, -7, 0});
      if (random.coin()) break;
      // What is divided wraps.
      index.scale = random.pick(std::vector<int>{1103515245, 65536, -1048576, 1 << 30, 3});
      index.offset = extreme_integer(random);
      break;
    case 5: index.shift = static_cast<int>(random.between(1, 3)); break;
    case 6: index.mask = random.pick(std::vector<int>{1, 3, 7, 5, 15}); break;
    default: index = Index{-1, 1, static_cast<int>(random.between(-3, 3)), 1, std::nullopt}; break;
  }
}

void narrow(Index& index, int bits, Random& random) {
  if (random.below(3) == 0) index.scale = static_cast<int>(random.between(2, 3));
  if (random.below(3) == 0) index.offset = static_cast<int>(random.between(1, 9));
  switch (random.below(4)) {
    case 0:
      index.shift = bits - static_cast<int>(random.between(2, 5));
      if (random.below(3) == 0) index.mask = 5;
      break;
    case 1:
      index.mask = random.pick(std::vector<int>{1, 3, 7, 15, 5});
      if (random.below(3) == 0) index.shift = static_cast<int>(random.between(1, 3));
      break;
    case 2: index.modulus = random.pick(std::vector<int>{2, 5, 8, 16}); break;
    default: {
      const auto low = static_cast<int>(random.between(0, 9));
      index.limits = std::pair<int, int>(low, low + static_cast<int>(random.below(20)));
      break;
    }
  }
}

}  // namespace mica::test
