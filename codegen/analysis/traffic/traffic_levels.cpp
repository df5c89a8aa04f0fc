// Bytes moved at each level of memory, and the model of the L2.
#include <algorithm>
#include <cmath>

#include "codegen/analysis/traffic/traffic_kernel.h"

namespace mica::analysis {

PieceList KernelPieces::select(const std::function<bool(const Piece&)>& wanted) const {
  PieceList list;
  for (const Piece& piece : pieces.pieces) {
    if (wanted(piece)) list.push_back(&piece);
  }
  return list;
}

bool KernelPieces::is_around_thread_code(const Piece& piece, std::size_t place) const {
  for (std::size_t i = place; i < piece.region.size(); ++i) {
    const LoopKind kind = pieces.kind(piece.region[i]);
    if (kind != LoopKind::Vectorized && kind != LoopKind::Unrolled) return true;
  }
  return false;
}

namespace {

// The pieces by array and by what they do; calls visit(array, store, pieces).
template <typename Visit>
void each_array(const KernelPieces& kernel, const PieceList& pieces, const Visit& visit) {
  for (std::size_t a = 0; a < kernel.pieces.arrays.size(); ++a) {
    for (const bool store : {false, true}) {
      PieceList own;
      for (const Piece* piece : pieces) {
        if (piece->array == static_cast<int>(a) && piece->store == store) own.push_back(piece);
      }
      if (!own.empty()) visit(kernel.pieces.arrays[a], store, own);
    }
  }
}

void add(Moved& moved, bool store, std::int64_t bytes) { (store ? moved.written : moved.read) += bytes; }

// Sectors of global arrays, each once for an iteration of the outer loops, in bytes.
Moved sectors(const KernelPieces& kernel, const PieceList& pieces, const TrafficDevice& device,
              const IsOuter& outer) {
  Moved moved;
  each_array(kernel, pieces, [&](const PieceArray& array, bool store, const PieceList& own) {
    const std::int64_t grain = std::max<std::int64_t>(1, device.sector_bytes / array.type.bytes());
    const std::int64_t unit = std::max<std::int64_t>(device.sector_bytes, array.type.bytes());
    const auto origin = kernel.origins.find(array.name);
    std::vector<Piece> moved_pieces;
    PieceList from_origin = own;
    if (origin != kernel.origins.end()) {
      for (const Piece* piece : own) {
        moved_pieces.push_back(*piece);
        moved_pieces.back().index.front().base -= origin->second;
      }
      from_origin.clear();
      for (const Piece& piece : moved_pieces) from_origin.push_back(&piece);
    }
    add(moved, store, sum_of_unions(from_origin, outer, grain) * unit);
  });
  return moved;
}

// Sectors of the device's memory where the neighbours along `kept` block loops find what they share.
Moved device_bytes(const KernelPieces& kernel, const PieceList& global, const TrafficDevice& device,
                   const std::set<int>& kept) {
  return sectors(kernel, global, device, [&](const Piece& piece, std::size_t place) {
    return kernel.is_block(piece, place) && !kept.count(piece.region[place].loop);
  });
}

// The block loop that cuts the dimension in which the march goes; -1 if there is none.
int marched_block_loop(const KernelPieces& kernel) {
  for (const Piece& piece : kernel.pieces.pieces) {
    if (!piece.store || piece.array != kernel.target) continue;
    for (const Form& form : piece.index) {
      int block = -1;
      bool marched = false;
      for (std::size_t i = 0; i < piece.region.size(); ++i) {
        if (form.slope_at(i) == 0) continue;
        if (kernel.is_block(piece, i)) block = piece.region[i].loop;
        marched = marched || kernel.is_step(piece, i);
      }
      if (marched) return block;
    }
  }
  return -1;
}

std::int64_t resident_blocks(const KernelTraffic& kernel, const TrafficDevice& device) {
  constexpr std::int64_t kSystemShared = 1024;  // of each block (CUDA C++ Programming Guide, 9.0)
  const std::int64_t threads = kernel.threads[0] * kernel.threads[1] * kernel.threads[2];
  const std::int64_t blocks = std::min({device.threads_per_sm / threads,
                                        device.shared_per_sm / (kernel.shared_bytes + kSystemShared),
                                        static_cast<std::int64_t>(device.blocks_per_sm)});
  return std::max<std::int64_t>(1, blocks) * device.multiprocessors;
}

// Steps of the march of a whole block; 1 without a march.
std::int64_t steps_of(const KernelPieces& kernel) {
  std::int64_t steps = 1;
  for (const Piece& piece : kernel.pieces.pieces) {
    if (!piece.store || piece.array != kernel.target) continue;
    for (std::size_t i = 0; i < piece.region.size(); ++i) {
      if (kernel.is_step(piece, i)) steps = std::max(steps, piece.region[i].count());
    }
  }
  return steps;
}

// The block loops whose neighbours find in the L2 what they share: see the formula in traffic.h.
std::set<int> kept_loops(const KernelPieces& kernel, const PieceList& global,
                         const KernelTraffic& figures, const TrafficDevice& device) {
  const int marched = marched_block_loop(kernel);
  const auto resident = static_cast<double>(resident_blocks(figures, device));
  std::set<int> kept;
  std::int64_t groups = 1, apart = 1;
  for (const std::int64_t extent : kernel.pieces.grid) groups *= extent;
  for (std::size_t a = 0; a < kernel.pieces.block_loops.size(); ++a) {
    const int loop = kernel.pieces.block_loops[a];
    double between = static_cast<double>(device_bytes(kernel, global, device, kept).sum()) /
                     static_cast<double>(groups);
    if (loop == marched) {
      between *= std::max(1.0, resident / static_cast<double>(apart));
    } else if (static_cast<double>(apart) < resident) {
      between /= static_cast<double>(steps_of(kernel));
    }
    if (between > static_cast<double>(device.l2_bytes)) break;
    kept.insert(loop);
    apart *= kernel.pieces.grid[a];
    groups /= kernel.pieces.grid[a];
  }
  return kept;
}

// Which share of the pairs of blocks b, b + apart among `blocks` runs in successive waves of `resident`.
double share_in_successive_waves(std::int64_t blocks, std::int64_t apart, std::int64_t resident) {
  const std::int64_t pairs = blocks - apart;
  if (pairs <= 0) return 0;
  std::int64_t successive = 0;
  for (std::int64_t wave = 0; wave < pairs; wave += resident) {
    const std::int64_t first = std::max(wave, wave + resident - apart);
    const std::int64_t end = std::min({wave + resident, wave + 2 * resident - apart, pairs});
    successive += std::max<std::int64_t>(0, end - first);
  }
  return static_cast<double>(successive) / static_cast<double>(pairs);
}

// Of the bytes that the device's memory reads where neighbours along `kept` find what they share, `read`
// in all, those that the layers of a march find too, though their block loop is not kept.
std::int64_t found_by_next_layer(const KernelPieces& kernel, const PieceList& global,
                                 const KernelTraffic& figures, const TrafficDevice& device,
                                 std::set<int> kept, std::int64_t read) {
  const std::vector<int>& loops = kernel.pieces.block_loops;
  const bool last_is_left = kept.size() + 1 == loops.size();
  if (!last_is_left || loops.back() != marched_block_loop(kernel)) return 0;
  kept.insert(loops.back());
  const Moved together = device_bytes(kernel, global, device, kept);
  const std::int64_t twice = read - together.read;
  const std::int64_t layers = kernel.pieces.grid[loops.size() - 1];
  if (layers < 2 || twice <= 0) return 0;
  std::int64_t blocks = 1;
  for (const std::int64_t extent : kernel.pieces.grid) blocks *= extent;
  const std::int64_t layer = blocks / layers;
  const std::int64_t resident = resident_blocks(figures, device);
  const double between = static_cast<double>(twice) / static_cast<double>(layers - 1) *
                         static_cast<double>(resident) / static_cast<double>(layer) *
                         static_cast<double>(together.sum()) / static_cast<double>(together.read);
  if (between > static_cast<double>(device.l2_bytes)) return 0;
  return std::llround(static_cast<double>(twice) * share_in_successive_waves(blocks, layer, resident));
}

}  // namespace

Moved asked_for(const KernelPieces& kernel, const PieceList& pieces) {
  Moved moved;
  each_array(kernel, pieces, [&](const PieceArray& array, bool store, const PieceList& own) {
    add(moved, store,
        array.type.bytes() * sum_of_unions(
                                 own,
                                 [&](const Piece& piece, std::size_t place) {
                                   return kernel.is_around_thread_code(piece, place);
                                 },
                                 1));
  });
  return moved;
}

void measure_levels(const KernelPieces& kernel, const TrafficDevice& device, KernelTraffic& out) {
  const PieceList global = kernel.select([&](const Piece& p) { return kernel.pieces.is_global(p); });
  out.l1 = asked_for(kernel, global);
  out.shared = asked_for(kernel, kernel.select([&](const Piece& p) {
    return kernel.pieces.array(p).memory == MemoryType::Shared;
  }));
  out.l2 = sectors(kernel, global, device, [&](const Piece& piece, std::size_t place) {
    return kernel.is_block(piece, place) || kernel.is_step(piece, place);
  });
  out.once = sectors(kernel, global, device, [](const Piece&, std::size_t) { return false; });
  const std::set<int> kept = kept_loops(kernel, global, out, device);
  const std::int64_t read = device_bytes(kernel, global, device, kept).read;
  out.dram.read = read - found_by_next_layer(kernel, global, out, device, kept, read);
  out.dram.written = out.once.written;
}

}  // namespace mica::analysis
