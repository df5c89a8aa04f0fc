#include "dsl/expr/diagnostics.h"

#include <gtest/gtest.h>

namespace mica {
namespace {

SourceLocation place(const char* file, int line) {
  SourceLocation where;
  where.file = file;
  where.line = line;
  return where;
}

TEST(Diagnostics, APlaceIsPrintedWithoutItsFolders) {
  EXPECT_EQ(to_string(place("some/folder/heat.cpp", 12)), "heat.cpp:12");
  EXPECT_EQ(to_string(SourceLocation()), "");
}

TEST(Diagnostics, AUserErrorStartsWithTheUsersLine) {
  const UserError error("the block has 2,048 threads", place("a/heat.cpp", 7));
  EXPECT_STREQ(error.what(), "heat.cpp:7: the block has 2,048 threads");
  EXPECT_EQ(error.where().line, 7);
  EXPECT_STREQ(UserError("no place").what(), "no place");
}

TEST(Diagnostics, ADeviceErrorNamesTheCallAndItsCode) {
  const DeviceError error("cuMemAlloc", 2, "CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_STREQ(error.what(), "cuMemAlloc failed with code 2: CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(error.call(), "cuMemAlloc");
  EXPECT_EQ(error.code(), 2);
}

TEST(Diagnostics, AFailedInternalCheckNamesThisFileAndTheCondition) {
  EXPECT_NO_THROW(internal_check(true, "holds"));
  try {
    internal_check(false, "a loop has an extent");
    FAIL() << "no error";
  } catch (const InternalError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("diagnostics_test.cpp:"), std::string::npos) << text;
    EXPECT_NE(text.find("a loop has an extent"), std::string::npos) << text;
  }
}

TEST(Diagnostics, TheFirstFindingIsThrownAndListsTheOthers) {
  EXPECT_NO_THROW(throw_if_any({}));
  try {
    throw_if_any({{"first", place("a.cpp", 1)}, {"second", place("b.cpp", 2)}, {"third", {}}});
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "a.cpp:1: first\n  also: b.cpp:2: second\n  also: third");
    EXPECT_EQ(error.where().line, 1);
  }
}

}  // namespace
}  // namespace mica
