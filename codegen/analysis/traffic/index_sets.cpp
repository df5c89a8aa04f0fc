#include "codegen/analysis/traffic/index_sets.h"

#include <algorithm>

#include "dsl/expr/constant_math.h"

namespace mica::analysis {
namespace {

// Sorted, and joined where they touch.
void normalize(std::vector<std::pair<std::int64_t, std::int64_t>>& list) {
  std::sort(list.begin(), list.end());
  std::size_t joined = 0;
  for (const auto& i : list) {
    if (joined > 0 && i.first <= list[joined - 1].second + 1) {
      list[joined - 1].second = std::max(list[joined - 1].second, i.second);
    } else {
      list[joined++] = i;
    }
  }
  list.resize(joined);
}

std::int64_t length_of(const std::vector<std::pair<std::int64_t, std::int64_t>>& list) {
  std::int64_t length = 0;
  for (const auto& [first, end] : list) length += end - first + 1;
  return length;
}

}  // namespace

std::size_t IndexUnion::Side::number_of(Intervals list) {
  const auto [place, is_new] = numbers.emplace(std::move(list), lists.size());
  if (is_new) lists.push_back(place->first);
  return place->second;
}

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
  std::vector<Step> longest;
  for (std::size_t d = 0; d < index.size(); ++d) {
    std::int64_t first = index[d].base;
    std::vector<Step> steps;
    for (std::size_t i = 0; i < region.size(); ++i) {
      const std::int64_t slope = index[d].slope_at(i);
      first += slope * (slope < 0 ? region[i].hi : region[i].lo);
      if (index[d].varies(i, region)) steps.push_back({std::abs(slope), region[i].count()});
    }
    std::sort(steps.begin(), steps.end());
    longest.push_back(steps.empty() ? Step{1, 1} : steps.back());
    Intervals list{{first, first}};
    for (std::size_t s = 0; s + 1 < steps.size(); ++s) repeat(list, steps[s]);
    product.push_back(sides_[d].number_of(std::move(list)));
  }
  products_[longest].push_back(std::move(product));
}

// Every interval moved by k*size, k in [0, count).
void IndexUnion::repeat(Intervals& values, const Step& step) {
  if (values.size() == 1 && values[0].second - values[0].first + 1 >= step.size) {
    values[0].second += step.size * (step.count - 1);
    return;
  }
  Intervals moved;
  moved.reserve(values.size() * static_cast<std::size_t>(step.count));
  for (std::int64_t k = 0; k < step.count; ++k) {
    for (const auto& [first, end] : values) {
      moved.emplace_back(first + k * step.size, end + k * step.size);
    }
  }
  normalize(moved);
  values = std::move(moved);
}

// Makes one product of those that differ in one dimension only, as long as there are any.
void IndexUnion::merge(Products& products, std::vector<Side>& sides) {
  const std::size_t dims = sides.size();
  std::sort(products.begin(), products.end());
  products.erase(std::unique(products.begin(), products.end()), products.end());
  for (std::size_t unchanged = 0, d = 0; unchanged < dims && products.size() > 1; d = (d + 1) % dims) {
    std::map<Product, std::vector<std::size_t>> alike;  // by the other dimensions
    for (Product& product : products) {
      const std::size_t list = product[d];
      product[d] = 0;
      alike[std::move(product)].push_back(list);
    }
    unchanged = alike.size() < products.size() ? 0 : unchanged + 1;
    products.clear();
    for (const auto& [others, lists] : alike) {
      products.push_back(others);
      products.back()[d] = lists.front();
      if (lists.size() == 1) continue;
      Intervals all;
      for (const std::size_t l : lists) {
        all.insert(all.end(), sides[d].lists[l].begin(), sides[d].lists[l].end());
      }
      normalize(all);
      products.back()[d] = sides[d].number_of(std::move(all));
    }
  }
}

std::int64_t IndexUnion::size() {
  if (products_.empty()) return 0;
  if (sides_.empty()) return 1;
  std::vector<Side> sides(sides_.size());
  Products products;
  for (auto& [longest, members] : products_) {
    merge(members, sides_);
    for (const Product& member : members) {
      Product& product = products.emplace_back();
      for (std::size_t d = 0; d < sides.size(); ++d) {
        Intervals list = sides_[d].lists[member[d]];
        repeat(list, longest[d]);
        if (d == 0 && grain_ > 1) {
          for (auto& [first, end] : list) {
            first = floor_div(first, grain_);
            end = floor_div(end, grain_);
          }
          normalize(list);
        }
        product.push_back(sides[d].number_of(std::move(list)));
      }
    }
  }
  merge(products, sides);
  std::vector<const Product*> all;
  for (const Product& product : products) all.push_back(&product);
  return size_of(sides, std::move(all), sides.size() - 1);
}

// The different indices of dimensions 0 ... last.
std::int64_t IndexUnion::size_of(const std::vector<Side>& sides, std::vector<const Product*> products,
                                 std::size_t last) {
  if (products.size() == 1) {
    std::int64_t all = 1;
    for (std::size_t d = 0; d <= last; ++d) all *= length_of(sides[d].lists[(*products[0])[d]]);
    return all;
  }
  std::sort(products.begin(), products.end(),
            [last](const Product* a, const Product* b) { return (*a)[last] < (*b)[last]; });
  struct End {
    std::int64_t at;
    std::size_t list;
    bool opens;
  };
  std::vector<End> ends;
  std::vector<std::pair<std::size_t, std::size_t>>
      users;  // of each list: the first, and behind the last
  for (std::size_t p = 0; p < products.size();) {
    std::size_t next = p + 1;
    while (next < products.size() && (*products[next])[last] == (*products[p])[last]) ++next;
    for (const auto& [first, end] : sides[last].lists[(*products[p])[last]]) {
      ends.push_back({first, users.size(), true});
      ends.push_back({end + 1, users.size(), false});
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
    std::vector<const Product*> here;
    for (std::size_t l = 0; l < users.size() && last > 0; ++l) {
      if (lists[l] == 0) continue;
      here.insert(here.end(), products.begin() + static_cast<std::ptrdiff_t>(users[l].first),
                  products.begin() + static_cast<std::ptrdiff_t>(users[l].second));
    }
    total += length * (last > 0 ? size_of(sides, std::move(here), last - 1) : 1);
  }
  return total;
}

}  // namespace mica::analysis
