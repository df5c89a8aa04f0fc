// Steps, sweeps and filters of whole programs. Those of examples are the examples' own.
#include "bench/algorithm_families.h"
#include "examples/cavity/relaxation.h"
#include "examples/local_laplacian/filter.h"
#include "examples/multigrid/equation.h"

namespace mica::bench {
namespace {

// What a slab goes through between its copies.
Algorithm jacobi2d_steps() {
  constexpr int kSteps = 4;
  Algorithm a{"jacobi2d-steps", "4 steps of 4-point Jacobi with a division, f64",
              Func("next"),     {},
              {kSteps, kSteps}, "jacobi2d/overlapped-copy"};
  Var x("x"), y("y");
  ImageParam u(Float(64), 2, "u");
  const auto step = [&](const auto& from) {
    return (from(x, y - 1) + from(x, y + 1) + from(x - 1, y) + from(x + 1, y)) / 5.5;
  };
  Func now("step1");
  now(x, y) = step(u);
  for (int n = 2; n < kSteps; ++n) {
    Func next("step" + std::to_string(n));
    next(x, y) = step(now);
    now = next;
  }
  a.output(x, y) = step(now);
  a.inputs = {u};
  return a;
}

// Of examples/cavity, on a grid of 1/8192.
constexpr double kSpacing = 1.0 / 8192;

Algorithm cfd_jacobi() {
  ImageParam psi(Float(64), 2, "psi"), w(Float(64), 2, "w");
  return {"cfd-jacobi",
          "a Jacobi sweep of a Poisson equation, f64",
          examples::jacobi_sweep(psi, w, 1, kSpacing),
          {psi, w},
          {1, 1},
          "cfd/jacobi"};
}

Algorithm cfd_red_black() {
  ImageParam psi(Float(64), 2, "psi"), w(Float(64), 2, "w");
  return {"cfd-red-black",
          "a sweep of Gauss-Seidel in red-black order, over-relaxed, f64",
          examples::red_black_sweep(psi, w, 1.5, kSpacing),
          {psi, w},
          {0, 0},
          "cfd/red-black"};
}

// Of examples/local_laplacian.
Algorithm local_laplacian() {
  constexpr int kChannels = 3, kLevels = 6, kSamples = 8;
  examples::Filter filter(kChannels, kLevels, kSamples);
  filter.white.set(65535);
  return {"local-laplacian", "the fast local Laplacian filter of colours, 6 levels and 8 samples, u16",
          filter.result,     {filter.photo},
          {0, 0, 0},         "image/local-laplacian",
          {0, 0, kChannels}};
}

// Of examples/multigrid with beta = 1: a V-cycle on grids of 1, 1/2 and 1/4 as many cells along a side,
// each field a Func.
class VCycle {
 public:
  VCycle() {
    const Field u = read(u_), f = read(f_);
    result_ = cycle(define("start", 0, u), f, 0);
  }
  [[nodiscard]] Algorithm algorithm() const {
    return {"vcycle",  "a V-cycle of a Poisson equation on three grids, Chebyshev smoother, f64",
            result_,   {u_, f_},
            {0, 0, 0}, "multigrid/vcycle"};
  }

 private:
  using Place = examples::Place;
  using Field = examples::Field;
  static constexpr int kGrids = 3, kDegree = 2, kCoarsestDegree = 4;
  static constexpr double kCells = 256, kLeast = 0.2, kLargest = 2;  // h is 1/256 whatever the size

  template <typename Source>
  static Field read(const Source& source) {
    return [source](const Place& at) { return Expr(source(at[0], at[1], at[2])); };
  }
  [[nodiscard]] Place last(int grid) const {
    const auto along = [&](int d) { return Expr(f_.dim(d).extent() / (1 << grid) - 1); };
    return {along(0), along(1), along(2)};
  }
  /// The value of every cell, and 0 beyond the walls.
  Func define(const std::string& name, int grid, const Field& value) const {
    const Place at = {x_, y_, z_}, end = last(grid);
    Place inside;
    Expr is_inside;
    for (std::size_t d = 0; d < 3; ++d) {
      inside[d] = clamp(at[d], 0, end[d]);
      const Expr along = at[d] >= 0 && at[d] <= end[d];
      is_inside = is_inside.defined() ? is_inside && along : along;
    }
    Func func(name + std::to_string(grid));
    func(x_, y_, z_) = select(is_inside, value(inside), 0.0);
    return func;
  }

  /// `u` after a Chebyshev polynomial.
  Func smooth(const Func& u, const Field& f, int grid, int degree) const {
    const double h2 = (1 << 2 * grid) / (kCells * kCells);
    Func now = u, before;
    for (const auto& step : examples::chebyshev_steps(degree, kLeast, kLargest)) {
      const Func next = define("smoothed", grid, [&](const Place& at) {
        const Field field = read(now);
        const Expr here = field(at);
        const Expr change =
            examples::jacobi_of(examples::row_of_ones(field, last(grid), at), h2, f(at)) - here;
        if (!before.defined()) return here + step.by_residual * change;
        return here + step.by_change * (here - read(before)(at)) + step.by_residual * change;
      });
      before = now;
      now = next;
    }
    return now;
  }

  Func cycle(const Func& u, const Field& f, int grid) const {
    if (grid + 1 == kGrids) return smooth(u, f, grid, kCoarsestDegree);
    const Func smoothed = smooth(u, f, grid, kDegree);
    const Field now = read(smoothed);
    const double per_h2 = kCells * kCells / (1 << 2 * grid);
    const auto residual = [&](const Place& at) {
      return examples::residual_of(examples::row_of_ones(now, last(grid), at), per_h2, f(at), now(at));
    };
    const Func coarse_f = define("restricted", grid + 1,
                                 [&](const Place& at) { return examples::mean_of_cells(residual, at); });
    const Func zero = define("zero", grid + 1, [](const Place&) { return Expr(0.0); });
    const Func coarse = cycle(zero, read(coarse_f), grid + 1);
    const Func corrected = define("corrected", grid, [&](const Place& at) {
      return now(at) + examples::between(read(coarse), last(grid), at, examples::linear);
    });
    return smooth(corrected, f, grid, kDegree);
  }

  Var x_{"x"}, y_{"y"}, z_{"z"};
  ImageParam u_{Float(64), 3, "u"}, f_{Float(64), 3, "f"};
  Func result_;
};

}  // namespace

AlgorithmMakers programs() {
  return {{"jacobi2d-steps", jacobi2d_steps},
          {"cfd-jacobi", cfd_jacobi},
          {"cfd-red-black", cfd_red_black},
          {"vcycle", [] { return VCycle().algorithm(); }},
          {"local-laplacian", local_laplacian}};
}

}  // namespace mica::bench
