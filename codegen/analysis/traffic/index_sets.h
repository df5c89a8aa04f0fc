// Sets of array elements, and how many different ones they have.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "codegen/analysis/traffic/affine_form.h"

namespace mica::analysis {

/// A union of sets of indices, all of equally many dimensions. Each set is made of products: a list of
/// intervals for each dimension. Of many sets few lists differ, so lists have numbers, and what is done
/// for a list is done once.
class IndexUnion {
 public:
  /// Dimension 0 counts in units of `grain` elements: a unit counts where one of its elements is in a
  /// set.
  explicit IndexUnion(std::int64_t grain = 1) : grain_(grain) {}
  /// Adds the indices that the forms, one for each dimension, take in the region.
  void add(const std::vector<Form>& index, const Region& region);
  /// The number of different indices. Makes fewer products of those that there are.
  [[nodiscard]] std::int64_t size();

 private:
  using Interval = std::pair<std::int64_t, std::int64_t>;
  using Intervals = std::vector<Interval>;   ///< that do not touch, in order
  using Product = std::vector<std::size_t>;  ///< for each dimension the number of its list
  using Products = std::vector<Product>;
  struct Step {
    std::int64_t size, count;
    friend auto operator<=>(const Step&, const Step&) = default;
  };
  /// A dimension's lists and their numbers.
  struct Side {
    std::vector<Intervals> lists;
    std::map<Intervals, std::size_t> numbers;
    std::size_t number_of(Intervals list);
  };

  static void repeat(Intervals& values, const Step& step);
  static void merge(Products& products, std::vector<Side>& sides);
  static std::int64_t size_of(const std::vector<Side>& sides, std::vector<const Product*> products,
                              std::size_t last);

  std::int64_t grain_;
  std::vector<Side> sides_;
  /// Products by how they are repeated: in each dimension by its longest step, often of blocks, with
  /// which the others are one before.
  std::map<std::vector<Step>, Products> products_;
};

}  // namespace mica::analysis
