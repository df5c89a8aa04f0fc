#include "codegen/analysis/traffic/piece_sums.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>

namespace mica::analysis {
namespace {

// Pieces that have the same outer loops, and where these stand in each piece's region.
struct Group {
  PieceList pieces;
  std::vector<std::vector<std::size_t>> places;  // [piece][outer loop]
  Region all;                                    // a box that holds the outer iterations of every piece
};

std::vector<Group> group(const PieceList& pieces, const IsOuter& outer) {
  std::map<std::vector<int>, Group> groups;
  for (const Piece* piece : pieces) {
    std::vector<int> key;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < piece->region.size(); ++i) {
      if (!outer(*piece, i)) continue;
      key.push_back(piece->region[i].loop);
      places.push_back(i);
    }
    Group& g = groups[key];
    if (g.pieces.empty()) {
      for (const auto p : places) g.all.push_back(piece->region[p]);
    }
    for (std::size_t k = 0; k < places.size(); ++k) {
      g.all[k].lo = std::min(g.all[k].lo, piece->region[places[k]].lo);
      g.all[k].hi = std::max(g.all[k].hi, piece->region[places[k]].hi);
    }
    g.pieces.push_back(piece);
    g.places.push_back(std::move(places));
  }
  std::vector<Group> list;
  for (auto& [key, g] : groups) list.push_back(std::move(g));
  return list;
}

using Members = std::vector<std::size_t>;  // numbers of a group's pieces
using Leaf = std::function<void(const Region&, const Members&)>;

const Span& span_of(const Group& g, std::size_t member, std::size_t k) {
  return g.pieces[member]->region[g.places[member][k]];
}

// Calls `leaf` with parts of `cell` in which every member is carried out everywhere.
void part(const Group& g, const Region& cell, const Members& members, const Leaf& leaf) {
  Members here;
  for (const auto m : members) {
    bool meets = true;
    for (std::size_t k = 0; meets && k < cell.size(); ++k) {
      meets = span_of(g, m, k).lo <= cell[k].hi && span_of(g, m, k).hi >= cell[k].lo;
    }
    if (meets) here.push_back(m);
  }
  if (here.empty()) return;
  for (std::size_t k = 0; k < cell.size(); ++k) {
    // Near the middle, so that members become fewer fast.
    const std::int64_t middle = cell[k].lo + cell[k].count() / 2;
    std::optional<std::int64_t> best;
    const auto consider = [&](std::int64_t at) {
      if (!best || std::abs(at - middle) < std::abs(*best - middle)) best = at;
    };
    for (const auto m : here) {
      const Span& s = span_of(g, m, k);
      if (s.lo > cell[k].lo) consider(s.lo);
      if (s.hi < cell[k].hi) consider(s.hi + 1);
    }
    if (!best) continue;
    const auto [first, second] = cut(cell, {k, *best});
    part(g, first, here, leaf);
    part(g, second, here, leaf);
    return;
  }
  leaf(cell, here);
}

class UnionSum {
 public:
  UnionSum(const Group& g, std::int64_t grain) : group_(g), grain_(grain) {}

  std::int64_t run() {
    Members all(group_.pieces.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    part(group_, group_.all, all,
         [this](const Region& cell, const Members& members) { total_ += count(cell, members, 0, 1); });
    return total_;
  }

 private:
  // Iterations of outer loop k and those after it; those before it are single. From one iteration to the
  // next the set of elements only moves when all members move alike, and keeps its number of units when
  // it moves by whole units.
  std::int64_t count(Region cell, const Members& members, std::size_t k, std::int64_t weight) {
    if (k == cell.size()) return weight * at(cell, members);
    const std::int64_t n = cell[k].count();
    if (n == 1) return count(cell, members, k + 1, weight);
    if (!alike(members, k)) {
      const auto [first, second] = cut(cell, {k, cell[k].lo + n / 2});
      return count(first, members, k, weight) + count(second, members, k, weight);
    }
    const std::int64_t slope = index_slope(members.front(), 0, k);
    const std::int64_t period = std::min(n, grain_ / std::gcd(grain_, slope));
    std::int64_t sum = 0;
    for (std::int64_t r = 0; r < period; ++r) {
      Region one = cell;
      one[k].lo = one[k].hi = cell[k].lo + r;
      sum += count(one, members, k + 1, weight * ((n - r + period - 1) / period));
    }
    return sum;
  }

  [[nodiscard]] std::int64_t index_slope(std::size_t member, std::size_t d, std::size_t k) const {
    const auto& index = group_.pieces[member]->index;
    return d < index.size() ? index[d].slope_at(group_.places[member][k]) : 0;
  }
  [[nodiscard]] bool alike(const Members& members, std::size_t k) const {
    const std::size_t dims = group_.pieces[members.front()]->index.size();
    return std::all_of(members.begin(), members.end(), [&](std::size_t m) {
      for (std::size_t d = 0; d < dims; ++d) {
        if (index_slope(m, d, k) != index_slope(members.front(), d, k)) return false;
      }
      return true;
    });
  }

  [[nodiscard]] std::int64_t at(const Region& point, const Members& members) const {
    IndexUnion touched(grain_);
    for (const auto m : members) {
      Region region = group_.pieces[m]->region;
      for (std::size_t k = 0; k < point.size(); ++k) {
        Span& s = region[group_.places[m][k]];
        s.lo = s.hi = point[k].lo;
      }
      touched.add(group_.pieces[m]->index, region);
    }
    return touched.size();
  }

  const Group& group_;
  std::int64_t grain_;
  std::int64_t total_ = 0;
};

}  // namespace

std::int64_t sum_of_unions(const PieceList& pieces, const IsOuter& outer, std::int64_t grain) {
  std::int64_t total = 0;
  for (const Group& g : group(pieces, outer)) total += UnionSum(g, grain).run();
  return total;
}

std::vector<Region> common_regions(const PieceList& pieces, const IsOuter& outer) {
  std::vector<Region> regions;
  for (const Group& g : group(pieces, outer)) {
    Members all(g.pieces.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    part(g, g.all, all, [&](const Region& cell, const Members&) { regions.push_back(cell); });
  }
  return regions;
}

std::vector<Piece> restricted(const PieceList& pieces, const Region& where) {
  std::vector<Piece> list;
  for (const Piece* piece : pieces) {
    Piece copy = *piece;
    std::size_t found = 0;
    bool some = true;
    for (const Span& limit : where) {
      for (Span& s : copy.region) {
        if (s.loop != limit.loop) continue;
        ++found;
        s.lo = std::max(s.lo, limit.lo);
        s.hi = std::min(s.hi, limit.hi);
        some = some && s.lo <= s.hi;
      }
    }
    if (some && found == where.size()) list.push_back(std::move(copy));
  }
  return list;
}

}  // namespace mica::analysis
