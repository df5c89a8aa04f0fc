// A Poisson problem on the unit cube whose solution is known.
#pragma once

#include <cstdint>

#include "schedules/mica.h"

namespace mica::examples {

enum class Coefficient : std::uint8_t { Constant, Variable };

/// The three values that a grid has for each cell: at its lower faces across x, y and z.
struct Faces {
  Buffer<double> x, y, z;
};

/// A field of n^3 cells inside one more on each side, all 0. The outer cells stay 0.
Buffer<double> make_field(std::int64_t n);
/// The cells of a field, and the places of faces, of which there is one more in each direction.
Buffer<double> cells_of(const Buffer<double>& field);
Buffer<double> faces_of(const Buffer<double>& field);

/// -div(beta grad u) = f with u = 0 on the walls. u = g(x) g(y) g(z), g(s) = e^s sin(2 pi s). beta is 1,
/// or 5.5 + 4.5 tanh(20 (r^2 - 1/16)), r being the distance from the middle: it rises across a sphere of
/// radius 1/4 as steeply as that of HPGMG (M. F. Adams and others, Lawrence Berkeley National Laboratory
/// Report LBNL-6630E (2014)), from 1.7 to 10.
class Problem {
 public:
  Problem(Coefficient coefficient, const Target& target);

  /// f at the middle of each cell.
  void set_right_side(Buffer<double>& f);
  /// beta at the middle of each face; twice that on walls, which are half a cell away from the cells
  /// beside them.
  void set_faces(Faces& faces);
  /// Those of the next coarser grid: the mean of four faces.
  void coarsen(const Faces& fine, Faces& coarse);

  /// The root of the mean of (u - exact)^2.
  double error(const Buffer<double>& u);

  [[nodiscard]] Coefficient coefficient() const { return coefficient_; }
  /// The least and the largest beta.
  [[nodiscard]] double least() const;
  [[nodiscard]] double largest() const;

 private:
  Coefficient coefficient_;
  ImageParam u_, x_, y_, z_;
  Param<double> h_{"h"};
  Param<std::int32_t> cells_{"cells"};
  Executable right_side_, faces_, coarser_, error_;
};

}  // namespace mica::examples
