// Shared pipelines whose result is added to an input and takes its place, under random schedules: a run
// is refused with what stands in the way, or gives the oracle's bits.
// random_pairs.h says how many are drawn.
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fuzz/compare_memory.h"
#include "tests/fuzz/random_pairs.h"

namespace mica::test {
namespace {

/// Copies the elements of `from`, whose box `to` has.
void put(const AnyBuffer& from, AnyBuffer to, std::size_t d, std::int64_t from_at, std::int64_t to_at) {
  const auto bytes = static_cast<std::size_t>(from.type().bytes());
  const BufferDim &source = from.dims()[d], &target = to.dims()[d];
  for (std::int64_t i = 0; i < source.extent; ++i) {
    const std::int64_t a = from_at + i * source.stride, b = to_at + i * target.stride;
    if (d > 0) {
      put(from, to, d - 1, a, b);
      continue;
    }
    std::memcpy(static_cast<std::byte*>(to.host_data_for_write()) + b * static_cast<std::int64_t>(bytes),
                static_cast<const std::byte*>(from.host_data()) + a * static_cast<std::int64_t>(bytes),
                bytes);
  }
}

/// Adds out(x, ...) = e(x, ...) + f(x, ...) of the pipeline's output f, and returns e.
ImageParam add_result(TestPipeline& p) {
  Func f = p.output();
  const ImageParam e(f.types().front(), f.dimensions(), "e");
  std::vector<Expr> at;
  for (const Var& v : f.args()) at.emplace_back(v);
  Func out("out");
  out(at) = e(at) + f(at);
  p.funcs.push_back(out);
  p.inputs.push_back(e);
  p.outputs = {out};
  return e;
}

/// Runs one pair; true if it was not refused.
bool run_pair(std::uint64_t seed, Side side) {
  Random random(seed);
  const PipelineMaker& maker = random.pick(pipeline_makers());
  SCOPED_TRACE(trace_of(maker, seed));
  TestPipeline p = maker.make();
  if (p.outputs.size() > 1 || p.output().types().size() > 1 || p.output().types().front().is_bool()) {
    return false;
  }
  ImageParam e = add_result(p);
  const Box box = random_box(maker.dimensions, random);
  const auto keep = p.bind(box, random.next());
  Box around = box;
  const std::int64_t margin = random.below(3);
  for (auto& [min, extent] : around) min -= margin, extent += 2 * margin;
  AnyBuffer memory(e.type(), poisoned_dims(around, 0, random.below(4), false));
  fill_random(memory, random.next());
  const AnyBuffer before = memory.copy();
  AnyBuffer wanted = memory.copy();
  e.set(before);
  put(expected_values(p.outputs, box).front(), wanted.cropped(box), box.size() - 1, 0, 0);
  const std::vector<Target> targets = schedule_for(side, p, random);
  const std::string schedule = to_string(p.output().schedule());
  for (const Target& target : targets) {
    AnyBuffer own = before.copy();
    AnyBuffer out = own.cropped(box);
    Executable run;
    try {
      run = compile(p.outputs, target);
    } catch (const UserError&) {
      return false;  // the addition made blocks too large
    }
    try {
      run.run(out, {.inputs = {{e, own}}});
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find("shares memory with input e"), std::string::npos)
          << error.what() << schedule;
      EXPECT_EQ(differing_bits(before, own), "") << "refused, and yet run";
      return false;
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what() << "\n" << schedule;
      return false;
    }
    EXPECT_EQ(differing_bits(wanted, own), "") << to_string(target) << "\n" << schedule;
  }
  return true;
}

void run_pairs(Side side) {
  std::uint64_t run = 0;
  for (std::uint64_t i = 0; i < pairs(); ++i) run += run_pair(first_seed() + i, side) ? 1U : 0U;
  if (pairs() < 25) return;
  EXPECT_GT(run, pairs() / 10) << "of the rest the schedule stood in the way";
}

TEST(RandomInPlace, OnTheHostGivesTheOraclesBits) { run_pairs(Side::Host); }

TEST(RandomInPlace, OnGpusGivesTheOraclesBits) { run_pairs(Side::Gpu); }

}  // namespace
}  // namespace mica::test
