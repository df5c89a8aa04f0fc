// Arrays of one shape share their mins, extents and strides in the code; a run whose arrays differ gets
// other code.
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "codegen/lower.h"
#include "tests/support/check_targets.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

const Var x("x"), y("y");

/// Three fields and a Tuple of two values of them, through a Func that is computed at root.
struct Coupled {
  ImageParam a{Float(32), 2, "a"}, b{Float(32), 2, "b"}, c{Float(32), 2, "c"};
  Func sum{"sum"}, f{"f"};

  Coupled() {
    const Func p = BoundaryConditions::repeat_image(a), q = BoundaryConditions::mirror_image(b),
               r = BoundaryConditions::repeat_edge(c);
    sum(x, y) = p(x - 1, y) + q(x, y + 1) * r(x + 1, y - 1);
    f(x, y) = Tuple(sum(x, y) + p(x, y), sum(x, y) - q(x + 1, y));
  }
};

struct Field {
  std::int64_t x, y, width, height, row;  ///< mins, extents, and how far rows are apart
};

AnyBuffer made(const Field& shape, std::uint32_t seed) {
  AnyBuffer buffer(
      Float(32), std::vector<BufferDim>{{shape.x, shape.width, 1}, {shape.y, shape.height, shape.row}});
  auto* data = static_cast<float*>(buffer.host_data_for_write());
  for (std::int64_t i = 0; i < shape.height * shape.row; ++i) {
    seed = seed * 1664525U + 1013904223U;
    const bool inside = i % shape.row < shape.width;
    if (inside) data[i] = static_cast<float>(seed >> 20U) * 0.01F;
  }
  return buffer;
}

float at(const AnyBuffer& buffer, std::int64_t i, std::int64_t j) {
  const std::vector<BufferDim>& d = buffer.dims();
  return static_cast<const float*>(
      buffer.host_data())[(i - d[0].min) * d[0].stride + (j - d[1].min) * d[1].stride];
}

/// Points of both values that have other bits than the oracle's.
int wrong_points(Executable& executable, const Func& f, const Box& box) {
  const std::vector<AnyBuffer> expected = expected_values({f}, box);
  const auto output = [&] {
    return AnyBuffer(Float(32),
                     std::vector<BufferDim>{{box[0].first, box[0].second, 1},
                                            {box[1].first, box[1].second, box[0].second + 3}});
  };
  AnyBuffer first = output(), second = output();
  executable.run(std::vector<AnyBuffer*>{&first, &second});
  int wrong = 0;
  for (std::int64_t j = box[1].first; j < box[1].first + box[1].second; ++j) {
    for (std::int64_t i = box[0].first; i < box[0].first + box[0].second; ++i) {
      for (const auto& [got, wanted] : {std::pair{&first, &expected[0]}, {&second, &expected[1]}}) {
        const float a = at(*got, i, j), b = at(*wanted, i, j);
        wrong += std::memcmp(&a, &b, sizeof a) != 0 ? 1 : 0;
      }
    }
  }
  return wrong;
}

// One Executable, runs of arrays that are alike and of such that differ in a single number.
TEST(AlikeArrays, AndOthersGiveTheBitsOfTheOracle) {
  const Field usual{-2, 1, 37, 9, 40};
  const std::vector<std::vector<Field>> runs{
      {usual, usual, usual},
      {usual, usual, {-2, 1, 37, 9, 41}},
      {usual, usual, {-2, 1, 36, 9, 40}},
      {usual, {-1, 1, 37, 9, 40}, usual},
      {{-2, 2, 37, 9, 40}, usual, usual},
      {{-2, 1, 37, 8, 40}, usual, usual},
      {{-2, 1, 1, 1, 1}, {-2, 1, 1, 1, 1}, {-2, 1, 1, 1, 1}},
  };
  for (const bool on_gpu : {false, true}) {
    Coupled fields;
    fields.sum.compute_root();
    if (on_gpu) fields.f.gpu_tile(x, y, 8, 4);
    if (on_gpu) fields.sum.gpu_tile(x, y, 8, 4);
    const Target target = on_gpu ? Target::gpu_emulator() : Target::host();
    Executable executable = compile(fields.f, target);
    for (const auto& shapes : runs) {
      const Box box{{-2, 37}, {1, 9}};
      fields.a.set(made(shapes[0], 1));
      fields.b.set(made(shapes[1], 2));
      fields.c.set(made(shapes[2], 3));
      EXPECT_EQ(wrong_points(executable, fields.f, box), 0)
          << on_gpu << " run " << &shapes - runs.data();
    }
  }
}

Program lowered(const Func& f, const Variant& variant, const std::map<std::string, std::int64_t>& bake,
                const std::string& last) {
  return lower(make_pipeline({f.function()}), {Target::host(), variant, bake, DeviceLimits{}}, last);
}

TEST(AlikeArrays, ShareTheSymbolsOfTheFirst) {
  const Coupled fields;
  // a, b, c and the values of f.
  const Variant alike{.alike = {0, 0, 0, 0, 0}};
  const std::string text = to_string(lowered(fields.f, alike, {}, "flatten_storage"));
  EXPECT_NE(text.find("a.stride.1"), std::string::npos) << text;
  EXPECT_NE(text.find("a.extent.1"), std::string::npos) << text;
  for (const char* other : {"b.", "c.", "f.0.", "f.1."}) {
    for (const char* field : {"min", "extent", "stride"}) {
      EXPECT_EQ(text.find(std::string(other) + field), std::string::npos) << other << field << text;
    }
  }
  // What is compiled in stays.
  const std::string baked =
      to_string(lowered(fields.f, alike, {{"b.stride.1", 64}, {"a.extent.1", 48}}, "flatten_storage"));
  EXPECT_NE(baked.find("*64"), std::string::npos) << baked;
  EXPECT_EQ(baked.find("a.extent.1"), std::string::npos) << baked;
}

// Of arrays that begin where their neighbours do, a condition's dividend is the bare loop variable.
TEST(AlikeArrays, HaveInteriors) {
  const Coupled fields;
  const std::string text =
      to_string(lowered(fields.f, {.alike = {0, 0, 0, 0, 0}}, {}, "split_interiors"));
  EXPECT_NE(text.find("f.y.inside <= f.y"), std::string::npos) << text;
}

}  // namespace
}  // namespace mica::test
