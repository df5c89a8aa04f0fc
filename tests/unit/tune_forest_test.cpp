// Trees that correct the tuner's model: their file, and what they come to.
#include <bit>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "dsl/expr/diagnostics.h"
#include "schedules/tune/forest.h"
#include "tests/support/expect_error.h"

namespace mica::tuning {
namespace {

constexpr std::uint8_t kLeaf = 255;

/// Bytes of a file, put together.
class File {
 public:
  File() {
    bytes_ = "mica forest 2";
    for (const auto name : kFigureNames) bytes_ += " " + std::string(name);
    bytes_ += "\n";
  }
  File& f32(float value) { return bits(std::bit_cast<std::uint32_t>(value)); }
  File& bits(std::uint32_t value) {
    for (int i = 0; i < 4; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 255U);
    return *this;
  }
  File& node(float value, int figure, int right) {
    f32(value);
    bytes_ += static_cast<char>(figure);
    bytes_ += static_cast<char>(right);
    return *this;
  }
  File& leaf(float value) { return node(value, kLeaf, 0); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// No tree, and the base 0.5; so many times.
File& add_bare(File& file, int times = 1) {
  for (int i = 0; i < times; ++i) file.f32(0.5F).bits(0);
  return file;
}

TEST(TuneForest, AddsTheLeavesThatFiguresLeadTo) {
  // figures[2] <= 3 ? (figures[7] <= -1 ? 1 : 2) : 4, and a tree of one leaf.
  File file;
  add_bare(file);
  file.f32(-0.25F).bits(2);
  file.bits(5).node(3, 2, 4).node(-1, 7, 2).leaf(1).leaf(2).leaf(4);
  file.bits(1).leaf(16);
  add_bare(file, 2);
  const std::vector<Forest> forests = Forest::read(file.bytes());
  forests[1].check();
  ASSERT_EQ(forests.size(), 4U);
  Figures figures{};
  EXPECT_EQ(forests[0](figures), 0.5);
  EXPECT_EQ(forests[1](figures), -0.25 + 2 + 16);
  figures[7] = -1;
  EXPECT_EQ(forests[1](figures), -0.25 + 1 + 16) << "a threshold is on the left";
  figures[2] = 3.5F;
  EXPECT_EQ(forests[1](figures), -0.25 + 4 + 16);
}

TEST(TuneForest, OfTheLibraryIsRead) {
  const Figures nothing{};
  std::set<double> sums;
  for (const bool several : {false, true}) {
    for (const bool known : {false, true}) {
      const Forest& forest = Forest::of(several, known);
      forest.check();
      const double sum = forest(nothing);
      EXPECT_LT(std::abs(sum), 5);
      EXPECT_TRUE(sums.insert(sum).second) << "two forests are the same";
    }
  }
}

TEST(TuneForest, RefusesFilesThatLeadNowhere) {
  const auto refused = [](const File& file, const std::string& why) {
    return test::fails_with([&] { Forest::read(file.bytes())[1].check(); }, {why});
  };
  File whole;
  add_bare(whole, 4);
  EXPECT_EQ(Forest::read(whole.bytes()).size(), 4U);
  for (std::size_t size = 0; size < whole.bytes().size(); ++size) {
    EXPECT_THROW(Forest::read(std::string_view(whole.bytes()).substr(0, size)), UserError) << size;
  }
  std::string others = whole.bytes();
  others[others.find("dram")] = 'D';
  EXPECT_THROW(Forest::read(others), UserError);

  const auto of_tree = [](auto add) {
    File file;
    add_bare(file).f32(0).bits(1);
    add(file);
    add_bare(file, 2);
    return file;
  };
  const int figures = static_cast<int>(kFigureNames.size());
  EXPECT_TRUE(
      refused(of_tree([&](File& f) { f.bits(3).node(0, figures, 2).leaf(1).leaf(2); }), "nowhere"));
  EXPECT_TRUE(refused(of_tree([](File& f) { f.bits(3).node(0, 0, 3).leaf(1).leaf(2); }), "nowhere"));
  EXPECT_TRUE(refused(of_tree([](File& f) { f.bits(3).node(0, 0, 1).leaf(1).leaf(2); }), "nowhere"));
  EXPECT_TRUE(refused(of_tree([](File& f) { f.bits(0); }), "no leaf"));
}

}  // namespace
}  // namespace mica::tuning
