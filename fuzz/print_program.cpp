// A program as C++ that builds it again with Mica's public interface.
#include "fuzz/print_program.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "dsl/expr/node_visit.h"
#include "fuzz/program.h"

namespace mica::test {
namespace {

std::string joined_texts(const std::vector<std::string>& texts) {
  std::string result;
  for (const auto& text : texts) result += (result.empty() ? "" : ", ") + text;
  return result;
}

// C++ has no literal for the least integer.
std::string integer(int value) {
  return value == std::numeric_limits<int>::min() ? "(-2147483647 - 1)" : std::to_string(value);
}

std::string offset_text(int offset) {
  const bool subtracts = offset < 0 && offset != std::numeric_limits<int>::min();
  return (subtracts ? " - " : " + ") + integer(subtracts ? -offset : offset);
}

std::string variable_text(int var, const std::string& reduction, std::size_t dims) {
  if (var < kReduction) return default_dimension_names()[static_cast<std::size_t>(var)];
  return dims == 1 ? reduction : reduction + "[" + std::to_string(var - kReduction) + "]";
}

std::string decimal(double value) {
  std::ostringstream text;
  text.precision(17);
  text << value;
  if (text.str().find_first_of(".e") == std::string::npos) text << ".0";
  return text.str();
}

std::string constant_text(Type type, double value) {
  if (type == Float(32)) return decimal(value) + "F";
  if (type == Float(64)) return decimal(value);
  if (type.is_float()) return "cast(" + type_text(type) + ", " + decimal(value) + "F)";
  if (type.is_wide_uint() || (type == Int(64) && std::abs(value) > std::numeric_limits<int>::max())) {
    return "make_const(" + type_text(type) + ", " + decimal(value) + ")";
  }
  const std::string literal = integer(static_cast<std::int32_t>(value));
  return type == Int(32) ? literal : "cast(" + type_text(type) + ", " + literal + ")";
}

const char* infix(Operation operation) {
  switch (operation) {
    case Operation::Add: return " + ";
    case Operation::Sub: return " - ";
    case Operation::Mul: return " * ";
    case Operation::Div: return " / ";
    case Operation::Mod: return " % ";
    case Operation::BitAnd: return " & ";
    case Operation::BitXor: return " ^ ";
    case Operation::Shl: return " << ";
    case Operation::Shr: return " >> ";
    case Operation::Less: return " < ";
    case Operation::AtMost: return " <= ";
    case Operation::Equal: return " == ";
    case Operation::Differs: return " != ";
    case Operation::Both: return " && ";
    case Operation::Either: return " || ";
    default: return nullptr;
  }
}

const char* call(Operation operation) {
  switch (operation) {
    case Operation::Neg: return "-";
    case Operation::Abs: return "abs";
    case Operation::Sqrt: return "sqrt";
    case Operation::Floor: return "floor";
    case Operation::Round: return "round";
    case Operation::Exp: return "exp";
    case Operation::Strict: return "strict";
    case Operation::Min: return "min";
    case Operation::Max: return "max";
    case Operation::Select: return "select";
    case Operation::Clamp: return "clamp";
    case Operation::Fma: return "fma";
    case Operation::Sum: return "sum";
    case Operation::Least: return "minimum";
    case Operation::Greatest: return "maximum";
    default: return "";
  }
}

/// With `param`, a literal, of bounds that are Params of that name.
std::string domain_text(const Domain& domain, const std::string& param) {
  const auto bound = [&](std::int64_t value) {
    const std::string number = std::to_string(value);
    return param.empty() ? number : "Param<std::int32_t>(" + param + ", " + number + ")";
  };
  std::vector<std::string> ranges;
  for (const auto& [min, extent] : domain) {
    ranges.push_back("{" + bound(min) + ", " + bound(extent) + "}");
  }
  return "{" + joined_texts(ranges) + "}";
}

/// Params as variables, p0, p1, ... in the order in which they stand in the program.
struct Scalars {
  std::size_t count = 0;
  std::string declarations;  ///< of those that are not declared yet
};

class StageText {
 public:
  StageText(const Program& program, const CaseNames& names, std::string self, Scalars& scalars)
      : program_(program), called_(names), self_(std::move(self)), scalars_(scalars) {}

  /// Coordinates in a reduction's scope are those of the RDom of this name.
  void enter(const std::string& reduction, const Domain& domain) {
    reduction_ = reduction;
    dims_ = domain.size();
  }

  std::string coordinate(const Index& index) {
    if (index.is_constant()) return integer(index.offset);
    std::string e = index.looked_up.empty() ? variable_text(index.var, reduction_, dims_)
                                            : value(index.looked_up.front());
    if (index.scale != 1) e += " * " + integer(index.scale);
    if (index.offset != 0) e += offset_text(index.offset);
    bool plain = index.scale == 1 && index.offset == 0;
    const auto then = [&](const char* operation, int operand) {
      e = (plain ? e : "(" + e + ")") + operation + integer(operand);
      plain = false;
    };
    if (index.divisor != 1) then(" / ", index.divisor);
    if (index.shift != 0) then(" >> ", index.shift);
    if (index.mask) then(" & ", *index.mask);
    if (index.modulus) then(" % ", *index.modulus);
    if (index.limits) {
      e = "clamp(" + e + ", " + std::to_string(index.limits->first) + ", " +
          std::to_string(index.limits->second) + ")";
    }
    const bool is_wide = !index.looked_up.empty() && index.looked_up.front().type.is_wide_uint();
    return is_wide ? "cast(Int(32), " + e + ")" : e;
  }
  std::string coordinates(const std::vector<Index>& at) {
    std::vector<std::string> texts;
    for (const Index& index : at) texts.push_back(coordinate(index));
    return joined_texts(texts);
  }

  /// The term, in parentheses where it is an operator.
  std::string value(const Term& term) {
    switch (term.kind) {
      case Term::Kind::Constant: return constant_text(term.type, term.value);
      case Term::Kind::Coordinate:
        return "cast(" + type_text(term.type) + ", " + coordinate(term.at.at(0)) + ")";
      case Term::Kind::Parameter: return scalar(term);
      case Term::Kind::Tap: return tap(term);
      case Term::Kind::Shared: return self_ + "_s" + std::to_string(term.element);
      case Term::Kind::Apply: break;
    }
    if (!term.domain.empty()) return reduction(term);
    std::vector<std::string> operands;
    for (std::size_t i = 0; i < term.operands.size(); ++i) operands.push_back(operand(term, i));
    // Literals alone would be C++'s own arithmetic.
    const auto is_literal = [](const Term& t) { return t.kind == Term::Kind::Constant; };
    if (std::all_of(term.operands.begin(), term.operands.end(), is_literal)) {
      operands[0] = "Expr(" + operands[0] + ")";
    }
    if (term.operation == Operation::Cast)
      return "cast(" + type_text(term.type) + ", " + operands[0] + ")";
    if (const char* between = infix(term.operation))
      return "(" + operands[0] + between + operands[1] + ")";
    return std::string(call(term.operation)) + "(" + joined_texts(operands) + ")";
  }

 private:
  std::string scalar(const Term& term) {
    const std::string variable = scalar_text(scalars_.count++);
    scalars_.declarations += scalar_type_text(term.type) + " " + variable + "(" +
                             literal(called(called_, term.type == Int(32) ? "q" : "p")) + ", " +
                             scalar_value_text(term.type, term.value) + ");\n";
    return variable;
  }
  std::string operand(const Term& term, std::size_t i) {
    const std::string e = value(term.operands[i]);
    const Type type = operand_type(term, i);
    return term.operands[i].type == type ? e : "cast(" + type_text(type) + ", " + e + ")";
  }
  std::string reduction(const Term& term) {
    StageText inner = *this;
    inner.enter("s", term.domain);
    return std::string("[&] { RDom s(") +
           domain_text(term.domain, term.of_params ? literal(called(called_, "q")) : "") + ", " +
           literal(called(called_, "s")) + "); return " + call(term.operation) + "(s, " +
           inner.operand(term, 0) + "); }()";
  }
  std::string tap(const Term& term) {
    std::string text = self_;
    bool tuple = false;
    if (term.source != kSelf) {
      text = program_.is_stage(term.source)
                 ? handle_text(program_.stage(term.source).name)
                 : program_.inputs[static_cast<std::size_t>(term.source)].name;
    }
    const ProgramStage* stage = nullptr;
    if (term.source == kSelf || program_.is_stage(term.source)) {
      for (const ProgramStage& s : program_.stages) {
        if (handle_text(s.name) == text) stage = &s;
      }
    }
    tuple = stage != nullptr && stage->values.size() > 1;
    text += "(" + coordinates(term.at) + ")";
    return tuple ? text + "[" + std::to_string(term.element) + "]" : text;
  }

  const Program& program_;
  const CaseNames& called_;
  std::string self_, reduction_;
  std::size_t dims_ = 0;
  Scalars& scalars_;
};

const char* boundary_name(Boundary boundary) {
  switch (boundary) {
    case Boundary::RepeatEdge: return "repeat_edge";
    case Boundary::ConstantExterior: return "constant_exterior";
    case Boundary::RepeatImage: return "repeat_image";
    case Boundary::MirrorImage: return "mirror_image";
    case Boundary::MirrorInterior: return "mirror_interior";
  }
  return "";
}

std::string values_text(StageText& text, const std::vector<Term>& values,
                        const std::vector<Type>& types) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < values.size(); ++i) {
    texts.push_back(text.value(values[i]));
    if (values[i].type != types[i])
      texts.back() = "cast(" + type_text(types[i]) + ", " + texts.back() + ")";
  }
  // A lone literal takes no type of its own from the context: Expr gives it that of its C++ type.
  return texts.size() == 1 ? "Expr(" + texts[0] + ")" : "Tuple(" + joined_texts(texts) + ")";
}

std::string boundary_text(const Program& program, const CaseNames& names, const ProgramStage& stage) {
  const std::string source = program.is_stage(stage.source)
                                 ? handle_text(program.stage(stage.source).name)
                                 : program.inputs[static_cast<std::size_t>(stage.source)].name;
  std::string text = "Func " + handle_text(stage.name) +
                     " = BoundaryConditions::" + boundary_name(*stage.boundary) + "(" + source;
  if (*stage.boundary == Boundary::ConstantExterior) {
    text += ", " + constant_text(program.type_of(stage.source), 3);
  }
  if (stage.extents.empty()) return text + ");\n";
  std::vector<std::string> ranges;
  for (std::size_t d = 0; d < stage.extents.size(); ++d) {
    const BoundaryExtent& extent = stage.extents[d];
    const auto bound = [&](int value) {
      if (!extent.of_params) return integer(value);
      return "Param<std::int32_t>(" + literal(called(names, "q")) + ", " + integer(value) + ")";
    };
    std::string inside;
    if (extent.kind == BoundaryExtent::Kind::Own) {
      inside = "Var(" + literal(default_dimension_names()[d]) + ")";
    } else if (extent.kind == BoundaryExtent::Kind::Given) {
      inside = bound(extent.min) + ", " + bound(extent.extent);
    }
    ranges.push_back("BoundaryRange(" + inside + ")");
  }
  return text + ", BoundaryRanges{" + joined_texts(ranges) + "});\n";
}

std::string stage_text(const Program& program, const CaseNames& names, const ProgramStage& stage,
                       Scalars& scalars) {
  const std::string name = handle_text(stage.name);
  if (stage.boundary) return boundary_text(program, names, stage);
  StageText text(program, names, name, scalars);
  std::vector<std::string> vars;
  std::vector<Type> types;
  for (int d = 0; d < stage.dimensions; ++d) vars.push_back(variable_text(d, "", 0));
  for (const Term& term : stage.values) types.push_back(term.type);
  std::string result = "Func " + name + "(" + literal(called(names, stage.name)) + ");\n";
  for (std::size_t i = 0; i < stage.shared.size(); ++i) {
    result +=
        "const Expr " + name + "_s" + std::to_string(i) + "(" + text.value(stage.shared[i]) + ");\n";
  }
  result += name + "(" + joined_texts(vars) + ") = " + values_text(text, stage.values, types) + ";\n";
  for (std::size_t u = 0; u < stage.updates.size(); ++u) {
    const auto& update = stage.updates[u];
    const std::string r = name + "_r" + std::to_string(u);
    if (!update.domain.empty()) {
      result += "RDom " + r + "(" +
                domain_text(update.domain, update.of_params ? literal(called(names, "q")) : "") + ", " +
                literal(called(names, "r")) + ");\n";
    }
    text.enter(r, update.domain);
    result += name + "(" + text.coordinates(update.at) + ") = ";
    result += values_text(text, update.values, types) + ";\n";
    if (!update.color) continue;
    std::vector<std::string> parts;
    for (std::size_t d = 0; d < update.color->factors.size(); ++d) {
      parts.push_back(variable_text(static_cast<int>(d), "", 0) + " * (" +
                      std::to_string(update.color->factors[d]) + ")");
    }
    std::string sum;
    for (const auto& part : parts) sum += (sum.empty() ? "" : " + ") + part;
    result += name + ".update(" + std::to_string(u) + ").color((" + sum + ") % " +
              std::to_string(update.color->count) + ");\n";
  }
  return result;
}

}  // namespace

std::string scalar_text(std::size_t i) { return "p" + std::to_string(i); }
std::string scalar_type_text(Type type) {
  if (type.is_wide_uint()) return "Param<std::uint" + std::to_string(type.bits) + "_t>";
  return type == Int(32) ? "Param<std::int32_t>" : "Param<float>";
}
std::string scalar_value_text(Type type, double value) {
  if (type.is_wide_uint()) return std::to_string(natural_number(type, value)) + "U";
  return type == Int(32) ? integer(static_cast<std::int32_t>(value)) : decimal(value) + "F";
}

std::string type_text(Type type) {
  if (type.is_bool()) return "Bool()";
  if (type.code == TypeCode::BFloat) return "BFloat()";
  const char* const name = type.is_float() ? "Float" : type.is_int() ? "Int" : "UInt";
  return std::string(name) + "(" + std::to_string(type.bits) + ")";
}

std::string handle_text(std::string name) {
  for (char& c : name) {
    if (c == '.') c = '_';
  }
  return name;
}

std::string to_string(const Program& program, const CaseNames& names) {
  std::vector<std::string> vars;
  for (const auto& name : default_dimension_names()) {
    vars.push_back(name + "(" + literal(called(names, name)) + ")");
  }
  std::string result = "Var " + joined_texts(vars) + ";\n";
  for (const auto& input : program.inputs) {
    result += "ImageParam " + input.name + "(" + type_text(input.type) + ", " +
              std::to_string(input.dimensions) + ", " + literal(called(names, input.name)) + ");\n";
  }
  Scalars scalars;
  for (const ProgramStage& stage : program.stages) {
    const std::string text = stage_text(program, names, stage, scalars);
    result += scalars.declarations + text;
    scalars.declarations.clear();
  }
  return result;
}

}  // namespace mica::test
