#include "fuzz/compare_memory.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <iomanip>
#include <sstream>

#include "fuzz/oracle.h"
#include "fuzz/oracle_ops.h"

namespace mica::test {
namespace {

bool is_nan(Type type, Value v) {
  return type.is_float() && (type.bits == 64 ? std::isnan(v.d) : std::isnan(v.f));
}

std::string to_string(const std::vector<std::int64_t>& at) {
  std::string text;
  for (const std::int64_t x : at) text += (text.empty() ? "(" : ", ") + std::to_string(x);
  return text + ")";
}

Box box_of(const AnyBuffer& buffer) {
  Box box;
  for (const BufferDim& d : buffer.dims()) box.emplace_back(d.min, d.extent);
  return box;
}

}  // namespace

std::string describe_element(Type type, const void* at) {
  std::ostringstream text;
  const Value v = load_value(type, at);
  if (type.is_float()) {
    text << std::setprecision(type.bits == 64 ? 17 : 9)
         << (type.bits == 64 ? v.d : static_cast<double>(v.f));
  } else if (type.is_uint()) {
    text << static_cast<std::uint64_t>(v.i);
  } else {
    text << v.i;
  }
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, static_cast<std::size_t>(type.bytes()));
  text << " (0x" << std::hex << std::setfill('0') << std::setw(2 * type.bytes()) << bits << ")";
  return text.str();
}

std::string differing_bits(const AnyBuffer& expected, const AnyBuffer& actual) {
  if (expected.type() != actual.type() || box_of(expected) != box_of(actual)) {
    return "expected " + expected.describe() + " but got " + actual.describe();
  }
  if (expected.elements() == 0) return {};
  const Type type = expected.type();
  void* const expected_data = expected.host_data();
  void* const actual_data = actual.host_data();
  std::int64_t differences = 0;
  std::string first;
  for_each_point(box_of(expected), [&](const std::vector<std::int64_t>& at) {
    const void* e = element_address(expected, expected_data, at);
    const void* a = element_address(actual, actual_data, at);
    if (std::memcmp(e, a, static_cast<std::size_t>(type.bytes())) == 0) return;
    if (is_nan(type, load_value(type, e)) && is_nan(type, load_value(type, a))) return;
    if (++differences > 4) return;
    first += "\n  at " + to_string(at) + " expected " + describe_element(type, e) + " but got " +
             describe_element(type, a);
  });
  if (differences == 0) return {};
  return std::to_string(differences) + " of " + std::to_string(expected.elements()) + " elements of " +
         expected.describe() + " differ; the first:" + first;
}

std::byte poison_byte(Type type) { return type.is_float() ? std::byte{0xff} : std::byte{0xcd}; }

std::vector<BufferDim> poisoned_dims(const std::vector<std::pair<std::int64_t, std::int64_t>>& box,
                                     std::int64_t margin, std::int64_t row_padding, bool transposed) {
  std::vector<BufferDim> dims(box.size());
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < box.size(); ++i) {
    const std::size_t d = transposed ? box.size() - 1 - i : i;
    dims[d] = {box[d].first, box[d].second, stride};
    stride *= box[d].second + 2 * margin + (i == 0 ? row_padding : 0);
  }
  return dims;
}

PoisonedOutput::PoisonedOutput(Type type, const std::vector<std::pair<std::int64_t, std::int64_t>>& box,
                               std::int64_t margin, std::int64_t row_padding, bool transposed) {
  std::vector<BufferDim> dims = poisoned_dims(box, margin, row_padding, transposed);
  for (BufferDim& dim : dims) {
    dim.min -= margin;
    dim.extent += 2 * margin;
  }
  const BufferDim& slowest = transposed ? dims.front() : dims.back();
  const std::int64_t elements = slowest.stride * slowest.extent + (dims.size() == 1 ? row_padding : 0);
  bytes_.assign(static_cast<std::size_t>(elements * type.bytes()), poison_byte(type));
  whole_ = AnyBuffer::wrap_host(type, bytes_.data(), dims);
  crop_ = whole_.cropped(box);
}

std::string PoisonedOutput::writes_outside() const {
  (void)whole_.host_data();  // brings the host copy up to date
  const Type type = whole_.type();
  std::vector<bool> inside(bytes_.size(), false);
  auto* const start = const_cast<std::byte*>(bytes_.data());
  for_each_point(box_of(crop_), [&](const std::vector<std::int64_t>& at) {
    const auto* element = static_cast<const std::byte*>(element_address(whole_, start, at));
    for (int b = 0; b < type.bytes(); ++b) {
      inside[static_cast<std::size_t>(element - start) + static_cast<std::size_t>(b)] = true;
    }
  });
  std::int64_t touched = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    if (inside[i] || bytes_[i] == poison_byte(type)) continue;
    if (touched++ == 0) first = i;
  }
  if (touched == 0) return {};
  const std::size_t element = first / static_cast<std::size_t>(type.bytes());
  std::string where;
  std::size_t rest = element;
  const int dimensions = whole_.dimensions();
  const bool transposed = dimensions > 1 && whole_.stride(0) > whole_.stride(1);
  for (int i = dimensions; i-- > 0;) {
    const int d = transposed ? dimensions - 1 - i : i;
    const auto step = static_cast<std::size_t>(whole_.stride(d));
    const std::string index = std::to_string(whole_.min(d) + static_cast<std::int64_t>(rest / step));
    where = where.empty() ? index : transposed ? where + ", " + index : index + ", " + where;
    rest %= step;
  }
  return std::to_string(touched) + " bytes outside the output box " + crop_.describe() +
         " were written, the first at (" + where + ")";
}

}  // namespace mica::test
