// Text for people: folded lines, colours.
#include "bench/page.h"

#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace mica::bench {
namespace {

TEST(Page, LeavesLinesThatFit) {
  EXPECT_EQ(folded("", 10), "");
  EXPECT_EQ(folded("ten column", 10), "ten column");
  EXPECT_EQ(folded("one two three four", 0), "one two three four");
}

TEST(Page, BreaksLinesAtSpaces) {
  EXPECT_EQ(folded("one two three four", 11), "one two\n    three\n    four");
  EXPECT_EQ(folded("  if a && b && c", 12), "  if a && b\n      && c");
}

TEST(Page, GoesOnBelowTheSecondColumnOfATable) {
  EXPECT_EQ(folded("  a   one two three four", 16), "  a   one two\n      three four");
}

TEST(Page, BreaksNoWord) {
  EXPECT_EQ(folded("unbreakable", 5), "unbreakable");
  EXPECT_EQ(folded("an unbreakable word", 5), "an\n    unbreakable\n    word");
}

TEST(Page, CountsColumnsAndNotBytes) {
  EXPECT_EQ(folded("f·2 f·2", 7), "f·2 f·2");
  EXPECT_EQ(folded("\x1b[1mf·2\x1b[0m f·2", 7), "\x1b[1mf·2\x1b[0m f·2");
  EXPECT_EQ(folded("\x1b[1mf·2\x1b[0m f·2", 6), "\x1b[1mf·2\x1b[0m\n    f·2");
}

TEST(Page, HandsOnLinesAndWhatIsLeft) {
  std::ostringstream out;
  {
    Page page(out, 11, false);
    page << "one two "
         << "three\nfo" << Inked{Ink::Good, "ur"};
    EXPECT_EQ(out.str(), "one two\n    three\n");
  }
  EXPECT_EQ(out.str(), "one two\n    three\nfour");
}

TEST(Page, HasColoursOnlyIfAskedTo) {
  std::ostringstream out, plain;
  Page(out, 0, true) << Inked{Ink::Bad, "no"} << "\n";
  EXPECT_EQ(out.str(), "\x1b[31mno\x1b[0m\n");
  plain << Inked{Ink::Bad, "no"};
  EXPECT_EQ(plain.str(), "no");
}

TEST(Page, SaysWhenNothingCanBeWritten) {
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  { Page(out, 0, false) << "x\n"; }
  EXPECT_FALSE(out);
}

}  // namespace
}  // namespace mica::bench
