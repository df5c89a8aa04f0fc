// Time tiles on a GPU whose fields have points beside the stepped box: tiles store these, too, and those
// at the ends reach no further. The bits are those of single steps.
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/iterate/iteration.h"
#include "fuzz/random_data.h"
#include "tests/support/check_targets.h"
#include "tests/support/compare.h"

namespace mica::test {
namespace {

const Var x("x"), y("y"), z("z");

void strips(Func& next) { next.gpu_tile(x, 32).vectorize(x, 4).march(y, 16).scatter(y); }
void columns(Func& next) {
  next.gpu_tile(x, y, 32, 4).vectorize(x, 2).unroll(y, 3).march(z, 8).scatter(z);
}

/// `make()` is a step's Iteration, on the same Vars each time. Its fields, of one box, hold other random
/// values each, beside the stepped box as well.
template <typename Make>
void expect_steps(const Make& make, Type type, const Box& box, int fields, int tile, int steps) {
  for (const Target& target : gpu_targets()) {
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

Case heat(int radius, void (*schedule)(Func&), int dimensions, std::int64_t every = 0) {
  const ImageParam u(Float(32), dimensions, "u");
  const std::vector<Var> vars = dimensions == 2 ? std::vector<Var>{x, y} : std::vector<Var>{x, y, z};
  const auto at = [&](std::size_t d, int away) {
    std::vector<Expr> args(vars.begin(), vars.end());
    args[d] = args[d] + away;
    return Expr(u(args));
  };
  Expr sum = 0.37F * at(0, 0);
  float weight = 0.01F;
  for (std::size_t d = 0; d < vars.size(); ++d) {
    for (int away = 1; away <= radius; ++away) {
      sum = sum + (weight += 0.007F) * at(d, -away);
      sum = sum + (weight += 0.007F) * at(d, away);
    }
  }
  Func next("next");
  next(std::vector<Expr>(vars.begin(), vars.end())) = sum;
  return {{u}, next, {{u, next}}, schedule, {}, every};
}

TEST(TimeTileEnds, OfFieldsThatFillTheirTilesToTheLastPoint) {
  // Tiles of 128 columns that overlap by eight: of 248 there are two, of 249 three.
  for (const std::int64_t columns_of : {128, 129, 248, 249, 367}) {
    expect_steps([] { return heat(1, strips, 2); }, Float(32), {{-5, columns_of}, {3, 40}}, 1, 4, 9);
    expect_steps([] { return heat(2, strips, 2); }, Float(32), {{0, columns_of}, {0, 33}}, 1, 2, 5);
  }
  // 64 columns and 12 rows that overlap by four.
  expect_steps([] { return heat(1, columns, 3); }, Float(32), {{0, 124}, {-2, 20}, {1, 19}}, 1, 2, 5);
  expect_steps([] { return heat(1, columns, 3); }, Float(32), {{0, 125}, {-2, 21}, {1, 19}}, 1, 2, 4);
  expect_steps([] { return heat(2, columns, 3); }, Float(32), {{7, 64}, {0, 30}, {1, 12}}, 1, 1 + 1, 3);
}

TEST(TimeTileEnds, SayHowManyTilesThereAre) {
  Case made = heat(1, strips, 2);
  strips(made.next);
  Iteration iteration(made.pairs);
  iteration.time_tile(4);
  const std::string loops = iteration.print_loop_nest(Target::gpu_emulator());
  EXPECT_NE(loops.find("(max(next·t4.extent.0 - 8, 1) + 119)/120"), std::string::npos) << loops;
}

TEST(TimeTileEnds, OfFieldsThatAreLookedAtBetweenSteps) {
  expect_steps([] { return heat(1, strips, 2, 5); }, Float(32), {{0, 300}, {0, 40}}, 1, 3, 19);
}

// A wave's two fields differ beside the stepped box, and each takes what the other has there.
TEST(TimeTileEnds, OfLinkedFields) {
  const auto wave = [] {
    const ImageParam before(Float(32), 2, "before"), now(Float(32), 2, "now");
    Func next("next");
    next(x, y) = 1.6F * now(x, y) - before(x, y) +
                 0.1F * (now(x - 1, y) + now(x + 1, y) + now(x, y - 1) + now(x, y + 1));
    return Case{{before, now}, next, {{before, now}, {now, next}}, [](Func& step) {
                  step.gpu_tile(x, 32).vectorize(x, 4).march(y, 16);
                }};
  };
  for (const int steps : {3, 4, 8}) {
    expect_steps(wave, Float(32), {{0, 260}, {0, 37}}, 2, 2, steps);
    expect_steps(wave, Float(32), {{0, 260}, {0, 37}}, 2, 3, steps);
  }
}

// c is read further beside a point than the field, and has the points for it: what a level reads of it
// at the field's ends lies before them.
TEST(TimeTileEnds, OfACoefficientThatIsReadFurtherThanTheField) {
  for (const std::int64_t more : {0, 4}) {
    AnyBuffer speed = buffer_over(Float(32), {{-more, 260 + 2 * more}, {-more, 40 + 2 * more}});
    fill_random(speed, 3);
    const auto step = [&] {
      const ImageParam u(Float(32), 2, "u"), c(Float(32), 2, "c");
      Func next("next");
      next(x, y) = 0.5F * u(x, y) + 0.2F * (u(x - 1, y) + u(x + 1, y) + u(x, y - 1) + u(x, y + 1)) *
                                        (c(x - 4, y) + c(x + 3, y + 2));
      return Case{{u},
                  next,
                  {{u, next}},
                  [](Func& next_step) { next_step.gpu_tile(x, 32).vectorize(x, 4).march(y, 16); },
                  {{c, speed}}};
    };
    expect_steps(step, Float(32), {{0, 260}, {0, 40}}, 1, 2, 5);
  }
}

}  // namespace
}  // namespace mica::test
