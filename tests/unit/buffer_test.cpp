#include "runtime/buffer/buffer.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace mica {
namespace {

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no UserError";
}

std::uintptr_t address(const AnyBuffer& buffer) {
  return reinterpret_cast<std::uintptr_t>(buffer.host_data());
}

TEST(Buffer, ExtentsGiveDenseDimensionsFastestFirst) {
  const AnyBuffer b(Float(32), std::vector<std::int64_t>{5, 3, 2});
  EXPECT_EQ(b.dims(), (std::vector<BufferDim>{{0, 5, 1}, {0, 3, 5}, {0, 2, 15}}));
  EXPECT_EQ(b.elements(), 30);
  EXPECT_EQ(b.describe(), "f32 [0..4] x [0..2] x [0..1]");
}

TEST(Buffer, ElementsAreKeptByCoordinate) {
  Buffer<int> b(4, 3);
  for (int y = 0; y < 3; ++y) {
    for (int x = 0; x < 4; ++x) b(x, y) = 10 * y + x;
  }
  const Buffer<int>& read = b;
  for (int y = 0; y < 3; ++y) {
    for (int x = 0; x < 4; ++x) EXPECT_EQ(read(x, y), 10 * y + x);
  }
  EXPECT_EQ(read.data()[7], 13);
}

TEST(Buffer, IsWidenedByWhatPadsItsRows) {
  const AnyBuffer b = AnyBuffer::with_halo(Float(32), {100, 3}, {1, 1});  // 31 points before each row
  const AnyBuffer wide = b.widened(31, 27);
  ASSERT_TRUE(wide.defined());
  EXPECT_EQ(wide.min(0), -32);
  EXPECT_EQ(wide.extent(0), 160);
  EXPECT_EQ(wide.dims()[1], b.dims()[1]);
  EXPECT_EQ(address(wide) + 31 * sizeof(float), address(b));
  EXPECT_FALSE(b.widened(32, 0).defined()) << "the storage begins there";
  EXPECT_FALSE(b.widened(0, 1000).defined()) << "the storage ends before";
  std::vector<float> mine(64);
  const AnyBuffer users = AnyBuffer::wrap_host(Float(32), mine.data() + 8, {{0, 16, 1}, {0, 2, 32}});
  EXPECT_FALSE(users.widened(4, 4).defined()) << "what lies between the user's rows is the user's";
  EXPECT_FALSE(AnyBuffer().widened(0, 0).defined());
}

TEST(Buffer, MinsMayBeNegativeAndStridesMayRunBackward) {
  Buffer<int> b(std::vector<BufferDim>{{-2, 4, -1}, {7, 2, 4}});
  b.for_each([](int& e, const Coordinates& at) { e = static_cast<int>(100 * at[1] + at[0]); });
  EXPECT_EQ(b(-2, 7), 698);
  EXPECT_EQ(b(1, 8), 801);
  EXPECT_EQ(&b(-2, 7) - &b(1, 7), 3) << "x runs toward lower addresses";
  int sum = 0;
  b.for_each([](int& e) { e += 2; });
  std::as_const(b).for_each([&](const int& e) { sum += e; });
  EXPECT_EQ(sum, 4 * (700 + 800) + 2 * (-2 - 1 + 0 + 1) + 8 * 2);
}

TEST(Buffer, CopiesOfAHandleShareElements) {
  Buffer<float> a(8);
  a.fill(1.0F);
  Buffer<float> b = a;
  b(3) = 5.0F;
  EXPECT_EQ(a(3), 5.0F);
}

TEST(Buffer, ACropSharesElementsUnderTheSameCoordinates) {
  Buffer<int> whole(6, 6);
  whole.fill(0);
  Buffer<int> inner = whole.cropped({{2, 3}, {1, 4}});
  EXPECT_EQ(inner.describe(), "i32 [2..4] x [1..4]");
  inner.fill(7);
  int sevens = 0;
  whole.for_each([&](const int& e, const Coordinates& at) {
    const bool inside = at[0] >= 2 && at[0] <= 4 && at[1] >= 1 && at[1] <= 4;
    EXPECT_EQ(e, inside ? 7 : 0) << at[0] << ", " << at[1];
    sevens += e == 7;
  });
  EXPECT_EQ(sevens, 12);
  EXPECT_EQ(address(inner), address(whole) + (1 * 6 + 2) * sizeof(int));
}

TEST(Buffer, ATranslatedViewNamesTheSameElementsOtherwise) {
  Buffer<int> b(3, 2);
  b(1, 1) = 42;
  const Buffer<int> moved = b.translated({-1, 10});
  EXPECT_EQ(moved(0, 11), 42);
  EXPECT_EQ(address(moved), address(b));
}

TEST(Buffer, ACropThatSticksOutIsRefusedWithBothRanges) {
  const Buffer<float> b(8, 8);
  const std::string message = message_of([&] { (void)b.cropped({{0, 8}, {3, 6}}); });
  EXPECT_NE(message.find("min 3, extent 6 in dimension 1"), std::string::npos) << message;
  EXPECT_NE(message.find("f32 [0..7] x [0..7]"), std::string::npos) << message;
  EXPECT_THROW((void)b.cropped({{0, 8}}), UserError);
  EXPECT_THROW((void)b.cropped({{-1, 2}, {0, 1}}), UserError);
  EXPECT_THROW((void)b.cropped({{0, -1}, {0, 1}}), UserError);
}

TEST(Buffer, HaloRowsStartAlignedAtTheFirstInteriorPoint) {
  for (const std::int64_t nx : {1, 30, 64, 100}) {
    for (const std::int64_t halo : {0, 1, 4, 33}) {
      Buffer<double> b = Buffer<double>::with_halo({nx, 5, 3}, {halo, 2, 1});
      EXPECT_EQ(b.min(0), -halo);
      EXPECT_EQ(b.extent(0), nx + 2 * halo);
      EXPECT_EQ(b.min(2), -1);
      for (const int y : {-2, 0, 3, 6}) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&b(0, y, 1)) % (halo > 0 ? 32 : 128), 0U)
            << nx << " " << halo << " " << y;
      }
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&b(0, -2, -1)) % 128, 0U) << nx << " " << halo;
      EXPECT_LT(b.stride(1) * 8 - (nx + 2 * halo) * 8, halo > 0 ? 32 : 128) << nx << " " << halo;
      b.fill(1.0);  // a sanitizer build finds a storage too small
      // Every row can be read in whole lines of 16 from its first interior point on.
      const auto to_line = [](std::int64_t n) { return (n + 15) / 16 * 16 - n; };
      for (const std::int64_t ny : {4, 5, 6, 7}) {
        const auto rows = Buffer<double>::with_halo({nx, ny}, {halo, 0});
        EXPECT_TRUE(rows.widened(to_line(halo), to_line(nx + halo)).defined())
            << nx << " x " << ny << ", " << halo;
      }
    }
  }
}

TEST(Buffer, ACopyIsDenseAndApart) {
  Buffer<std::int16_t> whole(5, 4);
  whole.for_each(
      [](std::int16_t& e, const Coordinates& at) { e = static_cast<std::int16_t>(at[1] * 5 + at[0]); });
  Buffer<std::int16_t> copy = whole.cropped({{1, 3}, {2, 2}}).copy();
  EXPECT_EQ(copy.dims(), (std::vector<BufferDim>{{1, 3, 1}, {2, 2, 3}}));
  EXPECT_EQ(copy(3, 3), 18);
  copy(3, 3) = -1;
  EXPECT_EQ(whole(3, 3), 18);
  EXPECT_FALSE(copy.overlaps(whole));
}

TEST(Buffer, WrappedHostMemoryIsReadAndWrittenInPlace) {
  std::vector<float> mine(20, 3.0F);
  Buffer<float> b(mine.data(), std::vector<std::int64_t>{5, 4});
  EXPECT_EQ(b(4, 3), 3.0F);
  b(2, 1) = 9.0F;
  EXPECT_EQ(mine[7], 9.0F);
  Buffer<float> rows(mine.data() + 2, std::vector<BufferDim>{{0, 2, 1}, {0, 4, 5}});
  rows.fill(1.0F);
  EXPECT_EQ(mine[7], 1.0F);
  EXPECT_EQ(mine[4], 3.0F);
}

TEST(Buffer, EmptyBuffersHoldNothingAndAreLegal) {
  Buffer<float> b(0, 7);
  EXPECT_EQ(b.elements(), 0);
  EXPECT_EQ(b.host_data(), nullptr);
  b.fill(1.0F);
  int visits = 0;
  b.for_each([&](float&, const Coordinates&) { ++visits; });
  EXPECT_EQ(visits, 0);
  EXPECT_FALSE(b.overlaps(b));
  EXPECT_EQ(b.copy().elements(), 0);
  EXPECT_EQ(Buffer<float>(4, 4).cropped({{4, 0}, {0, 4}}).elements(), 0);
}

TEST(Buffer, EveryUserTypeIsHeld) {
  Buffer<bool> flags(3);
  flags.fill(true);
  EXPECT_TRUE(flags(2));
  Buffer<float16> halves(2);
  halves(1) = float16(0.5F);
  EXPECT_EQ(static_cast<float>(halves(1)), 0.5F);
  EXPECT_EQ(Buffer<bfloat16>(4).type(), BFloat(16));
  EXPECT_THROW(AnyBuffer(UInt(24), std::vector<std::int64_t>{4}), UserError);
}

TEST(Buffer, IllegalDimensionsAreRefused) {
  const auto make = [](std::vector<BufferDim> dims) {
    return message_of([&] { (void)AnyBuffer(Float(32), dims); });
  };
  EXPECT_NE(make({}).find("1 to 6 dimensions, not 0"), std::string::npos);
  EXPECT_NE(make(std::vector<BufferDim>(7)).find("not 7"), std::string::npos);
  EXPECT_NE(make({{0, -3, 1}}).find("extent -3"), std::string::npos);
  EXPECT_NE(make({{0, 8, 1}, {0, 4, 7}}).find("stride of 7 where the faster dimensions span 8"),
            std::string::npos);
  EXPECT_NE(make({{0, 2, 0}}).find("share addresses"), std::string::npos);
  EXPECT_NE(make({{0, std::int64_t{1} << 40, 1}, {0, std::int64_t{1} << 40, std::int64_t{1} << 40}})
                .find("2^63 bytes"),
            std::string::npos);
  EXPECT_EQ(make({{0, 1, 0}, {0, 4, 1}}), "no UserError") << "one index needs no stride";
  EXPECT_EQ(make({{0, 4, 3}, {0, 3, 12}}), "no UserError");
}

TEST(Buffer, AnotherElementTypeIsRefused) {
  const AnyBuffer b(Float(64), std::vector<std::int64_t>{4});
  const std::string message = message_of([&] { (void)Buffer<float>(b); });
  EXPECT_NE(message.find("f64 [0..3]"), std::string::npos) << message;
  EXPECT_NE(message.find("f32"), std::string::npos) << message;
  EXPECT_EQ(Buffer<double>(b).elements(), 4);
}

TEST(Buffer, AWrongNumberOfCoordinatesIsRefused) {
  const Buffer<float> b(4, 4);
  EXPECT_NE(message_of([&] { (void)b(1); }).find("1 coordinate was given for f32 [0..3] x [0..3]"),
            std::string::npos);
  EXPECT_THROW((void)b(1, 2, 3), UserError);
}

#ifndef NDEBUG
TEST(Buffer, ACoordinateOutOfRangeIsNamedWithItsRange) {
  const Buffer<float> b = Buffer<float>::with_halo({4, 4}, {1, 1});
  const std::string message = message_of([&] { (void)b(0, 5); });
  EXPECT_NE(message.find("coordinate 1 is 5, outside -1..4"), std::string::npos) << message;
  EXPECT_THROW((void)b(-2, 0), UserError);
}
#endif

TEST(BufferOverlap, DisjointCropsOfOneStorageDoNotOverlap) {
  const Buffer<float> b(10, 10);
  const auto left = b.cropped({{0, 5}, {0, 10}});
  const auto right = b.cropped({{5, 5}, {0, 10}});
  const auto middle = b.cropped({{4, 2}, {9, 1}});
  EXPECT_FALSE(left.overlaps(right)) << "their address ranges interleave, their boxes do not meet";
  EXPECT_TRUE(left.overlaps(middle));
  EXPECT_TRUE(middle.overlaps(right));
  EXPECT_TRUE(b.overlaps(b));
}

TEST(BufferOverlap, MinsDoNotMatterToMemory) {
  const Buffer<float> b(10, 10);
  const auto left = b.cropped({{0, 5}, {0, 10}}).translated({100, 100});
  const auto right = b.cropped({{5, 5}, {0, 10}}).translated({0, 0});
  EXPECT_FALSE(left.overlaps(right));
  EXPECT_TRUE(left.overlaps(b.cropped({{4, 3}, {2, 2}})));
}

TEST(BufferOverlap, WrapsOfOneArrayAreComparedByAddress) {
  std::vector<float> mine(100);
  const auto box = [&](int x, int y, std::int64_t nx, std::int64_t ny) {
    return Buffer<float>(mine.data() + y * 10 + x, std::vector<BufferDim>{{0, nx, 1}, {0, ny, 10}});
  };
  EXPECT_FALSE(box(0, 0, 5, 10).overlaps(box(5, 0, 5, 10)));
  EXPECT_TRUE(box(0, 0, 6, 10).overlaps(box(5, 0, 5, 10)));
  EXPECT_FALSE(box(0, 0, 10, 5).overlaps(box(0, 5, 10, 5)));
  const Buffer<float> flat(mine.data(), std::vector<std::int64_t>{100});
  EXPECT_TRUE(flat.overlaps(box(9, 9, 1, 1)));
  // Of another type, which are compared by their first and last bytes.
  const Buffer<std::int16_t> behind(reinterpret_cast<std::int16_t*>(mine.data() + 50),
                                    std::vector<std::int64_t>{100});
  const auto before = [&](std::int64_t n) {
    return Buffer<float>(mine.data(), std::vector<std::int64_t>{n});
  };
  EXPECT_FALSE(before(50).overlaps(behind));
  EXPECT_FALSE(behind.overlaps(before(50)));
  EXPECT_TRUE(before(51).overlaps(behind));
  EXPECT_TRUE(behind.overlaps(before(51)));
  std::vector<float> other(100);
  EXPECT_FALSE(flat.overlaps(Buffer<float>(other.data(), std::vector<std::int64_t>{100})));
}

TEST(BufferOverlap, ExactForEveryPairOfSmallBoxes) {
  std::vector<float> mine(64);
  struct Box {
    int x, y, nx, ny;
  };
  std::vector<Box> boxes;
  for (int x = 0; x < 4; ++x) {
    for (int y = 0; y < 3; ++y) {
      for (int nx = 1; x + nx <= 4; ++nx) {
        for (int ny = 1; y + ny <= 3; ++ny) boxes.push_back({x, y, nx, ny});
      }
    }
  }
  // Rows run upward in memory, columns downward.
  const auto view = [&](const Box& b) {
    return Buffer<float>(mine.data() + 8 * b.y + 7 - b.x,
                         std::vector<BufferDim>{{b.x, b.nx, -1}, {b.y, b.ny, 8}});
  };
  for (const Box& a : boxes) {
    for (const Box& b : boxes) {
      const bool meet = a.x < b.x + b.nx && b.x < a.x + a.nx && a.y < b.y + b.ny && b.y < a.y + a.ny;
      ASSERT_EQ(view(a).overlaps(view(b)), meet)
          << a.x << a.y << a.nx << a.ny << " " << b.x << b.y << b.nx << b.ny;
    }
  }
}

TEST(Realization, OneBufferConvertsAndSeveralAreIndexed) {
  const Realization one({AnyBuffer(Int(32), std::vector<std::int64_t>{3})});
  EXPECT_EQ(Buffer<int>(one).elements(), 3);
  EXPECT_THROW((void)static_cast<Buffer<float>>(one), UserError);
  Realization two({AnyBuffer(Int(32), std::vector<std::int64_t>{3}),
                   AnyBuffer(Bool(), std::vector<std::int64_t>{2})});
  EXPECT_THROW((void)static_cast<Buffer<int>>(two), UserError);
  EXPECT_EQ(two[1].type(), Bool());
  EXPECT_THROW((void)two[2], UserError);
}

}  // namespace
}  // namespace mica
