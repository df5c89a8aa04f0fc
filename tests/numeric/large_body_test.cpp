// Bodies so large that their loops on the host have few copies: vectors at the ends of rows keep the
// taps that stick out in windows.
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "dsl/expr/print.h"
#include "dsl/func/func.h"
#include "fuzz/random_data.h"
#include "runtime/run/run_options.h"
#include "tests/support/check_targets.h"

namespace mica::test {
namespace {

const Var x("x"), y("y");
using Condition = std::function<Func(const ImageParam&)>;

std::vector<std::pair<std::string, Condition>> conditions() {
  using namespace BoundaryConditions;
  return {{"repeat_image", [](const ImageParam& u) { return repeat_image(u); }},
          {"repeat_edge", [](const ImageParam& u) { return repeat_edge(u); }},
          {"mirror_image", [](const ImageParam& u) { return mirror_image(u); }},
          {"mirror_interior", [](const ImageParam& u) { return mirror_interior(u); }},
          {"constant_exterior", [](const ImageParam& u) { return constant_exterior(u, 0.25F); }}};
}

/// Each of some fields reads the stars of all, `reach` points wide.
struct Coupled {
  std::vector<ImageParam> inputs;
  Func f{"f"};

  Coupled(const Condition& condition, int fields, int reach) {
    std::vector<Func> b;
    for (int i = 0; i < fields; ++i) {
      inputs.emplace_back(Float(32), 2, "u" + std::to_string(i));
      b.push_back(condition(inputs.back()));
    }
    std::vector<Expr> values;
    for (int i = 0; i < fields; ++i) {
      Expr e = b[static_cast<std::size_t>(i)](x, y);
      for (int j = 0; j < fields; ++j) {
        const Func& other = b[static_cast<std::size_t>(j)];
        const float k = 0.01F * static_cast<float>(i + 2 * j + 1);
        for (int r = 1; r <= reach; ++r) {
          e = e + k * (other(x - r, y) + other(x + r, y) + other(x, y - r) + other(x, y + r));
        }
      }
      values.push_back(e);
    }
    f(x, y) = Tuple(values);
  }
};

TEST(LargeBody, KeepsItsBitsUnderEveryCondition) {
  struct Shape {
    Box array, out;
  };
  const std::vector<Shape> shapes = {{{{0, 48}, {0, 5}}, {{0, 48}, {0, 5}}},     // whole vectors
                                     {{{-3, 41}, {2, 4}}, {{-3, 41}, {2, 4}}},   // and a tail
                                     {{{0, 48}, {0, 4}}, {{5, 37}, {1, 2}}},     // an inner part
                                     {{{0, 40}, {0, 4}}, {{-19, 70}, {-2, 7}}},  // beyond all sides
                                     {{{0, 9}, {0, 3}}, {{0, 64}, {0, 3}}},      // arrays of few points
                                     {{{0, 80}, {0, 2}}, {{0, 7}, {0, 2}}}};     // rows of few points
  for (const auto& [name, condition] : conditions()) {
    for (const int reach : {1, 2}) {
      if (reach > 1 && name != "repeat_image") continue;
      Coupled c(condition, 7, reach);
      for (const Shape& shape : shapes) {
        std::vector<std::shared_ptr<void>> memory;
        for (ImageParam& input : c.inputs) {
          memory.push_back(bind_random(input, shape.array, 3 + static_cast<int>(memory.size())));
        }
        const auto expected = expected_values({c.f}, shape.out);
        EXPECT_TRUE(run_matches(expected, {c.f}, shape.out, Target::host())) << name << " " << reach;
      }
    }
  }
}

// A vector that is moved beside an edge computes points of its neighbour again, which nobody is to see.
TEST(LargeBody, PrintsEachPointOnceAtTheEdges) {
  for (const int fields : {1, 7}) {
    Coupled c(conditions().front().second, fields, 1);
    c.f.trace_stores();
    std::vector<std::shared_ptr<void>> memory;
    std::vector<Buffer<float>> outs;
    std::vector<AnyBuffer*> given;
    for (ImageParam& input : c.inputs) {
      memory.push_back(bind_random(input, {{0, 96}, {0, 3}}, 3));
      outs.emplace_back(96, 3);
    }
    for (auto& out : outs) given.push_back(&out);
    int lines = 0;
    compile(c.f, Target::host()).run(given, {.print = [&](std::string_view) { ++lines; }});
    EXPECT_EQ(lines, 96 * 3 * fields);
  }
}

}  // namespace
}  // namespace mica::test
