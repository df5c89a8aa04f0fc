#include <gtest/gtest.h>

#include "codegen/ir/fingerprint.h"
#include "codegen/ir/print.h"
#include "tests/support/hand_kernels.h"

namespace mica {
namespace {

ir::Kernel with_body(const ir::Stmt& body) {
  ir::Kernel kernel = test::shared_reverse(32);
  kernel.body = body;
  return kernel;
}

TEST(IrFingerprint, EqualConstructionsAgreeAndOthersDiffer) {
  EXPECT_EQ(fingerprint(test::seven_point_march(4)), fingerprint(test::seven_point_march(4)));
  EXPECT_NE(fingerprint(test::seven_point_march(4)), fingerprint(test::seven_point_march(5)));
  EXPECT_NE(fingerprint(test::seven_point_gpu(0)), fingerprint(test::seven_point_gpu(4)));
}

TEST(IrFingerprint, AlignmentsAndTypesThatThePrinterHidesCount) {
  const auto copy = [](int alignment) {
    return with_body(
        test::store_vector("out", 0, test::load_vector("u", Float(32), 0, 4, alignment), 1));
  };
  EXPECT_EQ(to_string(copy(1)), to_string(copy(4)));
  EXPECT_NE(fingerprint(copy(1)), fingerprint(copy(4)));
  const auto bound = [](const Expr& value) {
    return with_body(ir::make_stmt(ir::LetStmt{"c", value, test::store("out", 0, 1.0F)}));
  };
  EXPECT_EQ(to_string(bound(Expr(0.5))), to_string(bound(Expr(0.5F))));
  EXPECT_NE(fingerprint(bound(Expr(0.5))), fingerprint(bound(Expr(0.5F))));
}

TEST(IrFingerprint, ASecondUseOfANodeIsNotConfusedWithAnotherNode) {
  const Expr a = test::load("u", Float(32), 0), b = test::load("u", Float(32), 1);
  EXPECT_NE(fingerprint(with_body(test::store("out", 0, test::fused(a, b, a)))),
            fingerprint(with_body(test::store("out", 0, test::fused(a, b, b)))));
}

}  // namespace
}  // namespace mica
