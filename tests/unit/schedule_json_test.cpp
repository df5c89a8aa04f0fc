#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dsl/func/func.h"
#include "dsl/schedule/schedule.h"
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
             {d::StagedSource{"u", MemoryType::Shared, LoadPolicy::HaloThreads}, {}},
             {d::ReadOnly{"u \"quoted\" \n \xc3\xa4"}, {}},
             {d::LaunchBounds{4}, {}},
             {d::MaxRegisters{64}, {}},
             {d::March{"z", 64}, {}},
             {d::RegisterWindow{"u", "z"}, {}},
             {d::PipelineDepth{"u", 2}, {}},
             {d::Scatter{"z", Partials::Centre}, {}},
             {d::Shuffle{"u", "x"}, {}},
             {d::OrderBlocks{{"z.block", "x.block"}}, {}},
             {d::StreamLoads{"u"}, {}},
             {d::StreamStores{}, {}},
             {d::Texture{"u"}, {}},
             {d::WarpSplit{2}, {}},
             {d::FoldStorage{"y", 4}, {}},
             {d::ReorderStorage{{"y", "x"}}, {}},
             {d::Atomic{}, {}},
             {d::GpuSingleThread{}, {}}}},
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

/// One of each directive of kernels that walk a dimension, with every word of their enums.
std::vector<Directive> march_directives() {
  namespace d = directive;
  return {{d::March{"z", 0}, {}},
          {d::March{"z", 64}, {}},
          {d::RegisterWindow{"u", "z"}, {}},
          {d::StagedSource{"u", MemoryType::Shared, LoadPolicy::AsyncCopy}, {}},
          {d::StagedSource{"u", MemoryType::Shared, LoadPolicy::Bulk}, {}},
          {d::PipelineDepth{"u", 2}, {}},
          {d::Scatter{"z", Partials::EveryPlane}, {}},
          {d::Scatter{"z", Partials::Centre}, {}},
          {d::Shuffle{"u", "x"}, {}},
          {d::OrderBlocks{{"z.block", "x.block"}}, {}},
          {d::StreamLoads{"u"}, {}},
          {d::StreamStores{}, {}},
          {d::Texture{"u"}, {}},
          {d::WarpSplit{2}, {}}};
}

TEST(ScheduleJson, EveryDirectiveOfAMarchReturnsUnchanged) {
  for (const auto& directive : march_directives()) {
    const Schedule schedule{{{"next", 0, {directive}}}};
    EXPECT_EQ(schedule_from_json(to_json(schedule)), schedule) << to_json(schedule);
  }
}

TEST(ScheduleJson, EveryDirectiveOfAMarchPrintsAsItIsWritten) {
  const std::vector<std::string> texts{".march(z)",
                                       ".march(z, 64)",
                                       ".register_window(u, z)",
                                       ".stage(u, MemoryType::Shared, LoadPolicy::AsyncCopy)",
                                       ".stage(u, MemoryType::Shared, LoadPolicy::Bulk)",
                                       ".pipeline(u, 2)",
                                       ".scatter(z)",
                                       ".scatter(z, Partials::Centre)",
                                       ".shuffle(u, x)",
                                       ".order_blocks(\"z.block\", \"x.block\")",
                                       ".stream_loads(u)",
                                       ".stream_stores()",
                                       ".texture(u)",
                                       ".warp_split(2)"};
  const std::vector<Directive> directives = march_directives();
  ASSERT_EQ(directives.size(), texts.size());
  std::string chain;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(to_string(directives[i]), texts[i]);
    chain += (i == 0 ? "" : "\n    ") + texts[i];
  }
  EXPECT_EQ(to_string(Schedule{{{"next", 0, directives}}}), "next" + chain + ";\n");
}

TEST(ScheduleJson, TheCallsOfAMarchAreTheDirectivesThatTheyPrint) {
  Var x("x"), y("y"), z("z");
  ImageParam u(Float(32), 3, "u");
  Func next("next");
  next(x, y, z) = u(x, y, z - 1) + u(x + 1, y, z) + u(x, y, z + 1);
  next.gpu_tile(x, y, 32, 4).march(z, 64).register_window(u, z).scatter(z, Partials::Centre);
  next.stage(u, MemoryType::Shared, LoadPolicy::AsyncCopy).pipeline(u, 2).shuffle(u, x);
  next.order_blocks("z.block", "x.block").stream_loads(u).stream_stores().texture(u).warp_split(2);
  const Schedule schedule = next.schedule();
  EXPECT_EQ(to_string(schedule),
            "next.gpu_tile(x, y, 32, 4)\n    .march(z, 64)\n    .register_window(u, z)\n"
            "    .scatter(z, Partials::Centre)\n"
            "    .stage(u, MemoryType::Shared, LoadPolicy::AsyncCopy)\n    .pipeline(u, 2)\n"
            "    .shuffle(u, x)\n    .order_blocks(\"z.block\", \"x.block\")\n    .stream_loads(u)\n"
            "    .stream_stores()\n    .texture(u)\n    .warp_split(2);\n");
  next.clear_schedule();
  next.apply(schedule_from_json(to_json(schedule)));
  EXPECT_EQ(next.schedule(), schedule);
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

TEST(ScheduleJson, UnknownWordsOfMarchesAreRefused) {
  EXPECT_TRUE(fails_with(
      [] { schedule_from_json(with_directive(R"({"do": "scatter", "var": "z", "partials": "Half"})")); },
      {"directives[0].partials", "\"Half\"", "EveryPlane, Centre"}));
  EXPECT_TRUE(fails_with([] { schedule_from_json(with_directive(R"({"do": "march", "var": "z"})")); },
                         {"directives[0]", "\"chunk\" is missing"}));
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

TEST(ScheduleJson, NumbersBeyondTheLargestAreRefused) {
  for (const std::string number : {"1e400", "-1e400", "1e999999999999", "123456789012345678901234567890",
                                   "1e5", "-0.0", "4e0", "NaN", "0x10", "9223372036854775808"}) {
    EXPECT_TRUE(fails_with(
        [&] {
          schedule_from_json(with_directive(R"({"do": "launch_bounds", "min_blocks": )" + number + "}"));
        },
        {"schedule: "}))
        << number;
    EXPECT_TRUE(fails_with([&] { schedule_from_json(number); }, {"schedule: "})) << number;
  }
}

TEST(ScheduleJson, DeeplyNestedTextIsRefusedWithAShortMessage) {
  const auto is_too_deep = [](const std::string& text) {
    return fails_with([&] { schedule_from_json(text); }, {"schedule: document: it nests deeper"});
  };
  const std::string deep(200000, '[');
  const std::string closed = deep + std::string(200000, ']');
  EXPECT_TRUE(is_too_deep(deep));
  EXPECT_TRUE(is_too_deep(closed));
  EXPECT_TRUE(is_too_deep(R"({"mica_schedule": )" + closed + "}"));
  // The keys behind the nest move it.
  EXPECT_TRUE(is_too_deep(R"({"mica_schedule": )" + closed + R"(, "stages": [], "a": 1, "b": 1})"));
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += R"({"mica_schedule":)";
  EXPECT_TRUE(is_too_deep(objects + "1" + std::string(100000, '}')));
  // What stands in a name nests nothing.
  const std::string name = "\\\"" + std::string(100, '[') + "\\\\";
  EXPECT_TRUE(fails_with([&] { schedule_from_json("{\"" + name + "\": 1}"); }, {"is missing"}));
  const std::string some = std::string(40, '[') + std::string(40, ']');
  EXPECT_TRUE(fails_with([&] { schedule_from_json(R"({"mica_schedule": )" + some + "}"); },
                         {"integer of 32 bits, not an array"}));
  try {
    schedule_from_json(
        with_directive(R"({"do": "launch_bounds", "min_blocks": ")" + std::string(100000, 'a') + "\"}"));
    ADD_FAILURE();
  } catch (const UserError& error) {
    EXPECT_LT(std::string(error.what()).size(), 300u);
  }
}

/// `text` with a few bytes changed, taken out, doubled or put in place of others.
std::string mutated(std::string text, std::mt19937& random) {
  const auto below = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
  };
  static const std::vector<std::string> kPieces = {"1e400",
                                                   "-1",
                                                   "0",
                                                   "9223372036854775807",
                                                   "-9223372036854775808",
                                                   "2147483648",
                                                   "true",
                                                   "null",
                                                   "[",
                                                   "]",
                                                   "{",
                                                   "}",
                                                   ",",
                                                   ":",
                                                   "\"",
                                                   "\\",
                                                   "\"\"",
                                                   "\\u0000",
                                                   "\xff",
                                                   "\xed\xa0\x80",
                                                   "1.5",
                                                   "\"x\"",
                                                   "[]",
                                                   "{}"};
  for (std::size_t edits = 1 + below(4); edits > 0 && !text.empty(); --edits) {
    const std::size_t at = below(text.size());
    const std::size_t length = std::min<std::size_t>(1 + below(12), text.size() - at);
    switch (below(6)) {
      case 0: text[at] = static_cast<char>(below(256)); break;
      case 1: text.erase(at, length); break;
      case 2: text.insert(at, text.substr(below(text.size()), length)); break;
      case 3: text.insert(at, kPieces[below(kPieces.size())]); break;
      case 4: text.replace(at, length, kPieces[below(kPieces.size())]); break;
      default: {  // a whole value
        const std::size_t colon = text.find(": ", at);
        if (colon == std::string::npos) break;
        const std::size_t end = text.find_first_of(",\n", colon);
        text.replace(colon + 2, end - colon - 2, kPieces[below(kPieces.size())]);
      }
    }
  }
  return text;
}

TEST(ScheduleJson, MutatedTextIsReadOrRefused) {
  const Var x("x"), y("y"), z("z");
  ImageParam u(Float(32), 3, "u");
  Func b("b"), next("next");
  b(x, y, z) = u(x, y, z) + u(x + 1, y, z);
  next(x, y, z) = b(x, y, z) + b(x, y + 1, z);
  next(x, y, z) += 1.0F;
  const std::vector<std::string> texts = {
      to_json(every_directive()),
      to_json({{{"next",
                 0,
                 {{directive::GpuTile{{"x", "y"}, {32, 8}, TailStrategy::Auto}, {}},
                  {directive::Split{"z", "zo", "zi", 4, TailStrategy::GuardWithIf}, {}},
                  {directive::Bound{"x", 0, 64}, {}}}},
                {"b", 0, {{directive::ComputeAt{{"next", "x.block"}}, {}}}}}})};
  std::mt19937 random(1);
  int read = 0, refused = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::string text = mutated(texts[static_cast<std::size_t>(round) % texts.size()], random);
    try {
      const Schedule schedule = schedule_from_json(text);
      ++read;
      EXPECT_EQ(schedule_from_json(to_json(schedule)), schedule) << text;
      next.apply(schedule);
    } catch (const UserError& error) {
      ++refused;
    } catch (const std::exception& error) {
      FAIL() << error.what() << " for\n" << text;
    }
  }
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace mica
