// Reproducible pseudo-random contents of inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dsl/func/func.h"
#include "fuzz/oracle.h"
#include "runtime/buffer/buffer.h"

namespace mica::test {

/// SplitMix64: a small generator whose numbers are the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  /// The numbers are those of `data`, two bytes each, which must outlive this; then as from seed `size`.
  Random(const std::uint8_t* data, std::size_t size) : state_(size), data_(data), left_(size) {}
  std::uint64_t next();
  /// Uniform in [0, n), n > 0.
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(n));
  }
  /// Uniform in [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
  bool coin() { return below(2) == 1; }
  /// The number whose turn comes when each has its weight's share.
  std::size_t weighted(const std::vector<int>& weights);
  template <typename T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(below(static_cast<std::int64_t>(from.size())))];
  }

 private:
  std::uint64_t state_;
  const std::uint8_t* data_ = nullptr;
  std::size_t left_ = 0;
};

enum class Contents : std::uint8_t {
  Ordinary,  ///< floats uniform in [-1, 1), integers over their whole range
  Wide,      ///< floats of both signs and of magnitudes from 2^-20 to 2^20
  Special,   ///< a quarter zeros, infinities, NaN, subnormals, extremes and small integers
  Small,     ///< integers 0 ... 9, floats of those values
};

/// Fills every element of `buffer`.
void fill_random(AnyBuffer& buffer, std::uint64_t seed, Contents contents = Contents::Ordinary);

/// How an input's memory is laid out around its box.
enum class Layout : std::uint8_t {
  Dense,     ///< nothing but the box
  Embedded,  ///< the interior of a larger poisoned allocation with padded rows
};

/// An input with random contents over `box`, set on `image`. The result keeps the memory alive.
std::shared_ptr<void> bind_random(const ImageParam& image, const Box& box, std::uint64_t seed,
                                  Contents contents = Contents::Ordinary,
                                  Layout layout = Layout::Embedded);

/// Binds every image over exactly the box that computing `funcs` over `output` reads; images that
/// are not read get one element. See demanded_inputs for what the algorithm must not depend on.
std::vector<std::shared_ptr<void>> bind_demanded(const std::vector<Func>& funcs, const Box& output,
                                                 const std::vector<ImageParam>& images,
                                                 std::uint64_t seed,
                                                 Contents contents = Contents::Ordinary,
                                                 Layout layout = Layout::Embedded);

}  // namespace mica::test
