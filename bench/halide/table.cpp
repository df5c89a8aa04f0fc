// One table: what a user of Halide 14 would port first, in both languages from the same text, under the
// same schedules, interleaved in one process; the best schedule of each against the other.
//   halide_table [rounds] [threads] [words of names...]
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <Halide.h>

#include "schedules/mica.h"

namespace {

/// The same words of either language. cast<T>(e) is found by its argument.
template <typename F, typename E, typename V, typename I>
struct Words {
  using Func = F;
  using Expr = E;
  using Var = V;
  using Image = I;
};

struct HalideLanguage : Words<Halide::Func, Halide::Expr, Halide::Var, Halide::ImageParam> {
  template <typename T>
  static Image image(int dimensions) {
    return {Halide::type_of<T>(), dimensions, "u"};
  }
  static Func edge(const Image& u) { return Halide::BoundaryConditions::repeat_edge(u); }
  static Func periodic(const Image& u) {
    return Halide::BoundaryConditions::repeat_image(
        u, {{u.dim(0).min(), u.dim(0).extent()}, {u.dim(1).min(), u.dim(1).extent()}});
  }
};

struct MicaLanguage : Words<mica::Func, mica::Expr, mica::Var, mica::ImageParam> {
  template <typename T>
  static Image image(int dimensions) {
    return {mica::type_of<T>(), dimensions, "u"};
  }
  static Func edge(const Image& u) { return mica::BoundaryConditions::repeat_edge(u); }
  static Func periodic(const Image& u) { return mica::BoundaryConditions::repeat_image(u); }
};

using Shape = std::vector<int>;
struct Memory {
  std::vector<std::uint8_t> bytes;
  Shape mins, extents;
  bool interleaved = false;
  template <typename T>
  [[nodiscard]] T* data() const {
    return reinterpret_cast<T*>(const_cast<std::uint8_t*>(bytes.data()));
  }
};

template <typename T>
Memory memory(const Shape& mins, const Shape& extents, bool interleaved = false) {
  std::size_t count = 1;
  for (const int e : extents) count *= static_cast<std::size_t>(e);
  Memory m{std::vector<std::uint8_t>(count * sizeof(T)), mins, extents, interleaved};
  std::uint32_t seed = 1;
  for (std::size_t i = 0; i < count; ++i) {
    seed = seed * 1664525U + 1013904223U;
    m.data<T>()[i] = static_cast<T>(static_cast<double>(seed >> 24));
  }
  return m;
}

std::vector<int> strides_of(const Memory& m) {
  if (m.interleaved) return {m.extents[2], m.extents[2] * m.extents[0], 1};
  std::vector<int> strides{1};
  for (std::size_t d = 0; d + 1 < m.extents.size(); ++d) {
    strides.push_back(strides.back() * m.extents[d]);
  }
  return strides;
}

template <typename T>
Halide::Buffer<T> halide_buffer(const Memory& m) {
  std::vector<halide_dimension_t> dims;
  for (std::size_t d = 0; d < m.extents.size(); ++d) {
    dims.emplace_back(m.mins[d], m.extents[d], strides_of(m)[d]);
  }
  return Halide::Buffer<T>(m.data<T>(), static_cast<int>(dims.size()), dims.data());
}

template <typename T>
mica::Buffer<T> mica_buffer(const Memory& m) {
  std::vector<mica::BufferDim> dims;
  for (std::size_t d = 0; d < m.extents.size(); ++d) {
    dims.push_back({m.mins[d], m.extents[d], strides_of(m)[d]});
  }
  return mica::Buffer<T>(m.data<T>(), dims);
}

struct Contender {
  std::string name;
  std::function<void()> run;
  double best = std::numeric_limits<double>::infinity();
};

/// A program in both languages: make<L>(input) gives the output Func for schedule number `schedule`.
template <typename In, typename Out, typename Make>
void compare(const char* name, const Memory& in, const Memory& shape, int schedules, int rounds,
             bool same_bits, Make make) {
  std::vector<Contender> contenders;
  std::vector<Memory> results;
  results.reserve(static_cast<std::size_t>(2 * schedules));
  std::vector<std::size_t> good;
  for (int s = 0; s < schedules; ++s) {
    HalideLanguage halide;
    auto u = HalideLanguage::image<In>(static_cast<int>(in.extents.size()));
    if (in.interleaved) u.dim(0).set_stride(in.extents[2]).dim(2).set_stride(1);
    Halide::Func f = make(halide, u, s);
    if (shape.interleaved) {
      f.output_buffer().dim(0).set_stride(shape.extents[2]).dim(2).set_stride(1);
    }
    u.set(halide_buffer<In>(in));
    results.push_back(shape);
    Halide::Buffer<Out> out = halide_buffer<Out>(results.back());
    f.compile_jit();
    contenders.push_back({"Halide " + std::to_string(s), [f, out]() mutable { f.realize(out); }});
  }
  for (int s = 0; s < schedules; ++s) {
    MicaLanguage language;
    auto u = MicaLanguage::image<In>(static_cast<int>(in.extents.size()));
    mica::Func f = make(language, u, s);
    u.set(mica_buffer<In>(in));
    results.push_back(shape);
    mica::Buffer<Out> out = mica_buffer<Out>(results.back());
    mica::Executable executable = mica::compile(f, mica::Target::host());
    contenders.push_back(
        {"Mica " + std::to_string(s), [executable, out]() mutable { executable.run(out); }});
  }
  for (int i = -2; i < rounds; ++i) {
    for (auto& c : contenders) {
      const auto start = std::chrono::steady_clock::now();
      c.run();
      const auto end = std::chrono::steady_clock::now();
      const double ms = std::chrono::duration<double, std::milli>(end - start).count();
      if (i >= 0) c.best = std::min(c.best, ms);
    }
  }
  const auto best = [&](int from) {
    return std::min_element(contenders.begin() + from, contenders.begin() + from + schedules,
                            [](const auto& a, const auto& b) { return a.best < b.best; });
  };
  const auto halide = best(0), mica = best(schedules);
  std::printf("%-22s Halide %8.3f ms (%d)  Mica %8.3f ms (%d)  %.2f of Halide's", name, halide->best,
              static_cast<int>(halide - contenders.begin()), mica->best,
              static_cast<int>(mica - contenders.begin()) - schedules, mica->best / halide->best);
  if (same_bits) {
    std::printf("  bits %s", results.front().bytes == results.back().bytes ? "equal" : "DIFFER");
  }
  std::printf("   [");
  for (const auto& c : contenders) std::printf(" %.3f", c.best);
  std::printf(" ]\n");
  std::fflush(stdout);
}

/// Schedules of one Func: by rows, in parallel or not, with vectors of several widths.
template <typename Func, typename Var>
void schedule_rows(Func& f, const Var& x, const Var& rows, int s, bool parallel) {
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
    compare<float, float>("f32-i32-f32", image, out, 3, rounds, true, [&](auto l, auto& u, int s) {
      using L = decltype(l);
      typename L::Var x("x"), y("y");
      typename L::Func f("f");
      f(x, y) = cast<float>(cast<std::int32_t>(u(x, y) * 1.5f) * 3 + 1);
      schedule_rows(f, x, y, s, parallel);
      return f;
    });
  }
  if (wanted("down-by-2", argc, argv)) {
    const Memory half = memory<float>({0, 0}, {kWidth / 2, kHeight / 2});
    compare<float, float>("down-by-2", image, half, 3, rounds, true, [&](auto l, auto& u, int s) {
      using L = decltype(l);
      typename L::Var x("x"), y("y");
      typename L::Func f("f");
      f(x, y) = 0.25f *
                (u(2 * x, 2 * y) + u(2 * x + 1, 2 * y) + u(2 * x, 2 * y + 1) + u(2 * x + 1, 2 * y + 1));
      schedule_rows(f, x, y, s, parallel);
      return f;
    });
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
          f.reorder(c, x, y).bound(c, 0, 3).unroll(c);
          schedule_rows(f, x, y, s, parallel);
          return f;
        });
    const Memory grey = memory<std::uint8_t>({0, 0}, {kWidth, kHeight});
    compare<std::uint8_t, std::uint8_t>(
        "grey-of-rgb", rgb, grey, 3, rounds, true, [&](auto l, auto& u, int s) {
          using L = decltype(l);
          typename L::Var x("x"), y("y");
          typename L::Func f("f");
          const auto of = [&](int c) { return cast<std::uint16_t>(u(x, y, c)); };
          f(x, y) = cast<std::uint8_t>((of(0) * 77 + of(1) * 151 + of(2) * 28) / 256);
          schedule_rows(f, x, y, s, parallel);
          return f;
        });
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
      f.split(y, y, yi, s < 2 ? 32 : 64).vectorize(x, s % 2 ? 16 : 8);
      if (parallel) f.parallel(y);
      down.compute_at(f, yi).vectorize(x, s % 2 ? 16 : 8);
      return f;
    });
  }
  if (wanted("gray-scott", argc, argv)) {
    compare<float, float>("periodic-5-point", image, out, 3, rounds, false, [&](auto l, auto& u, int s) {
      using L = decltype(l);
      typename L::Var x("x"), y("y");
      typename L::Func b = L::periodic(u), f("f");
      f(x, y) =
          b(x, y) + 0.1f * (b(x - 1, y) + b(x + 1, y) + b(x, y - 1) + b(x, y + 1) - 4.0f * b(x, y));
      schedule_rows(f, x, y, s, parallel);
      return f;
    });
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
    compare<float, float>(name.c_str(), in, out, 4, rounds, false, [&](auto l, auto& u, int s) {
      using L = decltype(l);
      typename L::Var x("x"), y("y"), z("z"), yi("yi");
      typename L::Func f("f");
      typename L::Expr e = 0.4f * u(x, y, z);
      if (kind == 27) {
        for (int i = 0; i < 27; ++i) {
          const int dx = i % 3 - 1, dy = i / 3 % 3 - 1, dz = i / 9 - 1;
          if (i != 13) e = e + (0.1f / static_cast<float>(i + 1)) * u(x + dx, y + dy, z + dz);
        }
      } else {
        for (int r = 1; r <= reach; ++r) {
          e = e + (0.1f / static_cast<float>(r)) * (u(x - r, y, z) + u(x + r, y, z) + u(x, y - r, z) +
                                                    u(x, y + r, z) + u(x, y, z - r) + u(x, y, z + r));
        }
      }
      f(x, y, z) = e;
      f.vectorize(x, s % 2 ? 16 : 8);
      if (s >= 2) f.split(y, y, yi, 16).reorder(x, yi, z, y);
      if (parallel) f.parallel(s >= 2 ? y : z);
      return f;
    });
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
  if (threads > 0) {
    setenv("HL_NUM_THREADS", std::to_string(threads).c_str(), 1);
    setenv("MICA_NUM_THREADS", std::to_string(threads).c_str(), 1);
  }
  point_cases(rounds, threads != 1, argc, argv);
  image_cases(rounds, threads != 1, argc, argv);
  stencil_cases(rounds, threads != 1, argc, argv);
  return 0;
}
