// Time tiles on a GPU whose fields have points beside the stepped box: where a row then has a tile less,
// tiles store these, too, and those at the ends reach no further. The bits are those of single steps.
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/iterate/iteration.h"
#include "codegen/iterate/level_marches.h"
#include "codegen/iterate/run_setup.h"
#include "fuzz/random_data.h"
#include "tests/support/check_targets.h"
#include "tests/support/compare.h"
#include "tests/support/same_steps.h"

namespace mica::test {
namespace {

const Var x("x"), y("y"), z("z");

void columns(Func& next) {
  next.gpu_tile(x, y, 32, 4).vectorize(x, 2).unroll(y, 3).march(z, 8).scatter(z);
}
void wide(Func& next) { next.gpu_tile(x, y, 32, 4).vectorize(x, 4).unroll(y, 3).march(z, 8); }
void by_itself(Func& /*next*/) {}
void gathered(Func& next) { next.gpu_tile(x, y, 32, 4).vectorize(x, 2).unroll(y, 3).march(z, 8); }

/// `make()` is a step's Iteration, on the same Vars each time. Its fields, of one box, hold other random
/// values each, beside the stepped box as well. `of_gpu`: their box on a GPU, where another is meant.
template <typename Make>
void expect_steps(const Make& make, Type type, const Box& of_all, int fields, int tile, int steps,
                  const Box& of_gpu = {}) {
  for (const Target& target : gpu_targets()) {
    const Box& box = target.backend == Backend::Cuda && !of_gpu.empty() ? of_gpu : of_all;
    std::vector<AnyBuffer> plain, tiled;
    for (int f = 0; f < fields; ++f) {
      plain.push_back(buffer_over(type, box));
      fill_random(plain.back(), 11 + static_cast<std::uint64_t>(f));
      tiled.push_back(plain.back().copy());
    }
    make().run_plain(plain, steps);
    testing::internal::CaptureStderr();
    make().run_tiled(tiled, steps, tile, target);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "the levels are in one kernel";
    for (int f = 0; f < fields; ++f) {
      EXPECT_TRUE(same_bits(plain[static_cast<std::size_t>(f)], tiled[static_cast<std::size_t>(f)]))
          << "field " << f << ", tiles of " << tile << " steps on " << to_string(target);
    }
  }
}

/// An Iteration, its fields, and what else it reads.
struct Case {
  std::vector<ImageParam> fields;
  Func next;
  std::vector<Replacement> pairs;
  void (*schedule)(Func&);
  std::vector<RunInput> others = {};
  std::int64_t every = 0;  ///< a callback that looks at the fields

  [[nodiscard]] std::vector<RunInput> inputs(const std::vector<AnyBuffer>& buffers) const {
    std::vector<RunInput> all;
    for (std::size_t f = 0; f < fields.size(); ++f) all.emplace_back(fields[f], buffers[f]);
    all.insert(all.end(), others.begin(), others.end());
    return all;
  }
  void run_plain(const std::vector<AnyBuffer>& buffers, int steps) const {
    Iteration(pairs).run(inputs(buffers), steps, {.target = Target::host()});
  }
  void run_tiled(const std::vector<AnyBuffer>& buffers, int steps, int tile, const Target& target) {
    schedule(next);
    Iteration iteration(pairs);
    iteration.time_tile(tile);
    if (every > 0) iteration.every(every, [](const RunningIteration& now) { (void)now.steps_done(); });
    iteration.run(inputs(buffers), steps, {.target = target});
  }
};

Case heat(int radius, std::int64_t every = 0) {
  const ImageParam u(Float(32), 3, "u");
  Expr sum = 0.37F * u(x, y, z);
  float weight = 0.01F;
  for (int away = 1; away <= radius; ++away) {
    for (const int to : {-away, away}) {
      sum = sum + (weight += 0.007F) * u(x + to, y, z);
      sum = sum + (weight += 0.007F) * u(x, y + to, z);
      sum = sum + (weight += 0.007F) * u(x, y, z + to);
    }
  }
  Func next("next");
  next(x, y, z) = sum;
  return {{u}, next, {{u, next}}, columns, {}, every};
}

// Rows that begin where a line of memory does, as the fields have them.
TEST(TimeTileEnds, OfFieldsThatFillTheirTilesToTheLastPoint) {
  // Tiles of 64 columns and 12 rows that overlap by four: of 124 columns there are two, which store the
  // ends, too; of 128 three, which do not.
  expect_steps([] { return heat(1); }, Float(32), {{0, 124}, {-2, 20}, {1, 19}}, 1, 2, 4);
  expect_steps([] { return heat(1); }, Float(32), {{0, 123}, {-2, 20}, {1, 19}}, 1, 2, 4);
  expect_steps([] { return heat(1); }, Float(32), {{0, 128}, {-2, 21}, {1, 19}}, 1, 2, 4);
  expect_steps([] { return heat(2); }, Float(32), {{7, 64}, {0, 30}, {1, 12}}, 1, 2, 4);
}

// Of many tiles one less is not worth rows that begin in halves of sectors.
TEST(TimeTileEnds, AreStillWhereThatSavesTiles) {
  const auto is_still = [](const Type& type, std::int64_t columns, int steps = 2) {
    const ImageParam u(type, 3, "u");
    Func next("next");
    next(x, y, z) = u(x, y, z) + cast(type, 0.1F) * (u(x - 1, y, z) + u(x + 1, y, z + 1));
    next.gpu_tile(x, y, 32, 2).vectorize(x, 2).march(z, 8);
    Iteration iteration({{u, next}});
    iteration.time_tile(steps);
    const iterate::RunSetup setup(*iteration.state(), {{u, AnyBuffer(type, {columns, 3, 3})}},
                                  Target::gpu_emulator(), {}, CallSite::current());
    return setup.tile_form(steps).still_ends;
  };
  EXPECT_TRUE(is_still(Float(32), 64));
  EXPECT_TRUE(is_still(Float(32), 11 * 60 + 4));
  EXPECT_FALSE(is_still(Float(32), 12 * 60 + 4)) << "13 tiles for 12";
  EXPECT_FALSE(is_still(Float(32), 13 * 56 + 8, 4));
  EXPECT_TRUE(is_still(Float(64), 13 * 56 + 8, 4)) << "32 bytes before what a tile stores";
  EXPECT_FALSE(is_still(Float(32), 128)) << "three tiles either way";
}

// Without directives rows are cut as Mica marches.
TEST(TimeTileEnds, OfStepsWithoutDirectives) {
  const auto row_of = [](Case made, int steps) {
    Iteration iteration(made.pairs);
    return iterate::row_tiles(*iteration.state(), steps);
  };
  for (const int radius : {1, 2}) {
    const auto make = [&] {
      Case made = heat(radius);
      made.schedule = by_itself;
      return made;
    };
    const std::int64_t columns = row_of(make(), 2).points;
    ASSERT_GE(columns, 32);
    const auto is_still = [&](std::int64_t points) {
      const Case made = make();
      Iteration iteration(made.pairs);
      iteration.time_tile(2);
      const iterate::RunSetup setup(*iteration.state(),
                                    {{made.fields[0], AnyBuffer(Float(32), {points, 9, 9})}},
                                    Target::gpu_emulator(), {}, CallSite::current());
      return setup.tile_form(2).still_ends;
    };
    EXPECT_TRUE(is_still(columns)) << "one tile for two";
    EXPECT_FALSE(is_still(columns + 1)) << "two tiles either way";
    // A GPU takes single steps unless there are many blocks.
    expect_steps(make, Float(32), {{0, columns}, {-2, 30}, {1, 11}}, 1, 2, 4,
                 {{0, columns}, {-2, 600}, {1, 512}});
  }
}

// Others come into memory of Mica's where 32 tiles and more pay for it.
TEST(TimeTileEnds, OfRowsThatAreCopied) {
  expect_steps([] { return heat(1); }, Float(32), {{0, 63}, {0, 13}, {0, 7}}, 1, 2, 65);
}

TEST(TimeTileEnds, SayHowManyTilesThereAre) {
  Case made = heat(1);
  columns(made.next);
  Iteration iteration(made.pairs);
  iteration.time_tile(2);
  const std::string loops = iteration.print_loop_nest(Target::gpu_emulator());
  EXPECT_NE(loops.find("(max(next·t2.extent.0 - 4, 1) + 59)/60"), std::string::npos) << loops;
}

TEST(TimeTileEnds, OfFieldsThatAreLookedAtBetweenSteps) {
  for (const std::int64_t every :
       {5, 9}) {  // with few single steps between tiles rows begin at the fields
    expect_steps([&] { return heat(1, every); }, Float(32), {{0, 64}, {0, 20}, {0, 12}}, 1, 2, 19);
  }
}

// A wave's two fields differ beside the stepped box, and each takes what the other has there.
TEST(TimeTileEnds, OfLinkedFields) {
  const auto wave = [] {
    const ImageParam before(Float(32), 3, "before"), now(Float(32), 3, "now");
    Func next("next");
    next(x, y, z) = 1.6F * now(x, y, z) - before(x, y, z) +
                    0.1F * (now(x - 1, y, z) + now(x + 1, y, z) + now(x, y - 1, z) + now(x, y + 1, z) +
                            now(x, y, z - 1) + now(x, y, z + 1));
    return Case{{before, now}, next, {{before, now}, {now, next}}, gathered};
  };
  expect_steps(wave, Float(32), {{0, 64}, {0, 20}, {0, 9}}, 2, 2, 9);
  expect_steps(wave, Float(32), {{0, 64}, {0, 20}, {0, 9}}, 2, 3, 6);
}

// c is read further beside a point than the field, and has the points for it: what a level reads of it
// at the field's ends lies before them.
TEST(TimeTileEnds, OfACoefficientThatIsReadFurtherThanTheField) {
  for (const std::int64_t more : {0, 4}) {
    AnyBuffer speed = buffer_over(
        Float(32), {{-more, 128 + 2 * more}, {-more, 24 + 2 * more}, {-more, 12 + 2 * more}});
    fill_random(speed, 3);
    const auto step = [&] {
      const ImageParam u(Float(32), 3, "u"), c(Float(32), 3, "c");
      Func next("next");
      next(x, y, z) = 0.5F * u(x, y, z) +
                      0.2F * (u(x - 1, y, z) + u(x + 1, y, z) + u(x, y - 1, z) + u(x, y + 1, z)) *
                          (c(x - 4, y, z) + c(x + 3, y + 2, z)) +
                      0.1F * (u(x, y, z - 1) + u(x, y, z + 1));
      return Case{{u}, next, {{u, next}}, wide, {{c, speed}}};
    };
    expect_steps(step, Float(32), {{0, 128}, {0, 24}, {0, 12}}, 1, 2, 4);
  }
}

// A split that does not divide: threads walk points that no block holds, and stages hold none of them.
TEST(TimeTileEnds, OfThreadsThatWalkMoreThanABlock) {
  for (const Target& target : gpu_targets()) {
    const ImageParam u(Int(32), 3, "u");
    Func next("next");
    next(x, y, z) = u(x, y, z - 2) + u(x, y, z);
    next.gpu_tile(x, y, 7, 3).march(z).vectorize("x.thread", 16, TailStrategy::GuardWithIf);
    Iteration plain({{u, next}}), tiled({{u, next}});
    testing::internal::CaptureStderr();
    expect_same(plain, tiled, {u}, {}, {{0, 20}, {0, 7}, {0, 9}}, 2, {2, 5}, target);
    const std::string notes = testing::internal::GetCapturedStderr();
    EXPECT_NE(notes.find("walk more points along x than a block has"), std::string::npos) << notes;
  }
}

}  // namespace
}  // namespace mica::test
