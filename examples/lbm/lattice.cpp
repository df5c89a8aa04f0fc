#include "examples/lbm/lattice.h"

#include <cmath>
#include <numbers>
#include <string>

#include "examples/common/larger.h"

namespace mica::examples {
namespace {

constexpr int kCount = Lattice::kVelocities;

struct Velocity {
  int x, y, z;
  double weight;
};

/// At rest, then along axes and diagonals of faces, each followed by its opposite.
constexpr std::array<Velocity, kCount> kLattice = [] {
  std::array<Velocity, kCount> all{};
  all[0] = {0, 0, 0, 1.0 / 3};
  constexpr int kHalf[][3] = {{1, 0, 0}, {0, 1, 0},  {0, 0, 1}, {1, 1, 0}, {1, -1, 0},
                              {1, 0, 1}, {1, 0, -1}, {0, 1, 1}, {0, 1, -1}};
  for (std::size_t k = 0; k < 9; ++k) {
    const auto& c = kHalf[k];
    const double weight = k < 3 ? 1.0 / 18 : 1.0 / 36;
    all[2 * k + 1] = {c[0], c[1], c[2], weight};
    all[2 * k + 2] = {-c[0], -c[1], -c[2], weight};
  }
  return all;
}();

int opposite(int i) { return i == 0 ? 0 : i % 2 == 1 ? i + 1 : i - 1; }
const Velocity& velocity(int i) { return kLattice[static_cast<std::size_t>(i)]; }

/// What equilibrium has more than the weight, at density 1 and velocity u.
double equilibrium(int i, const Vector& u) {
  const Velocity& c = velocity(i);
  const double along = c.x * u[0] + c.y * u[1] + c.z * u[2];
  const double square = u[0] * u[0] + u[1] * u[1] + u[2] * u[2];
  return c.weight * (3 * along + 4.5 * along * along - 1.5 * square);
}

/// 1 for cells that are walls.
Buffer<std::uint8_t> walls_of(const Setup& setup) {
  Buffer<std::uint8_t> walls(setup.cells[0], setup.cells[1], setup.cells[2]);
  walls.for_each([&](std::uint8_t& wall, const Coordinates& at) {
    wall = setup.solid && setup.solid(at[0], at[1], at[2]) ? 1 : 0;
  });
  return walls;
}

/// How much of the inflow a cell takes on in a step, rising smoothly to 1/2 and falling again.
Buffer<float> shares_of_inflow(const Setup& setup) {
  Buffer<float> share(setup.cells[0]);
  share.for_each([&](float& value, const Coordinates& at) {
    const double s = static_cast<double>(at[0] - (setup.cells[0] - setup.fringe)) + 0.5;
    const double wave = std::sin(std::numbers::pi * s / static_cast<double>(setup.fringe));
    value = s > 0 ? static_cast<float>(0.5 * wave * wave) : 0.0F;
  });
  return share;
}

/// Sum of terms with factors -1, 0 and 1.
class Sum {
 public:
  void add(int factor, const Expr& term) {
    if (factor == 0) return;
    if (!sum_.defined()) {
      sum_ = factor > 0 ? term : -term;
    } else {
      sum_ = factor > 0 ? sum_ + term : sum_ - term;
    }
  }
  [[nodiscard]] const Expr& value() const { return sum_; }

 private:
  Expr sum_;
};

std::vector<ImageParam> make_inputs() {
  std::vector<ImageParam> inputs;
  for (int i = 0; i < kCount; ++i) inputs.emplace_back(Float(32), 3, "f" + std::to_string(i));
  return inputs;
}

std::vector<Replacement> replacements(const std::vector<ImageParam>& inputs, const Func& next) {
  std::vector<Replacement> all;
  for (int i = 0; i < kCount; ++i) all.emplace_back(inputs[static_cast<std::size_t>(i)], next, i);
  return all;
}

/// 1/omega of the even parts, which is the viscosity's, and of the odd parts: the product of what both
/// have more than 1/2 is 3/16.
double even_time(const Setup& setup) { return 3 * setup.viscosity + 0.5; }
double odd_time(const Setup& setup) { return 3.0 / 16 / (3 * setup.viscosity) + 0.5; }

}  // namespace

Func Lattice::step() const {
  Var x("x"), y("y"), z("z");
  Func streamed("streamed"), moments("moments"), next("next");
  std::vector<Expr> arriving = {f_[0](x, y, z)};
  for (int i = 1; i < kCount; ++i) {
    const Velocity& c = velocity(i);
    BoundaryRanges box(3);  // of one field for all, so that all are wrapped alike
    for (std::size_t d = 0; d < 3; ++d) {
      const auto dim = f_[0].dim(static_cast<int>(d));
      if (std::array{c.x, c.y, c.z}[d] != 0) box[d] = {dim.min(), dim.extent()};
    }
    const Func around = BoundaryConditions::repeat_image(f_[static_cast<std::size_t>(i)], box);
    arriving.push_back(around(x - c.x, y - c.y, z - c.z));
  }
  streamed(x, y, z) = Tuple(arriving);

  Sum mass, along[3];
  for (int i = 0; i < kCount; ++i) {
    const Expr population = streamed(x, y, z)[i];
    const Velocity& c = velocity(i);
    mass.add(1, population);
    along[0].add(c.x, population);
    along[1].add(c.y, population);
    along[2].add(c.z, population);
  }
  moments(x, y, z) =
      Tuple(mass.value(), along[0].value() + 0.5F * force_, along[1].value(), along[2].value());
  const Expr excess = moments(x, y, z)[0];
  const Expr j[] = {moments(x, y, z)[1], moments(x, y, z)[2], moments(x, y, z)[3]};
  const Expr per_density = 1.0F / (1.0F + excess);
  const Expr square = 1.5F * per_density * (j[0] * j[0] + j[1] * j[1] + j[2] * j[2]);

  // Equilibrium of the inflow, at density 1.
  const auto led = [&](int i, const Expr& collided) {
    const Velocity& c = velocity(i);
    const auto weight = static_cast<float>(c.weight);
    const Expr there =
        weight * inflow_ *
        (3.0F * static_cast<float>(c.x) + static_cast<float>(4.5 * c.x * c.x - 1.5) * inflow_);
    return collided + fringe_(x) * (there - collided);
  };
  const Expr rest = streamed(x, y, z)[0];
  std::vector<Expr> values = {led(0, rest - even_rate_ * (rest - (1.0F / 3) * (excess - square)))};
  for (int i = 1; i < kCount; i += 2) {  // a velocity and its opposite
    const Velocity& c = velocity(i);
    const auto weight = static_cast<float>(c.weight);
    const Expr one = streamed(x, y, z)[i], other = streamed(x, y, z)[i + 1];
    Sum momentum;
    momentum.add(c.x, j[0]);
    momentum.add(c.y, j[1]);
    momentum.add(c.z, j[2]);
    const Expr towards = momentum.value();
    const Expr even = even_rate_ * (0.5F * (one + other) -
                                    weight * (excess + 4.5F * per_density * towards * towards - square));
    // The equilibrium has half of a step's force: relaxing to it adds a part of the whole (Z. Guo, C.
    // Zheng, B. Shi, Physical Review E 65 (2002) 046308).
    const Expr push = static_cast<float>(3 * c.weight * c.x) * (1.0F - 0.5F * odd_rate_) * force_;
    const Expr odd = odd_rate_ * (0.5F * (one - other) - 3.0F * weight * towards) - push;
    values.push_back(led(i, one - even - odd));
    values.push_back(led(i + 1, other - even + odd));
  }
  // A wall sends back what arrives.
  for (int i = 0; i < kCount; ++i) {
    Expr& value = values[static_cast<std::size_t>(i)];
    value = select(walls_(x, y, z) != 0, streamed(x, y, z)[opposite(i)], value);
  }
  next(x, y, z) = Tuple(values);
  if (target_.is_gpu()) {
    next.gpu_tile(x, y, z, 32, 4, 1);
  } else {
    next.vectorize(x, 16).fuse(y, z, "rows").parallel("rows", 16);
  }
  return next;
}

Lattice::Lattice(const Target& target)
    : target_(target),
      f_(make_inputs()),
      walls_(UInt(8), 3, "walls"),
      fringe_(Float(32), 1, "fringe"),
      next_(step()),
      flow_(replacements(f_, next_)) {
  flow_.in_place();
}

void Lattice::begin(const Setup& setup) {
  if (!(setup.viscosity > 0)) {
    throw UserError("a viscosity of " + std::to_string(setup.viscosity) + ": it must be more than 0");
  }
  setup_ = setup;
  steps_done_ = 0;
  cells_of_walls_ = walls_of(setup);
  shares_of_inflow_ = shares_of_inflow(setup);
  populations_.clear();
  for (int i = 0; i < kCount; ++i) {
    populations_.emplace_back(setup.cells[0], setup.cells[1], setup.cells[2]);
    populations_.back().for_each([&](float& value, const Coordinates& at) {
      const bool wall = setup.solid && setup.solid(at[0], at[1], at[2]);
      const Vector u = wall || !setup.start ? Vector{} : setup.start(at[0], at[1], at[2]);
      value = static_cast<float>(equilibrium(i, u));
    });
  }
}

void Lattice::watch(const std::array<std::int64_t, 3>& cell, std::int64_t every) {
  Sum along;
  for (int i = 0; i < kCount; ++i) {
    along.add(velocity(i).y,
              f_[static_cast<std::size_t>(i)](static_cast<int>(cell[0]), static_cast<int>(cell[1]),
                                              static_cast<int>(cell[2])));
  }
  Func momentum("momentum");
  momentum() = along.value();
  flow_.every(every, [this, sum = compile(momentum, target_)](const RunningIteration& flow) mutable {
    RunOptions options;
    for (int i = 0; i < kCount; ++i) {
      const ImageParam& f = f_[static_cast<std::size_t>(i)];
      if (velocity(i).y != 0) options.inputs.emplace_back(f, flow.field(f));
    }
    Buffer<float> value(1);
    sum.run(value, options);
    watched_.push_back(std::as_const(value)(0));
  });
}

void Lattice::run(std::int64_t steps) {
  std::vector<RunInput> fields = {{walls_, cells_of_walls_}, {fringe_, shares_of_inflow_}};
  for (std::size_t i = 0; i < kCount; ++i) fields.emplace_back(f_[i], populations_[i]);
  flow_.run(fields, steps,
            {.target = target_,
             .params = {{even_rate_, static_cast<float>(1 / even_time(setup_))},
                        {odd_rate_, static_cast<float>(1 / odd_time(setup_))},
                        {force_, static_cast<float>(setup_.force)},
                        {inflow_, static_cast<float>(setup_.inflow)}},
             .first_step = steps_done_});
  device_for(target_)->synchronize(Stream{});
  steps_done_ += steps;
}

Fields Lattice::fields() const {
  const auto& n = setup_.cells;
  const auto empty = [&] { return Buffer<double>(n[0], n[1], n[2]); };
  Fields result{empty(), empty(), empty(), empty()};
  std::vector<const float*> f;
  for (const Buffer<float>& population : populations_) f.push_back(population.data());
  double *density = result.density.data(), *u = result.u.data(), *v = result.v.data(),
         *w = result.w.data();
  std::int64_t cell = 0;
  result.density.for_each([&](double&, const Coordinates& at) {
    const std::int64_t c = cell++;
    density[c] = 1;
    u[c] = v[c] = w[c] = 0;
    if (setup_.solid && setup_.solid(at[0], at[1], at[2])) return;
    u[c] = -setup_.force / 2;  // populations have all that the force adds in a step, velocities half
    for (int i = 0; i < kCount; ++i) {
      const double population = f[static_cast<std::size_t>(i)][c];
      density[c] += population;
      u[c] += velocity(i).x * population;
      v[c] += velocity(i).y * population;
      w[c] += velocity(i).z * population;
    }
    for (double* component : {u, v, w}) component[c] /= density[c];
  });
  return result;
}

double Lattice::excess_mass() const {
  double sum = 0;
  for (const Buffer<float>& population : populations_) {
    population.for_each([&](const float& f, const Coordinates&) { sum += f; });
  }
  return sum;
}

double Lattice::largest() const {
  double most = 0;
  for (const Buffer<float>& population : populations_) {
    population.for_each([&](const float& f, const Coordinates&) { most = larger(most, std::abs(f)); });
  }
  return most;
}

}  // namespace mica::examples
