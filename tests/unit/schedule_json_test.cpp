#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include "dsl/func.h"
#include "dsl/schedule.h"
#include "tests/support/expect_error.h"

namespace mica {
namespace {

using test::fails_with;

Schedule every_directive() {
  namespace d = directive;
  return {{{"b",
            0,
            {{d::Split{"x", "xo", "xi", 8, TailStrategy::RoundUp}, {}},
             {d::Fuse{"xi", "y", "xy"}, {}},
             {d::Reorder{{"a", "b", "c"}}, {}},
             {d::MarkLoop{"x", LoopKind::GpuBlock}, {}},
             {d::GpuTile{{"x", "y"}, {32, 8}, TailStrategy::ShiftInwards}, {}},
             {d::Vectorize{"x", 4, TailStrategy::GuardWithIf}, {}},
             {d::Unroll{"y", 0, TailStrategy::Auto}, {}},
             {d::ComputeInline{}, {}},
             {d::ComputeRoot{}, {}},
             {d::ComputeAt{{"next", "x.block"}}, {}},
             {d::StoreAt{{"next", "y"}}, {}},
             {d::StoreRoot{}, {}},
             {d::StoreIn{MemoryType::Register}, {}},
             {d::In{"u", "u.in.b"}, {}},
             {d::AlignStorage{"x", 32}, {}},
             {d::Bound{"x", -9223372036854775807 - 1, 9223372036854775807}, {}},
             {d::Stage{"u", MemoryType::Shared, LoadPolicy::HaloThreads}, {}},
             {d::ReadOnly{"u \"quoted\" \n \xc3\xa4"}, {}},
             {d::LaunchBounds{4}, {}},
             {d::MaxRegisters{64}, {}}}},
           {"b", 1, {}}}};
}

TEST(ScheduleJson, EveryDirectiveReturnsUnchanged) {
  const Schedule schedule = every_directive();
  ASSERT_EQ(schedule.stages[0].directives.size(), std::variant_size_v<decltype(Directive::op)>);
  EXPECT_EQ(schedule_from_json(to_json(schedule)), schedule);
  EXPECT_EQ(to_json(schedule_from_json(to_json(schedule))), to_json(schedule));
  EXPECT_EQ(schedule_from_json(to_json(Schedule())), Schedule());
}

TEST(ScheduleJson, TheTextIsStable) {
  const Schedule schedule{{{"f", 0, {{directive::Vectorize{"x", 4, TailStrategy::Auto}, {}}}}}};
  EXPECT_EQ(to_json(schedule), R"({
  "mica_schedule": 1,
  "stages": [
    {
      "func": "f",
      "update": 0,
      "directives": [
        {
          "do": "vectorize",
          "var": "x",
          "width": 4,
          "tail": "Auto"
        }
      ]
    }
  ]
}
)");
}

TEST(ScheduleJson, AFileReturnsUnchanged) {
  const std::string path = ::testing::TempDir() + "mica_schedule_json_test.json";
  save_schedule(every_directive(), path);
  EXPECT_EQ(load_schedule(path), every_directive());
  std::remove(path.c_str());
  EXPECT_TRUE(fails_with([&] { load_schedule(path); }, {"cannot read", path}));
  EXPECT_TRUE(fails_with([&] { save_schedule(Schedule(), path + "/no/folder"); },
                         {"cannot write", "/no/folder"}));
}

std::string with_directive(const std::string& directive) {
  return R"({"mica_schedule": 1, "stages": [{"func": "f", "update": 0, "directives": [)" + directive +
         "]}]}";
}

TEST(ScheduleJson, TextThatIsNoJsonIsRefused) {
  EXPECT_TRUE(fails_with([] { schedule_from_json("{"); }, {"no JSON"}));
  EXPECT_TRUE(fails_with([] { schedule_from_json(""); }, {"no JSON"}));
  EXPECT_TRUE(fails_with([] { schedule_from_json("[]"); }, {"document", "must be an object"}));
}

TEST(ScheduleJson, AnotherVersionIsRefused) {
  EXPECT_TRUE(fails_with([] { schedule_from_json(R"({"mica_schedule": 2, "stages": []})"); },
                         {"document.mica_schedule", "version 2", "reads version 1"}));
  EXPECT_TRUE(
      fails_with([] { schedule_from_json(R"({"stages": []})"); }, {"\"mica_schedule\" is missing"}));
}

TEST(ScheduleJson, UnknownKeysAndWordsAreRefusedWithTheLegalOnes) {
  EXPECT_TRUE(
      fails_with([] { schedule_from_json(with_directive(R"({"do": "vectorise", "var": "x"})")); },
                 {"stages[0].directives[0].do", "\"vectorise\"", "legal are split,", "vectorize"}));
  EXPECT_TRUE(fails_with(
      [] {
        schedule_from_json(
            with_directive(R"({"do": "vectorize", "var": "x", "width": 4, "tail": "Round"})"));
      },
      {"directives[0].tail", "\"Round\"", "Auto, GuardWithIf, ShiftInwards, RoundUp"}));
  EXPECT_TRUE(
      fails_with([] { schedule_from_json(with_directive(R"({"do": "compute_root", "at": 1})")); },
                 {"directives[0]", "unknown key \"at\"", "legal keys are do"}));
  EXPECT_TRUE(fails_with([] { schedule_from_json(with_directive(R"({"do": "store_in"})")); },
                         {"directives[0]", "\"memory\" is missing"}));
  EXPECT_TRUE(
      fails_with([] { schedule_from_json(R"({"mica_schedule": 1, "stages": [], "author": 1})"); },
                 {"unknown key \"author\"", "mica_schedule, stages"}));
}

TEST(ScheduleJson, ValuesOfAnotherKindAreRefused) {
  EXPECT_TRUE(fails_with(
      [] {
        schedule_from_json(
            with_directive(R"({"do": "vectorize", "var": 3, "width": 4, "tail": "Auto"})"));
      },
      {"directives[0].var", "must be a string", "3"}));
  EXPECT_TRUE(fails_with(
      [] { schedule_from_json(with_directive(R"({"do": "launch_bounds", "min_blocks": 1.5})")); },
      {"directives[0].min_blocks", "integer of 32 bits", "1.5"}));
  EXPECT_TRUE(fails_with(
      [] { schedule_from_json(with_directive(R"({"do": "launch_bounds", "min_blocks": 4294967296})")); },
      {"integer of 32 bits", "4294967296"}));
  EXPECT_TRUE(fails_with(
      [] {
        schedule_from_json(
            with_directive(R"({"do": "bound", "var": "x", "min": 0, "extent": 18446744073709551615})"));
      },
      {"integer of 64 bits"}));
  EXPECT_TRUE(
      fails_with([] { schedule_from_json(with_directive(R"({"do": "reorder", "vars": ["x", 1]})")); },
                 {"directives[0].vars[1]", "must be a string"}));
  EXPECT_TRUE(fails_with([] { schedule_from_json(with_directive("3")); },
                         {"directives[0]", "must be an object"}));
}

}  // namespace
}  // namespace mica
