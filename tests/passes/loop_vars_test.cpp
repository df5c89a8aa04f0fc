// The loops that splits and fuses make, carried out: which points they reach, and what intervals say.
#include "codegen/plan/frame/loop_vars.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "dsl/expr/traverse.h"
#include "dsl/func/func.h"
#include "runtime/run/evaluate.h"

namespace mica {
namespace {

using planning::LoopVars;
using Symbols = std::map<std::string, std::int64_t>;

constexpr const char* kDims[] = {"x", "y"};
constexpr int kBase[] = {-3, 5};

/// f(x, y) after some splits and fuses of its loops, drawn by `seed`.
Func drawn(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const Var x("x");
  const Var y("y");
  Func f("f");
  f(x, y) = x + y;
  std::vector<std::string> loops = {"x", "y"};
  for (int i = 0, steps = 1 + below(5); i < steps; ++i) {
    const std::size_t at = random() % loops.size();
    const std::string old = loops[at];
    const TailStrategy tail = below(2) ? TailStrategy::GuardWithIf : TailStrategy::ShiftInwards;
    const int factor = 1 + below(5);
    const std::string name = std::string(1, static_cast<char>('a' + i));
    if (below(5) == 0 && at + 1 < loops.size()) {
      f.fuse(Var(loops[at]), Var(loops[at + 1]), Var(name));
      loops[at] = name;
      loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    } else {
      loops[at] = below(3) == 0 ? old : name + "o";
      f.split(Var(old), Var(loops[at]), Var(name + "i"), factor, tail);
      loops.insert(loops.begin() + static_cast<std::ptrdiff_t>(at), name + "i");
    }
  }
  return f;
}

/// What the loops do, by carrying out every iteration.
class Carried {
 public:
  /// Compares with the intervals for some sets of loops that keep their values, drawn by `seed`.
  Carried(const LoopVars& vars, Symbols symbols, unsigned seed) : vars_(vars), symbols_(symbols) {
    std::mt19937 random(seed);
    for (const char* dim : kDims) values_.push_back(vars.value(dim));
    for (int set = 0; set < 6; ++set) {
      std::set<std::string> fixed;
      for (const auto& loop : vars.loops()) {
        if (random() % 2 == 0) fixed.insert(loop.name);
      }
      for (const char* dim : kDims) intervals_.push_back(vars.interval(dim, fixed));
    }
    std::set<std::string> outer;
    for (std::size_t i = vars.loops().size(); i-- > 0;) {
      outer.insert(vars.loops()[i].name);
      around_.push_back(outer);
      for (const char* dim : kDims) nested_.push_back(vars.interval(dim, outer));
    }
    run(vars.loops().size());
  }

  std::map<std::vector<std::int64_t>, int> reached;  ///< how often each point is
  std::string outside;  ///< the first point that an interval should hold and does not
  /// The first interval that has values of the dimension which that of fewer loops around lacks: what is
  /// computed in an inner loop would not fit into what is kept around it.
  std::string not_nested;

 private:
  void run(std::size_t loops) {
    if (loops == 0) return point();
    const LoopVars::Loop& loop = vars_.loops()[loops - 1];
    const std::int64_t extent = evaluate_int(loop.extent, symbols_);
    for (std::int64_t i = 0; i < extent; ++i) {
      symbols_[loop.name] = i;
      for (const auto& place : vars_.places()) {
        if (place.block == loop.name) symbols_[place.name] = evaluate_int(place.value, symbols_);
      }
      run(loops - 1);
    }
    symbols_.erase(loop.name);
  }

  /// A guard that these loops alone decide keeps them from this iteration.
  [[nodiscard]] bool kept_out(const std::set<std::string>& loops) const {
    return std::any_of(vars_.guards().begin(), vars_.guards().end(), [&](const planning::Guard& guard) {
      return std::includes(loops.begin(), loops.end(), guard.loops.begin(), guard.loops.end()) &&
             evaluate_int(guard.offset, symbols_) >= evaluate_int(guard.extent, symbols_);
    });
  }

  void nested() {
    for (std::size_t i = 0; i + 2 < nested_.size() && not_nested.empty(); ++i) {
      if (kept_out(around_[i / 2 + 1])) continue;
      const LoopVars::Root& root = vars_.roots().at(kDims[i % 2]);
      const std::int64_t first = evaluate_int(root.base, symbols_);
      const std::int64_t last = first + evaluate_int(root.extent, symbols_) - 1;
      const auto low = [&](const analysis::Interval& n) {
        return std::max(evaluate_int(n.min, symbols_), first);
      };
      const auto high = [&](const analysis::Interval& n) {
        return std::min(evaluate_int(n.max, symbols_), last);
      };
      const analysis::Interval &around = nested_[i], &inside = nested_[i + 2];
      const bool empty = low(inside) > high(inside);
      if (empty || (low(inside) >= low(around) && high(inside) <= high(around))) continue;
      not_nested = std::string(kDims[i % 2]) + " in " + to_string(inside.min) + " ... " +
                   to_string(inside.max) + " is not in " + to_string(around.min) + " ... " +
                   to_string(around.max) + " with";
      for (const auto& [name, v] : symbols_) not_nested += " " + name + " = " + std::to_string(v);
    }
  }

  void point() {
    nested();
    for (const auto& guard : vars_.guards()) {
      if (evaluate_int(guard.offset, symbols_) >= evaluate_int(guard.extent, symbols_)) return;
    }
    std::vector<std::int64_t> at;
    for (const Expr& value : values_) at.push_back(evaluate_int(value, symbols_));
    ++reached[at];
    for (std::size_t i = 0; i < intervals_.size() && outside.empty(); ++i) {
      const std::int64_t value = at[i % at.size()];
      const std::int64_t low = evaluate_int(intervals_[i].min, symbols_);
      const std::int64_t high = evaluate_int(intervals_[i].max, symbols_);
      if (low <= value && value <= high) continue;
      outside = std::string(kDims[i % at.size()]) + " = " + std::to_string(value) + " is outside " +
                to_string(intervals_[i].min) + " ... " + to_string(intervals_[i].max) + " with";
      for (const auto& [name, v] : symbols_) outside += " " + name + " = " + std::to_string(v);
    }
  }

  const LoopVars& vars_;
  Symbols symbols_;
  std::vector<Expr> values_;
  std::vector<analysis::Interval> intervals_;  ///< of x, y, x, y, ...
  std::vector<analysis::Interval> nested_;     ///< the same, with one loop more fixed each time
  std::vector<std::set<std::string>> around_;  ///< which are fixed
};

TEST(LoopVars, ReachEveryPointOfTheBoxAndNoneThatAnIntervalLacks) {
  for (unsigned seed = 1; seed <= 600; ++seed) {
    const Func f = drawn(seed);
    Diagnostics findings;
    const LoopNestSpec spec = expand_loops(*f.function(), 0, findings);
    ASSERT_TRUE(findings.empty()) << findings.front().message;
    const std::int64_t extent[] = {1 + seed % 11, 1 + seed % 7};
    const bool known = seed % 2 == 0;  // at compile time
    std::map<std::string, LoopVars::Root> roots;
    roots["x"] = {make_const(Int(32), kBase[0]), known ? make_const(Int(32), extent[0]) : make_var("m")};
    roots["y"] = {make_const(Int(32), kBase[1]), known ? make_const(Int(32), extent[1]) : make_var("n")};
    const LoopVars vars(spec, roots, "f");
    const Carried carried(vars, {{"m", extent[0]}, {"n", extent[1]}}, seed);
    const std::string what = "seed " + std::to_string(seed) + ": " + to_string(f.schedule());
    ASSERT_EQ(carried.outside, "") << what;
    ASSERT_EQ(carried.not_nested, "") << what;
    EXPECT_EQ(carried.reached.size(), static_cast<std::size_t>(extent[0] * extent[1])) << what;
    const bool shifts = std::any_of(spec.steps.begin(), spec.steps.end(), [](const SplitStep& step) {
      return step.tail == TailStrategy::ShiftInwards;
    });
    for (const auto& [at, times] : carried.reached) {
      EXPECT_TRUE(at[0] >= kBase[0] && at[0] < kBase[0] + extent[0]) << at[0];
      EXPECT_TRUE(at[1] >= kBase[1] && at[1] < kBase[1] + extent[1]) << at[1];
      EXPECT_TRUE(times == 1 || shifts) << what;
    }
  }
}

// Chunks of a march that are halved at the end: of each grid, every plane in one of them, none without.
TEST(LoopVars, ChunksGetShorterAtTheEnd) {
  const Var x("x");
  const Var y("y");
  for (unsigned seed = 0; seed < 100; ++seed) {
    const int shortest = 1 + static_cast<int>(seed % 3), halves = 1 + static_cast<int>(seed % 4);
    const std::int64_t extent = 1 + seed * 7 % 97;
    Func f("f");
    f(x, y) = x + y;
    f.gpu_tile(x, 4).march(y, shortest << halves, shortest);
    Diagnostics findings;
    const LoopNestSpec spec = expand_loops(*f.function(), 0, findings);
    ASSERT_TRUE(findings.empty()) << findings.front().message;
    std::map<std::string, LoopVars::Root> roots;
    const bool known = seed % 2 == 0;
    roots["x"] = {make_const(Int(32), kBase[0]), make_const(Int(32), 5)};
    roots["y"] = {make_const(Int(32), kBase[1]), known ? make_const(Int(32), extent) : make_var("n")};
    const LoopVars vars(spec, roots, "f");
    const std::string what = to_string(f.schedule()) + " of " + std::to_string(extent);
    const Carried carried(vars, {{"n", extent}}, seed);
    EXPECT_EQ(carried.outside, "") << what;
    EXPECT_EQ(carried.not_nested, "") << what;
    EXPECT_EQ(carried.reached.size(), static_cast<std::size_t>(5 * extent)) << what;
    for (const auto& [at, times] : carried.reached) {
      EXPECT_TRUE(at[1] >= kBase[1] && at[1] < kBase[1] + extent) << what;
      EXPECT_EQ(times, 1) << what;
    }
    ASSERT_EQ(vars.places().size(), 2U);
    const auto& block = *std::ranges::find(vars.loops(), vars.places().front().block,
                                           [](const LoopVars::Loop& loop) { return loop.name; });
    const std::int64_t blocks = evaluate_int(block.extent, {{"n", extent}});
    std::int64_t end = 0;
    for (std::int64_t i = 0, left = extent; i < blocks; ++i) {
      const Symbols at{{"n", extent}, {block.name, i}};
      const std::int64_t start = evaluate_int(vars.places()[0].value, at);
      EXPECT_EQ(start, end) << what;
      end = evaluate_int(vars.places()[1].value, at);
      // Half of what is left, at the end two of the shortest; before that whole chunks.
      const std::int64_t most = i == 0 ? std::int64_t{shortest} << halves
                                : left == 2 * shortest || left == shortest
                                    ? shortest
                                    : std::min<std::int64_t>(left / 2, std::int64_t{shortest} << halves);
      EXPECT_GE(end - start, i > 0 ? most : 1) << what << ", block " << i;
      EXPECT_LE(end - start, most) << what << ", block " << i;
      left -= end - start;
    }
    EXPECT_EQ(end, extent) << what;
  }
}

}  // namespace
}  // namespace mica
