#include "tests/ported/programs.h"

namespace mica::test {

const std::vector<std::vector<int>>& d3q19_velocities() {
  static const std::vector<std::vector<int>> velocities = [] {
    std::vector<std::vector<int>> all;
    // At rest, then along the axes, then along the diagonals of the faces.
    for (int length = 0; length < 3; ++length) {
      for (int z = -1; z <= 1; ++z) {
        for (int y = -1; y <= 1; ++y) {
          for (int x = -1; x <= 1; ++x) {
            if (x * x + y * y + z * z == length) all.push_back({x, y, z});
          }
        }
      }
    }
    return all;
  }();
  return velocities;
}

double d3q19_weight(int i) { return i == 0 ? 1.0 / 3.0 : i < 7 ? 1.0 / 18.0 : 1.0 / 36.0; }

Ported d3q19(float tau) {
  const Var x("x"), y("y"), z("z");
  const ImageParam f(Float(32), 4, "f");
  const auto& c = d3q19_velocities();
  const int count = static_cast<int>(c.size());

  Func streamed("streamed");
  std::vector<Expr> arriving;
  for (int i = 0; i < count; ++i) {
    const auto& v = c[static_cast<std::size_t>(i)];
    arriving.push_back(f(x - v[0], y - v[1], z - v[2], i));
  }
  streamed(x, y, z) = Tuple(arriving);

  const auto moment = [&](int axis) {
    Expr sum;
    for (int i = 0; i < count; ++i) {
      const int v = axis < 0 ? 1 : c[static_cast<std::size_t>(i)][static_cast<std::size_t>(axis)];
      if (v == 0) continue;
      const Expr term = v * streamed(x, y, z)[i];
      sum = sum.defined() ? sum + term : term;
    }
    return sum;
  };
  Func density("density"), u("u"), v("v"), w("w");
  density(x, y, z) = moment(-1);
  u(x, y, z) = moment(0) / density(x, y, z);
  v(x, y, z) = moment(1) / density(x, y, z);
  w(x, y, z) = moment(2) / density(x, y, z);

  const Expr ux = u(x, y, z), uy = v(x, y, z), uz = w(x, y, z);
  const Expr square = ux * ux + uy * uy + uz * uz;
  std::vector<Expr> relaxed;
  for (int i = 0; i < count; ++i) {
    const auto& e = c[static_cast<std::size_t>(i)];
    const Expr along = e[0] * ux + e[1] * uy + e[2] * uz;
    const Expr equilibrium = static_cast<float>(d3q19_weight(i)) * density(x, y, z) *
                             (1.0F + 3.0F * along + 4.5F * along * along - 1.5F * square);
    const Expr old = streamed(x, y, z)[i];
    relaxed.push_back(old + (equilibrium - old) / tau);
  }
  Func next("next");
  next(x, y, z) = Tuple(relaxed);
  return {next, {f}};
}

}  // namespace mica::test
