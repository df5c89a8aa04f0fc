#include "fuzz/random_boundaries.h"

#include <algorithm>

namespace mica::test {
namespace {

bool has_condition(const Program& program, int source, std::optional<Boundary> kind) {
  return std::any_of(program.stages.begin(), program.stages.end(), [&](const ProgramStage& stage) {
    return stage.boundary && stage.source == source && (!kind || stage.boundary == kind);
  });
}

std::string name_of(const Program& program, int source) {
  return program.is_stage(source) ? program.stage(source).name
                                  : program.inputs[static_cast<std::size_t>(source)].name;
}

BoundaryExtent random_extent(bool has_own, Random& random) {
  BoundaryExtent extent;
  switch (random.below(4)) {
    case 0: extent.kind = BoundaryExtent::Kind::None; return extent;
    case 1:
      if (has_own) return extent;
      break;
    default: break;
  }
  extent.kind = BoundaryExtent::Kind::Given;
  extent.min = static_cast<int>(random.between(-9, 9));
  extent.extent =
      static_cast<int>(random.below(12) == 0 ? random.between(-2, 1) : random.between(1, 24));
  extent.of_params = random.below(4) == 0;
  return extent;
}

}  // namespace

bool has_boundary(const Program& program, int source) {
  return has_condition(program, source, std::nullopt);
}

std::optional<ProgramStage> random_boundary(const Program& program, int not_this, Random& random) {
  const auto kind = static_cast<Boundary>(random.below(5));
  std::vector<int> sources;
  for (int i = 0; i < static_cast<int>(program.inputs.size()); ++i) {
    if (i != not_this && !has_condition(program, i, kind)) sources.push_back(i);
  }
  for (std::size_t i = 0; i < program.stages.size(); ++i) {
    const int source = program.source_of_stage(i);
    const bool one_value = program.stages[i].boundary || program.stages[i].values.size() == 1;
    if (one_value && !has_condition(program, source, kind)) sources.insert(sources.end(), 2, source);
  }
  if (sources.empty()) return std::nullopt;
  static const std::vector<std::string> names{"repeat_edge", "constant_exterior", "repeat_image",
                                              "mirror_image", "mirror_interior"};
  ProgramStage stage;
  stage.boundary = kind;
  stage.source = random.pick(sources);
  stage.name = name_of(program, stage.source) + "." + names[static_cast<std::size_t>(kind)];
  stage.dimensions = program.dimensions_of(stage.source);
  const bool is_stage = program.is_stage(stage.source);
  const bool has_own = !program.is_stage(program.origin_of(stage.source));
  if (!is_stage && random.coin()) return stage;
  for (int d = 0; d < stage.dimensions; ++d) stage.extents.push_back(random_extent(has_own, random));
  return stage;
}

}  // namespace mica::test
