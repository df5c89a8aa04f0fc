// Arrays in files: NPY, or raw samples of a shape that is given.
#include "examples/common/array_file.h"
#include "tests/harness/harness.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{}, {4, 3}}) {
    mica::test::read_as_file(data, size, [&](const std::string& path) {
      (void)mica::examples::read_float_array(path, shape);
    });
  }
  return 0;
}

std::vector<std::string> mica::test::harness_seeds() {
  std::vector<std::string> seeds;
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{1}, {4, 3}, {2, 3, 4}, {1, 1, 2, 1}}) {
    Buffer<float> array(shape);
    array.fill(0.5F);
    seeds.push_back(
        written_by([&](const std::string& path) { mica::examples::write_npy(path, array); }));
    seeds.push_back(
        written_by([&](const std::string& path) { mica::examples::write_float_array(path, array); }));
  }
  // Version 2 has four bytes of length.
  std::string second = seeds[2];
  second[6] = 2;
  second.insert(10, 2, '\0');
  seeds.push_back(second);
  return seeds;
}
