// Vectors over arrays of which one stride is no whole number of vectors: they are aligned in some rows,
// planes or volumes and not in others.
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "fuzz/random_data.h"
#include "tests/support/check_targets.h"
#include "tests/support/compare.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

struct VectorSchedule {
  std::string name;
  bool gpu = false, is_3d = false;
  std::function<void(Func&, const ImageParam&, int lanes)> apply;
};

std::vector<VectorSchedule> schedules() {
  const auto tile = [](Func& f, int lanes) -> Func& {
    if (f.dimensions() == 4) f.reorder("w", "x", "y", "z");
    return f.gpu_tile("x", "y", "z", 4, 2, 2).vectorize("x", lanes);
  };
  const auto staged = [=](LoadPolicy load) {
    return [=](Func& f, const ImageParam& u, int lanes) {
      tile(f, lanes).stage(u, MemoryType::Shared, load);
    };
  };
  const auto marched = [](LoadPolicy load) {
    return [=](Func& f, const ImageParam& u, int lanes) {
      f.gpu_tile("x", "y", 4, 2).vectorize("x", lanes);
      if (f.dimensions() == 4) {
        f.gpu_blocks("w").march("z", 0);
      } else {
        f.march("z", 3);
      }
      f.stage(u, MemoryType::Shared, load).pipeline(u, 1);
    };
  };
  return {
      {"vectors", false, false, [](Func& f, const ImageParam&, int lanes) { f.vectorize("x", lanes); }},
      {"streamed_vectors", false, false,
       [](Func& f, const ImageParam&, int lanes) { f.vectorize("x", lanes).stream_stores(); }},
      {"vectors", true, false, [=](Func& f, const ImageParam&, int lanes) { tile(f, lanes); }},
      {"streamed_vectors", true, false,
       [=](Func& f, const ImageParam& u, int lanes) { tile(f, lanes).stream_stores().stream_loads(u); }},
      {"two_step", true, true, staged(LoadPolicy::TwoStep)},
      {"async", true, true, staged(LoadPolicy::AsyncCopy)},
      {"bulk", true, true, staged(LoadPolicy::Bulk)},
      {"marched_async", true, false, marched(LoadPolicy::AsyncCopy)},
      {"marched_bulk", true, false, marched(LoadPolicy::Bulk)},
  };
}

/// Who has the odd stride.
enum class Odd : std::uint8_t { Input, Output, CropOfInput, CropOfOutput };

/// Memory over `box` whose rows, planes, ... are whole pieces of 16 bytes, but that dimension `odd` has
/// an element more; or the same around the box. Its first element is aligned.
class Memory {
 public:
  Memory(Type type, const Box& box, std::size_t odd, bool cropped) {
    const std::int64_t whole = 16 / type.bytes();
    const std::int64_t margin = cropped ? whole : 0;
    std::int64_t stride = 1;
    std::vector<BufferDim> dims;
    for (std::size_t d = 0; d < box.size(); ++d) {
      const auto [min, extent] = box[d];
      if (d > 0) stride = (stride + whole - 1) / whole * whole;
      if (d == odd) ++stride;
      dims.push_back({min - margin, extent + 2 * margin, stride});
      stride *= extent + 2 * margin;
    }
    all_ = AnyBuffer(type, dims);
    fill_random(all_, 12);
    crop_ = cropped ? all_.cropped(box) : all_;
    fill_random(crop_, 11);
  }
  [[nodiscard]] AnyBuffer& array() { return crop_; }

 private:
  AnyBuffer all_, crop_;
};

/// f over `box` from u: taps a vector away in x and a point in the other dimensions.
Func stencil(const ImageParam& u, Type type, int dimensions, int lanes) {
  const std::vector<Var> v = grid_vars(dimensions);
  Func f("f");
  Expr total =
      u(shifted(v, 0, 0)) * weight(type, 1) + u(shifted(v, 0, lanes)) - u(shifted(v, 0, -lanes));
  for (int d = 1; d < dimensions; ++d) {
    total = total + u(shifted(v, d, 1)) * weight(type, d + 1) - u(shifted(v, d, -1));
  }
  f(shifted(v, 0, 0)) = total;
  return f;
}

/// The strides of an array that are not 1 anyway, to be compiled in.
void bake_strides(CompileOptions& options, const std::string& name, const AnyBuffer& array) {
  for (int d = 1; d < array.dimensions(); ++d) {
    options.bake[name + ".stride." + std::to_string(d)] = array.stride(d);
  }
}

/// One executable runs on arrays of all strides; with `baked`, each has its own.
void expect_the_bits_of_the_oracle(const VectorSchedule& schedule, std::size_t dimensions, Type type,
                                   bool baked) {
  const auto lengths = std::array<std::int64_t, 4>{40, 4, 5, 3};
  const int lanes = 16 / type.bytes();
  ImageParam u(type, static_cast<int>(dimensions), "u");
  Func f = stencil(u, type, static_cast<int>(dimensions), lanes);
  Box box, read;
  for (std::size_t d = 0; d < dimensions; ++d) {
    box.emplace_back(d == 0 ? 0 : -1, lengths[d]);
    read.emplace_back(d == 0 ? -lanes : -2, lengths[d] + (d == 0 ? 2 * lanes : 2));
  }
  Memory plain(type, read, dimensions, false);
  u.set(plain.array());
  const AnyBuffer expected = expected_values({f}, box).front();
  schedule.apply(f, u, lanes);
  for (const Target& target : all_targets()) {
    if (schedule.gpu != target.is_gpu()) continue;
    CompileOptions options;
    options.use_cache = false;
    std::optional<Executable> executable;
    // The first has no odd stride.
    for (std::size_t odd = dimensions; odd > 0; --odd) {
      for (const Odd whose : {Odd::Input, Odd::Output, Odd::CropOfInput, Odd::CropOfOutput}) {
        const bool input = whose == Odd::Input || whose == Odd::CropOfInput;
        const bool cropped = whose == Odd::CropOfInput || whose == Odd::CropOfOutput;
        SCOPED_TRACE(to_string(type) + ", odd in dimension " + std::to_string(odd) + " of the " +
                     (cropped ? "crop " : "") + (input ? "input" : "output") + " on " +
                     to_string(target));
        Memory in(type, read, input ? odd : dimensions, cropped && input);
        Memory out(type, box, input ? dimensions : odd, cropped && !input);
        u.set(in.array());
        if (baked) {
          bake_strides(options, "u", in.array());
          bake_strides(options, "f", out.array());
          executable.reset();
        }
        if (!executable) executable = compile(f, target, options);
        executable->run(out.array());
        executable->synchronize();
        EXPECT_TRUE(same_bits(expected, out.array()));
      }
    }
  }
}

class OddStrides : public testing::TestWithParam<std::tuple<std::size_t, int>> {};

TEST_P(OddStrides, GiveTheBitsOfTheOracle) {
  for (const Type type : {Float(32), Float(64), UInt(16)}) {
    expect_the_bits_of_the_oracle(schedules()[std::get<0>(GetParam())],
                                  static_cast<std::size_t>(std::get<1>(GetParam())), type, false);
  }
}

TEST_P(OddStrides, ThatAreCompiledInGiveTheBitsOfTheOracle) {
  expect_the_bits_of_the_oracle(schedules()[std::get<0>(GetParam())],
                                static_cast<std::size_t>(std::get<1>(GetParam())), Float(32), true);
}

// A piece narrower than four bytes is no asynchronous copy: its elements are copied one by one.
TEST(OddOffsets, OfAsyncCopiesGiveTheBitsOfTheOracle) {
  const Var x("x");
  for (const Type type : {Bool(), UInt(8), UInt(16), Float(32)}) {
    for (const int offset : {1, 2, 3, 4, 6}) {
      ImageParam u(type, 1, "u");
      const auto memory = bind_random(u, {{0, 80}}, 1);
      Func f("f");
      f(x) = u(x + offset);
      const auto expected = expected_values({f}, {{0, 70}});
      f.gpu_tile(x, 32, TailStrategy::ShiftInwards).stage(u, MemoryType::Shared, LoadPolicy::AsyncCopy);
      for (const Target& target : all_targets()) {
        EXPECT_TRUE(run_matches(expected, {f}, {{0, 70}}, target, Layout::Dense))
            << to_string(type) << " " << offset;
      }
    }
  }
}

std::string name_of(const testing::TestParamInfo<OddStrides::ParamType>& tested) {
  const VectorSchedule schedule = schedules()[std::get<0>(tested.param)];
  return schedule.name + (schedule.gpu ? "_gpu_" : "_host_") +
         std::to_string(std::get<1>(tested.param)) + "d";
}
std::vector<std::tuple<std::size_t, int>> cases() {
  std::vector<std::tuple<std::size_t, int>> all;
  for (std::size_t i = 0; i < schedules().size(); ++i) {
    all.emplace_back(i, 3);
    if (!schedules()[i].is_3d) all.emplace_back(i, 4);
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Schedules, OddStrides, testing::ValuesIn(cases()), name_of);

}  // namespace
}  // namespace mica::test
