#include "schedules/tune/space.h"

#include <algorithm>

namespace mica::tuning {
namespace {

using Values = std::vector<std::int64_t>;

/// Those of `values` below `end`, the least of them even if it is not.
Values below(const Values& values, std::int64_t end) {
  Values result;
  for (const std::int64_t v : values) {
    if (v < end) result.push_back(v);
  }
  if (result.empty()) result.push_back(*std::min_element(values.begin(), values.end()));
  return result;
}

/// Points of x in one vector: up to 16 bytes of the narrowest array, and no more than a row has.
Values gpu_vectors(const Subject& subject) {
  int narrowest = subject.features().widest;
  for (const Reads& reads : subject.features().inputs) narrowest = std::min(narrowest, reads.bytes);
  const std::int64_t most = 16 / std::min(narrowest, 16);
  Values result;
  for (std::int64_t v = 1; v <= std::min(most, subject.extents().front()); v *= 2) result.push_back(v);
  return result;
}

/// Planes of the dimension that marches walk, the third or the last of fewer. All of them, too, in three
/// dimensions: no plane is then read for two chunks.
Values chunks(const Subject& subject) {
  constexpr std::int64_t kMostPlanes = 1024;
  const auto& extents = subject.extents();
  const std::int64_t planes = extents[std::min<std::size_t>(extents.size() - 1, 2)];
  Values result = below({16, 32, 64, 128, 256}, planes + 16);
  if (extents.size() > 2 && planes > result.back() && planes <= kMostPlanes) result.push_back(planes);
  return result;
}

bool reads_neighbours(const Features& features) {
  return std::any_of(features.inputs.begin(), features.inputs.end(),
                     [](const Reads& reads) { return reads.taps > 1; });
}

bool reads_column(const Features& features) {
  return std::any_of(features.inputs.begin(), features.inputs.end(),
                     [](const Reads& reads) { return reads.in_column; });
}

Family plain(const Subject& subject) {
  const std::size_t rank = subject.extents().size();
  if (rank == 1) {
    return {"pmpp/naive", {{"block_x", {128, 256, 512}}, {"vec", gpu_vectors(subject)}}};
  }
  Family family{
      "pmpp/naive",
      {{"block_x", {32, 64, 128, 256}}, {"block_y", {1, 2, 4, 8, 16}}, {"vec", gpu_vectors(subject)}}};
  if (rank > 2) family.axes.push_back({"block_z", {1, 2, 4}});
  family.axes.push_back({"planes", below({1, 2, 4, 8}, subject.extents().back() + 1)});
  family.axes.push_back({"min_blocks", {0, 2, 4}});
  return family;
}

Family marching(const Subject& subject, const char* recipe, bool windows) {
  const std::size_t rank = subject.extents().size();
  Family family{recipe,
                {{"tile_x", {32, 64, 128}},
                 {"vec", gpu_vectors(subject)},
                 {"chunk", chunks(subject)},
                 {"load", {1, 3}},
                 {"ahead", {0, 1, 2, 3, 4, 5, 6}},
                 {"scatter", {0, 1, 2}},
                 {"min_blocks", {0, 2, 4}}}};
  if (rank > 2) {
    family.axes.push_back({"tile_y", {4, 8, 16, 32}});
    family.axes.push_back({"rows", {1, 2, 4}});
  }
  // Without it this is march/plane.
  if (windows) family.axes.push_back({"window", {1}});
  return family;
}

Family window(const Subject& subject) {
  const std::size_t rank = subject.extents().size();
  Family family{"seismic/z-window",
                {{"block_x", {32, 64, 128, 256}},
                 {"nw", chunks(subject)},
                 {"vec", gpu_vectors(subject)},
                 {"min_blocks", {0, 2, 4}}}};
  if (rank > 2) family.axes.push_back({"block_y", {1, 2, 4, 8}});
  return family;
}

Family several_fields(const Subject& subject) {
  const auto inputs = static_cast<std::int64_t>(subject.features().inputs.size());
  return {"mhd/substep",
          {{"block_x", {32, 64}},
           {"block_y", {2, 4, 8, 16}},
           {"chunk", {0, 32, 64, 128}},
           {"vec", gpu_vectors(subject)},
           {"staged", below({0, 1, 2, 4, 8, 16}, inputs + 1)},
           {"ahead", {1, 2}},
           {"windows", below({0, 1, 2, 4, 8, 16}, inputs + 1)},
           {"registers", {0, 96, 128, 168}},
           {"stream", {0, 1}}}};
}

/// Several steps in one march: in three dimensions warps beside each other in y, in two one warp a
/// block.
std::optional<Family> levels(const Subject& subject) {
  const Values steps = steps_at_once(subject);
  const std::size_t rank = subject.extents().size();
  if (steps.empty() || rank < 2 || rank > 3) return std::nullopt;
  const std::int64_t lanes = std::max<std::int64_t>(1, 16 / subject.features().widest);
  Family family{"time/march", {{schedules::kStepsAtOnce, steps}, {"scatter", {0, 1}}}};
  if (rank == 2) {
    family.axes.push_back({"vec", {std::max<std::int64_t>(lanes / 2, 1), lanes, 2 * lanes}});
    family.axes.push_back(
        {"chunk", below({32, 64, 96, 128, 192, 256, 512}, subject.extents().back() + 32)});
    family.axes.push_back({"registers", {0, 128, 144, 168, 200}});
    family.axes.push_back({"ahead", {0, 7}});
  } else {
    family.axes.push_back({"vec", {std::max<std::int64_t>(lanes / 2, 1), lanes}});
    family.axes.push_back({"tile_y", {4, 8, 12, 16}});
    family.axes.push_back({"rows", {2, 3, 4, 5, 6}});
    family.axes.push_back(
        {"chunk", below({32, 37, 43, 52, 57, 64, 86, 103, 128}, subject.extents().back() + 32)});
    family.axes.push_back({"halves", {0, 3}});
    family.axes.push_back({"ahead", {0, 2}});
  }
  for (Family::Axis& axis : family.axes) {
    axis.values.erase(std::unique(axis.values.begin(), axis.values.end()), axis.values.end());
  }
  return family;
}

/// Where Funcs behind an output stand is a matter of one output.
bool is_single(const Subject& subject) { return subject.outputs() == 1; }

std::vector<Family> gpu_families(const Subject& subject) {
  const Features& features = subject.features();
  const int rank = features.dimensions;
  if (!features.plain || rank > 4) return {};
  std::vector<Family> families{plain(subject)};
  if (auto several = levels(subject)) families.push_back(std::move(*several));
  if (features.producers > 0 && rank > 1 && is_single(subject)) {
    const std::vector<Family::Axis> tiles = {
        {"tile_x", {32, 64, 128}}, {"tile_y", {2, 4, 8, 16}}, {"vec", gpu_vectors(subject)}};
    families.push_back({"blur/breadth-first", tiles});
    families.push_back({"blur/inline", tiles});
    families.push_back({"blur/shared-tile", {{"tile_x", {32, 64, 128}}, {"tile_y", {4, 8, 16, 32}}}});
  }
  if (rank < 2 || !reads_neighbours(features)) return families;
  if (features.inputs.size() > 1 && rank == 3 && is_single(subject))
    families.push_back(several_fields(subject));
  families.push_back(marching(subject, "march/plane", false));
  if (reads_column(features)) {
    families.push_back(marching(subject, "march/high-order", true));
    families.push_back(window(subject));
  }
  if (rank == 2) {
    families.push_back(
        // Threads beyond a tile's row would have nothing to do.
        {"jacobi2d/strided-load",
         {{"tile_x", {128, 256}}, {"tile_y", {8, 16, 32}}, {"threads", {64, 128}}}});
  }
  return families;
}

std::vector<Family> host_families(const Subject& subject) {
  const Features& features = subject.features();
  if (!features.plain || features.dimensions > 6) return {};
  const auto& n = subject.extents();
  Values vectors;
  for (std::int64_t v = 16 / features.widest; v <= 128 / features.widest && v <= 64; v *= 2) {
    if (v > 0) vectors.push_back(v);
  }
  Family family{"host/rows", {{"vec", vectors}}};
  if (subject.is_interleaved()) {
    family.axes.push_back({"channels", {n.back()}});
    family.axes.push_back({"rows", below({1, 2, 4}, n[1] + 1)});
    family.axes.push_back({"tile_x", below({0, 512, 1024, 2048}, n[0])});
    family.axes.push_back({"chunk", below({1, 2, 4, 8, 16, 32, 64}, n[1] + 1)});
  } else if (n.size() == 1) {
    family.axes.push_back({"tile_x", {1 << 12, 1 << 13, 1 << 14, 1 << 15, 1 << 16}});
  } else {
    family.axes.push_back({"rows", below({1, 2, 4, 8}, n[1] + 1)});
    family.axes.push_back({"tile_x", below({0, 64, 128, 256, 512, 1024, 2048}, n[0])});
    if (n.size() > 2) family.axes.push_back({"tile_y", below({0, 8, 16, 32, 64, 128}, n[1])});
    family.axes.push_back({"chunk", below({1, 2, 4, 8, 16, 32, 64}, n.back() + 1)});
    if (n.size() > 2) family.axes.push_back({"planes", below({1, 2, 4}, n.back() + 1)});
  }
  family.axes.push_back({"stream", {0, 1}});
  if (features.computing > 0 && is_single(subject)) family.axes.push_back({"place", {0, 1, 2, 3, 4}});
  std::vector<Family> families{family};
  const Values steps = steps_at_once(subject);
  if (!steps.empty() && features.dimensions <= 4) {
    families.push_back({"time/tiles", {{schedules::kStepsAtOnce, steps}}});
  }
  return families;
}

}  // namespace

TuneCandidate Family::at(const std::vector<std::size_t>& places) const {
  TuneCandidate candidate;
  candidate.recipe = recipe;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    candidate.parameters[axes[i].name] = axes[i].values[places[i]];
  }
  return candidate;
}

std::optional<std::vector<std::size_t>> Family::places_of(const TuneCandidate& candidate) const {
  if (candidate.recipe != recipe || candidate.parameters.size() != axes.size()) return std::nullopt;
  std::vector<std::size_t> places;
  for (const Axis& axis : axes) {
    const auto value = candidate.parameters.find(axis.name);
    if (value == candidate.parameters.end()) return std::nullopt;
    const auto at = std::find(axis.values.begin(), axis.values.end(), value->second);
    if (at == axis.values.end()) return std::nullopt;
    places.push_back(static_cast<std::size_t>(at - axis.values.begin()));
  }
  return places;
}

std::size_t Family::size() const {
  std::size_t size = 1;
  for (const Axis& axis : axes) size *= axis.values.size();
  return size;
}

std::vector<std::int64_t> steps_at_once(const Subject& subject) {
  std::vector<std::int64_t> values;
  for (const std::int64_t steps : {2, 3, 4, 6, 8, 10, 12, 16}) {
    bool fits = subject.stepping() != nullptr && steps <= subject.stepping()->most;
    for (std::size_t d = 0; d < subject.extents().size(); ++d) {
      fits = fits && subject.features().reach_inside[d] * (steps - 1) <= subject.extents()[d];
    }
    if (fits) values.push_back(steps);
  }
  return values;
}

std::vector<Family> families_of(const Subject& subject, const std::string& only) {
  std::vector<Family> all = subject.target().is_gpu() ? gpu_families(subject) : host_families(subject);
  if (!only.empty()) std::erase_if(all, [&](const Family& family) { return family.recipe != only; });
  return all;
}

std::vector<TuneCandidate> neighbours(const Family& family, const TuneCandidate& candidate) {
  std::vector<TuneCandidate> result;
  const auto is_known = [&](const Family::Axis& axis) {
    return candidate.parameters.contains(axis.name);
  };
  if (candidate.recipe != family.recipe || candidate.parameters.size() != family.axes.size() ||
      !std::all_of(family.axes.begin(), family.axes.end(), is_known)) {
    return result;
  }
  for (const Family::Axis& axis : family.axes) {
    const std::int64_t own = candidate.parameters.at(axis.name);
    const auto add = [&](std::int64_t value) {
      TuneCandidate moved = candidate;
      moved.predicted = moved.measured = moved.settled = 0;
      moved.refused.clear();
      moved.parameters[axis.name] = value;
      result.push_back(std::move(moved));
    };
    std::optional<std::int64_t> less, more;
    for (const std::int64_t value : axis.values) {
      if (value < own) less = std::max(less.value_or(value), value);
      if (value > own) more = std::min(more.value_or(value), value);
    }
    if (less) add(*less);
    if (more) add(*more);
  }
  return result;
}

TuneCandidate drawn(const Family& family, std::mt19937_64& random) {
  std::vector<std::size_t> places;
  // Modulo of 64 bits: std::uniform_int_distribution differs from library to library.
  for (const Family::Axis& axis : family.axes) places.push_back(random() % axis.values.size());
  return family.at(places);
}

}  // namespace mica::tuning
