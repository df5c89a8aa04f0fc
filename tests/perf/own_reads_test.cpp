// Recurrences and updates without directives on the host, against plain loops of one thread in the order
// that a careful programmer writes.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "fuzz/random_data.h"

namespace mica::test {
namespace {

constexpr int kWide = 384, kHigh = 128, kDeep = 96;
constexpr int kRounds = 9;

double best_milliseconds(const std::function<void()>& work) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kRounds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count());
  }
  return best;
}

/// Times of Mica and of the loops; the first may be no more than `factor` times the second, which other
/// work on the machine and a debug build leave room for.
void compare(const std::string& what, double mica, double loops, double factor) {
  std::printf("%-44s %7.2f ms, plain loops %7.2f ms\n", what.c_str(), mica, loops);
  EXPECT_LT(mica, factor * loops) << what;
}

class OwnReadsPerf : public ::testing::Test {
 protected:
  OwnReadsPerf() {
    for (Buffer<float>* field : {&a_, &b_, &c_}) field->fill(0.5F);
    a.set(a_);
    b.set(b_);
  }
  static std::size_t at(int x, int y, int z) {
    return static_cast<std::size_t>(x) +
           static_cast<std::size_t>(kWide) *
               (static_cast<std::size_t>(y) +
                static_cast<std::size_t>(kHigh) * static_cast<std::size_t>(z));
  }
  double run(const Func& f, AnyBuffer& out) {
    Executable step = compile(f, Target::host());
    step.run({&out});
    return best_milliseconds([&] { step.run({&out}); });
  }
  const Var x{"x"}, y{"y"}, z{"z"};
  ImageParam a{Float(32), 3, "a"}, b{Float(32), 3, "b"};
  Buffer<float> a_{kWide, kHigh, kDeep}, b_{kWide, kHigh, kDeep}, c_{kWide, kHigh, kDeep};
};

TEST_F(OwnReadsPerf, ARecurrenceAlongTheSlowestDimension) {
  Func c("c");
  c(x, y, z) = select(z == 0, b(x, y, z), b(x, y, z) - a(x, y, z) * c(x, y, z - 1));
  const double mica = run(c, c_);
  const float *pa = a_.data(), *pb = b_.data();
  float* pc = c_.data();
  const double loops = best_milliseconds([&] {
    for (int k = 0; k < kDeep; ++k) {
      for (int j = 0; j < kHigh; ++j) {
        for (int i = 0; i < kWide; ++i) {
          pc[at(i, j, k)] =
              k == 0 ? pb[at(i, j, k)] : pb[at(i, j, k)] - pa[at(i, j, k)] * pc[at(i, j, k - 1)];
        }
      }
    }
  });
  compare("c(z) = b - a*c(z - 1)", mica, loops, 2);
}

TEST_F(OwnReadsPerf, AnUpdateThatSumsAlongTheSlowestDimension) {
  const RDom r({{0, kDeep}});
  Func f("f");
  f(x, y) = 0.0F;
  f(x, y) += a(x, y, r);
  Buffer<float> out(kWide, kHigh);
  const double mica = run(f, out);
  const float* pa = a_.data();
  float* pf = out.data();
  const double loops = best_milliseconds([&] {
    std::fill_n(pf, at(0, 0, 1), 0.0F);
    for (int k = 0; k < kDeep; ++k) {
      for (int j = 0; j < kHigh; ++j) {
        for (int i = 0; i < kWide; ++i) pf[at(i, j, 0)] += pa[at(i, j, k)];
      }
    }
  });
  compare("f(x, y) += a(x, y, r)", mica, loops, 2);
}

// Seen: 1.9 ms and, in a debug build, 206 ms; 190 ms where the sum's rows lie across those of b.
TEST_F(OwnReadsPerf, AProductOfMatrices) {
  constexpr int kSide = 512, kTerms = 1000;
  ImageParam p{Float(32), 2, "p"}, q{Float(32), 2, "q"};
  Buffer<float> ps(kTerms, kSide), qs(kSide, kTerms), out(kSide, kSide);
  for (Buffer<float>* matrix : {&ps, &qs}) matrix->fill(0.5F);
  p.set(ps);
  q.set(qs);
  const RDom r({{0, kTerms}});
  Func f("f");
  f(x, y) = sum(r, p(r, y) * q(x, r));
  const double mica = run(f, out);
  const float *pp = ps.data(), *pq = qs.data();
  float* pf = out.data();
  const double loops = best_milliseconds([&] {
    std::fill_n(pf, kSide * kSide, 0.0F);
    for (int j = 0; j < kSide; ++j) {
      for (int k = 0; k < kTerms; ++k) {
        for (int i = 0; i < kSide; ++i) pf[i + j * kSide] += pp[k + j * kTerms] * pq[i + k * kSide];
      }
    }
  });
  compare("a product of matrices", mica, loops, 0.5);
}

TEST_F(OwnReadsPerf, RedBlackRelaxation) {
  Func p("p");
  p(x, y, z) = b(x, y, z);
  p(x, y, z) = 0.25F * (p(x - 1, y, z) + p(x + 1, y, z) + p(x, y - 1, z) + p(x, y + 1, z));
  p.update().color((x + y) % 2);
  const double mica = run(p, c_);
  const float* pb = b_.data();
  float* pp = c_.data();
  const double loops = best_milliseconds([&] {
    std::copy_n(pb, at(0, 0, kDeep), pp);
    for (int k = 0; k < kDeep; ++k) {
      for (int color = 0; color < 2; ++color) {
        for (int j = 1; j < kHigh - 1; ++j) {
          for (int i = 1 + (color + j + 1) % 2; i < kWide - 1; i += 2) {
            pp[at(i, j, k)] = 0.25F * (pp[at(i - 1, j, k)] + pp[at(i + 1, j, k)] + pp[at(i, j - 1, k)] +
                                       pp[at(i, j + 1, k)]);
          }
        }
      }
    }
  });
  compare("red-black", mica, loops, 4);
}

}  // namespace
}  // namespace mica::test
