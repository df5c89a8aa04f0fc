// Sources and receivers in time tiles: the fields and what is recorded have the bits of single steps.
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/iterate/iteration.h"
#include "dsl/func/boundary.h"
#include "fuzz/random_data.h"
#include "tests/support/check_targets.h"
#include "tests/support/compare.h"
#include "tests/support/same_steps.h"

namespace mica::test {
namespace {

const Var x("x"), y("y"), z("z");

/// A call of add_at, or of record.
struct Call {
  ImageParam field;
  std::vector<Place> places;
};

/// Runs with and without tiles, and compares fields and what receivers took.
class Compared {
 public:
  std::vector<Replacement> pairs;
  std::vector<ImageParam> fields;
  std::vector<RunInput> others = {};
  Box box;
  std::vector<Call> sources = {}, receivers = {};
  std::vector<std::pair<std::int64_t, std::int64_t>> over = {};

  /// What the tiled run noted.
  std::string notes_of(int tile, int steps, const Target& target) {
    std::vector<AnyBuffer> plain, tiled;
    const std::string none = run(1, steps, target, plain);
    EXPECT_EQ(none, "");
    const std::string notes = run(tile, steps, target, tiled);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      EXPECT_TRUE(same_bits(plain[i], tiled[i]))
          << (i < fields.size() ? "field " : "receivers ") << i << " after " << steps << " steps, "
          << tile << " at once, on " << to_string(target);
    }
    return notes;
  }
  void expect_tiled(int tile, int steps, const std::vector<Target>& targets = all_targets()) {
    for (const Target& target : targets) EXPECT_EQ(notes_of(tile, steps, target), "");
  }

 private:
  std::string run(int tile, int steps, const Target& target, std::vector<AnyBuffer>& results) {
    Iteration iteration(pairs);
    if (!over.empty()) iteration.over(over);
    std::uint64_t seed = 30;
    for (const Call& call : sources) {
      const auto places = static_cast<std::int64_t>(call.places.size());
      iteration.add_at(call.field, call.places,
                       random_over(call.field.type(), {{0, places}, {0, steps - 1}}, ++seed));
    }
    std::vector<AnyBuffer> taken;
    for (const Call& call : receivers) {
      const auto places = static_cast<std::int64_t>(call.places.size());
      taken.push_back(random_over(call.field.type(), {{0, places}, {0, steps}}, 5));
      iteration.record(call.field, call.places, taken.back());
    }
    iteration.time_tile(tile);
    std::vector<RunInput> inputs = others;
    for (std::size_t f = 0; f < fields.size(); ++f) {
      results.push_back(random_over(fields[f].type(), box, 11 + f));
      inputs.emplace_back(fields[f], results.back());
    }
    testing::internal::CaptureStderr();
    iteration.run(inputs, steps, {.target = target});
    results.insert(results.end(), taken.begin(), taken.end());
    return testing::internal::GetCapturedStderr();
  }
};

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
