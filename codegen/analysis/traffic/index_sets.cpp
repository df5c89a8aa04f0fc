#include "codegen/analysis/traffic/index_sets.h"

#include <algorithm>

namespace mica::analysis {
namespace {

using Interval = std::pair<std::int64_t, std::int64_t>;

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// Sorted, and joined where they touch.
void normalize(std::vector<Interval>& list) {
  std::sort(list.begin(), list.end());
  std::size_t joined = 0;
  for (const Interval& i : list) {
    if (joined > 0 && i.first <= list[joined - 1].second + 1) {
      list[joined - 1].second = std::max(list[joined - 1].second, i.second);
    } else {
      list[joined++] = i;
    }
  }
  list.resize(joined);
}

// Every interval of `values` moved by k*size, k in [0, count).
void repeat(std::vector<Interval>& values, std::int64_t size, std::int64_t count) {
  if (values.size() == 1 && values[0].second - values[0].first + 1 >= size) {
    values[0].second += size * (count - 1);
    return;
  }
  std::vector<Interval> moved;
  moved.reserve(values.size() * static_cast<std::size_t>(count));
  for (std::int64_t k = 0; k < count; ++k) {
    for (const Interval& v : values) moved.emplace_back(v.first + k * size, v.second + k * size);
  }
  normalize(moved);
  values = std::move(moved);
}

}  // namespace

void IndexUnion::add(const std::vector<Form>& index, const Region& region) {
  for (std::size_t i = 0; i < region.size(); ++i) {
    const auto moved =
        std::count_if(index.begin(), index.end(), [&](const Form& f) { return f.varies(i, region); });
    if (moved < 2) continue;
    // A loop that moves two dimensions at once leaves no product: one iteration after the other.
    Region one = region;
    for (std::int64_t t = region[i].lo; t <= region[i].hi; ++t) {
      one[i].lo = one[i].hi = t;
      add(index, one);
    }
    return;
  }
  sides_.resize(index.size());
  Product product;
  for (std::size_t d = 0; d < index.size(); ++d) product.push_back(list_of(d, index[d], region));
  products_.push_back(std::move(product));
}

std::size_t IndexUnion::list_of(std::size_t d, const Form& form, const Region& region) {
  std::int64_t first = form.base;
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;  // size, count
  for (std::size_t i = 0; i < region.size(); ++i) {
    const std::int64_t slope = form.slope_at(i);
    first += slope * (slope < 0 ? region[i].hi : region[i].lo);
    if (form.varies(i, region)) steps.emplace_back(std::abs(slope), region[i].count());
  }
  std::sort(steps.begin(), steps.end());
  std::vector<std::int64_t> made{first};
  for (const auto& [size, count] : steps) made.insert(made.end(), {size, count});
  Side& side = sides_[d];
  const auto known = side.made.find(made);
  if (known != side.made.end()) return known->second;

  std::vector<Interval> list{{first, first}};
  for (const auto& [size, count] : steps) repeat(list, size, count);
  if (d == 0 && grain_ > 1) {
    for (Interval& v : list) v = {floor_div(v.first, grain_), floor_div(v.second, grain_)};
    normalize(list);
  }
  const auto [place, is_new] = side.numbers.emplace(list, side.lists.size());
  if (is_new) side.lists.push_back(std::move(list));
  side.made.emplace(std::move(made), place->second);
  return place->second;
}

std::int64_t IndexUnion::size() const {
  if (products_.empty()) return 0;
  if (sides_.empty()) return 1;
  std::vector<const Product*> all;
  for (const Product& product : products_) all.push_back(&product);
  return size_of(std::move(all), sides_.size() - 1);
}

std::int64_t IndexUnion::size_of(std::vector<const Product*> products, std::size_t last) const {
  // Products of one list stand together, and equal ones count once.
  const auto count = static_cast<std::ptrdiff_t>(last) + 1;
  std::sort(products.begin(), products.end(), [&](const Product* a, const Product* b) {
    return std::lexicographical_compare(a->rend() - count, a->rend(), b->rend() - count, b->rend());
  });
  const auto repeated =
      std::unique(products.begin(), products.end(), [&](const Product* a, const Product* b) {
        return std::equal(a->begin(), a->begin() + count, b->begin());
      });
  products.erase(repeated, products.end());
  if (products.size() == 1) {
    std::int64_t all = 1;
    for (std::size_t d = 0; d <= last; ++d) {
      std::int64_t length = 0;
      for (const auto& [first, end] : sides_[d].lists[(*products[0])[d]]) length += end - first + 1;
      all *= length;
    }
    return all;
  }
  struct End {
    std::int64_t at;
    std::size_t list;
    bool opens;
  };
  std::vector<End> ends;
  std::vector<std::pair<std::size_t, std::size_t>> users;  // of each list, the first and last but one
  for (std::size_t p = 0; p < products.size();) {
    std::size_t next = p + 1;
    while (next < products.size() && (*products[next])[last] == (*products[p])[last]) ++next;
    for (const Interval& i : sides_[last].lists[(*products[p])[last]]) {
      ends.push_back({i.first, users.size(), true});
      ends.push_back({i.second + 1, users.size(), false});
    }
    users.emplace_back(p, next);
    p = next;
  }
  std::sort(ends.begin(), ends.end(), [](const End& a, const End& b) { return a.at < b.at; });
  // How many indices of this dimension are in the same lists.
  std::map<std::vector<unsigned char>, std::int64_t> lengths;
  std::vector<unsigned char> open(users.size());
  int opened = 0;
  for (std::size_t e = 0; e < ends.size(); ++e) {
    if (opened > 0 && ends[e].at > ends[e - 1].at) lengths[open] += ends[e].at - ends[e - 1].at;
    open[ends[e].list] = ends[e].opens ? 1 : 0;
    opened += ends[e].opens ? 1 : -1;
  }
  std::int64_t total = 0;
  for (const auto& [lists, length] : lengths) {
    if (last == 0) {
      total += length;
      continue;
    }
    std::vector<const Product*> here;
    for (std::size_t l = 0; l < users.size(); ++l) {
      if (lists[l] == 0) continue;
      here.insert(here.end(), products.begin() + static_cast<std::ptrdiff_t>(users[l].first),
                  products.begin() + static_cast<std::ptrdiff_t>(users[l].second));
    }
    total += length * size_of(std::move(here), last - 1);
  }
  return total;
}

}  // namespace mica::analysis
