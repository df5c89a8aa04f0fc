#include "examples/multigrid/multigrid.h"

#include <cmath>
#include <numbers>
#include <utility>

#include "examples/multigrid/equation.h"

namespace mica::examples {
namespace {

/// What a solution on the coarsest grid leaves of the error.
constexpr double kCoarsest = 0.01;

/// A number below all eigenvalues of D^-1 A on n^3 cells: the least of A with beta = 1 is
/// 6 (1 - cos(pi / n)) / h^2, and D is at most 9 / h^2, of a cell in a corner, but for a single cell.
double least_eigenvalue(std::int64_t n, const Problem& problem) {
  if (n == 1) return 1;
  const double of_one = 2.0 / 3 * (1 - std::cos(std::numbers::pi / static_cast<double>(n)));
  return of_one * problem.least() / problem.largest();
}

double square(double a) { return a * a; }

}  // namespace

Multigrid::Multigrid(Kernels& kernels, Problem& problem, const Smoothing& smoothing, std::int64_t n,
                     int levels, const Target& target)
    : kernels_(kernels),
      problem_(problem),
      smoothing_(smoothing),
      target_(target),
      v_cycle_(target),
      f_cycle_(target) {
  for (int level = 0; level < levels; ++level) {
    Grid grid;
    grid.n = n >> level;
    grid.u[0] = make_field(grid.n);
    if (smoothing.smoother == Smoother::Chebyshev) grid.u[1] = make_field(grid.n);
    grid.f = make_field(grid.n);
    if (problem.coefficient() == Coefficient::Variable) {
      grid.faces = {make_field(grid.n), make_field(grid.n), make_field(grid.n)};
      if (level == 0) {
        problem.set_faces(grid.faces);
      } else {
        problem.coarsen(grids_.back().faces, grid.faces);
      }
    }
    grids_.push_back(std::move(grid));
  }
  problem.set_right_side(grids_.front().f);
  add_v_cycle(v_cycle_, 0);
  add_f_cycle(f_cycle_);
}

double Multigrid::face_arrays() const { return problem_.coefficient() == Coefficient::Variable ? 3 : 0; }

RunOptions Multigrid::equation_on(const Grid& grid, RunOptions more) const {
  more.inputs.emplace_back(kernels_.u, grid.u[grid.now]);
  more.inputs.emplace_back(kernels_.f, grid.f);
  if (problem_.coefficient() == Coefficient::Variable) {
    more.inputs.emplace_back(kernels_.x, grid.faces.x);
    more.inputs.emplace_back(kernels_.y, grid.faces.y);
    more.inputs.emplace_back(kernels_.z, grid.faces.z);
  }
  return more;
}

void Multigrid::add_chebyshev(Chain& chain, Grid& grid, int degree, double least, double largest) {
  const double h2 = 1 / square(static_cast<double>(grid.n)), arrays = 3 + face_arrays();
  bool first = true;
  for (const ChebyshevStep& step : chebyshev_steps(degree, least, largest)) {
    RunOptions options = equation_on(grid, {.params = {{kernels_.h2, h2}}});
    Buffer<double> out = cells_of(grid.u[1 - grid.now]);
    options.params.emplace_back(kernels_.by_residual, step.by_residual);
    if (first) {
      chain.add(kernels_.first_step.prepare(out, options), arrays * grid.cells());
    } else {
      options.params.emplace_back(kernels_.by_change, step.by_change);
      options.inputs.emplace_back(kernels_.before, grid.u[1 - grid.now]);
      chain.add(kernels_.next_step.prepare(out, options), (arrays + 1) * grid.cells());
    }
    grid.now = 1 - grid.now;
    first = false;
  }
}

// Each color goes through all cache lines of all arrays.
void Multigrid::add_red_black(Chain& chain, Grid& grid, double relaxation) {
  const double h2 = 1 / square(static_cast<double>(grid.n));
  const RunOptions options =
      equation_on(grid, {.params = {{kernels_.h2, h2}, {kernels_.relaxation, relaxation}}});
  chain.add(kernels_.sweep.prepare(grid.u[0], options), 2 * (3 + face_arrays()) * grid.cells());
}

void Multigrid::add_smoothing(Chain& chain, Grid& grid) {
  for (int i = 0; i < smoothing_.sweeps; ++i) {
    if (smoothing_.smoother == Smoother::Chebyshev) {
      add_chebyshev(chain, grid, smoothing_.degree, Smoothing::kLeast, Smoothing::kLargest);
    } else {
      add_red_black(chain, grid, Smoothing::kRelaxation);
    }
  }
}

void Multigrid::add_coarsest(Chain& chain, Grid& grid) {
  const double least = least_eigenvalue(grid.n, problem_);
  const bool chebyshev = smoothing_.smoother == Smoother::Chebyshev;
  if (grid.n == 1) {  // D is A
    return chebyshev ? add_chebyshev(chain, grid, 1, 1, 1) : add_red_black(chain, grid, 1);
  }
  if (chebyshev) {
    const double largest = Smoothing::kLargest;
    const double outside = (largest + least) / (largest - least);
    const double degree = std::ceil(std::acosh(1 / kCoarsest) / std::acosh(outside));
    return add_chebyshev(chain, grid, static_cast<int>(degree), least, largest);
  }
  // The best relaxation, by which a sweep leaves `relaxation - 1` of the error (D. M. Young,
  // Transactions of the American Mathematical Society 76 (1954) 92-111).
  const double relaxation = 2 / (1 + std::sqrt(1 - square(1 - least)));
  const double sweeps = 2 + std::ceil(std::log(kCoarsest) / std::log(relaxation - 1));
  for (int i = 0; i < static_cast<int>(sweeps); ++i) add_red_black(chain, grid, relaxation);
}

void Multigrid::add_v_cycle(Chain& chain, std::size_t level) {
  Grid& grid = grids_[level];
  if (level + 1 == grids_.size()) return add_coarsest(chain, grid);
  Grid& next = grids_[level + 1];
  add_smoothing(chain, grid);

  const double per_h2 = square(static_cast<double>(grid.n));
  Buffer<double> f = cells_of(next.f), zero = cells_of(next.u[next.now]);
  chain.add(kernels_.restrict_residual.prepare(
                {&f, &zero}, equation_on(grid, {.params = {{kernels_.per_h2, per_h2}}})),
            (2 + face_arrays()) * grid.cells() + 2 * next.cells());

  add_v_cycle(chain, level + 1);

  Buffer<double> u = cells_of(grid.u[grid.now]);
  chain.add(kernels_.correct.prepare(
                u, {.inputs = {{kernels_.u, grid.u[grid.now]}, {kernels_.coarse, next.u[next.now]}}}),
            2 * grid.cells() + next.cells());
  add_smoothing(chain, grid);
}

void Multigrid::add_f_cycle(Chain& chain) {
  for (std::size_t level = 0; level + 1 < grids_.size(); ++level) {
    const Grid &grid = grids_[level], &next = grids_[level + 1];
    Buffer<double> f = cells_of(next.f), zero = cells_of(next.u[next.now]);
    chain.add(kernels_.restrict_right_side.prepare({&f, &zero}, {.inputs = {{kernels_.f, grid.f}}}),
              grid.cells() + 2 * next.cells());
  }
  add_coarsest(chain, grids_.back());
  for (std::size_t level = grids_.size() - 1; level-- > 0;) {
    const Grid &grid = grids_[level], &next = grids_[level + 1];
    Buffer<double> u = cells_of(grid.u[grid.now]);
    chain.add(kernels_.interpolate.prepare(u, {.inputs = {{kernels_.coarse, next.u[next.now]}}}),
              grid.cells() + next.cells());
    add_v_cycle(chain, level);
  }
}

double Multigrid::residual() {
  const Grid& grid = grids_.front();
  Buffer<double> total(1);
  kernels_.squares.run(
      total, equation_on(grid, {.params = {{kernels_.per_h2, square(static_cast<double>(grid.n))}}}));
  return std::sqrt(std::as_const(total)(0) / grid.cells());
}

double Multigrid::rounding() const {
  // u is about 1, and a row of A has about 12 beta / h^2 in all.
  const double largest = 12 * problem_.largest() * square(static_cast<double>(grids_.front().n));
  return 0x1p-52 * largest;
}

}  // namespace mica::examples
