#include "codegen/analysis/traffic/index_sets.h"

#include <algorithm>
#include <map>

namespace mica::analysis {
namespace {

using Interval = std::pair<std::int64_t, std::int64_t>;

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// Sorted, and joined where they touch.
void normalize(std::vector<Interval>& list) {
  std::sort(list.begin(), list.end());
  std::vector<Interval> joined;
  for (const Interval& i : list) {
    if (!joined.empty() && i.first <= joined.back().second + 1) {
      joined.back().second = std::max(joined.back().second, i.second);
    } else {
      joined.push_back(i);
    }
  }
  list = std::move(joined);
}

struct Step {
  std::int64_t size, count;
};

// Every interval of `values` moved by k*size, k in [0, count), for each step.
void repeat(std::vector<Interval>& values, std::vector<Step> steps) {
  for (Step& step : steps) {
    if (step.size >= 0) continue;
    for (Interval& v : values) {
      v.first += step.size * (step.count - 1);
      v.second += step.size * (step.count - 1);
    }
    step.size = -step.size;
  }
  std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.size < b.size; });
  for (const Step& step : steps) {
    if (values.size() == 1 && values[0].second - values[0].first + 1 >= step.size) {
      values[0].second += step.size * (step.count - 1);
      continue;
    }
    std::vector<Interval> moved;
    for (std::int64_t k = 0; k < step.count; ++k) {
      for (const Interval& v : values) {
        moved.emplace_back(v.first + k * step.size, v.second + k * step.size);
      }
    }
    normalize(moved);
    values = std::move(moved);
  }
}

// Appends `box`, a set's at the first iteration of the loops `from` ... `to` - 1, moved by all of them.
void add_moved(const IndexBox& box, const IndexSet& set, std::size_t from, std::size_t to,
               std::int64_t grain, std::vector<IndexBox>& boxes) {
  for (std::size_t i = from; i < to; ++i) {
    const auto users = std::count_if(set.index.begin(), set.index.end(),
                                     [&](const Form& f) { return f.varies(i, set.region); });
    if (users < 2) continue;
    // A loop that moves two dimensions at once leaves no box: one iteration after the other.
    IndexSet one = set;
    for (std::int64_t t = set.region[i].lo; t <= set.region[i].hi; ++t) {
      one.region[i].lo = one.region[i].hi = t;
      IndexBox there = box;
      for (std::size_t d = 0; d < there.size(); ++d) {
        const std::int64_t offset = set.index[d].slope_at(i) * (t - set.region[i].lo);
        there[d] = {there[d].first + offset, there[d].second + offset};
      }
      add_moved(there, one, from, to, grain, boxes);
    }
    return;
  }
  std::vector<IndexBox> product(1);
  for (std::size_t d = 0; d < box.size(); ++d) {
    std::vector<Step> steps;
    for (std::size_t i = from; i < to; ++i) {
      if (set.index[d].varies(i, set.region)) {
        steps.push_back({set.index[d].slope_at(i), set.region[i].count()});
      }
    }
    std::vector<Interval> values{box[d]};
    repeat(values, std::move(steps));
    if (d == 0 && grain > 1) {
      for (Interval& v : values) v = {floor_div(v.first, grain), floor_div(v.second, grain)};
      normalize(values);
    }
    std::vector<IndexBox> longer;
    for (const IndexBox& side : product) {
      for (const Interval& v : values) {
        longer.push_back(side);
        longer.back().push_back(v);
      }
    }
    product = std::move(longer);
  }
  boxes.insert(boxes.end(), product.begin(), product.end());
}

// Joins boxes that differ in one dimension only and touch there, as long as there are any.
void join(std::vector<IndexBox>& boxes) {
  const std::size_t dims = boxes.empty() ? 0 : boxes.front().size();
  for (std::size_t unchanged = 0, d = 0; unchanged < dims; d = (d + 1) % dims) {
    auto beside = [d](const IndexBox& a, const IndexBox& b) {
      for (std::size_t e = 0; e < a.size(); ++e) {
        if (e != d && a[e] != b[e]) return false;
      }
      return true;
    };
    std::sort(boxes.begin(), boxes.end(), [d](const IndexBox& a, const IndexBox& b) {
      for (std::size_t e = 0; e < a.size(); ++e) {
        if (e != d && a[e] != b[e]) return a[e] < b[e];
      }
      return a[d] < b[d];
    });
    std::vector<IndexBox> joined;
    for (const IndexBox& box : boxes) {
      if (!joined.empty() && beside(joined.back(), box) && box[d].first <= joined.back()[d].second + 1) {
        joined.back()[d].second = std::max(joined.back()[d].second, box[d].second);
      } else {
        joined.push_back(box);
      }
    }
    unchanged = joined.size() < boxes.size() ? 0 : unchanged + 1;
    boxes = std::move(joined);
  }
}

// Sets that their far loops move alike have equal keys.
std::vector<std::int64_t> far_key(const IndexSet& set) {
  std::vector<std::int64_t> key;
  for (std::size_t i = 0; i < set.far; ++i) {
    key.insert(key.end(), {set.region[i].loop, set.region[i].lo, set.region[i].hi});
    for (const Form& form : set.index) key.push_back(form.slope_at(i));
  }
  return key;
}

// The boxes' dimensions 0 ... last, all of which the caller may reorder.
std::int64_t size_of(std::vector<const IndexBox*>& boxes, std::size_t last) {
  if (boxes.empty()) return 0;
  std::vector<Interval> sides;
  if (last == 0) {
    for (const IndexBox* box : boxes) sides.push_back(box->front());
    normalize(sides);
    std::int64_t total = 0;
    for (const Interval& side : sides) total += side.second - side.first + 1;
    return total;
  }
  std::vector<std::int64_t> edges;
  for (const IndexBox* box : boxes) {
    edges.push_back((*box)[last].first);
    edges.push_back((*box)[last].second + 1);
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  std::sort(boxes.begin(), boxes.end(),
            [&](const IndexBox* a, const IndexBox* b) { return (*a)[last].first < (*b)[last].first; });
  std::int64_t total = 0;
  std::vector<const IndexBox*> open;
  std::size_t next = 0;
  for (std::size_t e = 0; e + 1 < edges.size(); ++e) {
    std::erase_if(open, [&](const IndexBox* box) { return (*box)[last].second < edges[e]; });
    for (; next < boxes.size() && (*boxes[next])[last].first == edges[e]; ++next) {
      open.push_back(boxes[next]);
    }
    std::vector<const IndexBox*> here = open;
    total += size_of(here, last - 1) * (edges[e + 1] - edges[e]);
  }
  return total;
}

}  // namespace

std::vector<IndexBox> boxes_of(const std::vector<IndexSet>& sets, std::int64_t grain) {
  std::map<std::vector<std::int64_t>, std::vector<const IndexSet*>> alike;
  for (const IndexSet& set : sets) alike[far_key(set)].push_back(&set);
  std::vector<IndexBox> boxes;
  for (const auto& [key, members] : alike) {
    std::vector<IndexBox> near;
    for (const IndexSet* set : members) {
      IndexBox first;
      for (const Form& form : set->index) {
        std::int64_t value = form.base;
        for (std::size_t i = 0; i < set->region.size(); ++i) {
          value += form.slope_at(i) * set->region[i].lo;
        }
        first.emplace_back(value, value);
      }
      add_moved(first, *set, set->far, set->region.size(), 1, near);
    }
    join(near);
    for (const IndexBox& box : near)
      add_moved(box, *members.front(), 0, members.front()->far, grain, boxes);
  }
  return boxes;
}

std::int64_t union_size(std::vector<IndexBox> boxes) {
  if (boxes.empty()) return 0;
  if (boxes.front().empty()) return 1;
  std::sort(boxes.begin(), boxes.end());
  boxes.erase(std::unique(boxes.begin(), boxes.end()), boxes.end());
  std::vector<const IndexBox*> all;
  for (const IndexBox& box : boxes) all.push_back(&box);
  return size_of(all, boxes.front().size() - 1);
}

}  // namespace mica::analysis
