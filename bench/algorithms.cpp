#include "bench/algorithms.h"

#include "bench/algorithm_families.h"
#include "dsl/expr/names.h"

namespace mica::bench {
namespace {

const AlgorithmMakers& makers() {
  static const AlgorithmMakers all = [] {
    AlgorithmMakers list;
    for (auto family :
         {small_stencils, high_order_stencils, multi_field_stencils, programs, magnetohydrodynamics}) {
      for (auto& maker : family()) list.push_back(std::move(maker));
    }
    return list;
  }();
  return all;
}

}  // namespace

std::vector<std::int64_t> Algorithm::extents(std::int64_t size) const {
  std::vector<std::int64_t> all(halo.size(), size);
  for (std::size_t d = 0; d < fixed.size(); ++d) {
    if (fixed[d] > 0) all[d] = fixed[d];
  }
  return all;
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const auto& [name, maker] : makers()) names.push_back(name);
  return names;
}

Algorithm make_algorithm(const std::string& name) {
  for (const auto& [known, maker] : makers()) {
    if (known == name) return maker();
  }
  const std::vector<std::string> names = algorithm_names();
  throw UserError("there is no algorithm named " + name + did_you_mean(name, names) +
                  "; the algorithms are " + joined(names));
}

void apply_named(Algorithm& algorithm, const std::string& schedule,
                 const schedules::Parameters& parameters) {
  schedules::apply(algorithm.output, schedule, parameters, CallSite::current("", 0, ""));
}

}  // namespace mica::bench
