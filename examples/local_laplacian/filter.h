// The local Laplacian filter, in its fast form.
#pragma once

#include <string>
#include <vector>

#include "schedules/mica.h"

namespace mica::examples {

/// Makes the details of a photograph stronger or weaker, and its larger contrasts, without halos (S.
/// Paris, S. W. Hasinoff, J. Kautz, ACM Transactions on Graphics 30 (2011) 68). The light i, 0 to 1, is
/// remapped around a value g,
///   r(i) = g + (i - g) (beta + (1 + alpha - beta) exp(-(i - g)^2 / (2 sigma^2))),
/// and a coefficient of the result's Laplacian pyramid is that of r's where the pyramid of light has g
/// there. r is computed for `samples` values of g from 0 to 1 alone, with linear interpolation in
/// between (M. Aubry, S. Paris, S. W. Hasinoff, J. Kautz, F. Durand, ACM Transactions on Graphics 33
/// (2014) 167). The coarsest level stays as it is, and so do ratios of colours. Nothing changes with
/// alpha = 0 and beta = 1.
struct Filter {
  /// Of light alone (1 channel) or red, green and blue (3); 2 or more levels and samples.
  Filter(int channels, int levels, int samples);

  int channels, samples;
  /// Values (x, y, channel), and the largest that there may be: 255 or 65535.
  ImageParam photo{UInt(16), 3, "photo"};
  Param<float> white{"white", 255}, alpha{"alpha", 1}, beta{"beta", 1}, sigma{"sigma", 0.15F};

  /// A level of the pyramids, half as wide and high as the one before. The coarsest `out` is its
  /// `light`.
  struct Level {
    explicit Level(const std::string& l)
        : light("light" + l),
          remapped("remapped" + l),
          half_light("half_light" + l),
          half_remapped("half_remapped" + l),
          tall_out("tall_out" + l),
          tall_remapped("tall_remapped" + l),
          out("out" + l) {}
    Func light, remapped;  ///< remapped has a third dimension, the sample
    /// The level before with half its columns and all its rows; none for the first.
    Func half_light, half_remapped;
    /// The level behind with twice its rows and no more columns; none for the last.
    Func tall_out, tall_remapped;
    Func out;
  };
  std::vector<Level> levels;  ///< the finest first
  Func result{"local_laplacian"};
};

}  // namespace mica::examples
