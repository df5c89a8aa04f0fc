// Buffers as inputs of an algorithm: which are one input, and what cannot be said of them.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "dsl/func/func.h"
#include "dsl/pipeline/pipeline.h"
#include "tests/support/expect_error.h"

namespace mica {
namespace {

using test::fails_with;

std::size_t inputs_of(const Func& f) { return make_pipeline({f.function()}).inputs.size(); }

Buffer<int> counted_from(int first, int size = 8) {
  Buffer<int> buffer(size);
  for (int i = 0; i < size; ++i) buffer(i) = first + i;
  return buffer;
}

TEST(BufferInAlgorithm, IsReadWithExpressionsAndAccessedWithIntegers) {
  const Var x("x");
  const Param<int> at("at", 2);
  Buffer<int> b(3, 2);
  static_assert(std::is_same_v<decltype(b(1, 1)), int&>);
  static_assert(std::is_same_v<decltype(std::as_const(b)(std::size_t{1}, 'a')), const int&>);
  static_assert(std::is_same_v<decltype(b(x, 1)), Expr>);
  static_assert(std::is_same_v<decltype(b(1, at)), Expr>);
  static_assert(std::is_same_v<decltype(std::as_const(b)(x + 1, x)), Expr>);
  b(1, 1) = 7;
  EXPECT_EQ(std::as_const(b)(1, 1), 7);
}

TEST(BufferInAlgorithm, IsThatVeryBuffer) {
  const Var x("x");
  Buffer<int> table = counted_from(10);
  Func f("f");
  f(x) = table(7 - x);
  Buffer<int> out(8);
  table(0) = -1;
  f.realize(out, Target::host());
  EXPECT_EQ(out(0), 17);
  EXPECT_EQ(out(7), -1) << "elements may change after the definition";
  table = counted_from(100);
  f.realize(out, Target::host());
  EXPECT_EQ(out(0), 17) << "the handle names another buffer now, the algorithm the same";
}

TEST(BufferInAlgorithm, OutlivesItsHandles) {
  const Var x("x");
  Func f("f");
  {
    const Buffer<int> table = counted_from(3);
    f(x) = table(x);
  }
  Buffer<int> out(8);
  f.realize(out, Target::host());
  EXPECT_EQ(out(7), 10);
}

TEST(BufferInAlgorithm, IsOneInputHoweverOftenItIsRead) {
  const Var x("x");
  const Buffer<int> table = counted_from(0);
  const std::vector<Buffer<int>> copies = {table};
  Func f("f");
  f(x) = table(x) + copies[0](7 - x) * table(0 * x);
  EXPECT_EQ(inputs_of(f), 1U);
  EXPECT_EQ(table.input().data(), copies[0].input().data());
}

TEST(BufferInAlgorithm, IsAnotherInputForEachBufferAndView) {
  const Var x("x");
  const Buffer<int> table = counted_from(0), twin = counted_from(0);
  Func f("f");
  f(x) = table(x) * 10 + twin(7 - x);
  EXPECT_EQ(inputs_of(f), 2U) << "of the same contents and the same name";
  Buffer<int> out(8);
  f.realize(out, Target::host());
  EXPECT_EQ(out(1), 16);

  Func g("g");
  g(x) = table.cropped({{2, 3}})(x) + table.translated({2})(x + 1) * 10 + table(x) * 100;
  EXPECT_EQ(inputs_of(g), 3U);
  Buffer<int> inside(std::vector<BufferDim>{{2, 3, 1}});
  g.realize(inside, Target::host());
  EXPECT_EQ(inside(4), 4 + 30 + 400);
}

TEST(BufferInAlgorithm, MayBeCalledAsAnInputIs) {
  const Var x("x");
  ImageParam buffer(Int(32), 1, "buffer");
  buffer.set(counted_from(5));
  const Buffer<int> table = counted_from(0);
  Func f("f");
  f(x) = table(x) * 10 + buffer(x);
  Buffer<int> out(8);
  f.realize(out, Target::host());
  EXPECT_EQ(out(2), 27);
}

TEST(BufferInAlgorithm, TakesDirectivesThroughItsInput) {
  const Var x("x");
  const Buffer<int> table = counted_from(0, 64);
  Func f("f");
  f(x) = table(x) + table(x + 1);
  f.gpu_tile(x, 16).stage(table.input(), MemoryType::Shared);
  Buffer<int> out(63);
  f.realize(out, Target::gpu_emulator());
  EXPECT_EQ(out(62), 125);
  EXPECT_NE(f.print_loop_nest(Target::gpu_emulator()).find("buffer.staged[17]"), std::string::npos);
  Func edge = BoundaryConditions::repeat_edge(table.input()), g("g");
  g(x) = edge(x - 1);
  g.realize(out, Target::host());
  EXPECT_EQ(out(0), 0);
  EXPECT_EQ(out(5), 4);
}

TEST(BufferInAlgorithm, IsAnInputOnlyAsLongAsAnythingReadsIt) {
  const Buffer<int> table = counted_from(0);
  const std::weak_ptr<const ImageData> kept = table.input().data();
  EXPECT_TRUE(kept.expired());
}

TEST(BufferInAlgorithm, CannotBeSetToAnother) {
  const Var x("x");
  const Buffer<int> table = counted_from(0), other = counted_from(1);
  Func f("f");
  f(x) = table(x);
  EXPECT_TRUE(fails_with([&] { table.input().set(other); },
                         {"stands for a buffer", "i32 [0..7]", "use an ImageParam"}, __LINE__ - 1));
  EXPECT_TRUE(fails_with([&] { table.input().reset(); }, {"stands for a buffer"}));
  const auto given = [&] { (void)RunInput(table.input(), other); };
  EXPECT_TRUE(fails_with(given, {"stands for a buffer"}, __LINE__ - 1));
}

TEST(BufferInAlgorithm, IsCalledWhatTheFirstCallsIt) {
  const Var x("x");
  const Buffer<int> table = counted_from(0), twin = counted_from(1);
  const ImageParam named = table.input("table");
  Func f("f");
  f(x) = table(x) + twin(x);
  EXPECT_EQ(table.input().name(), "table");
  EXPECT_EQ(table.input("table").data(), named.data());
  f.gpu_tile(x, 8).stage(named, MemoryType::Shared).stage(twin.input(), MemoryType::Shared);
  Buffer<int> out(8);
  f.realize(out, Target::gpu_emulator());
  EXPECT_EQ(out(3), 7);
  const auto renamed = [&] { (void)table.input("other"); };
  const int line = __LINE__ - 1;
  EXPECT_TRUE(fails_with(renamed, {"to be called other", "is called table (line"}, line));
  EXPECT_TRUE(fails_with([&] { (void)table.input(""); }, {"name", "empty"}, __LINE__));
}

TEST(BufferInAlgorithm, MustBeDefinedAndReadWithACoordinateForEachDimension) {
  const Var x("x");
  const Buffer<int> undefined;
  const Buffer<int> plane(4, 4);
  EXPECT_TRUE(fails_with([&] { (void)undefined(x); }, {"undefined buffer"}, __LINE__));
  EXPECT_TRUE(fails_with([&] { (void)plane(x); }, {"1 argument", "2 dimensions"}, __LINE__));
  EXPECT_TRUE(fails_with([&] { (void)plane(x, 1.5F); }, {"coordinate"}, __LINE__));
}

TEST(BufferInAlgorithm, IsTooSmallLikeAnyInput) {
  const Var x("x");
  const Buffer<int> table = counted_from(0);
  Func f("f");
  f(x) = table(x + 1);
  const int line = __LINE__ - 1;
  Buffer<int> out(8);
  EXPECT_TRUE(fails_with([&] { f.realize(out, Target::host()); },
                         {"reads buffer(x + 1) as far as index 8", "ends at 7"}, line));
  EXPECT_TRUE(fails_with(
      [&] {
        Buffer<int> part = table.cropped({{0, 4}});
        f.realize(part, Target::host());
      },
      {"shares memory with input buffer"}));
}

// ---- other views of its memory -------------------------------------------------------------------

Buffer<int> numbered() {
  Buffer<int> b(std::vector<BufferDim>{{1, 4, 1}, {-1, 3, 4}, {0, 2, 12}});
  b.for_each([](int& e, const auto& at) { e = static_cast<int>(at[0] + 10 * at[1] + 100 * at[2]); });
  return b;
}

TEST(Buffer, ASliceFixesOneCoordinateAndSharesElements) {
  Buffer<int> b = numbered();
  for (int d = 0; d < 3; ++d) {
    const std::int64_t at = b.min(d) + b.extent(d) - 1;
    Buffer<int> slice = b.sliced(d, at);
    ASSERT_EQ(slice.dimensions(), 2);
    const int first = d == 0 ? 1 : 0, second = d == 2 ? 1 : 2;
    EXPECT_EQ(slice.dim(0), b.dim(first));
    EXPECT_EQ(slice.dim(1), b.dim(second));
    slice.for_each([&](const int& e, const auto& c) {
      std::array<std::int64_t, 3> whole{};
      whole[static_cast<std::size_t>(d)] = at;
      whole[static_cast<std::size_t>(first)] = c[0];
      whole[static_cast<std::size_t>(second)] = c[1];
      EXPECT_EQ(&e, &b(whole[0], whole[1], whole[2]));
    });
    EXPECT_TRUE(slice.overlaps(b));
  }
  EXPECT_FALSE(b.sliced(2, 0).overlaps(b.sliced(2, 1)));
  EXPECT_FALSE(b.sliced(0, 1).overlaps(b.sliced(0, 2)));
}

TEST(Buffer, ATransposedViewExchangesTwoDimensions) {
  Buffer<int> b = numbered();
  Buffer<int> turned = b.transposed(0, 2);
  EXPECT_EQ(turned.dims(), (std::vector<BufferDim>{b.dim(2), b.dim(1), b.dim(0)}));
  EXPECT_EQ(&turned(1, 0, 3), &b(3, 0, 1));
  EXPECT_EQ(b.transposed(1, 1).dims(), b.dims());
  turned.fill(5);
  EXPECT_EQ(b(4, 1, 1), 5);
}

TEST(Buffer, SlicesAndTransposesAreReadByPipelines) {
  const Var x("x"), y("y");
  Buffer<int> b = numbered();
  Func f("f");
  f(x, y) = b.sliced(2, 1)(y, x) * 1000 + b.transposed(0, 1).sliced(2, 0)(x, y);
  Buffer<int> out(std::vector<BufferDim>{{-1, 3, 1}, {1, 4, 3}});
  f.realize(out, Target::host());
  EXPECT_EQ(out(1, 3), (3 + 10 + 100) * 1000 + (3 + 10));
  Buffer<int> columns = out.transposed(0, 1);
  f.realize(out, Target::host());
  EXPECT_EQ(columns(3, 1), out(1, 3));
}

TEST(Buffer, ASliceOrATransposeOfWhatIsNotThereIsRefused) {
  const Buffer<int> b = numbered();
  EXPECT_TRUE(fails_with([&] { (void)b.sliced(3, 0); }, {"dimension 3", "has 3"}, __LINE__));
  EXPECT_TRUE(fails_with([&] { (void)b.sliced(1, 2); }, {"index 2 in dimension 1", "-1..1"}, __LINE__));
  EXPECT_TRUE(fails_with([&] { (void)b.transposed(0, -1); }, {"dimension -1", "has 3"}, __LINE__));
  const Buffer<int> row(4);
  EXPECT_TRUE(fails_with([&] { (void)row.sliced(0, 1); }, {"no dimension", "crop"}, __LINE__));
}

}  // namespace
}  // namespace mica
