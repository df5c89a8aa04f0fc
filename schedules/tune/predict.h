// How long a candidate should take: a model, good enough to rank.
//
// On a GPU, of each kernel from the figures of its loops (codegen/analysis/traffic/traffic.h):
//
//   t = |dram / B_dram * waiting, l2 / B_l2, shared / B_shared, instructions / rate, latency|_1.36 *
//   tail
//       + spilled / B_local + t_launch
//
// a roofline with one roof for each level (S. Williams, A. Waterman, D. Patterson: Roofline,
// Communications of the ACM 52 (2009) 65-76), whose sum of powers says that roofs are hidden behind each
// other only in part. `waiting` = 1 + (2050 bytes / c)^1.28: a multiprocessor must have so much under
// way for the memory to be busy, c being what its resident threads read in a step (J. D. C. Little,
// Operations Research 9 (1961) 383-387), and more where copies begin steps early. `instructions` are
// those of arithmetic, of loads and stores (fewer in vectors) and of a step; `latency` is what the steps
// of a block wait for each other, times its rounds; `tail` is the last, partly filled round. Registers
// decide how many blocks are resident and what is spilled: they are estimated from what a thread holds,
// loads and computes, until the assembler has said how many they are. The rates are an H200's, scaled by
// multiprocessors; they and the other constants are those that fit 8,000 candidates of 17 algorithms
// best (bench/results/2026-11-23-h200-tune.csv): half of them to 9 %. What it has wrong of a kernel that
// takes one step, regression trees correct (schedules/tune/forest.h).
//
// On the CPU from the shape of the algorithm: schedules/tune/predict_host.h.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/analysis/traffic/traffic.h"
#include "runtime/run/device.h"
#include "schedules/tune/figures.h"
#include "schedules/tune/subject.h"

namespace mica::tuning {

/// What a machine moves and computes, a second.
struct Rates {
  double memory = 0;        ///< bytes between memory and chip
  double copy = 0;          ///< bytes read and written by a copy in memory, which is a little slower
  double l2 = 0;            ///< bytes: a GPU's L2; of the CPU, what all threads get of the last cache
  double shared = 0;        ///< bytes, of all multiprocessors
  double local = 0;         ///< bytes that threads spill, of all multiprocessors
  double instructions = 0;  ///< of threads; of the CPU, of all cores
  double arithmetic = 0;    ///< operations on f32, fma as two
  int units = 1;            ///< multiprocessors, or threads
  int vector_bytes = 16;    ///< of the CPU's registers
  std::int64_t own_cache = 1 << 20, last_cache = 16 << 20;  ///< bytes, of a core and of all
};

/// Of the target's machine. `measure`: rates are measured, in some tens of milliseconds; otherwise an
/// H200's, or those of host_rates.
Rates rates_of(const Target& target, bool measure);

/// What a GPU's memory moves a second where a copy was measured at `copy` bytes a second, and its usual
/// rate, with which the model's numbers were fitted, is `usual`: of rates within a tenth of each other
/// the usual one. Machines of one kind, and measurements of one machine, differ by a few percent, and
/// trees that were learned at one rate take another for another algorithm.
double memory_rate(double copy, double usual);

/// What the candidate's kernels move and compute on the subject's grid, with the caches of its target.
/// UserErrors of the schedule and of lowering. Empty on the host.
Traffic traffic_of(const Subject& subject, const TuneCandidate& candidate);

/// A kernel of a candidate: the seconds that the formula alone expects, and what trees see of it.
struct Seen {
  double seconds = 0;
  Figures figures;
};
/// In the order of their launches; `compiled` as below. For a GPU. UserErrors of the schedule, of
/// check_schedule and of lowering.
std::vector<Seen> kernels_seen(const Subject& subject, const TuneCandidate& candidate,
                               const Rates& rates, const std::vector<KernelInfo>& compiled = {});

/// Seconds of a run of the candidate. UserErrors of the schedule, of check_schedule and of lowering;
/// on the host only those of schedules::apply.
/// `compiled`: the kernels that it became, in the order of their launches, whose registers and spills
/// are then known; else they are estimated.
double predicted_seconds(const Subject& subject, const TuneCandidate& candidate, const Rates& rates,
                         const std::vector<KernelInfo>& compiled = {});

}  // namespace mica::tuning
