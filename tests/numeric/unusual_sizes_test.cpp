// Sums of many terms, boxes of one point, many fields in one reduction, long chains: what users write,
// of sizes that examples seldom have.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fuzz/random_data.h"
#include "tests/support/check_schedules.h"
#include "tests/support/check_targets.h"

namespace mica::test {
namespace {

const Var x("x"), y("y"), z("z"), w("w");

TEST(UnusualSizes, OfSumsOver511Points) {
  const ImageParam u(Float(32), 2, "u"), bytes(UInt(8), 2, "bytes");
  const RDom r({{-255, 511}});
  Func written("written"), summed("summed"), counted("counted");
  Expr row = u(x - 255, y);
  for (int i = -254; i <= 255; ++i) row = row + u(x + i, y) * (0.001F * static_cast<float>(i));
  written(x, y) = row;
  summed(x, y) = sum(r, u(x + r.x, y)) / 511.0F;
  counted(x, y) = sum(r, cast<std::int32_t>(bytes(x + r.x, y)));
  const auto memory = bind_random(u, {{-255, 570}, {0, 3}}, 1);
  const auto memory_bytes = bind_random(bytes, {{-255, 570}, {0, 3}}, 2);
  for (const Func& f : {written, summed, counted}) {
    EXPECT_TRUE(check_all_targets(f, {{0, 59}, {0, 3}})) << f.name();
  }
}

TEST(UnusualSizes, OfOnePointInEveryDimension) {
  const ImageParam u(Float(32), 4, "u");
  const auto memory = bind_random(u, {{5, 1}, {-2, 1}, {0, 1}, {7, 1}}, 3);
  namespace conditions = BoundaryConditions;
  for (const Func& c :
       {conditions::repeat_edge(u), conditions::constant_exterior(u, 1.0F), conditions::repeat_image(u),
        conditions::mirror_image(u), conditions::mirror_interior(u)}) {
    Func f("f");
    f(x, y, z, w) = c(x - 1, y, z, w) + c(x, y + 2, z, w) * c(x, y, z - 3, w) + c(x, y, z, w + 1);
    EXPECT_TRUE(check_all_targets(f, {{5, 1}, {-2, 1}, {0, 1}, {7, 1}})) << c.name();
  }
  Func colored("colored"), walked("walked");
  colored(x, y) = cast<float>(x);
  colored(x, y) = colored(x - 1, y) + colored(x + 1, y);
  colored.update().color((x + y) % 2);
  walked(x, y) = select(x == 5, 1.0F, walked(x - 1, y) * 2.0F);
  EXPECT_TRUE(check_all_targets(colored, {{5, 1}, {-2, 1}}));
  EXPECT_TRUE(check_all_targets(walked, {{5, 1}, {-2, 1}}));
}

TEST(UnusualSizes, OfEightFieldsUnderOneWhere) {
  std::vector<ImageParam> fields;
  std::vector<std::shared_ptr<void>> memory;
  for (int i = 0; i < 8; ++i) {
    fields.emplace_back(Float(32), 2, "u" + std::to_string(i));
    memory.push_back(bind_random(fields.back(), {{0, 37}, {0, 29}}, 10 + memory.size()));
  }
  const RDom all({{0, fields[0].width()}, {0, fields[0].height()}}), row({{0, 37}});
  RDom some = all, above = row;
  some.where(fields[0](some.x, some.y) > 0.0F && (some.x + some.y) % 2 == 0);
  above.where(above.x > 3 && fields[2](above.x, x) > 0.0F);
  Expr sum_of_all = fields[0](some.x, some.y);
  std::vector<Expr> zeros(8, Expr(0.0F)), sums;
  Func total("total"), each("each");
  for (std::size_t i = 1; i < 8; ++i) sum_of_all = sum_of_all + fields[i](some.x, some.y);
  total() = sum(some, sum_of_all);
  each(x) = Tuple(zeros);
  for (std::size_t i = 0; i < 8; ++i) {
    sums.push_back(each(x)[static_cast<int>(i)] + fields[i](above.x, x));
  }
  each(x) = Tuple(sums);
  EXPECT_TRUE(check_all_targets(total, {{0, 1}}));
  EXPECT_TRUE(check_all_targets(each, {{0, 29}}));
}

TEST(UnusualSizes, OfAChainOfTenSlidingFuncs) {
  const ImageParam u(Float(32), 2, "u");
  const auto memory = bind_random(u, {{0, 45}, {0, 30}}, 4);
  std::vector<Func> chain{BoundaryConditions::repeat_edge(u)};
  for (int i = 0; i < 10; ++i) {
    const Func before = chain.back();
    chain.emplace_back("f" + std::to_string(i));
    chain.back()(x, y) = before(x, y - 1) + before(x, y) * 0.5F + before(x, y + 1);
  }
  Func last = chain.back();
  for (std::size_t i = 1; i + 1 < chain.size(); ++i) {
    chain[i].compute_at(last, y).store_root().vectorize(x, 8);
  }
  EXPECT_TRUE(matches_oracle({last}, {{0, 45}, {0, 30}}, Target::host()));
  EXPECT_TRUE(check_all_targets(last, {{0, 45}, {0, 30}}));
}

TEST(UnusualSizes, OfAChainOfSelectsInARecurrence) {
  const ImageParam u(Float(32), 2, "u");
  const auto memory = bind_random(u, {{0, 35}, {0, 12}}, 5);
  Func c("c");
  const Expr before = c(x, y - 1);
  Expr e = u(x, y);
  for (int i = 0; i < 60; ++i) {
    const float limit = 0.1F * static_cast<float>(i - 30);
    e = select(before > limit, e * 0.5F + before * 0.25F, e < 1.0F, before, e + 1.0F);
  }
  c(x, y) = select(y == 0, u(x, y), e);
  check_schedules(c, {{0, 35}, {0, 12}},
                  {[](Func&) {}, [](Func& f) { f.vectorize(x, 8); },
                   [](Func& f) { f.gpu_tile(x, 16).unroll(y, 2); }});
}

// The same clamped coordinate in several reads and of several Funcs, one of which slides along it.
TEST(UnusualSizes, OfClampedIndicesThatAreShared) {
  const ImageParam u(Float(32), 2, "u");
  const auto memory = bind_random(u, {{0, 33}, {0, 17}}, 6);
  const Expr last = u.height() - 1;
  const Expr here = clamp(y, 0, last), above = clamp(y + 1, 0, last);
  Func g("g"), f("f");
  g(x, y) = u(x, here) * 2.0F + u(x, here);
  f(x, y) = g(x, above) + g(x, clamp(y - 1, 0, last)) * g(x, above);
  check_schedules(g, f, {{0, 33}, {-2, 21}},
                  {[](Func&) {}, [&](Func& slides) { slides.compute_at(f, y).store_root(); },
                   [&](Func& slides) {
                     f.split(y, "yo", "yi", 4).parallel("yo");
                     slides.compute_at(f, "yi").store_at(f, "yo").vectorize(x, 4);
                   }});
}

}  // namespace
}  // namespace mica::test
