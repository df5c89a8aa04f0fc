#include "codegen/passes/funcs/order_storage.h"

#include <algorithm>
#include <map>
#include <utility>

#include "dsl/expr/node_visit.h"
#include "dsl/expr/traverse.h"

namespace mica::passes {
namespace {

/// The old position of each new one.
using Order = std::vector<std::size_t>;

std::size_t position_of(const FunctionData& func, const std::string& var) {
  return static_cast<std::size_t>(std::find(func.args.begin(), func.args.end(), var) -
                                  func.args.begin());
}

// Named dimensions take their order in the positions that they occupy at that time.
void follow(const FunctionData& func, const directive::ReorderStorage& wanted, Order& order) {
  std::vector<std::size_t> places, dims;
  for (const auto& var : wanted.vars) dims.push_back(position_of(func, var));
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (std::find(dims.begin(), dims.end(), order[k]) != dims.end()) places.push_back(k);
  }
  for (std::size_t i = 0; i < places.size(); ++i) order[places[i]] = dims[i];
}

Order order_of(const FunctionData& func) {
  Order order;
  for (std::size_t d = 0; d < func.args.size(); ++d) order.push_back(d);
  for (const auto& d : func.definitions.front().directives) {
    if (const auto* wanted = std::get_if<directive::ReorderStorage>(&d.op)) follow(func, *wanted, order);
  }
  return order;
}

template <typename T>
std::vector<T> put_in(const Order& order, const std::vector<T>& list) {
  std::vector<T> result;
  for (const std::size_t d : order) result.push_back(list[d]);
  return result;
}

using Orders = std::map<std::string, Order>;

Expr with_orders(const Orders& orders, const Expr& e) {
  return NodeRewriter([&](const Expr& node) {
    const auto* access = node.as<Access>();
    const auto found = access ? orders.find(access->name) : orders.end();
    if (found == orders.end()) return Expr();
    Access moved = *access;
    moved.args = put_in(found->second, access->args);
    return make_expr(node.type(), std::move(moved));
  })(e);
}

}  // namespace

void order_storage(Program& program) {
  Orders orders;
  for (const auto& func : program.pipeline.funcs) {
    Order order = order_of(*func);
    if (!std::is_sorted(order.begin(), order.end())) orders.emplace(func->name, std::move(order));
  }
  if (orders.empty()) return;
  for (auto& func : program.pipeline.funcs) {
    auto copy = std::make_shared<FunctionData>(*func);
    for (auto& definition : copy->definitions) {
      for (auto& e : definition.values) e = with_orders(orders, e);
      for (auto& e : definition.args) e = with_orders(orders, e);
    }
    if (const auto found = orders.find(func->name); found != orders.end()) {
      copy->args = put_in(found->second, copy->args);
      for (auto& definition : copy->definitions) {
        definition.args = put_in(found->second, definition.args);
        if (!definition.recurrence) continue;
        const Order& order = found->second;
        const auto place = std::find(order.begin(), order.end(), definition.recurrence->dim);
        definition.recurrence->dim = static_cast<std::size_t>(place - order.begin());
      }
      if (const auto box = program.required.find(func->name); box != program.required.end()) {
        box->second = put_in(found->second, box->second);
      }
    }
    func = copy;
  }
}

}  // namespace mica::passes
