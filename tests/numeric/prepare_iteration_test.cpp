// Iteration::prepare: several steps as one run, into memory that the program chooses, with the bits of
// steps one after the other.
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "codegen/iterate/iteration.h"
#include "dsl/func/boundary.h"
#include "fuzz/random_data.h"
#include "runtime/buffer/copy_async.h"
#include "runtime/run/copy_pipeline.h"
#include "runtime/run/gpu_stream.h"
#include "tests/support/check_targets.h"
#include "tests/support/compare.h"
#include "tests/support/expect_error.h"

namespace mica::test {
namespace {

using Box = std::vector<std::pair<std::int64_t, std::int64_t>>;

const Var x("x"), y("y");

/// Five points with weights of their own.
struct Heat {
  ImageParam u{Float(64), 2, "u"};
  Func next{"next"};
  explicit Heat(const Target& target) {
    next(x, y) =
        0.3 * u(x, y) + 0.1 * u(x - 1, y) + 0.2 * u(x + 1, y) + 0.15 * u(x, y - 1) + 0.25 * u(x, y + 1);
    if (target.is_gpu()) next.gpu_tile(x, 32).vectorize(x, 2).march(y, 16).scatter(y);
  }
};

/// `steps` steps one by one by plain runs of the step on the host.
Buffer<double> by_steps(const Buffer<double>& start, int steps) {
  Heat heat(Target::host());
  Executable step = compile(heat.next, Target::host());
  Buffer<double> now = start.copy();
  for (int n = 0; n < steps; ++n) {
    Buffer<double> after = now.copy();
    Buffer<double> inside =
        after.cropped({{now.min(0) + 1, now.extent(0) - 2}, {now.min(1) + 1, now.extent(1) - 2}});
    step.run(inside, {.inputs = {{heat.u, now}}});
    now = after;
  }
  return now;
}

TEST(PreparedSteps, AreOneWithoutATimeTile) {
  for (const Target& target : all_targets()) {
    Heat h(target);
    Iteration heat({{h.u, h.next}});
    Buffer<double> start(70, 23), result(70, 23);
    fill_random(start, 3);
    const GpuStream stream(target);
    const Box box = {{1, 68}, {1, 21}};
    Buffer<double> inside = result.cropped(box);
    heat.prepare({{h.u, start}}, {{h.u, inside}}, {.target = target, .stream = stream}).run();
    stream.synchronize();
    EXPECT_TRUE(same_bits(by_steps(start, 1).cropped(box), inside)) << to_string(target);
  }
}

// Two fields, of which one takes the other's values, and a value that changes with time.
TEST(PreparedSteps, ComputeEveryFieldThatFuncsReplace) {
  for (const Target& target : all_targets()) {
    for (const int steps : {1, 2}) {
      const ImageParam before(Float(32), 1, "before"), now(Float(32), 1, "now");
      Func next("next");
      const Func within = BoundaryConditions::repeat_edge(now);
      next(x) = within(x - 1) + within(x + 1) - before(x) + cast<float>(step());
      Iteration wave({{before, now}, {now, next}});
      wave.time_tile(steps);
      Buffer<float> a(40), b(40), a2(40), b2(40), expected_a(40), expected_b(40);
      fill_random(a, 5);
      fill_random(b, 6);
      for (int i = 0; i < 40; ++i) {
        expected_a(i) = a(i);
        expected_b(i) = b(i);
      }
      wave.time_tile(1).run({{before, expected_a}, {now, expected_b}}, steps,
                            {.target = Target::host(), .first_step = 5});
      wave.time_tile(steps);
      std::vector<RunInput> results = {{now, b2}};
      if (steps > 1) results.emplace_back(before, a2);
      wave.prepare({{before, a}, {now, b}}, results, {.target = target, .first_step = 5}).run();
      EXPECT_TRUE(same_bits(expected_b, b2)) << to_string(target) << " " << steps;
      EXPECT_TRUE(steps == 1 || same_bits(expected_a, a2)) << to_string(target);
    }
  }
}

// Slabs make the whole. On a GPU the copies of a pipeline run beside kernels: a wait that is missing
// shows in the values.
TEST(PreparedSteps, BesideCopiesHaveTheBitsOfSteps) {
  constexpr int kSteps = 2, kRows = 96, kSlab = 8;
  for (const Target& target : all_targets()) {
    Heat h(target);
    Iteration heat({{h.u, h.next}});
    heat.time_tile(kSteps);
    const std::vector<BufferDim> dims = dense_dims({300, kRows});
    auto start = Buffer<double>::pinned(dims, target), result = Buffer<double>::pinned(dims, target);
    fill_random(start, 7);
    std::vector<Buffer<double>> in, out;
    for (int s = 0; s < 3; ++s) {
      in.emplace_back(300, kSlab + 2 * kSteps);
      out.emplace_back(300, kSlab);
    }
    CopyPipeline pipeline(target);
    for (int from = 1; from < kRows - 1; from += kSlab) {
      const int to = std::min(from + kSlab, kRows - 1);
      const int first = std::max(0, from - kSteps), after = std::min(kRows, to + kSteps);
      const auto slot = static_cast<std::size_t>(pipeline.next_slot());
      const Box rows = {{0, 300}, {first, after - first}}, own = {{1, 298}, {from, to - from}};
      const Buffer<double> slab = in[slot].translated({0, first}).cropped(rows);
      const Buffer<double> own_slab = out[slot].translated({0, from}).cropped(own);
      pipeline.add(
          [&](Stream s) { copy_to_device(start.cropped(rows), slab, target, s); },
          [&](Stream s) {
            heat.prepare({{h.u, slab}}, {{h.u, own_slab}}, {.target = target, .stream = s}).run();
          },
          [&](Stream s) { copy_to_host(own_slab, result.cropped(own), target, s); });
    }
    pipeline.synchronize();
    const Box inside = {{1, 298}, {1, kRows - 2}};
    EXPECT_TRUE(same_bits(by_steps(start, kSteps).cropped(inside), result.cropped(inside)))
        << to_string(target);
  }
}

TEST(PreparedSteps, SayWhatIsWrong) {
  const Target host = Target::host();
  Heat h(host);
  Iteration heat({{h.u, h.next}});
  Buffer<double> u(20, 10), result(20, 10), inside = result.cropped({{1, 18}, {1, 8}});
  EXPECT_FAILS((void)heat.prepare({{h.u, u}}, {}, {.target = host}),
               "no buffer for what field u holds after it", "{{u, buffer}");
  EXPECT_FAILS((void)heat.prepare({}, {{h.u, inside}}, {.target = host}), "no buffer for field u");
  EXPECT_FAILS((void)heat.prepare({{h.u, u}}, {{h.u, result}}, {.target = host}),
               "has points [0..19] x [0..9]", "compute [1..18] x [1..8]", "crop it");
  EXPECT_FAILS((void)heat.prepare({{h.u, u}}, {{h.u, inside}, {h.u, inside}}, {.target = host}),
               "two results for field u");
  const ImageParam stranger(Float(64), 2, "stranger");
  EXPECT_FAILS((void)heat.prepare({{h.u, u}}, {{h.u, inside}, {stranger, u}}, {.target = host}),
               "stranger");
  EXPECT_THROW((void)heat.prepare({{h.u, u}}, {{h.u, u.cropped({{1, 18}, {1, 8}})}}, {.target = host}),
               UserError)
      << "it would overwrite what it reads";
  const ImageParam before(Float(64), 2, "before");
  Func next("next");
  next(x, y) = before(x, y) + h.u(x, y);
  Iteration wave({{before, h.u}, {h.u, next}});
  Buffer<double> old(20, 10);
  EXPECT_FAILS(
      (void)wave.prepare({{before, old}, {h.u, u}}, {{before, result}, {h.u, result}}, {.target = host}),
      "a result for field before", "what u held", "leave it out");
  heat.record(h.u, {{{{1, 1}}}}, Buffer<double>(1, 4));
  EXPECT_FAILS((void)heat.prepare({{h.u, u}}, {{h.u, inside}}, {.target = host}),
               "sources or receivers");
}

}  // namespace
}  // namespace mica::test
