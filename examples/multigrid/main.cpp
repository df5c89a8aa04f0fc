// multigrid: a Poisson problem with variable coefficient by multigrid, to second order in one F-cycle.
//
//   multigrid
//   multigrid --cells 256 --smoother red-black --coefficient constant --picture multigrid.png
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "examples/common/copy_speed.h"
#include "examples/common/program.h"
#include "examples/multigrid/multigrid.h"
#include "examples/multigrid/picture.h"

namespace {

using namespace mica;
using namespace mica::examples;

constexpr std::int64_t kFewestCells = 16, kMostCells = 1024, kLargestCoarsest = 16;
constexpr std::int64_t kFewestCycled = 8;  // of the grids on which V-cycles are run
constexpr int kFewestLevels = 3, kMostLevels = 11;
// After fewer the error is not that of the discretisation alone.
constexpr int kFewestCycles = 6;
constexpr double kLeastFactor = 9, kOrderOff = 0.25, kMoreError = 1.5;

struct Options {
  std::string smoother = "chebyshev", coefficient = "variable", picture = "multigrid.png", target;
  std::int64_t cells = 64;
  int levels = 0, degree = 4, sweeps = 0, cycles = 8;

  [[nodiscard]] Smoothing smoothing() const {
    const bool chebyshev = smoother == "chebyshev";
    const int enough = chebyshev && degree == 4 ? 1 : 2;
    return {chebyshev ? Smoother::Chebyshev : Smoother::RedBlack, degree, sweeps > 0 ? sweeps : enough};
  }
  [[nodiscard]] Coefficient beta() const {
    return coefficient == "constant" ? Coefficient::Constant : Coefficient::Variable;
  }
};

/// How often n can be halved, and once more.
int most_levels(std::int64_t n) {
  int levels = 1;
  for (; n % 2 == 0; n /= 2) ++levels;
  return levels;
}

void check(const Options& o) {
  const int most = most_levels(o.cells),
            levels = o.levels > 0 ? o.levels : std::max(most, kFewestLevels);
  if (levels > most) {
    throw UserError("--cells " + std::to_string(o.cells) + ": they can be halved " +
                    std::to_string(most - 1) + " times, and " + std::to_string(levels) +
                    " levels ask for " + std::to_string(levels - 1) +
                    ": give a power of two, or a small number times one");
  }
  const std::int64_t coarsest = o.cells >> (levels - 1);
  if (coarsest > kLargestCoarsest) {
    throw UserError("--cells " + std::to_string(o.cells) + " on " + std::to_string(levels) +
                    " levels: the coarsest grid has " + std::to_string(coarsest) +
                    " cells along a side, and may have " + std::to_string(kLargestCoarsest) +
                    ": give more levels, or cells that can be halved more often");
  }
}

/// Makes grids of any size for one set of options.
class Solver {
 public:
  Solver(const Options& o, const Target& target)
      : options_(o),
        target_(target),
        problem_(o.beta(), target),
        kernels_(o.beta(), o.smoothing().smoother, target) {}
  [[nodiscard]] const Problem& problem() const { return problem_; }
  /// With as many levels less as it is coarser than the finest grid.
  [[nodiscard]] std::unique_ptr<Multigrid> on(std::int64_t n) {
    int levels = options_.levels > 0 ? options_.levels : most_levels(options_.cells);
    for (std::int64_t finer = n; finer < options_.cells; finer *= 2) --levels;
    return std::make_unique<Multigrid>(kernels_, problem_, options_.smoothing(), n, levels, target_);
  }

 private:
  Options options_;
  Target target_;
  Problem problem_;
  Kernels kernels_;
};

/// V-cycles from u = 0 to about what rounding leaves; whether the residual falls as it should in each.
bool check_v_cycles(Multigrid& grid, int cycles, History& history) {
  history = {grid.cells(), {grid.residual()}};
  std::printf("V-cycle   %4lld^3 cells: residual lower by", static_cast<long long>(history.n));
  double least = INFINITY;
  bool right = true;
  for (int i = 0; i < cycles && history.residuals.back() > 100 * grid.rounding(); ++i) {
    grid.v_cycle();
    history.residuals.push_back(grid.residual());
    const double factor = history.residuals[history.residuals.size() - 2] / history.residuals.back();
    std::printf(" %.1f", factor);
    right = right && factor >= kLeastFactor;
    least = std::min(least, factor);
  }
  right = right && history.residuals.size() > 1;
  std::printf(" a cycle\n          from %.4e to %.4e, by %.1f at least, expected %.0f: %s\n",
              history.residuals.front(), history.residuals.back(), least, kLeastFactor,
              right ? "right" : "WRONG");
  std::fflush(stdout);
  return right;
}

/// One F-cycle on each of two grids; whether its error is about that of the discretisation, of which
/// `converged` is the one on the finer grid, and falls with h^2.
bool check_f_cycle(Multigrid& coarse, Multigrid& fine, double converged) {
  coarse.f_cycle();
  fine.f_cycle();
  const double before = coarse.error(), error = fine.error(), order = std::log2(before / error);
  bool right = std::abs(order - 2) <= kOrderOff;
  std::printf("F-cycle   error %.3e on %lld^3 cells, %.3e on %lld^3: order %.2f, expected 2: %s\n",
              before, static_cast<long long>(coarse.cells()), error,
              static_cast<long long>(fine.cells()), order, right ? "right" : "WRONG");
  const bool near = error <= kMoreError * converged;
  std::printf("          the discretisation alone %.3e: %.2f of that, at most %.1f: %s\n", converged,
              error / converged, kMoreError, near ? "right" : "WRONG");
  return right && near;
}

/// Seconds that `run` takes, of as many as take about a quarter of a second.
double seconds_of(const Target& target, const std::function<void()>& run) {
  const auto measured = [&](int times) {
    GpuTimer timer(target);
    timer.start();
    for (int i = 0; i < times; ++i) run();
    timer.stop();
    return timer.milliseconds() * 1e-3;
  };
  run();
  const int times = std::clamp(static_cast<int>(0.25 / measured(1)), 1, 200);
  return measured(times) / times;
}

void print_speed(Multigrid& grid, const Target& target) {
  const auto n = static_cast<double>(grid.cells());
  const double cells = n * n * n;
  // As many bytes as the finest grid has in a few arrays, and at most 4 GB.
  const double copied = std::min(cells * 6 * sizeof(double), 4e9);
  const double copy = copy_bandwidth(target, static_cast<std::size_t>(copied));
  std::printf("copy      %.1f GB/s\n", copy * 1e-9);
  const auto print = [&](const char* name, const Chain& chain, const std::function<void()>& run) {
    const double rate = cells / seconds_of(target, run), bytes = chain.bytes() / cells;
    std::printf(
        "%s   %.3g ms, %zu runs: %.5g million unknowns a second; a copy of the %.0f bytes of each "
        "would be %.5g: %.0f %%\n",
        name, cells / rate * 1e3, chain.runs(), rate * 1e-6, bytes, copy / bytes * 1e-6,
        100 * rate * bytes / copy);
  };
  print("V-cycle", grid.v_chain(), [&] { grid.v_cycle(); });
  print("F-cycle", grid.f_chain(), [&] { grid.f_cycle(); });
}

void run(const Options& o) {
  const Target target = target_of(o.target);
  const Smoothing smoothing = o.smoothing();
  std::printf("target    %s (%s)\n", to_string(target).c_str(), device_for(target)->name().c_str());
  Solver solver(o, target);
  const int levels = o.levels > 0 ? o.levels : most_levels(o.cells);
  std::printf("problem   beta %s, %.2f to %.2f; %lld^3 cells, %d levels\n", o.coefficient.c_str(),
              solver.problem().least(), solver.problem().largest(), static_cast<long long>(o.cells),
              levels);
  if (smoothing.smoother == Smoother::Chebyshev) {
    std::printf("smoother  Chebyshev polynomial of degree %d for eigenvalues %g to %g", smoothing.degree,
                Smoothing::kLeast, Smoothing::kLargest);
  } else {
    std::printf("smoother  red-black Gauss-Seidel, relaxation %g", Smoothing::kRelaxation);
  }
  std::printf(", %d before and %d after\n", smoothing.sweeps, smoothing.sweeps);
  std::fflush(stdout);

  std::vector<History> histories;
  std::unique_ptr<Multigrid> coarse, fine;
  bool right = true;
  for (int level = levels - 2; level >= 0; --level) {
    const std::int64_t n = o.cells >> level;
    if (n < kFewestCycled) continue;
    coarse = std::move(fine);
    fine = solver.on(n);
    histories.emplace_back();
    right = check_v_cycles(*fine, o.cycles, histories.back()) && right;
  }
  const double converged = fine->error();
  const Buffer<double> u = fine->solution().copy();
  right = check_f_cycle(*coarse, *fine, converged) && right;
  print_speed(*fine, target);
  draw(o.picture, histories, u, o.beta() == Coefficient::Variable);
  std::printf("picture   %s: residuals and the solution\n", o.picture.c_str());
  if (!right) throw Error("the results are not those that are known");
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app("-div(beta grad u) = f on a cube by geometric multigrid on cell-centred grids",
               "multigrid");
  app.footer(
      "Example: multigrid --cells 256 --smoother red-black --coefficient constant --picture "
      "multigrid.png");
  app.add_option("--cells", o.cells, "along a side: a power of two, or a small number times one")
      ->check(CLI::Range(kFewestCells, kMostCells))
      ->capture_default_str();
  app.add_option("--levels", o.levels, "grids, each half as fine; without it as many as there can be")
      ->check(CLI::Range(kFewestLevels, kMostLevels));
  app.add_option("--smoother", o.smoother, "before and after the correction from a coarser grid")
      ->check(CLI::IsMember({"chebyshev", "red-black"}))
      ->capture_default_str();
  app.add_option("--degree", o.degree, "of the Chebyshev polynomial")
      ->check(CLI::Range(2, 4))
      ->capture_default_str();
  app.add_option("--sweeps", o.sweeps,
                 "of the smoother, before and after; without it 2, but of degree 4 one")
      ->check(CLI::Range(1, 8));
  app.add_option("--coefficient", o.coefficient, "beta")
      ->check(CLI::IsMember({"constant", "variable"}))
      ->capture_default_str();
  app.add_option("--cycles", o.cycles, "V-cycles, at most")
      ->check(CLI::Range(kFewestCycles, 40))
      ->capture_default_str();
  add_usual_options(app, o.target, o.picture);
  return run_program(app, argc, argv, [&] {
    check(o);
    run(o);
  });
}
