// How long a candidate should take on the CPU (docs/tuning.md has the model in words). Cycles of a core,
// a group of r rows x p planes x v points that are computed together, in h registers' widths of v:
//
//   h/2 * sum over inputs (taps + 1.5 * taps beside their column * w/64) + 0.3 * operations * r*p*h *
//   spilling + r*p*h/4 + 1
//
// w: bytes of an access. Taps are the different ones of the whole group; one beside its column begins
// inside a line of the cache, so that a wide access takes two. More than 28 sums are not held in
// registers. Bytes from memory and from the last cache: inputs once, again what a strip's cache has lost
// when the next plane, tile or task wants it, and outputs twice, since what is written is read before,
// but where stores are streamed. The constants are about those that fit 420 candidates of 6 algorithms
// best, on an AMD EPYC 9005 with two cores (bench/results/2026-11-26-cpu-tune.txt).
#pragma once

#include "schedules/tune/predict.h"

namespace mica::tuning {

/// Of this machine's CPU. `measure`: the memory's rate and the clock are measured, in some tens of
/// milliseconds; otherwise 20 GB/s and 3.5 GHz a thread are taken.
Rates host_rates(bool measure);

/// Bytes of this CPU's vector registers.
int host_vector_bytes();

/// Seconds of a run of the candidate.
double host_seconds(const Subject& subject, const TuneCandidate& candidate, const Rates& rates);

}  // namespace mica::tuning
