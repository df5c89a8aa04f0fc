#include "tests/support/hand_kernels.h"

#include <utility>

namespace mica::test {

namespace {

Expr thread_x() { return make_var("thread.x"); }

/// c0*u + c1*(six neighbours), as fix_rounding would order it.
Expr seven_points(const std::function<Expr(int, int, int)>& u, const Expr& c0, const Expr& c1) {
  Expr sum = c0 * u(0, 0, 0);
  sum = fused(c1, u(0, 0, -1), sum);
  sum = fused(c1, u(0, -1, 0), sum);
  sum = fused(c1, u(-1, 0, 0), sum);
  sum = fused(c1, u(1, 0, 0), sum);
  sum = fused(c1, u(0, 1, 0), sum);
  return fused(c1, u(0, 0, 1), sum);
}

std::vector<ir::KernelParam> seven_point_params() {
  return {
      pointer("u", Float(32)), pointer("next", Float(32), true), scalar("sy"), scalar("sz"), scalar("n"),
      scalar("c0", Float(32)), scalar("c1", Float(32))};
}

/// Address of a tap: the point's offset, then strides, then the constant.
Expr tap_index(const Expr& point, int dx, int dy, int dz) {
  const Expr sy = make_var("sy");
  const Expr sz = make_var("sz");
  Expr index = point;
  if (dz != 0) index = index + (dz == 1 ? sz : sz * dz);
  if (dy != 0) index = index + (dy == 1 ? sy : sy * dy);
  return dx == 0 ? index : index + dx;
}

}  // namespace

Expr load(const std::string& buffer, Type type, Expr index) {
  return make_expr(type, Load{buffer, {std::move(index)}, {}, 1});
}
Expr load_vector(const std::string& buffer, Type type, Expr base, int lanes, int alignment) {
  const Type index = base.type();
  Expr ramp =
      make_expr(index.with_lanes(lanes), Ramp{std::move(base), make_const(index, std::int64_t{1})});
  return make_expr(type.with_lanes(lanes), Load{buffer, {std::move(ramp)}, {}, alignment});
}
ir::Stmt store(const std::string& buffer, Expr index, Expr value) {
  return ir::make_stmt(ir::Store{buffer, {std::move(index)}, std::move(value), {}, 1});
}
ir::Stmt store_vector(const std::string& buffer, Expr base, Expr value, int alignment) {
  const Type index = base.type();
  Expr ramp = make_expr(index.with_lanes(value.type().lanes),
                        Ramp{std::move(base), make_const(index, std::int64_t{1})});
  return ir::make_stmt(ir::Store{buffer, {std::move(ramp)}, std::move(value), {}, alignment});
}
ir::Stmt loop(LoopKind kind, const std::string& name, Expr min, Expr extent, ir::Stmt body) {
  return ir::make_stmt(ir::For{name, std::move(min), std::move(extent), kind, std::move(body)});
}
ir::Stmt allocate(MemoryType memory, Type type, const std::string& buffer,
                  const std::vector<int>& extents, ir::Stmt body) {
  ir::Allocate a{buffer, type, memory, {}, {}, {}, std::move(body)};
  std::int64_t stride = 1;
  for (int extent : extents) {
    a.mins.emplace_back(0);
    a.extents.emplace_back(extent);
    a.strides.push_back(stride);
    stride *= extent;
  }
  return ir::make_stmt(std::move(a));
}
Expr fused(Expr a, Expr b, Expr c) {
  const Type type = a.type();
  return make_expr(type, Fma{std::move(a), std::move(b), std::move(c)});
}
Expr broadcast(Expr value, int lanes) {
  const Type type = value.type().with_lanes(lanes);
  return make_expr(type, Broadcast{std::move(value)});
}

ir::KernelParam pointer(const std::string& name, Type type, bool written) {
  return {name, type, true, written, !written};
}
ir::KernelParam scalar(const std::string& name, Type type) { return {name, type, false, false, false}; }

ir::Kernel seven_point_gpu(int min_blocks) {
  const Expr x = make_var("block.x") * 32 + thread_x() + 1;
  const Expr y = make_var("block.y") * 8 + make_var("thread.y") + 1;
  const Expr z = make_var("block.z") + 1;
  const Expr point = make_var("x") + make_var("y") * make_var("sy") + make_var("z") * make_var("sz");
  const Expr value = seven_points(
      [&](int dx, int dy, int dz) { return load("u", Float(32), tap_index(point, dx, dy, dz)); },
      make_var("c0", Float(32)), make_var("c1", Float(32)));
  const Expr last = make_var("n") - 1;
  const ir::Stmt guarded = ir::make_stmt(
      ir::If{make_var("x") < last && make_var("y") < last, store("next", point, value), {}});
  ir::Kernel kernel;
  kernel.name = "next.s0";
  kernel.on_device = true;
  kernel.params = seven_point_params();
  kernel.block[0] = 32;
  kernel.block[1] = 8;
  kernel.min_blocks = min_blocks;
  kernel.body = ir::make_stmt(ir::LetStmt{
      "x", x, ir::make_stmt(ir::LetStmt{"y", y, ir::make_stmt(ir::LetStmt{"z", z, guarded})})});
  return kernel;
}

ir::Kernel seven_point_host(int lanes) {
  const Expr x = lanes == 1 ? make_var("x") : make_var("xv") * lanes + 1;
  const Expr point = make_var("z") * make_var("sz") + make_var("y") * make_var("sy") + x;
  const auto splat = [&](const Expr& e) { return lanes == 1 ? e : broadcast(e, lanes); };
  const Expr value = seven_points(
      [&](int dx, int dy, int dz) {
        const Expr index = tap_index(point, dx, dy, dz);
        return lanes == 1 ? load("u", Float(32), index) : load_vector("u", Float(32), index, lanes, 1);
      },
      splat(make_var("c0", Float(32))), splat(make_var("c1", Float(32))));
  const Expr inner = make_var("n") - 2;
  const ir::Stmt row =
      lanes == 1 ? loop(LoopKind::Serial, "x", 1, inner, store("next", point, value))
                 : loop(LoopKind::Serial, "xv", 0, inner / lanes, store_vector("next", point, value, 1));
  ir::Kernel kernel;
  kernel.name = "next.s0";
  kernel.params = seven_point_params();
  kernel.body = loop(LoopKind::Parallel, "z", 1, inner, loop(LoopKind::Serial, "y", 1, inner, row));
  return kernel;
}

ir::Kernel seven_point_march(int planes) {
  constexpr int kLanes = 4;
  const Type vector = Float(32).with_lanes(kLanes);
  const Expr x = (make_var("block.x") * 32 + thread_x()) * kLanes;
  const Expr y = make_var("block.y") * 8 + make_var("thread.y") + 1;
  const Expr z0 = make_var("block.z") * planes + 1;
  const Expr point = make_var("at");
  const auto plane = [&](int dz) {
    return load_vector("u", Float(32), tap_index(point, 0, 0, dz), kLanes, kLanes);
  };
  const auto splat = [&](const char* name) { return broadcast(make_var(name, Float(32)), kLanes); };
  // Lanes of the row's vector shifted by one, with the neighbour on the side from memory.
  const auto shifted = [&](int dx) {
    const Expr side = load("u", Float(32), point + (dx < 0 ? -1 : kLanes));
    const Expr row = make_var("here", vector);
    return dx < 0 ? make_expr(vector, Shuffle{{side, row}, {0, 1, 2, 3}})
                  : make_expr(vector, Shuffle{{row, side}, {1, 2, 3, 4}});
  };
  std::vector<ir::Stmt> steps;
  // w[0..2] are planes z-1, z, z+1 in registers.
  const auto w = [](int slot) { return load_vector("w", Float(32), slot * kLanes, kLanes, kLanes); };
  const auto set = [](int slot, const Expr& value) {
    return store_vector("w", slot * kLanes, value, kLanes);
  };
  ir::Stmt prologue = ir::make_block({set(0, plane(-1)), set(1, plane(0))});
  const Expr value = seven_points(
      [&](int dx, int dy, int dz) {
        if (dx != 0) return shifted(dx);
        if (dy != 0) {
          return load_vector("u", Float(32), tap_index(point, 0, dy, 0), kLanes, kLanes);
        }
        return w(dz + 1);
      },
      splat("c0"), splat("c1"));
  const ir::Stmt step = ir::make_block(
      {set(2, plane(1)),
       ir::make_stmt(ir::LetStmt{"here", w(1), store_vector("next", point, value, kLanes)}),
       set(0, w(1)), set(1, w(2))});
  const Expr offset = make_var("xy") + make_var("z") * make_var("sz");
  const ir::Stmt march = loop(LoopKind::Serial, "z", make_var("z0"), planes,
                              ir::make_stmt(ir::LetStmt{"at", offset, step}));
  prologue =
      ir::make_stmt(ir::LetStmt{"at", make_var("xy") + make_var("z0") * make_var("sz"), prologue});
  const ir::Stmt body =
      allocate(MemoryType::Register, Float(32), "w", {3 * kLanes}, ir::make_block({prologue, march}));
  ir::Kernel kernel;
  kernel.name = "next.march";
  kernel.on_device = true;
  kernel.params = seven_point_params();
  kernel.block[0] = 32;
  kernel.block[1] = 8;
  kernel.min_blocks = 4;
  kernel.body = ir::make_stmt(
      ir::LetStmt{"xy", x + y * make_var("sy"), ir::make_stmt(ir::LetStmt{"z0", z0, body})});
  return kernel;
}

ir::Kernel shared_reverse(int threads) {
  const Expr t = thread_x();
  const Expr at = make_var("block.x") * threads + t;
  const ir::Stmt body =
      ir::make_block({store("tile", t, load("u", Float(32), at)), ir::make_stmt(ir::Barrier{}),
                      store("out", at, load("tile", Float(32), threads - 1 - t))});
  ir::Kernel kernel;
  kernel.name = "reverse";
  kernel.on_device = true;
  kernel.params = {pointer("u", Float(32)), pointer("out", Float(32), true)};
  kernel.block[0] = threads;
  kernel.body = allocate(MemoryType::Shared, Float(32), "tile", {threads}, body);
  return kernel;
}

}  // namespace mica::test
