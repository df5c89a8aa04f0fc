// Buffers of other libraries' arrays, handed on as DLPack tensors.
#include "runtime/buffer/dlpack.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "tests/support/expect_error.h"
#include "tests/support/fake_cuda.h"

// As the project's own header declares them.
struct ForeignTensor {
  void* data;
  struct {
    std::int32_t device_type;
    std::int32_t device_id;
  } device;
  std::int32_t ndim;
  struct {
    std::uint8_t code;
    std::uint8_t bits;
    std::uint16_t lanes;
  } dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};
struct ForeignManagedTensor {
  ForeignTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(ForeignManagedTensor* self);
};

namespace mica {
namespace {

using test::fails_with;

// The ABI on machines with 64-bit pointers.
static_assert(sizeof(dlpack::Tensor) == 48 && offsetof(dlpack::Tensor, device) == 8 &&
              offsetof(dlpack::Tensor, ndim) == 16 && offsetof(dlpack::Tensor, dtype) == 20 &&
              offsetof(dlpack::Tensor, shape) == 24 && offsetof(dlpack::Tensor, strides) == 32 &&
              offsetof(dlpack::Tensor, byte_offset) == 40);
static_assert(sizeof(dlpack::ManagedTensor) == 64 && offsetof(dlpack::ManagedTensor, deleter) == 56);
static_assert(dlpack::LaidOutAsManagedTensor<ForeignManagedTensor>);
static_assert(!dlpack::LaidOutAsManagedTensor<ForeignTensor>);

/// A tensor of int32 elements 0, 1, 2, ... that counts how often it is deleted.
struct Tensor {
  explicit Tensor(std::vector<std::int64_t> shape_arg, std::vector<std::int64_t> strides_arg = {})
      : shape(std::move(shape_arg)), strides(std::move(strides_arg)), elements(256) {
    std::iota(elements.begin(), elements.end(), 0);
    managed.dl_tensor = {elements.data(),
                         {dlpack::kCpu, 0},
                         static_cast<std::int32_t>(shape.size()),
                         {dlpack::kInt, 32, 1},
                         shape.data(),
                         strides.empty() ? nullptr : strides.data(),
                         0};
    managed.manager_ctx = this;
    managed.deleter = [](dlpack::ManagedTensor* self) {
      ++static_cast<Tensor*>(self->manager_ctx)->deleted;
    };
  }
  std::vector<std::int64_t> shape, strides;
  std::vector<std::int32_t> elements;
  dlpack::ManagedTensor managed{};
  int deleted = 0;
};

TEST(DLPack, ATensorIsReadAndWrittenInPlaceLastDimensionFastest) {
  Tensor tensor({2, 3, 4});
  Buffer<int> b = from_dlpack(&tensor.managed);
  EXPECT_EQ(b.describe(), "i32 [0..3] x [0..2] x [0..1]");
  EXPECT_EQ(&b(1, 2, 1), &tensor.elements[1 * 12 + 2 * 4 + 1]);
  const Var x("x"), y("y"), z("z");
  Func f("f");
  f(x, y, z) = x + 10 * y + 100 * z;
  f.realize(b, Target::host());
  EXPECT_EQ(tensor.elements[1 * 12 + 2 * 4 + 3], 123);
}

TEST(DLPack, ItIsDeletedOnceWithTheLastBufferOrExpression) {
  Tensor tensor({4});
  const Var x("x");
  {
    Func f("f");
    {
      const Buffer<int> b = from_dlpack(&tensor.managed);
      const Buffer<int> part = b.cropped({{1, 2}});
      f(x) = part(x);
    }
    EXPECT_EQ(tensor.deleted, 0);
    Buffer<int> out(std::vector<BufferDim>{{1, 2, 1}});
    f.realize(out, Target::host());
    EXPECT_EQ(out(2), 2);
  }
  EXPECT_EQ(tensor.deleted, 1);
  tensor.managed.deleter = nullptr;
  (void)from_dlpack(&tensor.managed);
}

TEST(DLPack, StridesAndOffsetsAreTakenOver) {
  Tensor tensor({3, 4}, {10, 2});
  tensor.managed.dl_tensor.byte_offset = 4 * sizeof(std::int32_t) + 2 * sizeof(std::int32_t);
  const Buffer<int> b = from_dlpack(&tensor.managed);
  EXPECT_EQ(b.dims(), (std::vector<BufferDim>{{0, 4, 2}, {0, 3, 10}}));
  EXPECT_EQ(b(0, 0), 6);
  EXPECT_EQ(b(3, 2), 32);
  const Var x("x"), y("y");
  Func f("f");
  f(x, y) = b(x, y);
  for (const Target& target : {Target::host(), Target::gpu_emulator()}) {
    Buffer<int> out(4, 3);
    f.realize(out, target);
    EXPECT_EQ(out(3, 2), 32);
    EXPECT_EQ(out(1, 1), 18);
  }
}

TEST(DLPack, AnotherHeadersStructureIsTaken) {
  static int deleted = 0;
  std::vector<double> elements = {1, 2, 3};
  std::int64_t shape[] = {3};
  ForeignManagedTensor foreign{};
  foreign.dl_tensor.data = elements.data();
  foreign.dl_tensor.device.device_type = 3;  // pinned by CUDA: the host reaches it
  foreign.dl_tensor.ndim = 1;
  foreign.dl_tensor.dtype = {2, 64, 1};
  foreign.dl_tensor.shape = shape;
  foreign.deleter = [](ForeignManagedTensor*) { ++deleted; };
  {
    const Buffer<double> b = from_dlpack(&foreign);
    EXPECT_EQ(b(2), 3.0);
  }
  EXPECT_EQ(deleted, 1);
}

TEST(DLPack, EveryElementTypeOfMicasIsTaken) {
  struct Case {
    std::uint8_t code, bits;
    Type type;
  };
  const std::vector<Case> cases = {
      {0, 8, Int(8)},    {0, 16, Int(16)},   {0, 32, Int(32)},   {0, 64, Int(64)},   {1, 8, UInt(8)},
      {1, 16, UInt(16)}, {2, 16, Float(16)}, {2, 32, Float(32)}, {2, 64, Float(64)}, {4, 16, BFloat(16)},
      {6, 8, Bool()},    {1, 32, UInt(32)},  {1, 64, UInt(64)}};
  for (const Case& c : cases) {
    Tensor tensor({4});
    tensor.managed.dl_tensor.dtype = {c.code, c.bits, 1};
    EXPECT_EQ(from_dlpack(&tensor.managed).type(), c.type);
  }
}

TEST(DLPack, AnEmptyTensorNeedsNoMemory) {
  Tensor tensor({0, 4});
  tensor.managed.dl_tensor.data = nullptr;
  EXPECT_EQ(from_dlpack(&tensor.managed).elements(), 0);
  EXPECT_EQ(tensor.deleted, 1);
}

/// On the stand-in driver, which a process loads once.
class DLPackOnCuda : public test::FakeGpuTest {};

TEST_F(DLPackOnCuda, ATensorOnAGpuIsUsedWhereItLies) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto body = [] {
    setenv("MICA_LIBCUDA", test::fake_cuda_path().c_str(), 1);
    const Target gpu = Target::cuda(0);
    Buffer<int> memory(8);
    for (int i = 0; i < 8; ++i) memory(i) = 10 + i;
    Tensor tensor({8});
    const std::uint64_t address = memory.device_data(gpu, /*for_write=*/true);
    tensor.managed.dl_tensor.device = {dlpack::kCuda, 0};
    tensor.managed.dl_tensor.data = std::bit_cast<void*>(static_cast<std::uintptr_t>(address));
    int wrong = 0;
    {
      Buffer<int> b = from_dlpack(&tensor.managed);
      wrong += b.device_data(gpu, false) == address ? 0 : 1;
      wrong += std::as_const(b)(7) == 17 ? 0 : 2;
      b(0) = 5;
      b.copy_to_device(gpu);
      wrong += tensor.deleted == 0 ? 0 : 4;
    }
    wrong += tensor.deleted == 1 ? 0 : 8;
    wrong += std::as_const(memory)(0) == 5 ? 0 : 16;
    std::exit(wrong);
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(0), "");
}

class DLPackErrors : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(tensor_.deleted, 0) << "it was the caller's still"; }
  void refused(const std::vector<std::string>& parts) {
    const int line = __LINE__ + 1;
    EXPECT_TRUE(fails_with([&] { (void)from_dlpack(&tensor_.managed); }, parts, line));
  }
  dlpack::Tensor& tensor() { return tensor_.managed.dl_tensor; }
  Tensor tensor_{{2, 3}, {3, 1}};
};

TEST_F(DLPackErrors, ElementsOfSeveralLanes) {
  tensor().dtype.lanes = 4;
  refused({"4 lanes", "have 1", "one more dimension"});
}

TEST_F(DLPackErrors, TypesThatMicaLacks) {
  tensor().dtype = {dlpack::kUInt, 128, 1};
  refused({"kDLUInt of 128 bits", "legal are", "u32", "f32"});
  tensor().dtype = {5, 64, 1};
  refused({"type code 5 of 64 bits"});
  tensor().dtype = {dlpack::kBool, 1, 1};
  refused({"kDLBool of 1 bits"});
}

TEST_F(DLPackErrors, DevicesThatMicaDoesNotReach) {
  tensor().device = {10, 1};
  refused({"device 1 of DLDeviceType 10", "move it to"});
  tensor().device = {dlpack::kCuda, 4096};
  refused({"GPU 4096", "cannot be used"});
}

TEST_F(DLPackErrors, OtherNumbersOfDimensions) {
  tensor().ndim = 0;
  refused({"0 dimensions", "1 to 6"});
  std::vector<std::int64_t> seven(7, 1);
  tensor().ndim = 7;
  tensor().shape = seven.data();
  refused({"7 dimensions", "1 to 6"});
  tensor().ndim = 2;
  tensor().shape = nullptr;
  refused({"shape is null"});
}

TEST_F(DLPackErrors, ElementsThatShareAddresses) {
  tensor_.strides = {0, 1};
  refused({"DLPack tensor", "stride of 0", "share addresses"});
}

TEST_F(DLPackErrors, ArraysThatAreTurnedRound) {
  tensor_.strides = {-3, 1};
  refused({"dimension 0 of a DLPack tensor", "stride of -3", "a dense copy"});
  tensor_.strides = {3, -1};
  refused({"dimension 1 of a DLPack tensor", "stride of -1"});
}

TEST_F(DLPackErrors, NegativeExtents) {
  tensor_.shape = {2, -3};
  refused({"DLPack tensor", "extent -3"});
}

TEST_F(DLPackErrors, ElementsBesideTheirAlignment) {
  tensor().byte_offset = 2;
  refused({"2 bytes past a multiple of the 4 bytes of its i32"});
}

TEST_F(DLPackErrors, NullPointers) {
  EXPECT_TRUE(fails_with([] { (void)from_dlpack(static_cast<dlpack::ManagedTensor*>(nullptr)); },
                         {"null DLPack tensor"}, __LINE__ - 1));
  tensor().data = nullptr;
  refused({"DLPack tensor", "null pointer"});
}

}  // namespace
}  // namespace mica
