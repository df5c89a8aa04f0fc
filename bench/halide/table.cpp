// One table: what a user of Halide 14 would port first, in both languages from the same text, under the
// same schedules, interleaved in one process; the best schedule of each against the other.
//   halide_table [rounds] [threads] [words of names...]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include <omp.h>
#include <unistd.h>

#include "bench/halide/local_laplacian.h"
#include "bench/halide/peers.h"
#include "bench/halide/plain_loops.h"

namespace {

using namespace peers;

/// Schedules of one Func: by rows, in parallel or not, with vectors of several widths.
template <typename Func, typename Var>
void schedule_rows(Func& f, const Var& x, const Var& rows, int s, bool parallel) {
  if (s == kNoSchedule) return;
  f.vectorize(x, s == 0 ? 8 : s == 1 ? 16 : 32);
  if (parallel) f.parallel(rows);
}

bool wanted(const std::string& name, int argc, char** argv) {
  if (argc <= 3) return true;
  return std::any_of(argv + 3, argv + argc,
                     [&](const char* word) { return name.find(word) != std::string::npos; });
}

constexpr int kWidth = 2560, kHeight = 1536;

void point_cases(int rounds, bool parallel, int argc, char** argv) {
  const Memory image = memory<float>({0, 0}, {kWidth, kHeight});
  const Memory out = memory<float>({0, 0}, {kWidth, kHeight});
  if (wanted("f32-i32-f32", argc, argv)) {
    compare<float, float>(
        "f32-i32-f32", image, out, 3, rounds, true,
        [&](auto l, auto& u, int s) {
          using L = decltype(l);
          typename L::Var x("x"), y("y");
          typename L::Func f("f");
          f(x, y) = cast<float>(cast<std::int32_t>(u(x, y) * 1.5f) * 3 + 1);
          schedule_rows(f, x, y, s, parallel);
          return f;
        },
        plain::f32_i32_f32);
  }
  if (wanted("down-by-2", argc, argv)) {
    const Memory half = memory<float>({0, 0}, {kWidth / 2, kHeight / 2});
    compare<float, float>(
        "down-by-2", image, half, 3, rounds, true,
        [&](auto l, auto& u, int s) {
          using L = decltype(l);
          typename L::Var x("x"), y("y");
          typename L::Func f("f");
          f(x, y) = 0.25f * (u(2 * x, 2 * y) + u(2 * x + 1, 2 * y) + u(2 * x, 2 * y + 1) +
                             u(2 * x + 1, 2 * y + 1));
          schedule_rows(f, x, y, s, parallel);
          return f;
        },
        plain::down_by_2);
  }
  if (wanted("lerp-up-by-2", argc, argv)) {
    const Memory small = memory<float>({0, 0}, {kWidth / 2 + 1, kHeight / 2 + 1});
    compare<float, float>("lerp-up-by-2", small, out, 3, rounds, false, [&](auto l, auto& u, int s) {
      using L = decltype(l);
      typename L::Var x("x"), y("y");
      typename L::Func across("across"), f("f");
      const typename L::Expr wx = cast<float>(x % 2) * 0.5f;
      const typename L::Expr wy = cast<float>(y % 2) * 0.5f;
      across(x, y) = u(x / 2, y) * (1.0f - wx) + u(x / 2 + 1, y) * wx;
      f(x, y) = across(x, y / 2) * (1.0f - wy) + across(x, y / 2 + 1) * wy;
      schedule_rows(f, x, y, s, parallel);
      return f;
    });
  }
  if (wanted("rgb", argc, argv)) {
    const Memory rgb = memory<std::uint8_t>({0, 0, 0}, {kWidth, kHeight, 3}, true);
    const Memory rgb_out = memory<std::uint8_t>({0, 0, 0}, {kWidth, kHeight, 3}, true);
    compare<std::uint8_t, std::uint8_t>(
        "interleaved-rgb", rgb, rgb_out, 3, rounds, true, [&](auto l, auto& u, int s) {
          using L = decltype(l);
          typename L::Var x("x"), y("y"), c("c");
          typename L::Func f("f");
          f(x, y, c) = cast<std::uint8_t>((cast<std::uint16_t>(u(x, y, c)) * 3 + u(x, y, 1)) / 4);
          if (s != kNoSchedule) f.reorder(c, x, y).bound(c, 0, 3).unroll(c);
          schedule_rows(f, x, y, s, parallel);
          return f;
        });
    const Memory grey = memory<std::uint8_t>({0, 0}, {kWidth, kHeight});
    compare<std::uint8_t, std::uint8_t>(
        "grey-of-rgb", rgb, grey, 3, rounds, true,
        [&](auto l, auto& u, int s) {
          using L = decltype(l);
          typename L::Var x("x"), y("y");
          typename L::Func f("f");
          const auto of = [&](int c) { return cast<std::uint16_t>(u(x, y, c)); };
          f(x, y) = cast<std::uint8_t>((of(0) * 77 + of(1) * 151 + of(2) * 28) / 256);
          schedule_rows(f, x, y, s, parallel);
          return f;
        },
        plain::grey_of_rgb);
  }
}

void image_cases(int rounds, bool parallel, int argc, char** argv) {
  const Memory image = memory<float>({0, 0}, {kWidth, kHeight});
  const Memory out = memory<float>({0, 0}, {kWidth, kHeight});
  if (wanted("harris", argc, argv)) {
    const Memory inner = memory<float>({3, 3}, {kWidth - 6, kHeight - 6});
    compare<float, float>("harris", image, inner, 4, rounds, false, [&](auto l, auto& u, int s) {
      using L = decltype(l);
      typename L::Var x("x"), y("y"), yi("yi");
      typename L::Func iy("iy"), ix("ix"), f("f");
      iy(x, y) = u(x - 1, y - 1) * (-1.0f / 12) + u(x - 1, y + 1) * (1.0f / 12) +
                 u(x, y - 1) * (-2.0f / 12) + u(x, y + 1) * (2.0f / 12) +
                 u(x + 1, y - 1) * (-1.0f / 12) + u(x + 1, y + 1) * (1.0f / 12);
      ix(x, y) = u(x - 1, y - 1) * (-1.0f / 12) + u(x + 1, y - 1) * (1.0f / 12) +
                 u(x - 1, y) * (-2.0f / 12) + u(x + 1, y) * (2.0f / 12) +
                 u(x - 1, y + 1) * (-1.0f / 12) + u(x + 1, y + 1) * (1.0f / 12);
      const auto box =
          [&](const std::function<typename L::Expr(typename L::Expr, typename L::Expr)>& e) {
            typename L::Expr total = e(x - 1, y - 1);
            for (int i = 1; i < 9; ++i) total = total + e(x + (i % 3 - 1), y + (i / 3 - 1));
            return total;
          };
      using E = typename L::Expr;
      const E sxx = box([&](E a, E b) -> E { return E(ix(a, b)) * E(ix(a, b)); });
      const E syy = box([&](E a, E b) -> E { return E(iy(a, b)) * E(iy(a, b)); });
      const E sxy = box([&](E a, E b) -> E { return E(ix(a, b)) * E(iy(a, b)); });
      const E trace = sxx + syy;
      f(x, y) = sxx * syy - sxy * sxy - 0.04f * trace * trace;
      if (s == kNoSchedule) return f;
      f.split(y, y, yi, s < 2 ? 32 : 64).vectorize(x, s % 2 ? 16 : 8);
      if (parallel) f.parallel(y);
      ix.store_at(f, y).compute_at(f, yi).vectorize(x, s % 2 ? 16 : 8);
      iy.store_at(f, y).compute_at(f, yi).vectorize(x, s % 2 ? 16 : 8);
      return f;
    });
  }
  if (wanted("unsharp", argc, argv)) {
    compare<float, float>("unsharp", image, out, 4, rounds, false, [&](auto l, auto& u, int s) {
      using L = decltype(l);
      typename L::Var x("x"), y("y"), yi("yi");
      typename L::Func edge = L::edge(u), down("down"), f("f");
      const float k[4] = {0.2659615f, 0.2129653f, 0.1093401f, 0.0359901f};
      down(x, y) = k[0] * edge(x, y) + k[1] * (edge(x, y - 1) + edge(x, y + 1)) +
                   k[2] * (edge(x, y - 2) + edge(x, y + 2)) + k[3] * (edge(x, y - 3) + edge(x, y + 3));
      const typename L::Expr blurred = k[0] * down(x, y) + k[1] * (down(x - 1, y) + down(x + 1, y)) +
                                       k[2] * (down(x - 2, y) + down(x + 2, y)) +
                                       k[3] * (down(x - 3, y) + down(x + 3, y));
      f(x, y) = 2.0f * edge(x, y) - blurred;
      if (s == kNoSchedule) return f;
      f.split(y, y, yi, s < 2 ? 32 : 64).vectorize(x, s % 2 ? 16 : 8);
      if (parallel) f.parallel(y);
      down.compute_at(f, yi).vectorize(x, s % 2 ? 16 : 8);
      return f;
    });
  }
  if (wanted("local-laplacian", argc, argv)) {
    const Memory colours = memory<std::uint16_t>({0, 0, 0}, {kWidth, kHeight, 3});
    compare<std::uint16_t, std::uint16_t>(
        "local-laplacian", colours, colours, 4, std::max(rounds / 4, 3), false,
        [&](auto l, auto& u, int s) { return LocalLaplacian<decltype(l)>(u).scheduled(s, parallel); });
  }
  if (wanted("gray-scott", argc, argv)) {
    compare<float, float>(
        "periodic-5-point", image, out, 3, rounds, false,
        [&](auto l, auto& u, int s) {
          using L = decltype(l);
          typename L::Var x("x"), y("y");
          typename L::Func b = L::periodic(u), f("f");
          f(x, y) =
              b(x, y) + 0.1f * (b(x - 1, y) + b(x + 1, y) + b(x, y - 1) + b(x, y + 1) - 4.0f * b(x, y));
          schedule_rows(f, x, y, s, parallel);
          return f;
        },
        plain::periodic_5_point);
  }
}

void stencil_cases(int rounds, bool parallel, int argc, char** argv) {
  constexpr int n = 256;
  for (const int kind : {7, 25, 27}) {
    const std::string name = std::to_string(kind) + "-point-3d";
    if (!wanted(name, argc, argv)) continue;
    const int reach = kind == 25 ? 4 : 1;
    const Memory in =
        memory<float>({-reach, -reach, -reach}, {n + 2 * reach, n + 2 * reach, n + 2 * reach});
    const Memory out = memory<float>({0, 0, 0}, {n, n, n});
    compare<float, float>(
        name.c_str(), in, out, 7, rounds, false,
        [&](auto l, auto& u, int s) {
          using L = decltype(l);
          typename L::Var x("x"), y("y"), z("z"), yi("yi"), zi("zi");
          typename L::Func f("f");
          typename L::Expr e = 0.4f * u(x, y, z);
          if (kind == 27) {
            for (int i = 0; i < 27; ++i) {
              const int dx = i % 3 - 1, dy = i / 3 % 3 - 1, dz = i / 9 - 1;
              if (i != 13) e = e + (0.1f / static_cast<float>(i + 1)) * u(x + dx, y + dy, z + dz);
            }
          } else {
            for (int r = 1; r <= reach; ++r) {
              e = e +
                  (0.1f / static_cast<float>(r)) * (u(x - r, y, z) + u(x + r, y, z) + u(x, y - r, z) +
                                                    u(x, y + r, z) + u(x, y, z - r) + u(x, y, z + r));
            }
          }
          f(x, y, z) = e;
          if (s == kNoSchedule) return f;
          if (s >= 4) {  // two or four planes at once, which share what they read
            f.split(z, z, zi, s == 4 ? 2 : 4).vectorize(x, 16).reorder(zi, x, y, z).unroll(zi);
            if (s == 6) L::past_the_caches(f);
            if (parallel) f.parallel(z);
            return f;
          }
          f.vectorize(x, s % 2 ? 16 : 8);
          if (s >= 2) f.split(y, y, yi, 16).reorder(x, yi, z, y);
          if (parallel) f.parallel(s >= 2 ? y : z);
          return f;
        },
        kind == 7    ? plain::stencil<7, 1>
        : kind == 25 ? plain::stencil<25, 4>
                     : plain::stencil<27, 1>);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 25;
  const int threads = argc > 2 ? std::atoi(argv[2]) : 0;
  if (rounds < 1 || threads < 0) {
    std::fprintf(stderr, "usage: %s [rounds >= 1] [threads, 0: all] [words of names]\n", argv[0]);
    return 2;
  }
  // Idle threads of OpenMP wait as those of the others do. In a loop, as they would by default, they
  // take a processor from whoever runs next, and are awake when it is their turn.
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) {
    setenv("OMP_WAIT_POLICY", "passive", 1);
    execv("/proc/self/exe", argv);  // the library has read its settings: once more from the start
  }
  if (threads > 0) {
    setenv("HL_NUM_THREADS", std::to_string(threads).c_str(), 1);
    setenv("MICA_NUM_THREADS", std::to_string(threads).c_str(), 1);
    omp_set_num_threads(threads);
  }
  point_cases(rounds, threads != 1, argc, argv);
  image_cases(rounds, threads != 1, argc, argv);
  stencil_cases(rounds, threads != 1, argc, argv);
  return 0;
}
