#include <string>

#include "tests/ported/programs.h"

namespace mica::test {
namespace {

const Var x("x"), y("y"), z("z");

/// The point that is `by` away along `axis`.
std::vector<Expr> beside(int axis, int by) {
  std::vector<Expr> at{x, y, z};
  if (by != 0) at[static_cast<std::size_t>(axis)] = at[static_cast<std::size_t>(axis)] + by;
  return at;
}

}  // namespace

YeeHalf yee_half(bool magnetic) {
  const std::string axes = "xyz";
  const char changing = magnetic ? 'h' : 'e', driving = magnetic ? 'e' : 'h';
  const auto name = [&](char field, int axis) {
    return std::string{field, axes[static_cast<std::size_t>(axis)]};
  };
  YeeHalf half;
  // Walls of metal at the far sides, of their magnetic like at the near ones.
  std::vector<Func>& around = half.around;
  for (int axis = 0; axis < 3; ++axis) {
    half.driving.emplace_back(Float(32), 3, name(driving, axis));
    around.push_back(BoundaryConditions::constant_exterior(half.driving.back(), 0.0F));
    half.decay.emplace_back(Float(32), 1, "decay_" + axes.substr(static_cast<std::size_t>(axis), 1));
    half.gain.emplace_back(Float(32), 1, "gain_" + axes.substr(static_cast<std::size_t>(axis), 1));
  }
  // The derivative of a component halfway between its points, which is where it is needed.
  const auto derivative = [&](int component, int axis) {
    const Func& f = around[static_cast<std::size_t>(component)];
    return magnetic ? f(beside(axis, 1)) - f(beside(axis, 0)) : f(beside(axis, 0)) - f(beside(axis, -1));
  };
  // What the layer remembers of a derivative along its axis.
  const auto memory_of = [&](int component, int axis) {
    const auto a = static_cast<std::size_t>(axis);
    const ImageParam before(Float(32), 3, "psi_" + name(driving, component) + "_d" + axes[a]);
    Func psi("new_" + before.name());
    const Expr place = beside(axis, 0)[a];
    psi(x, y, z) =
        half.decay[a](place) * before(x, y, z) + half.gain[a](place) * derivative(component, axis);
    half.changing.push_back(before);
    half.outputs.push_back(psi);
    return psi;
  };
  std::vector<Func> fields;
  std::vector<ImageParam> before;
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    const Func psi_j = memory_of(k, j), psi_k = memory_of(j, k);
    const Expr curl = derivative(k, j) + psi_j(x, y, z) - (derivative(j, k) + psi_k(x, y, z));
    before.emplace_back(Float(32), 3, name(changing, i));
    Func next("new_" + before.back().name());
    const Expr old = before.back()(x, y, z);
    if (magnetic) {
      next(x, y, z) = old - half.dt * curl;
    } else if (i < 2) {
      next(x, y, z) = old + half.dt * curl;
    } else {
      const Expr here = x == half.source[0] && y == half.source[1] && z == half.source[2];
      next(x, y, z) = old + half.dt * curl + select(here, half.pulse, 0.0F);
    }
    fields.push_back(next);
  }
  half.changing.insert(half.changing.end(), before.begin(), before.end());
  half.outputs.insert(half.outputs.end(), fields.begin(), fields.end());
  return half;
}

}  // namespace mica::test
