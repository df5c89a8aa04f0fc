#include "fuzz/random_data.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <numeric>

#include "dsl/expr/mix.h"
#include "fuzz/compare_memory.h"
#include "fuzz/oracle_ops.h"

namespace mica::test {
namespace {

Box box_of(const AnyBuffer& buffer) {
  Box box;
  for (const BufferDim& d : buffer.dims()) box.emplace_back(d.min, d.extent);
  return box;
}

double special_float(Random& random, Type type) {
  const bool f64 = type.bits == 64;
  const bool f16 = type.code == TypeCode::Float && type.bits == 16;
  const double smallest_normal = f64 ? 0x1p-1022 : f16 ? 0x1p-14 : 0x1p-126;
  const double largest = f64               ? std::numeric_limits<double>::max()
                         : f16             ? 65504.0
                         : type.bits == 16 ? std::ldexp(255.0, 120)
                                           : static_cast<double>(std::numeric_limits<float>::max());
  const std::array<double, 16> values{0.0,
                                      -0.0,
                                      std::numeric_limits<double>::infinity(),
                                      -std::numeric_limits<double>::infinity(),
                                      std::numeric_limits<double>::quiet_NaN(),
                                      smallest_normal,
                                      -smallest_normal,
                                      smallest_normal / 2,
                                      -smallest_normal / 4,
                                      largest,
                                      -largest,
                                      1.0,
                                      -1.0,
                                      0.5,
                                      2.5,
                                      -127.5};
  return values[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(values.size())))];
}

std::int64_t special_integer(Random& random, Type type) {
  const std::int64_t low = type.is_int() ? wrap(type, std::int64_t{1} << (type.bits - 1)) : 0;
  const std::int64_t high = type.is_int() ? ~low : wrap(type, -1);
  const std::array<std::int64_t, 8> values{0, 1, wrap(type, -1), 2, low, high, low + 1, 7};
  return values[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(values.size())))];
}

Value random_value(Random& random, Type type, Contents contents) {
  const bool special = contents == Contents::Special && random.below(4) == 0;
  if (type.is_float()) {
    if (special) return float_value(type, special_float(random, type));
    if (contents == Contents::Small) {
      return float_value(type, static_cast<double>(random.below(10)));
    }
    // 52 random bits in [-1, 1).
    const double unit = std::ldexp(static_cast<double>(random.next() >> 12), -51) - 1.0;
    if (contents == Contents::Wide) {
      return float_value(type, std::ldexp(unit, static_cast<int>(random.between(-20, 20))));
    }
    return float_value(type, unit);
  }
  if (special) return integer_value(type, special_integer(random, type));
  if (contents == Contents::Small) return integer_value(type, random.below(10));
  return integer_value(type, static_cast<std::int64_t>(random.next()));
}

}  // namespace

std::size_t Random::weighted(const std::vector<int>& weights) {
  auto left = below(std::accumulate(weights.begin(), weights.end(), std::int64_t{0}));
  std::size_t i = 0;
  while (left >= weights[i]) left -= weights[i++];
  return i;
}

std::uint64_t Random::next() {
  if (left_ >= 2) {
    const std::uint64_t number = data_[0] | std::uint64_t{data_[1]} << 8U;
    data_ += 2;
    left_ -= 2;
    return number;
  }
  state_ += kMixStep;
  return mixed(state_);
}

void fill_random(AnyBuffer& buffer, std::uint64_t seed, Contents contents) {
  if (buffer.elements() == 0) return;
  Random random(seed);
  void* const data = buffer.host_data_for_write();
  for_each_point(box_of(buffer), [&](const std::vector<std::int64_t>& at) {
    store_value(buffer.type(), element_address(buffer, data, at),
                random_value(random, buffer.type(), contents));
  });
}

std::shared_ptr<void> bind_random(const ImageParam& image, const Box& box, std::uint64_t seed,
                                  Contents contents, Layout layout) {
  ImageParam handle = image;
  if (layout == Layout::Dense) {
    const auto buffer = std::make_shared<AnyBuffer>(buffer_over(image.type(), box));
    fill_random(*buffer, seed, contents);
    handle.set(*buffer);
    return buffer;
  }
  const auto memory = std::make_shared<PoisonedOutput>(image.type(), box);
  fill_random(memory->crop(), seed, contents);
  handle.set(memory->crop());
  return memory;
}

std::vector<std::shared_ptr<void>> bind_demanded(const std::vector<Func>& funcs, const Box& output,
                                                 const std::vector<ImageParam>& images,
                                                 std::uint64_t seed, Contents contents, Layout layout) {
  const std::map<const ImageData*, Box> demanded = demanded_inputs(funcs, output);
  std::vector<std::shared_ptr<void>> memory;
  for (const ImageParam& image : images) {
    const auto found = demanded.find(image.data().get());
    const Box box = found != demanded.end() ? found->second
                                            : Box(static_cast<std::size_t>(image.dimensions()), {0, 1});
    memory.push_back(bind_random(image, box, seed + memory.size(), contents, layout));
  }
  return memory;
}

}  // namespace mica::test
