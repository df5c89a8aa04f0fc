// A V-cycle as one pipeline gives the bits of plain loops, one grid after the other, and does what such
// a cycle does.
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/ported/first_run.h"
#include "tests/ported/programs.h"
#include "tests/support/check_targets.h"

namespace mica::test {
namespace {

/// n * n values, periodic.
class Square {
 public:
  explicit Square(int n) : n_(n), values_(static_cast<std::size_t>(n) * static_cast<std::size_t>(n)) {}
  [[nodiscard]] int size() const { return n_; }
  float& operator()(int x, int y) { return values_[place(x, y)]; }
  float operator()(int x, int y) const { return values_[place(x, y)]; }

 private:
  [[nodiscard]] std::size_t place(int x, int y) const {
    const int i = (x + n_) % n_, j = (y + n_) % n_;
    return static_cast<std::size_t>(i) + static_cast<std::size_t>(n_) * static_cast<std::size_t>(j);
  }
  int n_;
  std::vector<float> values_;
};

template <typename Value>
Square square_of(int n, const Value& value) {
  Square result(n);
  for (int y = 0; y < n; ++y) {
    for (int x = 0; x < n; ++x) result(x, y) = value(x, y);
  }
  return result;
}

// Sums are written in the order that dsl/expr/rounding.h says: by row, terms without a row of their own
// first. Products with powers of two are exact, so that a fused sum is a plain one.

void smooth(Square& p, const Square& rhs, int sweeps, float square) {
  for (int half = 0; half < 2 * sweeps; ++half) {
    for (int y = 0; y < p.size(); ++y) {
      for (int x = (half + y) % 2; x < p.size(); x += 2) {
        p(x, y) = 0.25F * p(x - 1, y) + 0.25F * p(x + 1, y) + 0.25F * p(x, y - 1) + 0.25F * p(x, y + 1) -
                  0.25F * square * rhs(x, y);
      }
    }
  }
}

Square residual(const Square& p, const Square& rhs, float square) {
  const float c = 1.0F / square;
  return square_of(p.size(), [&](int x, int y) {
    return -c * p(x, y - 1) + rhs(x, y) - c * p(x - 1, y) - c * p(x + 1, y) + 4.0F * c * p(x, y) -
           c * p(x, y + 1);
  });
}

Square restricted(const Square& r) {
  return square_of(r.size() / 2, [&](int x, int y) {
    return 0.25F * r(2 * x, 2 * y) + 0.25F * r(2 * x + 1, 2 * y) + 0.25F * r(2 * x, 2 * y + 1) +
           0.25F * r(2 * x + 1, 2 * y + 1);
  });
}

Square corrected(const Square& p, const Square& coarse) {
  return square_of(p.size(), [&](int x, int y) {
    const int i = x / 2, j = y / 2, next_i = i + 2 * (x % 2) - 1, next_j = j + 2 * (y % 2) - 1;
    float sum = 0.1875F * coarse(i, next_j);
    sum = std::fma(0.0625F, coarse(next_i, next_j), sum);
    sum = sum + p(x, y);
    sum = std::fma(0.5625F, coarse(i, j), sum);
    return std::fma(0.1875F, coarse(next_i, j), sum);
  });
}

Square v_cycle(Square p, const Square& rhs, int levels, int sweeps, float spacing = 1) {
  const float square = spacing * spacing;
  smooth(p, rhs, levels == 1 ? 2 * sweeps : sweeps, square);
  if (levels == 1) return p;
  const Square left = restricted(residual(p, rhs, square));
  p = corrected(p, v_cycle(Square(left.size()), left, levels - 1, sweeps, 2 * spacing));
  smooth(p, rhs, sweeps, square);
  return p;
}

Square of(const Buffer<float>& b) {
  return square_of(static_cast<int>(b.extent(0)), [&](int x, int y) { return b(x, y); });
}

int count_differences(const Square& wanted, const Buffer<float>& got) {
  int differences = 0;
  for (int y = 0; y < wanted.size(); ++y) {
    for (int x = 0; x < wanted.size(); ++x) differences += got(x, y) == wanted(x, y) ? 0 : 1;
  }
  return differences;
}

double norm(const Square& r) {
  double sum = 0;
  for (int y = 0; y < r.size(); ++y) {
    for (int x = 0; x < r.size(); ++x) sum += double{r(x, y)} * r(x, y);
  }
  return std::sqrt(sum);
}

/// Two charges, one the other's opposite, among waves.
Buffer<float> charges(int n) {
  Buffer<float> f(n, n);
  f.for_each([&](float& value, const auto& at) {
    const double turn = 2 * 3.14159265358979 / n;
    value = static_cast<float>(std::sin(3 * turn * static_cast<double>(at[0])) *
                               std::cos(5 * turn * static_cast<double>(at[1])));
  });
  f(n / 4, n / 2) += 4.0F;
  f(n / 2, n / 4) -= 4.0F;
  return f;
}

class Multigrid : public ::testing::Test {
 protected:
  static constexpr int kSweeps = 2;
  /// Runs `cycles` on a square of n * n on `target` and compares each with the loops.
  static void compare(const Target& target, int levels, int n, int cycles) {
    Ported cycle = red_black_v_cycle(levels, kSweeps);
    const Buffer<float> f = charges(n);
    Buffer<float> u(n, n), next(n, n);
    u.fill(0.0F);
    Square wanted(n);
    const Square rhs = of(f);
    Executable step = compile(cycle.output, target);
    for (int i = 0; i < cycles; ++i) {
      AnyBuffer out = next;
      step.run(out, {.inputs = {{cycle.inputs[0], u}, {cycle.inputs[1], f}}});
      wanted = v_cycle(wanted, rhs, levels, kSweeps);
      ASSERT_EQ(count_differences(wanted, next), 0) << to_string(target) << ", cycle " << i;
      std::swap(u, next);
    }
  }
};

TEST_F(Multigrid, OfRedBlackSweepsGivesTheBitsOfPlainLoops) {
  for (const int n : {32, 8, 24}) compare(Target::host(), 3, n, 3);
  for (const Target& target : gpu_targets()) compare(target, 2, 16, 1);
}

TEST_F(Multigrid, TakesTheResidualDownWithEachCycle) {
  constexpr int kSize = 64;
  Ported cycle = red_black_v_cycle(5, kSweeps);
  const Buffer<float> f = charges(kSize);
  Buffer<float> u(kSize, kSize), next(kSize, kSize);
  u.fill(0.0F);
  cycle.inputs[0].set(u);
  cycle.inputs[1].set(f);
  EXPECT_LT(seconds_to_first_run({cycle.output}, {kSize, kSize}), kPatience);
  Executable step = compile(cycle.output, Target::host());
  double before = norm(residual(of(u), of(f), 1));
  for (int i = 0; i < 5; ++i) {
    AnyBuffer out = next;
    step.run(out, {.inputs = {{cycle.inputs[0], u}}});
    const double now = norm(residual(of(next), of(f), 1));
    std::printf("residual %.3g\n", now);
    EXPECT_LT(now, 0.5 * before) << i;
    before = now;
    std::swap(u, next);
  }
}

}  // namespace
}  // namespace mica::test
