#include "codegen/passes/loops/keep_sums.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codegen/analysis/linear.h"
#include "codegen/ir/equal.h"
#include "codegen/ir/traverse.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/traverse.h"

namespace mica::passes {
namespace {

bool is_element_loop(const ir::For& loop) {
  return (loop.kind == LoopKind::Vectorized || loop.kind == LoopKind::Unrolled) &&
         as_int(loop.extent) != nullptr && as_int(loop.min) != nullptr && *as_int(loop.min) == 0;
}

/// Is every point of the loops another place? Where, of each dimension, the steps of the loops in it are
/// wider than all that narrower ones reach, as in 64*i + 16*j + lane.
bool are_apart(const std::vector<Expr>& index, const std::vector<const ir::For*>& loops) {
  std::set<std::string> known;
  for (const Expr& e : index) {
    analysis::Linear form = analysis::linearize(e);
    std::vector<std::pair<std::int64_t, std::int64_t>> steps;  // and how often
    std::vector<std::string> names;
    for (const ir::For* loop : loops) {
      const std::int64_t step = std::abs(form.take(loop->name));
      if (step == 0 || known.count(loop->name) > 0) continue;
      steps.emplace_back(step, *as_int(loop->extent));
      names.push_back(loop->name);
    }
    const auto is_left = [&](const auto& term) {
      return std::any_of(loops.begin(), loops.end(),
                         [&](const ir::For* loop) { return uses_var(term.first, loop->name); });
    };
    if (std::any_of(form.terms.begin(), form.terms.end(), is_left)) return false;
    std::sort(steps.begin(), steps.end());
    std::int64_t reach = 0;
    bool apart = true;
    for (const auto& [step, count] : steps) {
      apart = apart && step > reach;
      reach += step * (count - 1);
    }
    if (apart) known.insert(names.begin(), names.end());
  }
  return known.size() == loops.size();
}

/// A loop as a sum at points: what it stores to, always at the same places.
class Sum {
 public:
  /// `lanes`: the loop over lanes directly around, or none.
  Sum(const ir::For& loop, const ir::For* lanes) {
    if (lanes != nullptr) elements_.push_back(lanes);
    stores_ = stores_of(ir::make_stmt(loop));
    if (legal_) check_loads(loop);
    legal_ = legal_ && stores_.defined() && bytes() <= kMostKeptBytes;
  }

  [[nodiscard]] bool is_legal() const { return legal_; }

  /// The arrays in registers, around `body`.
  [[nodiscard]] ir::Stmt with_arrays(ir::Stmt body) const {
    for (const auto& [name, array] : arrays_) {
      ir::Allocate alloc;
      alloc.buffer = kept(name);
      alloc.type = array.type;
      alloc.memory = MemoryType::Register;
      for (const ir::For* loop : array.loops) {
        alloc.mins.push_back(Expr(0));
        alloc.extents.push_back(loop->extent);
      }
      if (array.loops.empty()) {
        alloc.mins.push_back(Expr(0));
        alloc.extents.push_back(Expr(1));
      }
      alloc.body = std::move(body);
      body = ir::make_stmt(std::move(alloc));
    }
    return body;
  }
  /// What is there before the loop, and after it.
  [[nodiscard]] ir::Stmt loads() const {
    return each_store([&](const ir::Store& at) {
      return store(kept(at.buffer), place_of(at.buffer), load_of(at.buffer, at.index, at.value.type()));
    });
  }
  [[nodiscard]] ir::Stmt stores() const {
    return each_store([&](const ir::Store& at) {
      return store(at.buffer, at.index, load_of(kept(at.buffer), place_of(at.buffer), at.value.type()));
    });
  }
  /// The loop's body with the arrays in place of memory.
  [[nodiscard]] ir::Stmt inside(const ir::Stmt& s) const {
    NodeRewriter rewrite([&](const Expr& e) -> Expr {
      const auto* load = e.as<Load>();
      if (load == nullptr || arrays_.count(load->buffer) == 0) return {};
      return load_of(kept(load->buffer), place_of(load->buffer), e.type());
    });
    return inside(s, rewrite);
  }

 private:
  struct Array {
    Type type;
    std::vector<Expr> index;
    std::vector<const ir::For*> loops;  ///< around its stores, lanes first
  };

  static std::string kept(const std::string& name) { return name + ".kept"; }
  static Expr load_of(const std::string& buffer, const std::vector<Expr>& index, Type type) {
    return make_expr(type, Load{buffer, index, {}});
  }
  static ir::Stmt store(const std::string& buffer, const std::vector<Expr>& index, const Expr& value) {
    ir::Store result;
    result.buffer = buffer;
    result.index = index;
    result.value = value;
    return ir::make_stmt(std::move(result));
  }
  [[nodiscard]] std::vector<Expr> place_of(const std::string& name) const {
    std::vector<Expr> place;
    for (const ir::For* loop : arrays_.at(name).loops) place.push_back(make_var(loop->name));
    if (place.empty()) place.push_back(Expr(0));
    return place;
  }

  ir::Stmt refuse() {
    legal_ = false;
    return {};
  }
  [[nodiscard]] bool changes(const Expr& e) const {
    return std::any_of(changing_.begin(), changing_.end(),
                       [&](const std::string& name) { return uses_var(e, name); });
  }

  /// The stores of `s` with what is around them that does not change from iteration to iteration;
  /// undefined where there are none, or where they are refused.
  ir::Stmt stores_of(const ir::Stmt& s) {
    if (!legal_ || !s.defined()) return {};
    if (const auto* store = s.as<ir::Store>()) return place_of(*store);
    if (const auto* block = s.as<ir::Block>()) {
      std::vector<ir::Stmt> stmts;
      for (const ir::Stmt& child : block->stmts) {
        const ir::Stmt found = stores_of(child);
        const auto same = [&](const ir::Stmt& other) { return ir::equal(other, found); };
        if (found.defined() && std::none_of(stmts.begin(), stmts.end(), same)) stmts.push_back(found);
      }
      return ir::make_block(std::move(stmts));
    }
    if (const auto* let = s.as<ir::LetStmt>()) return within(let->name, let->body);
    if (const auto* branch = s.as<ir::If>()) {
      const ir::Stmt yes = stores_of(branch->then_case), no = stores_of(branch->else_case);
      if (changes(branch->condition)) return yes.defined() && ir::equal(yes, no) ? yes : refuse();
      if (!yes.defined()) return refuse();
      return ir::make_stmt(ir::If{branch->condition, yes, no});
    }
    const auto* loop = s.as<ir::For>();
    if (loop == nullptr) return refuse();
    if (loop->kind == LoopKind::Serial) return within(loop->name, loop->body);
    if (!is_element_loop(*loop)) return refuse();
    if (!is_stored_at(*loop)) {
      return loop->kind == LoopKind::Unrolled ? within(loop->name, loop->body) : refuse();
    }
    elements_.push_back(loop);
    const ir::Stmt body = stores_of(loop->body);
    elements_.pop_back();
    if (!body.defined()) return {};
    return ir::make_stmt(ir::For{loop->name, loop->min, loop->extent, loop->kind, body, loop->rolled});
  }
  /// Does a store's place depend on the loop? Else its iterations add to the same.
  static bool is_stored_at(const ir::For& loop) {
    bool found = false;
    ir::walk(
        loop.body,
        [&](const ir::Stmt& s) {
          const auto* store = s.as<ir::Store>();
          found = found || (store && std::any_of(store->index.begin(), store->index.end(),
                                                 [&](const Expr& e) { return uses_var(e, loop.name); }));
        },
        nullptr);
    return found;
  }
  ir::Stmt within(const std::string& name, const ir::Stmt& body) {
    const bool is_new = changing_.insert(name).second;
    const ir::Stmt result = stores_of(body);
    if (is_new) changing_.erase(name);
    return result;
  }
  /// The store as a place, of no value.
  ir::Stmt place_of(const ir::Store& store) {
    const bool plain =
        !store.atomic && !store.block.defined() && !store.streamed && store.value.type().is_scalar();
    const bool changed =
        std::any_of(store.index.begin(), store.index.end(), [&](const Expr& e) { return changes(e); });
    if (!plain || changed || !are_apart(store.index, elements_)) return refuse();
    std::vector<const ir::For*> loops = elements_;
    std::stable_partition(loops.begin(), loops.end(),
                          [](const ir::For* loop) { return loop->kind == LoopKind::Vectorized; });
    const auto [at, is_new] =
        arrays_.try_emplace(store.buffer, Array{store.value.type(), store.index, loops});
    if (!is_new && !(same(at->second.index, store.index) && same(at->second.loops, loops))) {
      return refuse();
    }
    ir::Store place = store;
    place.value = make_const(store.value.type(), std::int64_t{0});
    return ir::make_stmt(std::move(place));
  }
  static bool same(const std::vector<Expr>& a, const std::vector<Expr>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Expr& one, const Expr& other) { return equal(one, other); });
  }
  static bool same(const std::vector<const ir::For*>& a, const std::vector<const ir::For*>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const ir::For* one, const ir::For* other) {
                        return one->name == other->name && one->kind == other->kind &&
                               equal(one->extent, other->extent);
                      });
  }

  /// Reads of the arrays are of the places that are stored to, and whatever is stored reads some: else
  /// what is there before may be nothing.
  void check_loads(const ir::For& loop) {
    ir::walk(loop.body, nullptr, [&](const Expr& e) {
      const auto* load = e.as<Load>();
      const auto array = load != nullptr ? arrays_.find(load->buffer) : arrays_.end();
      if (array != arrays_.end()) legal_ = legal_ && same(array->second.index, load->index);
    });
    std::set<std::string> sums;
    check_sums(loop.body, sums);
  }
  /// `sums`: the lets around that read the arrays.
  void check_sums(const ir::Stmt& s, std::set<std::string>& sums) {
    const auto reads = [&](const Expr& value) {
      bool found = false;
      visit_nodes({value}, [&](const Expr& e) {
        const auto* load = e.as<Load>();
        const auto* var = e.as<VarRef>();
        found = found || (load && arrays_.count(load->buffer) > 0) || (var && sums.count(var->name) > 0);
      });
      return found;
    };
    if (const auto* let = s.as<ir::LetStmt>()) {
      const bool is_new = reads(let->value) && sums.insert(let->name).second;
      check_sums(let->body, sums);
      if (is_new) sums.erase(let->name);
      return;
    }
    if (const auto* store = s.as<ir::Store>()) legal_ = legal_ && reads(store->value);
    ir::for_each_child(
        s, [&](const ir::Stmt& child) { check_sums(child, sums); }, nullptr);
  }

  [[nodiscard]] std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (const auto& [name, array] : arrays_) {
      std::int64_t elements = 1;
      for (const ir::For* loop : array.loops) elements *= *as_int(loop->extent);
      sum += elements * array.type.bytes();
    }
    return sum;
  }

  template <typename Make>
  [[nodiscard]] ir::Stmt each_store(const Make& make) const {
    return each_store(stores_, make);
  }
  template <typename Make>
  static ir::Stmt each_store(const ir::Stmt& s, const Make& make) {
    if (const auto* at = s.as<ir::Store>()) return make(*at);
    return ir::map_children(
        s, [&](const ir::Stmt& child) { return each_store(child, make); },
        [](const Expr& e) { return e; });
  }
  ir::Stmt inside(const ir::Stmt& s, NodeRewriter& rewrite) const {
    const auto* at = s.as<ir::Store>();
    if (at != nullptr) {
      ir::Store result = *at;
      result.buffer = kept(at->buffer);
      result.index = place_of(at->buffer);
      result.value = rewrite(at->value);
      return ir::make_stmt(std::move(result));
    }
    return ir::map_children(
        s, [&](const ir::Stmt& child) { return inside(child, rewrite); },
        [&](const Expr& e) { return rewrite(e); });
  }

  bool legal_ = true;
  std::vector<const ir::For*>
      elements_;                    // loops over lanes, or to be written out, around what is looked at
  std::set<std::string> changing_;  // names of loops and lets inside
  std::map<std::string, Array> arrays_;
  ir::Stmt stores_;
};

ir::For with_body(const ir::For& loop, const ir::Stmt& body) {
  return {loop.name, loop.min, loop.extent, loop.kind, body, loop.rolled};
}

/// The sum of a loop over lanes, whose body is one, behind lets.
std::optional<ir::Stmt> kept_in_lanes(const ir::For& lanes) {
  std::vector<const ir::LetStmt*> lets;
  const ir::Stmt* body = &lanes.body;
  for (const auto* let = body->as<ir::LetStmt>(); let != nullptr; let = body->as<ir::LetStmt>()) {
    lets.push_back(let);
    body = &let->body;
  }
  const auto* loop = body->as<ir::For>();
  if (loop == nullptr || loop->kind != LoopKind::Serial || !is_element_loop(lanes)) return std::nullopt;
  const Sum sum(*loop, &lanes);
  if (!sum.is_legal()) return std::nullopt;
  const auto each_lane = [&](ir::Stmt s) {
    for (auto let = lets.rbegin(); let != lets.rend(); ++let) {
      s = ir::make_stmt(ir::LetStmt{(*let)->name, (*let)->value, s});
    }
    return ir::make_stmt(with_body(lanes, s));
  };
  return sum.with_arrays(
      ir::make_block({each_lane(sum.loads()), each_lane(sum.inside(*body)), each_lane(sum.stores())}));
}

ir::Stmt run(const ir::Stmt& s) {
  if (const auto* loop = s.as<ir::For>()) {
    if (loop->kind == LoopKind::Vectorized) {
      const auto kept = kept_in_lanes(*loop);
      return kept ? *kept : s;  // an array inside of lanes would be one of each
    }
    if (loop->kind == LoopKind::Serial) {
      const Sum sum(*loop, nullptr);
      if (sum.is_legal()) {
        return sum.with_arrays(ir::make_block({sum.loads(), sum.inside(s), sum.stores()}));
      }
    }
  }
  return ir::map_children(
      s, [](const ir::Stmt& child) { return run(child); }, [](const Expr& e) { return e; });
}

}  // namespace

void keep_sums(Program& program) {
  if (!program.options.variant.separate) return;
  for (auto& nest : program.nests) {
    if (!nest.on_device) nest.body = run(nest.body);
  }
}

}  // namespace mica::passes
