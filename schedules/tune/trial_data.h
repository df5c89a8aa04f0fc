// Contents of the arrays that are timed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/buffer/buffer.h"

namespace mica::tuning {

/// Fills the host side of `buffer`, padding between rows included, with numbers without a pattern:
/// floats of magnitudes below 2, integers from 0 to 2^14 - 1 (2^6 - 1 of 8 bits).
void fill_random(AnyBuffer& buffer, std::uint64_t seed);
/// Fills the host side with 0xCD bytes.
void poison(AnyBuffer& buffer);
/// Do two buffers of one layout hold the same bits, any NaN for any other? Both are brought to the host.
bool same_bits(const AnyBuffer& a, const AnyBuffer& b);
/// Bytes of the elements of the buffer's box.
std::int64_t bytes_of(const AnyBuffer& buffer);

}  // namespace mica::tuning
