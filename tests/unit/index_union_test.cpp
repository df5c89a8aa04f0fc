// Unions of sets of indices, counted, against one index after the other.
#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/analysis/traffic/index_sets.h"
#include "fuzz/random_data.h"

namespace mica::test {
namespace {

struct Set {
  std::vector<analysis::Form> index;
  analysis::Region region;
};

Set random_set(std::size_t dims, Random& random) {
  Set set;
  for (std::int64_t loops = random.between(0, 4); loops > 0; --loops) {
    const std::int64_t lo = random.between(-2, 3);
    set.region.push_back({static_cast<int>(loops), lo, lo + random.between(0, 4)});
  }
  for (std::size_t d = 0; d < dims; ++d) {
    analysis::Form form{random.between(-8, 8), {}};
    for (std::size_t i = 0; i < set.region.size(); ++i) {
      form.slope.push_back(random.below(3) == 0 ? random.between(-5, 9) : 0);
    }
    set.index.push_back(std::move(form));
  }
  return set;
}

/// Adds every index of loops i and behind it.
void add_each(const Set& set, std::size_t i, std::vector<std::int64_t> at, std::int64_t grain,
              std::set<std::vector<std::int64_t>>& all) {
  if (i < set.region.size()) {
    for (std::int64_t t = set.region[i].lo; t <= set.region[i].hi; ++t) {
      std::vector<std::int64_t> there = at;
      for (std::size_t d = 0; d < there.size(); ++d) there[d] += set.index[d].slope_at(i) * t;
      add_each(set, i + 1, std::move(there), grain, all);
    }
    return;
  }
  at[0] = (at[0] - ((at[0] % grain) + grain) % grain) / grain;
  all.insert(std::move(at));
}

TEST(IndexUnion, CountsEachIndexOnce) {
  Random random(11);
  int overlapping = 0;
  for (int n = 0; n < 2000; ++n) {
    const auto dims = static_cast<std::size_t>(random.between(1, 3));
    const std::int64_t grain = random.pick(std::vector<std::int64_t>{1, 1, 2, 8});
    analysis::IndexUnion sets(grain);
    std::set<std::vector<std::int64_t>> all;
    std::size_t apart = 0;
    for (std::int64_t count = random.between(0, 9); count > 0; --count) {
      const Set set = random_set(dims, random);
      sets.add(set.index, set.region);
      std::vector<std::int64_t> base;
      for (const analysis::Form& form : set.index) base.push_back(form.base);
      std::set<std::vector<std::int64_t>> own;
      add_each(set, 0, base, grain, own);
      apart += own.size();
      all.merge(own);
    }
    EXPECT_EQ(sets.size(), static_cast<std::int64_t>(all.size())) << "case " << n;
    EXPECT_EQ(sets.size(), static_cast<std::int64_t>(all.size())) << "asked again, case " << n;
    overlapping += all.size() < apart ? 1 : 0;
  }
  EXPECT_GT(overlapping, 500);
}

// Of an array without dimensions there is one element.
TEST(IndexUnion, OfNoDimensions) {
  analysis::IndexUnion sets;
  EXPECT_EQ(sets.size(), 0);
  sets.add({}, {{0, 0, 7}});
  EXPECT_EQ(sets.size(), 1);
}

}  // namespace
}  // namespace mica::test
