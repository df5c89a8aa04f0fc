// Every named schedule gives the oracle's bits on any stencil of its dimensions.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "schedules/registry.h"
#include "tests/support/check_targets.h"
#include "tests/support/gpu_schedules.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

using schedules::Parameters;

std::vector<TestPipeline> pipelines_of(int dimensions, int radius) {
  std::vector<TestPipeline> list;
  list.push_back(star(Float(32), dimensions, 1));
  list.push_back(star(Float(64), dimensions, radius));
  list.push_back(box(UInt(8), dimensions, 1));
  if (dimensions == 2) {
    list.push_back(blur());
    list.push_back(gradient());
    list.push_back(mixed_types());
  }
  if (dimensions == 3) list.push_back(wave());
  return list;
}

class NamedSchedule : public ::testing::TestWithParam<std::string> {};

void check(const std::string& name, const Parameters& parameters, int radius, std::size_t boxes) {
  const schedules::Recipe& recipe = schedules::find(name);
  for (int d = std::max(recipe.min_dimensions, 1); d <= std::min(recipe.max_dimensions, 3); ++d) {
    std::vector<Box> regions = gpu_boxes(d);
    regions.resize(std::min(boxes, regions.size()));
    for (auto& p : pipelines_of(d, radius)) {
      schedules::apply(p.output(), name, parameters);
      std::vector<Target> targets = recipe.on_gpu ? gpu_targets() : std::vector<Target>{};
      targets.push_back(Target::host());
      std::vector<CompiledOutputs> compiled;
      for (const Target& target : targets) compiled.emplace_back(p.outputs, target);
      for (const Box& region : regions) {
        const auto memory = p.bind(region, 11);
        const auto expected = expected_values(p.outputs, region);
        for (CompiledOutputs& one : compiled) {
          EXPECT_TRUE(one.match(expected, region)) << name << " of " << p.name;
        }
      }
    }
  }
}

TEST_P(NamedSchedule, GivesTheOraclesBitsWithItsDefaults) {
  // One thread per input point: with a halo of two on each side only a small tile fits a block. (The
  // seven planes of a radius of three in f64 would not fit in shared memory with most defaults.)
  const bool halo_threads = GetParam() == "pmpp/shared-tile";
  check(GetParam(),
        halo_threads ? Parameters{{"tile_x", 4}, {"tile_y", 4}, {"tile_z", 4}} : Parameters{}, 2, 2);
}

TEST_P(NamedSchedule, GivesTheOraclesBitsWithSmallOddTiles) {
  Parameters parameters;
  for (const auto& p : schedules::find(GetParam()).parameters) {
    // Copies in flight have rules of their own on types and alignment; warps that fill want whole warps
    // beside them.
    if (p.name == "vec" || p.name == "staged" || p.name == "load" || p.name == "warps") continue;
    if (p.name == "channels") continue;  // as many as the last dimension has points
    const bool wide = p.name.ends_with("x") || p.name == "threads";
    const std::int64_t odd = wide ? 5 : p.name == "ahead" ? 1 : 3;
    parameters[p.name] = std::clamp(odd, p.min, p.max);
  }
  // Boxes of whole and of cut tiles are what the defaults are tried on.
  check(GetParam(), parameters, 3, 1);
}

TEST_P(NamedSchedule, HasADocumentAndDefaultsInsideTheirRanges) {
  const schedules::Recipe& recipe = schedules::find(GetParam());
  EXPECT_FALSE(recipe.document.empty());
  EXPECT_FALSE(recipe.description.empty());
  for (const auto& p : recipe.parameters) {
    EXPECT_LE(p.min, p.value) << p.name;
    EXPECT_LE(p.value, p.max) << p.name;
    EXPECT_FALSE(p.meaning.empty()) << p.name;
  }
}

std::vector<std::string> names() {
  std::vector<std::string> list;
  for (const auto& recipe : schedules::registry()) list.push_back(recipe.name);
  return list;
}

INSTANTIATE_TEST_SUITE_P(All, NamedSchedule, ::testing::ValuesIn(names()), [](const auto& c) {
  std::string name = c.param;
  for (char& letter : name) letter = std::isalnum(static_cast<unsigned char>(letter)) ? letter : '_';
  return name;
});

TEST(NamedSchedules, VectorsOfEveryWidthGiveTheSameBits) {
  for (std::int64_t vec : {2, 4, 8}) {
    TestPipeline p = star(Float(32), 3, 2);
    schedules::apply(p.output(), "pmpp/naive", {{"vec", vec}});
    const Box region{{-3, 45}, {2, 9}, {0, 5}};
    const auto memory = p.bind(region, 5);
    for (const Target& target : all_targets())
      EXPECT_TRUE(matches_oracle(p.outputs, region, target)) << vec;
  }
}

// Planes and rows together, stores that pass by the caches, Funcs at each of their places.
TEST(NamedSchedules, RowsOfAHostGiveTheSameBitsHoweverTheyAreTaken) {
  const std::vector<Parameters> ways = {{{"planes", 4}, {"stream", 1}, {"tile_y", 8}, {"chunk", 6}},
                                        {{"planes", 2}, {"rows", 2}, {"vec", 8}, {"tile_x", 16}},
                                        {{"place", 1}, {"rows", 2}, {"tile_x", 16}, {"stream", 1}},
                                        {{"place", 2}, {"chunk", 7}},
                                        {{"place", 3}, {"chunk", 5}, {"rows", 2}, {"tile_x", 32}},
                                        {{"place", 4}, {"chunk", 3}, {"vec", 4}}};
  for (const Parameters& way : ways) {
    for (const int d : {2, 3}) {
      const Box region = d == 2 ? Box{{-3, 61}, {2, 19}} : Box{{-3, 45}, {2, 11}, {-1, 9}};
      for (TestPipeline& p : pipelines_of(d, 2)) {
        schedules::apply(p.output(), "host/rows", way);
        const auto memory = p.bind(region, 5);
        EXPECT_TRUE(matches_oracle(p.outputs, region, Target::host())) << p.name;
        EXPECT_TRUE(matches_oracle(p.outputs, region, Target::host_checked())) << p.name;
      }
    }
  }
}

TEST(NamedSchedules, ChannelsBesideEachOtherGiveTheSameBits) {
  TestPipeline p = star(Float(32), 3, 1);
  schedules::apply(p.output(), "host/rows", {{"channels", 3}, {"chunk", 4}, {"tile_x", 16}});
  const Box region{{-3, 45}, {2, 11}, {0, 3}};
  const auto memory = p.bind(region, 5);
  EXPECT_TRUE(matches_oracle(p.outputs, region, Target::host()));
}

// What the compiler would compute ahead is ahead, or in the strips where it is read near the point; a
// table that many points choose from is no part of a strip.
TEST(NamedSchedules, RowsOfAHostKeepWhatIsComputedAhead) {
  const Var x("x"), y("y"), i("i");
  ImageParam u(Float(32), 2, "u");
  Func table("table"), dear("dear"), f("f");
  table(i) = exp(cast<float>(i) / 256.0F) / (1.0F + cast<float>(i));
  dear(x, y) = table(clamp(cast<int>(u(x, y) * 256.0F), 0, 511)) * u(x, y);
  f(x, y) = dear(x - 1, y) + dear(x + 1, y);
  const auto place_of = [&](const char* func) -> std::string {
    for (const auto& stage : f.schedule().stages) {
      for (const auto& d : stage.directives) {
        if (stage.func != func) continue;
        if (std::holds_alternative<directive::ComputeRoot>(d.op)) return "root";
        if (std::holds_alternative<directive::ComputeAt>(d.op)) return "strip";
      }
    }
    return "inline";
  };
  const Box region{{-3, 61}, {2, 19}};
  for (const std::int64_t place : {0, 1, 2, 3, 4}) {
    schedules::apply(f, "host/rows", {{"place", place}, {"chunk", 4}});
    EXPECT_EQ(place_of("table"), "root") << place;
    EXPECT_EQ(place_of("dear"), place == 0 ? "inline" : place == 1 ? "root" : "strip") << place;
    const auto memory = bind_random(u, {{-4, 63}, {2, 19}}, 3, Contents::Ordinary, Layout::Dense);
    EXPECT_TRUE(matches_oracle({f}, region, Target::host())) << place;
  }
}

TEST(NamedSchedules, ReadOnlyInputsAreNotStaged) {
  TestPipeline p = wave();
  schedules::apply(p.output(), "tile/read-only", {{"staged", 1}});
  int staged = 0, read_only = 0;
  for (const auto& stage : p.output().schedule().stages) {
    for (const auto& d : stage.directives) {
      staged += std::holds_alternative<directive::StagedSource>(d.op);
      read_only += std::holds_alternative<directive::ReadOnly>(d.op);
    }
  }
  EXPECT_EQ(staged, 1);
  EXPECT_EQ(read_only, static_cast<int>(p.inputs.size()) - 1);
}

TEST(NamedSchedules, SumsAreScatteredWhereTheyCanBe) {
  const auto scatters = [](TestPipeline p) {
    schedules::apply(p.output(), "fd3d/one-pass", {{"scatter", 1}});
    const Schedule schedule = p.output().schedule();
    const auto& directives = schedule.stages.back().directives;
    return std::any_of(directives.begin(), directives.end(), [](const Directive& d) {
      return std::holds_alternative<directive::Scatter>(d.op);
    });
  };
  EXPECT_TRUE(scatters(star(Float(32), 3, 4)));
  EXPECT_TRUE(scatters(wave()));
  EXPECT_FALSE(scatters(mixed_types())) << "terms that read several planes";
}

TEST(NamedSchedules, ApplyReplacesTheWholeSchedule) {
  TestPipeline p = blur();
  schedules::apply(p.output(), "blur/breadth-first");
  schedules::apply(p.output(), "blur/inline");
  const Schedule twice = p.output().schedule();
  TestPipeline q = blur();
  schedules::apply(q.output(), "blur/inline");
  EXPECT_EQ(twice, q.output().schedule());
}

}  // namespace
}  // namespace mica::test
