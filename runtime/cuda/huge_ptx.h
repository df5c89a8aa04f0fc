// Which PTX is assembled at level 1 of 4, since higher ones would take minutes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace mica {

/// Bytes of it. The time of level 3 grows with the square of what a thread has written out: for 480
/// points of 75 taps, 6.6 MB, ptxas 13.0 took 72 s, and spilled 3,128 bytes, where level 1 takes 17 s
/// and spills 1,664. (A time tile of 3 MB takes a few seconds.)
inline constexpr std::size_t kHugePtx = std::size_t{4} << 20;
/// Instructions of it without a branch or a label: of 36,400 ptxas 13.0 took 62 s and spilled 112 bytes,
/// level 1 takes 5 s and spills none; of 21,700 the two take 6 and 3 s.
inline constexpr std::size_t kLongestStraightPtx = 24'000;

/// Has `ptx` so much?
inline bool is_huge_ptx(std::string_view ptx) {
  if (ptx.size() >= kHugePtx) return true;
  std::size_t straight = 0;
  for (std::size_t at = 0; at < ptx.size() && straight < kLongestStraightPtx;) {
    const std::size_t end = std::min(ptx.find('\n', at), ptx.size());
    const std::string_view line = ptx.substr(at, end - at);
    at = end + 1;
    const bool is_instruction = line.size() > 1 && line[0] == '\t' && line[1] != '.' && line[1] != '/';
    const bool ends = line.ends_with(':') || line.find("bra") != std::string_view::npos;
    if (is_instruction) ++straight;
    if (ends) straight = 0;
  }
  return straight >= kLongestStraightPtx;
}

}  // namespace mica
