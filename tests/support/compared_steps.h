// Runs of an Iteration with and without time tiles, compared bit by bit, with what receivers took.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/iterate/iteration.h"
#include "tests/support/check_targets.h"
#include "tests/support/compare.h"
#include "tests/support/same_steps.h"

namespace mica::test {

/// A call of add_at, or of record.
struct Call {
  ImageParam field;
  std::vector<Place> places;
};

/// Runs with and without tiles, and compares fields and what receivers took.
class Compared {
 public:
  std::vector<Replacement> pairs;
  std::vector<ImageParam> fields;
  std::vector<RunInput> others = {};
  Box box;
  std::vector<Call> sources = {}, receivers = {};
  std::vector<std::pair<std::int64_t, std::int64_t>> over = {};
  std::map<std::size_t, Box> others_of = {};  ///< boxes of fields that have another, by number
  std::function<void(Iteration&)> also = {};  ///< what else the Iterations are told

  /// What the tiled run noted.
  std::string notes_of(int tile, int steps, const Target& target) {
    std::vector<AnyBuffer> plain, tiled;
    const std::string none = run(1, steps, target, plain);
    EXPECT_EQ(none, "");
    const std::string notes = run(tile, steps, target, tiled);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      EXPECT_TRUE(same_bits(plain[i], tiled[i]))
          << (i < fields.size() ? "field " : "receivers ") << i << " after " << steps << " steps, "
          << tile << " at once, on " << to_string(target);
    }
    return notes;
  }
  void expect_tiled(int tile, int steps, const std::vector<Target>& targets = all_targets()) {
    for (const Target& target : targets) EXPECT_EQ(notes_of(tile, steps, target), "");
  }

 private:
  std::string run(int tile, int steps, const Target& target, std::vector<AnyBuffer>& results) {
    Iteration iteration(pairs);
    if (!over.empty()) iteration.over(over);
    if (also) also(iteration);
    std::uint64_t seed = 30;
    for (const Call& call : sources) {
      const auto places = static_cast<std::int64_t>(call.places.size());
      iteration.add_at(call.field, call.places,
                       random_over(call.field.type(), {{0, places}, {0, steps - 1}}, ++seed));
    }
    std::vector<AnyBuffer> taken;
    for (const Call& call : receivers) {
      const auto places = static_cast<std::int64_t>(call.places.size());
      taken.push_back(random_over(call.field.type(), {{0, places}, {0, steps}}, 5));
      iteration.record(call.field, call.places, taken.back());
    }
    iteration.time_tile(tile);
    std::vector<RunInput> inputs = others;
    for (std::size_t f = 0; f < fields.size(); ++f) {
      const auto own = others_of.find(f);
      results.push_back(
          random_over(fields[f].type(), own == others_of.end() ? box : own->second, 11 + f));
      inputs.emplace_back(fields[f], results.back());
    }
    testing::internal::CaptureStderr();
    iteration.run(inputs, steps, {.target = target});
    results.insert(results.end(), taken.begin(), taken.end());
    return testing::internal::GetCapturedStderr();
  }
};

}  // namespace mica::test
