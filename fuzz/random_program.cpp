#include "fuzz/random_program.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "fuzz/random_boundaries.h"
#include "fuzz/random_coordinates.h"
#include "fuzz/random_offsets.h"
#include "fuzz/random_own_reads.h"
#include "fuzz/random_sharing.h"

namespace mica::test {
namespace {

constexpr std::int64_t kMostInputs = 5;

class Generator {
 public:
  Generator(Random& random, bool coupled) : random_(random), coupled_(coupled) {}

  Program run() {
    dimensions_ = 1 + static_cast<int>(random_.weighted({20, 42, 30, 8}));
    base_ = random_type();
    budget_ = random_.pick(std::vector<std::int64_t>{6, 12, 12, 25, 25, 60, 130});
    stages_ =
        coupled_ ? 2 + random_.weighted({50, 30, 20}) : 1 + random_.weighted({32, 26, 18, 12, 7, 5});
    while (program_.stages.size() < stages_) add_stage(program_.stages.size() + 1 == stages_);
    const int last = static_cast<int>(stages_) - 1;
    program_.outputs = {last};
    for (int i = 0; i < last; ++i) {
      const ProgramStage& stage = program_.stages[static_cast<std::size_t>(i)];
      if (stage.boundary || random_.below(8) >= (coupled_ ? 6 : 1)) continue;
      program_.outputs.insert(program_.outputs.begin(), i);
    }
    return without_unused(std::move(program_));
  }

 private:
  Type random_type() {
    static const std::vector<Type> types{Float(32), Float(64), UInt(8), Int(8),    UInt(16),
                                         Int(16),   Int(32),   Int(64), Float(16), BFloat(),
                                         Bool(),    UInt(32),  UInt(64)};
    return types[random_.weighted({48, 10, 8, 3, 6, 6, 10, 4, 4, 3, 1, 7, 5})];
  }
  Type stage_type() { return coupled_ || random_.below(4) > 0 ? base_ : random_type(); }

  // ---- sources ------------------------------------------------------------------------------------
  int dimensions_of(int source) const { return program_.dimensions_of(source); }
  void new_input() {
    Program::Input input;
    input.name = "u" + std::to_string(program_.inputs.size());
    input.type = stage_type();
    input.dimensions = coupled_ || random_.below(6) > 0
                           ? dimensions_
                           : static_cast<int>(random_.between(1, dimensions_));
    program_.inputs.push_back(input);
  }
  /// All inputs exist before the stages that read them are drawn, so that sources keep their numbers.
  void make_inputs() {
    std::size_t count = static_cast<std::size_t>(random_.between(1, kMostInputs));
    if (coupled_) count = std::max(count, stages_);
    while (program_.inputs.size() < count) new_input();
    if (coupled_ || random_.below(8) > 0) return;
    replaced_ = static_cast<int>(count);
    program_.inputs.push_back({"u" + std::to_string(count), base_, dimensions_});
  }
  /// An input or a stage, mostly a stage that nothing reads yet.
  int random_source() {
    std::vector<int> stages, inputs;
    for (std::size_t i = 0; i < program_.stages.size(); ++i) {
      const int source = program_.source_of_stage(i);
      const std::int64_t cost = program_.stages[i].is_kept() ? 1 : taps_[i];
      if (cost <= left_) stages.insert(stages.end(), is_read_[i] ? 1 : 3, source);
    }
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
      if (static_cast<int>(i) == replaced_) continue;
      // What has a boundary condition is mostly read through it.
      const bool completed = has_boundary(program_, static_cast<int>(i));
      if (!completed || random_.below(8) == 0) inputs.push_back(static_cast<int>(i));
    }
    if (!stages.empty() && (inputs.empty() || random_.below(3) > 0)) return random_.pick(stages);
    return inputs.empty() ? -1 : random_.pick(inputs);
  }

  // ---- coordinates --------------------------------------------------------------------------------
  /// The source's own place in the definition's variables: x, y, ... as far as both go.
  std::vector<Index> at_point(int source) {
    std::vector<Index> at(static_cast<std::size_t>(dimensions_of(source)));
    const int own = std::min(static_cast<int>(at.size()), stage_dimensions_);
    // A field of fewer dimensions may belong to any of the stage's.
    int skipped = own < stage_dimensions_ && random_.below(3) == 0 ? stage_dimensions_ - own : 0;
    for (int d = 0; d < static_cast<int>(at.size()); ++d) {
      Index& index = at[static_cast<std::size_t>(d)];
      index.var = d + skipped < stage_dimensions_ ? d + skipped : -1;
      if (index.var < 0) index.offset = static_cast<int>(random_.between(-1, 2));
      index = in_scope(index);
    }
    return at;
  }
  /// An update has no Var in a dimension that it writes by its reduction: that stands in its place.
  [[nodiscard]] Index in_scope(Index index) {
    const bool barred =
        index.var >= 0 && index.var < kReduction && barred_[static_cast<std::size_t>(index.var)];
    if (barred) index.var = kReduction + static_cast<int>(random_.below(in_reduction_));
    return index;
  }
  /// A coordinate from data of few bits, which name few places.
  Index looked_up() {
    const int source = random_source();
    return source < 0 ? Index{} : looked_up(source, at_point(source));
  }
  Index looked_up(int source, std::vector<Index> at) {
    const Type type =
        random_.pick(std::vector<Type>{UInt(8), UInt(8), Int(8), UInt(16), Int(16), UInt(32), UInt(64)});
    Index index;
    index.looked_up = {converted(tap(source, std::move(at)), type)};
    narrow(index, type.bits, random_);
    return index;
  }
  /// The place that an update over `dims` dimensions writes as data say, as in a histogram.
  Index binned(int dims) {
    const int source = random_source();
    if (source < 0) return {};
    std::vector<Index> at(static_cast<std::size_t>(dimensions_of(source)));
    for (Index& index : at) index.var = kReduction + static_cast<int>(random_.below(dims));
    return looked_up(source, std::move(at));
  }
  Term tap(int source, std::vector<Index> at) {
    Term term;
    term.kind = Term::Kind::Tap;
    term.source = source;
    term.at = std::move(at);
    if (program_.is_stage(source)) {
      const auto i = static_cast<std::size_t>(source) - program_.inputs.size();
      const auto values = static_cast<std::int64_t>(program_.stages[i].values.size());
      if (values > 1) term.element = static_cast<int>(random_.below(values));
      is_read_[i] = true;
      left_ -= program_.stages[i].is_kept() ? 1 : taps_[i];
    } else {
      --left_;
    }
    term.type = program_.type_of(source, term.element);
    return term;
  }

  // ---- values -------------------------------------------------------------------------------------
  double number(Type type) {
    if (type.is_int() && type.bits >= 32 && random_.below(6) == 0) {
      const bool beyond = type.bits == 64 && random_.coin();
      return beyond ? std::ldexp(random_.coin() ? 1.0 : -1.0, 63) : extreme_integer(random_);
    }
    if (type.is_wide_uint() && random_.below(6) == 0) {
      // Around the middle and the end; beyond it the constant is the greatest of the type.
      return std::ldexp(1.0, type.bits - static_cast<int>(random_.below(2))) -
             static_cast<double>(random_.below(3));
    }
    return type.is_float()
               ? static_cast<double>(random_.between(-8, 8)) / 4
               : static_cast<double>(type.is_uint() ? random_.below(9) : random_.between(-8, 8));
  }
  Term converted(Term term, Type type) {
    if (term.type == type) return term;
    return applied(Operation::Cast, type, {std::move(term)});
  }

  /// w0*u(x, ...) + w1*u(x + c, ...) + ..., some weights fields of their own.
  Term stencil(Type type) {
    const int source = random_source();
    if (source < 0) return constant_term(type, number(type));
    const std::vector<Index> centre = at_point(source);
    const std::int64_t cost =
        program_.is_stage(source) ? taps_[static_cast<std::size_t>(source) - program_.inputs.size()] : 1;
    const bool weighted_by_field = random_.below(6) == 0;
    std::optional<Term> total;
    for (const auto& offset :
         random_offsets(centre.size(), std::max<std::int64_t>(1, left_ / cost), random_)) {
      std::vector<Index> at = centre;
      for (std::size_t d = 0; d < at.size(); ++d) at[d].offset += offset[d];
      Term term = converted(tap(source, std::move(at)), type);
      if (random_.coin() && !type.is_bool()) {
        Term weight = constant_term(type, number(type));
        if (weighted_by_field) {
          if (const int field = random_source(); field >= 0)
            weight = converted(tap(field, at_point(field)), type);
        } else if (may_be_param(type) && random_.below(5) == 0) {
          weight.kind = Term::Kind::Parameter;
        }
        term = applied(Operation::Mul, type, {std::move(weight), std::move(term)});
      }
      const Operation join = type.is_bool()          ? Operation::Either
                             : random_.below(6) == 0 ? Operation::Sub
                                                     : Operation::Add;
      total = total ? applied(join, type, {std::move(*total), std::move(term)}) : std::move(term);
    }
    return std::move(*total);
  }

  /// Differences of fields at neighbouring points along an axis each, as on staggered grids.
  Term staggered(Type type) {
    std::optional<Term> total;
    for (int d = 0; d < stage_dimensions_; ++d) {
      const int source = random_source();
      if (source < 0 || d >= dimensions_of(source)) break;
      std::vector<Index> at = at_point(source);
      std::vector<Index> next = at;
      ++next[static_cast<std::size_t>(d)].offset;
      if (random_.coin()) {
        std::swap(at, next);
        for (auto* place : {&at, &next}) --(*place)[static_cast<std::size_t>(d)].offset;
      }
      Term difference = applied(Operation::Sub, type, {tap(source, next), tap(source, at)});
      for (Term& operand : difference.operands) operand = converted(std::move(operand), type);
      total = total ? applied(Operation::Add, type, {std::move(*total), std::move(difference)})
                    : std::move(difference);
    }
    return total ? std::move(*total) : constant_term(type, number(type));
  }

  Term leaf(Type type) {
    const auto choice = random_.below(8);
    if (choice == 0) {
      Term term = constant_term(type, number(type));
      if (type.is_integer() && may_be_param(type) && random_.coin()) term.kind = Term::Kind::Parameter;
      return term;
    }
    if (choice == 1 && !type.is_bool()) {
      Term term;
      term.kind = Term::Kind::Coordinate;
      term.type = type;
      term.at = {in_scope({static_cast<int>(random_.below(stage_dimensions_)), 1, 0, 1, std::nullopt})};
      if (random_.below(4) == 0) {
        term.at[0].scale = random_.pick(std::vector<int>{1, 1, 2, 1103515245, 1 << 30});
        term.at[0].offset = extreme_integer(random_);
      }
      return term;
    }
    const int source = random_source();
    if (source < 0 || left_ <= 0) return constant_term(type, number(type));
    std::vector<Index> at = at_point(source);
    for (Index& index : at) {
      if (random_.below(2) == 0) index.offset += static_cast<int>(random_.between(-2, 2));
      if (random_.below(9) == 0) bend(index, random_);
      if (left_ > 1 && random_.below(40) == 0) {
        index = looked_up();
        continue;
      }
      if (in_reduction_ > 0 && random_.coin()) {
        index = {kReduction + static_cast<int>(random_.below(in_reduction_)), 1,
                 static_cast<int>(random_.between(-1, 1)), 1, std::nullopt};
      }
    }
    return converted(tap(source, std::move(at)), type);
  }

  Term condition(int depth) {
    const Type type = random_.coin() && !base_.is_bool() ? base_ : Int(32);
    const Operation compare = random_.pick(std::vector<Operation>{Operation::Less, Operation::AtMost,
                                                                  Operation::Equal, Operation::Differs});
    Term term = applied(compare, Bool(), {expression(type, depth - 1), expression(type, depth - 1)});
    if (random_.below(4) > 0 || depth < 2) return term;
    return applied(random_.coin() ? Operation::Both : Operation::Either, Bool(),
                   {std::move(term), condition(depth - 1)});
  }

  Term expression(Type type, int depth) {
    if (depth <= 0 || left_ <= 0) return leaf(type);
    if (type.is_bool()) return random_.below(4) == 0 ? leaf(type) : condition(depth);
    if (in_reduction_ == 0 && random_.below(14) == 0) return reduction(type);
    if (random_.below(8) == 0) {
      Type from = random_type();
      if (from.is_bool()) from = Int(32);
      return applied(Operation::Cast, type, {expression(from, depth - 1)});
    }
    static const std::vector<Operation> operations{
        Operation::Add,   Operation::Add,    Operation::Sub,    Operation::Mul,    Operation::Mul,
        Operation::Min,   Operation::Max,    Operation::Select, Operation::Select, Operation::Clamp,
        Operation::Div,   Operation::Mod,    Operation::Neg,    Operation::Abs,    Operation::Sqrt,
        Operation::Floor, Operation::Round,  Operation::Exp,    Operation::Strict, Operation::BitAnd,
        Operation::Fma,   Operation::BitXor, Operation::Shl,    Operation::Shr};
    Operation operation = random_.pick(operations);
    if (!takes(operation, type) || (operation == Operation::Exp && random_.below(4) > 0)) {
      operation = Operation::Add;
    }
    Term term = applied(operation, type, {});
    for (int i = 0; i < operand_count(operation); ++i) {
      if (operation == Operation::Select && i == 0) {
        term.operands.push_back(condition(depth - 1));
      } else if ((operation == Operation::Shl || operation == Operation::Shr) && i == 1) {
        term.operands.push_back(constant_term(type, static_cast<double>(random_.below(type.bits - 1))));
      } else if (operation == Operation::Div && i == 1 && random_.below(3) == 0) {
        term.operands.push_back(constant_term(type, number(type)));
      } else {
        term.operands.push_back(expression(type, depth - 1));
      }
    }
    return term;
  }

  Domain random_domain() {
    Domain domain;
    for (std::int64_t n = random_.between(1, 2); n > 0; --n) {
      domain.emplace_back(random_.between(-3, 2), random_.between(1, 4));
    }
    return domain;
  }

  /// sum, minimum or maximum of an expression over an RDom.
  Term reduction(Type type) {
    Term term = applied(
        random_.pick(std::vector<Operation>{Operation::Sum, Operation::Least, Operation::Greatest}),
        type, {});
    term.domain = random_domain();
    std::int64_t points = 1;
    for (const auto& [min, extent] : term.domain) points *= extent;
    const std::int64_t left = left_;
    if (left < points) return leaf(type);
    left_ /= points;
    const std::int64_t inside = left_;
    in_reduction_ = static_cast<int>(term.domain.size());
    term.operands = {expression(type, 1)};
    in_reduction_ = 0;
    // It becomes a Func, through which none may read itself.
    term.of_params = random_.below(6) == 0;
    for_each_term(term, [&](const Term& t) {
      if (t.kind == Term::Kind::Tap && t.source == kSelf) term.of_params = false;
    });
    left_ = left - (inside - left_) * points;
    return term;
  }

  Term value(Type type) {
    const auto kind = random_.weighted({50, 12, 38});
    Term term = kind == 0                      ? stencil(type)
                : kind == 1 && !type.is_bool() ? staggered(type)
                                               : expression(type, 3);
    if (random_.below(5) == 0 && !type.is_bool()) {
      Term other = expression(type, 1);
      const Operation join = random_.pick(
          std::vector<Operation>{Operation::Add, Operation::Max, Operation::Min, Operation::Sub});
      term = applied(join, type, {std::move(term), std::move(other)});
    }
    return term;
  }

  // ---- stages -------------------------------------------------------------------------------------
  void add_update(ProgramStage& stage) {
    ProgramStage::Update update;
    if (random_.below(4) > 0) update.domain = random_domain();
    update.of_params = !update.domain.empty() && random_.below(3) == 0;
    const auto dims = static_cast<int>(update.domain.size());
    bool all_pure = true;
    for (int d = 0; d < stage.dimensions; ++d) {
      Index index{d, 1, 0, 1, std::nullopt};
      if (dims > 0 && random_.below(5) == 0) {
        index = {kReduction + static_cast<int>(random_.below(dims)), 1,
                 static_cast<int>(random_.between(-2, 2)), 1, std::nullopt};
        all_pure = false;
        barred_[static_cast<std::size_t>(d)] = true;
      } else if (dims > 0 && random_.below(12) == 0) {
        index = binned(dims);
        all_pure = false;
        barred_[static_cast<std::size_t>(d)] = true;
      }
      update.at.push_back(index);
    }
    const std::int64_t left = left_;
    left_ = std::min<std::int64_t>(left_, 6);
    for (std::size_t i = 0; i < stage.values.size(); ++i) {
      const Type type = stage.values[i].type;
      Term self;
      self.kind = Term::Kind::Tap;
      self.type = type;
      self.source = kSelf;
      self.element = static_cast<int>(i);
      self.at = update.at;
      if (!all_pure && random_.coin()) {
        // An earlier or later point of the walk.
        for (Index& index : self.at) {
          if (index.var >= kReduction) index.offset += static_cast<int>(random_.between(-1, 1));
        }
      }
      in_reduction_ = dims;
      Term change = expression(type, 2);
      in_reduction_ = 0;
      const Operation join =
          type.is_bool()
              ? Operation::Either
              : random_.pick(std::vector<Operation>{Operation::Add, Operation::Add, Operation::Sub,
                                                    Operation::Mul, Operation::Min, Operation::Max});
      update.values.push_back(applied(join, type, {std::move(self), std::move(change)}));
    }
    barred_ = {};
    left_ = left;
    stage.updates.push_back(std::move(update));
  }

  /// Joins the first value with the input that the output may replace, at the point itself.
  void add_replaced(ProgramStage& stage, int input) {
    const Type type = base_;
    Term own;
    own.kind = Term::Kind::Tap;
    own.type = type;
    own.source = input;
    for (int d = 0; d < stage.dimensions; ++d) own.at.push_back({d});
    Term value = converted(std::move(stage.values[0]), type);
    const Operation join =
        type.is_bool()
            ? Operation::Either
            : random_.pick(std::vector<Operation>{Operation::Add, Operation::Sub, Operation::Mul});
    stage.values[0] = applied(join, type, {std::move(own), std::move(value)});
  }

  void add(ProgramStage stage) {
    program_.stages.push_back(std::move(stage));
    is_read_.push_back(false);
    taps_ = inlined_taps(program_);
  }

  /// Makes a recurrence of some stages; often one that reads the columns of the recurrence before it.
  void walk_randomly(ProgramStage& stage, bool last) {
    const ProgramStage* before = program_.stages.empty() ? nullptr : &program_.stages.back();
    const bool follows = before && before->walk && before->dimensions == stage.dimensions;
    std::optional<int> dim;
    if (random_.below(follows ? 2 : 7) > 0) return;
    if (follows && random_.below(4) > 0) {
      dim = before->walk->dim;
      const int source = program_.source_of_stage(program_.stages.size() - 1);
      for (Term& value : stage.values) {
        const Operation join = value.type.is_bool() ? Operation::Either : Operation::Sub;
        value = applied(join, value.type, {value, converted(tap(source, own_point(stage)), value.type)});
      }
    }
    add_walk(stage, last, dim, random_);
  }

  void add_stage(bool last) {
    if (program_.inputs.empty()) make_inputs();
    if (!last && random_.below(4) == 0) {
      if (auto boundary = random_boundary(program_, replaced_, random_))
        return add(std::move(*boundary));
    }
    ProgramStage stage;
    stage.name = "f" + std::to_string(program_.stages.size());
    stage.dimensions = last || coupled_ || random_.below(10) > 0
                           ? dimensions_
                           : static_cast<int>(random_.between(1, dimensions_));
    stage_dimensions_ = stage.dimensions;
    left_ = last ? budget_ : std::max<std::int64_t>(2, budget_ / 3);
    const std::size_t values =
        random_.below(12) == 0 ? static_cast<std::size_t>(random_.between(2, 3)) : 1;
    for (std::size_t i = 0; i < values; ++i) stage.values.push_back(value(stage_type()));
    if (last && replaced_ >= 0) add_replaced(stage, replaced_);
    if (coupled_ && random_.below(4) > 0) add_replaced(stage, static_cast<int>(program_.stages.size()));
    // What says where a walk starts is in no part that is shared.
    if (random_.below(6) == 0) share_terms(stage, random_);
    walk_randomly(stage, last);
    if (random_.below(9) == 0) {
      for (std::int64_t n = random_.between(1, 2); n > 0; --n) add_colored_update(stage, random_);
    } else if (random_.below(6) == 0) {
      for (std::int64_t n = random_.between(1, 2); n > 0; --n) add_update(stage);
    }
    add(std::move(stage));
  }

  Random& random_;
  bool coupled_ = false;  ///< all sources have one type and all dimensions, and most stages are outputs
  std::size_t stages_ = 0;
  Program program_;
  int dimensions_ = 1, stage_dimensions_ = 1, in_reduction_ = 0;
  int replaced_ = -1;  ///< an input that the last stage alone reads; -1: none
  Type base_;
  std::int64_t budget_ = 0, left_ = 0;
  std::vector<std::int64_t> taps_;
  std::vector<bool> is_read_;
  std::array<bool, kReduction> barred_{};
};

}  // namespace

Program random_program(Random& random, bool coupled) {
  for (;;) {
    Program program = Generator(random, coupled).run();
    const std::vector<std::int64_t> taps = inlined_taps(program);
    if (*std::max_element(taps.begin(), taps.end()) > 400) continue;
    // Halos of a few stages in four dimensions alone may be more than the oracle should compute.
    std::vector<Box> smallest;
    for (const int output : program.outputs) {
      smallest.emplace_back(
          static_cast<std::size_t>(program.stages[static_cast<std::size_t>(output)].dimensions),
          std::pair<std::int64_t, std::int64_t>(0, 4));
    }
    if (points_to_compute(program, smallest) <= kMostFuzzPoints) return program;
  }
}

}  // namespace mica::test
