#include "codegen/passes/gpu/clamped_blocks.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "codegen/analysis/linear.h"
#include "codegen/analysis/simplify.h"
#include "codegen/ir/element_copy.h"
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
  /// Of which less is needed than the array may hold.
  const std::map<std::string, analysis::Box>* needed = nullptr;
};

/// Keeps the indices of loads from arrays in global memory within the arrays. Vectors, of which some
/// elements may lie inside, are taken apart where not all do.
class Clamp {
 public:
  /// `fixed`: variables that take the same values in every block; `loops`: those of the kernel's Func.
  Clamp(const ir::Stmt& stmt, std::set<std::string> fixed, std::set<std::string> loops,
        ClampedBlocks blocks, Arrays arrays)
      : fixed_(std::move(fixed)),
        loops_(std::move(loops)),
        overlap_(blocks == ClampedBlocks::Overlapping),
        few_(blocks == ClampedBlocks::AtTheEdge),
        arrays_(std::move(arrays)) {
    ir::walk(
        stmt,
        [this](const ir::Stmt& s) {
          const auto* alloc = s.as<ir::Allocate>();
          if (alloc == nullptr) return;
          own_[alloc->buffer] = alloc->type;
          if (alloc->memory == MemoryType::Register) registers_.insert(alloc->buffer);
        },
        nullptr);
  }

  ir::Stmt in(const ir::Stmt& s) {
    if (!s.defined()) return s;
    const auto* loop = s.as<ir::For>();
    if (loop != nullptr && loop->kind == LoopKind::Vectorized) return in_vector(s, *loop);
    if (loop != nullptr && loop->kind == LoopKind::Unrolled) return written_out(*loop, in(loop->body));
    if (loop != nullptr && loop->kind == LoopKind::March && few_) {
      in_march_ = true;
      const ir::Stmt body = in(loop->body);
      in_march_ = false;
      return ir::make_stmt(ir::For{loop->name, in(loop->min), in(loop->extent), loop->kind, body, true});
    }
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
      if (load == nullptr || own_.count(load->buffer) > 0 || !is_row(load->index[0], loop.name)) return;
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
    const auto apart = [&] { return written_out(loop, in(loop.body)); };
    if (few_ && inside.defined() && !rolls(loop)) {
      shift_.clear();
      return apart();
    }
    vector_ = loop.name;
    done_ = {};
    const ir::Stmt whole = in(loop.body);
    vector_.clear();
    shift_.clear();
    done_ = {};
    const ir::Stmt vector =
        ir::make_stmt(ir::For{loop.name, loop.min, loop.extent, LoopKind::Vectorized, whole});
    return inside.defined() ? ir::make_stmt(ir::If{simplify(inside), vector, apart()}) : vector;
  }

  // What is written out has registers of its own, which all blocks of the kernel hold.
  [[nodiscard]] ir::Stmt written_out(const ir::For& loop, const ir::Stmt& body) const {
    const bool rolled = few_ && rolls(loop) && !(in_march_ && loads_to_share(loop.body));
    const LoopKind kind = rolled ? LoopKind::Serial : LoopKind::Unrolled;
    return ir::make_stmt(ir::For{loop.name, loop.min, loop.extent, kind, body, rolled});
  }
  // The steps of a march wait for loads on their way to shared memory: those are under way together.
  [[nodiscard]] bool loads_to_share(const ir::Stmt& body) const {
    bool found = false;
    const auto look = [&](const Expr& e) {
      const auto* load = e.as<Load>();
      found = found || (load != nullptr && own_.count(load->buffer) == 0);
    };
    ir::walk(
        body,
        [&](const ir::Stmt& s) {
          const auto* store = s.as<ir::Store>();
          const bool shared =
              store != nullptr && own_.count(store->buffer) > 0 && registers_.count(store->buffer) == 0;
          if (shared) mica::walk(store->value, look);
        },
        nullptr);
    return found;
  }
  // Arrays in registers have no dynamic index.
  [[nodiscard]] bool rolls(const ir::For& loop) const {
    bool found = false;
    const auto look = [&](const std::string& array, const std::vector<Expr>& index) {
      found = found || (registers_.count(array) > 0 && std::ranges::any_of(index, [&](const Expr& e) {
                          return uses_var(e, loop.name);
                        }));
    };
    ir::walk(
        loop.body,
        [&](const ir::Stmt& s) {
          if (const auto* store = s.as<ir::Store>()) look(store->buffer, store->index);
        },
        [&](const Expr& e) {
          if (const auto* load = e.as<Load>()) look(load->buffer, load->index);
        });
    return !found;
  }

  // Do the lanes of a vector stand side by side? Others stay inside by themselves.
  static bool is_row(const Expr& index, const std::string& lane) {
    analysis::Linear place = analysis::linearize(index);
    return place.take(lane) == 1 && std::ranges::none_of(place.terms, [&](const auto& term) {
             return uses_var(term.first, lane);
           });
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
    return ir::make_stmt(ir::If{vector.known, part_of(copy, 0, copy.count, vector.shift),
                                few_ ? by_element(copy) : in_parts(copy, 1)});
  }

  ir::Stmt by_element(const ir::AsyncCopy& copy) {
    const std::string lane = copy.to + ".element";
    ir::AsyncCopy element = copy;
    element.to_index[0] = copy.to_index[0] + make_var(lane);
    element.from_index[0] = copy.from_index[0] + make_var(lane);
    return ir::make_stmt(ir::For{lane, make_const(Int(32), 0),
                                 make_const(Int(32), std::int64_t{copy.count}), LoopKind::Serial,
                                 part_of(element, 0, 1, Expr()), true});
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
    const Type type = own_.at(copy.to);
    return count * type.bytes() < ir::kNarrowestCopy ? ir::element_copy(part, type)
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
    if (arrays_.needed != nullptr && !repeats) {
      const auto needed = arrays_.needed->find(array);
      if (needed != arrays_.needed->end() && needed->second[d].bounded()) {
        const analysis::Interval& along = needed->second[d];
        return {along.min, along.max, analysis::extent_of(along), false};
      }
    }
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
             const bool origin = var != nullptr && term.second == 1 && var->field == BufferField::Min;
             return origin || term.second % lanes == 0;
           });
  }

  /// Of a vector's first element that grows with the block: the same one of every block, a whole number
  /// of vectors away; empty where blocks lie differently to vectors, or below the domain's first point.
  [[nodiscard]] std::optional<Expr> places_from(const Expr& first, std::int64_t lanes) const {
    if (overlap_ || !way_of(first).second) return std::nullopt;
    analysis::Linear place = analysis::linearize(first);
    const bool apart = std::any_of(place.terms.begin(), place.terms.end(), [&](const auto& term) {
      const auto* var = term.first.template as<VarRef>();
      const bool launch = var != nullptr && is_symbol(*var);
      return !launch && term.second % lanes != 0;
    });
    if (apart) return std::nullopt;
    std::erase_if(place.terms, [](const auto& term) {
      const auto* var = term.first.template as<VarRef>();
      return var == nullptr || !is_symbol(*var);
    });
    return analysis::to_expr(place);
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
    const Expr wide = box.extent >= number(2 * lanes - 1);  // some vector lies inside whole
    if (const auto from = box.repeats ? std::nullopt : places_from(first, lanes)) {
      // None lies before the array: up to the last whole one.
      const Expr end = *from + (high - number(lanes - 1) - *from) / number(lanes) * number(lanes);
      const Expr inside = first <= end;
      return {simplify(inside), simplify(inside || (first > high && wide)),
              simplify(max(first - end, number(0)) / number(lanes) * number(-lanes))};
    }
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
    const Expr outside = (last < low || first > high) && wide;
    return {simplify(inside), simplify(inside || outside), simplify((before - behind) * number(lanes))};
  }

  [[nodiscard]] std::vector<Expr> within(const std::string& array,
                                         const std::vector<Expr>& index) const {
    std::vector<Expr> result;
    for (std::size_t d = 0; d < index.size(); ++d) {
      const bool of_vector = d == 0 && !vector_.empty() && is_row(index[d], vector_);
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
        const bool same = fixed_.count(var->name) > 0 || is_symbol(*var);
        varies = varies || !same;
        grows = grows && (same || factor > 0);
      } else {
        varies = true;
        grows = grows && factor > 0 && counts(atom);
      }
    }
    return {varies, grows};
  }
  /// Is `e` where in a box a thread fills a point, counted from 0?
  [[nodiscard]] bool counts(const Expr& e) const {
    if (const auto* value = as_int(e)) return *value >= 0;
    if (const auto* var = e.as<VarRef>()) return !is_symbol(*var) && loops_.count(var->name) == 0;
    const auto* op = e.as<Binary>();
    if (op == nullptr || !counts(op->a)) return false;
    const bool by = op->op == BinaryOp::Div || op->op == BinaryOp::Mod;
    const auto* divisor = as_int(op->b);
    if (by) return divisor != nullptr && *divisor > 0;
    return (op->op == BinaryOp::Add || op->op == BinaryOp::Mul) && counts(op->b);
  }

  static bool is_symbol(const VarRef& var) {
    return var.field == BufferField::Min || var.field == BufferField::Extent;
  }

  std::set<std::string> fixed_, loops_;
  bool overlap_;  // blocks reach below the domain's first point, too
  bool few_;      // what registers they take, others hold in vain
  bool in_march_ = false;
  Arrays arrays_;
  std::map<std::string, Type> own_;
  std::set<std::string> registers_;
  std::string vector_;                 // the loop whose lanes all load inside
  std::map<std::string, Expr> shift_;  // of its loads
  RewriteMemo done_;
};

}  // namespace

std::map<std::string, analysis::Box> needed_boxes(const Program& program) {
  std::map<std::string, analysis::Box> boxes;
  for (const auto& [name, box] : program.required) {
    const FunctionData* func = program.pipeline.find(name);
    for (std::size_t i = 0; func != nullptr && i < func->types.size(); ++i) {
      boxes[storage_name(name, static_cast<int>(i), func->types.size())] = box;
    }
  }
  for (const auto& input : program.pipeline.inputs) {
    analysis::Box read = analysis::read_box(program.pipeline, program.required, input.name);
    if (!read.empty()) boxes[input.name] = std::move(read);
  }
  for (auto& [name, box] : boxes) {
    for (auto& along : box) {
      if (along.bounded()) along = {simplify(along.min), simplify(along.max)};
    }
  }
  return boxes;
}

Expr inside_of(const std::vector<planning::Guard>& guards, const std::string& march) {
  Expr inside;
  for (const auto& guard : guards) {
    if (!march.empty() && guard.loops.count(march)) continue;
    const Expr one = simplify(guard.offset < guard.extent);
    inside = inside.defined() ? inside && one : one;
  }
  return inside;
}

ir::Stmt clamped(const Program& program, const planning::Loops& own, ClampedBlocks blocks,
                 const std::map<std::string, analysis::Box>& needed, const ir::Stmt& stmt) {
  // The planes that a chunk walks lie inside, wherever its block stands, unless a Func keeps to the box
  // of an input whatever it is read at, or is computed for as many planes as the longest chunk has.
  const auto& [func, index, vars] = own;
  const auto& funcs = program.pipeline.funcs;
  const int march = planning::position_of(vars, "");
  const bool beyond = vars.is_marched() && std::any_of(funcs.begin(), funcs.end(), [&](const auto& f) {
                        const int at = planning::loop_of(program, own, f->name);
                        return at > march || (at >= 0 && f->held.of != nullptr);
                      });
  std::set<std::string> fixed;
  for (const auto& dim : beyond ? std::vector<std::string>() : func.args) {
    if (vars.roots().count(dim) == 0) continue;  // of an update
    const Expr value = vars.value(dim);
    for (const auto& walked : vars.loops()) {
      if (walked.kind != LoopKind::March || !uses_var(value, walked.name)) continue;
      for (const auto& loop : vars.loops()) {
        if (uses_var(value, loop.name)) fixed.insert(loop.name);
      }
      for (const auto& place : vars.places()) fixed.insert(place.name);
    }
  }
  Arrays arrays;
  for (const auto& f : funcs) {
    const auto* read = f->definitions.front().values.front().as<Access>();
    if (f->held.of == nullptr || read == nullptr || read->image != f->held.of) continue;
    if (f->held.in_vectors) {
      arrays.in_vectors[read->name] = FunctionData::Held::kVectorBytes / f->types.front().bytes();
    }
    if (f->held.periods == 0) continue;
    const auto& inputs = program.pipeline.inputs;
    const auto box = std::find_if(inputs.begin(), inputs.end(),
                                  [&](const auto& input) { return input.image == f->held.box; });
    arrays.periods[read->name] = {f->held.periods, box->name};
  }
  if (blocks == ClampedBlocks::AtTheEdge) arrays.needed = &needed;
  std::set<std::string> loops;
  for (const auto& loop : vars.loops()) loops.insert(loop.name);
  for (const auto& place : vars.places()) loops.insert(place.name);
  return Clamp(stmt, std::move(fixed), std::move(loops), blocks, std::move(arrays)).in(stmt);
}

ir::Stmt with_tested_stores(const ir::Stmt& stmt, const Expr& condition, const Expr& all_lanes) {
  const auto* store = stmt.as<ir::Store>();
  if (store == nullptr) {
    return ir::map_children(
        stmt, [&](const ir::Stmt& child) { return with_tested_stores(child, condition, all_lanes); },
        nullptr);
  }
  const auto tested = [&](const ir::Stmt& one) {
    const ir::Stmt each = ir::make_stmt(ir::If{condition, one, {}});
    return equal(condition, all_lanes) ? each : ir::make_stmt(ir::If{all_lanes, one, each});
  };
  if (store->value.as<VarRef>() != nullptr) return tested(stmt);
  const std::string name = store->buffer + ".value";
  ir::Store named = *store;
  named.value = make_var(name, store->value.type());
  return ir::make_stmt(ir::LetStmt{name, store->value, tested(ir::make_stmt(std::move(named)))});
}

}  // namespace mica::passes
