#include "bench/stroke_font.h"

namespace mica::bench {
namespace {

std::string_view digit(char c) {
  switch (c) {
    case '0': return "10 30 41 45 36 16 05 01 10";
    case '1': return "11 20 26,16 36";
    case '2': return "01 10 30 41 42 06 46";
    case '3': return "01 10 30 41 42 33 13,33 44 45 36 16 05";
    case '4': return "36 30 04 44";
    case '5': return "40 00 02 32 43 45 36 16 05";
    case '6': return "30 10 01 05 16 36 45 44 33 13 04";
    case '7': return "00 40 16";
    case '8': return "10 30 41 42 33 13 02 01 10,13 04 05 16 36 45 44 33";
    default: return "16 36 45 41 30 10 01 02 13 33 42";
  }
}

std::string_view capital(char c) {
  switch (c) {
    case 'A': return "06 20 46,14 34";
    case 'B': return "03 33 44 45 36 06 00 30 41 42 33";
    case 'C': return "41 30 10 01 05 16 36 45";
    case 'D': return "00 20 42 44 26 06 00";
    case 'E': return "40 00 06 46,03 33";
    case 'F': return "40 00 06,03 33";
    case 'G': return "41 30 10 01 05 16 36 45 43 23";
    case 'H': return "00 06,40 46,03 43";
    case 'I': return "10 30,20 26,16 36";
    case 'J': return "30 35 26 16 05";
    case 'K': return "00 06,40 03 46";
    case 'L': return "00 06 46";
    case 'M': return "06 00 23 40 46";
    case 'N': return "06 00 46 40";
    case 'O': return "10 30 41 45 36 16 05 01 10";
    case 'P': return "06 00 30 41 42 33 03";
    case 'Q': return "10 30 41 45 36 16 05 01 10,24 46";
    case 'R': return "06 00 30 41 42 33 03,23 46";
    case 'S': return "41 30 10 01 02 13 33 44 45 36 16 05";
    case 'T': return "00 40,20 26";
    case 'U': return "00 05 16 36 45 40";
    case 'V': return "00 26 40";
    case 'W': return "00 16 23 36 40";
    case 'X': return "00 46,40 06";
    case 'Y': return "00 23 40,23 26";
    default: return "00 40 06 46";
  }
}

std::string_view small(char c) {
  switch (c) {
    case 'a': return "12 32 43 46,44 14 05 16 36 45";
    case 'b': return "00 06,03 12 32 43 45 36 16 05";
    case 'c': return "43 32 12 03 05 16 36 45";
    case 'd': return "40 46,43 32 12 03 05 16 36 45";
    case 'e': return "04 44 43 32 12 03 05 16 36 45";
    case 'f': return "40 30 21 26,12 32";
    case 'g': return "42 47 38 18 07,43 32 12 03 05 16 36 45";
    case 'h': return "00 06,03 12 32 43 46";
    case 'i': return "22 26,20 20";
    case 'j': return "32 37 28 18,30 30";
    case 'k': return "00 06,32 04 36";
    case 'l': return "20 26";
    case 'm': return "06 02,03 12 23 26,23 32 43 46";
    case 'n': return "06 02,03 12 32 43 46";
    case 'o': return "12 32 43 45 36 16 05 03 12";
    case 'p': return "08 02,03 12 32 43 45 36 16 05";
    case 'q': return "48 42,43 32 12 03 05 16 36 45";
    case 'r': return "06 02,04 22 42";
    case 's': return "43 32 12 03 14 34 45 36 16 05";
    case 't': return "10 15 26 36,02 32";
    case 'u': return "02 05 16 36 45,42 46";
    case 'v': return "02 26 42";
    case 'w': return "02 16 23 36 42";
    case 'x': return "02 46,42 06";
    case 'y': return "02 26,42 18 08";
    default: return "02 42 06 46";
  }
}

}  // namespace

std::string_view strokes_of(char letter) {
  if (letter >= '0' && letter <= '9') return digit(letter);
  if (letter >= 'A' && letter <= 'Z') return capital(letter);
  if (letter >= 'a' && letter <= 'z') return small(letter);
  switch (letter) {
    case ' ': return "";
    case '.': return "26 26";
    case ',': return "26 17";
    case ':': return "23 23,26 26";
    case '/': return "40 06";
    case '(': return "30 21 25 36";
    case ')': return "10 21 25 16";
    case '-': return "13 33";
    case '=': return "02 42,04 44";
    case '_': return "07 47";
    case '+': return "21 25,03 43";
    case '^': return "12 20 32";
    case '%': return "40 06,01 01,45 45";
    default: return "00 40 46 06 00";
  }
}

}  // namespace mica::bench
