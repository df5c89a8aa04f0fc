// Barriers and waits come from the edges of a kernel's plan: a plan with one edge less is found unsound,
// and where no other edge asks for a barrier in the same place the emulator finds that threads do not
// wait.
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/ir/traverse.h"
#include "codegen/llvm/backend.h"
#include "codegen/lower.h"
#include "codegen/plan/verify/verify_plan.h"
#include "dsl/pipeline/pipeline.h"
#include "fuzz/expected_outputs.h"
#include "runtime/emulator/emulator.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

const Var x("x"), y("y"), z("z");
constexpr std::size_t kNone = ~std::size_t{0};

/// The program behind `func` for the emulator, made of a plan without edge `dropped`; that such a plan
/// is not sound is told by verify_plan.
mica::Program lowered_without(const Func& func, std::size_t dropped, const Variant& variant) {
  const LowerOptions options{Target::gpu_emulator(), variant, {}, DeviceLimits{}};
  mica::Program program = lower(make_pipeline({func.function()}), options, "plan_kernels");
  planning::KernelPlan& plan = program.kernels.back();
  if (dropped != kNone) {
    plan.edges.erase(plan.edges.begin() + static_cast<std::ptrdiff_t>(dropped));
    EXPECT_FALSE(planning::verify_plan(plan, program.pipeline).empty()) << dropped;
  }
  bool planned = false;
  for (const Pass& pass : pass_list()) {
    if (planned) pass.run(program);
    planned = planned || pass.name == "plan_kernels";
  }
  return program;
}

int waits(const mica::Program& program) {
  int count = 0;
  for (const Nest& nest : program.nests) {
    ir::walk(
        nest.kernel.body,
        [&](const ir::Stmt& s) {
          count += s.as<ir::Barrier>() != nullptr || s.as<ir::CopyWait>() != nullptr ? 1 : 0;
        },
        nullptr);
  }
  return count;
}

/// Does the emulator find fault with the code, in one of a few orders of threads?
bool is_caught(const ExpectedOutputs& expected, const Func& func, std::size_t dropped) {
  bool caught = false;
  for (int seed = 1; seed <= 2 && !caught; ++seed) {
    setenv("MICA_EMULATOR_SEED", std::to_string(seed).c_str(), 1);
    Executable executable(Target::gpu_emulator(), {func.name()}, [&](const Variant& variant) {
      const ir::Module module = to_module(lowered_without(func, dropped, variant));
      auto made = std::make_shared<CompiledVariant>();
      made->plan = module.plan;
      made->kernels = llvm_backend::load_emulated_kernels(module);
      return std::shared_ptr<const CompiledVariant>(made);
    });
    try {
      caught = expected.run(executable).verdict != Verdict::Same;
    } catch (const EmulatorError&) {
      caught = true;
    }
  }
  unsetenv("MICA_EMULATOR_SEED");
  return caught;
}

/// Every edge of `func`'s plan for which threads wait is dropped once. For how many does the emulator
/// find fault with what is left?
int caught_without(const Func& func, const ImageParam& u, const Box& box) {
  const auto memory = bind_demanded({func}, box, {u}, 5);
  const ExpectedOutputs expected({func}, {box}, {});
  EXPECT_FALSE(is_caught(expected, func, kNone));
  const mica::Program sound = lowered_without(func, kNone, {});
  const auto& edges = sound.kernels.back().edges;
  int caught = 0;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (edges[i].wait == planning::Wait::None) continue;
    if (waits(lowered_without(func, i, {})) == waits(sound)) continue;
    caught += is_caught(expected, func, i) ? 1 : 0;
  }
  return caught;
}

Expr star(const std::function<Expr(Expr, Expr, Expr)>& u) {
  return 0.3F * u(x, y, z) + 0.11F * u(x - 1, y, z) + 0.13F * u(x + 1, y, z) + 0.09F * u(x, y - 1, z) +
         0.12F * u(x, y + 1, z) + 0.08F * u(x, y, z - 1) + 0.14F * u(x, y, z + 1);
}

/// A star of u, its blocks of 32 x 4 points marching along z.
struct Star {
  ImageParam u{Float(32), 3, "u"};
  Func next{"next"};
  Star() {
    next(x, y, z) = star([&](Expr a, Expr b, Expr c) -> Expr { return u(a, b, c); });
    next.gpu_tile(x, y, 32, 4).march(z, 6);
  }
  int caught() const { return caught_without(next, u, {{0, 96}, {0, 12}, {0, 12}}); }
};

TEST(DroppedEdges, OfAStagedPlaneAreFound) {
  Star s;
  s.next.stage(s.u, MemoryType::Shared).register_window(s.u, z);
  EXPECT_EQ(s.caught(), 2);
}

TEST(DroppedEdges, OfCopiesAheadAreFound) {
  for (const int ahead : {0, 1, 2}) {
    Star s;
    s.next.stage(s.u, MemoryType::Shared, LoadPolicy::AsyncCopy);
    if (ahead > 0) s.next.pipeline(s.u, ahead);
    EXPECT_GE(s.caught(), 1) << ahead;
  }
}

TEST(DroppedEdges, OfBulkCopiesAreFound) {
  const ImageParam u(Float(32), 3, "u");
  Func next("next");
  next(x, y, z) = u(x - 4, y, z) + u(x + 4, y - 1, z) + u(x, y + 1, z - 1) + u(x, y, z + 1);
  next.gpu_tile(x, y, 32, 4).march(z, 6).stage(u, MemoryType::Shared, LoadPolicy::Bulk);
  next.vectorize(x, 4).pipeline(u, 1);
  EXPECT_GE(caught_without(next, u, {{0, 384}, {0, 12}, {0, 12}}), 2);
}

TEST(DroppedEdges, OfAChainAreFound) {
  const ImageParam u(Float(32), 3, "u");
  Func once("once"), next("next");
  once(x, y, z) = star([&](Expr a, Expr b, Expr c) -> Expr { return u(a, b, c); });
  next(x, y, z) = star([&](Expr a, Expr b, Expr c) -> Expr { return once(a, b, c); });
  next.gpu_tile(x, y, 32, 4).march(z, 6);
  once.compute_at(next, "z.march");
  u.in(once).compute_at(next, "z.march");
  EXPECT_GE(caught_without(next, u, {{0, 96}, {0, 12}, {0, 12}}), 2);
}

TEST(DroppedEdges, OfRowsThatThreadsPassOnAreFound) {
  const ImageParam u(Float(32), 3, "u");
  Func once("once"), next("next");
  once(x, y, z) = star([&](Expr a, Expr b, Expr c) -> Expr { return u(a, b, c); });
  next(x, y, z) = star([&](Expr a, Expr b, Expr c) -> Expr { return once(a, b, c); });
  next.gpu_tile(x, y, 32, 2).vectorize(x, 2).unroll(y, 2).march(z, 6);
  once.compute_at(next, "z.march").store_in(MemoryType::Register);
  EXPECT_GE(caught_without(next, u, {{0, 62}, {0, 8}, {0, 7}}), 1);
}

TEST(DroppedEdges, OfABoxThatALoopFillsAgainAreFound) {
  const ImageParam u(Float(32), 3, "u");
  Func b("b"), f("f");
  b(x, y, z) = u(x, y, z) * 2.0F;
  f(x, y, z) = b(x - 1, y, z) + b(x + 1, y + 1, z);
  f.gpu_tile(x, y, 32, 4).reorder("x.thread", "y.thread", z, "x.block", "y.block");
  b.compute_at(f, z);
  EXPECT_EQ(caught_without(f, u, {{0, 96}, {0, 12}, {0, 5}}), 2);
}

}  // namespace
}  // namespace mica::test
