// Prepared runs: the bits of plain runs, with other values of Params, on every target.
#include "runtime/run/prepared_run.h"

#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "dsl/func/rdom.h"
#include "fuzz/random_data.h"
#include "tests/support/check_targets.h"
#include "tests/support/compare.h"

namespace mica::test {
namespace {

const Var x("x"), y("y");

TEST(PreparedRuns, HaveTheBitsOfPlainRuns) {
  for (const Target& target : all_targets()) {
    const ImageParam u(Float(32), 2, "u");
    const Param<float> c("c", 0.5F);
    Func mid("mid"), next("next");
    mid(x, y) = u(x, y) * c + u(x + 1, y);
    next(x, y) = mid(x, y) + mid(x, y + 1);
    mid.compute_root();
    Executable run = compile(next, target);
    Buffer<float> in(34, 18), a(33, 17), b(33, 17);
    fill_random(in, 3);
    PreparedRun prepared = run.prepare(a, {.inputs = {{u, in}}});
    for (const float value : {0.25F, 0.25F, 3.0F}) {
      prepared.set({c, value});
      prepared.run();
      run.run(b, {.inputs = {{u, in}}, .params = {{c, value}}});
      EXPECT_TRUE(same_bits(a, b)) << to_string(target) << " " << value;
    }
    fill_random(in, 4);
    prepared.run();
    run.run(b, {.inputs = {{u, in}}, .params = {{c, 3.0F}}});
    EXPECT_TRUE(same_bits(a, b)) << to_string(target) << ", another input";
  }
}

TEST(PreparedRuns, CheckIndicesThatFollowAParamEachTime) {
  for (const Target& target : all_targets()) {
    const ImageParam u(Int(32), 1, "u"), table(Int(32), 1, "table");
    const Param<std::int32_t> k("k", 3);
    Func f("f");
    f(x) = u(x) + table(k);
    Executable run = compile(f, target);
    Buffer<std::int32_t> in(8), values(5), out(8);
    for (int i = 0; i < 8; ++i) in(i) = 10 * i;
    for (int i = 0; i < 5; ++i) values(i) = i;
    PreparedRun prepared = run.prepare(out, {.inputs = {{u, in}, {table, values}}});
    for (const int at : {1, 5, 4, -1, 0}) {
      const bool holds = at >= 0 && at < 5;
      const auto plain = [&] {
        run.run(out, {.inputs = {{u, in}, {table, values}}, .params = {{k, at}}});
      };
      prepared.set({k, at});
      for (const bool is_prepared : {true, false}) {
        out(1) = -7;
        if (holds) {
          is_prepared ? prepared.run() : plain();
          EXPECT_EQ(out(1), 10 + at) << to_string(target);
        } else if (is_prepared) {
          EXPECT_THROW(prepared.run(), UserError) << to_string(target) << " " << at;
        } else {
          EXPECT_THROW(plain(), UserError) << to_string(target) << " " << at;
        }
      }
    }
  }
}

TEST(PreparedRuns, DecideAnewWhereSizesDependOnAParam) {
  for (const Target& target : all_targets()) {
    const ImageParam u(Int(32), 1, "u");
    const Param<std::int32_t> n("n", 3);
    const RDom r({{0, n}}, "r");
    Func all("all");
    all(x) = 0;
    all(x) += u(x + r);
    Executable run = compile(all, target);
    Buffer<std::int32_t> in(20), out(8);
    for (int i = 0; i < 20; ++i) in(i) = i;
    PreparedRun prepared = run.prepare(out, {.inputs = {{u, in}}});
    prepared.run();
    EXPECT_EQ(out(1), 1 + 2 + 3) << to_string(target);
    prepared.set({n, 5});
    prepared.run();
    EXPECT_EQ(out(1), 1 + 2 + 3 + 4 + 5) << to_string(target);
    prepared.set({n, 14});
    EXPECT_THROW(prepared.run(), UserError) << "u is too small for it";
    prepared.set({n, 3});
    prepared.run();
    EXPECT_EQ(out(1), 1 + 2 + 3) << to_string(target);
  }
}

}  // namespace
}  // namespace mica::test
