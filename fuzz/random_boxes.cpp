#include <algorithm>

#include "fuzz/random_program.h"

namespace mica::test {

std::vector<Box> random_boxes(const Program& program, Random& random) {
  const std::vector<std::vector<std::int64_t>> largest{{70}, {41, 40}, {37, 19, 13}, {19, 11, 7, 5}};
  std::vector<Box> boxes;
  // Boxes far apart would make a stage that both need span all between.
  std::vector<std::int64_t> mins;
  for (int d = 0; d < kReduction; ++d) mins.push_back(random.between(-40, 40));
  for (const int output : program.outputs) {
    Box box;
    const int dimensions = program.stages[static_cast<std::size_t>(output)].dimensions;
    for (const std::int64_t most : largest[static_cast<std::size_t>(dimensions) - 1]) {
      const bool tiny = random.below(8) == 0;
      box.emplace_back(mins[box.size()] + (boxes.empty() ? 0 : random.between(-3, 3)),
                       random.between(1, tiny ? 3 : most));
    }
    // Outputs of one pipeline mostly cover the same box.
    if (!boxes.empty() && boxes[0].size() == box.size() && random.below(3) > 0) box = boxes[0];
    boxes.push_back(box);
  }
  while (points_to_compute(program, boxes) > kMostFuzzPoints) {
    bool smaller = false;
    for (Box& box : boxes) {
      auto widest = std::max_element(box.begin(), box.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
      if (widest->second <= 1) continue;
      widest->second = (widest->second + 1) / 2;
      smaller = true;
    }
    if (smaller) continue;
    // What is left lies between the box and where remainders and quotients of its coordinates point;
    // at 0, where random_program measured it, that is little.
    for (Box& box : boxes) {
      for (auto& range : box) range.first = 0;
    }
    break;
  }
  return boxes;
}

}  // namespace mica::test
