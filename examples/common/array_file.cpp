#include "examples/common/array_file.h"

#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "dsl/expr/limits.h"

namespace mica::examples {
namespace {

std::string read_all(const std::string& path) {
  std::error_code unknown;  // what there is to say is said when the file is read
  if (std::filesystem::is_directory(path, unknown)) {
    throw UserError("cannot read " + path + ": it is a folder");
  }
  std::ifstream in(path, std::ios::binary);
  std::string bytes;
  char piece[1 << 16];
  while (in.read(piece, sizeof piece) || in.gcount() > 0) {
    bytes.append(piece, static_cast<std::size_t>(in.gcount()));
  }
  if (!in.eof()) throw UserError("cannot read " + path);
  return bytes;
}

// The text between `from` and `to` behind `key` in an NPY header.
std::string field(const std::string& header, const std::string& key, char from, char to) {
  auto at = header.find(key);
  auto a = at == std::string::npos ? at : header.find(from, at + key.size());
  auto b = a == std::string::npos ? a : header.find(to, a + 1);
  return b == std::string::npos ? "" : header.substr(a + 1, b - a - 1);
}

// One extent of an NPY header's shape: digits, with blanks around them.
std::int64_t parse_extent(const std::string& path, const std::string& item) {
  const std::size_t first = item.find_first_not_of(' ');
  const std::size_t last = item.find_last_not_of(' ');
  std::int64_t value = -1;
  const auto [stop, error] = std::from_chars(item.data() + first, item.data() + last + 1, value);
  if (error != std::errc() || stop != item.data() + last + 1 || value < 0 || value > kLargestExtent) {
    throw UserError(path + " has \"" + item + "\" in the shape of its NPY header; an extent is 0 to " +
                    std::to_string(kLargestExtent));
  }
  return value;
}

// Shape, fastest dimension first, and where the samples start.
// Format: numpy.org, "NPY format" (magic, version, header length, Python dictionary).
std::pair<std::vector<std::int64_t>, std::size_t> parse_npy(const std::string& path,
                                                            const std::string& bytes) {
  const int version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3) {
    throw UserError(path + " is an NPY file of version " + std::to_string(version) +
                    "; versions 1 to 3 can be read");
  }
  const bool version1 = version == 1;
  std::size_t length = 0, start = version1 ? 10 : 12;
  std::memcpy(&length, bytes.data() + 8, version1 ? 2 : 4);
  if (bytes.size() < start + length) throw UserError(path + " ends inside its NPY header");
  const std::string header = bytes.substr(start, length);
  const std::string type = field(header, "'descr':", '\'', '\'');
  if (type != "<f4") throw UserError(path + " holds " + type + "; a float32 array (<f4) is needed");
  std::vector<std::int64_t> shape;
  std::stringstream list(field(header, "'shape':", '(', ')'));
  for (std::string item; std::getline(list, item, ',');) {
    if (item.find_first_not_of(' ') != std::string::npos) shape.push_back(parse_extent(path, item));
  }
  const bool fortran = header.find("'fortran_order': True") != std::string::npos;
  if (!fortran) shape = {shape.rbegin(), shape.rend()};
  return {shape, start + length};
}

// Samples of a shape that some memory can hold. UserError for a shape of none, or beyond.
std::int64_t count_elements(const std::string& path, const std::vector<std::int64_t>& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t n : shape) {
    if (n < 1) {
      throw UserError(path + " has a shape with an extent of " + std::to_string(n) +
                      ": it holds no samples");
    }
    if (__builtin_mul_overflow(elements, n, &elements) || elements > (std::int64_t{1} << 48)) {
      throw UserError(path + " has a shape of more than 2^48 samples; check the shape");
    }
  }
  return elements;
}

}  // namespace

Buffer<float> read_float_array(const std::string& path, const std::vector<std::int64_t>& extents) {
  const std::string bytes = read_all(path);
  std::vector<std::int64_t> shape = extents;
  std::size_t start = 0;
  if (bytes.size() > 12 && bytes.compare(0, 6, "\x93NUMPY") == 0) {
    std::tie(shape, start) = parse_npy(path, bytes);
  }
  if (shape.empty()) throw UserError(path + " is a raw file; give its shape, fastest dimension first");
  const std::int64_t elements = count_elements(path, shape);
  const auto needed = static_cast<std::size_t>(elements) * sizeof(float);
  if (bytes.size() - start != needed) {
    throw UserError(path + " holds " + std::to_string(bytes.size() - start) +
                    " bytes of samples, and the shape needs " + std::to_string(needed) +
                    "; check the shape");
  }
  Buffer<float> array(shape);
  std::memcpy(array.data(), bytes.data() + start, needed);
  return array;
}

namespace {

void write_after(const std::string& header, const std::string& path, const Buffer<float>& array) {
  std::ofstream out(path, std::ios::binary);
  out << header;
  array.for_each([&](const float& value, const Coordinates&) {
    out.write(reinterpret_cast<const char*>(&value), sizeof value);
  });
  out.close();
  if (!out) throw UserError("cannot write " + path);
}

}  // namespace

void write_float_array(const std::string& path, const Buffer<float>& array) {
  write_after("", path, array);
}

void write_npy(const std::string& path, const Buffer<float>& array) {
  std::string words = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
  for (int d = array.dimensions(); d-- > 0;) words += std::to_string(array.extent(d)) + ", ";
  words += "), }";
  constexpr std::size_t kBefore = 10, kLine = 64;  // the samples start at a multiple of 64 bytes
  words.append(kLine - (kBefore + words.size() + 1) % kLine, ' ');
  words += '\n';
  const auto length = static_cast<std::uint16_t>(words.size());
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(length & 0xff);
  header += static_cast<char>(length >> 8);
  write_after(header + words, path, array);
}

}  // namespace mica::examples
