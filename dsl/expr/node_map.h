// Sets and maps of the nodes of expressions, known by address: tables without a piece of memory for each
// node, since expressions of 100,000 nodes outgrow the caches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "dsl/expr/expr.h"
#include "dsl/expr/mix.h"

namespace mica {

/// Where the search for `node` begins in a table of a power of two of places. Neighbours in memory are
/// set far apart: side by side they would make long runs without a free place.
inline std::size_t first_place(const ExprNode* node, std::size_t places) {
  const std::uint64_t mixed = (reinterpret_cast<std::uintptr_t>(node) >> 4) * kMixStep;
  return static_cast<std::size_t>(mixed >> 24) & (places - 1);
}

/// A set of nodes, which others keep alive.
class NodeSet {
 public:
  /// False if it was there.
  bool insert(const ExprNode* node) {
    if (places_.size() < 2 * (count_ + 1)) grow();
    const ExprNode*& place = places_[place_of(node)];
    if (place == node) return false;
    place = node;
    ++count_;
    return true;
  }
  [[nodiscard]] std::size_t count(const ExprNode* node) const {
    return !places_.empty() && places_[place_of(node)] == node ? 1 : 0;
  }
  [[nodiscard]] std::size_t size() const { return count_; }

 private:
  [[nodiscard]] std::size_t place_of(const ExprNode* node) const {
    std::size_t at = first_place(node, places_.size());
    while (places_[at] != nullptr && places_[at] != node) at = (at + 1) & (places_.size() - 1);
    return at;
  }
  void grow() {
    const std::vector<const ExprNode*> before =
        std::exchange(places_, std::vector<const ExprNode*>(places_.empty() ? 16 : 2 * places_.size()));
    for (const ExprNode* node : before) {
      if (node != nullptr) places_[place_of(node)] = node;
    }
  }

  std::vector<const ExprNode*> places_;  // a power of two, half of them free
  std::size_t count_ = 0;
};

/// A map from nodes, which its values or others keep alive, with the calls of std::unordered_map. An
/// iterator is a pointer; values stay where they are. It cannot be walked.
template <typename T>
class NodeMap {
 public:
  using Entry = std::pair<const ExprNode* const, T>;

  NodeMap() = default;
  NodeMap(NodeMap&&) noexcept = default;
  NodeMap& operator=(NodeMap&&) noexcept = default;
  NodeMap(const NodeMap&) = delete;
  NodeMap& operator=(const NodeMap&) = delete;
  ~NodeMap() = default;

  [[nodiscard]] Entry* end() const { return nullptr; }
  [[nodiscard]] Entry* find(const ExprNode* node) const {
    return places_.empty() ? nullptr : places_[place_of(node)].entry;
  }
  [[nodiscard]] std::size_t count(const ExprNode* node) const { return find(node) != nullptr ? 1 : 0; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] T& at(const ExprNode* node) const { return find(node)->second; }
  T& operator[](const ExprNode* node) { return try_emplace(node).first->second; }

  template <typename... Arguments>
  std::pair<Entry*, bool> try_emplace(const ExprNode* node, Arguments&&... arguments) {
    if (places_.size() < 2 * (count_ + 1)) grow();
    Place& place = places_[place_of(node)];
    if (place.entry != nullptr) return {place.entry, false};
    if (blocks_.empty() || blocks_.back().size() == blocks_.back().capacity()) {
      const std::size_t room = blocks_.empty() ? 8 : 2 * blocks_.back().capacity();
      blocks_.emplace_back().reserve(room);
    }
    blocks_.back().emplace_back(std::piecewise_construct, std::forward_as_tuple(node),
                                std::forward_as_tuple(std::forward<Arguments>(arguments)...));
    place = {node, &blocks_.back().back()};
    ++count_;
    return {place.entry, true};
  }
  template <typename Value>
  std::pair<Entry*, bool> emplace(const ExprNode* node, Value&& value) {
    return try_emplace(node, std::forward<Value>(value));
  }
  void clear() { *this = NodeMap(); }

 private:
  struct Place {
    const ExprNode* node = nullptr;
    Entry* entry = nullptr;
  };

  [[nodiscard]] std::size_t place_of(const ExprNode* node) const {
    std::size_t at = first_place(node, places_.size());
    while (places_[at].node != nullptr && places_[at].node != node) at = (at + 1) & (places_.size() - 1);
    return at;
  }
  void grow() {
    const std::vector<Place> before =
        std::exchange(places_, std::vector<Place>(places_.empty() ? 16 : 2 * places_.size()));
    for (const Place& place : before) {
      if (place.node != nullptr) places_[place_of(place.node)] = place;
    }
  }

  std::vector<Place> places_;               // a power of two, half of them free
  std::vector<std::vector<Entry>> blocks_;  // of growing size; none moves its entries
  std::size_t count_ = 0;
};

}  // namespace mica
