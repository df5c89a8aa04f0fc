// Faults put into the code of bulk copies: the emulator finds each of them.
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "codegen/ir/traverse.h"
#include "codegen/llvm/backend.h"
#include "codegen/lower.h"
#include "dsl/pipeline.h"
#include "runtime/emulator.h"
#include "runtime/executable.h"
#include "tests/support/check_targets.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

using Change = std::function<ir::Stmt(const ir::Stmt&)>;

ir::Stmt changed(const ir::Stmt& s, const Change& change) {
  const ir::Stmt below = ir::map_children(
      s, [&](const ir::Stmt& child) { return changed(child, change); }, nullptr);
  return change(below);
}

/// What the emulator says when it runs `p` with `change` made in the lowered kernel; empty: nothing.
std::string fault_of(TestPipeline p, const Change& change) {
  const Box box{{0, 48}, {0, 12}, {0, 14}};
  const auto keep = p.bind(box, 3, Contents::Ordinary, Layout::Dense);
  const Target target = Target::gpu_emulator();
  ir::Module module =
      to_module(lower(make_pipeline({p.output().function()}), {target, Variant{}, {}, DeviceLimits{}}));
  for (auto& kernel : module.kernels) kernel.body = changed(kernel.body, change);
  Executable executable(target, {"next"}, [&](const Variant& variant) {
    EXPECT_EQ(variant, Variant{}) << "the arrays are aligned";
    auto compiled = std::make_shared<CompiledVariant>();
    compiled->kernels = llvm_backend::load_emulated_kernels(module);
    compiled->plan = module.plan;
    return compiled;
  });
  AnyBuffer out = buffer_over(Float(32), box);
  try {
    executable.run({&out});
    executable.synchronize();
  } catch (const EmulatorError& e) {
    return e.what();
  }
  return "";
}

std::vector<TestPipeline> pipelines() {
  std::vector<TestPipeline> list;
  for (const int ahead : {0, 2}) {
    for (const bool window : {false, true}) {
      TestPipeline p = star(Float(32), 3, 4);
      p.output()
          .gpu_tile("x", "y", 16, 4)
          .march("z", 5)
          .stage(p.inputs[0], MemoryType::Shared, LoadPolicy::Bulk);
      if (window) p.output().register_window(p.inputs[0], "z");
      p.output().pipeline(p.inputs[0], ahead);
      list.push_back(p);
    }
  }
  return list;
}

template <typename Op>
Change without() {
  return [](const ir::Stmt& s) { return s.as<Op>() ? ir::Stmt() : s; };
}
template <typename Op>
Change with(const std::function<void(Op&)>& edit) {
  return [edit](const ir::Stmt& s) {
    const Op* op = s.as<Op>();
    if (!op) return s;
    Op copy = *op;
    edit(copy);
    return ir::make_stmt(copy);
  };
}

TEST(BulkMutants, TheCodeItselfHasNoFault) {
  for (const auto& p : pipelines()) EXPECT_EQ(fault_of(p, [](const ir::Stmt& s) { return s; }), "");
}
TEST(BulkMutants, WithoutWaitsPlanesAreReadUnderWay) {
  for (const auto& p : pipelines()) EXPECT_NE(fault_of(p, without<ir::BulkWait>()), "");
}
TEST(BulkMutants, WithoutBarriersPlanesAreOverwrittenWhileTheyAreRead) {
  for (const auto& p : pipelines()) EXPECT_NE(fault_of(p, without<ir::Barrier>()), "");
}
TEST(BulkMutants, WithoutSetUpThereAreNoTransactionBarriers) {
  for (const auto& p : pipelines()) EXPECT_NE(fault_of(p, without<ir::BulkInit>()), "");
}
TEST(BulkMutants, WrongParitiesBytesAndSlotsAreFound) {
  for (const auto& p : pipelines()) {
    EXPECT_NE(fault_of(p, with<ir::BulkWait>([](auto& wait) { wait.parity = 1 - wait.parity; })), "");
    EXPECT_NE(fault_of(p, with<ir::BulkExpect>([](auto& expect) { expect.bytes = expect.bytes + 16; })),
              "");
    EXPECT_NE(fault_of(p, with<ir::BulkExpect>([](auto& expect) { expect.bytes = expect.bytes - 16; })),
              "");
    EXPECT_NE(fault_of(p, with<ir::BulkCopy>([](auto& copy) { copy.count = copy.count - 4; })), "");
  }
}
TEST(BulkMutants, RowsBesideTheirPlaceAreFound) {
  for (const auto& p : pipelines()) {
    const auto moved =
        with<ir::BulkCopy>([](auto& copy) { copy.from_index[0] = copy.from_index[0] + 1; });
    EXPECT_NE(fault_of(p, moved), "");
  }
}

}  // namespace
}  // namespace mica::test
