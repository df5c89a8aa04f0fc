// The CPU back end alone: hand-made kernels return the bits of plain C++ loops.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/llvm/backend.h"
#include "tests/support/hand_kernels.h"
#include "tests/support/oracle_ops.h"

namespace mica {
namespace {

using test::Value;

std::shared_ptr<LoadedKernel> load_kernel(const ir::Kernel& kernel) {
  ir::Module module;
  module.name = kernel.name;
  module.kernels.push_back(kernel);
  const llvm_backend::LoadedKernels loaded = llvm_backend::load_host_kernels(module);
  EXPECT_EQ(loaded.size(), 1U);
  return loaded.at(0).second;
}

template <typename... T>
void launch(LoadedKernel& kernel, T... values) {
  void* arguments[] = {static_cast<void*>(&values)...};
  kernel.launch({}, arguments, sizeof...(T), {});
}

std::vector<float> random_floats(std::size_t count) {
  std::mt19937 engine(7);
  std::uniform_real_distribution<float> values(-1.0F, 1.0F);
  std::vector<float> data(count);
  for (float& v : data) v = values(engine);
  return data;
}

class SevenPoint {
 public:
  static constexpr int n = 34;
  static constexpr int sy = n, sz = n * n;
  std::vector<float> u = random_floats(static_cast<std::size_t>(sz) * n);
  float c0 = 0.4F, c1 = 0.1F;

  [[nodiscard]] std::vector<float> expected() const {
    std::vector<float> out(u.size(), -7.0F);
    for (int z = 1; z < n - 1; ++z) {
      for (int y = 1; y < n - 1; ++y) {
        for (int x = 1; x < n - 1; ++x) {
          const float* p = &u[static_cast<std::size_t>(x + y * sy + z * sz)];
          float sum = c0 * p[0];
          for (const int tap : {-sz, -sy, -1, 1, sy, sz}) sum = std::fma(c1, p[tap], sum);
          out[static_cast<std::size_t>(p - u.data())] = sum;
        }
      }
    }
    return out;
  }
  [[nodiscard]] std::vector<float> run(const ir::Kernel& kernel) const {
    std::vector<float> out(u.size(), -7.0F);
    launch(*load_kernel(kernel), u.data(), out.data(), sy, sz, n, c0, c1);
    return out;
  }
};

TEST(HostBackend, SevenPointStencilHasTheBitsOfAPlainLoop) {
  const SevenPoint problem;
  EXPECT_EQ(problem.run(test::seven_point_host(1)), problem.expected());
}

TEST(HostBackend, SevenPointStencilInVectorsHasTheSameBits) {
  const SevenPoint problem;
  for (const int lanes : {2, 4, 8, 16, 32}) {
    EXPECT_EQ(problem.run(test::seven_point_host(lanes)), problem.expected()) << lanes << " lanes";
  }
}

TEST(HostBackend, GpuLoopsRunEachBlockOnceWithItsOwnScratch) {
  // for blocks by, bx, threads t: tile[t] = u[...]; then out[...] = tile[T - 1 - t].
  constexpr int kThreads = 8, kBlocksX = 3, kBlocksY = 5;
  const Expr t = make_var("t");
  const Expr block = make_var("by") * kBlocksX + make_var("bx");
  const ir::Stmt fill = test::loop(LoopKind::GpuThread, "t", 0, kThreads,
                                   test::store("tile", t, test::load("u", Int(32), block * kThreads + t)));
  const ir::Stmt drain =
      test::loop(LoopKind::GpuThread, "t", 0, kThreads,
                 test::store("out", block * kThreads + t, test::load("tile", Int(32), kThreads - 1 - t)));
  ir::Kernel kernel;
  kernel.name = "blocks";
  kernel.params = {test::pointer("u", Int(32)), test::pointer("out", Int(32), true)};
  kernel.body = test::loop(
      LoopKind::GpuBlock, "by", 0, kBlocksY,
      test::loop(LoopKind::GpuBlock, "bx", 0, kBlocksX,
                 test::allocate(MemoryType::Shared, Int(32), "tile", {kThreads},
                                ir::make_block({fill, drain}))));
  std::vector<std::int32_t> u(kThreads * kBlocksX * kBlocksY), out(u.size(), -1), expected(u.size());
  for (std::size_t i = 0; i < u.size(); ++i) {
    u[i] = static_cast<std::int32_t>(i * i);
    expected[i / kThreads * kThreads + kThreads - 1 - i % kThreads] = u[i];
  }
  launch(*load_kernel(kernel), u.data(), out.data());
  EXPECT_EQ(out, expected);
}

TEST(HostBackend, ParallelLoopsNestAndSeeValuesAndMemoryAroundThem) {
  // let k = 2*n; allocate row[n]; row[i] = i*k; parallel y: parallel x: out[y*n + x] = row[x] + y
  const Expr n = make_var("n"), x = make_var("x"), y = make_var("y"), i = make_var("i");
  const ir::Stmt fill =
      test::loop(LoopKind::Serial, "i", 0, n, test::store("row", i, i * make_var("k")));
  const ir::Stmt use = test::loop(
      LoopKind::Parallel, "y", -1, n,
      test::loop(LoopKind::Parallel, "x", 0, n,
                 test::store("out", (y + 1) * n + x, test::load("row", Int(32), x) + y)));
  ir::Allocate row{"row", Int(32), MemoryType::Heap, {0}, {n}, {1}, ir::make_block({fill, use})};
  ir::Kernel kernel;
  kernel.name = "nested";
  kernel.params = {test::pointer("out", Int(32), true), test::scalar("n")};
  kernel.body = ir::make_stmt(ir::LetStmt{"k", 2 * n, ir::make_stmt(row)});
  constexpr int kN = 37;
  std::vector<std::int32_t> out(kN * kN), expected(out.size());
  for (int b = 0; b < kN; ++b) {
    for (int a = 0; a < kN; ++a) expected[static_cast<std::size_t>(b * kN + a)] = a * 2 * kN + b - 1;
  }
  launch(*load_kernel(kernel), out.data(), kN);
  EXPECT_EQ(out, expected);
}

TEST(HostBackend, AnEmptyLoopDoesNothing) {
  ir::Kernel kernel;
  kernel.name = "empty";
  kernel.params = {test::pointer("out", Int(32), true), test::scalar("n")};
  kernel.body = test::loop(LoopKind::Parallel, "y", 0, make_var("n"),
                           test::loop(LoopKind::Serial, "x", 0, make_var("n"),
                                      test::store("out", make_var("x"), make_var("y"))));
  std::int32_t out = 5;
  const auto loaded = load_kernel(kernel);
  launch(*loaded, &out, 0);
  launch(*loaded, &out, -3);
  EXPECT_EQ(out, 5);
}

TEST(HostBackend, AKernelOutlivesTheListItCameIn) {
  auto kernel = load_kernel(test::seven_point_host(4));
  KernelInfo info;
  kernel->describe(info);
  EXPECT_EQ(info.name, "next.s0");
  EXPECT_FALSE(info.on_device);
}

TEST(HostBackend, AnUnsoundKernelIsAnInternalErrorThatNamesTheFault) {
  ir::Kernel kernel;
  kernel.name = "bad";
  kernel.params = {test::pointer("out", Int(32), true)};
  kernel.body = test::store("out", make_var("nowhere"), 1);
  ir::Module module;
  module.kernels.push_back(kernel);
  try {
    llvm_backend::load_host_kernels(module);
    FAIL() << "no error";
  } catch (const InternalError& e) {
    EXPECT_NE(std::string(e.what()).find("nowhere is used but not defined"), std::string::npos)
        << e.what();
  }
}

// ---- every operation of every type against the oracle --------------------------------------------

/// Bytes of `count` elements: the edges of the type, then random bits.
std::vector<unsigned char> samples(Type type, std::size_t count, unsigned seed) {
  std::vector<unsigned char> data(count * static_cast<std::size_t>(type.bytes()));
  std::mt19937_64 engine(seed);
  for (unsigned char& byte : data) byte = static_cast<unsigned char>(engine());
  std::vector<double> edges;
  if (type.is_float()) {
    const double inf = std::numeric_limits<double>::infinity();
    edges = {0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 1e-7, 6e-8, 65504.0, 65520.0, 1e30, inf, -inf,
             std::numeric_limits<double>::quiet_NaN(), 2147483648.0, -2147483649.0, 9.3e18, 255.5};
  }
  for (std::size_t i = 0; i < count; ++i) {
    unsigned char* at = &data[i * static_cast<std::size_t>(type.bytes())];
    if (type.is_bool()) *at &= 1;
    if (type.is_float() && i < edges.size() * edges.size()) {
      // Both operands of a pair (seeds 1 and 2) go through all combinations.
      const double edge = seed == 1 ? edges[i % edges.size()] : edges[i / edges.size()];
      test::store_value(type, at, test::float_value(type, edge));
    } else if (type.is_integer() && i < 64) {
      const std::int64_t top = std::int64_t{1} << (type.bits - 1);
      const std::int64_t list[8] = {0, 1, -1, 2, top - 1, top, top + 1, 7};
      const std::int64_t edge = seed == 1 ? list[i % 8] : list[i / 8];
      test::store_value(type, at, test::integer_value(type, edge));
    }
  }
  return data;
}

constexpr std::size_t kSamples = 1024;

bool same_bits(Type type, const unsigned char* a, const unsigned char* b) {
  if (type.is_float()) {
    const Value x = test::load_value(type, a), y = test::load_value(type, b);
    const bool x_nan = type.bits == 64 ? std::isnan(x.d) : std::isnan(x.f);
    const bool y_nan = type.bits == 64 ? std::isnan(y.d) : std::isnan(y.f);
    if (x_nan || y_nan) return x_nan && y_nan;
  }
  return std::memcmp(a, b, static_cast<std::size_t>(type.bytes())) == 0;
}

/// out[i] = value(a[i], b[i]) over kSamples elements, `lanes` at a time.
struct Case {
  std::string name;
  Type from, to;
  std::function<Expr(Expr, Expr)> make;
  std::function<Value(Value, Value)> expected;
};

void run_cases(const std::vector<Case>& cases, int lanes) {
  ir::Module module;
  module.name = "operations";
  const Expr i = make_var("i");
  for (const Case& c : cases) {
    const Expr at = i * lanes;
    const auto operand = [&](const char* buffer) {
      return lanes == 1 ? test::load(buffer, c.from, i)
                        : test::load_vector(buffer, c.from, at, lanes, 1);
    };
    const Expr value = c.make(operand("a"), operand("b"));
    ir::Kernel kernel;
    kernel.name = c.name;
    kernel.params = {test::pointer("a", c.from), test::pointer("b", c.from),
                     test::pointer("out", c.to, true)};
    kernel.body = test::loop(LoopKind::Serial, "i", 0, static_cast<int>(kSamples) / lanes,
                             lanes == 1 ? test::store("out", i, value)
                                        : test::store_vector("out", at, value, 1));
    module.kernels.push_back(kernel);
  }
  const llvm_backend::LoadedKernels loaded = llvm_backend::load_host_kernels(module);
  for (std::size_t k = 0; k < cases.size(); ++k) {
    const Case& c = cases[k];
    const auto in_bytes = static_cast<std::size_t>(c.from.bytes());
    const auto out_bytes = static_cast<std::size_t>(c.to.bytes());
    const std::vector<unsigned char> a = samples(c.from, kSamples, 1), b = samples(c.from, kSamples, 2);
    std::vector<unsigned char> out(kSamples * out_bytes), expected(out.size());
    launch(*loaded[k].second, a.data(), b.data(), out.data());
    for (std::size_t s = 0; s < kSamples; ++s) {
      const Value x = test::load_value(c.from, &a[s * in_bytes]);
      const Value y = test::load_value(c.from, &b[s * in_bytes]);
      test::store_value(c.to, &expected[s * out_bytes], c.expected(x, y));
      ASSERT_TRUE(same_bits(c.to, &out[s * out_bytes], &expected[s * out_bytes]))
          << c.name << " of sample " << s << ", " << lanes << " lanes: operands "
          << (c.from.bits == 64 ? x.d : static_cast<double>(x.f)) << " / " << x.i << " and "
          << (c.from.bits == 64 ? y.d : static_cast<double>(y.f)) << " / " << y.i;
    }
  }
}

const std::vector<Type>& all_types() {
  static const std::vector<Type> types = {Bool(),  UInt(8), Int(8),   UInt(16),   Int(16),
                                          Int(32), Int(64), Float(16), BFloat(16), Float(32),
                                          Float(64)};
  return types;
}

std::vector<Case> arithmetic_cases(Type type) {
  std::vector<Case> cases;
  const std::string suffix = "." + to_string(type);
  const auto binary = [&](const char* name, BinaryOp op) {
    cases.push_back({name + suffix, type, type,
                     [op](const Expr& a, const Expr& b) { return make_expr(a.type(), Binary{op, a, b}); },
                     [op, type](Value a, Value b) { return test::apply_binary(op, type, a, b); }});
  };
  const auto unary = [&](const char* name, UnaryOp op) {
    cases.push_back({name + suffix, type, type,
                     [op](const Expr& a, const Expr&) { return make_expr(a.type(), Unary{op, a}); },
                     [op, type](Value a, Value) { return test::apply_unary(op, type, a); }});
  };
  const auto compare = [&](const char* name, CompareOp op) {
    cases.push_back({name + suffix, type, Bool(),
                     [op](const Expr& a, const Expr& b) {
                       return make_expr(Bool().with_lanes(a.type().lanes), Compare{op, a, b});
                     },
                     [op, type](Value a, Value b) { return test::apply_compare(op, type, a, b); }});
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
                     [](const Expr& a, const Expr& b) { return test::fused(a, b, a); },
                     [type](Value a, Value b) { return test::apply_fma(type, a, b, a); }});
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
                         return make_expr(a.type(), Binary{op, a, lanes == 1 ? c : test::broadcast(c, lanes)});
                       },
                       [op, divisor, type](Value a, Value) {
                         return test::apply_binary(op, type, a, test::integer_value(type, divisor));
                       }});
    }
  }
  return cases;
}

TEST(HostBackend, EveryOperationOfEveryTypeHasTheOraclesBits) {
  for (const Type type : all_types()) {
    if (type.is_half()) continue;  // a pass replaces arithmetic on f16 and bf16
    run_cases(arithmetic_cases(type), 1);
    run_cases(arithmetic_cases(type), 8);
  }
}

TEST(HostBackend, EveryCastHasTheOraclesBits) {
  std::vector<Case> cases;
  for (const Type from : all_types()) {
    for (const Type to : all_types()) {
      cases.push_back({to_string(from) + "." + to_string(to), from, to,
                       [to](const Expr& a, const Expr&) {
                         return make_expr(to.with_lanes(a.type().lanes), Cast{a});
                       },
                       [from, to](Value a, Value) { return test::apply_cast(from, to, a); }});
    }
  }
  run_cases(cases, 1);
  run_cases(cases, 8);
}

TEST(HostBackend, StridedReversedAndGatheredLanesReachTheirElements) {
  constexpr int kLanes = 4;
  const Type i4 = Int(32).with_lanes(kLanes);
  const auto ramp = [&](int base, int stride) { return make_expr(i4, Ramp{base, stride}); };
  const auto at = [&](const Expr& index) { return make_expr(i4, Load{"u", {index}, {}, 1}); };
  const Expr reversed = at(ramp(7, -1));                             // 7 6 5 4
  const Expr strided = at(ramp(0, 3));                               // 0 3 6 9
  const Expr gathered = at(at(ramp(0, 1)) % test::broadcast(8, kLanes));
  const Expr same = at(test::broadcast(Expr(2), kLanes));
  const Expr mixed = make_expr(i4, Shuffle{{reversed, strided}, {0, 4, 3, 7}});
  ir::Kernel kernel;
  kernel.name = "lanes";
  kernel.params = {test::pointer("u", Int(32)), test::pointer("out", Int(32), true)};
  const auto put = [&](const Expr& index, const Expr& value) {
    return ir::make_stmt(ir::Store{"out", {index}, value, {}, 1});
  };
  kernel.body = ir::make_block({put(ramp(0, 1), reversed), put(ramp(4, 1), strided),
                                put(ramp(8, 1), gathered), put(ramp(12, 1), same),
                                put(ramp(16, 1), mixed), put(ramp(23, -1), reversed),
                                put(ramp(24, 2), strided)});
  std::vector<std::int32_t> u(12), out(32, -1);
  for (std::size_t k = 0; k < u.size(); ++k) u[k] = static_cast<std::int32_t>(10 * k + 3);
  launch(*load_kernel(kernel), u.data(), out.data());
  const auto e = [&](std::int32_t k) { return u[static_cast<std::size_t>(k)]; };
  const std::vector<std::int32_t> expected = {
      e(7), e(6), e(5), e(4), e(0), e(3), e(6), e(9), e(3), e(13 % 8), e(23 % 8), e(33 % 8),
      e(2), e(2), e(2), e(2), e(7), e(0), e(4), e(9), e(4), e(5), e(6), e(7),
      e(0), -1,   e(3), -1,   e(6), -1,   e(9), -1};
  EXPECT_EQ(out, expected);
}

TEST(HostBackend, ALetHidesAnOuterOneOfItsName) {
  const Expr t = make_var("t");
  const Expr shared = t * t;  // one node under two bindings
  const Expr inner = make_expr(Int(32), Let{"t", t + 10, shared});
  const Expr value = make_expr(Int(32), Let{"t", make_var("n"), shared + inner + shared});
  ir::Kernel kernel;
  kernel.name = "lets";
  kernel.params = {test::pointer("out", Int(32), true), test::scalar("n")};
  kernel.body = test::store("out", 0, value);
  std::int32_t out = 0;
  launch(*load_kernel(kernel), &out, 3);
  EXPECT_EQ(out, 9 + 169 + 9);
}

}  // namespace
}  // namespace mica
