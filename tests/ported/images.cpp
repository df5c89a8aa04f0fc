#include <cmath>
#include <functional>
#include <utility>

#include "tests/ported/programs.h"

namespace mica::test {
namespace {

using namespace BoundaryConditions;

/// Reads a Func of (x, y, rest...) at (i, j, rest...), and defines one.
class Plane {
 public:
  explicit Plane(std::vector<Var> rest) : rest_(std::move(rest)) {}
  Expr at(const Func& f, const Expr& i, const Expr& j) const { return f(args(i, j)); }
  void define(const Func& f, const Expr& value) const { f(args(Var("x"), Var("y"))) = value; }

 private:
  [[nodiscard]] std::vector<Expr> args(const Expr& i, const Expr& j) const {
    std::vector<Expr> all{i, j};
    all.insert(all.end(), rest_.begin(), rest_.end());
    return all;
  }
  std::vector<Var> rest_;
};

/// Half the size: weights 1 3 3 1 in both directions.
Func downsample(const Func& f, const Plane& plane) {
  const Var x("x"), y("y");
  Func across("down_x"), down("down");
  plane.define(across,
               (plane.at(f, 2 * x - 1, y) + 3.0F * (plane.at(f, 2 * x, y) + plane.at(f, 2 * x + 1, y)) +
                plane.at(f, 2 * x + 2, y)) /
                   8.0F);
  plane.define(down, (plane.at(across, x, 2 * y - 1) +
                      3.0F * (plane.at(across, x, 2 * y) + plane.at(across, x, 2 * y + 1)) +
                      plane.at(across, x, 2 * y + 2)) /
                         8.0F);
  return down;
}

/// Twice the size, linear in between.
Func upsample(const Func& f, const Plane& plane) {
  const Var x("x"), y("y");
  Func across("up_x"), up("up");
  plane.define(across, 0.25F * plane.at(f, x / 2 - 1 + 2 * (x % 2), y) + 0.75F * plane.at(f, x / 2, y));
  plane.define(
      up, 0.25F * plane.at(across, x, y / 2 - 1 + 2 * (y % 2)) + 0.75F * plane.at(across, x, y / 2));
  return up;
}

}  // namespace

Ported bilateral_grid(int cell, float step) {
  const Var x("x"), y("y"), z("z"), c("c");
  const ImageParam input(Float(32), 2, "input");
  const Func clamped = repeat_edge(input);

  const RDom r({{0, cell}, {0, cell}});
  const Expr value = clamp(clamped(x * cell + r.x - cell / 2, y * cell + r.y - cell / 2), 0.0F, 1.0F);
  const Expr bin = cast(Int(32), value * (1.0F / step) + 0.5F);
  Func histogram("histogram");
  histogram(x, y, z, c) = 0.0F;
  histogram(x, y, bin, c) += select(c == 0, value, 1.0F);

  const auto blur = [](const std::function<Expr(int)>& tap) {
    return tap(-2) + tap(-1) * 4.0F + tap(0) * 6.0F + tap(1) * 4.0F + tap(2);
  };
  Func blurz("blurz"), blurx("blurx"), blury("blury");
  blurz(x, y, z, c) = blur([&](int i) { return Expr(histogram(x, y, z + i, c)); });
  blurx(x, y, z, c) = blur([&](int i) { return Expr(blurz(x + i, y, z, c)); });
  blury(x, y, z, c) = blur([&](int i) { return Expr(blurx(x, y + i, z, c)); });

  const Expr here = clamp(input(x, y), 0.0F, 1.0F);
  const Expr zv = here * (1.0F / step);
  const Expr zi = cast(Int(32), zv);
  const Expr zf = zv - cast(Float(32), zi);
  const Expr xf = cast(Float(32), x % cell) / static_cast<float>(cell);
  const Expr yf = cast(Float(32), y % cell) / static_cast<float>(cell);
  const Expr xi = x / cell, yi = y / cell;
  const auto mix = [](const Expr& a, const Expr& b, const Expr& t) { return a + (b - a) * t; };
  Func interpolated("interpolated");
  interpolated(x, y, c) =
      mix(mix(mix(blury(xi, yi, zi, c), blury(xi + 1, yi, zi, c), xf),
              mix(blury(xi, yi + 1, zi, c), blury(xi + 1, yi + 1, zi, c), xf), yf),
          mix(mix(blury(xi, yi, zi + 1, c), blury(xi + 1, yi, zi + 1, c), xf),
              mix(blury(xi, yi + 1, zi + 1, c), blury(xi + 1, yi + 1, zi + 1, c), xf), yf),
          zf);
  Func out("bilateral_grid");
  out(x, y) = interpolated(x, y, 0) / interpolated(x, y, 1);
  return {out, {input}};
}

Ported local_laplacian(int levels, int steps, float alpha, float beta) {
  const Var x("x"), y("y"), c("c"), k("k");
  const ImageParam input(UInt(16), 3, "input");
  const auto n = static_cast<std::size_t>(levels);
  const Func clamped = repeat_edge(input);
  Func floating("floating"), gray("gray");
  floating(x, y, c) = cast(Float(32), clamped(x, y, c)) / 65535.0F;
  gray(x, y) = 0.299F * floating(x, y, 0) + 0.587F * floating(x, y, 1) + 0.114F * floating(x, y, 2);

  Func remap("remap");
  const Expr fx = cast(Float(32), x) / 256.0F;
  remap(x) = alpha * fx * exp(-fx * fx / 2.0F);

  std::vector<Func> g(n), gray_levels(n), lap(n), out_lap(n), out(n);
  const Expr level = k * (1.0F / static_cast<float>(steps - 1));
  Expr index = cast(Int(32), gray(x, y) * static_cast<float>(steps - 1) * 256.0F);
  index = clamp(index, 0, (steps - 1) * 256);
  g[0] = Func("g0");
  g[0](x, y, k) = beta * (gray(x, y) - level) + level + remap(index - 256 * k);
  gray_levels[0] = gray;
  for (std::size_t j = 1; j < n; ++j) {
    g[j] = downsample(g[j - 1], Plane({k}));
    gray_levels[j] = downsample(gray_levels[j - 1], Plane(std::vector<Var>{}));
  }
  lap[n - 1] = g[n - 1];
  for (std::size_t j = n - 1; j-- > 0;) {
    lap[j] = Func("lap" + std::to_string(j));
    lap[j](x, y, k) = g[j](x, y, k) - upsample(g[j + 1], Plane({k}))(x, y, k);
  }
  for (std::size_t j = 0; j < n; ++j) {
    const Expr at = gray_levels[j](x, y) * static_cast<float>(steps - 1);
    const Expr li = clamp(cast(Int(32), at), 0, steps - 2);
    const Expr lf = at - cast(Float(32), li);
    out_lap[j] = Func("out_lap" + std::to_string(j));
    out_lap[j](x, y) = (1.0F - lf) * lap[j](x, y, li) + lf * lap[j](x, y, li + 1);
  }
  out[n - 1] = out_lap[n - 1];
  for (std::size_t j = n - 1; j-- > 0;) {
    out[j] = Func("out" + std::to_string(j));
    out[j](x, y) = upsample(out[j + 1], Plane(std::vector<Var>{}))(x, y) + out_lap[j](x, y);
  }
  Func result("local_laplacian");
  const float eps = 0.01F;
  const Expr colour = out[0](x, y) * (floating(x, y, c) + eps) / (gray(x, y) + eps);
  result(x, y, c) = cast(UInt(16), clamp(colour, 0.0F, 1.0F) * 65535.0F);
  return {result, {input}};
}

Ported harris() {
  const Var x("x"), y("y");
  const ImageParam grey(Float(32), 2, "grey");
  Func ix("ix"), iy("iy"), ixx("ixx"), ixy("ixy"), iyy("iyy");
  ix(x, y) = (grey(x + 1, y - 1) - grey(x - 1, y - 1)) / 12.0F +
             (grey(x + 1, y) - grey(x - 1, y)) / 6.0F +
             (grey(x + 1, y + 1) - grey(x - 1, y + 1)) / 12.0F;
  iy(x, y) = (grey(x - 1, y + 1) - grey(x - 1, y - 1)) / 12.0F +
             (grey(x, y + 1) - grey(x, y - 1)) / 6.0F +
             (grey(x + 1, y + 1) - grey(x + 1, y - 1)) / 12.0F;
  ixx(x, y) = ix(x, y) * ix(x, y);
  ixy(x, y) = ix(x, y) * iy(x, y);
  iyy(x, y) = iy(x, y) * iy(x, y);
  const RDom r({{-1, 3}, {-1, 3}});
  Func sxx("sxx"), sxy("sxy"), syy("syy"), corners("harris");
  sxx(x, y) = sum(r, ixx(x + r.x, y + r.y));
  sxy(x, y) = sum(r, ixy(x + r.x, y + r.y));
  syy(x, y) = sum(r, iyy(x + r.x, y + r.y));
  const Expr determinant = sxx(x, y) * syy(x, y) - sxy(x, y) * sxy(x, y);
  const Expr trace = sxx(x, y) + syy(x, y);
  corners(x, y) = determinant - 0.04F * trace * trace;
  return {corners, {grey}};
}

Ported unsharp() {
  const Var x("x"), y("y"), c("c");
  const ImageParam input(Float(32), 3, "input");
  const Func clamped = repeat_edge(input);
  const auto weight = [](int i) {
    const float sigma = 1.5F;
    return std::exp(-static_cast<float>(i * i) / (2 * sigma * sigma)) /
           (std::sqrt(2.0F * 3.14159265F) * sigma);
  };
  const auto blur = [&](const Func& f, int dx, int dy) {
    Expr sum = weight(0) * f(x, y, c);
    for (int i = 1; i <= 3; ++i) {
      sum += weight(i) * (f(x - i * dx, y - i * dy, c) + f(x + i * dx, y + i * dy, c));
    }
    return sum;
  };
  Func down("blur_y"), blurred("blur"), sharp("unsharp");
  down(x, y, c) = blur(clamped, 0, 1);
  blurred(x, y, c) = blur(down, 1, 0);
  sharp(x, y, c) = 2.0F * clamped(x, y, c) - blurred(x, y, c);
  return {sharp, {input}};
}

Ported sweeps(int count) {
  const Var x("x"), y("y");
  const ImageParam u(Float(32), 2, "u");
  Func f("sweep");
  f(x, y) = u(x, y);
  for (int i = 0; i < count; ++i) {
    Func next("sweep");
    next(x, y) = 0.25F * (f(x - 1, y) + f(x + 1, y) + f(x, y - 1) + f(x, y + 1));
    f = next;
  }
  return {f, {u}};
}

}  // namespace mica::test
