// Sets of array elements, and how many different ones they have.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "codegen/analysis/traffic/affine_form.h"

namespace mica::analysis {

/// First and last index of each dimension, both included.
using IndexBox = std::vector<std::pair<std::int64_t, std::int64_t>>;

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
  /// The number of different indices.
  [[nodiscard]] std::int64_t size() const;

 private:
  using Interval = std::pair<std::int64_t, std::int64_t>;
  using Product = std::vector<std::size_t>;  ///< for each dimension the number of its list
  /// Lists of intervals that do not touch, in order.
  struct Side {
    std::vector<std::vector<Interval>> lists;
    std::map<std::vector<Interval>, std::size_t> numbers;
    /// By what makes them: first index, then size and count of each step, the smallest first.
    std::map<std::vector<std::int64_t>, std::size_t> made;
  };
  /// The number of the list of what `form` takes in dimension d.
  std::size_t list_of(std::size_t d, const Form& form, const Region& region);
  /// The different indices of dimensions 0 ... last of the products.
  [[nodiscard]] std::int64_t size_of(std::vector<const Product*> products, std::size_t last) const;

  std::int64_t grain_;
  std::vector<Side> sides_;
  std::vector<Product> products_;
};

}  // namespace mica::analysis
