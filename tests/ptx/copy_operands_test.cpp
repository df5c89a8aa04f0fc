// The numbers in the PTX of copies: which groups a wait leaves under way, and the bytes of bulk copies
// and of the barriers that wait for them.
#include <algorithm>
#include <cstdint>
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/ir/traverse.h"
#include "codegen/lower.h"
#include "dsl/pipeline/pipeline.h"
#include "tests/ptx/ptx_text.h"
#include "tests/support/async_kernels.h"
#include "tests/support/hand_kernels.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

using Numbers = std::vector<std::int64_t>;

const std::vector<Type>& types() {
  static const std::vector<Type> all{Bool(),     Int(8),  UInt(8),   Int(16), UInt(16), Float(16),
                                     BFloat(16), Int(32), Float(32), Int(64), Float(64)};
  return all;
}

/// The integer that `operand` of an instruction is: itself, or what is moved into the register.
std::int64_t value_of_operand(const std::string& ptx, const std::string& operand) {
  if (operand.front() != '%') return std::stoll(operand);
  std::smatch found;
  const std::regex moved("mov\\.[bus]32\\s+" + operand + ", (-?[0-9]+);");
  if (!std::regex_search(ptx, found, moved)) {
    ADD_FAILURE() << operand << " is no constant:\n" << ptx;
    return -1;
  }
  return std::stoll(found[1]);
}

/// The values of an operand of each instruction that `pattern` matches, in the order of the text.
Numbers operands(const std::string& ptx, const std::string& pattern) {
  Numbers values;
  const std::regex instruction(pattern);
  for (std::sregex_iterator at(ptx.begin(), ptx.end(), instruction), end; at != end; ++at) {
    values.push_back(value_of_operand(ptx, (*at)[1]));
  }
  return values;
}
Numbers waits_in(const std::string& ptx) { return operands(ptx, R"(cp\.async\.wait_group\s+(\S+);)"); }
Numbers copied_in(const std::string& ptx) {
  return operands(ptx, R"(cp\.async\.bulk\.[^;\[]*\[[^\]]*\], \[[^\]]*\], (\S+), \[)");
}
Numbers expected_in(const std::string& ptx) {
  return operands(ptx, R"(mbarrier\.arrive\.expect_tx\.[^;\[]*\[[^\]]*\], (\S+);)");
}

ir::Kernel copy_kernel(Type type, const ir::Stmt& body) {
  ir::Kernel kernel;
  kernel.name = "copies";
  kernel.on_device = true;
  kernel.params = {pointer("u", type), pointer("out", type, true)};
  kernel.block[0] = 32;
  kernel.body = body;
  return kernel;
}

TEST(CopyOperands, AWaitSaysHowManyGroupsMayBeUnderWay) {
  const Expr thread = make_var("thread.x");
  std::vector<ir::Stmt> stmts;
  const Numbers pending{3, 2, 7, 1, 0};
  for (const std::int64_t n : pending) {
    stmts.push_back(async_copy("tile", thread, "u", thread, 1));
    stmts.push_back(ir::make_stmt(ir::CopyCommit{}));
    stmts.push_back(ir::make_stmt(ir::CopyWait{static_cast<int>(n)}));
  }
  stmts.push_back(store("out", thread, load("tile", Float(32), thread)));
  const ir::Stmt body = allocate(MemoryType::Shared, Float(32), "tile", {32}, ir::make_block(stmts));
  EXPECT_EQ(waits_in(ptx_of(copy_kernel(Float(32), body))), pending);
}

TEST(CopyOperands, ABulkCopyIsAsManyBytesAsItsElementsOfAnyType) {
  for (const Type type : types()) {
    for (const int pieces : {1, 3, 10}) {
      SCOPED_TRACE(to_string(type) + " " + std::to_string(pieces));
      const int bytes = 16 * pieces, elements = bytes / type.bytes();
      const ir::Stmt body = ir::make_block(
          {ir::make_stmt(ir::BulkInit{"full", 1}), ir::make_stmt(ir::Barrier{}),
           ir::make_stmt(ir::BulkExpect{"full", 0, bytes}),
           bulk_copy("tile", 0, "u", 0, elements, "full", 0), ir::make_stmt(ir::BulkWait{"full", 0, 0}),
           store("out", 0, load("tile", type, 0))});
      const std::string ptx =
          ptx_of(copy_kernel(type, allocate(MemoryType::Shared, type, "tile", {elements},
                                            allocate(MemoryType::Shared, Int(64), "full", {1}, body))));
      EXPECT_EQ(copied_in(ptx), Numbers{bytes}) << ptx;
      EXPECT_EQ(expected_in(ptx), Numbers{bytes}) << ptx;
    }
  }
}

// ---- schedules
// -----------------------------------------------------------------------------------------

struct Staged {
  ir::Kernel kernel;
  std::string ptx;
};

/// f of u with a halo of 16 bytes to the left, a point in y and one in z, by blocks of 32 x 4.
Staged staged(Type type, LoadPolicy load, bool march, int ahead) {
  const std::vector<Var> v = grid_vars(3);
  const ImageParam u(type, 3, "u");
  Func f("f");
  f(v[0], v[1], v[2]) =
      u(v[0] - 16 / type.bytes(), v[1], v[2]) + u(v[0], v[1] + 1, v[2]) + u(v[0], v[1], v[2] + 1);
  if (march) {
    f.gpu_tile(v[0], v[1], 32, 4).march(v[2], 8).stage(u, MemoryType::Shared, load).pipeline(u, ahead);
  } else {
    f.gpu_tile(v[0], v[1], v[2], 32, 4, 2).stage(u, MemoryType::Shared, load);
  }
  const LowerOptions options{{Backend::Cuda, 0}, Variant{}, {}, DeviceLimits{}};
  const ir::Module module = to_module(lower(make_pipeline({f.function()}), options));
  return {module.kernels.at(0), ptx_of(module.kernels.at(0))};
}

template <typename Op, typename Number>
Numbers numbers_of(const ir::Kernel& kernel, const Number& number) {
  Numbers numbers;
  ir::walk(
      kernel.body,
      [&](const ir::Stmt& s) {
        if (const auto* op = s.as<Op>()) numbers.push_back(number(*op));
      },
      nullptr);
  return numbers;
}

TEST(CopyOperands, WaitsOfSchedulesAreThoseOfTheirKernels) {
  for (const bool march : {false, true}) {
    for (const int ahead : {0, 1, 2, 3}) {
      const Staged s = staged(Float(32), LoadPolicy::AsyncCopy, march, ahead);
      Numbers wanted = numbers_of<ir::CopyWait>(s.kernel, [](const auto& wait) { return wait.pending; });
      Numbers found = waits_in(s.ptx);
      ASSERT_FALSE(wanted.empty());
      // Blocks of code need not keep their order.
      std::sort(wanted.begin(), wanted.end());
      std::sort(found.begin(), found.end());
      EXPECT_EQ(found, wanted) << s.ptx;
    }
  }
}

TEST(CopyOperands, BytesOfSchedulesAreThoseOfTheirRows) {
  for (const Type type : types()) {
    if (type.is_bool()) continue;
    for (const bool march : {false, true}) {
      SCOPED_TRACE(to_string(type) + (march ? " march" : " tile"));
      const Staged s = staged(type, LoadPolicy::Bulk, march, 1);
      const std::int64_t row = 32 * type.bytes() + 16, rows = march ? 5 : 5 * 3;
      const Numbers copied = copied_in(s.ptx), expected = expected_in(s.ptx);
      EXPECT_EQ(copied, Numbers(copied.size(), row)) << s.ptx;
      EXPECT_EQ(expected, Numbers(expected.size(), row * rows)) << s.ptx;
      EXPECT_FALSE(copied.empty() || expected.empty());
    }
  }
}

}  // namespace
}  // namespace mica::test
