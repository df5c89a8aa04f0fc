// blur: one image filter, five schedules, one table.
//
//   blur photo.png --picture before_and_after.png
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numbers>

#include "examples/common/copy_speed.h"
#include "examples/common/pictures.h"
#include "examples/common/program.h"
#include "examples/common/side_by_side.h"
#include "schedules/mica.h"

namespace {

using namespace mica;
using namespace mica::examples;

// A 3x3 box blur of 16-bit samples with repeated edges: separable, or as one sum of nine.
struct Blur {
  ImageParam input{UInt(16), 3, "input"};
  Func blur_x{"blur_x"}, blur_y{"blur_y"};

  explicit Blur(bool separable) {
    Var x("x"), y("y"), c("c");
    Func edge = BoundaryConditions::repeat_edge(input);
    if (separable) {
      blur_x(x, y, c) = (edge(x - 1, y, c) + edge(x, y, c) + edge(x + 1, y, c)) / 3;
      blur_y(x, y, c) = (blur_x(x, y - 1, c) + blur_x(x, y, c) + blur_x(x, y + 1, c)) / 3;
    } else {
      RDom r({{-1, 3}, {-1, 3}});
      blur_y(x, y, c) = sum(r, edge(x + r.x, y + r.y, c)) / 9;
    }
  }
};

/// Rings, finest between their centres. Beyond an edge they go on as their mirror image, which for a
/// blur of one pixel to each side is what repeated edges say: so they leave no fringe there.
Photo test_card() {
  Photo card{Buffer<std::uint16_t>(1024, 768, 3)};
  card.values.for_each([](std::uint16_t& v, const Coordinates& at) {
    constexpr double kTurn = 2 * std::numbers::pi, kPhase = 180;
    const double x = kTurn * (static_cast<double>(at[0]) + 0.5) / 1024;
    const double y = kTurn * (static_cast<double>(at[1]) + 0.5) / 768;
    const double phase = kPhase * (std::cos(x) + 0.5625 * std::cos(y)) + static_cast<double>(at[2]);
    v = static_cast<std::uint16_t>(127.5 + 127.0 * std::sin(phase));
  });
  return card;
}

/// Of 8 bits, so that sums of nine fit.
Photo read_8_bits(const std::string& path) {
  const Buffer<std::uint8_t> bytes = read_png(path);
  Photo photo{Buffer<std::uint16_t>(bytes.extent(0), bytes.extent(1), bytes.extent(2))};
  std::copy_n(bytes.data(), bytes.elements(), photo.values.data());
  return photo;
}

struct Row {
  std::string schedule;
  double ms = 0;
  Buffer<std::uint16_t> result;
};

Row run(const std::string& schedule, bool separable, const Buffer<std::uint16_t>& image,
        const Target& target, int repeats) {
  Blur blur(separable);
  schedules::apply(blur.blur_y, schedule);
  Executable executable = compile(blur.blur_y, target);
  blur.input.set(image);
  Row row{schedule, 0, Buffer<std::uint16_t>(image.extent(0), image.extent(1), image.extent(2))};
  executable.run(row.result);
  executable.synchronize();
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    executable.run(row.result);
    executable.synchronize();
    times.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
  row.ms = times[static_cast<std::size_t>(repeats / 2)];
  return row;
}

struct Options {
  std::string photo, out, picture = "blur.png", target;
  int passes = 8;
};

void run_all(const Options& o) {
  const Target target = target_of(o.target);
  const Photo photo = o.photo.empty() ? test_card() : read_8_bits(o.photo);
  const Buffer<std::uint16_t>& image = photo.values;
  std::printf("image     %s: %s\n", o.photo.empty() ? "test card" : o.photo.c_str(),
              photo.describe().c_str());
  std::printf("target    %s (%s)\n", to_string(target).c_str(), device_for(target)->name().c_str());

  const std::size_t bytes = static_cast<std::size_t>(image.elements()) * 4;
  const double copy = copy_bandwidth(target, bytes);
  std::printf("%-20s %10s %10s %8s\n", "schedule", "ms", "GB/s", "of copy");
  std::vector<Row> rows;
  const std::pair<const char*, bool> kSchedules[] = {{"blur/box3x3", false},
                                                     {"blur/breadth-first", true},
                                                     {"blur/inline", true},
                                                     {"blur/shared-tile", true},
                                                     {"blur/cpu-tile", true}};
  for (const auto& [name, separable] : kSchedules) {
    const bool on_cpu = std::strcmp(name, "blur/cpu-tile") == 0;
    rows.push_back(run(name, separable, image, on_cpu ? Target::host() : target, 21));
    const double rate = static_cast<double>(bytes) / (rows.back().ms * 1e-3);
    std::printf("%-20s %10.3f %10.1f %7.0f%%%s\n", name, rows.back().ms, rate * 1e-9, 100 * rate / copy,
                on_cpu && target.is_gpu() ? "  (on the CPU)" : "");
  }
  const Row& reference = rows[1];
  for (std::size_t i = 2; i < rows.size(); ++i) {
    const bool same = std::memcmp(rows[i].result.data(), reference.result.data(),
                                  static_cast<std::size_t>(image.elements()) * 2) == 0;
    if (!same) throw InternalError(rows[i].schedule + " and " + reference.schedule + " differ");
  }
  std::printf("results   the four separable schedules agree in every bit\n");

  // The picture shows many passes, so that the eye can see the blur.
  Photo result{image.copy()};
  Blur blur(true);
  for (int i = 0; i < o.passes; ++i) {
    Buffer<std::uint16_t> next(image.extent(0), image.extent(1), image.extent(2));
    blur.input.set(result.values);
    blur.blur_y.realize(next, target);
    result.values = next;
  }
  write_png(o.picture, side_by_side(photo, result));
  std::printf("picture   %s: before and after %d passes\n", o.picture.c_str(), o.passes);
  if (!o.out.empty()) {
    write_photo(o.out, result);
    std::printf("result    %s: %s\n", o.out.c_str(), result.describe().c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app("3x3 box blur of a PNG under five schedules", "blur");
  app.footer("Example: blur photo.png --passes 20 --picture before_and_after.png");
  app.add_option("photo", o.photo, "PNG to filter (default: a test card)");
  app.add_option("--passes", o.passes, "blur passes in the written picture")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  app.add_option("--out", o.out, "PNG of the result alone (default: none)");
  add_usual_options(app, o.target, o.picture);
  return run_program(app, argc, argv, [&] { run_all(o); });
}
