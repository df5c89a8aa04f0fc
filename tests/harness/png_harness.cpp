// Pictures in PNG files, as they are and with the checksums of their chunks put right, which lets more
// of them through to the reader.
#include <cstdint>
#include <tuple>

#include "tests/harness/harness.h"
#include "tools/pictures/png_image.h"

namespace {

/// CRC-32 as the PNG specification has it, annex D.
std::uint32_t crc_of(const std::string& bytes, std::size_t from, std::size_t count) {
  std::uint32_t crc = 0xffffffff;
  for (std::size_t i = from; i < from + count; ++i) {
    crc ^= static_cast<unsigned char>(bytes[i]);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0xedb88320U : 0U);
  }
  return ~crc;
}

std::string with_checksums(std::string bytes) {
  constexpr std::size_t kSignature = 8, kAround = 12;  // length, name and checksum of a chunk
  for (std::size_t at = kSignature; at + kAround <= bytes.size();) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      length = length << 8U | static_cast<unsigned char>(bytes[at + i]);
    }
    if (length > bytes.size() - at - kAround) break;
    const std::uint32_t crc = crc_of(bytes, at + 4, length + 4);
    for (std::size_t i = 0; i < 4; ++i) {
      bytes[at + 8 + length + i] = static_cast<char>(crc >> (24 - 8 * i));
    }
    at += kAround + length;
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string right = with_checksums({reinterpret_cast<const char*>(data), size});
  const auto read = [](const std::string& path) { (void)mica::pictures::read_png(path); };
  mica::test::read_as_file(data, size, read);
  mica::test::read_as_file(reinterpret_cast<const std::uint8_t*>(right.data()), size, read);
  return 0;
}

std::vector<std::string> mica::test::harness_seeds() {
  std::vector<std::string> seeds;
  for (const int channels : {1, 3}) {
    for (const int white : {255, 65535}) {
      pictures::Photo photo{Buffer<std::uint16_t>(7, 5, channels), white};
      photo.values.for_each([](std::uint16_t& value, const Coordinates& at) {
        value = static_cast<std::uint16_t>(30 * at[0] + at[1]);
      });
      seeds.push_back(written_by([&](const std::string& path) { pictures::write_photo(path, photo); }));
    }
  }
  // A palette, opacity and lines that come in seven passes, as the fields of the header say.
  constexpr std::size_t kBits = 24, kKind = 25, kPasses = 28;
  for (const auto& [bits, kind, passes] : {std::tuple{4, 3, 0}, {1, 0, 1}, {8, 6, 1}, {16, 4, 0}}) {
    std::string other = seeds[0];
    other[kBits] = static_cast<char>(bits);
    other[kKind] = static_cast<char>(kind);
    other[kPasses] = static_cast<char>(passes);
    seeds.push_back(other);
  }
  // Much more than the file can hold: 2^14 by 2^14 points of 16 bits, and 2^28 lines.
  constexpr std::size_t kWidth = 16, kHeight = 20;
  for (const auto& [width, height] : {std::pair{14U, 14U}, {0U, 28U}}) {
    std::string other = seeds[3];
    for (std::size_t i = 0; i < 4; ++i) {
      other[kWidth + i] = static_cast<char>((1U << width) >> (24 - 8 * i));
      other[kHeight + i] = static_cast<char>((1U << height) >> (24 - 8 * i));
    }
    seeds.push_back(other);
  }
  return seeds;
}
