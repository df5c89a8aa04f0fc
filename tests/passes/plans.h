// Schedules whose kernels have plans of every kind, and those plans.
#pragma once

#include "codegen/plan/kernel_plan.h"
#include "tests/passes/lowered.h"

namespace mica::test {

inline const Var x("x"), y("y"), z("z");

template <typename Source>
Expr star(const Source& u) {
  return 0.5F * u(x, y, z) + 0.1F * (u(x - 1, y, z) + u(x + 1, y, z) + u(x, y - 1, z) + u(x, y + 1, z) +
                                     u(x, y, z - 1) + u(x, y, z + 1));
}

/// The current plane staged, the column in registers.
inline Func windowed() {
  ImageParam u(Float(32), 3, "u");
  Func next("next");
  next(x, y, z) = star(u);
  next.gpu_tile(x, y, 32, 8).march(z, 64).stage(u, MemoryType::Shared).register_window(u, z);
  next.vectorize(x, 4);
  return next;
}

/// All planes staged by asynchronous copies.
inline Func copied(int ahead) {
  ImageParam u(Float(32), 3, "u");
  Func next("next");
  next(x, y, z) = star(u);
  next.gpu_tile(x, y, 32, 8).march(z, 64).stage(u, MemoryType::Shared, LoadPolicy::AsyncCopy);
  next.vectorize(x, 4);
  if (ahead > 0) next.pipeline(u, ahead);
  return next;
}

/// Rows of whole 16 bytes, which the copy engine brings.
inline Func in_bulk() {
  ImageParam u(Float(32), 3, "u");
  Func next("next");
  next(x, y, z) = u(x - 4, y, z) + u(x + 4, y - 1, z) + u(x, y + 1, z - 1) + u(x, y, z + 1);
  next.gpu_tile(x, y, 32, 8).march(z, 64).stage(u, MemoryType::Shared, LoadPolicy::Bulk);
  next.vectorize(x, 4).pipeline(u, 1);
  return next;
}

/// The same, of which two further warps ask the engine.
inline Func bulk_apart() {
  Func next = in_bulk();
  next.warp_split(2);
  return next;
}

/// Two further warps fill what the tile's threads read.
inline Func apart(LoadPolicy load, int ahead) {
  ImageParam u(Float(32), 3, "u");
  Func next("next");
  next(x, y, z) = star(u);
  next.gpu_tile(x, y, 32, 8).march(z, 64).stage(u, MemoryType::Shared, load).warp_split(2);
  if (ahead > 0) next.pipeline(u, ahead);
  return next;
}

/// Two steps in one kernel.
inline Func chain() {
  ImageParam u(Float(32), 3, "u");
  Func next("next"), once("once");
  once(x, y, z) = star(u);
  next(x, y, z) = star(once);
  next.gpu_tile(x, y, 32, 8).march(z, 64);
  once.compute_at(next, "z.march");
  Func plane = u.in(once);
  plane.compute_at(next, "z.march");
  return next;
}

/// Two steps in one kernel, of which a further warp copies the inputs.
inline Func chain_apart() {
  ImageParam u(Float(32), 3, "u"), w(Float(32), 3, "w");
  Func next("next"), once("once");
  once(x, y, z) = star(u);
  next(x, y, z) = star(once) + w(x, y - 1, z);
  next.gpu_tile(x, y, 32, 8).march(z, 64);
  next.stage(w, MemoryType::Shared, LoadPolicy::AsyncCopy).pipeline(w, 2);
  once.compute_at(next, "z.march").stage(u, MemoryType::Shared, LoadPolicy::AsyncCopy).pipeline(u, 1);
  return next.warp_split(1);
}

/// A tile without a march.
inline Func tile() {
  ImageParam u(Float(32), 2, "u");
  Func across("across"), f("f");
  across(x, y) = u(x - 1, y) + u(x, y) + u(x + 1, y);
  f(x, y) = across(x, y - 1) + across(x, y) + across(x, y + 1);
  f.gpu_tile(x, y, 32, 8);
  across.compute_at(f, "x.block");
  return f;
}

inline Func scattered() {
  ImageParam u(Float(32), 3, "u");
  Func next("next");
  next(x, y, z) = star(u);
  next.gpu_tile(x, y, 32, 8).march(z, 64).scatter(z).stage(u, MemoryType::Shared);
  return next;
}

struct Planned {
  Pipeline pipeline;
  planning::KernelPlan plan;
};

inline Planned planned(const Func& f) {
  const mica::Program program = lowered(f, Backend::Cuda, "plan_kernels");
  return {program.pipeline, program.kernels.at(0)};
}

}  // namespace mica::test
