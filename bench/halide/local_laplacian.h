// The local Laplacian filter (S. Paris, S. Hasinoff, J. Kautz, SIGGRAPH 2011) in the words of either
// language; 8 levels of the pyramid, 8 of intensity.
#pragma once

#include <string>
#include <vector>

#include "bench/halide/peers.h"

namespace peers {

template <typename L>
class LocalLaplacian {
 public:
  using Func = typename L::Func;
  using Expr = typename L::Expr;
  using Var = typename L::Var;

  explicit LocalLaplacian(const typename L::Image& input) {
    const Func clamped = L::edge(input);
    floating_(x, y, c) = cast<float>(clamped(x, y, c)) / 65535.0f;
    gray_(x, y) =
        0.299f * floating_(x, y, 0) + 0.587f * floating_(x, y, 1) + 0.114f * floating_(x, y, 2);
    const Expr fx = cast<float>(x) / 256.0f;
    remap_(x) = fx * exp(-fx * fx / 2.0f) * kAlpha;

    const Expr level = cast<float>(k) * (1.0f / (kSteps - 1));
    const Expr index =
        clamp(cast<std::int32_t>(gray_(x, y) * float((kSteps - 1) * 256)), 0, (kSteps - 1) * 256);
    g_.push_back(named("g", 0));
    g_[0](x, y, k) = kBeta * (gray_(x, y) - level) + level + remap_(index - 256 * k);
    in_.push_back(gray_);
    for (int j = 1; j < kLevels; ++j) {
      g_.push_back(named("g", j));
      g_[j](x, y, k) = down([&](Expr i, Expr at) -> Expr { return g_[j - 1](i, at, k); });
      in_.push_back(named("in", j));
      in_[j](x, y) = down([&](Expr i, Expr at) -> Expr { return in_[j - 1](i, at); });
    }
    for (int j = 0; j < kLevels; ++j) {
      const auto laplacian = [&](const Expr& at_k) -> Expr {
        const Expr own = g_[j](x, y, at_k);
        if (j == kLevels - 1) return own;
        return own - up([&](Expr i, Expr at) -> Expr { return g_[j + 1](i, at, at_k); });
      };
      const Expr at = in_[j](x, y) * float(kSteps - 1);
      const Expr li = clamp(cast<std::int32_t>(at), 0, kSteps - 2);
      const Expr lf = at - cast<float>(li);
      out_laplacian_.push_back(named("out_laplacian", j));
      out_laplacian_[j](x, y) = (1.0f - lf) * laplacian(li) + lf * laplacian(li + 1);
    }
    out_.resize(kLevels);
    for (int j = kLevels - 1; j >= 0; --j) {
      out_[j] = named("out", j);
      if (j == kLevels - 1) {
        out_[j](x, y) = out_laplacian_[j](x, y);
      } else {
        out_[j](x, y) =
            up([&](Expr i, Expr at) -> Expr { return out_[j + 1](i, at); }) + out_laplacian_[j](x, y);
      }
    }
    const Expr colour = out_[0](x, y) * (floating_(x, y, c) + 0.01f) / (gray_(x, y) + 0.01f);
    result_(x, y, c) = cast<std::uint16_t>(clamp(colour, 0.0f, 1.0f) * 65535.0f);
  }

  /// Schedules 0 and 1: every level at root, by rows. 2 and 3: the finer levels of the output in strips
  /// of rows. Vectors of 8 or 16.
  Func scheduled(int s, bool parallel) {
    if (s == kNoSchedule) return result_;
    const int lanes = s % 2 ? 16 : 8;
    const auto root = [&](Func& f, int rows) {
      Var outer;
      f.compute_root().vectorize(x, lanes);
      if (parallel) f.split(y, outer, y, rows).parallel(outer);
    };
    remap_.compute_root();
    root(gray_, 32);
    const int strips = s < 2 ? 0 : 3;
    for (int j = 1; j < kLevels; ++j) {
      root(in_[j], j < 5 ? 32 : 8);
      g_[j].compute_root().reorder(k, y).vectorize(x, lanes);
      g_[j].reorder_storage(x, k, y);
      if (parallel) {
        Var outer;
        g_[j].split(y, outer, y, 8).parallel(outer);
      }
    }
    Var yo("yo");
    result_.reorder(c, x, y).split(y, yo, y, 64).vectorize(x, lanes).bound(c, 0, 3).unroll(c);
    if (parallel) result_.parallel(yo);
    for (int j = 0; j < kLevels; ++j) {
      if (j < strips) {
        out_[j].store_at(result_, yo).compute_at(result_, y).vectorize(x, lanes);
      } else {
        root(out_[j], 32);
      }
    }
    return result_;
  }

 private:
  static constexpr int kLevels = 8, kSteps = 8;
  static constexpr float kAlpha = 1.0f / (kSteps - 1), kBeta = 1.0f;

  static Func named(const char* name, int j) { return Func(name + std::to_string(j)); }

  /// Half the size: weights 1 3 3 1 in both directions.
  template <typename At>
  Expr down(At at) const {
    const auto across = [&](const Expr& row) -> Expr {
      return (at(2 * x - 1, row) + 3.0f * (at(2 * x, row) + at(2 * x + 1, row)) + at(2 * x + 2, row)) /
             8.0f;
    };
    return (across(2 * y - 1) + 3.0f * (across(2 * y) + across(2 * y + 1)) + across(2 * y + 2)) / 8.0f;
  }
  /// Twice the size, linear in between.
  template <typename At>
  Expr up(At at) const {
    const auto across = [&](const Expr& row) -> Expr {
      return 0.25f * at(x / 2 - 1 + 2 * (x % 2), row) + 0.75f * at(x / 2, row);
    };
    return 0.25f * across(y / 2 - 1 + 2 * (y % 2)) + 0.75f * across(y / 2);
  }

  Var x{"x"}, y{"y"}, c{"c"}, k{"k"};
  Func floating_{"floating"}, gray_{"gray"}, remap_{"remap"}, result_{"local_laplacian"};
  std::vector<Func> g_, in_, out_laplacian_, out_;
};

}  // namespace peers
