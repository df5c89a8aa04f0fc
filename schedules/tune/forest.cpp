#include "schedules/tune/forest.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "dsl/expr/diagnostics.h"

// The build says where the file is, and makes this anew when it changes.
asm(R"(
  .pushsection .rodata
  .hidden mica_tune_forest
  .hidden mica_tune_forest_end
mica_tune_forest:
  .incbin ")" MICA_TUNE_FOREST R"("
mica_tune_forest_end:
  .globl mica_tune_forest
  .globl mica_tune_forest_end
  .popsection
)");

extern "C" {
[[gnu::visibility("hidden")]] extern const char mica_tune_forest[], mica_tune_forest_end[];
}

namespace mica::tuning {
namespace {

static_assert(std::endian::native == std::endian::little);

/// Takes values from the front of a text.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}
  template <typename T>
  T take() {
    T value;
    std::memcpy(&value, take_bytes(sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::string_view take_bytes(std::size_t count) {
    if (left_.size() < count) throw UserError("a forest of the tuner's model ends too early");
    const std::string_view taken = left_.substr(0, count);
    left_.remove_prefix(count);
    return taken;
  }

 private:
  std::string_view left_;
};

constexpr std::size_t kNodeBytes = 6;

/// A leaf's value, or where to go: see Forest::read.
struct Node {
  explicit Node(const char* bytes)
      : figure(static_cast<std::uint8_t>(bytes[4])), right(static_cast<std::uint8_t>(bytes[5])) {
    std::memcpy(&value, bytes, sizeof(value));
  }
  [[nodiscard]] bool is_leaf() const { return figure == kLeaf; }
  static constexpr std::uint8_t kLeaf = 255;
  float value;
  std::uint8_t figure, right;
};

const std::vector<Forest>& own() {
  static const std::vector<Forest> forests = Forest::read(
      {mica_tune_forest, static_cast<std::size_t>(mica_tune_forest_end - mica_tune_forest)});
  return forests;
}

}  // namespace

std::vector<Forest> Forest::read(std::string_view bytes) {
  std::string first = "mica forest 2";
  for (const std::string_view name : kFigureNames) first += " " + std::string(name);
  first += "\n";
  Reader in(bytes);
  if (in.take_bytes(first.size()) != first) {
    throw UserError("a forest of the tuner's model is of other figures; bench/model/fit.py makes one");
  }
  std::vector<Forest> forests(4);
  for (Forest& forest : forests) {
    forest.base_ = in.take<float>();
    const auto trees = in.take<std::uint32_t>();
    for (std::uint32_t t = 0; t < trees; ++t) {
      forest.trees_.push_back(in.take_bytes(in.take<std::uint32_t>() * kNodeBytes));
    }
  }
  return forests;
}

void Forest::check() const {
  for (const std::string_view tree : trees_) {
    const std::size_t count = tree.size() / kNodeBytes;
    if (count == 0) throw UserError("a tree of the tuner's model has no leaf");
    for (std::size_t i = 0; i < count; ++i) {
      const Node node(tree.data() + i * kNodeBytes);
      if (node.is_leaf()) continue;
      if (node.figure >= kFigureNames.size() || node.right < 2 || node.right >= count - i) {
        throw UserError("a tree of the tuner's model leads nowhere");
      }
    }
  }
}

double Forest::operator()(const Figures& figures) const {
  double sum = base_;
  for (const std::string_view tree : trees_) {
    const char* at = tree.data();
    Node node(at);
    while (!node.is_leaf()) {
      at += kNodeBytes * (figures[node.figure] <= node.value ? 1 : node.right);
      node = Node(at);
    }
    sum += node.value;
  }
  return sum;
}

const Forest& Forest::of(bool several_steps, bool known_registers) {
  return own()[(several_steps ? 2 : 0) + (known_registers ? 1 : 0)];
}

}  // namespace mica::tuning
