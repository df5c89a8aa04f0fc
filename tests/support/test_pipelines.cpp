#include "tests/support/test_pipelines.h"

#include <ostream>

namespace mica::test {

std::vector<Var> grid_vars(int dimensions) {
  std::vector<Var> vars;
  for (int d = 0; d < dimensions; ++d) vars.emplace_back(std::string(1, "xyzw"[d]));
  return vars;
}

std::vector<Expr> shifted(const std::vector<Var>& vars, int d, int offset) {
  std::vector<Expr> args;
  for (int i = 0; i < static_cast<int>(vars.size()); ++i) {
    const Expr v = vars[static_cast<std::size_t>(i)];
    args.push_back(i == d && offset != 0 ? v + offset : v);
  }
  return args;
}

Expr weight(Type type, int n) {
  if (type.is_float()) return make_const(type, (n % 2 == 0 ? 1.0 : -1.0) / (n + 2));
  return make_const(type, std::int64_t{n} + 1);
}

TestPipeline star(Type type, int dimensions, int radius) {
  const std::vector<Var> vars = grid_vars(dimensions);
  const ImageParam u(type, dimensions, "u");
  Func next("next");
  Expr total = weight(type, 0) * u(shifted(vars, 0, 0));
  for (int d = 0; d < dimensions; ++d) {
    for (int r = 1; r <= radius; ++r) {
      total = total + weight(type, d * radius + r) * (u(shifted(vars, d, -r)) + u(shifted(vars, d, r)));
    }
  }
  next(shifted(vars, 0, 0)) = total;
  return {"star", {next}, {next}, {u}};
}

TestPipeline box(Type type, int dimensions, int radius) {
  const std::vector<Var> vars = grid_vars(dimensions);
  const ImageParam u(type, dimensions, "u");
  Func next("next");
  Expr total;
  int taps = 0;
  for_each_point(Box(vars.size(), {-radius, 2 * radius + 1}), [&](const std::vector<std::int64_t>& at) {
    std::vector<Expr> args;
    for (std::size_t d = 0; d < vars.size(); ++d) {
      args.push_back(Expr(vars[d]) + static_cast<int>(at[d]));
    }
    const Expr term = weight(type, taps++) * u(args);
    total = total.defined() ? total + term : term;
  });
  next(shifted(vars, 0, 0)) = total;
  return {"box", {next}, {next}, {u}};
}

TestPipeline blur() {
  const Var x("x");
  const Var y("y");
  const ImageParam in(UInt(16), 2, "in");
  Func blur_x("blur_x");
  Func blur_y("blur_y");
  blur_x(x, y) = (in(x - 1, y) + in(x, y) + in(x + 1, y)) / 3;
  blur_y(x, y) = (blur_x(x, y - 1) + blur_x(x, y) + blur_x(x, y + 1)) / 3;
  return {"blur", {blur_x, blur_y}, {blur_y}, {in}};
}

TestPipeline wave() {
  const Var x("x");
  const Var y("y");
  const Var z("z");
  const ImageParam u(Float(32), 3, "u");
  const ImageParam v(Float(32), 3, "v");
  const Param<float> a("a", 0.3F);
  const Param<float> b("b", 1.7F);
  Func next("next");
  next(x, y, z) = b * u(x, y, z) - v(x, y, z) +
                  a * (u(x - 1, y, z) + u(x + 1, y, z) + u(x, y - 1, z) + u(x, y + 1, z) +
                       u(x, y, z - 1) + u(x, y, z + 1));
  return {"wave", {next}, {next}, {u, v}};
}

TestPipeline gradient() {
  const Var x("x");
  const Var y("y");
  const ImageParam u(Float(32), 2, "u");
  Func smooth("smooth");
  Func gx("gx");
  Func gy("gy");
  Func energy("energy");
  smooth(x, y) = (u(x - 1, y) + u(x + 1, y) + u(x, y - 1) + u(x, y + 1)) * 0.25F;
  gx(x, y) = smooth(x + 1, y) - smooth(x - 1, y);
  gy(x, y) = smooth(x, y + 2) - smooth(x, y - 1);
  energy(x, y) = sqrt(gx(x, y) * gx(x, y) + gy(x, y) * gy(x, y)) + smooth(x, y);
  return {"gradient", {smooth, gx, gy, energy}, {energy}, {u}};
}

TestPipeline multi_output() {
  const Var x("x");
  const Var y("y");
  const ImageParam a(Float(32), 2, "a");
  const ImageParam b(Float(32), 2, "b");
  Func y1("y1");
  Func y2("y2");
  Func y3("y3");
  y1(x, y) = a(x - 1, y) * b(x + 1, y) + a(x, y + 1);
  y2(x, y) = y1(x, y) - b(x, y - 1);
  y3(x, y) = y1(x, y) * y2(x, y) + a(x + 2, y);
  return {"multi_output", {y1, y2, y3}, {y1, y2, y3}, {a, b}};
}

TestPipeline down_up() {
  const Var x("x");
  const Var y("y");
  const ImageParam u(Float(32), 2, "u");
  Func down("down");
  Func up("up");
  down(x, y) =
      (u(2 * x, 2 * y) + u(2 * x + 1, 2 * y) + u(2 * x, 2 * y + 1) + u(2 * x + 1, 2 * y + 1)) * 0.25F;
  up(x, y) = u(x, y) - (down((x + 1) / 2, y / 2) + down((x - 1) / 2, (y + 1) / 2)) * 0.5F;
  return {"down_up", {down, up}, {up}, {u}};
}

TestPipeline tuple_stats() {
  const Var x("x");
  const Var y("y");
  const ImageParam in(UInt(16), 2, "in");
  Func stats("stats");
  Expr largest = in(x, y);
  Expr total = cast<std::int32_t>(in(x, y));
  for (int dy = -1; dy <= 1; ++dy) {
    for (int dx = -1; dx <= 1; ++dx) {
      if (dx == 0 && dy == 0) continue;
      const Expr tap = in(x + dx, y + dy);
      largest = max(largest, tap);
      total = total + cast<std::int32_t>(tap);
    }
  }
  stats(x, y) = Tuple(largest, total, cast<float>(total) / 9.0F);
  return {"tuple_stats", {stats}, {stats}, {in}};
}

TestPipeline accumulate() {
  const Var x("x");
  const Var y("y");
  const ImageParam u(Float(32), 2, "u");
  const ImageParam v(Float(32), 2, "v");
  const RDom r({{-2, 4}, {0, 3}}, "r");
  Func acc("acc");
  Func half("half");
  acc(x, y) = u(x, y);
  acc(x, y) += v(x + r.x, y + r.y) * u(x, y);
  half(x, y) = (acc(x, y) + acc(x + 1, y)) * 0.5F;
  return {"accumulate", {acc, half}, {half}, {u, v}};
}

Func coloured_relaxation(const Func& b, const ImageParam& start, int width, int height) {
  const Var x("x");
  const Var y("y");
  Func f("f");
  f(x, y) = start(x, y);
  f(x, y) = select(x > 0 && x < width - 1 && y > 0 && y < height - 1,
                   0.25F * (f(x - 1, y) + f(x + 1, y) + f(x, y - 1) + f(x, y + 1)) + b(x - 1, y) +
                       b(x + 2, y) - b(x, y - 1),
                   f(x, y));
  f.update().color((x + y) % 2);
  return f.bound(x, 0, width).bound(y, 0, height);
}

TestPipeline mixed_types() {
  const Var x("x");
  const Var y("y");
  const ImageParam a(UInt(8), 2, "a");
  const ImageParam b(Int(16), 2, "b");
  const ImageParam c(Float(64), 2, "c");
  Func product("product");
  Func mixed("mixed");
  product(x, y) = cast<std::int32_t>(a(x - 1, y)) * cast<std::int32_t>(b(x, y + 1));
  mixed(x, y) = cast<float>(cast<double>(product(x, y)) * c(x, y) + c(x + 1, y)) +
                cast<float>(a(x, y) + a(x, y - 1));
  return {"mixed_types", {product, mixed}, {mixed}, {a, b, c}};
}

TestPipeline chain_read_twice(int count) {
  const Var x("x");
  const ImageParam u(Float(32), 1, "u");
  std::vector<Func> chain{Func("f0")};
  chain[0](x) = u(x) * 0.5F;
  for (int i = 1; i < count; ++i) {
    const Func before = chain.back();
    chain.emplace_back("f" + std::to_string(i));
    chain.back()(x) = max(before(x), before(x) * 0.5F);
  }
  return {"chain_read_twice", chain, {chain.back()}, {u}};
}

const std::vector<PipelineMaker>& pipeline_makers() {
  static const std::vector<PipelineMaker> makers{
      {"star1d", 1, [] { return star(Float(32), 1, 2); }},
      {"star2d", 2, [] { return star(Float(64), 2, 1); }},
      {"star3d", 3, [] { return star(Float(32), 3, 1); }},
      {"star3d_radius4", 3, [] { return star(Float(32), 3, 4); }},
      {"star4d", 4, [] { return star(Int(32), 4, 1); }},
      {"box2d", 2, [] { return box(UInt(8), 2, 1); }},
      {"box3d", 3, [] { return box(Float(32), 3, 1); }},
      {"blur", 2, blur},
      {"wave", 3, wave},
      {"gradient", 2, gradient},
      {"multi_output", 2, multi_output},
      {"down_up", 2, down_up},
      {"tuple_stats", 2, tuple_stats},
      {"accumulate", 2, accumulate},
      {"mixed_types", 2, mixed_types},
  };
  return makers;
}

void PrintTo(const PipelineMaker& maker, std::ostream* out) { *out << maker.name; }

}  // namespace mica::test
