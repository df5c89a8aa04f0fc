#include "examples/multigrid/problem.h"

#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

namespace mica::examples {
namespace {

constexpr double kTwoPi = 2 * std::numbers::pi;

/// g and its first two derivatives.
Expr g(const Expr& s) { return exp(s) * sin(kTwoPi * s); }
Expr slope(const Expr& s) { return exp(s) * (sin(kTwoPi * s) + kTwoPi * cos(kTwoPi * s)); }
Expr bend(const Expr& s) {
  return exp(s) * ((1 - kTwoPi * kTwoPi) * sin(kTwoPi * s) + 2 * kTwoPi * cos(kTwoPi * s));
}

Expr rise(const Expr& x, const Expr& y, const Expr& z) {
  const auto square = [](const Expr& s) { return (s - 0.5) * (s - 0.5); };
  return tanh(20.0 * (square(x) + square(y) + square(z) - 1.0 / 16));
}
Expr beta(const Expr& x, const Expr& y, const Expr& z) { return 5.5 + 4.5 * rise(x, y, z); }
/// d beta / dx = this times (x - 1/2), and so along y and z.
Expr steepness(const Expr& x, const Expr& y, const Expr& z) {
  const Expr t = rise(x, y, z);
  return 180.0 * (1.0 - t * t);
}

Expr right_side_at(Coefficient coefficient, const Expr& x, const Expr& y, const Expr& z) {
  const Expr laplacian = bend(x) * g(y) * g(z) + g(x) * bend(y) * g(z) + g(x) * g(y) * bend(z);
  if (coefficient == Coefficient::Constant) return -laplacian;
  const Expr along = (x - 0.5) * slope(x) * g(y) * g(z) + (y - 0.5) * g(x) * slope(y) * g(z) +
                     (z - 0.5) * g(x) * g(y) * slope(z);
  return -(beta(x, y, z) * laplacian + steepness(x, y, z) * along);
}

/// The mean of the four faces across axis `d` that face (x, y, z) of the coarser grid consists of.
Expr mean_of_four(const ImageParam& fine, std::size_t d, const std::vector<Expr>& at) {
  Expr total = 0.0;
  for (int k = 0; k < 4; ++k) {
    std::vector<Expr> from = at;
    for (std::size_t e = 0; e < 3; ++e) {
      const int side = e == d ? 0 : e == (d + 1) % 3 ? k % 2 : k / 2;
      from[e] = min(2 * at[e] + side, fine.dim(static_cast<int>(e)).max());
    }
    total = total + fine(from);
  }
  return 0.25 * total;
}

Buffer<double> box(const Buffer<double>& field, std::int64_t more) {
  const std::int64_t n = field.extent(0) - 2 + more;
  return field.cropped({{0, n}, {0, n}, {0, n}});
}

}  // namespace

Buffer<double> make_field(std::int64_t n) {
  auto field = Buffer<double>::with_halo({n, n, n}, {1, 1, 1});
  field.fill(0);
  return field;
}
Buffer<double> cells_of(const Buffer<double>& field) { return box(field, 0); }
Buffer<double> faces_of(const Buffer<double>& field) { return box(field, 1); }

Problem::Problem(Coefficient coefficient, const Target& target)
    : coefficient_(coefficient),
      u_(Float(64), 3, "u"),
      x_(Float(64), 3, "x_faces"),
      y_(Float(64), 3, "y_faces"),
      z_(Float(64), 3, "z_faces") {
  Var x("x"), y("y"), z("z");
  const auto middle = [&](const Expr& i) { return (cast<double>(i) + 0.5) * h_; };
  const auto corner = [&](const Expr& i) { return cast<double>(i) * h_; };
  const auto spread = [&](Func& f) {
    if (target.is_gpu()) f.gpu_tile(x, y, z, 32, 4, 1);
  };

  Func right_side("right_side"), faces("faces"), coarser("coarser"), error("error");
  right_side(x, y, z) = right_side_at(coefficient, middle(x), middle(y), middle(z));
  spread(right_side);
  right_side_ = compile(right_side, target);

  const auto doubled = [&](const Expr& i, const Expr& value) {
    return select(i == 0 || i == cells_, 2.0 * value, value);
  };
  faces(x, y, z) = Tuple(doubled(x, beta(corner(x), middle(y), middle(z))),
                         doubled(y, beta(middle(x), corner(y), middle(z))),
                         doubled(z, beta(middle(x), middle(y), corner(z))));
  spread(faces);
  faces_ = compile(faces, target);

  const std::vector<Expr> at = {x, y, z};
  coarser(x, y, z) = Tuple(mean_of_four(x_, 0, at), mean_of_four(y_, 1, at), mean_of_four(z_, 2, at));
  spread(coarser);
  coarser_ = compile(coarser, target);

  RDom r({{0, u_.width() - 2}, {0, u_.width() - 2}, {0, u_.width() - 2}});
  const Expr off = u_(r.x, r.y, r.z) - g(middle(r.x)) * g(middle(r.y)) * g(middle(r.z));
  error() = sum(r, off * off);
  error_ = compile(error, target);
}

void Problem::set_right_side(Buffer<double>& f) {
  Buffer<double> cells = cells_of(f);
  right_side_.run(cells, {.params = {{h_, 1 / static_cast<double>(cells.extent(0))}}});
}

void Problem::set_faces(Faces& faces) {
  Buffer<double> x = faces_of(faces.x), y = faces_of(faces.y), z = faces_of(faces.z);
  const std::int64_t n = x.extent(0) - 1;
  faces_.run({&x, &y, &z}, {.params = {{cells_, n}, {h_, 1 / static_cast<double>(n)}}});
}

void Problem::coarsen(const Faces& fine, Faces& coarse) {
  Buffer<double> x = faces_of(coarse.x), y = faces_of(coarse.y), z = faces_of(coarse.z);
  coarser_.run({&x, &y, &z}, {.inputs = {{x_, fine.x}, {y_, fine.y}, {z_, fine.z}}});
}

double Problem::error(const Buffer<double>& u) {
  const auto n = static_cast<double>(u.extent(0) - 2);
  Buffer<double> total(1);
  error_.run(total, {.inputs = {{u_, u}}, .params = {{h_, 1 / n}}});
  return std::sqrt(std::as_const(total)(0) / (n * n * n));
}

double Problem::least() const {
  return coefficient_ == Coefficient::Constant ? 1 : 5.5 + 4.5 * std::tanh(-20.0 / 16);
}
double Problem::largest() const {
  return coefficient_ == Coefficient::Constant ? 1 : 5.5 + 4.5 * std::tanh(20 * (0.75 - 1.0 / 16));
}

}  // namespace mica::examples
