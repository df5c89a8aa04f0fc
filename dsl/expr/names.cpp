#include "dsl/expr/names.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string_view>

#include "dsl/expr/expr.h"

namespace mica {

namespace {

/// Between a Func and its loop; no word has it, and people read '.'.
constexpr char kLoopMark = '\x1f';

constexpr std::string_view kDot = "\u00b7", kUnknown = "\ufffd";

/// A character of a text: its bytes, and its code point; -1 for a byte that is no UTF-8.
struct Character {
  std::string_view bytes;
  std::int32_t code = -1;
};

Character character_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  if (byte(0) < 0x80) return {text.substr(at, 1), byte(0)};
  const std::size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  const Character none{text.substr(at, 1), -1};
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || at + length > text.size()) return none;
  std::int32_t code = byte(0) & (0xff >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return none;
    code = code << 6 | (byte(i) & 0x3f);
  }
  const bool too_long = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool none_such = (code >= 0xd800 && code < 0xe000) || code > 0x10ffff;
  return too_long || none_such ? none : Character{text.substr(at, length), code};
}

/// Control characters beyond ASCII, and what changes how its neighbours are shown.
bool is_unseen(std::int32_t code) {
  return (code >= 0x80 && code < 0xa0) || code == 0xad || (code >= 0x200b && code <= 0x200f) ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) || code == 0xfeff;
}

std::string word_of(const Character& c) {
  constexpr std::string_view kLegible[] = {".",  kDot,     "\"", "\u2033", "'", "\u2032",
                                           "\\", "\u2216", "{",  "\u2774", "}", "\u2775"};
  if (c.code < 0 || is_unseen(c.code)) return std::string(kUnknown);
  if (c.code == 0x7f) return "\u2421";
  if (c.code < 0x20) {  // the pictures of control characters are in their order
    std::string picture = "\u2400";
    picture.back() = static_cast<char>(picture.back() + c.code);
    return picture;
  }
  for (std::size_t i = 0; i < std::size(kLegible); i += 2) {
    if (c.bytes == kLegible[i]) return std::string(kLegible[i + 1]);
  }
  return std::string(c.bytes);
}

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

/// The fewest letters to leave out, add, change or swap with a neighbour that make `b` of `a`; a letter
/// in the other case is half as far as another letter. In halves.
std::size_t slips(const std::string& a, const std::string& b) {
  constexpr std::size_t kLetter = 2;
  std::vector<std::vector<std::size_t>> far(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        far[i][j] = kLetter * (i + j);
        continue;
      }
      const char x = a[i - 1], y = b[j - 1];
      const std::size_t change = x == y ? 0 : lower(x) == lower(y) ? 1 : kLetter;
      far[i][j] =
          std::min({far[i - 1][j - 1] + change, far[i - 1][j] + kLetter, far[i][j - 1] + kLetter});
      if (i > 1 && j > 1 && x == b[j - 2] && a[i - 2] == y) {
        far[i][j] = std::min(far[i][j], far[i - 2][j - 2] + kLetter);
      }
    }
  }
  return far[a.size()][b.size()];
}

}  // namespace

std::string did_you_mean(const std::string& wanted, const std::vector<std::string>& known) {
  std::string name = wanted;  // as it was written, not as a word of a Pipeline
  for (auto at = name.find(kDot); at != std::string::npos; at = name.find(kDot)) {
    name.replace(at, kDot.size(), ".");
  }
  // Long texts are no slips of the pen, and the comparison takes time.
  constexpr std::size_t kLongest = 200;
  const std::string* nearest = nullptr;
  std::size_t least = 0;
  for (const std::string& candidate : known) {
    const std::size_t length = std::max(name.size(), candidate.size());
    if (candidate.empty() || candidate == name || length > kLongest) continue;
    const std::size_t distance = slips(name, candidate);
    // One slip in names of two letters, then one more for each four.
    const bool near =
        length > 1 ? distance <= 2 * (1 + length / 5) && distance < 2 * length : distance < 2;
    if (!near || (nearest != nullptr && distance >= least)) continue;
    nearest = &candidate;
    least = distance;
  }
  return nearest == nullptr ? "" : " (did you mean " + *nearest + "?)";
}

std::string joined(const std::vector<std::string>& names) {
  if (names.empty()) return "none";
  std::string text;
  for (const auto& name : names) {
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text;
}

std::string counted(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

bool is_identifier(const std::string& word) {
  auto letter = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; };
  return !word.empty() && std::isdigit(static_cast<unsigned char>(word[0])) == 0 &&
         std::all_of(word.begin(), word.end(), letter);
}

std::string word_of(const std::string& text) {
  std::string word;
  for (std::size_t at = 0; at < text.size();) {
    const Character c = character_at(text, at);
    word += word_of(c);
    at += c.bytes.size();
  }
  return word;
}

std::string as_utf8(const std::string& text) {
  std::string known;
  for (std::size_t at = 0; at < text.size();) {
    const Character c = character_at(text, at);
    known += c.code < 0 ? kUnknown : c.bytes;
    at += c.bytes.size();
  }
  return known;
}

std::string loop_name(const std::string& func, const std::string& dim) { return func + kLoopMark + dim; }

std::string printed(const std::string& name) {
  std::string text = name;
  std::replace(text.begin(), text.end(), kLoopMark, '.');
  return text;
}

std::string symbol_name(const std::string& array, BufferField field, std::size_t d) {
  const char* const word = field == BufferField::Min      ? ".min."
                           : field == BufferField::Extent ? ".extent."
                                                          : ".stride.";
  return array + word + std::to_string(d);
}

std::string UniqueNames::claim(const std::string& wanted) {
  if (taken_.insert(wanted).second) return wanted;
  int& last = last_.try_emplace(wanted, 1).first->second;
  std::string name;
  do {
    name = wanted + std::string(kDot) + std::to_string(++last);
  } while (!taken_.insert(name).second);
  return name;
}

}  // namespace mica
