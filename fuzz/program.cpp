#include "fuzz/program.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "dsl/expr/node_visit.h"

namespace mica::test {
namespace {

/// What the variables of a definition stand for.
struct Names {
  std::vector<Expr> pure;
  std::vector<Expr> reduction;
};

Expr variable(int var, const Names& names) {
  return var >= kReduction ? names.reduction.at(static_cast<std::size_t>(var - kReduction))
                           : names.pure.at(static_cast<std::size_t>(var));
}

/// What `index` makes of `e`, its variable or what it looks up.
Expr bent(Expr e, const Index& index) {
  if (index.scale != 1) e = e * index.scale;
  if (index.offset != 0) e = e + index.offset;
  if (index.divisor != 1) e = e / index.divisor;
  if (index.shift != 0) e = e >> index.shift;
  if (index.mask) e = e & *index.mask;
  if (index.modulus) e = e % *index.modulus;
  if (index.limits) e = clamp(e, index.limits->first, index.limits->second);
  return e.type().is_wide_uint() ? cast(Int(32), e) : e;
}

Expr constant(Type type, double value) {
  if (type == Float(32)) return Expr(static_cast<float>(value));
  if (type == Float(64)) return Expr(value);
  if (type.is_float()) return cast(type, Expr(static_cast<float>(value)));
  if (type == Int(64) || type.is_wide_uint()) return make_const(type, value);
  const Expr literal(static_cast<std::int32_t>(value));
  return type == Int(32) ? literal : cast(type, literal);
}

Expr parameter(Type type, const std::string& name, double value) {
  if (type == Int(32)) return Param<std::int32_t>(name, static_cast<std::int32_t>(value));
  return Param<float>(name, static_cast<float>(value));
}

/// With `param`, of bounds that are Params of that name.
RDom make_domain(const Domain& domain, const std::string& name, const std::string& param) {
  std::vector<std::pair<Expr, Expr>> d;
  for (const auto& [min, extent] : domain) {
    const auto bound = [&](std::int64_t value) {
      return param.empty() ? Expr(static_cast<std::int32_t>(value))
                           : parameter(Int(32), param, static_cast<double>(value));
    };
    d.emplace_back(bound(min), bound(extent));
  }
  if (d.size() == 1) return RDom({d[0]}, name);
  if (d.size() == 2) return RDom({d[0], d[1]}, name);
  return RDom({d.at(0), d.at(1), d.at(2)}, name);
}

/// The coordinate inside [min, min + extent) that `x` reads.
Expr inside(Boundary boundary, const Expr& x, const Expr& min, const Expr& extent) {
  const Expr from = x - min, last = min + extent - 1;
  const auto parity = [](const Expr& turn) { return turn - 2 * (turn / 2); };
  switch (boundary) {
    case Boundary::RepeatEdge:
    case Boundary::ConstantExterior: return select(x < min, min, select(x > last, last, x));
    case Boundary::RepeatImage: return min + (from - from / extent * extent);
    case Boundary::MirrorImage: {
      const Expr turn = from / extent, at = from - turn * extent;
      return min + select(parity(turn) == 0, at, extent - 1 - at);
    }
    case Boundary::MirrorInterior: {
      const Expr period = max(extent - 1, 1), turn = from / period, at = from - turn * period;
      return select(extent == 1, min, min + select(parity(turn) == 0, at, period - at));
    }
  }
  return x;
}

Expr combined(const Term& term, const std::vector<Expr>& e) {
  switch (term.operation) {
    case Operation::Neg: return -e[0];
    case Operation::Abs: return abs(e[0]);
    case Operation::Sqrt: return sqrt(e[0]);
    case Operation::Floor: return floor(e[0]);
    case Operation::Round: return round(e[0]);
    case Operation::Exp: return exp(e[0]);
    case Operation::Strict: return strict(e[0]);
    case Operation::Cast: return cast(term.type, e[0]);
    case Operation::Add: return e[0] + e[1];
    case Operation::Sub: return e[0] - e[1];
    case Operation::Mul: return e[0] * e[1];
    case Operation::Div: return e[0] / e[1];
    case Operation::Mod: return e[0] % e[1];
    case Operation::Min: return min(e[0], e[1]);
    case Operation::Max: return max(e[0], e[1]);
    case Operation::BitAnd: return e[0] & e[1];
    case Operation::BitXor: return e[0] ^ e[1];
    case Operation::Shl: return e[0] << e[1];
    case Operation::Shr: return e[0] >> e[1];
    case Operation::Less: return e[0] < e[1];
    case Operation::AtMost: return e[0] <= e[1];
    case Operation::Equal: return e[0] == e[1];
    case Operation::Differs: return e[0] != e[1];
    case Operation::Both: return e[0] && e[1];
    case Operation::Either: return e[0] || e[1];
    case Operation::Select: return select(e[0], e[1], e[2]);
    case Operation::Clamp: return clamp(e[0], e[1], e[2]);
    case Operation::Fma: return fma(e[0], e[1], e[2]);
    case Operation::Sum:
    case Operation::Least:
    case Operation::Greatest: break;
  }
  return e[0];
}

class Builder {
 public:
  Builder(const Program& program, const CaseNames& names) : program_(program), called_(names) {
    for (const auto& input : program_.inputs) {
      inputs_.emplace_back(input.type, input.dimensions, called(called_, input.name));
    }
  }
  Builder(const Program& program, const CaseNames& names, std::vector<ImageParam> inputs)
      : program_(program), called_(names), inputs_(std::move(inputs)), is_reference_(true) {}

  TestPipeline run() {
    TestPipeline result;
    result.inputs = inputs_;
    for (const ProgramStage& stage : program_.stages) funcs_.push_back(define(stage));
    result.funcs = funcs_;
    for (const int i : program_.outputs) result.outputs.push_back(funcs_[static_cast<std::size_t>(i)]);
    result.scalars = scalars_;
    return result;
  }

 private:
  Func define(const ProgramStage& stage) {
    if (stage.boundary) return is_reference_ ? define_boundary(stage) : boundary_of(stage);
    Func f(called(called_, stage.name));
    Names names;
    for (int d = 0; d < stage.dimensions; ++d) {
      names.pure.push_back(Var(called(called_, default_dimension_names()[static_cast<std::size_t>(d)])));
    }
    self_ = &f;
    for (const Term& term : stage.shared) shared_.push_back(value(term, names));
    f(names.pure) = Tuple(values(stage.values, names));
    shared_.clear();
    int next = 0;
    for (const ProgramStage::Update& update : stage.updates) {
      if (!update.domain.empty()) {
        const RDom r = make_domain(update.domain, called(called_, "r"),
                                   update.of_params ? called(called_, "q") : "");
        for (int d = 0; d < r.dimensions(); ++d) names.reduction.push_back(r[d]);
      }
      std::vector<Expr> at;
      for (const Index& index : update.at) at.push_back(coordinate(index, names));
      std::vector<Expr> new_values = values(update.values, names);
      for (std::size_t i = 0; i < new_values.size(); ++i) {
        if (new_values[i].type() != f.types()[i]) new_values[i] = cast(f.types()[i], new_values[i]);
      }
      f(at) = Tuple(new_values);
      if (update.color) f.update(next).color(color(*update.color, names));
      ++next;
      names.reduction.clear();
    }
    return f;
  }

  static Expr color(const ProgramStage::Color& of, const Names& names) {
    Expr sum;
    for (std::size_t d = 0; d < of.factors.size(); ++d) {
      const Expr part = names.pure[d] * of.factors[d];
      sum = sum.defined() ? sum + part : part;
    }
    return sum % of.count;
  }

  /// The library's.
  [[nodiscard]] Func boundary_of(const ProgramStage& stage) {
    BoundaryRanges ranges;
    for (std::size_t d = 0; d < stage.extents.size(); ++d) {
      const BoundaryExtent& extent = stage.extents[d];
      const auto bound = [&](int value) {
        return extent.of_params ? parameter(Int(32), called(called_, "q"), value) : Expr(value);
      };
      switch (extent.kind) {
        case BoundaryExtent::Kind::None: ranges.emplace_back(); break;
        case BoundaryExtent::Kind::Own: ranges.emplace_back(Var(default_dimension_names()[d])); break;
        case BoundaryExtent::Kind::Given:
          ranges.emplace_back(bound(extent.min), bound(extent.extent));
          break;
      }
    }
    const Expr outside = constant(program_.type_of(stage.source), 3);
    const auto made = [&](const auto& source, const auto&... list) {
      namespace conditions = BoundaryConditions;
      switch (*stage.boundary) {
        case Boundary::RepeatEdge: return conditions::repeat_edge(source, list...);
        case Boundary::ConstantExterior: return conditions::constant_exterior(source, outside, list...);
        case Boundary::RepeatImage: return conditions::repeat_image(source, list...);
        case Boundary::MirrorImage: return conditions::mirror_image(source, list...);
        case Boundary::MirrorInterior: break;
      }
      return conditions::mirror_interior(source, list...);
    };
    if (program_.is_stage(stage.source)) return made(func_of(stage.source), ranges);
    const ImageParam& input = inputs_[static_cast<std::size_t>(stage.source)];
    return ranges.empty() ? made(input) : made(input, ranges);
  }

  /// The search's own.
  [[nodiscard]] Func define_boundary(const ProgramStage& stage) const {
    std::vector<Expr> vars, at;
    Expr is_outside = Expr(false);
    for (int d = 0; d < stage.dimensions; ++d) {
      const auto i = static_cast<std::size_t>(d);
      const Expr x = Var(default_dimension_names()[i]);
      const BoundaryExtent own, extent = stage.extents.empty() ? own : stage.extents[i];
      Expr place = x;
      if (extent.kind == BoundaryExtent::Kind::Given) {
        place = inside(*stage.boundary, x, Expr(extent.min), Expr(std::max(extent.extent, 1)));
      } else if (extent.kind == BoundaryExtent::Kind::Own) {
        const int origin = program_.origin_of(stage.source);
        const auto dim = inputs_.at(static_cast<std::size_t>(origin)).dim(d);
        place = inside(*stage.boundary, x, dim.min(), dim.extent());
      }
      vars.push_back(x);
      at.push_back(place);
      is_outside = is_outside || x != place;
    }
    Func f(stage.name);
    const Expr value = program_.is_stage(stage.source)
                           ? Expr(func_of(stage.source)(at))
                           : inputs_[static_cast<std::size_t>(stage.source)](at);
    const bool is_constant = *stage.boundary == Boundary::ConstantExterior;
    f(vars) = is_constant ? select(is_outside, constant(value.type(), 3), value) : value;
    return f;
  }

  [[nodiscard]] const Func& func_of(int source) const {
    return funcs_[static_cast<std::size_t>(source) - inputs_.size()];
  }

  std::vector<Expr> values(const std::vector<Term>& terms, const Names& names) {
    std::vector<Expr> result;
    for (const Term& term : terms) result.push_back(value(term, names));
    return result;
  }

  Expr value(const Term& term, const Names& names) {
    switch (term.kind) {
      case Term::Kind::Constant: return constant(term.type, term.value);
      case Term::Kind::Coordinate: return cast(term.type, coordinate(term.at.at(0), names));
      case Term::Kind::Parameter: return scalar(term);
      case Term::Kind::Tap: return tap(term, names);
      case Term::Kind::Shared: return shared_.at(static_cast<std::size_t>(term.element));
      case Term::Kind::Apply: break;
    }
    if (!term.domain.empty()) {
      const RDom r =
          make_domain(term.domain, called(called_, "s"), term.of_params ? called(called_, "q") : "");
      Names inner = names;
      for (int d = 0; d < r.dimensions(); ++d) inner.reduction.push_back(r[d]);
      const Expr body = operand(term, 0, inner);
      if (term.operation == Operation::Sum) return sum(r, body);
      return term.operation == Operation::Least ? minimum(r, body) : maximum(r, body);
    }
    std::vector<Expr> operands;
    for (std::size_t i = 0; i < term.operands.size(); ++i) operands.push_back(operand(term, i, names));
    return combined(term, operands);
  }

  Expr coordinate(const Index& index, const Names& names) {
    if (index.is_constant()) return Expr(index.offset);
    if (index.looked_up.empty()) return bent(variable(index.var, names), index);
    return bent(value(index.looked_up.front(), names), index);
  }

  /// A Param of its own, which runs may give other values.
  Expr scalar(const Term& term) {
    if (term.type == Int(32)) return scalar("q", static_cast<std::int32_t>(term.value));
    if (!term.type.is_wide_uint()) return scalar("p", static_cast<float>(term.value));
    const std::uint64_t number = natural_number(term.type, term.value);
    return term.type.bits == 64 ? scalar("q", number) : scalar("q", static_cast<std::uint32_t>(number));
  }
  template <typename T>
  Expr scalar(const char* name, T value) {
    const Param<T> param(called(called_, name), value);
    scalars_.emplace_back(param, value);
    return param;
  }

  Expr operand(const Term& term, std::size_t i, const Names& names) {
    const Expr e = value(term.operands[i], names);
    const Type type = operand_type(term, i);
    return e.type() == type ? e : cast(type, e);
  }

  Expr tap(const Term& term, const Names& names) {
    std::vector<Expr> at;
    for (const Index& index : term.at) at.push_back(coordinate(index, names));
    const Func* callee = self_;
    if (term.source != kSelf) {
      if (!program_.is_stage(term.source)) return inputs_[static_cast<std::size_t>(term.source)](at);
      callee = &func_of(term.source);
    }
    return (*callee)(at)[term.element];
  }

  const Program& program_;
  const CaseNames& called_;
  std::vector<ImageParam> inputs_;
  bool is_reference_ = false;
  std::vector<Func> funcs_;
  const Func* self_ = nullptr;
  std::vector<Expr> shared_;
  std::vector<RunParam> scalars_;
};

}  // namespace

bool operator==(const Index& a, const Index& b) {
  const auto all = [](const Index& i) {
    return std::tie(i.var, i.scale, i.offset, i.divisor, i.limits, i.modulus, i.shift, i.mask,
                    i.looked_up);
  };
  return all(a) == all(b);
}

Type Program::type_of(int source, int element) const {
  if (!is_stage(source)) return inputs[static_cast<std::size_t>(source)].type;
  const ProgramStage& read = stage(source);
  if (read.boundary) return type_of(read.source);
  return read.values[static_cast<std::size_t>(element)].type;
}

int Program::dimensions_of(int source) const {
  return is_stage(source) ? stage(source).dimensions
                          : inputs[static_cast<std::size_t>(source)].dimensions;
}

int Program::origin_of(int source) const {
  return is_stage(source) && stage(source).boundary ? origin_of(stage(source).source) : source;
}

int operand_count(Operation operation) {
  if (operation <= Operation::Cast || operation >= Operation::Sum) return 1;
  return operation >= Operation::Select ? 3 : 2;
}

bool is_comparison(Operation operation) {
  return operation >= Operation::Less && operation <= Operation::Differs;
}

bool takes(Operation operation, Type type) {
  switch (operation) {
    case Operation::Sqrt:
    case Operation::Floor:
    case Operation::Round:
    case Operation::Exp:
    case Operation::Fma: return type.is_float();
    case Operation::Mod:
    case Operation::BitAnd:
    case Operation::BitXor:
    case Operation::Shl:
    case Operation::Shr: return type.is_integer();
    case Operation::Both:
    case Operation::Either: return type.is_bool();
    case Operation::Cast:
    case Operation::Strict:
    case Operation::Select: return true;
    default: return !type.is_bool();
  }
}

Type operand_type(const Term& term, std::size_t i) {
  if (term.operation == Operation::Cast) return term.operands[i].type;
  if (term.operation == Operation::Select && i == 0) return Bool();
  if (is_comparison(term.operation)) {
    const Type first = term.operands[0].type;
    return first.is_bool() ? Int(32) : first;
  }
  return term.type;
}

TestPipeline build_reference(const Program& program, const std::vector<ImageParam>& inputs) {
  const CaseNames plain;
  return Builder(program, plain, inputs).run();
}
TestPipeline build(const Program& program, const CaseNames& names) {
  return Builder(program, names).run();
}

bool may_be_param(Type type) { return type == Float(32) || type == Int(32) || type.is_wide_uint(); }

std::uint64_t natural_number(Type type, double value) {
  if (value >= std::ldexp(1.0, type.bits)) return ~std::uint64_t{0} >> (64 - type.bits);
  return static_cast<std::uint64_t>(std::max(value, 0.0));
}

Term constant_term(Type type, double value) {
  Term term;
  term.type = type;
  term.value = value;
  return term;
}

Term applied(Operation operation, Type type, std::vector<Term> operands) {
  Term term;
  term.kind = Term::Kind::Apply;
  term.type = type;
  term.operation = operation;
  term.operands = std::move(operands);
  return term;
}

void for_each_part(Term& term, const std::function<void(Term&)>& visit) {
  for (Index& index : term.at) {
    for (Term& part : index.looked_up) visit(part);
  }
  for (Term& operand : term.operands) visit(operand);
}

void for_each_root(ProgramStage& stage, const std::function<void(Term&)>& visit) {
  for (Term& term : stage.shared) visit(term);
  for (Term& term : stage.values) visit(term);
  for (auto& update : stage.updates) {
    for (Index& index : update.at) {
      for (Term& part : index.looked_up) visit(part);
    }
    for (Term& term : update.values) visit(term);
  }
}

void for_each_term(const Term& term, const std::function<void(const Term&)>& visit) {
  visit(term);
  for (const Index& index : term.at) {
    for (const Term& part : index.looked_up) for_each_term(part, visit);
  }
  for (const Term& operand : term.operands) for_each_term(operand, visit);
}

void for_each_term(const ProgramStage& stage, const std::function<void(const Term&)>& visit) {
  const auto all = [&](const std::vector<Term>& terms) {
    for (const Term& term : terms) for_each_term(term, visit);
  };
  all(stage.shared);
  all(stage.values);
  for (const auto& update : stage.updates) {
    for (const Index& index : update.at) all(index.looked_up);
    all(update.values);
  }
}

}  // namespace mica::test
