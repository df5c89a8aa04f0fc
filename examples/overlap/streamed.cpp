#include "examples/overlap/streamed.h"

#include <algorithm>

namespace mica::examples {
namespace {

constexpr std::int64_t kSlots = 3, kArrays = 2;

/// An array on the device for `rows` rows, with the rim's columns.
Buffer<double> rows_of(std::int64_t points, std::int64_t rows) {
  return Buffer<double>::with_halo({points, rows}, {1, 0});
}

}  // namespace

Slabs cut(std::int64_t points, std::int64_t halo, std::int64_t memory) {
  Slabs slabs{points, halo, 1, points};
  const std::int64_t least = slabs.memory();
  if (least > memory) {
    throw UserError("--memory " + std::to_string(memory) + " holds no slab: one row of " +
                    std::to_string(points) + " points between halos of " + std::to_string(halo) +
                    " rows, three times in two arrays, takes " + std::to_string(least) +
                    " bytes: give as many, fewer --points or fewer --steps-at-once");
  }
  const std::int64_t a_row = Slabs{points, halo, 2, points}.memory() - least;
  const std::int64_t most = std::min(points, 1 + (memory - least) / a_row);
  slabs.rows = (points - 1) / ((points + most - 1) / most) + 1;  // all about as high
  slabs.count = (points + slabs.rows - 1) / slabs.rows;
  return slabs;
}

std::int64_t Slabs::memory() const {
  const std::int64_t row = rows_of(points, 1).stride(1) * static_cast<std::int64_t>(sizeof(double));
  return kSlots * kArrays * row * (rows + 2 * halo + 1);  // one more for what lies before the first
}

double Slabs::redundancy(const Steps& steps) const {
  std::int64_t computed = 0;
  for (std::int64_t k = 0; k < count; ++k) {
    for (std::int64_t left = halo - steps.a_kernel; left >= 0; left -= steps.a_kernel) {
      computed += std::min(points, end(k) + left) - std::max<std::int64_t>(0, begin(k) - left);
    }
  }
  return static_cast<double>(computed * steps.a_kernel) / static_cast<double>(points * halo);
}

Streamed::Streamed(Jacobi& jacobi, const Target& target, const Slabs& slabs, const Steps& steps)
    : jacobi_(jacobi), target_(target), slabs_(slabs), steps_(steps), pipeline_(target, kSlots) {
  const std::int64_t rows = slabs.rows + 2 * slabs.halo;
  Buffer<double> zeros(1, rows);
  zeros.fill(0);
  for (std::int64_t s = 0; s < kSlots; ++s) {
    slots_.push_back({{rows_of(slabs.points, rows), rows_of(slabs.points, rows)}});
    // The rim's columns, which come in with one array and belong to both.
    for (const std::int64_t x : {std::int64_t{-1}, slabs.points}) {
      copy_to_device(zeros, slots_.back().arrays[1].cropped({{x, 1}, {0, rows}}), target, {});
    }
  }
  device_for(target)->synchronize({});
}

Buffer<double> Streamed::array(int slot, int which, std::int64_t k) const {
  return slots_[static_cast<std::size_t>(slot)].arrays[which].translated(
      {-1, slabs_.begin(k) - slabs_.halo});
}

// Rows of slab k and up to `beside` more on each side; of the rim, too, or not.
Box Streamed::rows_within(std::int64_t k, std::int64_t beside, bool rim) const {
  const std::int64_t first = std::max<std::int64_t>(rim ? -1 : 0, slabs_.begin(k) - beside);
  const std::int64_t after = std::min(slabs_.points + (rim ? 1 : 0), slabs_.end(k) + beside);
  const std::int64_t x = rim ? -1 : 0, width = slabs_.points + (rim ? 2 : 0);
  return {{x, width}, {first, after - first}};
}

std::vector<PreparedRun>& Streamed::kernels_for(int slot, std::int64_t k, Stream stream) {
  std::vector<PreparedRun>& kernels = kernels_[{slot, k}];
  if (!kernels.empty()) return kernels;
  for (std::int64_t left = slabs_.halo; left > 0; left -= steps_.a_kernel) {
    const auto number = static_cast<int>(kernels.size());
    const Buffer<double> from = array(slot, number % 2, k).cropped(rows_within(k, left, true));
    const Buffer<double> to =
        array(slot, 1 - number % 2, k).cropped(rows_within(k, left - steps_.a_kernel, false));
    kernels.push_back(jacobi_.steps.prepare({{jacobi_.u, from}}, {{jacobi_.u, to}},
                                            {.target = target_, .stream = stream}));
  }
  return kernels;
}

void Streamed::run(const Buffer<double>& a, const Buffer<double>& b, std::int64_t passes) {
  // All is compiled and decided before the first slab comes in.
  const auto each_item = [&](const auto& fn) {
    for (std::int64_t item = 0; item < passes * slabs_.count; ++item) {
      fn(item / slabs_.count, item % slabs_.count, static_cast<int>(item % kSlots));
    }
  };
  const Stream work = pipeline_.stream(CopyPipeline::Stage::Work);
  each_item([&](std::int64_t, std::int64_t k, int slot) { (void)kernels_for(slot, k, work); });

  each_item([&](std::int64_t pass, std::int64_t k, int slot) {
    const Buffer<double>& before = pass % 2 == 0 ? a : b;
    const Buffer<double>& after = pass % 2 == 0 ? b : a;
    std::vector<PreparedRun>& kernels = kernels_for(slot, k, work);
    const auto last = static_cast<int>(kernels.size() % 2);  // the array with the result
    const auto in = [&](Stream stream) {
      const Box rows = rows_within(k, slabs_.halo, true);
      copy_to_device(before.cropped(rows), array(slot, 0, k).cropped(rows), target_, stream);
      // Rows of the rim, which no kernel writes, for the kernels that read the other array.
      for (const std::int64_t y : {std::int64_t{-1}, slabs_.points}) {
        if (y < rows[1].first || y >= rows[1].first + rows[1].second) continue;
        const Box row = {rows[0], {y, 1}};
        copy_to_device(before.cropped(row), array(slot, 1, k).cropped(row), target_, stream);
      }
    };
    const auto compute = [&](Stream) {
      for (PreparedRun& kernel : kernels) kernel.run();
    };
    const auto out = [&](Stream stream) {
      const Box rows = rows_within(k, 0, false);
      copy_to_host(array(slot, last, k).cropped(rows), after.cropped(rows), target_, stream);
    };
    // What comes in went out in the pass before: up to the slab that holds the last row of the halo.
    const std::int64_t below =
        std::min(slabs_.count - 1, (slabs_.end(k) + slabs_.halo - 1) / slabs_.rows);
    pipeline_.add(in, compute, out, pass == 0 ? -1 : (pass - 1) * slabs_.count + below);
  });
  pipeline_.synchronize();
}

}  // namespace mica::examples
