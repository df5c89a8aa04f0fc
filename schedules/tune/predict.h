// How long a candidate should take: a model, good enough to rank.
//
// On a GPU, of each kernel from the figures of its loops (codegen/analysis/traffic.h):
//
//   t = max(dram / B_dram, l2 / B_l2, l1 / B_l1, shared / B_shared, operations / rate)
//       * wait * waves + threads * t_thread + t_launch
//
// a roofline with one roof for each level (S. Williams, A. Waterman, D. Patterson: Roofline,
// Communications of the ACM 52 (2009) 65-76). `wait` is what blocks with shared memory lose: those that
// walk 1 + 0.5 / (points of a thread in a step), since the next planes are under way, those that fill it
// once and then compute 1 + 0.98 / sqrt(points of a thread). `waves` is what the last, partly filled
// round of blocks costs. The rates are an H200's, scaled by multiprocessors; they and the other
// constants are those that fit the 39 cases of bench/results/2026-11-23-h200.txt best, to 15 % root mean
// square.
//
// On the CPU from the shape of the algorithm: vectors, loads, what the caches keep of a strip, and
// how tasks fill the threads.
#pragma once

#include <cstdint>

#include "schedules/tune/subject.h"

namespace mica::tuning {

/// What a machine moves and computes, a second.
struct Rates {
  double memory = 0;      ///< bytes between memory and chip
  double l2 = 0;          ///< bytes: a GPU's L2; of the CPU, what all threads get of the last cache
  double l1 = 0;          ///< bytes, of all multiprocessors or cores
  double shared = 0;      ///< bytes, of all multiprocessors
  double operations = 0;  ///< f32, an fma as two
  int units = 1;          ///< multiprocessors, or threads
  int vector_bytes = 16;  ///< of the CPU's registers
  std::int64_t own_cache = 1 << 20, last_cache = 16 << 20;  ///< bytes, of a core and of all
};

/// Of the target's machine. `measure`: the memory's rate is measured, in some tens of milliseconds;
/// otherwise an H200's, or 10 GB/s a thread.
Rates rates_of(const Target& target, bool measure);

/// Seconds of a run of the candidate. UserErrors of the schedule, of check_schedule and of lowering;
/// on the host only those of schedules::apply.
double predicted_seconds(const Subject& subject, const TuneCandidate& candidate, const Rates& rates);

}  // namespace mica::tuning
