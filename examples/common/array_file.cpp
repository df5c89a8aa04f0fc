#include "examples/common/array_file.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

namespace mica::examples {
namespace {

std::string read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw UserError("cannot read " + path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// The text between `from` and `to` behind `key` in an NPY header.
std::string field(const std::string& header, const std::string& key, char from, char to) {
  auto at = header.find(key);
  auto a = at == std::string::npos ? at : header.find(from, at + key.size());
  auto b = a == std::string::npos ? a : header.find(to, a + 1);
  return b == std::string::npos ? "" : header.substr(a + 1, b - a - 1);
}

// Shape, fastest dimension first, and where the samples start.
// Format: numpy.org, "NPY format" (magic, version, header length, Python dictionary).
std::pair<std::vector<std::int64_t>, std::size_t> parse_npy(const std::string& path,
                                                            const std::string& bytes) {
  const bool version1 = bytes[6] == 1;
  std::size_t length = 0, start = version1 ? 10 : 12;
  std::memcpy(&length, bytes.data() + 8, version1 ? 2 : 4);
  if (bytes.size() < start + length) throw UserError(path + " ends inside its NPY header");
  const std::string header = bytes.substr(start, length);
  const std::string type = field(header, "'descr':", '\'', '\'');
  if (type != "<f4") throw UserError(path + " holds " + type + "; a float32 array (<f4) is needed");
  std::vector<std::int64_t> shape;
  std::stringstream list(field(header, "'shape':", '(', ')'));
  for (std::string item; std::getline(list, item, ',');) {
    if (item.find_first_of("0123456789") != std::string::npos) shape.push_back(std::stoll(item));
  }
  const bool fortran = header.find("'fortran_order': True") != std::string::npos;
  if (!fortran) shape = {shape.rbegin(), shape.rend()};
  return {shape, start + length};
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
  std::size_t elements = 1;
  for (auto n : shape) elements *= static_cast<std::size_t>(n);
  if (bytes.size() - start != elements * sizeof(float)) {
    throw UserError(path + " holds " + std::to_string(bytes.size() - start) +
                    " bytes of samples, and the shape needs " +
                    std::to_string(elements * sizeof(float)) + "; check the shape");
  }
  Buffer<float> array(shape);
  std::memcpy(array.data(), bytes.data() + start, elements * sizeof(float));
  return array;
}

void write_float_array(const std::string& path, const Buffer<float>& array) {
  std::ofstream out(path, std::ios::binary);
  array.for_each([&](const float& value, const std::array<std::int64_t, 4>&) {
    out.write(reinterpret_cast<const char*>(&value), sizeof value);
  });
  if (!out) throw UserError("cannot write " + path);
}

}  // namespace mica::examples
