// local_laplacian: details and contrasts of a photograph by the fast local Laplacian filter.
//
//   local_laplacian photo.png --out stronger.png
//   local_laplacian photo.png --alpha -0.8 --beta 0.6 --picture smooth.png
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>

#include "examples/common/copy_speed.h"
#include "examples/common/pictures.h"
#include "examples/common/program.h"
#include "examples/common/side_by_side.h"
#include "examples/local_laplacian/check.h"
#include "examples/local_laplacian/landscape.h"

namespace {

using namespace mica;
using namespace mica::examples;

struct Options {
  std::string photo, out, picture = "local_laplacian.png", target;
  std::vector<std::int64_t> size = {768, 512};
  int levels = 0, samples = 8, runs = 11;
  Strength strength;
};

constexpr int kLevels = 8;

void check(const Options& o) {
  const auto in_range = [](const char* name, double value, double least, double most, const char* why) {
    if (value >= least && value <= most) return;
    char words[160];
    std::snprintf(words, sizeof words, "%s %g: it must be %g to %g, %s", name, value, least, most, why);
    throw UserError(words);
  };
  in_range("--alpha", o.strength.alpha, -1, 20, "0 for details as they are");
  in_range("--beta", o.strength.beta, 0, 20, "1 for contrasts as they are");
  in_range("--sigma", o.strength.sigma, 0.01, 10, "the height of details, where white is 1");
}

/// As many as asked for; by default 8, or those until the photo's smaller side is one cell.
int levels_for(const Options& o, const Photo& photo, const std::string& name) {
  const std::int64_t side = std::min(photo.width(), photo.height());
  if (side < 2) throw UserError(name + ": " + photo.describe() + "; 2 x 2 or more are needed");
  const int most = std::bit_width(static_cast<std::uint64_t>(side - 1)) + 1;
  if (o.levels <= most) return o.levels > 0 ? o.levels : std::min(kLevels, most);
  throw UserError("--levels " + std::to_string(o.levels) + ": " + name + " has " + photo.describe() +
                  ", and its level " + std::to_string(most) + " is one cell wide or high: give 2 to " +
                  std::to_string(most));
}

/// The median time of a run in seconds.
double median_time(Program& program, const Photo& photo, const Options& o,
                   Buffer<std::uint16_t>& result) {
  std::vector<double> seconds;
  for (int i = 0; i < o.runs; ++i) {
    const auto start = std::chrono::steady_clock::now();
    program.run(photo.values, photo.white, o.strength, result);
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + o.runs / 2, seconds.end());
  return seconds[static_cast<std::size_t>(o.runs / 2)];
}

void run(const Options& o) {
  const Target target = target_of(o.target);
  const std::string name = o.photo.empty() ? "a landscape that is made up" : o.photo;
  const Photo photo = o.photo.empty() ? landscape(o.size[0], o.size[1]) : read_photo(o.photo);
  const int levels = levels_for(o, photo, name);
  std::printf("target    %s (%s)\n", to_string(target).c_str(), device_for(target)->name().c_str());
  std::printf("photo     %s: %s\n", name.c_str(), photo.describe().c_str());
  const double apart = 1.0 / (o.samples - 1);
  if (o.strength.sigma < 0.9 * apart) {
    std::printf("note      samples are %.3g apart, sigma is %g: what lies between is treated less\n",
                apart, o.strength.sigma);
  }
  Program program(photo.channels(), levels, o.samples, target);
  bool right = check_identity(program, photo);
  right = check_constant(program, photo) && right;
  right = check_loops(target) && right;
  right = check_order(target) && right;

  Photo result{Buffer<std::uint16_t>(photo.width(), photo.height(), photo.channels()), photo.white};
  const double seconds = median_time(program, photo, o, result.values);
  const double pixels = static_cast<double>(photo.width() * photo.height());
  const auto bytes = static_cast<std::size_t>(photo.values.elements()) * 2 * sizeof(std::uint16_t);
  const double copy = static_cast<double>(bytes) / copy_bandwidth(target, bytes);
  std::printf(
      "filter    %d levels, %d samples: %.3f ms, median of %d runs, %.1f megapixels a second; a copy of "
      "its values takes %.3f ms\n",
      levels, o.samples, seconds * 1e3, o.runs, pixels / seconds * 1e-6, copy * 1e3);
  write_png(o.picture, side_by_side(photo, result));
  std::printf("picture   %s: before and after, alpha %g, beta %g, sigma %g\n", o.picture.c_str(),
              o.strength.alpha, o.strength.beta, o.strength.sigma);
  if (!o.out.empty()) {
    write_photo(o.out, result);
    std::printf("result    %s: %s\n", o.out.c_str(), result.describe().c_str());
  }
  if (!right) throw Error("the results are not those that are known");
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app("Details and contrasts of a photograph by the fast local Laplacian filter",
               "local_laplacian");
  app.footer("Example: local_laplacian photo.png --alpha 2 --beta 0.8 --out stronger.png");
  app.add_option("photo", o.photo, "PNG to filter (default: a landscape that is made up)");
  app.add_option("--size", o.size, "of that landscape, in pixels")
      ->expected(2)
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 13))
      ->capture_default_str();
  app.add_option("--alpha", o.strength.alpha, "details: 0 as they are, 1 twice as strong, -1 none")
      ->capture_default_str();
  app.add_option("--beta", o.strength.beta, "larger contrasts: 1 as they are, 0.5 half as strong")
      ->capture_default_str();
  app.add_option("--sigma", o.strength.sigma, "up to about what difference of light is a detail")
      ->capture_default_str();
  app.add_option("--levels", o.levels, "of the pyramids (default: 8, or as many as the photo has)")
      ->check(CLI::Range(2, 24));
  app.add_option("--samples", o.samples, "of light, around which the photo is remapped")
      ->check(CLI::Range(2, 64))
      ->capture_default_str();
  app.add_option("--runs", o.runs, "to time")->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--out", o.out, "PNG of the result alone, with the photo's bits (default: none)");
  add_usual_options(app, o.target, o.picture);
  return run_program(app, argc, argv, [&] {
    check(o);
    run(o);
  });
}
