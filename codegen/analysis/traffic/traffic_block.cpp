// What one block has and does: its points, its arrays in shared memory and registers, its steady step.
#include <algorithm>

#include "codegen/analysis/traffic/traffic_kernel.h"
#include "codegen/ir/kernel.h"

namespace mica::analysis {
namespace {

/// First and last index of each dimension, both included.
using IndexBox = std::vector<std::pair<std::int64_t, std::int64_t>>;

PieceList pointers(const std::vector<Piece>& pieces) {
  PieceList list;
  for (const Piece& piece : pieces) list.push_back(&piece);
  return list;
}

// The box around all indices that the pieces touch.
IndexBox hull_of(const PieceList& pieces) {
  IndexBox hull;
  for (const Piece* piece : pieces) {
    hull.resize(piece->index.size(), {INT64_MAX, INT64_MIN});
    for (std::size_t d = 0; d < hull.size(); ++d) {
      const auto [low, high] = range_of(piece->index[d], piece->region);
      hull[d] = {std::min(hull[d].first, low), std::max(hull[d].second, high)};
    }
  }
  return hull;
}

// The most frequent block and step: of the boxes of blocks and steps in which the same code runs and
// stores to the kernel's array, the middle of the largest.
Region steady_point(const KernelPieces& kernel, const PieceList& stores) {
  const auto outer = [&](const Piece& piece, std::size_t place) {
    return kernel.is_block(piece, place) || kernel.is_step(piece, place);
  };
  Region best;
  for (const Region& region : common_regions(kernel.select([](const Piece&) { return true; }), outer)) {
    const bool deeper = region.size() > best.size();
    if (!deeper && (region.size() < best.size() || volume(region) <= volume(best))) continue;
    if (!restricted(stores, region).empty()) best = region;
  }
  for (Span& span : best) span.lo = span.hi = span.lo + (span.count() - 1) / 2;
  return best;
}

Region blocks_only(const KernelPieces& kernel, const Region& point) {
  Region blocks;
  for (const Span& span : point) {
    if (kernel.pieces.kind(span) == LoopKind::GpuBlock) blocks.push_back(span);
  }
  return blocks;
}

bool is_ring(const ir::Allocate& alloc, std::size_t d) {
  return d < alloc.folds.size() && alloc.folds[d] > 0;
}

// The dimension of the kernel's Func that moves with the same block loop as a form; -1 if none does.
int same_direction(const KernelPieces& kernel, const Form& form, const Piece& store) {
  for (std::size_t i = 0; i < store.region.size(); ++i) {
    if (!kernel.is_block(store, i) || form.slope_at(i) == 0) continue;
    for (std::size_t e = 0; e < store.index.size(); ++e) {
      if (store.index[e].slope_at(i) != 0) return static_cast<int>(e);
    }
  }
  return -1;
}

// What the block at `point` stores to array `a` in that step, or, of arrays that no step fills, at all.
IndexBox filled_box(const KernelPieces& kernel, std::size_t a, const Region& point,
                    const Region& block) {
  const PieceList stores = kernel.select(
      [&](const Piece& piece) { return piece.store && piece.array == static_cast<int>(a); });
  const IndexBox in_step = hull_of(pointers(restricted(stores, point)));
  return in_step.empty() ? hull_of(pointers(restricted(stores, block))) : in_step;
}

void add_array(const KernelPieces& kernel, const PieceArray& array, const IndexBox& filled,
               const Piece& store, const IndexBox& tile, KernelTraffic& out) {
  const ir::Allocate& alloc = *array.allocate;
  const std::int64_t bytes = ir::element_count(alloc) * alloc.type.bytes();
  std::int64_t planes = 1, points = 1;
  StagedArray staged;
  for (std::size_t d = 0; d < alloc.extents.size(); ++d) {
    const std::int64_t extent = *as_int(alloc.extents[d]);
    StagedArray::Side side{extent, 0, 0};
    if (is_ring(alloc, d)) {
      planes *= extent;
    } else {
      points *= extent;
      const int e = d < array.mins.size() ? same_direction(kernel, array.mins[d], store) : -1;
      if (e >= 0 && d < filled.size()) {
        side.low = tile[static_cast<std::size_t>(e)].first - filled[d].first;
        side.high = filled[d].second - tile[static_cast<std::size_t>(e)].second;
      }
    }
    staged.sides.push_back(side);
  }
  if (array.memory == MemoryType::Shared) {
    staged.name = array.name;
    staged.planes = planes;
    staged.bytes = bytes;
    constexpr std::int64_t kAlignment = 16;  // of each array (codegen/ir/kernel.h, shared_layout)
    out.shared_bytes += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    out.staged.push_back(std::move(staged));
  } else if (array.memory == MemoryType::Register) {
    HeldArray held{array.name, planes, points, 0};
    const std::int64_t threads = out.threads[0] * out.threads[1] * out.threads[2];
    if (alloc.per_thread) held.points = (points + threads - 1) / threads;
    held.bytes = held.planes * held.points * alloc.type.bytes();
    out.held_bytes += held.bytes;
    out.held.push_back(std::move(held));
  }
}

// Elements copied into shared arrays that are read afterwards. A plane of a ring is read in several
// steps: in a steady step each of them reads the same places of its plane, so planes are left out.
std::int64_t copied_and_read(const KernelPieces& kernel, const PieceList& step) {
  std::int64_t used = 0;
  for (std::size_t a = 0; a < kernel.pieces.arrays.size(); ++a) {
    const PieceArray& array = kernel.pieces.arrays[a];
    if (array.memory != MemoryType::Shared) continue;
    IndexUnion filled, read, either;
    for (const Piece* piece : step) {
      if (piece->array != static_cast<int>(a)) continue;
      const bool copied =
          piece->store && piece->copy >= 0 &&
          kernel.pieces.arrays[static_cast<std::size_t>(piece->copy)].memory == MemoryType::Heap;
      if (piece->store && !copied) continue;
      std::vector<Form> index;
      for (std::size_t d = 0; d < piece->index.size(); ++d) {
        if (!is_ring(*array.allocate, d)) index.push_back(piece->index[d]);
      }
      either.add(index, piece->region);
      (piece->store ? filled : read).add(index, piece->region);
    }
    used += filled.size() + read.size() - either.size();
  }
  return used;
}

SteadyStep steady_step(const KernelPieces& kernel, const PieceList& step) {
  SteadyStep s;
  std::set<int> inputs;
  PieceList loads;
  std::int64_t copied = 0;
  for (const Piece* piece : step) {
    s.operations += piece->operations * piece->count();
    if (!kernel.pieces.is_global(*piece)) continue;
    if (piece->store) {
      s.written += piece->count();
      if (piece->array == kernel.target) s.points += piece->count();
      continue;
    }
    loads.push_back(piece);
    inputs.insert(piece->array);
    s.loaded += piece->count();
    const bool into_shared =
        piece->copy >= 0 &&
        kernel.pieces.arrays[static_cast<std::size_t>(piece->copy)].memory == MemoryType::Shared;
    if (into_shared) copied += piece->count();
  }
  s.used = s.loaded - copied + copied_and_read(kernel, step);
  s.bytes_loaded = asked_for(kernel, loads).read;
  for (const int input : inputs) {
    s.bytes_at_limit += s.points * kernel.pieces.arrays[static_cast<std::size_t>(input)].type.bytes();
  }
  return s;
}

}  // namespace

void measure_block(const KernelPieces& kernel, KernelTraffic& out) {
  for (std::size_t i = 0; i < 3; ++i) out.threads[i] = kernel.pieces.threads[i];
  for (std::size_t i = 0; i < kernel.pieces.grid.size(); ++i) {
    out.grid[std::min<std::size_t>(i, 2)] *= kernel.pieces.grid[i];
  }
  const PieceList stores =
      kernel.select([&](const Piece& piece) { return piece.store && piece.array == kernel.target; });
  if (stores.empty()) return;
  const auto none = [](const Piece&, std::size_t) { return false; };
  out.points = sum_of_unions(stores, none, 1);
  for (const Piece& piece : kernel.pieces.pieces) out.operations += piece.operations * piece.count();

  const Region point = steady_point(kernel, stores);
  const Region block = blocks_only(kernel, point);
  const std::vector<Piece> tile_stores = restricted(stores, point);
  const IndexBox tile = hull_of(pointers(tile_stores));
  for (const auto& [low, high] : hull_of(pointers(restricted(stores, block)))) {
    out.block_points.push_back(high - low + 1);
  }
  for (std::size_t a = 0; a < kernel.pieces.arrays.size(); ++a) {
    const PieceArray& array = kernel.pieces.arrays[a];
    if (array.allocate == nullptr) continue;
    add_array(kernel, array, filled_box(kernel, a, point, block), *stores.front(), tile, out);
  }
  const std::vector<Piece> step = restricted(kernel.select([](const Piece&) { return true; }), point);
  out.steady = steady_step(kernel, pointers(step));
}

}  // namespace mica::analysis
