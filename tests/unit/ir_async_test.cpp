// Statements that copy while the code goes on: walked, compared, printed, hashed and verified.
#include <vector>

#include <gtest/gtest.h>

#include "codegen/ir/equal.h"
#include "codegen/ir/fingerprint.h"
#include "codegen/ir/print.h"
#include "codegen/ir/traverse.h"
#include "codegen/ir/verify.h"
#include "tests/support/async_kernels.h"
#include "tests/support/hand_kernels.h"

namespace mica {
namespace {

const Expr x = make_var("x");

/// One of each kind; `e` is among the expressions of those that have some.
std::vector<ir::Stmt> one_of_each(const Expr& e) {
  return {test::async_copy("tile", e, "u", e + 1, 4),
          ir::make_stmt(ir::CopyCommit{}),
          ir::make_stmt(ir::CopyWait{1}),
          ir::make_stmt(ir::BulkInit{"full", 2}),
          ir::make_stmt(ir::BulkExpect{"full", e, e * 4}),
          test::bulk_copy("tile", e, "u", e, e + 256, "full", e % 2),
          ir::make_stmt(ir::BulkWait{"full", e, e % 2})};
}

TEST(IrAsync, PrintsOneLineEach) {
  const std::vector<std::string> lines = {"async_copy tile[x] = u[x + 1] x4",
                                          "copy_commit",
                                          "copy_wait pending 1",
                                          "bulk_init full x2",
                                          "bulk_expect full[x] bytes x*4",
                                          "bulk_copy tile[x] = u[x] count x + 256 at full[x % 2]",
                                          "bulk_wait full[x] parity x % 2"};
  const std::vector<ir::Stmt> stmts = one_of_each(x);
  ASSERT_EQ(stmts.size(), lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(to_string(stmts[i]), lines[i] + "\n");
  EXPECT_EQ(to_string(ir::make_stmt(ir::Store{"out", {x}, Expr(1), {}, 1, true})),
            "streamed out[x] = 1\n");
}

TEST(IrAsync, VariablesAreReplacedInsideAndFound) {
  const std::vector<ir::Stmt> before = one_of_each(x), after = one_of_each(make_var("y"));
  for (std::size_t i = 0; i < before.size(); ++i) {
    const ir::Stmt renamed = ir::substitute(before[i], "x", make_var("y"));
    EXPECT_TRUE(ir::equal(renamed, after[i])) << to_string(renamed);
    EXPECT_EQ(ir::uses_var(before[i], "x"), !ir::equal(before[i], after[i])) << to_string(before[i]);
    EXPECT_TRUE(ir::map_exprs(before[i], [](const Expr& e) { return e; }).same_as(before[i]));
    for (std::size_t k = 0; k < before.size(); ++k) {
      EXPECT_EQ(ir::equal(before[i], before[k]), i == k);
    }
  }
}

TEST(IrAsync, ArraysAreSeenAtBothEnds) {
  const std::vector<ir::Stmt> stmts = one_of_each(x);
  EXPECT_TRUE(ir::uses_buffer(stmts[0], "tile"));
  EXPECT_TRUE(ir::uses_buffer(stmts[0], "u"));
  EXPECT_TRUE(ir::uses_buffer(stmts[5], "full"));
  EXPECT_TRUE(ir::uses_buffer(stmts[6], "full"));
  EXPECT_FALSE(ir::uses_buffer(stmts[6], "tile"));
  const auto uses = ir::array_uses(stmts[0]);
  ASSERT_EQ(uses.size(), 2U);
  EXPECT_EQ(uses[0].kind, ir::ArrayUse::Kind::Write);
  EXPECT_EQ(uses[1].kind, ir::ArrayUse::Kind::Read);
}

TEST(IrAsync, EveryFieldCountsInComparisonsAndFingerprints) {
  const auto kernel_of = [](const ir::Stmt& s) {
    ir::Kernel kernel = test::async_pipeline({});
    kernel.body = s;
    return kernel;
  };
  const std::pair<ir::Stmt, ir::Stmt> pairs[] = {
      {test::async_copy("tile", x, "u", x, 1), test::async_copy("tile", x, "u", x, 4)},
      {test::async_copy("tile", x, "u", x, 1), test::async_copy("other", x, "u", x, 1)},
      {test::async_copy("tile", x, "u", x, 1), test::async_copy("tile", x, "v", x, 1)},
      {test::async_copy("tile", x, "u", x, 1), test::async_copy("tile", x, "u", x + 1, 1)},
      {ir::make_stmt(ir::CopyWait{0}), ir::make_stmt(ir::CopyWait{1})},
      {ir::make_stmt(ir::CopyWait{0}), ir::make_stmt(ir::CopyCommit{})},
      {ir::make_stmt(ir::BulkInit{"a", 1}), ir::make_stmt(ir::BulkInit{"a", 2})},
      {ir::make_stmt(ir::BulkExpect{"a", x, x}), ir::make_stmt(ir::BulkExpect{"b", x, x})},
      {test::bulk_copy("tile", x, "u", x, x, "a", x), test::bulk_copy("tile", x, "u", x, x, "b", x)},
      {ir::make_stmt(ir::BulkWait{"a", x, x}), ir::make_stmt(ir::BulkWait{"a", x, x + 1})},
      {ir::make_stmt(ir::Store{"out", {x}, x, {}, 1, true}),
       ir::make_stmt(ir::Store{"out", {x}, x, {}, 1, false})},
      {test::store("out", x, make_expr(Float(32), Load{"u", {x}, {}, 1, true})),
       test::store("out", x, make_expr(Float(32), Load{"u", {x}, {}, 1, false}))},
      {test::store("out", x, make_expr(Int(32), WarpShuffle{x, 1})),
       test::store("out", x, make_expr(Int(32), WarpShuffle{x, 2}))}};
  for (const auto& [a, b] : pairs) {
    EXPECT_FALSE(ir::equal(a, b)) << to_string(a);
    EXPECT_NE(fingerprint(kernel_of(a)), fingerprint(kernel_of(b))) << to_string(a);
  }
}

std::string faults(const ir::Kernel& kernel) {
  std::string text;
  for (const std::string& v : ir::verify(kernel, ir::Level::BackEnd)) text += v + "\n";
  return text;
}

TEST(IrAsync, PipelinesAreSound) {
  EXPECT_EQ(faults(test::async_pipeline({})), "");
  EXPECT_EQ(faults(test::bulk_pipeline({})), "");
}

TEST(IrAsync, BrokenCopiesAreNamed) {
  const Expr t = make_var("thread.x");
  const auto fault = [&](const ir::Stmt& s, Type type = Float(32), bool on_device = true) {
    ir::Kernel kernel = test::async_pipeline({});
    kernel.on_device = on_device;
    kernel.params.push_back(test::scalar("x"));
    kernel.body =
        test::allocate(MemoryType::Shared, type, "tile", {64},
                       test::allocate(MemoryType::Shared, Int(64), "full", {2},
                                      test::allocate(MemoryType::Stack, Float(32), "w", {2}, s)));
    return faults(kernel);
  };
  const auto expect = [](const std::string& found, const std::string& words) {
    EXPECT_NE(found.find(words), std::string::npos) << "found: '" << found << "'";
  };
  EXPECT_EQ(fault(test::async_copy("tile", t, "u", x, 4)), "");
  expect(fault(test::async_copy("tile", t, "u", x, 3)), "12 bytes, not 4, 8 or 16");
  expect(fault(test::async_copy("w", 0, "u", x, 1)), "w, which is not shared memory");
  expect(fault(test::async_copy("tile", t, "w", 0, 1)), "w, which is no parameter");
  expect(fault(test::async_copy("tile", t, "v", 0, 1)), "no buffer here");
  expect(fault(test::async_copy("tile", t, "u", x, 1), Int(32)), "but it holds f32");
  expect(fault(test::async_copy("tile", t, "u", make_var("z"), 1)), "z is used but not defined");
  expect(fault(ir::make_stmt(ir::CopyWait{-1})), "negative");
  expect(fault(ir::make_stmt(ir::BulkInit{"tile", 1})), "tile is no shared array");
  expect(fault(ir::make_stmt(ir::BulkInit{"full", 0})), "no transaction barrier");
  expect(fault(ir::make_stmt(ir::BulkExpect{"full", x, Expr(1.0F)})), "not a scalar integer");
  expect(fault(test::bulk_copy("tile", 0, "u", x, Expr(), "full", 0)), "undefined");
  const Expr shuffle = make_expr(Int(32), WarpShuffle{x, 32});
  expect(fault(test::store("full", 0, cast(Int(64), shuffle))), "leaves the warp");
  const Expr near = make_expr(Int(32), WarpShuffle{x, 31});
  EXPECT_EQ(fault(test::store("full", 0, cast(Int(64), near))), "");
  expect(fault(test::store("full", 0, cast(Int(64), near)), Float(32), false), "in host code");
}

TEST(IrAsync, TexturesAreOnlyLoadedFromAndHaveAnOrigin) {
  EXPECT_EQ(faults(test::texture_kernel()), "");
  const auto expect = [](const ir::Kernel& kernel, const std::string& words) {
    EXPECT_NE(faults(kernel).find(words), std::string::npos) << "found: '" << faults(kernel) << "'";
  };
  ir::Kernel kernel = test::texture_kernel();
  kernel.params.pop_back();
  expect(kernel, "texture u has no parameter u.texture.origin");
  kernel = test::texture_kernel();
  kernel.params[0].is_written = true;
  expect(kernel, "texture u is no array");
  kernel = test::async_pipeline({});
  kernel.params[0].texture = true;
  expect(kernel, "copy from texture u");
  EXPECT_NE(fingerprint(kernel), fingerprint(test::async_pipeline({})));
  EXPECT_NE(to_string(kernel).find("f32* u read_only texture"), std::string::npos) << to_string(kernel);
}

}  // namespace
}  // namespace mica
