// Names that nothing has: the nearest one that something has is proposed.
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bench/algorithms.h"
#include "codegen/compile.h"
#include "dsl/check/check_schedule.h"
#include "dsl/expr/names.h"
#include "dsl/func/func.h"
#include "runtime/run/target.h"
#include "schedules/registry.h"
#include "tests/support/expect_error.h"

namespace mica {
namespace {

using test::fails_with;
using test::only_finding;

const Var x("x"), y("y"), xo("xo"), xi("xi");

TEST(DidYouMean, ProposesTheNearestName) {
  const std::vector<std::string> loops{"xi", "xo", "y.block", "column"};
  EXPECT_EQ(did_you_mean("x0", {"xi", "x.o"}), " (did you mean xi?)");
  EXPECT_EQ(did_you_mean("y.blocks", loops), " (did you mean y.block?)");
  EXPECT_EQ(did_you_mean("yblock", loops), " (did you mean y.block?)");
  EXPECT_EQ(did_you_mean("colunm", loops), " (did you mean column?)") << "neighbours swapped";
  EXPECT_EQ(did_you_mean("Column", loops), " (did you mean column?)") << "another case";
  EXPECT_EQ(did_you_mean("X", {"y", "x"}), " (did you mean x?)");
}

TEST(DidYouMean, ProposesNothingThatIsFar) {
  EXPECT_EQ(did_you_mean("z", {"x", "y"}), "");
  EXPECT_EQ(did_you_mean("rows", {"columns", "x"}), "");
  EXPECT_EQ(did_you_mean("x", {}), "");
  EXPECT_EQ(did_you_mean("", {"x"}), "");
  EXPECT_EQ(did_you_mean("x", {"x"}), "") << "the name itself";
  EXPECT_EQ(did_you_mean(std::string(1000, 'a'), {std::string(999, 'a')}), "") << "no slip of the pen";
}

class UnknownNames : public ::testing::Test {
 protected:
  UnknownNames() {
    blurred(x, y) = input(x - 1, y) + input(x + 1, y);
    next(x, y) = blurred(x, y - 1) + blurred(x, y + 1);
  }
  Diagnostics check() const { return check_schedule(make_pipeline({next.function()}), true); }
  ImageParam input{Float(32), 2, "input"};
  Func blurred{"blurred"}, next{"next"};
};

TEST_F(UnknownNames, OfLoops) {
  next.split(x, xo, xi, 8);
  next.vectorize("xl", 4);
  EXPECT_TRUE(
      only_finding(check(), {"there is no loop xl at this point (did you mean xi?)"}, __LINE__ - 2));
}

TEST_F(UnknownNames, OfLevels) {
  next.gpu_tile(x, y, 16, 4);
  blurred.compute_at(next, "x.blok");
  const int line = __LINE__ - 1;
  EXPECT_TRUE(only_finding(check(), {"(did you mean x.block?)", "its loops are x.thread"}, line));
}

TEST_F(UnknownNames, OfDimensions) {
  blurred.compute_root().align_storage("X", 8);
  EXPECT_TRUE(only_finding(check(), {"X is no dimension of blurred (did you mean x?)"}, __LINE__ - 1));
}

TEST_F(UnknownNames, OfVarsInDefinitions) {
  const Var column("column"), colum("colum");
  Func f("f");
  EXPECT_FAILS(f(column) = colum, "Var colum", "which has column (did you mean column?)");
}

TEST_F(UnknownNames, OfBoundaries) {
  const Var row("row"), rows("rows");
  Func f("f");
  f(row) = 1.0F;
  EXPECT_FAILS(BoundaryConditions::repeat_edge(f, {{rows, 0, 4}}),
               "rows is no dimension of f (did you mean row?)");
}

TEST_F(UnknownNames, OfFuncsInputsAndLoopsOfSchedules) {
  const auto apply = [&](const std::string& func, const std::string& directives) {
    next.apply(schedule_from_json(R"({"mica_schedule": 1, "stages": [{"func": ")" + func +
                                  R"(", "update": 0, "directives": [)" + directives + "]}]}"));
  };
  EXPECT_TRUE(fails_with([&] { apply("nxet", ""); }, {"no Func nxet", "(did you mean next?)"}));
  EXPECT_TRUE(fails_with([&] { apply("next", R"({"do": "read_only", "source": "inputs"})"); },
                         {"no input inputs", "(did you mean input?)"}));
  EXPECT_TRUE(fails_with([&] { apply("next", R"({"do": "read_onyl", "source": "input"})"); },
                         {"unknown directive \"read_onyl\" (did you mean read_only?)"}));
  EXPECT_TRUE(
      fails_with([&] { apply("next", R"({"do": "read_only", "sorce": "input"})"); }, {"source"}));
}

TEST_F(UnknownNames, OfNamedSchedulesAndTheirParameters) {
  EXPECT_FAILS(schedules::apply(next, "pmpp/shared-tiles"),
               "no schedule named pmpp/shared-tiles (did you mean pmpp/shared-tile?)");
  EXPECT_FAILS(schedules::apply(next, "pmpp/shared-tile", {{"tilex", 8}}),
               "has no parameter tilex (did you mean tile_x?)");
  EXPECT_TRUE(fails_with([] { (void)bench::make_algorithm("stencil8"); }, {"(did you mean stencil7?)"}));
}

TEST_F(UnknownNames, OfPassesSymbolsAndTargets) {
  EXPECT_TRUE(fails_with([&] { (void)code_after_pass(next, Target::host(), "simplfy"); },
                         {"no pass simplfy (did you mean simplify?)"}));
  CompileOptions options;
  options.bake = {{"input.extents.0", 8}};
  EXPECT_TRUE(fails_with([&] { (void)compile(next, Target::host(), options); },
                         {"no symbol input.extents.0 (did you mean input.extent.0?)"}));
  EXPECT_TRUE(fails_with([] { (void)Target::parse("hots"); }, {"(did you mean host?)"}));
}

}  // namespace
}  // namespace mica
