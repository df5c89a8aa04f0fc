#include "codegen/passes/loops/align_vector_loads.h"

#include <algorithm>
#include <set>

#include "codegen/analysis/simplify.h"
#include "codegen/ir/element_copy.h"
#include "codegen/ir/kernel.h"
#include "codegen/ir/traverse.h"
#include "dsl/expr/names.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::passes {
namespace {

using analysis::Linear;

constexpr int kVectorBytes = 16;

// A dense access: element `constant` after a place that is a multiple of `unit` (when unit > 1).
struct Place {
  std::string buffer;
  Type element;
  Expr variable;  // the offset without its constant
  std::int64_t constant = 0;
  int unit = 1;
  std::vector<Expr> row;  // coordinates of an array of the block's or thread's that do not vary
};

class Aligner {
 public:
  Aligner(Program& program, const Nest& nest) : program_(program), origins_(nest.origins) {
    ir::walk(
        nest.body,
        [&](const ir::Stmt& s) {
          if (const auto* loop = s.as<ir::For>()) loops_.insert(loop->name);
          if (const auto* alloc = s.as<ir::Allocate>()) local_.insert(alloc->buffer);
        },
        [](const Expr&) {});
  }

  ir::Stmt run(const ir::Stmt& s) {
    if (const auto* store = s.as<ir::Store>()) {
      ir::Store r = *store;
      r.value = rewrite(store->value);
      if (auto place = place_of(store->buffer, store->value.type(), store->index[0])) {
        std::int64_t c = place->constant;
        int unit = place->unit;
        while (unit > 1 && c % unit != 0) unit /= 2;
        r.alignment = unit;
        r.pieces = place->unit == 1 && is_row_that_gains(place->element, most_rows_);
      }
      return ir::make_stmt(std::move(r));
    }
    if (const auto* copy = s.as<ir::AsyncCopy>()) return run_copy(*copy);
    if (const auto* copy = s.as<ir::BulkCopy>()) require_whole(*copy);
    if (const auto* let = s.as<ir::LetStmt>()) {
      return ir::make_stmt(ir::LetStmt{let->name, rewrite(let->value), run(let->body)});
    }
    return ir::map_children(
        s, [this](const ir::Stmt& child) { return run(child); }, [](const Expr& e) { return e; });
  }

 private:
  // An asynchronous copy in pieces that both of its ends are aligned to; the narrowest has 4 bytes, and
  // narrower ones are made at once.
  ir::Stmt run_copy(const ir::AsyncCopy& copy) {
    const Type type = kind_of(program_.plan, copy.from).type;
    int unit = copy.count;
    if (unit > 1) unit = std::min(unit_of(copy.from, copy.from_index[0], unit, type.bytes()), unit);
    if (unit > 1) unit = std::min(unit_of(copy.to, copy.to_index[0], unit, type.bytes()), unit);
    const bool asynchronous = unit * type.bytes() >= ir::kNarrowestCopy;
    if (!asynchronous) unit = 1;
    std::vector<ir::Stmt> pieces;
    for (int i = 0; i < copy.count; i += unit) {
      auto moved = [&](std::vector<Expr> at) {
        if (!at.empty() && i > 0) at[0] = simplify(at[0] + make_const(at[0].type(), std::int64_t{i}));
        return at;
      };
      ir::AsyncCopy piece = copy;
      piece.count = unit;
      piece.to_index = moved(copy.to_index);
      piece.from_index = moved(copy.from_index);
      piece.to_logical = moved(copy.to_logical);
      piece.from_logical = moved(copy.from_logical);
      pieces.push_back(asynchronous ? ir::make_stmt(std::move(piece)) : ir::element_copy(piece, type));
    }
    return ir::make_block(std::move(pieces));
  }

  // Whoever made a bulk copy has seen that its ends are whole pieces of 16 bytes, given the alignments
  // that the launch checks.
  void require_whole(const ir::BulkCopy& copy) {
    const int bytes = kind_of(program_.plan, copy.from).type.bytes();
    const int unit = kVectorBytes / bytes;
    internal_check(unit_of(copy.from, copy.from_index[0], unit, bytes) == unit &&
                       unit_of(copy.to, copy.to_index[0], unit, bytes) == unit,
                   "both ends of a bulk copy are aligned");
  }

  // The largest power of two of elements up to `unit` to which element `index` is aligned.
  int unit_of(const std::string& buffer, const Expr& index, int unit, int bytes) {
    Linear form = analysis::linearize(index);
    const std::int64_t constant = form.constant;
    form.constant = 0;
    unit = alignment(buffer, form, unit, bytes);
    while (unit > 1 && constant % unit != 0) unit /= 2;
    return unit;
  }

  struct Group {
    Place place;
    std::set<std::int64_t> needed;  // positions relative to the aligned place
    int lanes = 1;                  // of the widest tap
    bool whole = false;             // loaded as one, wherever it begins
  };

  std::optional<Place> place_of(const std::string& buffer, Type type, const Expr& index) {
    const auto* ramp = index.as<Ramp>();
    if (!ramp || !is_const(ramp->stride, 1)) return std::nullopt;
    Linear form = analysis::linearize(ramp->base);
    Place place;
    place.buffer = buffer;
    place.element = type.element();
    place.constant = form.constant;
    form.constant = 0;
    place.variable = analysis::to_expr(form, ramp->base.type());
    int unit = std::min<int>(kVectorBytes / type.bytes(), index.type().lanes);
    while (unit & (unit - 1)) unit &= unit - 1;
    place.unit = alignment(buffer, form, std::max(unit, 1), type.bytes());
    return place;
  }

  // Rows of arrays with constant strides follow each other, and a piece of two rows belongs to neither.
  std::optional<Place> place_of(const Load& load, Type type) {
    auto place = place_of(load.buffer, type, load.index[0]);
    // So do rows of parameters whose strides are compiled in; of those that are loaded whole a checked
    // access says where it is.
    if (!place || (local_.count(load.buffer) == 0 && place->unit > 1)) return place;
    for (const Expr& at : load.logical) {
      const bool varies = !at.type().is_scalar() && !at.as<Broadcast>();
      if (!varies) place->row.push_back(simplify(lane_zero(at)));
    }
    return place;
  }

  // The largest power of two up to `unit` that divides the variable part's element offset, given
  // that the launch checks the arrays' alignment at the domain's first point.
  int alignment(const std::string& buffer, const Linear& form, int unit, int bytes) {
    if (!program_.options.variant.unit_stride) return 1;
    const bool parameter = local_.count(buffer) == 0;
    if (parameter && !program_.options.variant.aligned) return 1;
    if (parameter) {
      const std::size_t rank = kind_of(program_.plan, buffer).rank;
      unit = unit_of_baked_strides(program_.options, buffer, rank, unit);
    }
    Expr origin;
    if (const auto folded = origins_.find(buffer); folded != origins_.end()) {
      if (!is_const(folded->second[0], 0)) origin = folded->second[0];
    }
    for (const auto& [atom, k] : form.terms) {
      // Whatever counts in whole units keeps the alignment.
      if (k % unit == 0) continue;
      const Expr* bare = &atom;
      if (const auto* cast_ = atom.as<Cast>()) bare = &cast_->value;
      if (const auto* var = bare->as<VarRef>()) {
        if (loops_.count(var->name)) {
          while (unit > 1 && k % unit != 0) unit /= 2;
          continue;
        }
        if (var->field == BufferField::Stride) continue;
        if (!parameter) return 1;
        const Expr further = simplify(*bare * make_const(bare->type(), k));
        origin = origin.defined() ? simplify(origin + further) : further;
        continue;
      }
      if (parameter && is_row_offset(atom)) continue;
      return 1;
    }
    if (parameter && unit > 1) require(buffer, origin, unit * bytes);
    return unit;
  }

  // A coordinate times a stride: a whole number of rows.
  static bool is_row_offset(const Expr& atom) {
    const auto* product = atom.as<Binary>();
    if (!product || product->op != BinaryOp::Mul) return false;
    for (const Expr* factor : {&product->a, &product->b}) {
      const auto* var = factor->as<VarRef>();
      if (var && var->field == BufferField::Stride) return true;
    }
    return false;
  }

  void require(const std::string& buffer, const Expr& origin, int bytes) {
    auto& list = program_.plan.alignments;
    Expr at = origin.defined() ? origin : make_const(Int(32), std::int64_t{0});
    for (auto& a : list) {
      if (a.buffer == buffer && equal(a.at[0], at)) {
        a.bytes = std::max(a.bytes, bytes);
        return;
      }
    }
    PlanAlignment a{buffer, {at}, bytes};
    for (std::size_t d = 1; d < kind_of(program_.plan, buffer).rank; ++d)
      a.at.push_back(min_symbol(buffer, d));
    list.push_back(std::move(a));
  }

  // All taps of one statement's value, grouped by row; then each rebuilt from the group's pieces.
  Expr rewrite(const Expr& value) {
    std::vector<Group> groups;
    walk(value, [&](const Expr& e) {
      const auto* load = e.as<Load>();
      if (!load || e.type().is_scalar()) return;
      auto place = place_of(*load, e.type());
      if (!place) return;
      Group& group = group_of(groups, *place);
      group.lanes = std::max<int>(group.lanes, e.type().lanes);
      for (int i = 0; i < e.type().lanes; ++i) group.needed.insert(place->constant + i);
    });
    most_rows_ = std::max(most_rows_, groups.size());
    for (Group& group : groups) group.whole = is_loaded_whole(group, groups.size());
    RewriteMemo memo;
    return groups.empty() ? value : replace(value, groups, memo);
  }

  // Is a row of an array that may begin anywhere loaded as one, to be cut out of aligned pieces? Those
  // are at least two: two elements of four bytes or more are as well loaded by themselves.
  [[nodiscard]] bool is_loaded_whole(const Group& group, std::size_t rows) const {
    constexpr int kMostSingle = 2;
    const bool narrow = group.place.element.bytes() < ir::kRegisterBytes;
    return group.place.unit == 1 && local_.count(group.place.buffer) == 0 &&
           (narrow || group.lanes > kMostSingle) && is_row_that_gains(group.place.element, rows);
  }
  // Pieces take registers: what reads many rows has none to spare.
  static bool is_row_that_gains(Type element, std::size_t rows) {
    constexpr std::size_t kMostRows = 8;
    return element.bytes() < ir::kRegisterBytes || rows <= kMostRows;
  }

  static Group& group_of(std::vector<Group>& groups, const Place& place) {
    for (auto& g : groups) {
      if (g.place.buffer == place.buffer && equal(g.place.variable, place.variable) &&
          std::equal(g.place.row.begin(), g.place.row.end(), place.row.begin(), place.row.end(),
                     [](const Expr& a, const Expr& b) { return equal(a, b); })) {
        g.place.unit = std::min(g.place.unit, place.unit);
        return g;
      }
    }
    groups.push_back({place, {}});
    return groups.back();
  }

  Expr replace(const Expr& e, std::vector<Group>& groups, RewriteMemo& memo) {
    return memo(e, [&] {
      const auto* load = e.as<Load>();
      if (load && !e.type().is_scalar()) {
        auto place = place_of(*load, e.type());
        if (place) return rebuild(e, *load, *place, group_of(groups, *place));
      }
      return map_children(e, [&](const Expr& child) { return replace(child, groups, memo); });
    });
  }

  // All of a row's taps that are not far apart.
  std::pair<std::int64_t, int> row_piece(const Group& group, std::int64_t p) const {
    const std::int64_t nearby = kVectorBytes / group.place.element.bytes();
    auto end = group.needed.find(p), first = end;
    while (first != group.needed.begin() && *first - *std::prev(first) <= nearby) --first;
    for (auto next = std::next(end); next != group.needed.end() && *next - *end <= nearby; ++next) {
      end = next;
    }
    return {*first, static_cast<int>(*end - *first + 1)};
  }

  // The piece of `group` that holds position p: (first position, size).
  [[nodiscard]] std::pair<std::int64_t, int> piece_at(const Group& group, std::int64_t p) const {
    if (group.whole) return row_piece(group, p);
    for (int size = group.place.unit; size > 1; size /= 2) {
      std::int64_t first = p - (((p % size) + size) % size);
      bool whole = true;
      for (int i = 0; i < size; ++i) whole = whole && group.needed.count(first + i);
      if (whole) return {first, size};
    }
    return {p, 1};
  }

  Expr rebuild(const Expr& e, const Load& load, const Place& place, const Group& group) const {
    const int lanes = e.type().lanes;
    Shuffle shuffle;
    int filled = 0;
    std::int64_t p = place.constant;
    while (p < place.constant + lanes) {
      auto [first, size] = piece_at(group, p);
      shuffle.vectors.push_back(piece(load, place, group.place, first, size));
      for (; p < first + size && p < place.constant + lanes; ++p) {
        shuffle.lanes.push_back(filled + static_cast<int>(p - first));
      }
      filled += size;
    }
    if (shuffle.vectors.size() == 1 && shuffle.vectors[0].type() == e.type()) {
      return shuffle.vectors[0];
    }
    return make_expr(e.type(), std::move(shuffle));
  }

  static Expr piece(const Load& load, const Place& place, const Place& row, std::int64_t first,
                    int size) {
    Type type = row.variable.type();
    Expr base = simplify(row.variable + make_const(type, first));
    Load one;
    one.buffer = load.buffer;
    one.alignment = row.unit == 1 && size > 1 ? 1 : size;
    one.streamed = load.streamed;
    one.where = load.where;
    one.index = {size == 1
                     ? base
                     : make_expr(type.with_lanes(size), Ramp{base, make_const(type, std::int64_t{1})})};
    one.logical = shifted(load.logical, first - place.constant, size);
    return make_expr(place.element.with_lanes(size), std::move(one));
  }

  // The logical coordinates of lanes [from, from + size) of a dense access: one dimension varies.
  static std::vector<Expr> shifted(const std::vector<Expr>& logical, std::int64_t from, int size) {
    std::vector<Expr> result;
    for (std::size_t d = 0; d < logical.size(); ++d) {
      Expr base = logical[d];
      const bool varies = !base.type().is_scalar() && !base.as<Broadcast>();
      if (const auto* ramp = base.as<Ramp>())
        base = ramp->base;
      else if (const auto* all = base.as<Broadcast>())
        base = all->value;
      else
        base = lane_zero(base);
      Expr first = varies ? simplify(base + make_const(base.type(), from)) : base;
      if (size > 1) {
        Type wide = first.type().with_lanes(size);
        first = varies ? make_expr(wide, Ramp{first, make_const(first.type(), std::int64_t{1})})
                       : make_expr(wide, Broadcast{first});
      }
      result.push_back(first);
    }
    return result;
  }
  // Sums of ramps and broadcasts: their value in lane 0.
  static Expr lane_zero(const Expr& e) {
    if (e.type().is_scalar()) return e;
    if (const auto* ramp = e.as<Ramp>()) return ramp->base;
    if (const auto* all = e.as<Broadcast>()) return all->value;
    Expr r = map_children(e, [](const Expr& child) { return lane_zero(child); });
    return Expr(std::make_shared<ExprNode>(e.type().element(), r.node().op));
  }

  Program& program_;
  const analysis::Origins& origins_;
  std::set<std::string> loops_, local_;
  std::size_t most_rows_ = 0;  // that a value read so far has
};

}  // namespace

void align_vector_loads(Program& program) {
  for (auto& nest : program.nests) {
    if (nest.on_device) nest.body = Aligner(program, nest).run(nest.body);
  }
}

}  // namespace mica::passes
