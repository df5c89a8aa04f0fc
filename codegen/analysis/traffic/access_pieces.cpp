#include "codegen/analysis/traffic/access_pieces.h"

#include <algorithm>

#include "codegen/ir/traverse.h"
#include "dsl/expr/names.h"
#include "dsl/expr/traverse.h"

namespace mica::analysis {
namespace {

bool is_block(const ir::For& loop) { return loop.kind == LoopKind::GpuBlock; }

// One load in a statement's value, with its forms.
struct Tap {
  const Load* load;
  Type type;
  std::vector<Form> index;
};

class Walker {
 public:
  Walker(Pieces& out, const Symbols& symbols) : out_(out), reader_(symbols) {}

  void run(const ir::Stmt& s, const Region& region) {
    if (!s.defined()) return;
    if (const auto* block = s.as<ir::Block>()) {
      for (const auto& child : block->stmts) run(child, region);
    } else if (const auto* produce = s.as<ir::Produce>()) {
      const std::string outer = func_;
      func_ = produce->func;
      run(produce->body, region);
      func_ = outer;
    } else if (const auto* alloc = s.as<ir::Allocate>()) {
      allocate(s, *alloc, region);
    } else if (const auto* let = s.as<ir::LetStmt>()) {
      bind(s, *let, region);
    } else if (const auto* branch = s.as<ir::If>()) {
      const Reading condition = reader_.read(branch->condition, region);
      if (again(condition, s, region)) return;
      const auto known = condition.form ? constant_of(*condition.form, region) : std::optional(1L);
      if (!known) return again(s, region, halve(*condition.form, region));
      if (!condition.form) out_.data_dependent = true;
      run(*known ? branch->then_case : branch->else_case, region);
    } else if (const auto* loop = s.as<ir::For>()) {
      enter(s, *loop, region);
    } else if (const auto* store = s.as<ir::Store>()) {
      access(s, *store, region);
    } else if (const auto* async = s.as<ir::AsyncCopy>()) {
      copy(s, *async, async->count, region);
    } else if (const auto* bulk = s.as<ir::BulkCopy>()) {
      const Reading count = reader_.read(bulk->count, region);
      if (again(count, s, region)) return;
      internal_check(count.form.has_value(), "a copy's length is known");
      const auto known = constant_of(*count.form, region);
      if (!known) return again(s, region, halve(*count.form, region));
      copy(s, *bulk, *known, region);
    }
  }

 private:
  void again(const ir::Stmt& s, const Region& region, const Cut& where) {
    const auto [first, second] = cut(region, where);
    run(s, first);
    run(s, second);
  }
  bool again(const Reading& reading, const ir::Stmt& s, const Region& region) {
    if (!reading.cut) return false;
    again(s, region, *reading.cut);
    return true;
  }

  int loop_number(const ir::Stmt& s, const std::string& name, LoopKind kind) {
    for (std::size_t i = 0; i < met_.size(); ++i) {
      if (met_[i] == &s.node()) return static_cast<int>(i);
    }
    met_.push_back(&s.node());
    out_.loops.push_back({name, kind});
    return static_cast<int>(met_.size()) - 1;
  }

  void enter(const ir::Stmt& s, const ir::For& loop, const Region& region) {
    const Reading min = reader_.read(loop.min, region), extent = reader_.read(loop.extent, region);
    if (again(min, s, region) || again(extent, s, region)) return;
    if (!min.form || !extent.form) {
      throw UserError("the loop " + printed(loop.name) + " runs from " + to_string(loop.min) + " for " +
                      to_string(loop.extent) +
                      " iterations, which the given extents do not tell: give " +
                      "the values of its symbols");
    }
    const auto count = constant_of(*extent.form, region);
    if (!count) return again(s, region, halve(*extent.form, region));
    if (*count <= 0) return;
    const int number = loop_number(s, loop.name, loop.kind);
    if (is_block(loop) &&
        std::find(out_.block_loops.begin(), out_.block_loops.end(), number) == out_.block_loops.end()) {
      out_.block_loops.insert(out_.block_loops.begin(), number);
      out_.grid.insert(out_.grid.begin(), *count);
    }
    Region inside = region;
    inside.push_back({number, 0, *count - 1});
    Form value = *min.form;
    value.slope.resize(inside.size(), 0);
    value.slope.back() = 1;
    const auto former = reader_.bind(loop.name, std::move(value));
    run(loop.body, inside);
    reader_.restore(loop.name, former);
  }

  void bind(const ir::Stmt& s, const ir::LetStmt& let, const Region& region) {
    std::vector<Tap> taps;
    if (const auto where = gather(let.value, region, taps)) return again(s, region, *where);
    if (!taps.empty()) {  // a value, not an index
      emit(taps, -1, region);
      value_operations_[let.name] = operations(let.value);
      run(let.body, region);
      value_operations_.erase(let.name);
      return;
    }
    const Reading value = reader_.read(let.value, region);
    if (again(value, s, region)) return;
    if (!value.form) return run(let.body, region);
    const auto former = reader_.bind(let.name, *value.form);
    run(let.body, region);
    reader_.restore(let.name, former);
  }

  void allocate(const ir::Stmt& s, const ir::Allocate& alloc, const Region& region) {
    std::vector<Form> mins;
    for (const auto& min : alloc.mins) {
      const Reading reading = reader_.read(min, region);
      if (again(reading, s, region)) return;
      mins.push_back(reading.form.value_or(Form{}));
    }
    PieceArray& array = out_.arrays[static_cast<std::size_t>(array_number(alloc.buffer, alloc.type))];
    if (array.allocate == nullptr) {
      array.memory = alloc.memory;
      array.allocate = &alloc;
      array.mins = std::move(mins);
    }
    run(alloc.body, region);
  }

  int array_number(const std::string& name, Type type) {
    for (std::size_t i = 0; i < out_.arrays.size(); ++i) {
      if (out_.arrays[i].name == name) return static_cast<int>(i);
    }
    PieceArray array;
    array.name = name;
    array.type = type;
    out_.arrays.push_back(std::move(array));
    return static_cast<int>(out_.arrays.size()) - 1;
  }

  // ---- accesses ------------------------------------------------------------------------------------

  std::optional<Cut> forms(const std::vector<Expr>& index, const Region& region,
                           std::vector<Form>& found) {
    for (const auto& e : index) {
      const Reading reading = reader_.read(e, region);
      if (reading.cut) return reading.cut;
      if (!reading.form) out_.data_dependent = true;
      found.push_back(reading.form.value_or(Form{}));
    }
    return {};
  }

  // The loads in `e`, those in indices included, or a cut that must come first.
  std::optional<Cut> gather(const Expr& e, const Region& region, std::vector<Tap>& taps) {
    if (const auto* let = e.as<Let>()) {
      if (const auto where = gather(let->value, region, taps)) return where;
      const Reading value = reader_.read(let->value, region);
      if (value.cut) return value.cut;
      if (!value.form) return gather(let->body, region, taps);
      const auto former = reader_.bind(let->name, *value.form);
      const auto where = gather(let->body, region, taps);
      reader_.restore(let->name, former);
      return where;
    }
    std::optional<Cut> where;
    for_each_child(e, [&](const Expr& child) {
      if (!where) where = gather(child, region, taps);
    });
    const auto* load = e.as<Load>();
    if (where || load == nullptr) return where;
    Tap tap{load, e.type().element(), {}};
    if (const auto first = forms(load->index, region, tap.index)) return first;
    const bool known = std::any_of(taps.begin(), taps.end(), [&](const Tap& other) {
      return other.load->buffer == load->buffer &&
             std::equal(other.index.begin(), other.index.end(), tap.index.begin(), tap.index.end(),
                        same_form);
    });
    if (!known) taps.push_back(std::move(tap));
    return {};
  }

  void emit(const std::vector<Tap>& taps, int copy, const Region& region) {
    for (const Tap& tap : taps) {
      Piece piece;
      piece.array = array_number(tap.load->buffer, tap.type);
      if (out_.array(piece).memory == MemoryType::Register) continue;
      piece.copy = copy;
      piece.region = region;
      piece.index = tap.index;
      out_.pieces.push_back(std::move(piece));
    }
  }

  void access(const ir::Stmt& s, const ir::Store& store, const Region& region) {
    std::vector<Tap> taps;
    std::vector<Form> index;
    auto where = gather(store.value, region, taps);
    for (const auto& e : store.index) {
      if (!where) where = gather(e, region, taps);
    }
    if (!where) where = forms(store.index, region, index);
    if (where) return again(s, region, *where);
    Piece piece;
    piece.array = array_number(store.buffer, store.value.type().element());
    out_.arrays[static_cast<std::size_t>(piece.array)].func = func_;
    const auto* copied = store.value.as<Load>();
    if (copied != nullptr) piece.copy = array_number(copied->buffer, store.value.type().element());
    emit(taps, copied != nullptr ? piece.array : -1, region);
    piece.store = true;
    piece.region = region;
    piece.index = std::move(index);
    piece.operations = operations(store.value);
    out_.pieces.push_back(std::move(piece));
  }

  std::int64_t operations(const Expr& e) const {
    if (e.as<Load>() != nullptr) return 0;
    if (const auto* var = e.as<VarRef>()) {
      const auto known = value_operations_.find(var->name);
      return known == value_operations_.end() ? 0 : known->second;
    }
    std::int64_t count = 0;
    if (e.as<Fma>() != nullptr) count = 2;
    if (const auto* op = e.as<Binary>())
      count = op->op == BinaryOp::And || op->op == BinaryOp::Or ? 0 : 1;
    if (const auto* op = e.as<Unary>()) count = op->op >= UnaryOp::Sqrt ? 1 : 0;
    for_each_child(e, [&](const Expr& child) { count += operations(child); });
    return count;
  }

  // `count` neighbouring elements from one array to another, as a loop over them.
  template <typename Copy>
  void copy(const ir::Stmt& s, const Copy& c, std::int64_t count, const Region& region) {
    Piece from, to;
    auto where = forms(c.from_index, region, from.index);
    if (!where) where = forms(c.to_index, region, to.index);
    if (where) return again(s, region, *where);
    if (count <= 0) return;
    to.array = from.copy = array_number(c.to, {});
    from.array = to.copy = array_number(c.from, out_.array(to).type);
    to.store = true;
    for (Piece* piece : {&from, &to}) {
      piece->region = region;
      if (count > 1) {
        piece->region.push_back({loop_number(s, c.to + ".lane", LoopKind::Vectorized), 0, count - 1});
        piece->index[0].slope.resize(piece->region.size(), 0);
        piece->index[0].slope.back() = 1;
      }
      out_.pieces.push_back(std::move(*piece));
    }
  }

  Pieces& out_;
  FormReader reader_;
  std::vector<const ir::StmtNode*> met_;
  std::string func_;
  std::map<std::string, std::int64_t> value_operations_;  // of LetStmts around
};

// The threads of a block: the largest extents of its thread loops, the innermost being x.
void measure_threads(const ir::Stmt& s, std::int64_t (&threads)[3]) {
  std::vector<std::int64_t> extents;
  ir::Stmt at = s;
  for (;;) {
    const auto* loop = at.as<ir::For>();
    if (const auto* produce = at.as<ir::Produce>()) {
      at = produce->body;
    } else if (loop != nullptr && loop->kind == LoopKind::GpuThread) {
      const auto* extent = as_int(loop->extent);
      internal_check(extent != nullptr, "thread loops have constant extents");
      extents.push_back(*extent);
      at = loop->body;
    } else {
      break;
    }
  }
  for (std::size_t i = 0; i < std::min<std::size_t>(extents.size(), 3); ++i) {
    threads[i] = std::max(threads[i], extents[extents.size() - 1 - i]);
  }
  if (!at.defined()) return;
  ir::for_each_child(
      at, [&](const ir::Stmt& child) { measure_threads(child, threads); }, nullptr);
}

}  // namespace

Pieces read_pieces(const ir::Stmt& body, const Symbols& symbols) {
  Pieces pieces;
  Walker(pieces, symbols).run(body, {});
  measure_threads(body, pieces.threads);
  // Arrays that no block of this grid uses have their place in it all the same.
  ir::walk(
      body,
      [&](const ir::Stmt& s) {
        const auto* alloc = s.as<ir::Allocate>();
        if (alloc == nullptr) return;
        const bool known =
            std::any_of(pieces.arrays.begin(), pieces.arrays.end(),
                        [&](const PieceArray& array) { return array.name == alloc->buffer; });
        if (!known) pieces.arrays.push_back({alloc->buffer, alloc->type, alloc->memory, {}, alloc, {}});
      },
      nullptr);
  return pieces;
}

}  // namespace mica::analysis
