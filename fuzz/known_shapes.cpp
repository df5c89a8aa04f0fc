#include "fuzz/known_shapes.h"

#include <algorithm>

#include "dsl/expr/limits.h"

namespace mica::test {
namespace {

using Symbols = std::map<std::string, std::int64_t>;

Symbols symbols_of(const ArrayDims& arrays) {
  Symbols symbols;
  for (const auto& [array, dims] : arrays) {
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const std::string tail = "." + std::to_string(d);
      symbols[array + ".min" + tail] = dims[d].min;
      symbols[array + ".extent" + tail] = dims[d].extent;
      symbols[array + ".stride" + tail] = dims[d].stride;
    }
  }
  return symbols;
}

}  // namespace

std::optional<std::int64_t> value_of(const ArrayDims& arrays, const std::string& symbol) {
  const Symbols symbols = symbols_of(arrays);
  const auto found = symbols.find(symbol);
  return found == symbols.end() ? std::nullopt : std::optional(found->second);
}

std::map<std::string, std::int64_t> bake_of(const Baked& baked, const ArrayDims& arrays) {
  std::map<std::string, std::int64_t> bake;
  for (const auto& [symbol, value] : baked) {
    if (const auto known = value ? value : value_of(arrays, symbol)) bake[symbol] = *known;
  }
  return bake;
}

std::int64_t unlikely_size(Random& random) {
  return random.pick(std::vector<std::int64_t>{
      0, -1, kLargestMin, -kLargestMin, kLargestMin + 1, kLargestExtent, kLargestExtent + 1,
      std::int64_t{1} << 31, (std::int64_t{1} << 32) + 8, std::int64_t{1} << 40, INT64_MIN, INT64_MAX});
}

void bound_randomly(TestPipeline& pipeline, const std::map<std::string, Box>& boxes, bool wild,
                    Random& random) {
  for (const Func& func : pipeline.funcs) {
    const bool is_output = std::any_of(pipeline.outputs.begin(), pipeline.outputs.end(),
                                       [&](const Func& output) { return output.name() == func.name(); });
    const auto found = boxes.find(func.name());
    if (found == boxes.end() || (!is_output && random.below(3) > 0)) continue;
    const bool all = random.coin();
    for (std::size_t d = 0; d < found->second.size(); ++d) {
      if (!all && random.coin()) continue;
      const auto& [min, extent] = found->second[d];
      directive::Bound bound{func.function()->args[d], min, extent};
      if (wild && random.below(4) == 0) bound.min = unlikely_size(random);
      if (wild && random.below(4) == 0) {
        // What is legal and huge would be computed.
        const std::int64_t size = unlikely_size(random);
        bound.extent = size > extent && size <= kLargestExtent ? kLargestExtent + 1 : size;
      }
      func.function()->definitions.front().directives.push_back({bound, {}});
    }
  }
}

Baked random_bake(const ArrayDims& arrays, bool wild, Random& random) {
  Baked baked;
  const bool all = random.below(3) == 0;
  const std::int64_t share = random.between(2, 5);
  for (const auto& [symbol, value] : symbols_of(arrays)) {
    if (!all && random.below(share) > 0) continue;
    std::optional<std::int64_t>& chosen = baked[symbol];
    if (wild && random.below(12) == 0) chosen = unlikely_size(random);
    if (wild && random.below(12) == 0) chosen = value + random.between(-1, 1);
  }
  if (wild && random.below(12) == 0) baked[arrays.begin()->first + ".extent.4"] = 8;
  return baked;
}

}  // namespace mica::test
