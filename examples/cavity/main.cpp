// cavity: steady flow in a square with a moving lid, beside published velocities.
//
//   cavity
//   cavity --re 100 1000 --intervals 128 --solver red-black
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "examples/cavity/flow.h"
#include "examples/cavity/ghia.h"
#include "examples/cavity/picture.h"
#include "examples/common/program.h"

namespace {

using namespace mica;
using namespace mica::examples;

struct Options {
  std::string picture = "cavity.png", solver = "red-black", target;
  std::int64_t intervals = 64;
  std::vector<double> reynolds = {100, 1000};

  double tolerance = 1e-4, steady = 1e-5, longest = 200;
};

void check(const Options& o) {
  if (o.intervals % 2 != 0) {
    throw UserError("--intervals " + std::to_string(o.intervals) +
                    ": give an even number, so that points lie on the centre lines");
  }
  for (const double re : o.reynolds) {
    if (re >= 1 && re <= 5000) continue;
    throw UserError("--re " + std::to_string(re) + ": Reynolds numbers are 1 to 5000");
  }
  const auto positive = [](const char* name, double value) {
    if (value > 0 && std::isfinite(value)) return;
    throw UserError(std::string(name) + " " + std::to_string(value) + ": it must be more than 0");
  };
  positive("--tolerance", o.tolerance);
  positive("--steady", o.steady);
  positive("--longest", o.longest);
}

class Clock {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// laplace(psi) = -1 from psi = 0 by both methods, without over-relaxation: the factor by which the
/// residual falls in a sweep, over the last half of the digits, beside that of the theory. Whether both
/// are right.
bool compare_solvers(const Options& o, const Target& target) {
  const double of_theory = std::cos(std::numbers::pi / static_cast<double>(o.intervals));
  bool right = true;
  for (const Method method : {Method::Jacobi, Method::RedBlack}) {
    Poisson poisson(method, 1, o.intervals, target);
    Buffer<double> psi(o.intervals + 1, o.intervals + 1), w(o.intervals + 1, o.intervals + 1);
    psi.fill(0);
    w.fill(1);
    const Clock clock;
    const std::int64_t most = 100 * o.intervals * o.intervals;
    const IterationResult half = poisson.solve(psi, w, 1e-3, 10, most);
    const IterationResult rest = poisson.solve(psi, w, 1e-6, 10, most);
    const double factor = std::pow(rest.value / half.value, 1.0 / static_cast<double>(rest.steps));
    const double expected = method == Method::Jacobi ? of_theory : of_theory * of_theory;
    const bool agrees = std::abs((1 - factor) / (1 - expected) - 1) < 0.02;
    right = right && agrees;
    std::printf("solver    %-9s %6lld sweeps to 1e-6 in %.2f s: x %.7f a sweep, in theory %.7f: %s\n",
                method == Method::Jacobi ? "Jacobi" : "red-black",
                static_cast<long long>(half.steps + rest.steps), clock.seconds(), factor, expected,
                agrees ? "right" : "WRONG");
  }
  return right;
}

/// Compares both centre lines with published ones and says what it found; whether they are right.
bool compare(const std::string& whose, const Buffer<double>& stream, const std::vector<PlotPoint>& u,
             const std::vector<PlotPoint>& v, double allowed) {
  const double du = largest_deviation(centre_line(stream, Line::U), u);
  const double dv = largest_deviation(centre_line(stream, Line::V), v);
  const bool right = du <= allowed && dv <= allowed;
  std::printf("          largest deviation from %s: u %.5f, v %.5f, allowed %.5f: %s\n", whose.c_str(),
              du, dv, allowed, right ? "right" : "WRONG");
  return right;
}

/// One flow; false when it is not steady or not the published one.
bool run_flow(const Options& o, double reynolds, const Target& target, std::vector<Flow>& flows) {
  const Method method = o.solver == "jacobi" ? Method::Jacobi : Method::RedBlack;
  Cavity cavity(o.intervals, reynolds, method, target);
  std::printf("Re %-6g steps of %.4f to a steady flow\n", reynolds, cavity.dt());
  std::fflush(stdout);
  const Clock clock;
  const March march = cavity.march(o.steady, o.tolerance, o.longest);
  std::printf("          %s at t = %.1f: %lld steps, %.1f sweeps a step, in %.1f s\n",
              march.steady ? "steady" : "NOT steady", march.time, static_cast<long long>(march.steps),
              static_cast<double>(march.sweeps) / static_cast<double>(march.steps), clock.seconds());
  flows.push_back({reynolds, cavity.stream(), cavity.vorticity()});
  const std::vector<PlotPoint> u = ghia(reynolds, Line::U), v = ghia(reynolds, Line::V);
  if (u.empty()) {
    std::printf("          no published values at this Reynolds number\n");
    return march.steady;
  }
  // Second-order differences: the error falls with h^2, and grows as layers become thinner. The factor
  // is a quarter more than what a run with 128 intervals at Re = 1000 is from `spectral`, 0.0063.
  const double coarse = 128.0 / static_cast<double>(o.intervals);
  const double error = 8e-6 * reynolds * coarse * coarse;
  const Buffer<double>& stream = cavity.stream();
  bool right = compare("Ghia et al.", stream, u, v, error_of_ghia(reynolds) + error);
  const std::vector<PlotPoint> exact_u = spectral(reynolds, Line::U),
                               exact_v = spectral(reynolds, Line::V);
  if (!exact_u.empty()) {
    right = compare("Botella & Peyret", stream, exact_u, exact_v, error) && right;
  }
  return march.steady && right;
}

void run(const Options& o) {
  const Target target = target_of(o.target);
  std::printf("target    %s (%s), %lld x %lld points\n", to_string(target).c_str(),
              device_for(target)->name().c_str(), static_cast<long long>(o.intervals + 1),
              static_cast<long long>(o.intervals + 1));
  bool right = compare_solvers(o, target);
  std::vector<Flow> flows;
  for (const double reynolds : o.reynolds) right = run_flow(o, reynolds, target, flows) && right;
  draw_flows(o.picture, flows);
  std::printf("picture   %s: stream lines and centre lines\n", o.picture.c_str());
  if (!right) throw Error("the results are not those that are known");
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app("Lid-driven cavity flow, vorticity and stream function, beside Ghia, Ghia & Shin (1982)",
               "cavity");
  app.footer("Example: cavity --re 100 1000 --intervals 128 --picture cavity.png");
  app.add_option("--re", o.reynolds, "Reynolds numbers")->expected(1, 4)->capture_default_str();
  app.add_option("--intervals", o.intervals, "intervals along a wall, an even number")
      ->check(CLI::Range(std::int64_t{8}, std::int64_t{1024}))
      ->capture_default_str();
  app.add_option("--solver", o.solver, "of the stream function; red-black is over-relaxed")
      ->check(CLI::IsMember({"jacobi", "red-black"}))
      ->capture_default_str();
  app.add_option("--tolerance", o.tolerance,
                 "residual of the stream function, |laplace(psi) + vorticity|")
      ->capture_default_str();
  app.add_option("--steady", o.steady, "change of the stream function in a unit of time at the end")
      ->capture_default_str();
  app.add_option("--longest", o.longest, "units of time after which to give up")->capture_default_str();
  add_usual_options(app, o.target, o.picture);
  return run_program(app, argc, argv, [&] {
    check(o);
    run(o);
  });
}
