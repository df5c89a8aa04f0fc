// Where an axis has its ticks and what they say.
#pragma once

#include <string>
#include <vector>

#include "tools/pictures/plot.h"

namespace mica::pictures {

struct Tick {
  double share = 0;   ///< of the way from `from` to `to`
  std::string words;  ///< empty: a short tick
};

/// An axis as it is drawn: ends that differ, its ticks, and its label with the power of ten that is left
/// out of the ticks, if there is one.
class DrawnAxis {
 public:
  /// `room`: about how many ticks with words there is room for.
  DrawnAxis(const Axis& axis, int room);
  /// How far `value` is on the way from `from` to `to`; NaN where a logarithm has none.
  [[nodiscard]] double share(double value) const;
  [[nodiscard]] const std::vector<Tick>& ticks() const { return ticks_; }
  [[nodiscard]] const std::string& label() const { return label_; }
  [[nodiscard]] double from() const { return axis_.from; }
  [[nodiscard]] double to() const { return axis_.to; }

 private:
  void given_ticks();
  void linear_ticks(int room);
  void decades(int room);

  Axis axis_;
  std::string label_;
  std::vector<Tick> ticks_;
};

}  // namespace mica::pictures
