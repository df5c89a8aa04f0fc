// Iterations: after any number of steps the fields hold what the oracle computes step by step, on every
// target, whatever memory they were in between.
#include "codegen/iterate/iteration.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "dsl/func/boundary.h"
#include "dsl/func/rdom.h"
#include "fuzz/random_data.h"
#include "tests/support/check_targets.h"
#include "tests/support/compare.h"
#include "tests/support/temporary_folder.h"

namespace mica::test {
namespace {

const Var x("x"), y("y"), z("z");

void put(const AnyBuffer& values, const AnyBuffer& into) {
  const auto size = static_cast<std::size_t>(values.type().bytes());
  Box box;
  for (const BufferDim& dim : values.dims()) box.emplace_back(dim.min, dim.extent);
  AnyBuffer from = values, to = into;
  void* read = from.host_data_for_write();
  void* write = to.host_data_for_write();
  for_each_point(box, [&](const std::vector<std::int64_t>& at) {
    std::memcpy(element_address(to, write, at), element_address(from, read, at), size);
  });
}

/// One pair: a field, and the Func and element or the field that it takes its values from.
struct Rule {
  ImageParam field;
  int output = -1;  ///< which of the oracle's values
  int other = -1;   ///< which field
};

/// `steps` steps by the oracle: `boxes` has the box of each of `outputs`.
std::vector<AnyBuffer> by_oracle(const std::vector<Func>& outputs, const std::vector<Box>& boxes,
                                 const std::vector<Rule>& rules, const std::vector<AnyBuffer>& start,
                                 int steps, const std::function<void(int)>& before_step = {}) {
  std::vector<AnyBuffer> fields;
  for (const AnyBuffer& field : start) fields.push_back(field.copy());
  for (int n = 0; n < steps; ++n) {
    if (before_step) before_step(n);
    std::vector<ImageParam> params;
    for (std::size_t f = 0; f < rules.size(); ++f) {
      ImageParam field = rules[f].field;
      field.set(fields[f]);
    }
    std::vector<AnyBuffer> values;
    std::vector<AnyBuffer*> pointers;
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      for (const Type type : outputs[o].types()) values.push_back(buffer_over(type, boxes[o]));
    }
    for (AnyBuffer& value : values) pointers.push_back(&value);
    interpret(outputs, pointers);
    std::vector<AnyBuffer> next;
    for (const Rule& rule : rules) {
      if (rule.other >= 0) {
        next.push_back(fields[static_cast<std::size_t>(rule.other)].copy());
      } else {
        next.push_back(fields[next.size()].copy());
        put(values[static_cast<std::size_t>(rule.output)], next.back());
      }
    }
    fields = next;
  }
  return fields;
}

AnyBuffer random_over(Type type, const Box& box, std::uint64_t seed) {
  AnyBuffer buffer = buffer_over(type, box);
  fill_random(buffer, seed);
  return buffer;
}

Func heat_step(const ImageParam& u, const Target& target) {
  Func next("next");
  next(x, y) = 0.5F * u(x, y) + 0.125F * (u(x - 1, y) + u(x + 1, y) + u(x, y - 1) + u(x, y + 1));
  if (target.is_gpu()) {
    next.gpu_tile(x, y, 16, 4).vectorize(x, 2);
  } else {
    next.vectorize(x, 8);
  }
  return next;
}

TEST(Iteration, PointsWithoutAllTapsKeepTheirValues) {
  for (const Target& target : all_targets()) {
    const ImageParam u(Float(32), 2, "u");
    const Func next = heat_step(u, target);
    Iteration heat({{u, next}});
    for (const int steps : {0, 1, 2, 5}) {
      const AnyBuffer a = random_over(Float(32), {{-1, 37}, {2, 19}}, 3);
      const auto expected = by_oracle({next}, {{{0, 35}, {3, 17}}}, {{u, 0}}, {a}, steps);
      const IterationResult result = heat.run({{u, a}}, steps, {.target = target});
      EXPECT_EQ(result.steps, steps);
      EXPECT_TRUE(same_bits(expected[0], a)) << steps << " steps on " << to_string(target);
    }
  }
}

TEST(Iteration, ALeapfrogStepNeedsNoThirdLevelOfMemory) {
  for (const Target& target : all_targets()) {
    const ImageParam before(Float(64), 2, "before"), now(Float(64), 2, "now"), c(Float(64), 2, "c");
    const Param<double> dt("dt", 0.25);
    Func next("next");
    next(x, y) =
        2.0 * now(x, y) - before(x, y) +
        c(x, y) * dt * (now(x - 1, y) + now(x + 1, y) + now(x, y - 1) + now(x, y + 1) - 4.0 * now(x, y));
    if (target.is_gpu()) next.gpu_tile(x, y, 8, 4);
    Iteration wave({{before, now}, {now, next}});
    const Box box{{0, 23}, {0, 18}};
    const AnyBuffer speed = random_over(Float(64), box, 9);
    ImageParam(c).set(speed);
    for (const int steps : {1, 2, 3, 6}) {
      const AnyBuffer a = random_over(Float(64), box, 1), b = random_over(Float(64), box, 2);
      const auto expected =
          by_oracle({next}, {{{1, 21}, {1, 16}}}, {{before, -1, 1}, {now, 0}}, {a, b}, steps);
      wave.run({{before, a}, {now, b}, {c, speed}}, steps, {.target = target, .params = {{dt, 0.25}}});
      EXPECT_TRUE(same_bits(expected[0], a)) << steps << " steps on " << to_string(target);
      EXPECT_TRUE(same_bits(expected[1], b)) << steps << " steps on " << to_string(target);
    }
  }
}

TEST(Iteration, CoupledFieldsOfOneTupleWithPeriodicBoundaries) {
  for (const Target& target : all_targets()) {
    const ImageParam u(Float(32), 2, "u"), v(Float(32), 2, "v");
    const Func pu = BoundaryConditions::repeat_image(u), pv = BoundaryConditions::repeat_image(v);
    const auto laplacian = [](const Func& f) {
      return f(x - 1, y) + f(x + 1, y) + f(x, y - 1) + f(x, y + 1) - 4.0F * f(x, y);
    };
    const Expr reaction = u(x, y) * v(x, y) * v(x, y);
    Func both("both");
    both(x, y) = Tuple(u(x, y) + 0.16F * laplacian(pu) - reaction + 0.035F * (1.0F - u(x, y)),
                       v(x, y) + 0.08F * laplacian(pv) + reaction - 0.1F * v(x, y));
    if (target.is_gpu()) both.gpu_tile(x, y, 16, 4);
    Iteration gray_scott({{v, both, 1}, {u, both, 0}});
    const Box box{{0, 29}, {0, 14}};
    for (const int steps : {1, 4}) {
      const AnyBuffer a = random_over(Float(32), box, 5), b = random_over(Float(32), box, 6);
      const auto expected = by_oracle({both}, {box}, {{u, 0}, {v, 1}}, {a, b}, steps);
      gray_scott.run({{u, a}, {v, b}}, steps, {.target = target});
      EXPECT_TRUE(same_bits(expected[0], a)) << steps << " steps on " << to_string(target);
      EXPECT_TRUE(same_bits(expected[1], b)) << steps << " steps on " << to_string(target);
    }
  }
}

TEST(Iteration, AStageOfAStepReadsWhatTheStageBeforeItComputed) {
  for (const Target& target : all_targets()) {
    const ImageParam v(Float(32), 1, "v"), s(Float(32), 1, "s");
    Func v_next("v_next"), s_next("s_next");
    v_next(x) = v(x) + 0.3F * (s(x) - s(x - 1));
    s_next(x) = s(x) + 0.3F * (v_next(x + 1) - v_next(x));
    v_next.compute_root();
    if (target.is_gpu()) {
      v_next.gpu_tile(x, 32);
      s_next.gpu_tile(x, 32);
    }
    Iteration elastic({{v, v_next}, {s, s_next}});
    const Box box{{0, 101}};
    for (const int steps : {1, 2, 7}) {
      const AnyBuffer a = random_over(Float(32), box, 5), b = random_over(Float(32), box, 6);
      const auto expected =
          by_oracle({v_next, s_next}, {{{1, 100}}, {{1, 99}}}, {{v, 0}, {s, 1}}, {a, b}, steps);
      elastic.run({{v, a}, {s, b}}, steps, {.target = target});
      EXPECT_TRUE(same_bits(expected[0], a)) << steps << " steps on " << to_string(target);
      EXPECT_TRUE(same_bits(expected[1], b)) << steps << " steps on " << to_string(target);
    }
  }
}

TEST(Iteration, StepIsTheNumberOfTheStepUnderWay) {
  for (const Target& target : all_targets()) {
    const ImageParam u(Float(32), 1, "u"), wavelet(Float(32), 1, "wavelet");
    Func next("next");
    next(x) = u(x) + select(x == 3, wavelet(step()), cast<float>(step()));
    if (target.is_gpu()) next.gpu_tile(x, 32);
    Iteration source({{u, next}});
    Buffer<float> a(10), w(40);
    a.fill(0);
    for (int i = 0; i < 40; ++i) w(i) = static_cast<float>(i * i);
    source.run({{u, a}, {wavelet, w}}, 4, {.target = target, .first_step = 10});
    EXPECT_EQ(a(3), 100 + 121 + 144 + 169) << to_string(target);
    EXPECT_EQ(a(4), 10 + 11 + 12 + 13) << to_string(target);
  }
}

TEST(Iteration, OverSaysWhichPointsAStepComputes) {
  for (const Target& target : all_targets()) {
    const ImageParam u(Float(32), 2, "u");
    const Func next = heat_step(u, target);
    Iteration heat({{u, next}});
    heat.over({{4, 9}, {5, 3}});
    const AnyBuffer a = random_over(Float(32), {{0, 30}, {0, 20}}, 3);
    const auto expected = by_oracle({next}, {{{4, 9}, {5, 3}}}, {{u, 0}}, {a}, 3);
    heat.run({{u, a}}, 3, {.target = target});
    EXPECT_TRUE(same_bits(expected[0], a)) << to_string(target);
  }
}

TEST(Iteration, ACoefficientThatIsSmallerThanTheFieldsLimitsTheStep) {
  const ImageParam u(Float(32), 1, "u"), c(Float(32), 1, "c");
  Func next("next");
  next(x) = u(x) + c(x) * (u(x - 2) + u(x + 1));
  Iteration iteration({{u, next}});
  const AnyBuffer a = random_over(Float(32), {{0, 50}}, 3), k = random_over(Float(32), {{7, 20}}, 4);
  ImageParam(c).set(k);
  const auto expected = by_oracle({next}, {{{7, 20}}}, {{u, 0}}, {a}, 3);
  iteration.run({{u, a}}, 3, {.target = Target::host()});
  EXPECT_TRUE(same_bits(expected[0], a));
}

TEST(Iteration, APointwiseStepWorksInPlace) {
  for (const Target& target : all_targets()) {
    const ImageParam u(Int(32), 1, "u");
    Func next("next");
    next(x) = u(x) * 3 + x;
    if (target.is_gpu()) next.gpu_tile(x, 32);
    Iteration iteration({{u, next}});
    const AnyBuffer a = random_over(Int(32), {{0, 70}}, 3);
    const auto expected = by_oracle({next}, {{{0, 70}}}, {{u, 0}}, {a}, 5);
    iteration.every(5, [&, u](const RunningIteration& now) {
      EXPECT_EQ(now.field(u).storage(), a.storage()) << "no memory but the user's is needed";
    });
    iteration.run({{u, a}}, 5, {.target = target});
    EXPECT_TRUE(same_bits(expected[0], a)) << to_string(target);
  }
}

TEST(Iteration, SourcesAndReceiversBetweenGridPoints) {
  for (const Target& target : all_targets()) {
    const ImageParam u(Float(32), 2, "u");
    const Func next = heat_step(u, target);
    const Box box{{0, 30}, {0, 20}}, inner{{1, 28}, {1, 18}};
    constexpr int kSteps = 5;
    Buffer<float> series(2, 4), values(3, kSteps);  // the series ends before the run does
    fill_random(series, 8);
    const std::vector<Place> sources{{{{5, 7}, 0.25}, {{6, 7}, 0.75}}, {{{6, 7}, 0.5}, {{20, 11}, 0.5}}};
    const std::vector<Place> receivers{
        {{{6, 7}}}, {{{5, 8}, 0.5}, {{6, 8}, 0.5}}, {{{0, 0}, 0.25}, {{20, 10}, 0.25}, {{20, 11}, 0.5}}};
    Iteration heat({{u, next}});
    heat.add_at(u, sources, series).record(u, receivers, values);
    const Buffer<float> a(random_over(Float(32), box, 3));
    Buffer<float> now(a.copy());
    Buffer<float> expected(3, kSteps);
    for (int n = 0; n < kSteps; ++n) {
      now = Buffer<float>(by_oracle({next}, {inner}, {{u, 0}}, {now}, 1)[0]);
      if (n < 4) {
        now(5, 7) += 0.25F * series(0, n);
        now(6, 7) += std::fma(0.5F, series(1, n), 0.75F * series(0, n));
        now(20, 11) += 0.5F * series(1, n);
      }
      expected(0, n) = now(6, 7);
      expected(1, n) = std::fma(0.5F, now(6, 8), 0.5F * now(5, 8));
      expected(2, n) = std::fma(0.5F, now(20, 11), std::fma(0.25F, now(20, 10), 0.25F * now(0, 0)));
    }
    heat.run({{u, a}}, kSteps, {.target = target});
    EXPECT_TRUE(same_bits(expected, values)) << to_string(target);
    EXPECT_TRUE(same_bits(now, a)) << to_string(target);
  }
}

TEST(Iteration, SourcesGiveTheSameBitsOnEveryTarget) {
  std::vector<AnyBuffer> fields, records;
  for (const Target& target : all_targets()) {
    const ImageParam u(Float(64), 2, "u");
    Func next("next");
    next(x, y) = 0.25 * (u(x - 1, y) + u(x + 1, y) + u(x, y - 1) + u(x, y + 1));
    if (target.is_gpu()) next.gpu_tile(x, y, 8, 8);
    Buffer<double> series(3, 6), values(2, 6);
    fill_random(series, 8);
    Iteration iteration({{u, next}});
    iteration.add_at(u, {{{{3, 3}, 0.3}, {{4, 3}, 0.7}}, {{{4, 3}, 0.1}}, {{{4, 3}, 0.9}}}, series);
    iteration.record(u, {{{{4, 3}, 0.3}, {{5, 3}, 0.3}, {{6, 6}, 0.4}}, {{{2, 2}}}}, values);
    const AnyBuffer a = random_over(Float(64), {{0, 12}, {0, 12}}, 3);
    iteration.run({{u, a}}, 6, {.target = target});
    fields.push_back(a);
    records.push_back(values);
  }
  for (std::size_t i = 1; i < fields.size(); ++i) {
    EXPECT_TRUE(same_bits(fields[0], fields[i]));
    EXPECT_TRUE(same_bits(records[0], records[i]));
  }
}

TEST(Iteration, RunUntilStopsWhereTheResidualIsSmall) {
  for (const Target& target : all_targets()) {
    const ImageParam u(Float(64), 1, "u");
    Func next("next");
    next(x) = 0.5 * (u(x - 1) + u(x + 1));
    const RDom r({{1, 9}});
    Func change("change");
    change() = sum(r, abs(next(r) - u(r)));
    if (target.is_gpu()) next.gpu_tile(x, 32);
    const auto start = [] {
      Buffer<double> a(11);
      a.fill(0);
      a(10) = 1;
      return a;
    };
    Iteration relax({{u, next}});
    const Param<double> eps("eps", 1e-3);
    const Buffer<double> a = start();
    const IterationResult result = relax.run_until(
        {{u, a}}, change() < eps, {.check_every = 7, .max_steps = 1000, .target = target});
    EXPECT_TRUE(result.converged);
    EXPECT_EQ(result.steps % 7, 0);
    EXPECT_LT(result.value, 1e-3);
    const Buffer<double> b = start();
    relax.run({{u, b}}, result.steps, {.target = target});
    EXPECT_TRUE(same_bits(b, a)) << to_string(target);
    const Buffer<double> c = start();
    EXPECT_FALSE(
        relax.run_until({{u, c}}, change() < eps, {.max_steps = 20, .target = target}).converged);
  }
}

TEST(Iteration, CallbacksSeeTheFieldsAndTheirErrorsLoseNothing) {
  for (const Target& target : all_targets()) {
    const ImageParam u(Float(32), 2, "u");
    const Func next = heat_step(u, target);
    const Box box{{0, 21}, {0, 15}}, inner{{1, 19}, {1, 13}};
    const AnyBuffer a = random_over(Float(32), box, 3), start = a.copy();
    Iteration heat({{u, next}});
    std::vector<std::int64_t> seen;
    heat.every(2, [&](const RunningIteration& now) {
      seen.push_back(now.steps_done());
      const auto expected =
          by_oracle({next}, {inner}, {{u, 0}}, {start}, static_cast<int>(now.steps_done()));
      EXPECT_TRUE(same_bits(expected[0], now.field(u))) << to_string(target);
    });
    heat.every(3, [&](const RunningIteration& now) {
      if (now.steps_done() == 9) throw std::runtime_error("enough");
    });
    EXPECT_THROW(heat.run({{u, a}}, 20, {.target = target}), std::runtime_error);
    EXPECT_EQ(seen, (std::vector<std::int64_t>{2, 4, 6, 8}));
    EXPECT_TRUE(same_bits(by_oracle({next}, {inner}, {{u, 0}}, {start}, 9)[0], a)) << to_string(target);
  }
}

TEST(Iteration, ThreadsRunOneIterationOnFieldsOfTheirOwn) {
  const ImageParam u(Float(32), 2, "u");
  const Func next = heat_step(u, Target::host());
  Iteration heat({{u, next}});
  heat.time_tile(2);
  const Box box{{0, 40}, {0, 30}};
  constexpr int kThreads = 4, kSteps = 7;
  std::vector<AnyBuffer> fields;
  for (int t = 0; t < kThreads; ++t) {
    fields.push_back(random_over(Float(32), box, 20 + static_cast<std::uint64_t>(t)));
  }
  std::vector<AnyBuffer> start;
  for (const AnyBuffer& field : fields) start.push_back(field.copy());
  std::vector<std::thread> threads;
  for (const AnyBuffer& field : fields) {
    threads.emplace_back([&heat, &u, field] {
      heat.run({{u, field}}, kSteps, {.target = Target::host()});
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < kThreads; ++t) {
    const auto f = static_cast<std::size_t>(t);
    const auto expected = by_oracle({next}, {{{1, 38}, {1, 28}}}, {{u, 0}}, {start[f]}, kSteps);
    EXPECT_TRUE(same_bits(expected[0], fields[f])) << "thread " << t;
  }
}

TEST(Iteration, ProgressIsReportedToTheEnd) {
  const ImageParam u(Float(32), 2, "u");
  Iteration heat({{u, heat_step(u, Target::host())}});
  std::vector<std::pair<std::int64_t, std::int64_t>> reports;
  heat.on_progress([&](std::int64_t done, std::int64_t total) { reports.emplace_back(done, total); });
  heat.run({{u, random_over(Float(32), {{0, 20}, {0, 20}}, 1)}}, 50, {.target = Target::host()});
  ASSERT_FALSE(reports.empty());
  EXPECT_EQ(reports.back(), (std::pair<std::int64_t, std::int64_t>{50, 50}));
}

TEST(Iteration, ACheckpointGoesOnWithTheSameBits) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "run.mica").string();
  const Target target = Target::host();
  const ImageParam before(Float(32), 2, "before"), now(Float(32), 2, "now");
  Func next("next");
  next(x, y) = 1.5F * now(x, y) - 0.75F * before(x, y) + 0.1F * (now(x - 1, y) + now(x, y + 1)) +
               0.01F * cast<float>(step());
  Iteration wave({{before, now}, {now, next}});
  const Box box{{0, 17}, {-2, 15}};
  const auto fields = [&](const AnyBuffer& a, const AnyBuffer& b) {
    return std::vector<RunInput>{{before, a}, {now, b}};
  };
  const AnyBuffer a = random_over(Float(32), box, 1), b = random_over(Float(32), box, 2);
  wave.run(fields(a, b), 11, {.target = target});

  const AnyBuffer c = random_over(Float(32), box, 1), d = random_over(Float(32), box, 2);
  Iteration saving = wave;
  saving.checkpoint(file, 3);
  saving.run(fields(c, d), 7, {.target = target});  // after 3, 6 and, at the end, 7 steps
  const AnyBuffer e = buffer_over(Float(32), box), f = buffer_over(Float(32), box);
  const std::int64_t done = saving.resume(file, fields(e, f));
  EXPECT_EQ(done, 7);
  saving.run(fields(e, f), 4, {.target = target, .first_step = done});
  EXPECT_TRUE(same_bits(a, e));
  EXPECT_TRUE(same_bits(b, f));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1)
      << "nothing but the checkpoint is left";
  EXPECT_EQ(saving.resume(file, fields(c, d)), 11) << "steps before the resumed run count";
}

TEST(Iteration, ACheckpointCutOrChangedAtAnyByteIsRefused) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "run.mica").string();
  const ImageParam u(Float(32), 1, "u");
  Func next("next");
  next(x) = 0.5F * (u(x - 1) + u(x + 1));
  Iteration relax({{u, next}});
  relax.checkpoint(file, 1);
  const AnyBuffer a = random_over(Float(32), {{0, 9}}, 1);
  relax.run({{u, a}}, 2, {.target = Target::host()});
  std::ifstream in(file, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  const AnyBuffer b = random_over(Float(32), {{0, 9}}, 7), untouched = b.copy();
  const auto refuses = [&](const std::string& content) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << content;
    EXPECT_THROW((void)relax.resume(file, {{u, b}}), UserError);
  };
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    refuses(bytes.substr(0, i));
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 0x10);
    refuses(changed);
  }
  EXPECT_TRUE(same_bits(untouched, b));
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
  EXPECT_EQ(relax.resume(file, {{u, b}}), 2);
  EXPECT_TRUE(same_bits(a, b));
}

TEST(Iteration, RowsThatAreNotAlignedAreStepped) {
  for (const Target& target : gpu_targets()) {
    const ImageParam u(Float(32), 3, "u");
    Func next("next");
    next(x, y, z) = 0.5F * u(x, y, z) + 0.1F * (u(x - 1, y, z) + u(x + 1, y, z) + u(x, y, z + 1));
    next.gpu_tile(x, y, z, 8, 4, 1).vectorize(x, 4);
    Iteration heat({{u, next}});
    for (const int steps : {1, 2}) {
      const AnyBuffer a = random_over(Float(32), {{0, 31}, {0, 7}, {0, 5}}, 3);
      const auto expected = by_oracle({next}, {{{1, 29}, {0, 7}, {0, 4}}}, {{u, 0}}, {a}, steps);
      heat.run({{u, a}}, steps, {.target = target});
      EXPECT_TRUE(same_bits(expected[0], a)) << steps << " steps on " << to_string(target);
    }
  }
}

TEST(Iteration, ExtentsOfOneAndBoxesThatFitExactly) {
  for (const Target& target : all_targets()) {
    const ImageParam u(Float(32), 2, "u");
    const Func next = heat_step(u, target);
    Iteration heat({{u, next}});
    const AnyBuffer a = random_over(Float(32), {{0, 3}, {0, 3}}, 3);
    const auto expected = by_oracle({next}, {{{1, 1}, {1, 1}}}, {{u, 0}}, {a}, 3);
    heat.run({{u, a}}, 3, {.target = target});
    EXPECT_TRUE(same_bits(expected[0], a)) << to_string(target);
  }
}

TEST(Iteration, AnIdentityOnItsOwnMemoryIsNotComputed) {
  for (const Target& target : all_targets()) {
    const ImageParam u(Float(32), 2, "u");
    Func f("f");
    f(x, y) = u(x, y);
    f(2, 3) += 1.0F;
    if (target.is_gpu()) f.gpu_tile(x, y, 8, 4);
    Executable run = compile(f, target);
    Buffer<float> a(random_over(Float(32), {{0, 9}, {0, 7}}, 3)), before(a.copy());
    run.run(a, {.inputs = {{u, a}}});
    EXPECT_EQ(run.kernels().size(), 1U) << to_string(target);
    before(2, 3) += 1.0F;
    EXPECT_TRUE(same_bits(before, a)) << to_string(target);
  }
}

}  // namespace
}  // namespace mica::test
