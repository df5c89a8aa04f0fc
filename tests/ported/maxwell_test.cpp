// Maxwell's equations with absorbing layers, each half step in place: the bits of plain loops, energy
// that stays in a closed box, and a pulse that leaves an open one.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/ported/first_run.h"
#include "tests/ported/programs.h"
#include "tests/support/check_targets.h"

namespace mica::test {
namespace {

using Sizes = std::array<int, 3>;
constexpr float kStep = 0.5F;
constexpr int kMemories = 6;

/// A layer's factors along one axis of n cells, at places `shift` beside the integers.
void fill_profile(Buffer<float>& decay, Buffer<float>& gain, int n, int layer, double shift) {
  for (int i = 0; i < n; ++i) {
    const double at = i + shift;
    const double into = std::max({layer - 0.5 - at, at - (n - layer), 0.0}) / std::max(layer, 1);
    const double conductivity = 3.2 * into * into * into, shifted = conductivity + 0.05;
    const double b = std::exp(-shifted * kStep);
    decay(i) = layer > 0 ? static_cast<float>(b) : 0.0F;
    gain(i) = into > 0 ? static_cast<float>(conductivity / shifted * (b - 1)) : 0.0F;
  }
}

/// All that a half step changes or needs.
struct Half {
  std::vector<Buffer<float>> changing;  ///< as YeeHalf::outputs
  std::vector<Buffer<float>> decay, gain;
  Half(const Sizes& n, int layer, double shift) {
    for (int i = 0; i < kMemories + 3; ++i) {
      changing.emplace_back(n[0], n[1], n[2]);
      changing.back().fill(0.0F);
    }
    for (const int size : n) {
      decay.emplace_back(size);
      gain.emplace_back(size);
      fill_profile(decay.back(), gain.back(), size, layer, shift);
    }
  }
  [[nodiscard]] Buffer<float>& field(int axis) {
    return changing[static_cast<std::size_t>(kMemories + axis)];
  }
};

struct Fields {
  Sizes n;
  Half magnetic, electric;
  Fields(const Sizes& sizes, int layer)
      : n(sizes), magnetic(sizes, layer, 0.5), electric(sizes, layer, 0.0) {}
};

// ---- plain loops
// ---------------------------------------------------------------------------------------

struct Summand {
  float factor;  ///< 1: the value itself
  float value;
  int plane;  ///< its largest offset along z
};
constexpr int kNoPlane = std::numeric_limits<int>::min();

/// The sum in the order and with the roundings of dsl/expr/rounding.h.
template <std::size_t N>
float total(std::array<Summand, N> summands) {
  std::stable_sort(summands.begin(), summands.end(),
                   [](const Summand& a, const Summand& b) { return a.plane < b.plane; });
  float sum = summands[0].factor * summands[0].value;
  for (std::size_t i = 1; i < N; ++i) sum = std::fma(summands[i].factor, summands[i].value, sum);
  return sum;
}

using Point = std::array<int, 3>;

/// `f` at `by` along `axis` from `at`; 0 outside.
float beside(const Buffer<float>& f, const Sizes& n, Point at, int axis, int by) {
  const auto a = static_cast<std::size_t>(axis);
  at[a] += by;
  return at[a] >= 0 && at[a] < n[a] ? f(at[0], at[1], at[2]) : 0.0F;
}

void plain_half(Half& half, std::array<Buffer<float>*, 3> driving, const Sizes& n, bool magnetic,
                float pulse) {
  const int ahead = magnetic ? 1 : 0;
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    for (int z = 0; z < n[2]; ++z) {
      for (int y = 0; y < n[1]; ++y) {
        for (int x = 0; x < n[0]; ++x) {
          const Point at{x, y, z};
          const auto tap = [&](int component, int axis, int by) {
            return beside(*driving[static_cast<std::size_t>(component)], n, at, axis, by);
          };
          // The memories of d(field k)/dj and d(field j)/dk.
          std::array<float, 2> memory{};
          for (const auto& [m, component, axis] : {std::array{0, k, j}, std::array{1, j, k}}) {
            const auto a = static_cast<std::size_t>(axis);
            const float difference = tap(component, axis, ahead) - tap(component, axis, ahead - 1);
            float& psi = half.changing[static_cast<std::size_t>(2 * i + m)](x, y, z);
            psi = std::fma(half.gain[a](at[a]), difference, half.decay[a](at[a]) * psi);
            memory[static_cast<std::size_t>(m)] = psi;
          }
          const float c = magnetic ? -kStep : kStep;
          const auto plane = [&](int axis, int by) { return axis == 2 ? by : 0; };
          const float source =
              !magnetic && i == 2 && x == n[0] / 2 && y == n[1] / 2 && z == n[2] / 2 ? pulse : 0.0F;
          float& field = half.field(i)(x, y, z);
          const std::array<Summand, 7> sum{{{1, field, 0},
                                            {c, tap(k, j, ahead), plane(j, ahead)},
                                            {-c, tap(k, j, ahead - 1), plane(j, ahead - 1)},
                                            {c, memory[0], 0},
                                            {-c, tap(j, k, ahead), plane(k, ahead)},
                                            {c, tap(j, k, ahead - 1), plane(k, ahead - 1)},
                                            {-c, memory[1], 0}}};
          if (magnetic || i < 2) {
            field = total(sum);
            continue;
          }
          std::array<Summand, 8> with_source{{{1, source, kNoPlane}}};
          std::copy(sum.begin(), sum.end(), with_source.begin() + 1);
          field = total(with_source);
        }
      }
    }
  }
}

float pulse_at(int step) {
  const double t = (step * kStep - 8.0) / 2.5;
  return static_cast<float>(-t * std::exp(-t * t));
}

std::array<Buffer<float>*, 3> fields_of(Half& half) {
  return {&half.field(0), &half.field(1), &half.field(2)};
}

void plain_step(Fields& f, int step) {
  plain_half(f.magnetic, fields_of(f.electric), f.n, true, 0);
  plain_half(f.electric, fields_of(f.magnetic), f.n, false, pulse_at(step));
}

// ---- Mica
// ----------------------------------------------------------------------------------------------

class Solver {
 public:
  using Directives = std::function<void(YeeHalf&)>;
  Solver(
      const Target& target, const Sizes& n, const Directives& directives = [](YeeHalf&) {}) {
    directives(magnetic_);
    directives(electric_);
    for (std::size_t d = 0; d < 3; ++d) electric_.source[d].set(n[d] / 2);
    h_.emplace(compile(magnetic_.outputs, target));
    e_.emplace(compile(electric_.outputs, target));
  }
  void step(Fields& f, int number) {
    electric_.pulse.set(pulse_at(number));
    run(*h_, magnetic_, f.magnetic, f.electric);
    run(*e_, electric_, f.electric, f.magnetic);
  }

 private:
  /// In place: every output is the memory of what it replaces.
  static void run(Executable& executable, const YeeHalf& half, Half& changing, Half& driving) {
    RunOptions options;
    std::vector<AnyBuffer> memory(changing.changing.begin(), changing.changing.end());
    std::vector<AnyBuffer*> outputs;
    for (std::size_t i = 0; i < memory.size(); ++i) {
      options.inputs.emplace_back(half.changing[i], memory[i]);
      outputs.push_back(&memory[i]);
    }
    for (int axis = 0; axis < 3; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      options.inputs.emplace_back(half.driving[a], driving.field(axis));
      options.inputs.emplace_back(half.decay[a], changing.decay[a]);
      options.inputs.emplace_back(half.gain[a], changing.gain[a]);
    }
    executable.run(outputs, options);
    executable.synchronize();
  }
  YeeHalf magnetic_ = yee_half(true), electric_ = yee_half(false);
  std::optional<Executable> h_, e_;
};

int differences(const Fields& wanted, const Fields& got) {
  int count = 0;
  const std::array<std::pair<const Half*, const Half*>, 2> halves{
      {{&wanted.magnetic, &got.magnetic}, {&wanted.electric, &got.electric}}};
  for (const auto& [a, b] : halves) {
    for (std::size_t i = 0; i < a->changing.size(); ++i) {
      const Buffer<float>&u = a->changing[i], &v = b->changing[i];
      for (std::int64_t at = 0; at < u.elements(); ++at) count += u.data()[at] == v.data()[at] ? 0 : 1;
    }
  }
  return count;
}

const Var x("x"), y("y"), z("z");

/// Blocks of 8 x 4 columns that go up along z, with the planes of the driving field in shared memory.
void march(YeeHalf& half) {
  for (std::size_t i = 0; i < half.outputs.size(); ++i) {
    Func& f = half.outputs[i];
    f.gpu_tile(x, y, 8, 4).march(z, 4);
    if (i < kMemories) continue;
    const std::size_t axis = i - kMemories;
    for (const std::size_t other : {(axis + 1) % 3, (axis + 2) % 3}) {
      f.stage(half.around[other], MemoryType::Shared);
    }
  }
}

TEST(Maxwell, InPlaceWithAbsorbingLayersGivesTheBitsOfPlainLoops) {
  struct Run {
    Target target;
    Sizes n;
    int steps;
    Solver::Directives directives = [](YeeHalf&) {};
  };
  std::vector<Run> runs{{Target::host(), {14, 11, 12}, 20}, {Target::host(), {33, 3, 5}, 3}};
  runs.push_back({Target::host(), {14, 11, 12}, 3, [](YeeHalf& half) {
                    for (Func& f : half.outputs) f.vectorize(x, 4).parallel(z);
                  }});
  for (const Target& target : gpu_targets()) {
    runs.push_back({target, {9, 8, 7}, 3, [](YeeHalf& half) {
                      for (Func& f : half.outputs) f.gpu_tile(x, y, z, 8, 4, 2);
                    }});
    runs.push_back({target, {13, 9, 6}, 2, march});
  }
  for (const Run& run : runs) {
    Fields wanted(run.n, 3), got(run.n, 3);
    Solver solver(run.target, run.n, run.directives);
    for (int i = 0; i < run.steps; ++i) {
      // The pulse's middle comes at once.
      plain_step(wanted, i + 14);
      solver.step(got, i + 14);
      ASSERT_EQ(differences(wanted, got), 0) << to_string(run.target) << ", step " << i;
    }
    EXPECT_GT(std::abs(wanted.electric.field(2)(run.n[0] / 2, run.n[1] / 2, run.n[2] / 2)), 0.001F);
  }
}

double dot(const std::array<Buffer<float>*, 3>& a, const std::vector<Buffer<float>>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::int64_t at = 0; at < b[i].elements(); ++at) {
      sum += double{a[i]->data()[at]} * b[i].data()[at];
    }
  }
  return sum;
}

std::vector<Buffer<float>> copies(const std::array<Buffer<float>*, 3>& fields) {
  std::vector<Buffer<float>> result;
  for (Buffer<float>* field : fields) result.push_back(field->copy());
  return result;
}

/// The energy of each of `steps` steps: E.E and H before E times H after it, which no step of a closed
/// box changes.
std::vector<double> energies(const Sizes& n, int layer, int steps) {
  Fields fields(n, layer);
  Solver solver(Target::host(), n);
  std::vector<double> result;
  for (int i = 0; i < steps; ++i) {
    const std::vector<Buffer<float>> before = copies(fields_of(fields.magnetic));
    const double electric = dot(fields_of(fields.electric), copies(fields_of(fields.electric)));
    solver.step(fields, i);
    result.push_back(dot(fields_of(fields.magnetic), before) + electric);
  }
  return result;
}

TEST(Maxwell, KeepsTheEnergyOfAClosedBoxAndLosesThatOfAnOpenOne) {
  constexpr int kSteps = 160, kQuiet = 45;
  const std::vector<double> closed = energies({26, 26, 26}, 0, kSteps);
  const std::vector<double> open = energies({26, 26, 26}, 8, kSteps);
  std::printf("closed: %.6g, then %.6g; open: %.6g, then %.3g\n", closed[kQuiet], closed.back(),
              open[kQuiet], open.back());
  EXPECT_NEAR(closed.back(), closed[kQuiet], 1e-5 * closed[kQuiet]);
  EXPECT_LT(open.back(), 2e-5 * closed[kQuiet]);
}

TEST(Maxwell, IsReadyBeforeAUserLooksUp) {
  for (const bool magnetic : {true, false}) {
    YeeHalf half = yee_half(magnetic);
    std::vector<std::shared_ptr<void>> memory;
    for (auto* inputs : {&half.changing, &half.driving, &half.decay, &half.gain}) {
      for (const ImageParam& input : *inputs) {
        const Box box(static_cast<std::size_t>(input.dimensions()), {0, 12});
        memory.push_back(bind_random(input, box, memory.size()));
      }
    }
    EXPECT_LT(seconds_to_first_run(half.outputs, {12, 12, 12}), kPatience);
  }
}

}  // namespace
}  // namespace mica::test
