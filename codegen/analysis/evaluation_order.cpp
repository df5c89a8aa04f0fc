#include "codegen/analysis/evaluation_order.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "codegen/analysis/equal_nodes.h"
#include "codegen/ir/kernel.h"
#include "dsl/expr/deep_stack.h"
#include "dsl/expr/node_map.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/traverse.h"

namespace mica::analysis {
namespace {

constexpr int kNoArray = -1, kSeveralArrays = -2;

struct Node {
  Expr e;
  std::vector<int> operands{};  ///< each once
  std::vector<int> users{};
  std::int64_t width = 1;  ///< in registers
  std::int64_t need = 1;   ///< registers that it takes as a tree
  int array = kNoArray;    ///< the only one that is read for it
  bool is_load = false;
};

struct Graph {
  std::vector<Node> nodes;
  std::vector<Expr> values;
  std::vector<int> roots;  ///< the nodes of values that have one
  bool prints = false;
};

class GraphBuilder {
 public:
  explicit GraphBuilder(const std::vector<std::string>& names) : names_(names) {}

  Graph build(const std::vector<Expr>& values) {
    EqualNodes known;
    graph_.values = known.whole(values);
    for (const Expr& value : graph_.values) {
      const Parts& parts = parts_of(value);
      if (!parts.late && is_node(value)) graph_.roots.push_back(parts.nodes.front());
    }
    return std::move(graph_);
  }

 private:
  /// What an expression is computed from: the node that it is, or those below.
  struct Parts {
    std::vector<int> nodes{};
    bool late = false;  ///< uses a name that is bound later
  };

  static bool is_node(const Expr& e) {
    return e.as<IntImm>() == nullptr && e.as<FloatImm>() == nullptr && e.as<VarRef>() == nullptr &&
           e.as<ParamRef>() == nullptr && e.as<Shuffle>() == nullptr && e.as<Broadcast>() == nullptr &&
           e.as<Reinterpret>() == nullptr && e.as<Ramp>() == nullptr;
  }

  bool uses_late_name(const Expr& e) const {
    return std::any_of(names_.begin(), names_.end(),
                       [&](const std::string& name) { return uses_var(e, name); });
  }

  const Parts& parts_of(const Expr& e) {
    const auto found = parts_.find(&e.node());
    if (found != parts_.end()) return found->second;
    Parts parts;
    const auto take = [&](const Expr& child) {
      const Parts& below = parts_of(child);
      parts.late = parts.late || below.late;
      for (const int node : below.nodes) {
        if (std::find(parts.nodes.begin(), parts.nodes.end(), node) == parts.nodes.end()) {
          parts.nodes.push_back(node);
        }
      }
    };
    const auto* load = e.as<Load>();
    if (load != nullptr) {
      parts.late = uses_late_name(e);
    } else if (const auto* let = e.as<Let>()) {
      take(let->value);
      walk(let->body, [&](const Expr& inner) {
        if (inner.as<Print>() != nullptr) graph_.prints = true;
      });
      parts.late = parts.late || uses_late_name(let->body);
    } else if (const auto* var = e.as<VarRef>()) {
      parts.late = std::find(names_.begin(), names_.end(), var->name) != names_.end();
    } else {
      for_each_child(e, take);
    }
    if (is_node(e) && !parts.late) parts.nodes = {add(e, load, std::move(parts.nodes))};
    return parts_.emplace(&e.node(), std::move(parts)).first->second;
  }

  int add(const Expr& e, const Load* load, std::vector<int> operands) {
    if (e.as<Print>() != nullptr) graph_.prints = true;
    const int number = static_cast<int>(graph_.nodes.size());
    Node node{e};
    node.width = std::max<std::int64_t>(e.type().lanes * e.type().bytes() / ir::kRegisterBytes, 1);
    node.is_load = load != nullptr;
    if (load != nullptr) {
      node.array = arrays_.emplace(load->buffer, static_cast<int>(arrays_.size())).first->second;
    }
    for (const int operand : operands) {
      Node& below = at(operand);
      below.users.push_back(number);
      if (below.array == kNoArray) continue;
      node.array = node.array == kNoArray || node.array == below.array ? below.array : kSeveralArrays;
    }
    std::stable_sort(operands.begin(), operands.end(),
                     [&](int a, int b) { return at(a).need > at(b).need; });
    std::int64_t held = 0;
    node.need = node.width;
    for (const int operand : operands) {
      node.need = std::max(node.need, held + at(operand).need);
      held += at(operand).width;
    }
    node.operands = std::move(operands);
    graph_.nodes.push_back(std::move(node));
    return number;
  }
  Node& at(int node) { return graph_.nodes[static_cast<std::size_t>(node)]; }

  const std::vector<std::string>& names_;
  Graph graph_;
  NodeMap<Parts> parts_;
  std::map<std::string, int> arrays_;
};

/// Puts nodes in order, operands first.
class Sequencer {
 public:
  Sequencer(const Graph& graph, bool together)
      : graph_(graph),
        together_(together),
        begun_(graph.nodes.size()),
        done_(graph.nodes.size()),
        tried_(graph.nodes.size(), kNever) {
    for (const Node& node : graph.nodes) {
      waiting_.push_back(static_cast<int>(node.operands.size()));
      uses_.push_back(static_cast<int>(node.users.size()));
    }
    for (const int root : graph.roots) ++uses_[static_cast<std::size_t>(root)];
  }

  std::vector<int> run(const std::vector<int>& roots) {
    for (const int root : roots) compute(root);
    return std::move(order_);
  }

 private:
  static constexpr std::size_t kMostCalls = 16;  ///< a node
  static constexpr std::size_t kNever = ~std::size_t{0};
  static std::size_t place(int node) { return static_cast<std::size_t>(node); }
  const Node& at(int node) const { return graph_.nodes[place(node)]; }

  /// Does nothing where that needs a node that is waited for already: a chain that was brought along.
  void compute(int number) {
    if (done_[place(number)] || begun_[place(number)]) return;
    // As much was computed when it was tried before: it waits for the same again. Where each link of a
    // chain is read twice, so many tries would be twice as many a link.
    if (tried_[place(number)] == order_.size()) return;
    const std::size_t before = order_.size();
    begun_[place(number)] = true;
    ++calls_;
    const Node& node = at(number);
    for (const int operand : node.operands) compute(operand);
    if (node.is_load && together_ && calls_ < kMostCalls * done_.size()) bring_chains_here(number);
    if (!done_[place(number)] && waiting_[place(number)] == 0) emit(number);
    begun_[place(number)] = false;
    tried_[place(number)] = before;
  }

  /// The sums over the load's array that it is the next term of.
  void bring_chains_here(int load) {
    for (const int user : at(load).users) {
      if (done_[place(user)] || at(user).array != at(load).array) continue;
      for (const int operand : at(user).operands) {
        if (!at(operand).is_load) compute(operand);
      }
    }
  }

  /// And what can be computed behind it without holding more.
  void emit(int first) {
    std::vector<int> ready{first};
    while (!ready.empty()) {
      const int number = ready.back();
      ready.pop_back();
      if (done_[place(number)]) continue;
      done_[place(number)] = true;
      order_.push_back(number);
      for (const int operand : at(number).operands) --uses_[place(operand)];
      for (auto user = at(number).users.rbegin(); user != at(number).users.rend(); ++user) {
        if (--waiting_[place(*user)] == 0 && together_ && is_free(*user)) ready.push_back(*user);
      }
    }
  }

  [[nodiscard]] bool is_free(int number) const {
    const Node& node = at(number);
    if (node.array >= 0) return true;
    return std::any_of(node.operands.begin(), node.operands.end(),
                       [&](int operand) { return uses_[place(operand)] == 1; });
  }

  const Graph& graph_;
  bool together_;
  std::vector<char> begun_, done_;
  std::vector<std::size_t> tried_;  ///< how much was computed when the last try of a node began
  std::vector<int> waiting_;        ///< operands that are not computed yet
  std::vector<int> uses_;           ///< by nodes that are not computed yet, and behind all of them
  std::vector<int> order_;
  std::size_t calls_ = 0;
};

std::int64_t registers_of(const Graph& graph, const std::vector<int>& order) {
  std::vector<std::size_t> uses;
  for (const Node& node : graph.nodes) uses.push_back(node.users.size());
  for (const int root : graph.roots) ++uses[static_cast<std::size_t>(root)];
  std::int64_t held = 0, most = 0;
  for (const int number : order) {
    const Node& node = graph.nodes[static_cast<std::size_t>(number)];
    for (const int operand : node.operands) {
      if (--uses[static_cast<std::size_t>(operand)] == 0) {
        held -= graph.nodes[static_cast<std::size_t>(operand)].width;
      }
    }
    held += node.width;
    most = std::max(most, held);
  }
  return most;
}

/// A chain brought along may bring another: as many calls may wait as there are nodes.
std::vector<int> sequence(const Graph& graph, const std::vector<int>& roots, bool together) {
  return made_with_stack_for(static_cast<std::int64_t>(graph.nodes.size()),
                             [&] { return Sequencer(graph, together).run(roots); });
}

EvaluationOrder named(const Graph& graph, const std::vector<int>& order) {
  EvaluationOrder result{graph.values, {}, registers_of(graph, order)};
  for (const int number : order) result.order.push_back(graph.nodes[static_cast<std::size_t>(number)].e);
  return result;
}

}  // namespace

EvaluationOrder plain_order(const std::vector<Expr>& values, const std::vector<std::string>& names) {
  const Graph graph = GraphBuilder(names).build(values);
  return named(graph, sequence(graph, graph.roots, /*together=*/false));
}

std::optional<EvaluationOrder> few_registers_order(const std::vector<Expr>& values,
                                                   const std::vector<std::string>& names,
                                                   std::int64_t enough) {
  constexpr std::size_t kMostNodes = 200'000;
  const Graph graph = GraphBuilder(names).build(values);
  if (graph.prints || graph.nodes.size() > kMostNodes) return std::nullopt;
  std::int64_t fewest = registers_of(graph, sequence(graph, graph.roots, /*together=*/false));
  if (fewest <= enough) return std::nullopt;
  std::vector<int> best;
  const auto try_roots = [&](const std::vector<int>& roots) {
    std::vector<int> order = sequence(graph, roots, /*together=*/true);
    const std::int64_t registers = registers_of(graph, order);
    if (registers >= fewest) return;
    fewest = registers;
    best = std::move(order);
  };
  std::vector<int> roots = graph.roots;
  const auto need = [&](int root) { return graph.nodes[static_cast<std::size_t>(root)].need; };
  try_roots(roots);
  try_roots({roots.rbegin(), roots.rend()});
  std::stable_sort(roots.begin(), roots.end(), [&](int a, int b) { return need(a) > need(b); });
  try_roots(roots);
  try_roots({roots.rbegin(), roots.rend()});
  if (best.empty()) return std::nullopt;
  return named(graph, best);
}

}  // namespace mica::analysis
