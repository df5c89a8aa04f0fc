#include "examples/local_laplacian/filter.h"

namespace mica::examples {

Filter::Filter(int channels_arg, int level_count, int samples_arg)
    : channels(channels_arg), samples(samples_arg) {
  for (int l = 0; l < level_count; ++l) levels.emplace_back(std::to_string(l));
  const Var x("x"), y("y"), c("c"), k("k");
  // A cell of a level is two wide on the one before (P. J. Burt, E. H. Adelson, IEEE Transactions on
  // Communications 31 (1983) 532-540). `at` reads one level for the other.
  const auto halved = [](const Expr& i, const auto& at) -> Expr {
    return 0.125F * at(2 * i - 1) + 0.375F * at(2 * i) + 0.375F * at(2 * i + 1) + 0.125F * at(2 * i + 2);
  };
  const auto doubled = [](const Expr& i, const auto& at) -> Expr {
    return 0.25F * at(i / 2 - 1 + 2 * (i % 2)) + 0.75F * at(i / 2);
  };

  const Func around = BoundaryConditions::repeat_edge(photo, {{x}, {y}}), first = levels[0].light;
  Func colour("colour");
  colour(x, y, c) = cast<float>(around(x, y, c)) / white;
  const auto of = [&](int channel) -> Expr { return colour(x, y, channel); };
  // Weights of Recommendation ITU-R BT.601.
  first(x, y) = channels == 1 ? of(0) : 0.299F * of(0) + 0.587F * of(1) + 0.114F * of(2);
  const Expr g = cast<float>(k) * (1.0F / static_cast<float>(samples - 1)), away = first(x, y) - g;
  const Expr near = exp(away * away * (-0.5F / (sigma * sigma)));
  levels[0].remapped(x, y, k) = g + away * (beta + (1.0F + alpha - beta) * near);

  for (std::size_t l = 1; l < levels.size(); ++l) {
    const Level &fine = levels[l - 1], &own = levels[l];
    // Outside of a level are the cells at its edge.
    const Expr column = clamp(x, 0, (photo.width() - 1) / (1 << l));
    const Expr row = clamp(y, 0, (photo.height() - 1) / (1 << l));
    own.half_light(x, y) = halved(column, [&](Expr i) -> Expr { return fine.light(i, y); });
    own.light(x, y) = halved(row, [&](Expr i) -> Expr { return own.half_light(x, i); });
    own.half_remapped(x, y, k) = halved(column, [&](Expr i) -> Expr { return fine.remapped(i, y, k); });
    own.remapped(x, y, k) = halved(row, [&](Expr i) -> Expr { return own.half_remapped(x, i, k); });
  }

  levels.back().out = levels.back().light;
  for (std::size_t l = levels.size() - 1; l-- > 0;) {
    const Level &coarse = levels[l + 1], &own = levels[l];
    own.tall_out(x, y) = doubled(y, [&](Expr i) -> Expr { return coarse.out(x, i); });
    own.tall_remapped(x, y, k) = doubled(y, [&](Expr i) -> Expr { return coarse.remapped(x, i, k); });
    const auto laplacian = [&](const Expr& s) -> Expr {
      return own.remapped(x, y, s) -
             doubled(x, [&](Expr i) -> Expr { return own.tall_remapped(i, y, s); });
    };
    const Expr at = own.light(x, y) * static_cast<float>(samples - 1);
    const Expr s = clamp(cast<std::int32_t>(at), 0, samples - 2), share = at - cast<float>(s);
    own.out(x, y) = doubled(x, [&](Expr i) -> Expr { return own.tall_out(i, y); }) +
                    (1.0F - share) * laplacian(s) + share * laplacian(s + 1);
  }

  constexpr float kDark = 0.01F;  // so that nothing is divided by 0 where there is no light
  const Expr brighter = (levels[0].out(x, y) + kDark) / (first(x, y) + kDark);
  const Expr value = clamp((colour(x, y, c) + kDark) * brighter - kDark, 0.0F, 1.0F);
  result(x, y, c) = cast<std::uint16_t>(value * white + 0.5F);
}

}  // namespace mica::examples
