// Plots as files, and where their axes have ticks. Their looks are for people.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"
#include "tools/pictures/plot.h"
#include "tools/pictures/plot_axis.h"
#include "tools/pictures/png_image.h"

namespace mica {
namespace {

using namespace pictures;

/// A line across and one up, on a page of 300 x 200.
Page example(FileKind kind) {
  Page page(300, 200, kind);
  Plot plot = page.plot({.left = 60, .top = 30, .width = 220, .height = 120},
                        {"nw", 8, 64, true, {8, 16, 32, 64}}, {"GB/s", 0, 400}, "<case> & more");
  plot.curve({{8, 100}, {16, 300}, {64, 250}}, kBlue, "Mica").legend(Corner::BottomRight);
  return page;
}

std::string content(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// cairo counts the surfaces and glyphs of a process on, so that a second drawing has other ids.
std::string without_numbers_of_ids(const std::string& svg) {
  return std::regex_replace(svg, std::regex(R"((id="|#)([a-z]+)[0-9-]+)"), "$1$2");
}

std::vector<std::string> words_of(const DrawnAxis& axis) {
  std::vector<std::string> words;
  for (const Tick& tick : axis.ticks()) {
    if (!tick.words.empty()) words.push_back(tick.words);
  }
  return words;
}

TEST(PlotAxis, HasTicksAtRoundNumbersOrWhereItIsTold) {
  EXPECT_EQ(words_of(DrawnAxis({"x", 0, 10}, 5)),
            (std::vector<std::string>{"0", "2", "4", "6", "8", "10"}));
  const DrawnAxis powers({"nw", 8, 64, true, {4, 8, 16, 32, 64, 128}}, 5);
  EXPECT_EQ(words_of(powers), (std::vector<std::string>{"8", "16", "32", "64"}));
  EXPECT_DOUBLE_EQ(powers.ticks()[1].share, 1.0 / 3);
}

TEST(PlotPage, IsAPngOfItsSizeInWhichTheLineIsDrawn) {
  const test::TemporaryFolder folder;
  const std::string path = (folder.path() / "plot.png").string();
  example(FileKind::Png).save(path);
  const Buffer<std::uint8_t> image = read_png(path);
  EXPECT_EQ(image.extent(0), 300);
  EXPECT_EQ(image.extent(1), 200);
  int blue = 0;
  for (std::int64_t y = 0; y < 200; ++y) {
    for (std::int64_t x = 0; x < 300; ++x) blue += image(x, y, 2) > image(x, y, 0) + 100 ? 1 : 0;
  }
  EXPECT_GT(blue, 200);  // of a line that is two wide and goes across
}

TEST(PlotPage, IsAnSvgOfItsSizeWithTheLinesPoints) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "plot.svg";
  const Page page = example(FileKind::Svg);
  page.save(path.string());
  const std::string svg = content(path);
  EXPECT_NE(svg.find("viewBox=\"0 0 300 200\""), std::string::npos) << svg.substr(0, 300);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  // 16 lies a third along the axis, 300 three quarters up.
  EXPECT_NE(svg.find("133.3"), std::string::npos);
  page.save((folder.path() / "again.svg").string());
  EXPECT_EQ(without_numbers_of_ids(content(folder.path() / "again.svg")), without_numbers_of_ids(svg));
}

// A header that asks for 1.6 GB, of a file of a hundred bytes, gets no memory.
TEST(Photo, ThatItsFileCannotHoldIsCutOff) {
  const test::TemporaryFolder folder;
  const std::string path = (folder.path() / "huge.png").string();
  const auto write = [&](const std::string& extents, const std::string& checksum) {
    std::ofstream(path, std::ios::binary | std::ios::trunc)
        << "\x89PNG\r\n\x1a\n"
        << std::string("\0\0\0\x0dIHDR", 8) << extents << std::string("\x10\x02\0\0\0", 5) << checksum
        << std::string("\0\0\0\x04IDATabcd", 12);
  };
  write(std::string("\0\0\x40\0\0\0\x40\0", 8), std::string("\x76\x3a\x5b\x90", 4));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  long pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t room = rlim_t{256} << 20;
  const rlimit little{static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE)) + room, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &little), 0);
  EXPECT_TRUE(test::fails_with([&] { (void)read_photo(path); }, {path, "ends before the picture does"}));
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
}

TEST(PlotPage, NamesTheFileThatCannotBeWritten) {
  for (const FileKind kind : {FileKind::Png, FileKind::Svg}) {
    const Page page = example(kind);
    for (const std::string path : {"/dev/full", "/no/such/folder/plot"}) {
      EXPECT_TRUE(test::fails_with([&] { page.save(path); }, {path}));
    }
  }
}

}  // namespace
}  // namespace mica
