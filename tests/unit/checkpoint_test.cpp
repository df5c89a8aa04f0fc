// Checkpoints whose checksum is right and whose header is not.
#include "codegen/iterate/checkpoint.h"

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "runtime/cache/sha256.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace mica::iterate {
namespace {

using test::fails_with;

/// Reads a checkpoint of one field u of two values 1 with this header.
std::int64_t read(const std::string& header) {
  const test::TemporaryFolder folder;
  const std::string path = (folder.path() / "run.mica").string();
  std::string bytes = "mica checkpoint 1\n" + header + "\n";
  for (int i = 0; i < 2; ++i) bytes += std::string("\0\0\x80\x3f", 4);
  std::ofstream(path, std::ios::binary) << bytes << to_hex(sha256(bytes));
  Buffer<float> u(2);
  u.fill(7.0F);
  std::vector<SavedField> fields{{"u", u}};
  try {
    const std::int64_t steps = read_checkpoint(path, "mark", fields, CallSite::current());
    EXPECT_EQ(u(1), 1.0F);
    return steps;
  } catch (...) {
    EXPECT_EQ(u(1), 7.0F);
    throw;
  }
}

std::string header(const std::string& steps, const std::string& name = "\"u\"") {
  return R"({"algorithm":"mark","fields":[{"box":[[0,2]],"name":)" + name +
         R"(,"type":"f32"}],"steps":)" + steps + "}";
}

TEST(Checkpoint, HasANumberOfStepsFromZeroOn) {
  EXPECT_EQ(read(header("0")), 0);
  EXPECT_EQ(read(header("9223372036854775807")), INT64_MAX);
  for (const char* steps : {"-1", "9223372036854775808", "1.5", "\"7\"", "[]", "null"}) {
    EXPECT_TRUE(fails_with([&] { (void)read(header(steps)); }, {"run.mica", "is damaged", "steps"}))
        << steps;
  }
}

TEST(Checkpoint, OfDeeplyNestedWordsIsDamaged) {
  const std::string deep = std::string(200000, '[') + std::string(200000, ']');
  for (const std::string& words :
       {deep, header(deep), header("1", deep), header("1", "{\"a\":" + deep + "}")}) {
    EXPECT_TRUE(fails_with([&] { (void)read(words); }, {"is damaged", "nests too deep"}));
  }
  EXPECT_TRUE(fails_with([&] { (void)read(header("1", "[[[]]]")); }, {"is damaged"}));
}

// A name may be any bytes, and JSON is UTF-8.
TEST(Checkpoint, OfAFieldWhoseNameIsNoTextIsReadAgain) {
  const test::TemporaryFolder folder;
  const std::string path = (folder.path() / "run.mica").string();
  Buffer<float> u(2);
  u.fill(3.0F);
  std::vector<SavedField> fields{
      {"\xFF"
       "u",
       u}};
  write_checkpoint(path, "mark", 7, fields);
  u.fill(0.0F);
  EXPECT_EQ(read_checkpoint(path, "mark", fields, CallSite::current()), 7);
  EXPECT_EQ(u(1), 3.0F);
}

}  // namespace
}  // namespace mica::iterate
