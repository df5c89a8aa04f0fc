// PTX with the user's lines: which line an instruction has, and that nothing else changes.
#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "schedules/registry.h"
#include "tests/ptx/ptxas.h"
#include "tests/support/gpu_schedules.h"

namespace mica::test {
namespace {

std::string with_lines(const std::vector<Func>& outputs) { return compile_to_ptx(outputs, 90, 0, true); }

/// The lines of instructions that hold `word`, of this file.
std::set<int> lines_of(const std::string& ptx, const std::string& word) {
  std::map<int, bool> is_here;
  const std::regex file(R"(\s*\.file\s+(\d+) "([^"]*)\".*)"), place(R"(\s*\.loc\s+(\d+) (\d+).*)");
  std::smatch m;
  std::istringstream all(ptx);
  for (std::string line; std::getline(all, line);) {
    if (std::regex_match(line, m, file)) {
      is_here[std::stoi(m[1])] = m[2].str().ends_with("line_info_test.cpp");
    }
  }
  std::set<int> found;
  std::istringstream again(ptx);
  int now = 0;
  for (std::string line; std::getline(again, line);) {
    if (std::regex_match(line, m, place)) now = is_here[std::stoi(m[1])] ? std::stoi(m[2]) : -1;
    if (line.find(word) != std::string::npos) found.insert(now);
  }
  return found;
}

/// Without what tells of lines.
std::string code_of(const std::string& ptx) {
  const std::regex told(R"(\s*(\.loc\s|\.file\s|\.section\s+\.debug|\$L__func_|\$L__tmp).*)");
  std::istringstream all(ptx);
  std::string code;
  for (std::string line; std::getline(all, line);) {
    if (!std::regex_match(line, told)) code += line + "\n";
  }
  return code;
}

TEST(LineInfo, ATapHasItsLineAndWhatIsMadeOfTapsTheirs) {
  const Var x("x"), y("y");
  const ImageParam u(Float(32), 2, "u"), v(Float(32), 2, "v");
  Func helper("helper"), f("f");
  const int helped = __LINE__ + 1;
  helper(x, y) = u(x - 1, y) * u(x + 1, y);
  const int squared = __LINE__ + 1;
  const Expr square = max(v(x, y), v(x, y + 1));
  const int defined = __LINE__ + 1;
  f(x, y) = min(helper(x, y) - square, 2.0F);
  f.gpu_tile(x, y, 32, 8);
  const std::string ptx = with_lines({f});
  EXPECT_EQ(lines_of(ptx, "ld.global"), (std::set<int>{helped, squared})) << ptx;
  EXPECT_EQ(lines_of(ptx, "mul.rn.f32"), std::set<int>{helped}) << ptx;
  EXPECT_EQ(lines_of(ptx, "max.NaN.f32"), std::set<int>{squared}) << ptx;
  EXPECT_EQ(lines_of(ptx, "sub.rn.f32"), std::set<int>{defined}) << ptx;
  EXPECT_EQ(lines_of(ptx, "min.NaN.f32"), std::set<int>{defined}) << ptx;
  EXPECT_EQ(lines_of(ptx, "st.global"), std::set<int>{defined}) << ptx;
}

TEST(LineInfo, UpdatesHaveLinesOfTheirOwn) {
  const Var x("x");
  const ImageParam u(Float(32), 1, "u");
  const RDom r({{0, 3}});
  Func f("f");
  const int begun = __LINE__ + 1;
  f(x) = 1.0F;
  const int summed = __LINE__ + 1;
  f(x) += u(x + r.x);
  f.gpu_tile(x, 64);
  f.update().gpu_tile(x, 64);
  const std::string ptx = with_lines({f});
  EXPECT_EQ(lines_of(ptx, "st.global"), (std::set<int>{begun, summed})) << ptx;
  EXPECT_EQ(lines_of(ptx, "add.rn.f32"), std::set<int>{summed}) << ptx;
}

TEST(LineInfo, StaysOutWhereItIsNotAskedFor) {
  const Var x("x");
  const ImageParam u(Float(32), 1, "u");
  Func f("f");
  f(x) = u(x);
  f.gpu_tile(x, 64);
  const std::string ptx = compile_to_ptx(f, 90, 0, false);
  EXPECT_EQ(ptx.find(".loc"), std::string::npos) << ptx;
  EXPECT_EQ(ptx, code_of(ptx));
}

TEST(LineInfo, IsAskedForByTheEnvironment) {
  const Var x("x");
  Func f("f");
  f(x) = 1.0F;
  f.gpu_tile(x, 64);
  for (const char* value : {"1", "0", ""}) {
    ASSERT_EQ(setenv("MICA_LINE_INFO", value, 1), 0);
    EXPECT_EQ(CompileOptions().line_info, std::string(value) == "1");
    EXPECT_EQ(compile_to_ptx(f).find(".loc") != std::string::npos, std::string(value) == "1");
  }
  ASSERT_EQ(unsetenv("MICA_LINE_INFO"), 0);
  EXPECT_FALSE(CompileOptions().line_info);
}

// Marches, windows, stages, crews, bulk copies and vectors: the same instructions in the same order,
// which the assembler takes.
TEST(LineInfo, ChangesNoInstructionOfNamedSchedules) {
  for (const auto& recipe : schedules::registry()) {
    if (!recipe.on_gpu) continue;
    TestPipeline p = recipe.name.starts_with("blur/")
                         ? blur()
                         : star(Float(32), recipe.max_dimensions > 2 ? 3 : 2, 1);
    schedules::apply(p.output(), recipe.name, {});
    const std::string plain = compile_to_ptx(p.outputs, 90, 0, false), lines = with_lines(p.outputs);
    EXPECT_EQ(plain, code_of(lines)) << recipe.name;
    EXPECT_NE(plain, lines) << recipe.name;
    const Assembled result = assemble(lines, 90);
    EXPECT_TRUE(!result.available || result.ok) << recipe.name << result.output;
  }
}

}  // namespace
}  // namespace mica::test
