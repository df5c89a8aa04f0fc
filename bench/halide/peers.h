// What bench/halide/table compares with: the words of both languages, the memory that all share, and
// interleaved runs.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <Halide.h>

#include "schedules/mica.h"

namespace peers {

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
  static void past_the_caches(Func& /*f*/) {}  // Halide 14 has no such stores
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
  static void past_the_caches(Func& f) { f.stream_stores(); }
  static Func edge(const Image& u) { return mica::BoundaryConditions::repeat_edge(u); }
  static Func periodic(const Image& u) { return mica::BoundaryConditions::repeat_image(u); }
};

using Shape = std::vector<int>;
/// Starts where arrays of both languages start, at a multiple of 128 bytes.
template <typename T>
struct Aligned {
  using value_type = T;
  static constexpr std::align_val_t kAlignment{128};
  Aligned() = default;
  template <typename U>
  explicit Aligned(const Aligned<U>& /*other*/) {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kAlignment)); }
  void deallocate(T* p, std::size_t /*n*/) { ::operator delete(p, kAlignment); }
  friend bool operator==(const Aligned&, const Aligned&) { return true; }
};
struct Memory {
  std::vector<std::uint8_t, Aligned<std::uint8_t>> bytes;
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
  Memory m{{}, mins, extents, interleaved};
  m.bytes.resize(count * sizeof(T));
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

/// This machine. Halide 14 takes every CPU with AVX512-BF16 for a Sapphire Rapids and gives others, such
/// as Zen 4, instructions that they do not have.
inline Halide::Target halide_target() {
  return Halide::get_jit_target_from_environment().without_feature(
      Halide::Target::AVX512_SapphireRapids);
}

struct Contender {
  std::string name;
  std::function<void()> run;
  double best = std::numeric_limits<double>::infinity();
};

/// The same as plain loops, for the compiler of this program: g++ -O3 -march=native -fopenmp.
using PlainLoops = std::function<void(const Memory& in, const Memory& out)>;

/// The number of no schedule at all.
inline constexpr int kNoSchedule = -1;

enum class Search { None, Chosen, Tuned };
/// The program in Mica under a schedule's number, or under what the model chooses or a search finds for
/// it without one.
template <typename In, typename Out, typename Make>
Contender in_mica(std::string name, const Memory& in, const Memory& result, Make make, int schedule,
                  Search search = Search::None) {
  MicaLanguage language;
  auto u = MicaLanguage::image<In>(static_cast<int>(in.extents.size()));
  mica::Func f = make(language, u, schedule);
  u.set(mica_buffer<In>(in));
  mica::Buffer<Out> out = mica_buffer<Out>(result);
  if (search != Search::None) {
    mica::TuneOptions options;
    if (search == Search::Chosen) options.budget = 0;
    options.target = mica::Target::host();
    options.extents.assign(result.extents.begin(), result.extents.end());
    options.outputs = {out};
    options.keep = false;
    const mica::TuneResult tuned = mica::tune(f, options);
    f.apply(tuned.schedule);
    name = tuned.best.text();
  }
  mica::Executable executable = mica::compile(f, mica::Target::host());
  return {std::move(name), [executable, out]() mutable { executable.run(out); }};
}

/// A program in both languages: make(language, input, schedule) gives the output Func for a schedule's
/// number. `same_bits`: the results of the two languages should agree to the bit.
template <typename In, typename Out, typename Make>
void compare(const char* name, const Memory& in, const Memory& shape, int schedules, int rounds,
             bool same_bits, Make make, const PlainLoops& plain = nullptr) {
  std::vector<Contender> contenders;
  // All write the same array: with one of its own a contender took 0.51 to 0.53 ms where others took
  // 0.41 to 0.43.
  const Memory result = shape;
  for (int s = 0; s < schedules; ++s) {
    HalideLanguage halide;
    auto u = HalideLanguage::image<In>(static_cast<int>(in.extents.size()));
    if (in.interleaved) u.dim(0).set_stride(in.extents[2]).dim(2).set_stride(1);
    Halide::Func f = make(halide, u, s);
    if (shape.interleaved) {
      f.output_buffer().dim(0).set_stride(shape.extents[2]).dim(2).set_stride(1);
    }
    u.set(halide_buffer<In>(in));
    Halide::Buffer<Out> out = halide_buffer<Out>(result);
    f.compile_jit(halide_target());
    contenders.push_back(
        {"Halide " + std::to_string(s), [f, out]() mutable { f.realize(out, halide_target()); }});
  }
  for (int s = 0; s < schedules; ++s) {
    contenders.push_back(in_mica<In, Out>("Mica " + std::to_string(s), in, result, make, s));
  }
  const std::size_t last = contenders.size() - 1;
  contenders.push_back(in_mica<In, Out>("no schedule", in, result, make, kNoSchedule));
  contenders.push_back(in_mica<In, Out>("", in, result, make, kNoSchedule, Search::Tuned));
  contenders.push_back(in_mica<In, Out>("", in, result, make, kNoSchedule, Search::Chosen));
  if (plain) contenders.push_back({"plain loops", [&in, &result, plain] { plain(in, result); }});
  const auto bytes_of = [&](std::size_t contender) {
    std::memset(result.data<std::uint8_t>(), 0xff, result.bytes.size());
    contenders[contender].run();
    return result.bytes;
  };
  const bool bits_agree = bytes_of(0) == bytes_of(last);
  for (int i = -2; i < rounds; ++i) {
    for (auto& c : contenders) {
      // What another has left in the caches is not what a program's next run meets.
      for (int untimed = 0; untimed < 2; ++untimed) c.run();
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
  if (same_bits) std::printf("  bits %s", bits_agree ? "equal" : "DIFFER");
  if (plain) {
    const double loops = contenders.back().best;
    std::printf("  %.2f of plain loops' %.3f ms", mica->best / loops, loops);
  }
  const Contender& usual = contenders[last + 1];
  const Contender& tuned = contenders[last + 2];
  const Contender& chosen = contenders[last + 3];
  std::printf("\n%-22s tuned %8.3f ms  %.2f of Halide's  (%s)  no schedule %8.3f ms  %.2f", "",
              tuned.best, tuned.best / halide->best, tuned.name.c_str(), usual.best,
              usual.best / halide->best);
  std::printf("  the model's choice %8.3f ms  %.2f  (%s)", chosen.best, chosen.best / halide->best,
              chosen.name.c_str());
  std::printf("   [");
  for (const auto& c : contenders) std::printf(" %.3f", c.best);
  std::printf(" ]\n");
  std::fflush(stdout);
}

}  // namespace peers
