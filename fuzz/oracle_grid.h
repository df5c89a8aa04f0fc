// Boxes of points and remembered values for the oracle.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "fuzz/oracle.h"
#include "fuzz/oracle_tape.h"

namespace mica::test {

/// A Func needed at more points than this is taken for a mistake of the test's.
inline constexpr std::int64_t kMostOraclePoints = std::int64_t{1} << 26;

/// Lower corner and upper corner (exclusive); unused dimensions are [0, 1).
struct Corners {
  Point low{}, high{};

  Corners() { high.fill(1); }

  [[nodiscard]] bool contains(const Point& p) const {
    for (std::size_t d = 0; d < p.size(); ++d) {
      if (p[d] < low[d] || p[d] >= high[d]) return false;
    }
    return true;
  }
  [[nodiscard]] std::int64_t points() const {
    std::int64_t n = 1;
    for (std::size_t d = 0; d < low.size(); ++d) {
      n *= high[d] - low[d];
      if (n > kMostOraclePoints) throw OracleError("the oracle needs more than 2^26 points of a Func");
    }
    return n;
  }
  [[nodiscard]] std::size_t index(const Point& p) const {
    std::int64_t i = 0;
    for (std::size_t d = p.size(); d-- > 0;) i = i * (high[d] - low[d]) + (p[d] - low[d]);
    return static_cast<std::size_t>(i);
  }
  void include(const Point& p) {
    for (std::size_t d = 0; d < p.size(); ++d) {
      low[d] = std::min(low[d], p[d]);
      high[d] = std::max(high[d], p[d] + 1);
    }
  }
  static Corners at(const Point& p) {
    Corners c;
    c.low = p;
    for (std::size_t d = 0; d < p.size(); ++d) c.high[d] = p[d] + 1;
    return c;
  }
  void for_each(const std::function<void(const Point&)>& fn) const {
    for (std::size_t d = 0; d < low.size(); ++d) {
      if (high[d] <= low[d]) return;
    }
    Point p = low;
    for (;;) {
      fn(p);
      std::size_t d = 0;
      while (d < p.size() && ++p[d] == high[d]) {
        p[d] = low[d];
        ++d;
      }
      if (d == p.size()) return;
    }
  }
};

/// The values of one Func that are known so far, in a box that grows as points are asked for.
class Memo {
 public:
  explicit Memo(std::size_t values) : values_(values) {}

  /// The Tuple at `p`, or null. Valid until the next put().
  [[nodiscard]] const Value* find(const Point& p) const {
    if (!box_ || !box_->contains(p)) return nullptr;
    const std::size_t i = box_->index(p);
    return known_[i] != 0 ? &data_[i * values_] : nullptr;
  }
  void put(const Point& p, const std::vector<Value>& tuple) {
    if (!box_ || !box_->contains(p)) grow_to(p);
    const std::size_t i = box_->index(p);
    known_[i] = 1;
    std::copy(tuple.begin(), tuple.end(), data_.begin() + static_cast<std::ptrdiff_t>(i * values_));
  }

 private:
  void grow_to(const Point& p) {
    Corners bigger = box_ ? *box_ : Corners::at(p);
    for (std::size_t d = 0; d < p.size(); ++d) {
      const std::int64_t room = (bigger.high[d] - bigger.low[d]) / 2;
      if (p[d] < bigger.low[d]) bigger.low[d] = p[d] - room;
      if (p[d] >= bigger.high[d]) bigger.high[d] = p[d] + 1 + room;
    }
    const auto points = static_cast<std::size_t>(bigger.points());
    std::vector<std::uint8_t> known(points);
    std::vector<Value> data(points * values_);
    if (box_) {
      box_->for_each([&](const Point& q) {
        const std::size_t from = box_->index(q);
        const std::size_t to = bigger.index(q);
        known[to] = known_[from];
        for (std::size_t v = 0; v < values_; ++v) data[to * values_ + v] = data_[from * values_ + v];
      });
    }
    box_ = bigger;
    known_ = std::move(known);
    data_ = std::move(data);
  }

  std::size_t values_;
  std::optional<Corners> box_;
  std::vector<std::uint8_t> known_;
  std::vector<Value> data_;
};

}  // namespace mica::test
