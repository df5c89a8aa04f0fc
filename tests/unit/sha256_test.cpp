// SHA-256 against the examples of FIPS 180-4 and NIST's short and long message vectors.
#include "runtime/cache/sha256.h"

#include <string>

#include <gtest/gtest.h>

namespace mica {
namespace {

TEST(Sha256Hash, OfNothingIsTheKnownVector) {
  EXPECT_EQ(to_hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Sha256Hash, OfOneBlockIsTheKnownVector) {
  EXPECT_EQ(to_hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256Hash, OfTwoBlocksIsTheKnownVector) {
  EXPECT_EQ(to_hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(to_hex(sha256("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                          "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu")),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
}

TEST(Sha256Hash, OfAMillionLettersIsTheKnownVector) {
  EXPECT_EQ(to_hex(sha256(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256Hash, DoesNotDependOnHowTheBytesAreCutIntoPieces) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) bytes += static_cast<char>(i * 7);
  for (std::size_t length = 0; length <= bytes.size(); ++length) {
    const std::string message = bytes.substr(0, length);
    const Sha256Digest whole = sha256(message);
    for (const std::size_t piece : {1, 3, 63, 64, 65}) {
      Sha256 hash;
      for (std::size_t at = 0; at < length; at += piece) hash.update(message.substr(at, piece));
      ASSERT_EQ(hash.digest(), whole) << length << " bytes in pieces of " << piece;
    }
  }
}

TEST(Sha256Hash, MayBeReadBeforeTheLastPiece) {
  Sha256 hash;
  hash.update("ab");
  EXPECT_EQ(hash.digest(), sha256("ab"));
  EXPECT_EQ(hash.update("c").digest(), sha256("abc"));
}

}  // namespace
}  // namespace mica
