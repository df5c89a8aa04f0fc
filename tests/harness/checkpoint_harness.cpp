// Checkpoints of an Iteration, as they are and with their checksum put right: what is refused leaves the
// fields alone.
#include <cstdlib>

#include "codegen/iterate/checkpoint.h"
#include "runtime/cache/sha256.h"
#include "tests/harness/harness.h"

namespace {

using mica::iterate::SavedField;

constexpr const char* kAlgorithm = "0123456789abcdef";
constexpr float kBefore = 0.25F;
constexpr std::size_t kDigits = 64;

std::vector<SavedField> fields(float value) {
  mica::Buffer<float> u(std::vector<std::int64_t>{4, 3});
  mica::Buffer<double> v(std::vector<std::int64_t>{5});
  u.fill(value);
  v.fill(value);
  return {{"u", u}, {"v", v}};
}

bool is_untouched(const std::vector<SavedField>& given) {
  const auto* u = static_cast<const float*>(given[0].buffer.host_data());
  const auto* v = static_cast<const double*>(given[1].buffer.host_data());
  for (int i = 0; i < 12; ++i) {
    if (u[i] != kBefore) return false;
  }
  for (int i = 0; i < 5; ++i) {
    if (v[i] != kBefore) return false;
  }
  return true;
}

void read(const std::string& bytes) {
  mica::test::read_as_file(
      reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(), [](const std::string& path) {
        std::vector<SavedField> given = fields(kBefore);
        try {
          if (mica::iterate::read_checkpoint(path, kAlgorithm, given, mica::CallSite::current()) < 0) {
            std::abort();
          }
        } catch (const mica::UserError&) {
          if (!is_untouched(given)) std::abort();
        }
      });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  read(bytes);
  if (size < kDigits) return 0;
  const std::string right = bytes.substr(0, size - kDigits);
  read(right + mica::to_hex(mica::sha256(right)));
  return 0;
}

std::vector<std::string> mica::test::harness_seeds() {
  std::vector<std::string> seeds;
  for (const std::int64_t steps : {0, 7, 123456789}) {
    seeds.push_back(written_by([&](const std::string& path) {
      iterate::write_checkpoint(path, kAlgorithm, steps, fields(1.5F));
    }));
  }
  seeds.push_back(written_by([&](const std::string& path) {
    auto other = fields(2);
    other.pop_back();
    iterate::write_checkpoint(path, "fedcba9876543210", 3, other);
  }));
  return seeds;
}
