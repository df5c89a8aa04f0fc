// Text for people: lines that fit a screen, and colours where a terminal shows them.
#pragma once

#include <ostream>
#include <streambuf>
#include <string>

namespace mica::bench {

/// What a text is, for terminals with colours; everywhere else it is just the text.
enum class Ink { Strong, Faint, Good, Bad };
struct Inked {
  Ink ink;
  std::string text;
};
/// In colour if `out` is a Page with colours.
std::ostream& operator<<(std::ostream& out, const Inked& text);

/// Does this file descriptor (1, 2) show colours: is it a terminal, and no dumb one, and does the
/// environment variable NO_COLOR (https://no-color.org) not say otherwise?
bool shows_color(int descriptor);

/// `line`, if it has more than `width` columns, as several, broken at spaces; `width` 0: as it is. Lines
/// after the first begin below the text after the first gap of two spaces, as in a table, or else four
/// columns further in than the first. Words are not broken.
std::string folded(const std::string& line, int width);

/// Hands on what is written to it line by line, folded.
class Page : public std::ostream {
 public:
  static constexpr int kColumns = 120;
  Page(std::ostream& to, int width, bool color);
  ~Page() override;
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;

 private:
  class Lines : public std::streambuf {
   public:
    Lines(std::ostream& to, int width) : to_(to), width_(width) {}
    void end();  // what is left is a line, too

   private:
    int_type overflow(int_type c) override;
    int sync() override;
    std::ostream& to_;
    int width_;
    std::string line_;
  };
  Lines lines_;
};

}  // namespace mica::bench
