// What the search draws: everything that it is there for, printed by name, and judged where it must be.
#include <cstdint>
#include <cstdio>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "dsl/schedule/directive_fields.h"
#include "fuzz/campaign.h"
#include "fuzz/more_runs.h"
#include "fuzz/step_runs.h"

namespace mica::test {
namespace {

/// Words for what is unusual about a case, and how its print says it.
std::map<std::string, std::string> kinds_of(const FuzzCase& drawn) {
  std::map<std::string, std::string> kinds;
  for (const ProgramStage& stage : drawn.program.stages) {
    if (stage.boundary && drawn.program.is_stage(stage.source)) {
      kinds["a condition of a Func"] = "BoundaryRanges{";
    }
    for (const BoundaryExtent& extent : stage.extents) {
      if (extent.kind == BoundaryExtent::Kind::None) kinds["no condition"] = "BoundaryRange()";
      if (extent.kind == BoundaryExtent::Kind::Own) kinds["an own range"] = "BoundaryRange(Var(";
      if (extent.of_params) kinds["a range of Params"] = "BoundaryRange(Param<std::int32_t>(";
    }
    if (!stage.shared.empty()) kinds["a shared expression"] = "const Expr " + stage.name + "_s0(";
    if (stage.shared.size() > 20) kinds["a long chain"] = "_s20(";
    for_each_term(stage, [&](const Term& term) {
      for (const Index& index : term.at) {
        if (index.looked_up.empty()) continue;
        if (index.shift != 0) kinds["a shifted index of data"] = " >> ";
        if (index.mask) kinds["a masked index of data"] = " & ";
        if (index.limits) kinds["a clamped index of data"] = "clamp(";
      }
    });
    for (const auto& update : stage.updates) {
      for (const Index& index : update.at) {
        if (!index.looked_up.empty()) kinds["an update where data say"] = "RDom ";
      }
    }
  }
  if (drawn.in_place && !replacements(drawn).empty()) kinds["in place"] = "in the memory of";
  if (drawn.in_threads) kinds["in threads"] = "std::thread";
  if (drawn.steps > 0 && step_fields(drawn)) {
    kinds["steps"] = "Iteration steps(";
    if (drawn.time_tile > 1) kinds["tiles of time"] = "time_tile(";
    if (drawn.program.outputs.size() > 1) kinds["steps of several Funcs"] = ".over(";
  }
  return kinds;
}

TEST(DrawnKinds, AreAllDrawnAndPrinted) {
  std::map<std::string, int> counts;
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    const FuzzCase drawn = random_case(seed, Target::host(), false);
    for (const auto& [kind, text] : kinds_of(drawn)) {
      if (++counts[kind] > 2) continue;
      EXPECT_NE(to_string(drawn, Outcome{}).find(text), std::string::npos) << kind << ", seed " << seed;
    }
  }
  EXPECT_EQ(counts.size(), 15U);
  for (const auto& [kind, count] : counts) {
    std::printf("%s: %d\n", kind.c_str(), count);
    EXPECT_GE(count, 3) << kind;
  }
}

/// A case of one input and no Params that gives other values for other inputs.
FuzzCase plain_case() {
  FuzzCase plain;
  plain.program.inputs = {{"u0", Float(32), 1}};
  Term tap;
  tap.kind = Term::Kind::Tap;
  tap.at = {Index{0}};
  ProgramStage stage;
  stage.name = "f0";
  stage.values = {applied(Operation::Mul, Float(32), {constant_term(Float(32), 3), tap})};
  plain.program.stages = {stage};
  plain.program.outputs = {0};
  plain.boxes = {{{0, 20}}};
  return plain;
}

TEST(DrawnKinds, OfThreadsAreJudgedByTheirOwnInputs) {
  const FuzzCase drawn = plain_case();
  const BoundCase bound = bind(drawn), first = bind(case_of_thread(drawn, 0)),
                  second = bind(case_of_thread(drawn, 1));
  Executable executable = compile(bound.pipeline.outputs, Target::host());
  const RunOptions options{.inputs = {{bound.pipeline.inputs[0], first.memory[0]->crop()}}};
  EXPECT_EQ(first.expected->run(executable, options).verdict, Verdict::Same);
  EXPECT_EQ(second.expected->run(executable, options).verdict, Verdict::Differs);
  EXPECT_EQ(run_in_threads(drawn, bound, executable).verdict, Verdict::Same);
}

// In place is the memory of the input: what such a run leaves there is looked at, and around it.
TEST(DrawnKinds, OfOutputsInPlaceAreJudgedInTheInput) {
  const FuzzCase drawn = plain_case();
  EXPECT_EQ(replacements(drawn), (std::vector<Replacement>{{0, 0}}));
  const BoundCase bound = bind(drawn);
  Executable executable = compile(bound.pipeline.outputs, Target::host());
  EXPECT_EQ(run_in_place(drawn, bound, executable).verdict, Verdict::Same);
  // The run before replaced the values of memory of its own.
  EXPECT_EQ(bound.expected->run(executable).verdict, Verdict::Same);
  AnyBuffer place = bound.memory[0]->crop();
  EXPECT_EQ(bound.expected->run_into(executable, 0, place).verdict, Verdict::Same);
  EXPECT_EQ(bound.expected->run_into(executable, 0, place).verdict, Verdict::Differs);
}

// A field that is three times as large after each step, from Params and data of its own.
TEST(DrawnKinds, OfStepsAreJudgedAfterEach) {
  FuzzCase drawn = plain_case();
  drawn.steps = 4;
  EXPECT_EQ(step_fields(drawn), (std::vector<std::size_t>{0}));
  const BoundCase bound = bind(drawn);
  EXPECT_EQ(run_in_steps(drawn, bound).verdict, Verdict::Same);
  drawn.time_tile = 2;
  const Outcome tiled = run_in_steps(drawn, bound);
  EXPECT_EQ(tiled.verdict, Verdict::Same) << tiled.message;
  // Another step than the one that is bound.
  FuzzCase other = drawn;
  other.program.stages[0].values[0].operands[0].value = 2;
  const Outcome differs = run_in_steps(other, bound);
  EXPECT_EQ(differs.verdict, Verdict::Differs);
  EXPECT_NE(differs.message.find("4 steps, field 0"), std::string::npos) << differs.message;
  // No input has the output's type.
  other.program.inputs[0].type = Float(64);
  EXPECT_EQ(step_fields(other), std::nullopt);
}

TEST(DrawnKinds, OfStepsAreSeldomRefused) {
  int right = 0, refused = 0;
  for (std::uint64_t seed = 1; seed <= 250; ++seed) {
    const FuzzCase drawn = random_case(seed, Target::host(), false);
    if (drawn.steps == 0 || !step_fields(drawn)) continue;
    try {
      const BoundCase bound = bind(drawn);
      const Outcome outcome = run_in_steps(drawn, bound);
      EXPECT_FALSE(is_failure(outcome.verdict)) << "seed " << seed << ": " << outcome.message;
      outcome.verdict == Verdict::Refused ? ++refused : ++right;
      if (outcome.verdict == Verdict::Refused)
        std::printf("%s\n", outcome.message.substr(0, 150).c_str());
    } catch (const UserError&) {  // a schedule that is refused by itself
    }
  }
  std::printf("%d right, %d refused\n", right, refused);
  EXPECT_GT(right, 10);
  EXPECT_GT(right, refused);
}

// What the compiler chooses is as good when it is written out as directives.
TEST(DrawnKinds, OfSchedulesByTheCompilerAreRight) {
  constexpr std::uint64_t kSeeds = 40;
  for (const Target& target : {Target::host(), Target::gpu_emulator()}) {
    int right = 0;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      FuzzCase drawn = random_case(seed, target, false);
      if (drawn.program.outputs.size() != 1) continue;
      drawn.schedule = {};
      drawn.names = {};
      drawn.in_place = drawn.in_threads = false;
      drawn.steps = 0;
      const Outcome plain = run_isolated({drawn}, 60).front();
      drawn.schedule = build(drawn.program).output().schedule_for(target);
      const Outcome written = run_isolated({drawn}, 60).front();
      EXPECT_EQ(to_string(plain.verdict), to_string(written.verdict))
          << "seed " << seed << " on " << to_string(target) << ": " << plain.message << "; "
          << written.message;
      right += written.verdict == Verdict::Same ? 1 : 0;
    }
    EXPECT_GT(right, 10) << to_string(target);
  }
}

TEST(DrawnKinds, OfDirectivesAreAll) {
  std::set<std::string> missing;
  directive::for_each_kind([&]<typename D>() { missing.insert(D::traits.word); });
  for (std::uint64_t seed = 1; seed <= 1000 && !missing.empty(); ++seed) {
    const FuzzCase drawn = random_case(seed, Target::gpu_emulator(), true);
    for (const DefinitionSchedule& scheduled : drawn.schedule.stages) {
      for (const Directive& directive : scheduled.directives) {
        missing.erase(directive::traits_of(directive).word);
      }
    }
  }
  for (const std::string& word : missing) ADD_FAILURE() << word << " is never drawn";
}

}  // namespace
}  // namespace mica::test
