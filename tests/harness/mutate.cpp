#include "tests/harness/mutate.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace mica::test {
namespace {

constexpr std::size_t kLongest = std::size_t{1} << 20;  // bytes of an input

std::size_t place(const std::string& bytes, Random& random) {
  return static_cast<std::size_t>(random.below(static_cast<std::int64_t>(bytes.size()) + 1));
}

/// Another number where digits stand, if some do behind `at`.
void change_number(std::string& bytes, std::size_t at, Random& random) {
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  const auto first =
      std::find_if(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.end(), is_digit);
  const auto last = std::find_if_not(first, bytes.end(), is_digit);
  static const std::vector<std::string> numbers{"0",
                                                "-1",
                                                "1",
                                                "2147483647",
                                                "2147483648",
                                                "-2147483649",
                                                "4294967296",
                                                "1e9",
                                                "1e999",
                                                "9223372036854775807",
                                                "9223372036854775808",
                                                "18446744073709551616",
                                                "0.5",
                                                "007",
                                                "1048576"};
  if (random.below(16) > 0) {
    bytes.replace(first, last, random.pick(numbers));
    return;
  }
  // Arrays in arrays.
  constexpr std::size_t kDeep = 200000;
  bytes.replace(first, last, std::string(kDeep, '[') + std::string(kDeep, ']'));
}

/// An integer of 1, 2, 4 or 8 bytes, of either order, near an end of its range or of the input.
void overwrite_integer(std::string& bytes, std::size_t at, Random& random) {
  std::uint64_t value =
      random.pick(std::vector<std::uint64_t>{0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff,
                                             0x80000000, 0xffffffff, ~0ULL >> 1U, ~0ULL, bytes.size()});
  value += static_cast<std::uint64_t>(random.between(-1, 1));
  const std::size_t width = std::size_t{1} << static_cast<unsigned>(random.below(4));
  const bool big = random.coin();
  for (std::size_t i = 0; i < width && at + i < bytes.size(); ++i) {
    bytes[at + i] = static_cast<char>(value >> (8 * (big ? width - 1 - i : i)));
  }
}

void change(std::string& bytes, const std::vector<std::string>& seeds, Random& random) {
  const std::size_t at = place(bytes, random);
  const std::size_t length = std::min(bytes.size() - at, static_cast<std::size_t>(1 + random.below(64)));
  switch (random.below(9)) {
    case 0:
      if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
      break;
    case 1:
      if (at < bytes.size()) bytes[at] = static_cast<char>(random.below(256));
      break;
    case 2: overwrite_integer(bytes, at, random); break;
    case 3: change_number(bytes, at, random); break;
    case 4: bytes.erase(at, length); break;
    case 5: bytes.resize(at); break;
    case 6: bytes.insert(place(bytes, random), bytes.substr(at, length)); break;
    case 7: {
      const std::string& other = random.pick(seeds);
      const std::size_t from = place(other, random);
      bytes.insert(at, other, from, static_cast<std::size_t>(random.below(256)));
      break;
    }
    default: {
      // Deep nests and long words.
      const std::string piece =
          random.pick(std::vector<std::string>{"[", "{\"a\":", "(", "9", " ", "a", ",", "\xff"});
      const auto times = static_cast<std::size_t>(random.pick(std::vector<int>{2, 30, 1000, 100000}));
      std::string many;
      for (std::size_t i = 0; i < times; ++i) many += piece;
      bytes.insert(at, many);
    }
  }
  if (bytes.size() > kLongest) bytes.resize(kLongest);
}

}  // namespace

std::string mutated(const std::vector<std::string>& seeds, Random& random) {
  std::string bytes = random.pick(seeds);
  const std::int64_t changes = random.between(1, 8);
  for (std::int64_t i = 0; i < changes; ++i) change(bytes, seeds, random);
  return bytes;
}

}  // namespace mica::test
