// Offsets beyond 32 bits and grids beyond 65,535 blocks in y.
#include <cstdint>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "fuzz/random_data.h"
#include "schedules/mica.h"
#include "tests/support/check_targets.h"
#include "tests/support/compare.h"

namespace mica {
namespace {

// Address space without memory behind it: pages appear when they are touched.
class SparseMemory {
 public:
  explicit SparseMemory(std::size_t bytes) : bytes_(bytes) {
    data_ =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  ~SparseMemory() {
    if (valid()) munmap(data_, bytes_);
  }
  SparseMemory(const SparseMemory&) = delete;
  SparseMemory& operator=(const SparseMemory&) = delete;
  [[nodiscard]] bool valid() const { return data_ != MAP_FAILED; }
  [[nodiscard]] float* data() const { return static_cast<float*>(data_); }

 private:
  std::size_t bytes_;
  void* data_;
};

struct Columns {
  Var x{"x"}, y{"y"};
  ImageParam u{Float(32), 2, "u"};
  Func f{"f"};
  Columns() { f(x, y) = u(x, y) + 2.0F * u(x, y + 1); }
};

TEST(LargeGrid, RowsMoreThanTwoToThe31ElementsApartAreReadAndWritten) {
  constexpr std::int64_t kRow = (std::int64_t{1} << 31) + 5;
  SparseMemory in(static_cast<std::size_t>(2 * kRow + 64) * 4),
      out(static_cast<std::size_t>(kRow + 64) * 4);
  if (!in.valid() || !out.valid()) GTEST_SKIP() << "no address space for " << 12 * kRow << " bytes";
  for (int x = 0; x < 37; ++x) {
    for (std::int64_t y = 0; y < 3; ++y) in.data()[x + y * kRow] = static_cast<float>(x + 100 * y);
  }
  for (const Target& target : {Target::host(), Target::gpu_emulator()}) {
    Columns c;
    if (target.is_gpu()) c.f.gpu_tile(c.x, c.y, 8, 2);
    c.u.set(Buffer<float>(in.data(), std::vector<BufferDim>{{0, 37, 1}, {0, 3, kRow}}));
    Buffer<float> result(out.data(), std::vector<BufferDim>{{0, 37, 1}, {0, 2, kRow}});
    for (std::int64_t y = 0; y < 2; ++y) {
      for (int x = 0; x < 37; ++x) out.data()[x + y * kRow] = -1.0F;
    }
    c.f.realize(result, target);
    for (std::int64_t y = 0; y < 2; ++y) {
      for (int x = 0; x < 37; ++x) {
        EXPECT_EQ(out.data()[x + y * kRow], static_cast<float>(3 * x + 300 * y + 200))
            << to_string(target) << " " << x << " " << y;
      }
    }
  }
}

// An index is a variable part and a constant that the address takes by itself: the variable part of a
// tap with a negative offset is beyond the last element.
TEST(LargeGrid, TheVariablePartOfA32BitIndexMayLieBeyondTheArray) {
  // The last of 4 rows ends at 2^31 - 1, and as far below as 32-bit indices are used.
  for (const std::int64_t row_stride : {715827870, 710235500}) {
    SparseMemory in(static_cast<std::size_t>(3 * row_stride + 64) * 4);
    if (!in.valid()) GTEST_SKIP() << "no address space for " << 12 * row_stride << " bytes";
    for (int x = 0; x < 37; ++x) {
      for (std::int64_t y = 0; y < 4; ++y)
        in.data()[x + y * row_stride] = static_cast<float>(x + 100 * y);
    }
    for (const Target& target : {Target::host(), Target::gpu_emulator()}) {
      Var x("x"), y("y");
      ImageParam u(Float(32), 2, "u");
      Func f("f");
      f(x, y) = u(x, y - 3) + 2.0F * u(x, y - 2);
      if (target.is_gpu()) f.gpu_tile(x, y, 8, 2);
      u.set(Buffer<float>(in.data(), std::vector<BufferDim>{{0, 37, 1}, {0, 4, row_stride}}));
      Buffer<float> result(std::vector<BufferDim>{{0, 37, 1}, {3, 3, 37}});
      CompileOptions options;
      options.bake["u.stride.1"] = row_stride;
      Executable run = compile(f, target, options);
      run.run(result);
      for (std::int64_t row = 3; row < 6; ++row) {
        for (int column = 0; column < 37; ++column) {
          EXPECT_EQ(result(column, row), static_cast<float>(3 * column + 300 * row - 700))
              << to_string(target) << " " << column << " " << row;
        }
      }
    }
  }
}

TEST(LargeGrid, ASmallBoxMayLieFarFromTheOrigin) {
  constexpr std::int64_t kFar = 268435400, kDown = -268435456;
  for (const Target& target : {Target::host(), Target::gpu_emulator()}) {
    Columns c;
    if (target.is_gpu()) c.f.gpu_tile(c.x, c.y, 8, 2).vectorize(c.x, 4);
    Buffer<float> in(std::vector<BufferDim>{{kFar, 45, 1}, {kDown, 8, 48}});
    Buffer<float> out(std::vector<BufferDim>{{kFar + 4, 40, 1}, {kDown, 7, 40}});
    in.for_each([&](float& value, const Coordinates& at) {
      value = static_cast<float>(at[0] - kFar + 100 * (at[1] - kDown));
    });
    c.u.set(in);
    c.f.realize(out, target);
    out.for_each([&](const float& value, const Coordinates& at) {
      EXPECT_EQ(value, static_cast<float>(3 * (at[0] - kFar) + 300 * (at[1] - kDown) + 200))
          << to_string(target) << " " << at[0] << " " << at[1];
    });
  }
}

TEST(LargeGrid, MoreThan65535BlocksInYAreNumberedAlongX) {
  Columns c;
  c.f.gpu_tile(c.x, c.y, 2, 1);
  constexpr std::int64_t kRows = 70000;
  Buffer<float> in(3, kRows + 1), out(3, kRows);
  in.for_each([](float& v, const Coordinates& at) { v = static_cast<float>(at[0] + at[1]); });
  out.fill(-1.0F);
  c.u.set(in);
  for (const Target& target : test::gpu_targets()) {
    c.f.realize(out, target);
    std::int64_t wrong = 0;
    const Buffer<float>& result = out;
    result.for_each([&](const float& v, const Coordinates& at) {
      wrong += v != static_cast<float>(3 * (at[0] + at[1]) + 2);
    });
    EXPECT_EQ(wrong, 0) << to_string(target);
  }
}

}  // namespace
}  // namespace mica
