// Properties of the PTX of hand-made kernels.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "codegen/llvm/backend.h"
#include "tests/ptx/ptx_text.h"
#include "tests/support/hand_kernels.h"
#include "tests/support/operation_cases.h"

namespace mica {
namespace {

using test::count;
using test::expect_assembles;
using test::ptx_of;

bool has(const std::string& text, const std::string& word) { return count(text, word) > 0; }

/// A kernel each of whose 32 threads makes one element of `out` of one of `u`, an f32.
template <typename Make>
ir::Kernel point_by_point(Type out, const Make& make) {
  const Expr i = make_var("thread.x");
  ir::Kernel kernel;
  kernel.name = "points";
  kernel.on_device = true;
  kernel.params = {test::pointer("u", Float(32)), test::pointer("out", out, true)};
  kernel.block[0] = 32;
  kernel.body = test::store("out", i, make(test::load("u", Float(32), i)));
  return kernel;
}

TEST(EmitPtx, SevenPointStencilFusesExactlyWhereTheAlgorithmSays) {
  const std::string ptx = ptx_of(test::seven_point_gpu());
  EXPECT_EQ(count(ptx, "fma.rn.f32"), 6U) << ptx;
  EXPECT_EQ(count(ptx, "mul.rn.f32"), 1U) << ptx;
  EXPECT_EQ(count(ptx, "ld.global.nc.b32"), 7U) << ptx;
  EXPECT_FALSE(has(ptx, ".approx")) << ptx;
  EXPECT_FALSE(has(ptx, ".ftz")) << ptx;
  EXPECT_FALSE(has(ptx, ".local")) << ptx;
  expect_assembles(ptx);
}

TEST(EmitPtx, RoundsToBfloatInOneInstruction) {
  const ir::Kernel kernel = point_by_point(BFloat(), [](const Expr& u) { return cast(BFloat(), u); });
  for (const int sm : {80, 90}) {
    const std::string ptx = ptx_of(kernel, sm);
    EXPECT_EQ(count(ptx, "cvt.rn.bf16"), 1U) << ptx;
    EXPECT_FALSE(has(ptx, "selp")) << ptx;
    expect_assembles(ptx, sm);
  }
}

TEST(EmitPtx, ASeparateMultiplyAndAddStaySeparate) {
  const std::string ptx = ptx_of(point_by_point(Float(32), [](const Expr& u) { return u * u + u; }));
  EXPECT_TRUE(has(ptx, "mul.rn.f32")) << ptx;
  EXPECT_TRUE(has(ptx, "add.rn.f32")) << ptx;
  EXPECT_FALSE(has(ptx, "fma")) << ptx;
}

TEST(EmitPtx, ConstantTapOffsetsAreImmediates) {
  const std::string ptx = ptx_of(test::seven_point_gpu());
  EXPECT_TRUE(has(ptx, "+4];")) << ptx;
  EXPECT_TRUE(has(ptx, "+-4];")) << ptx;
}

TEST(EmitPtx, LaunchBoundsAreAlwaysThere) {
  const std::string plain = ptx_of(test::seven_point_gpu());
  EXPECT_TRUE(has(plain, ".maxntid 32, 8, 1")) << plain;
  EXPECT_TRUE(has(plain, ".minnctapersm 1")) << plain;
  ir::Kernel bounded = test::seven_point_gpu(4);
  bounded.max_registers = 40;
  const std::string ptx = ptx_of(bounded);
  EXPECT_TRUE(has(ptx, ".minnctapersm 4")) << ptx;
  EXPECT_TRUE(has(ptx, ".maxnreg 40")) << ptx;
}

TEST(EmitPtx, AMarchKeepsItsWindowInRegistersAndLoadsVectors) {
  const std::string ptx = ptx_of(test::seven_point_march(8));
  EXPECT_EQ(count(ptx, "ld.global.nc.v4.b32"), 5U) << ptx;  // two before the loop, three in it
  EXPECT_EQ(count(ptx, "st.global.v4.b32"), 1U) << ptx;
  EXPECT_FALSE(has(ptx, ".local")) << ptx;
  expect_assembles(ptx);
}

TEST(EmitPtx, MarchAddressesAreNotRunningSums) {
  const std::string ptx = ptx_of(test::seven_point_march(8));
  const std::string body = ptx.substr(ptx.find("$L__BB0_1:"));
  // Strength reduction would leave no multiplication in the loop.
  EXPECT_TRUE(has(body, "mad.lo.s32")) << body;
}

TEST(EmitPtx, SharedMemoryIsOneDynamicArray) {
  const ir::Kernel kernel = test::shared_reverse(64);
  const std::string ptx = ptx_of(kernel);
  EXPECT_TRUE(has(ptx, ".extern .shared .align 128 .b8 mica_shared[]")) << ptx;
  EXPECT_TRUE(has(ptx, "bar.sync \t0") || has(ptx, "barrier.sync.aligned")) << ptx;
  EXPECT_EQ(ir::shared_bytes(kernel), 256);
  expect_assembles(ptx);
}

TEST(EmitPtx, SharedSlotsFollowEachOtherAtSixteenBytes) {
  ir::Kernel kernel = test::shared_reverse(5);
  kernel.body = test::allocate(MemoryType::Shared, Float(64), "other", {3, 2}, kernel.body);
  const std::vector<ir::SharedSlot> layout = ir::shared_layout(kernel);
  ASSERT_EQ(layout.size(), 2U);
  EXPECT_EQ(layout[0].buffer, "other");
  EXPECT_EQ(layout[0].bytes, 48);
  EXPECT_EQ(layout[1].offset, 48);
  EXPECT_EQ(layout[1].bytes, 20);
  EXPECT_EQ(ir::shared_bytes(kernel), 80);
}

TEST(EmitPtx, ABufferThatIsWrittenIsNotLoadedNonCoherently) {
  const Expr i = make_var("thread.x");
  ir::Kernel kernel;
  kernel.name = "in place";
  kernel.on_device = true;
  kernel.params = {test::pointer("u", Float(32), true)};
  kernel.block[0] = 32;
  kernel.body = test::store("u", i, test::load("u", Float(32), i) * 2.0F);
  const std::string ptx = ptx_of(kernel);
  EXPECT_FALSE(has(ptx, ".nc")) << ptx;
  EXPECT_TRUE(has(ptx, ".visible .entry in_place(")) << ptx;
}

TEST(EmitPtx, KernelNamesBecomePtxIdentifiers) {
  EXPECT_EQ(llvm_backend::ptx_name("next.s0"), "next_s0");
  EXPECT_EQ(llvm_backend::ptx_name("a$b_1"), "a$b_1");
  EXPECT_EQ(llvm_backend::ptx_name("2d"), "_2d");
  EXPECT_EQ(llvm_backend::ptx_name("f·2"), "f_2");
}

TEST(EmitPtx, KernelsWhosePtxIdentifiersWouldBeOneGetNumbers) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(llvm_backend::ptx_names(Names{"a.b", "a_b", "a·b", "a_b_2"}),
            (Names{"a_b", "a_b_2", "a_b_3", "a_b_2_2"}));
  EXPECT_EQ(llvm_backend::ptx_names(Names{"mica_shared"}), Names{"mica_shared_2"});
  ir::Module module;
  module.kernels = {test::shared_reverse(32), test::shared_reverse(64)};
  module.kernels[0].name = "a.b";
  module.kernels[1].name = "a_b";
  const std::string ptx = llvm_backend::emit_ptx(module, 90, 0);
  EXPECT_TRUE(has(ptx, ".entry a_b(")) << ptx;
  EXPECT_TRUE(has(ptx, ".entry a_b_2(")) << ptx;
  module.kernels[1].name = "a.b";
  EXPECT_THROW(llvm_backend::emit_ptx(module, 90, 0), InternalError);
}

TEST(EmitPtx, TheVersionNamesLlvmAndTheBinaryForCacheKeys) {
  const std::string version = llvm_backend::version();
  EXPECT_TRUE(has(version, "LLVM 22.")) << version;
  EXPECT_FALSE(has(version, "without identifier")) << version << ": link with --build-id";
  EXPECT_EQ(version, llvm_backend::version());
}

TEST(EmitPtx, TheSameModuleGivesTheSameText) {
  EXPECT_EQ(ptx_of(test::seven_point_march(8)), ptx_of(test::seven_point_march(8)));
}

TEST(EmitPtx, TargetAndPtxVersionAreThoseAskedFor) {
  const ir::Kernel kernel = test::seven_point_gpu();
  EXPECT_TRUE(has(ptx_of(kernel, 80), ".version 7.0\n.target sm_80"));
  EXPECT_TRUE(has(ptx_of(kernel, 90), ".version 7.8\n.target sm_90"));
  EXPECT_TRUE(has(ptx_of(kernel, 90, 80), ".version 8.0\n.target sm_90"));
  EXPECT_TRUE(has(ptx_of(kernel, 88), ".target sm_87")) << "no target of its own";
  EXPECT_TRUE(has(ptx_of(kernel, 120), ".version 8.7\n.target sm_120"));
  EXPECT_THROW(ptx_of(kernel, 75), UserError);
  EXPECT_THROW(ptx_of(kernel, 90, 70), UserError);
}

TEST(EmitPtx, EveryTargetGivesTextForTheMarch) {
  for (const int sm : {80, 86, 87, 89, 90, 100, 103, 110, 120, 121}) {
    const std::string ptx = ptx_of(test::seven_point_march(2), sm);
    EXPECT_TRUE(has(ptx, ".target sm_" + std::to_string(sm))) << sm;
    // From sm_100 on two lanes are packed in one instruction.
    EXPECT_EQ(count(ptx, "fma.rn.f32x2 "), sm >= 100 ? 12U : 0U) << sm;
    EXPECT_EQ(count(ptx, "fma.rn.f32 "), sm >= 100 ? 0U : 24U) << sm;
  }
}

TEST(EmitPtx, DivisionSquareRootAndMinimumAreTheExactOnes) {
  const auto text = [](Type type) {
    ir::Module module;
    for (const test::OperationCase& c : test::arithmetic_cases(type)) {
      module.kernels.push_back(test::operation_kernel(c, 1, true));
    }
    return llvm_backend::emit_ptx(module, 90, 0);
  };
  const std::string f32 = text(Float(32)), f64 = text(Float(64));
  for (const char* word : {"div.rn.f32", "sqrt.rn.f32", "min.NaN.f32", "max.NaN.f32", "cvt.rni.f32.f32",
                           "cvt.rmi.f32.f32", "cvt.rpi.f32.f32"}) {
    EXPECT_TRUE(has(f32, word)) << word;
  }
  for (const char* word : {"div.rn.f64", "sqrt.rn.f64", "fma.rn.f64"}) {
    EXPECT_TRUE(has(f64, word)) << word;
  }
  for (const std::string& ptx : {f32, f64}) {
    EXPECT_FALSE(has(ptx, ".approx"));
    EXPECT_FALSE(has(ptx, ".ftz"));
    EXPECT_FALSE(has(ptx, "div.full"));
  }
}

TEST(EmitPtx, ExtremaOfDoublesAreMadeOfComparisons) {
  for (const std::string name : {"min", "max"}) {
    ir::Module module;
    for (const test::OperationCase& c : test::arithmetic_cases(Float(64))) {
      if (c.name.starts_with(name)) module.kernels.push_back(test::operation_kernel(c, 1, true));
    }
    ASSERT_EQ(module.kernels.size(), 1U);
    const std::string ptx = llvm_backend::emit_ptx(module, 90, 0);
    const bool least = name == "min";
    EXPECT_TRUE(has(ptx, "add.rn.f64")) << "a NaN of either operand";
    EXPECT_TRUE(has(ptx, least ? "or.b64" : "and.b64")) << "the sign of zeros";
    EXPECT_FALSE(has(ptx, least ? "and.b64" : " or.b64")) << ptx;
    EXPECT_FALSE(has(ptx, name + ".f64")) << "gives a number for one NaN";
    for (const char* word : {"setp.lt.f64", "setp.gt.f64", "setp.eq.f64"}) {
      EXPECT_TRUE(has(ptx, word)) << word << " in\n" << ptx;
    }
  }
}

TEST(EmitPtx, EveryOperationAndCastAssembles) {
  for (const int lanes : {1, 4, 16}) {
    ir::Module module;
    for (const Type type : test::all_types()) {
      if (type.is_half()) continue;
      for (const test::OperationCase& c : test::arithmetic_cases(type)) {
        module.kernels.push_back(test::operation_kernel(c, lanes, true));
      }
    }
    for (const test::OperationCase& c : test::cast_cases()) {
      module.kernels.push_back(test::operation_kernel(c, lanes, true));
    }
    const std::string ptx = llvm_backend::emit_ptx(module, 90, 0);
    EXPECT_EQ(count(ptx, ".visible .entry"), module.kernels.size());
    const test::Assembled result = test::assemble(ptx, 90);
    if (!result.available) GTEST_SKIP() << "no ptxas on PATH or in /usr/local/cuda/bin";
    ASSERT_TRUE(result.ok) << result.output;
    // ptxas divides 64-bit integers in a function; around its calls 16 lanes do not fit registers.
    if (lanes <= 4) {
      EXPECT_EQ(result.largest("bytes spill stores"), 0) << lanes << " lanes";
    }
  }
}

TEST(EmitPtx, AVectorAccessIsCutWhereItsAlignmentEnds) {
  const auto copy = [](int lanes, int alignment) {
    const Expr at = make_var("thread.x") * 16;
    ir::Kernel kernel;
    kernel.name = "copy";
    kernel.on_device = true;
    kernel.params = {test::pointer("u", Float(32)), test::pointer("out", Float(32), true)};
    kernel.block[0] = 32;
    kernel.body = test::store_vector("out", at, test::load_vector("u", Float(32), at, lanes, alignment),
                                     alignment);
    return ptx_of(kernel);
  };
  EXPECT_EQ(count(copy(8, 4), "ld.global.nc.v4.b32"), 2U);
  EXPECT_EQ(count(copy(8, 4), "st.global.v4.b32"), 2U);
  EXPECT_EQ(count(copy(8, 8), "ld.global.nc.v4.b32"), 2U);
  EXPECT_EQ(count(copy(4, 2), "ld.global.nc.v2.b32"), 2U);
  // Wherever it begins: in two pieces, and an element.
  EXPECT_EQ(count(copy(4, 1), "ld.global.nc.v2.b32"), 2U);
  EXPECT_EQ(count(copy(4, 1), "ld.global.nc.b32"), 1U);
  EXPECT_EQ(count(copy(3, 4), "st.global.v2.b32"), 1U);
  EXPECT_EQ(count(copy(3, 4), "st.global.b32"), 1U);
}

}  // namespace
}  // namespace mica
