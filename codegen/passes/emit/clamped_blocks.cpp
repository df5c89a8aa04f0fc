#include "codegen/passes/emit/clamped_blocks.h"

#include <algorithm>
#include <map>
#include <set>

#include "codegen/analysis/linear.h"
#include "codegen/analysis/simplify.h"
#include "codegen/ir/traverse.h"
#include "codegen/program.h"
#include "dsl/expr/names.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::passes {

namespace {

/// Dimensions of an array, a bit each, along which it repeats, and the array whose box does.
struct Period {
  std::uint32_t dims = 0;
  std::string box;
};

/// What is known of arrays.
struct Arrays {
  /// Of which a vector of at most so many elements lies inside, or outside, whole.
  std::map<std::string, std::int64_t> in_vectors;
  std::map<std::string, Period> periods;
};

/// Keeps the indices of loads from arrays in global memory within the arrays. Vectors, of which some
/// elements may lie inside, are taken apart where not all do.
class Clamp {
 public:
  /// `fixed`: variables that take the same values in every block. `overlap`: blocks reach below the
  /// domain's first point, too.
  Clamp(const ir::Stmt& stmt, std::set<std::string> fixed, bool overlap, Arrays arrays)
      : fixed_(std::move(fixed)), overlap_(overlap), arrays_(std::move(arrays)) {
    ir::walk(
        stmt,
        [this](const ir::Stmt& s) {
          if (const auto* alloc = s.as<ir::Allocate>()) own_[alloc->buffer] = alloc->type;
        },
        nullptr);
  }

  ir::Stmt in(const ir::Stmt& s) {
    if (!s.defined()) return s;
    const auto* loop = s.as<ir::For>();
    if (loop != nullptr && loop->kind == LoopKind::Vectorized) return in_vector(s, *loop);
    if (const auto* copy = s.as<ir::AsyncCopy>(); copy != nullptr && own_.count(copy->from) == 0) {
      return in_copy(*copy);
    }
    return ir::map_children(
        s, [this](const ir::Stmt& child) { return in(child); }, [this](const Expr& e) { return in(e); });
  }

 private:
  Expr in(const Expr& e) {
    return done_(e, [&]() -> Expr {
      Expr done = map_children(e, [this](const Expr& child) { return in(child); });
      const auto* load = done.as<Load>();
      if (load == nullptr || own_.count(load->buffer) > 0) return done;
      Load clamped = *load;
      clamped.index = within(load->buffer, load->index);
      return make_expr(done.type(), std::move(clamped));
    });
  }

  // All lanes at once where all that they load lies inside, or nothing, else one after the other.
  ir::Stmt in_vector(const ir::Stmt& s, const ir::For& loop) {
    std::map<std::string, std::vector<Expr>> rows;  // by array, the places of the first lanes
    ir::walk(loop.body, nullptr, [&](const Expr& e) {
      const auto* load = e.as<Load>();
      if (load == nullptr || own_.count(load->buffer) > 0 || !uses_var(load->index[0], loop.name))
        return;
      const Expr first = lane(load->index[0], loop, false);
      std::vector<Expr>& known = rows[load->buffer];
      const bool met = std::any_of(known.begin(), known.end(),
                                   [&](const Expr& other) { return equal(other, first); });
      if (!met && way_of(first).first) known.push_back(first);
    });
    Expr inside;
    const auto* count = as_int(loop.extent);
    for (const auto& [array, firsts] : rows) {
      for (const Expr& first : firsts) {
        // Vectors of a row that overlap keep their distances.
        const bool alone = firsts.size() == 1;
        const Whole whole = whole_vector(array, first, *count);
        if (alone) shift_[array] = whole.shift;
        if (alone && never_straddles(array, first, *count)) continue;
        const Expr& condition = alone ? whole.known : whole.inside;
        inside = inside.defined() ? inside && condition : condition;
      }
    }
    if (!inside.defined() && shift_.empty()) {
      return ir::map_children(
          s, [this](const ir::Stmt& child) { return in(child); },
          [this](const Expr& e) { return in(e); });
    }
    vector_ = loop.name;
    done_ = {};
    const ir::Stmt whole = in(loop.body);
    vector_.clear();
    shift_.clear();
    done_ = {};
    const ir::Stmt vector =
        ir::make_stmt(ir::For{loop.name, loop.min, loop.extent, LoopKind::Vectorized, whole});
    if (!inside.defined()) return vector;
    const ir::Stmt apart = in(loop.body);
    return ir::make_stmt(
        ir::If{simplify(inside), vector,
               ir::make_stmt(ir::For{loop.name, loop.min, loop.extent, LoopKind::Unrolled, apart})});
  }

  static Expr lane(const Expr& index, const ir::For& loop, bool last) {
    return simplify(substitute(index, loop.name, last ? loop.min + loop.extent - 1 : Expr(loop.min)));
  }

  ir::Stmt in_copy(const ir::AsyncCopy& copy) {
    if (!way_of(copy.from_index[0]).first) return part_of(copy, 0, copy.count, Expr());
    // Whole, or in the widest parts of which none is inside in part.
    for (int width = copy.count; width > 1; width /= 2) {
      if (width * own_.at(copy.to).bytes() < ir::kNarrowestCopy) break;
      if (never_straddles(copy.from, copy.from_index[0], width)) return in_parts(copy, width);
    }
    if (copy.count == 1) return part_of(copy, 0, 1, Expr());
    const Whole vector = whole_vector(copy.from, copy.from_index[0], copy.count);
    return ir::make_stmt(
        ir::If{vector.known, part_of(copy, 0, copy.count, vector.shift), in_parts(copy, 1)});
  }

  ir::Stmt in_parts(const ir::AsyncCopy& copy, int width) {
    std::vector<ir::Stmt> parts;
    for (int i = 0; i < copy.count; i += width) {
      const Expr first = copy.from_index[0] + make_const(Int(32), std::int64_t{i});
      parts.push_back(
          part_of(copy, i, width, width == 1 ? Expr() : whole_vector(copy.from, first, width).shift));
    }
    return ir::make_block(parts);
  }

  /// `count` elements from the `first` on, read `shift` further; where that is undefined, one element
  /// that is kept within its array, or a copy whose place is the same in every block.
  ir::Stmt part_of(const ir::AsyncCopy& copy, int first, int count, const Expr& shift) {
    ir::AsyncCopy part = copy;
    const Expr from = make_const(Int(32), std::int64_t{first});
    part.count = count;
    part.to_index[0] = simplify(copy.to_index[0] + from);
    part.from_index[0] = simplify(copy.from_index[0] + from);
    const Expr place = part.from_index[0];
    part.from_index = within(copy.from, part.from_index);
    if (shift.defined()) part.from_index[0] = simplify(place + shift);
    return count * own_.at(copy.to).bytes() < ir::kNarrowestCopy ? moved(part)
                                                                 : ir::make_stmt(std::move(part));
  }

  /// What an index stays within.
  struct Box {
    Expr first, last, extent;
    bool repeats;
  };
  [[nodiscard]] Box box_of(const std::string& array, std::size_t d) const {
    const auto period = arrays_.periods.find(array);
    const bool repeats = period != arrays_.periods.end() && (period->second.dims >> d & 1U) != 0;
    const std::string& of = repeats ? period->second.box : array;
    const Expr first = min_symbol(of, d), extent = extent_symbol(of, d);
    return {first, first + extent - 1, extent, repeats};
  }

  /// Do `lanes` elements from `first` on lie inside of the array, or outside, whole? The array begins
  /// and ends where vectors that are counted from the domain's first point do.
  [[nodiscard]] bool never_straddles(const std::string& array, const Expr& first,
                                     std::int64_t lanes) const {
    const auto found = arrays_.in_vectors.find(array);
    if (found == arrays_.in_vectors.end() || found->second % lanes != 0) return false;
    const analysis::Linear place = analysis::linearize(first);
    return place.constant % lanes == 0 &&
           std::all_of(place.terms.begin(), place.terms.end(), [&](const auto& term) {
             const auto* var = term.first.template as<VarRef>();
             const bool origin = var != nullptr && term.second == 1 && is_array_symbol(var->name, "min");
             return origin || term.second % lanes == 0;
           });
  }

  // Elements narrower than any copy are loaded and stored.
  [[nodiscard]] ir::Stmt moved(const ir::AsyncCopy& copy) const {
    Load load;
    load.buffer = copy.from;
    load.index = copy.from_index;
    ir::Store store;
    store.buffer = copy.to;
    store.index = copy.to_index;
    store.value = make_expr(own_.at(copy.to), std::move(load));
    return ir::make_stmt(std::move(store));
  }

  /// A vector of elements of dimension 0 of an array. Where all or none of them are in the array it is
  /// loaded `shift` elements further, whole vectors, where all are.
  struct Whole {
    Expr inside, known, shift;
  };
  [[nodiscard]] Whole whole_vector(const std::string& array, const Expr& first,
                                   std::int64_t lanes) const {
    const Box box = box_of(array, 0);
    const Expr &low = box.first, &high = box.last;
    const auto number = [](std::int64_t n) { return make_const(Int(32), n); };
    const Expr last = first + number(lanes - 1);
    const Expr inside = first >= low && last <= high;
    if (box.repeats) {
      // Periods away, if those are whole vectors.
      const Expr image = low + (first - low) % box.extent;
      const Expr known = box.extent % number(lanes) == number(0) && image + number(lanes - 1) <= high;
      return {simplify(inside), simplify(inside || known),
              simplify((image - first) / number(lanes) * number(lanes))};
    }
    // How many vectors the first one stands before the array, and the last one behind.
    const auto vectors = [&](const Expr& points) {
      return (points + number(lanes - 1)) / number(lanes);
    };
    const Expr before = select(first < low, vectors(low - first), number(0));
    const Expr behind = select(last > high, vectors(last - high), number(0));
    const Expr outside = (last < low || first > high) && box.extent >= number(2 * lanes - 1);
    return {simplify(inside), simplify(inside || outside), simplify((before - behind) * number(lanes))};
  }

  [[nodiscard]] std::vector<Expr> within(const std::string& array,
                                         const std::vector<Expr>& index) const {
    std::vector<Expr> result;
    for (std::size_t d = 0; d < index.size(); ++d) {
      const bool of_vector = d == 0 && !vector_.empty() && uses_var(index[d], vector_);
      const Box box = box_of(array, d);
      const Expr &first = box.first, &last = box.last;
      const auto [varies, grows] = way_of(index[d]);
      Expr e = index[d];
      if (varies && !of_vector && box.repeats) {
        e = first + (e - first) % box.extent;
      } else if (varies && !of_vector) {
        e = grows && !overlap_ ? min(e, last) : max(min(e, last), first);
      }
      const auto shift = shift_.find(array);
      if (of_vector && shift != shift_.end()) e = simplify(e + shift->second);
      result.push_back(e);
    }
    return result;
  }

  /// Does an index differ between blocks, and does it grow with every variable that does?
  [[nodiscard]] std::pair<bool, bool> way_of(const Expr& index) const {
    bool varies = false, grows = true;
    for (const auto& [atom, factor] : analysis::linearize(index).terms) {
      if (const auto* var = atom.as<VarRef>()) {
        const bool same = fixed_.count(var->name) > 0 || is_symbol(var->name);
        varies = varies || !same;
        grows = grows && (same || factor > 0);
      } else {
        varies = true;
        grows = false;
      }
    }
    return {varies, grows};
  }
  static bool is_symbol(const std::string& name) {
    return is_array_symbol(name, "min") || is_array_symbol(name, "extent");
  }

  std::set<std::string> fixed_;
  bool overlap_;
  Arrays arrays_;
  std::map<std::string, Type> own_;
  std::string vector_;                 // the loop whose lanes all load inside
  std::map<std::string, Expr> shift_;  // of its loads
  RewriteMemo done_;
};

}  // namespace

Expr inside_of(const std::vector<planning::Guard>& guards, const std::string& march) {
  Expr inside;
  for (const auto& guard : guards) {
    if (!march.empty() && guard.loops.count(march)) continue;
    const Expr one = simplify(guard.offset < guard.extent);
    inside = inside.defined() ? inside && one : one;
  }
  return inside;
}

ir::Stmt clamped(const Program& program, const FunctionData& func, const planning::LoopVars& vars,
                 bool overlap, const ir::Stmt& stmt) {
  // The planes that a chunk walks lie inside, wherever its block stands, unless a Func keeps to the box
  // of an input whatever it is read at.
  const auto& funcs = program.pipeline.funcs;
  const bool beyond = std::any_of(funcs.begin(), funcs.end(), [&](const auto& f) {
    return f->held_of != nullptr && program.placement.at(f->name).level == Placement::Level::At;
  });
  std::set<std::string> fixed;
  for (const auto& dim : beyond ? std::vector<std::string>() : func.args) {
    const Expr value = vars.value(dim);
    for (const auto& walked : vars.loops()) {
      if (walked.kind != LoopKind::March || !uses_var(value, walked.name)) continue;
      for (const auto& loop : vars.loops()) {
        if (uses_var(value, loop.name)) fixed.insert(loop.name);
      }
    }
  }
  Arrays arrays;
  for (const auto& f : funcs) {
    const auto* read = f->definitions.front().values.front().as<Access>();
    if (f->held_of == nullptr || read == nullptr || read->image != f->held_of) continue;
    if (f->held_in_vectors) {
      arrays.in_vectors[read->name] = FunctionData::kHeldVectorBytes / f->types.front().bytes();
    }
    if (f->held_periods == 0) continue;
    const auto& inputs = program.pipeline.inputs;
    const auto box = std::find_if(inputs.begin(), inputs.end(),
                                  [&](const auto& input) { return input.image == f->held_box; });
    arrays.periods[read->name] = {f->held_periods, box->name};
  }
  return Clamp(stmt, std::move(fixed), overlap, std::move(arrays)).in(stmt);
}

ir::Stmt with_tested_stores(const ir::Stmt& stmt, const Expr& condition) {
  const auto* store = stmt.as<ir::Store>();
  if (store == nullptr) {
    return ir::map_children(
        stmt, [&](const ir::Stmt& child) { return with_tested_stores(child, condition); }, nullptr);
  }
  if (store->value.as<VarRef>() != nullptr) return ir::make_stmt(ir::If{condition, stmt, {}});
  const std::string name = store->buffer + ".value";
  ir::Store named = *store;
  named.value = make_var(name, store->value.type());
  return ir::make_stmt(ir::LetStmt{
      name, store->value, ir::make_stmt(ir::If{condition, ir::make_stmt(std::move(named)), {}})});
}

}  // namespace mica::passes
