#include "bench/page.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace mica::bench {
namespace {

int color_flag() {
  static const int index = std::ios_base::xalloc();
  return index;
}

constexpr const char* kPlain = "\x1b[0m";
// ISO 6429, "select graphic rendition".
const char* code_of(Ink ink) {
  switch (ink) {
    case Ink::Strong: return "\x1b[1m";
    case Ink::Faint: return "\x1b[2m";
    case Ink::Good: return "\x1b[32m";
    case Ink::Bad: return "\x1b[31m";
  }
  return "";
}

// A character as it stands on a screen: its bytes, with those that begin a colour before it and those
// that end one behind it.
struct Glyph {
  std::size_t begin = 0, end = 0;
  bool space = false;
};

std::vector<Glyph> glyphs_of(const std::string& line) {
  std::vector<Glyph> glyphs;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < line.size();) {
    if (line[i] == '\x1b') {
      const bool ends = line.compare(i, 4, kPlain) == 0;
      while (i < line.size() && line[i] != 'm') ++i;
      i = std::min(i + 1, line.size());
      if (ends && !glyphs.empty()) glyphs.back().end = begin = i;
      continue;
    }
    const std::size_t at = i++;
    while (i < line.size() && (static_cast<unsigned char>(line[i]) & 0xC0U) == 0x80U) ++i;  // UTF-8
    glyphs.push_back({begin, i, line[at] == ' '});
    begin = i;
  }
  if (!glyphs.empty()) glyphs.back().end = line.size();
  return glyphs;
}

// Where lines after the first begin.
std::size_t hanging_indent(const std::vector<Glyph>& glyphs, std::size_t width) {
  std::size_t first = 0;
  while (first < glyphs.size() && glyphs[first].space) ++first;
  for (std::size_t i = first; i + 2 < glyphs.size(); ++i) {
    if (!glyphs[i].space || !glyphs[i + 1].space) continue;
    while (i < glyphs.size() && glyphs[i].space) ++i;
    if (i < width / 2) return i;
    break;
  }
  return first + 4;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Inked& text) {
  if (out.iword(color_flag()) == 0) return out << text.text;
  return out << code_of(text.ink) << text.text << kPlain;
}

bool shows_color(int descriptor) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return (no_color == nullptr || *no_color == '\0') && terminal != nullptr &&
         std::string_view(terminal) != "dumb" && isatty(descriptor) == 1;
}

std::string folded(const std::string& line, int width) {
  const std::vector<Glyph> glyphs = glyphs_of(line);
  const auto columns = static_cast<std::size_t>(width);
  if (width <= 0 || glyphs.size() <= columns) return line;
  const std::size_t hang = hanging_indent(glyphs, columns);
  std::string text;
  std::size_t at = 0, indent = 0;
  while (at < glyphs.size()) {
    const std::size_t room = columns - indent;
    std::size_t end = glyphs.size();
    if (end - at > room) {
      // The last space that leaves something on this line; else the first one behind it.
      std::size_t text_begin = at;
      while (text_begin < glyphs.size() && glyphs[text_begin].space) ++text_begin;
      end = at + room;
      while (end > text_begin && !glyphs[end].space) --end;
      if (end <= text_begin) {
        end = at + room;
        while (end < glyphs.size() && !glyphs[end].space) ++end;
      }
    }
    std::size_t last = end;
    while (last > at && end < glyphs.size() && glyphs[last - 1].space) --last;
    if (last > at) {
      if (!text.empty()) text += "\n" + std::string(indent, ' ');
      text += line.substr(glyphs[at].begin, glyphs[last - 1].end - glyphs[at].begin);
    }
    at = end;
    while (at < glyphs.size() && glyphs[at].space) ++at;
    indent = hang;
  }
  return text;
}

Page::Page(std::ostream& to, int width, bool color) : std::ostream(nullptr), lines_(to, width) {
  rdbuf(&lines_);
  iword(color_flag()) = color ? 1 : 0;
}

Page::~Page() { lines_.end(); }

void Page::Lines::end() {
  if (!line_.empty()) to_ << folded(line_, width_);
  line_.clear();
  to_.flush();
}

Page::Lines::int_type Page::Lines::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  if (c == '\n') {
    to_ << folded(line_, width_) << '\n';
    line_.clear();
  } else {
    line_ += traits_type::to_char_type(c);
  }
  return c;
}

int Page::Lines::sync() {
  to_.flush();
  return to_ ? 0 : -1;
}

}  // namespace mica::bench
