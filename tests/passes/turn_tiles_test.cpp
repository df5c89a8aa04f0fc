// What becomes of a tile's vectors on rows that are not aligned.
#include <gtest/gtest.h>

#include "tests/passes/lowered.h"

namespace mica::test {
namespace {

const Var x("x"), y("y");

const Variant kUnaligned{.aligned = false};

/// The threads of a tile of 32 x 8 threads of 4 points, with `taps` of them a point.
std::string tile_of(int taps, Type type = Float(32), int lanes = 4, const Variant& variant = kUnaligned,
                    const std::map<std::string, std::int64_t>& bake = {}) {
  const ImageParam u(type, 2, "u");
  Expr sum = u(x, y);
  for (int i = 1; i < taps; ++i) sum = sum + u(x + i % 16, y + i / 16);
  Func f("f");
  f(x, y) = sum;
  f.gpu_tile(x, y, 32, 8).vectorize(x, lanes);
  std::string text;
  LowerOptions options = options_for(Backend::Cuda, variant);
  options.bake = bake;
  const mica::Program program = lower(make_pipeline({f.function()}), options, "turn_tiles");
  for (const Directive& directive : program.pipeline.funcs.back()->definitions.front().directives) {
    if (const auto* tile = std::get_if<directive::GpuTile>(&directive.op)) {
      text += std::to_string(tile->sizes[0]) + " x " + std::to_string(tile->sizes[1]);
    } else if (const auto* vector = std::get_if<directive::Vectorize>(&directive.op)) {
      text += ", " + std::to_string(vector->width) + " of a row";
    } else if (const auto* rows = std::get_if<directive::Unroll>(&directive.op)) {
      text += ", " + std::to_string(rows->factor) + " rows";
    }
  }
  return text;
}

TEST(TurnTiles, PutAThreadsPointsAboveOneAnother) {
  EXPECT_EQ(tile_of(255), "128 x 2, 4 rows");
  EXPECT_EQ(tile_of(127, Float(64)), "128 x 2, 4 rows");
  EXPECT_EQ(tile_of(9, UInt(8), 16), "128 x 2, 4 of a row, 4 rows");
}

TEST(TurnTiles, AddRowsToVectorsOfHalves) {
  EXPECT_EQ(tile_of(9, UInt(16), 8), "32 x 8, 8 of a row, 3 rows");
  EXPECT_EQ(tile_of(9, Float(16), 4), "32 x 8, 4 of a row, 6 rows");
  EXPECT_EQ(tile_of(9, UInt(16), 16), "256 x 1, 2 of a row, 8 rows");
}

TEST(TurnTiles, GiveAThreadOnePointOfMoreTapsThanItHasRegisters) {
  EXPECT_EQ(tile_of(256), "32 x 8");
  EXPECT_EQ(tile_of(128, Float(64)), "32 x 8");
  EXPECT_EQ(tile_of(256, UInt(16), 8), "32 x 8, 2 of a row");
}

// Strides that are compiled in say where rows begin, whatever a run's buffers are aligned to.
TEST(TurnTiles, TurnThoseWhoseRowsAreAnOddNumberOfElementsApart) {
  const std::string turned = "128 x 2, 4 rows", whole = "32 x 8, 4 of a row";
  EXPECT_EQ(tile_of(9, Float(32), 4, {}), whole);
  EXPECT_EQ(tile_of(9, Float(32), 4, {}, {{"u.stride.1", 264}, {"f.stride.1", 256}}), whole);
  EXPECT_EQ(tile_of(9, Float(32), 4, {}, {{"u.stride.1", 261}, {"f.stride.1", 256}}), turned);
  EXPECT_EQ(tile_of(9, Float(32), 4, {}, {{"f.stride.1", 255}}), turned);
  EXPECT_EQ(tile_of(9, Float(32), 4, {}, {{"f.extent.1", 255}}), whole);
}

// A tap that stands in several places of the value is one.
TEST(TurnTiles, CountATapOnce) {
  const ImageParam u(Float(32), 2, "u");
  Expr sum = u(x, y);
  for (int i = 1; i < 300; ++i) sum = sum * 0.5F + u(x + i % 3, y);
  Func f("f");
  f(x, y) = sum;
  f.gpu_tile(x, y, 32, 8).vectorize(x, 4);
  EXPECT_EQ(count(loops(f, Backend::Cuda), "vectorized"), 1);
  const std::string text = code(f, Backend::Cuda, "simplify_loops", kUnaligned);
  EXPECT_EQ(count(text, "unrolled"), 1) << text;
}

// What is kept for the whole tile is kept for as many points as before.
TEST(TurnTiles, KeepTilesThatOthersAreComputedFor) {
  const ImageParam u(Float(32), 2, "u");
  Expr sum = u(x, y);
  for (int i = 1; i < 300; ++i) sum = sum + u(x + i % 16, y + i / 16);
  Func f("f");
  f(x, y) = sum;
  f.gpu_tile(x, y, 32, 8).vectorize(x, 4).stage(u, MemoryType::Shared);
  const std::string text = code(f, Backend::Cuda, "simplify_loops", kUnaligned);
  EXPECT_EQ(count(text, "allocate shared f32 u.staged[26][143]"), 1) << text.substr(0, 2000);
}

}  // namespace
}  // namespace mica::test
