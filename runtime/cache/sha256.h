// SHA-256 as FIPS 180-4 defines it: names and checksums of cached machine code.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mica {

/// 32 bytes, the most significant first.
using Sha256Digest = std::array<std::uint8_t, 32>;

/// Hash of the bytes given to update(), in pieces of any size.
class Sha256 {
 public:
  Sha256& update(std::string_view bytes);
  /// Hash of the bytes so far; more may follow.
  [[nodiscard]] Sha256Digest digest() const;

 private:
  static constexpr std::size_t kBlock = 64;  // bytes that one round of the hash takes

  void absorb(const std::uint8_t* block);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, kBlock> pending_{};  // bytes that do not fill a block yet
  std::uint64_t length_ = 0;                    // bytes so far
};

Sha256Digest sha256(std::string_view bytes);

/// 64 lower-case hexadecimal digits.
std::string to_hex(const Sha256Digest& digest);

}  // namespace mica
