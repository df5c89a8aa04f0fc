// Steps, sweeps and filters of whole programs. Those of examples are the examples' own.
#include "bench/algorithm_families.h"
#include "examples/cavity/relaxation.h"
#include "examples/local_laplacian/filter.h"

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

}  // namespace

AlgorithmMakers programs() {
  return {{"jacobi2d-steps", jacobi2d_steps},
          {"cfd-jacobi", cfd_jacobi},
          {"cfd-red-black", cfd_red_black},
          {"local-laplacian", local_laplacian}};
}

}  // namespace mica::bench
