// The coordinates that boundary conditions read, evaluated for an input of 4 elements at 10..13.
#include <functional>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "dsl/expr/traverse.h"
#include "dsl/func/func.h"

namespace mica {
namespace {

constexpr std::int64_t kMin = 10;

std::int64_t floor_mod(std::int64_t a, std::int64_t b) { return b == 0 ? 0 : ((a % b) + b) % b; }

/// The value of an i32 or bool expression of x and the input's bounds; an access gives its coordinate.
std::int64_t evaluate(const Expr& e, std::int64_t x, std::int64_t extent) {
  const auto value = [&](const Expr& child) { return evaluate(child, x, extent); };
  if (const auto* imm = e.as<IntImm>()) return imm->value;
  if (e.as<VarRef>()) return x;
  if (const auto* field = e.as<ImageField>()) return field->field == BufferField::Min ? kMin : extent;
  if (const auto* access = e.as<Access>()) return value(access->args[0]);
  if (const auto* select = e.as<Select>()) {
    return value(select->condition) != 0 ? value(select->if_true) : value(select->if_false);
  }
  if (const auto* compare = e.as<Compare>()) {
    const auto a = value(compare->a), b = value(compare->b);
    switch (compare->op) {
      case CompareOp::Eq: return a == b;
      case CompareOp::Ne: return a != b;
      case CompareOp::Lt: return a < b;
      case CompareOp::Le: return a <= b;
      case CompareOp::Gt: return a > b;
      case CompareOp::Ge: return a >= b;
    }
  }
  if (const auto* binary = e.as<Binary>()) {
    const auto a = value(binary->a), b = value(binary->b);
    switch (binary->op) {
      case BinaryOp::Add: return a + b;
      case BinaryOp::Sub: return a - b;
      case BinaryOp::Mul: return a * b;
      case BinaryOp::Mod: return floor_mod(a, b);
      case BinaryOp::Min: return std::min(a, b);
      case BinaryOp::Max: return std::max(a, b);
      case BinaryOp::And: return a != 0 && b != 0;
      default: break;
    }
  }
  ADD_FAILURE() << "no rule for " << to_string(e);
  return 0;
}

/// Offsets from the min that f reads for x = min-5 ... min+8.
std::vector<std::int64_t> offsets(const Func& f, std::int64_t extent = 4) {
  std::vector<std::int64_t> result;
  for (std::int64_t x = kMin - 5; x <= kMin + 8; ++x) {
    result.push_back(evaluate(f.function()->definitions[0].values[0], x, extent) - kMin);
  }
  return result;
}
using Offsets = std::vector<std::int64_t>;

TEST(BoundaryConditions, RepeatEdgeReadsTheNearestElement) {
  EXPECT_EQ(offsets(BoundaryConditions::repeat_edge(ImageParam(Int(32), 1, "u"))),
            (Offsets{0, 0, 0, 0, 0, 0, 1, 2, 3, 3, 3, 3, 3, 3}));
}

TEST(BoundaryConditions, RepeatImageReadsPeriodically) {
  EXPECT_EQ(offsets(BoundaryConditions::repeat_image(ImageParam(Int(32), 1, "u"))),
            (Offsets{3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0}));
}

TEST(BoundaryConditions, MirrorImageReadsTheEdgeTwice) {
  EXPECT_EQ(offsets(BoundaryConditions::mirror_image(ImageParam(Int(32), 1, "u"))),
            (Offsets{3, 3, 2, 1, 0, 0, 1, 2, 3, 3, 2, 1, 0, 0}));
}

TEST(BoundaryConditions, MirrorInteriorReadsTheEdgeOnce) {
  EXPECT_EQ(offsets(BoundaryConditions::mirror_interior(ImageParam(Int(32), 1, "u"))),
            (Offsets{1, 2, 3, 2, 1, 0, 1, 2, 3, 2, 1, 0, 1, 2}));
}

TEST(BoundaryConditions, AnInputOfOneElementReadsThatElement) {
  const ImageParam u(Int(32), 1, "u");
  for (const Func& f : {BoundaryConditions::repeat_edge(u), BoundaryConditions::repeat_image(u),
                        BoundaryConditions::mirror_image(u), BoundaryConditions::mirror_interior(u)}) {
    EXPECT_EQ(offsets(f, 1), Offsets(14, 0)) << f.name();
  }
}

TEST(BoundaryConditions, ConstantExteriorGivesTheValueOutside) {
  const Func f = BoundaryConditions::constant_exterior(ImageParam(Int(32), 1, "u"), 7);
  constexpr std::int64_t out = 7 - kMin;
  EXPECT_EQ(offsets(f), (Offsets{out, out, out, out, out, 0, 1, 2, 3, out, out, out, out, out}));
}

TEST(BoundaryConditions, FuncsAreNamedAfterTheInputAndHaveItsDimensions) {
  const ImageParam u(Float(32), 3, "u");
  const Func f = BoundaryConditions::constant_exterior(u, 0);
  EXPECT_EQ(f.name(), "u.constant_exterior");
  EXPECT_EQ(f.function()->args, (std::vector<std::string>{"x", "y", "z"}));
  EXPECT_EQ(f.types(), std::vector<Type>{Float(32)});
  EXPECT_TRUE(f.function()->definitions[0].directives.empty());
}

}  // namespace
}  // namespace mica
