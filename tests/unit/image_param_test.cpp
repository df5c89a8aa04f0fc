// The buffer that an input holds.
#include <gtest/gtest.h>

#include "dsl/func/func.h"
#include "runtime/buffer/buffer.h"
#include "tests/support/expect_error.h"

namespace mica {
namespace {

using test::fails_with;

TEST(ImageParam, HoldsTheBufferOfTheNextRun) {
  const ImageParam constant(Float(32), 2, "u");
  ImageParam u = constant;
  Buffer<float> buffer(4, 3);
  EXPECT_EQ(constant.data()->bound, nullptr);
  u.set(buffer);
  ASSERT_NE(constant.data()->bound, nullptr) << "copies of a handle are one input";
  EXPECT_EQ(constant.data()->bound->host_data(), buffer.host_data());
  u.reset();
  EXPECT_EQ(constant.data()->bound, nullptr);
}

TEST(ImageParam, RefusesABufferOfAnotherTypeOrDimensionality) {
  ImageParam u(Float(32), 2, "u");
  EXPECT_TRUE(fails_with([&] { u.set(Buffer<double>(4, 3)); },
                         {"input u is f32 with 2 dimensions", "the buffer is f64 with 2 dimensions"},
                         __LINE__ - 2));
  EXPECT_TRUE(fails_with([&] { u.set(Buffer<float>(4)); },
                         {"input u is f32 with 2 dimensions", "f32 with 1 dimension"}));
  EXPECT_TRUE(fails_with([&] { u.set(AnyBuffer()); }, {"input u", "undefined buffer"}));
}

}  // namespace
}  // namespace mica
