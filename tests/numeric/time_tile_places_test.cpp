// Sources and receivers in time tiles: the fields and what is recorded have the bits of single steps.
#include <cmath>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/iterate/iteration.h"
#include "dsl/func/boundary.h"
#include "fuzz/random_data.h"
#include "tests/support/check_targets.h"
#include "tests/support/compare.h"
#include "tests/support/compared_steps.h"
#include "tests/support/same_steps.h"

namespace mica::test {
namespace {

const Var x("x"), y("y"), z("z");

/// Five points of rows.
Compared rows(Type type = Float(32)) {
  const ImageParam u(type, 2, "u");
  Func next("next");
  const auto number = [&](double value) { return cast(type, Expr(value)); };
  next(x, y) = number(0.4) * u(x, y) + number(0.1) * (u(x - 1, y) + u(x + 1, y)) +
               number(0.2) * (u(x, y - 1) + u(x, y + 1));
  return {.pairs = {{u, next}}, .fields = {u}, .box = {{-3, 150}, {2, 91}}};
}

TEST(TimeTilePlaces, ASourceAndReceiversInRows) {
  for (const Type& type : {Float(32), Float(64)}) {
    Compared c = rows(type);
    const ImageParam& u = c.fields[0];
    c.sources = {{u, {{{{60, 40}, 0.25}, {{61, 40}, 0.75}}, {{{61, 40}, 0.5}}}}};
    c.receivers = {{u, {{{{62, 41}}}, {{{63, 44}, 0.5}, {{64, 44}, 0.5}}, {{{61, 40}}}}}};
    for (const int tile : {2, 5}) c.expect_tiled(tile, 11);
  }
}

TEST(TimeTilePlaces, AtEdgesAndInCorners) {
  for (const std::vector<std::int64_t>& at :
       std::vector<std::vector<std::int64_t>>{{-2, 3}, {145, 91}, {-2, 50}, {70, 3}}) {
    Compared c = rows();
    c.sources = {{c.fields[0], {{{at}}}}};
    // On the boundary, too, whose values stay.
    c.receivers = {{c.fields[0], {{{at}}, {{{-3, 2}}}, {{{146, 92}, 2.0}}}}};
    if (at[0] == 70) c.receivers = {{c.fields[0], {{{{71, 2}}}}}, {c.fields[0], {{{{-3, 2}}}}}};
    for (const Target& target : all_targets()) (void)c.notes_of(3, 10, target);
    c.receivers = {{c.fields[0], {{{at}}}}};
    c.expect_tiled(3, 10);
  }
}

TEST(TimeTilePlaces, FarFromOneAnotherInPatchesOfTheirOwn) {
  Compared c = rows();
  c.box = {{0, 1400}, {0, 1100}};
  const ImageParam& u = c.fields[0];
  c.sources = {{u, {{{{10, 10}}}}}, {u, {{{{1380, 1090}}}}}, {u, {{{{12, 13}}}}}, {u, {{{{700, 20}}}}}};
  c.receivers = {{u, {{{{1382, 1088}}}, {{{1381, 1091}}}}}, {u, {{{{9, 9}}}}}, {u, {{{{600, 600}}}}}};
  c.expect_tiled(4, 9);
}

TEST(TimeTilePlaces, ThatReachIntoTheNextPatch) {
  // Two patches of many points each, a source of one in the other.
  Compared c = rows();
  c.box = {{0, 2600}, {0, 1500}};
  const ImageParam& u = c.fields[0];
  c.sources = {{u, {{{{20, 5}}}, {{{2500, 5}}}}},
               {u, {{{{1000, 3}}}, {{{1000, 1480}}}}},
               {u, {{{{30, 700}}}, {{{2500, 700}}}}}};
  c.receivers = {{u, {{{{1000, 701}}}, {{{1001, 6}}}}}};
  for (const Target& target : {Target::host()}) (void)c.notes_of(3, 7, target);
}

TEST(TimeTilePlaces, OfALeapfrogStepInPlanes) {
  for (const Target& target : all_targets()) {
    const ImageParam before(Float(32), 3, "before"), now(Float(32), 3, "now"), c(Float(32), 3, "c");
    Func next("next");
    next(x, y, z) = 2.0F * now(x, y, z) - before(x, y, z) +
                    0.1F * c(x, y, z) * cast<float>(step() + 1) *
                        (now(x - 1, y, z) + now(x + 1, y, z) + now(x, y - 1, z) + now(x, y + 1, z) +
                         now(x, y, z - 1) + now(x, y, z + 1) - 6.0F * now(x, y, z));
    if (target.is_gpu()) next.gpu_tile(x, y, 32, 4).vectorize(x, 2).unroll(y, 2).march(z, 8).scatter(z);
    const Box box{{0, 61}, {-1, 50}, {4, 44}};
    Compared wave{.pairs = {{before, now}, {now, next}},
                  .fields = {before, now},
                  .others = {{c, random_over(Float(32), box, 3)}},
                  .box = box};
    wave.sources = {{now, {{{{30, 20, 20}, 0.5}, {{31, 20, 20}, 0.5}}}}};
    wave.receivers = {{now, {{{{33, 22, 21}}}}}, {before, {{{{30, 20, 20}}}}}};
    EXPECT_EQ(wave.notes_of(3, 8, target), "");
  }
}

TEST(TimeTilePlaces, WithBoundaryConditions) {
  using Condition = Func (*)(const ImageParam&);
  const std::vector<Condition> conditions{
      [](const ImageParam& u) { return BoundaryConditions::repeat_edge(u); },
      [](const ImageParam& u) { return BoundaryConditions::mirror_image(u); },
      [](const ImageParam& u) { return BoundaryConditions::mirror_interior(u); },
      [](const ImageParam& u) { return BoundaryConditions::constant_exterior(u, 0.5F); },
      [](const ImageParam& u) { return BoundaryConditions::repeat_image(u); },
      [](const ImageParam& u) {
        return BoundaryConditions::repeat_edge(u, {{Var("x"), 0, 150}});
      }};
  for (const Condition condition : conditions) {
    for (const std::vector<std::int64_t>& at :
         std::vector<std::vector<std::int64_t>>{{0, 101}, {149, 50}}) {
      const ImageParam u(Float(32), 2, "u");
      const Func b = condition(u);
      Func next("next");
      next(x, y) = 0.4F * u(x, y) + 0.1F * (b(x - 1, y) + b(x + 1, y)) + 0.2F * b(x, y - 1) -
                   0.3F * b(x + 2, y + 1);
      Compared c{.pairs = {{u, next}}, .fields = {u}, .box = {{0, 150}, {0, 103}}};
      c.sources = {{u, {{{at}}}}};
      c.receivers = {{u, {{{at}}, {{{std::min<std::int64_t>(at[0] + 3, 149), at[1]}}}}}};
      for (const Target& target : all_targets()) {
        const std::string notes = c.notes_of(2, 7, target);
        // A patch at an edge of fields that repeat has all points along that dimension.
        const bool may_be_wide = b.name().find("repeat_image") != std::string::npos;
        if (!may_be_wide || at[1] == 50) {
          EXPECT_EQ(notes.find("sources and receivers"), std::string::npos) << b.name() << notes;
        }
      }
    }
  }
}

TEST(TimeTilePlaces, ThroughFuncsBetweenAndOfSeveralFields) {
  for (const bool at_root : {false, true}) {
    const ImageParam u(Float(64), 2, "u"), v(Float(64), 2, "v");
    Func flux("flux"), both("both");
    flux(x, y) = 0.3 * u(x + 1, y) - 0.2 * u(x, y) + v(x, y + 1);
    both(x, y) = Tuple(u(x, y) + 0.1 * (flux(x + 1, y) - flux(x - 1, y)), v(x, y) - 0.1 * u(x, y - 1));
    if (at_root) flux.compute_root();
    Compared c{.pairs = {{u, both, 0}, {v, both, 1}}, .fields = {u, v}, .box = {{0, 120}, {0, 80}}};
    c.sources = {{v, {{{{50, 40}}}}}, {u, {{{{53, 41}}}}}};
    c.receivers = {{u, {{{{50, 42}}}}}, {v, {{{{48, 40}}}}}};
    for (const Target& target : all_targets()) {
      EXPECT_EQ(c.notes_of(3, 8, target).find("sources and receivers"), std::string::npos);
    }
  }
}

TEST(TimeTilePlaces, ThroughAWrapperWithDirectivesOfItsOwn) {
  const ImageParam u(Float(32), 2, "u");
  Func flux("flux"), next("next");
  flux(x, y) = 0.3F * u(x + 1, y) - 0.2F * u(x, y);
  next(x, y) = u(x, y) + 0.1F * (flux(x, y) - flux(x, y - 1));
  flux.in(next).compute_root();
  Compared c{.pairs = {{u, next}}, .fields = {u}, .box = {{0, 120}, {0, 80}}};
  c.sources = {{u, {{{{50, 40}}}}}};
  for (const Target& target : all_targets()) (void)c.notes_of(2, 7, target);
}

// More points than a block has threads, and more parts of one of them than are summed where they are
// added.
TEST(TimeTilePlaces, SourcesOfManyPoints) {
  constexpr int kPoints = 700, kParts = 9;
  Compared c = rows();
  const ImageParam& u = c.fields[0];
  std::vector<Place> places;
  for (int k = 0; k < kPoints; ++k) places.push_back({{{20 + k % 35, 30 + k / 35}, 0.01 * (k + 1)}});
  for (int k = 0; k < kParts; ++k) places.push_back({{{50, 55}, 0.1 * (k + 1)}});
  c.sources = {{u, places}};
  for (const Target& target : all_targets()) (void)c.notes_of(2, 5, target);

  const auto count = static_cast<std::int64_t>(places.size());
  const Buffer<float> series(random_over(Float(32), {{0, count}, {0, 1}}, 3));
  Func same("same");
  same(x, y) = u(x, y);
  for (const Target& target : all_targets()) {
    const Buffer<float> before(random_over(Float(32), c.box, 7));
    Buffer<float> after(before.copy());
    Iteration({{u, same}}).add_at(u, places, series).run({{u, after}}, 1, {.target = target});
    Buffer<float> expected(before.copy());
    for (int k = 0; k < kPoints; ++k) {
      expected(20 + k % 35, 30 + k / 35) +=
          std::fma(static_cast<float>(0.01 * (k + 1)), series(k, 0), 0.0F);
    }
    float sum = 0;
    for (int k = 0; k < kParts; ++k) {
      sum = std::fma(static_cast<float>(0.1 * (k + 1)), series(kPoints + k, 0), sum);
    }
    expected(50, 55) += sum;
    EXPECT_TRUE(same_bits(expected, after)) << to_string(target);
  }
}

TEST(TimeTilePlaces, InThreadsOnFieldsOfTheirOwn) {
  for (const Target& target : all_targets()) {
    Compared c = rows();
    const ImageParam& u = c.fields[0];
    const auto iteration = [&] {
      Iteration heat(c.pairs);
      heat.add_at(u, {{{{60, 40}}}}, random_over(Float(32), {{0, 1}, {0, 9}}, 4));
      return heat;
    };
    constexpr int kThreads = 3;
    Iteration shared = iteration();
    shared.time_tile(3);
    std::vector<AnyBuffer> fields(kThreads);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      fields[static_cast<std::size_t>(t)] = random_over(Float(32), c.box, 50 + static_cast<unsigned>(t));
      threads.emplace_back([&, t] {
        shared.run({{u, fields[static_cast<std::size_t>(t)]}}, 9, {.target = target});
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (int t = 0; t < kThreads; ++t) {
      AnyBuffer expected = random_over(Float(32), c.box, 50 + static_cast<unsigned>(t));
      iteration().run({{u, expected}}, 9, {.target = target});
      EXPECT_TRUE(same_bits(expected, fields[static_cast<std::size_t>(t)])) << to_string(target);
    }
  }
}

// Odd rows, extents of 1, and a step whose expression is deep and shares its parts.
TEST(TimeTilePlaces, OnFieldsOfUnusualShapes) {
  for (const Box& box : {Box{{0, 511}, {0, 7}}, Box{{0, 1}, {0, 40}}, Box{{5, 1}, {-2, 1}}}) {
    const ImageParam u(Float(32), 2, "u");
    const Func b = BoundaryConditions::repeat_edge(u);
    Func next("next");
    next(x, y) = 0.5F * u(x, y) + 0.25F * (b(x - 1, y) + b(x, y + 1));
    Compared c{.pairs = {{u, next}}, .fields = {u}, .box = box};
    const std::vector<std::int64_t> last{box[0].first + box[0].second - 1, box[1].first};
    c.sources = {{u, {{{last}}}}};
    c.receivers = {{u, {{{last}}}}};
    for (const Target& target : all_targets()) (void)c.notes_of(2, 5, target);
  }
  const ImageParam u(Float(32), 1, "u");
  Func next("next");
  Expr e = u(x - 1) + u(x + 1);
  for (int i = 0; i < 2000; ++i) e = 0.5F * e + 0.25F * min(e, u(x));
  next(x) = e;
  Compared deep{.pairs = {{u, next}}, .fields = {u}, .box = {{0, 300}}};
  deep.sources = {{u, {{{{100}}}}}};
  EXPECT_EQ(deep.notes_of(2, 4, Target::host()), "");
}

TEST(TimeTilePlaces, OfEightFields) {
  std::vector<ImageParam> fields;
  std::vector<Expr> values;
  for (int f = 0; f < 8; ++f) fields.emplace_back(Float(32), 2, "u" + std::to_string(f));
  for (int f = 0; f < 8; ++f) {
    const ImageParam& other = fields[static_cast<std::size_t>((f + 1) % 8)];
    values.push_back(0.9F * fields[static_cast<std::size_t>(f)](x, y) +
                     0.05F * (other(x - 1, y) - other(x, y + 1)));
  }
  Func next("next");
  next(x, y) = Tuple(values);
  Compared c{.pairs = {}, .fields = fields, .box = {{0, 140}, {0, 60}}};
  for (int f = 0; f < 8; ++f) c.pairs.emplace_back(fields[static_cast<std::size_t>(f)], next, f);
  c.sources = {{fields[3], {{{{70, 30}}}}}};
  c.receivers = {{fields[5], {{{{71, 31}}}}}};
  for (const Target& target : all_targets()) (void)c.notes_of(2, 5, target);
}

TEST(TimeTilePlaces, DrawnAtRandom) {
  Random random(2026);
  for (int round = 0; round < 15; ++round) {
    Compared c = rows();
    const ImageParam& u = c.fields[0];
    const auto place = [&] {
      return Place{{{random.between(-2, 145), random.between(3, 91)}, 0.5},
                   {{random.between(-2, 145), random.between(3, 91)}, 0.25}};
    };
    const auto near = [&] {
      const std::int64_t i = random.between(-2, 143), j = random.between(3, 89);
      return Place{{{i, j}, 0.5}, {{i + 1, j + 2}, 0.25}};
    };
    for (auto n = random.between(0, 3); n > 0; --n) c.sources.push_back({u, {near(), near()}});
    for (auto n = random.between(0, 3); n > 0; --n) c.receivers.push_back({u, {near()}});
    if (round % 8 == 0) c.sources.push_back({u, {place()}});
    if (random.coin()) c.over = {{4, 120}, {10, 70}};
    if (!c.over.empty()) c.sources = {{u, {{{{60, 40}}}, {{{80, 33}}}}}};
    const int tile = static_cast<int>(random.between(2, 4)),
              steps = static_cast<int>(random.between(4, 9));
    for (const Target& target : all_targets()) (void)c.notes_of(tile, steps, target);
  }
}

TEST(TimeTilePlaces, GoStepByStepWhereTheyAreEverywhere) {
  Compared c = rows();
  c.receivers = {{c.fields[0], {{{{0, 10}}}, {{{140, 80}}}}}};
  for (const Target& target : all_targets()) {
    EXPECT_NE(c.notes_of(3, 7, target).find("more than a quarter"), std::string::npos);
  }
}

TEST(TimeTilePlaces, GoStepByStepWhereAStepAsksForTheFieldsEnds) {
  const ImageParam u(Float(32), 2, "u");
  Func next("next");
  next(x, y) = 0.5F * (u(x - 1, y) + u(x + 1, y)) * select(x == u.dim(0).max() - 2, 0.5F, 1.0F);
  Compared c{.pairs = {{u, next}}, .fields = {u}, .box = {{0, 150}, {0, 60}}};
  c.sources = {{u, {{{{60, 40}}}}}};
  for (const Target& target : all_targets()) {
    EXPECT_NE(c.notes_of(2, 7, target).find("asks where u begins or ends"), std::string::npos);
  }
}

TEST(TimeTilePlaces, OfOneDimension) {
  const ImageParam u(Float(32), 1, "u");
  Func next("next");
  next(x) = 0.5F * u(x) + 0.25F * (u(x - 1) + u(x + 1));
  Compared c{.pairs = {{u, next}}, .fields = {u}, .box = {{0, 4000}}};
  c.sources = {{u, {{{{700}}}}}, {u, {{{{2}}}}}};
  c.receivers = {{u, {{{{705}}}, {{{690}}}}}};
  for (const Target& target : all_targets()) {
    EXPECT_EQ(c.notes_of(4, 9, target).find("sources and receivers"), std::string::npos);
  }
}

}  // namespace
}  // namespace mica::test
