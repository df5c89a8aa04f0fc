#include "tests/support/operation_cases.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "dsl/expr/constant_math.h"
#include "tests/support/hand_kernels.h"

namespace mica::test {

namespace {

bool same_bits(Type type, const unsigned char* a, const unsigned char* b) {
  if (type.is_float()) {
    const Value x = load_value(type, a), y = load_value(type, b);
    const bool x_nan = type.bits == 64 ? std::isnan(x.d) : std::isnan(x.f);
    const bool y_nan = type.bits == 64 ? std::isnan(y.d) : std::isnan(y.f);
    if (x_nan || y_nan) return x_nan && y_nan;
  }
  return std::memcmp(a, b, static_cast<std::size_t>(type.bytes())) == 0;
}

}  // namespace

const std::vector<Type>& all_types() {
  static const std::vector<Type> types = {Bool(),     UInt(8),   Int(8),   UInt(16), Int(16),
                                          UInt(32),   Int(32),   UInt(64), Int(64),  Float(16),
                                          BFloat(16), Float(32), Float(64)};
  return types;
}

std::vector<OperationCase> arithmetic_cases(Type type) {
  std::vector<OperationCase> cases;
  const std::string suffix = "." + to_string(type);
  const auto binary = [&](const char* name, BinaryOp op) {
    cases.push_back({name + suffix, type, type,
                     [op](const Expr& a, const Expr& b) {
                       return make_expr(a.type(), Binary{op, a, b});
                     },
                     [op, type](Value a, Value b) { return apply_binary(op, type, a, b); }});
  };
  const auto unary = [&](const char* name, UnaryOp op) {
    cases.push_back({name + suffix, type, type,
                     [op](const Expr& a, const Expr&) {
                       return make_expr(a.type(), Unary{op, a});
                     },
                     [op, type](Value a, Value) { return apply_unary(op, type, a); }});
  };
  const auto compare = [&](const char* name, CompareOp op) {
    cases.push_back({name + suffix, type, Bool(),
                     [op](const Expr& a, const Expr& b) {
                       return make_expr(Bool().with_lanes(a.type().lanes), Compare{op, a, b});
                     },
                     [op, type](Value a, Value b) { return apply_compare(op, type, a, b); }});
  };
  compare("eq", CompareOp::Eq);
  compare("ne", CompareOp::Ne);
  if (type.is_bool()) {
    binary("and", BinaryOp::And);
    binary("or", BinaryOp::Or);
    unary("not", UnaryOp::Not);
    return cases;
  }
  compare("lt", CompareOp::Lt);
  compare("le", CompareOp::Le);
  compare("gt", CompareOp::Gt);
  compare("ge", CompareOp::Ge);
  binary("add", BinaryOp::Add);
  binary("sub", BinaryOp::Sub);
  binary("mul", BinaryOp::Mul);
  binary("div", BinaryOp::Div);
  binary("min", BinaryOp::Min);
  binary("max", BinaryOp::Max);
  unary("neg", UnaryOp::Neg);
  unary("abs", UnaryOp::Abs);
  if (type.is_float()) {
    unary("sqrt", UnaryOp::Sqrt);
    unary("floor", UnaryOp::Floor);
    unary("ceil", UnaryOp::Ceil);
    unary("round", UnaryOp::Round);
    cases.push_back({"fma" + suffix, type, type,
                     [](const Expr& a, const Expr& b) { return fused(a, b, a); },
                     [type](Value a, Value b) { return apply_fma(type, a, b, a); }});
    return cases;
  }
  binary("mod", BinaryOp::Mod);
  binary("shl", BinaryOp::Shl);
  binary("shr", BinaryOp::Shr);
  binary("bitand", BinaryOp::BitAnd);
  binary("bitor", BinaryOp::BitOr);
  binary("bitxor", BinaryOp::BitXor);
  unary("bitnot", UnaryOp::BitNot);
  for (const int divisor : {1, 2, 3, 8, 10, 100, -1, -3, -4}) {
    if (divisor < 0 && !type.is_int()) continue;
    for (const BinaryOp op : {BinaryOp::Div, BinaryOp::Mod}) {
      cases.push_back({(op == BinaryOp::Div ? "div" : "mod") + std::to_string(divisor) + suffix, type,
                       type,
                       [op, divisor, type](const Expr& a, const Expr&) {
                         const Expr c = make_const(type, std::int64_t{divisor});
                         const int lanes = a.type().lanes;
                         return make_expr(a.type(), Binary{op, a, lanes == 1 ? c : broadcast(c, lanes)});
                       },
                       [op, divisor, type](Value a, Value) {
                         return apply_binary(op, type, a, integer_value(type, divisor));
                       }});
    }
  }
  return cases;
}

std::vector<OperationCase> cast_cases() {
  std::vector<OperationCase> cases;
  for (const Type from : all_types()) {
    for (const Type to : all_types()) {
      cases.push_back({to_string(from) + "." + to_string(to), from, to,
                       [to](const Expr& a, const Expr&) {
                         return make_expr(to.with_lanes(a.type().lanes), Cast{a});
                       },
                       [from, to](Value a, Value) { return apply_cast(from, to, a); }});
    }
  }
  return cases;
}

ir::Kernel operation_kernel(const OperationCase& operation, int lanes, bool on_device) {
  constexpr int kThreads = 64;
  const Expr i = on_device ? make_var("block.x") * kThreads + make_var("thread.x") : make_var("i");
  const Expr at = i * lanes;
  const int alignment = on_device ? lanes : 1;  // std::vector aligns to 16 bytes, GPU memory to 256
  const auto operand = [&](const char* buffer) {
    return lanes == 1 ? load(buffer, operation.from, at)
                      : load_vector(buffer, operation.from, at, lanes, alignment);
  };
  const Expr value = operation.make(operand("a"), operand("b"));
  const ir::Stmt put = lanes == 1 ? store("out", at, value) : store_vector("out", at, value, alignment);
  ir::Kernel kernel;
  kernel.name = operation.name;
  kernel.on_device = on_device;
  kernel.params = {pointer("a", operation.from), pointer("b", operation.from),
                   pointer("out", operation.to, true)};
  kernel.block[0] = on_device ? kThreads : 1;
  kernel.body = on_device ? put : loop(LoopKind::Serial, "i", 0, kOperationSamples / lanes, put);
  return kernel;
}

std::vector<unsigned char> operation_samples(Type type, int operand) {
  constexpr std::size_t count = kOperationSamples;
  std::vector<unsigned char> data(count * static_cast<std::size_t>(type.bytes()));
  std::mt19937_64 engine(static_cast<unsigned>(operand) + 1U);
  for (unsigned char& byte : data) byte = static_cast<unsigned char>(engine());
  std::vector<double> edges;
  if (type.is_float()) {
    const double inf = std::numeric_limits<double>::infinity();
    edges = {0.0,          -0.0,          1.0,     -1.0,
             0.5,          1.5,           2.5,     -2.5,
             1e-7,         6e-8,          65504.0, 65520.0,
             1e30,         inf,           -inf,    std::numeric_limits<double>::quiet_NaN(),
             2147483648.0, -2147483649.0, 9.3e18,  255.5};
  }
  for (std::size_t i = 0; i < count; ++i) {
    unsigned char* at = &data[i * static_cast<std::size_t>(type.bytes())];
    if (type.is_bool()) *at &= 1;
    if (type.is_float() && i < edges.size() * edges.size()) {
      const double edge = operand == 0 ? edges[i % edges.size()] : edges[i / edges.size()];
      store_value(type, at, float_value(type, edge));
    } else if (type.is_integer() && i < 64) {
      // Unsigned, so that the neighbours of the lowest i64 are defined.
      const std::uint64_t top = std::uint64_t{1} << (type.bits - 1);
      const std::uint64_t list[8] = {0, 1, ~std::uint64_t{0}, 2, top - 1, top, top + 1, 7};
      const std::uint64_t edge = operand == 0 ? list[i % 8] : list[i / 8];
      store_value(type, at, integer_value(type, static_cast<std::int64_t>(edge)));
    }
  }
  return data;
}

std::vector<unsigned char> expected_results(const OperationCase& operation) {
  const auto in_bytes = static_cast<std::size_t>(operation.from.bytes());
  const auto out_bytes = static_cast<std::size_t>(operation.to.bytes());
  const std::vector<unsigned char> a = operation_samples(operation.from, 0);
  const std::vector<unsigned char> b = operation_samples(operation.from, 1);
  std::vector<unsigned char> results(kOperationSamples * out_bytes);
  for (std::size_t i = 0; i < kOperationSamples; ++i) {
    const Value x = load_value(operation.from, &a[i * in_bytes]);
    const Value y = load_value(operation.from, &b[i * in_bytes]);
    store_value(operation.to, &results[i * out_bytes], operation.expected(x, y));
  }
  return results;
}

std::string compare_results(const OperationCase& operation, const std::vector<unsigned char>& results) {
  const std::vector<unsigned char> expected = expected_results(operation);
  const auto bytes = static_cast<std::size_t>(operation.to.bytes());
  const auto number = [](Type type, const std::vector<unsigned char>& data, std::size_t i) {
    const Value v = load_value(type, &data[i * static_cast<std::size_t>(type.bytes())]);
    if (!type.is_float()) return integer_text(type, v.i);
    return std::to_string(type.bits == 64 ? v.d : static_cast<double>(v.f));
  };
  for (std::size_t i = 0; i < kOperationSamples; ++i) {
    if (same_bits(operation.to, &results[i * bytes], &expected[i * bytes])) continue;
    return operation.name + " of " + number(operation.from, operation_samples(operation.from, 0), i) +
           " and " + number(operation.from, operation_samples(operation.from, 1), i) + " is " +
           number(operation.to, results, i) + ", not " + number(operation.to, expected, i);
  }
  return "";
}

}  // namespace mica::test
