// Letters as lines, for pictures without a font at hand.
#pragma once

#include <string_view>

namespace mica::bench {

/// The strokes of a character, separated by commas; a stroke is points "xy" separated by blanks, x 0 ...
/// 4 from the left, y 0 ... 8 from the top, where 6 is the base line. A stroke of two equal points is a
/// dot. Characters other than ASCII letters, digits and ()/.,:-=_%+^ are an empty box; a blank has no
/// strokes.
std::string_view strokes_of(char letter);

/// Units from the start of a letter to the next one, and height of capitals.
inline constexpr double kLetterAdvance = 6, kCapitalHeight = 6;

}  // namespace mica::bench
