#include "codegen/analysis/array_origins.h"

#include <algorithm>

#include "codegen/analysis/linear.h"
#include "codegen/ir/traverse.h"
#include "dsl/expr/traverse.h"

namespace mica::analysis {
namespace {

using SymbolSum = std::map<std::string, std::int64_t>;  // symbol -> coefficient

class OriginFinder {
 public:
  explicit OriginFinder(const std::set<std::string>& symbols) : symbols_(symbols) {}

  Origins run(const ir::Stmt& nest) {
    ir::walk(
        nest, [this](const ir::Stmt& s) { count(s); },
        [this](const Expr& e) {
          if (const auto* load = e.as<Load>()) count(load->buffer, load->index);
        });
    Origins origins;
    for (const auto& [array, dimensions] : counts_) {
      if (local_.count(array)) continue;
      std::vector<Expr> origin;
      bool any = false;
      for (const auto& sums : dimensions) {
        const auto most = std::max_element(
            sums.begin(), sums.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
        Linear form;
        for (const auto& [symbol, k] : most->first) form.add_term(make_var(symbol), k);
        any = any || !form.is_constant();
        origin.push_back(to_expr(form));
      }
      if (any) origins.emplace(array, std::move(origin));
    }
    return origins;
  }

 private:
  void count(const ir::Stmt& s) {
    if (const auto* alloc = s.as<ir::Allocate>()) local_.insert(alloc->buffer);
    if (const auto* store = s.as<ir::Store>()) count(store->buffer, store->index);
    if (const auto* copy = s.as<ir::AsyncCopy>()) count(copy->from, copy->from_index);
    if (const auto* copy = s.as<ir::BulkCopy>()) count(copy->from, copy->from_index);
  }

  void count(const std::string& array, const std::vector<Expr>& index) {
    auto& dimensions = counts_[array];
    dimensions.resize(index.size());
    for (std::size_t d = 0; d < index.size(); ++d) ++dimensions[d][sum_of(index[d])];
  }

  // The symbols that an index moves with: of the lesser of two those that both do.
  [[nodiscard]] SymbolSum sum_of(const Expr& index) const {
    SymbolSum sum;
    for (const auto& [atom, k] : linearize(index).terms) {
      const auto* var = atom.as<VarRef>();
      if (var && symbols_.count(var->name)) sum.emplace(var->name, k);
      const auto* least = atom.as<Binary>();
      if (least == nullptr || least->op != BinaryOp::Min || k != 1) continue;
      const SymbolSum other = sum_of(least->b);
      for (const auto& [symbol, times] : sum_of(least->a)) {
        const auto found = other.find(symbol);
        if (found != other.end() && found->second == times) sum.emplace(symbol, times);
      }
    }
    return sum;
  }

  const std::set<std::string>& symbols_;
  std::set<std::string> local_;
  std::map<std::string, std::vector<std::map<SymbolSum, int>>> counts_;  // [array][dimension][sum]
};

}  // namespace

Origins array_origins(const ir::Stmt& nest, const std::set<std::string>& symbols) {
  return OriginFinder(symbols).run(nest);
}

}  // namespace mica::analysis
