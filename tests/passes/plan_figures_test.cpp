// What a kernel's plan states is what its code has: bytes of shared memory, registers, threads, waits.
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "bench/algorithms.h"
#include "bench/cases.h"
#include "codegen/ir/traverse.h"
#include "dsl/expr/names.h"
#include "dsl/pipeline/func_graph.h"
#include "fuzz/program.h"
#include "fuzz/random_program.h"
#include "fuzz/random_schedules.h"
#include "tests/passes/lowered.h"

namespace mica {
namespace {

using planning::KernelPlan;
using planning::Stage;
using test::options_for;

/// What the Allocates of a kernel come to, by name, each counted once, and how its threads wait.
struct Counted {
  std::map<std::string, std::int64_t> shared_bytes, registers;
  std::set<int> groups_left;  ///< of waits for copies
  bool barriers = false, arrivals = false;
};

Counted counted(const ir::Stmt& body) {
  Counted counts;
  ir::walk(
      body,
      [&](const ir::Stmt& s) {
        counts.barriers = counts.barriers || s.as<ir::Barrier>();
        counts.arrivals = counts.arrivals || s.as<ir::BulkWait>();
        if (const auto* wait = s.as<ir::CopyWait>()) counts.groups_left.insert(wait->pending);
        const auto* alloc = s.as<ir::Allocate>();
        if (alloc == nullptr) return;
        const std::int64_t elements = ir::element_count(*alloc);
        if (alloc->memory == MemoryType::Shared) {
          counts.shared_bytes[alloc->buffer] = elements * alloc->type.bytes();
        } else if (alloc->memory == MemoryType::Register) {
          counts.registers[alloc->buffer] = elements * ((alloc->type.bytes() + 3) / 4);
        }
      },
      [](const Expr&) {});
  return counts;
}

/// The sum over the arrays of `func`, which are then taken out.
std::int64_t take(std::map<std::string, std::int64_t>& counts, const FunctionData& func) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i <= func.types.size(); ++i) {
    const std::string name = i < func.types.size()
                                 ? storage_name(func.name, static_cast<int>(i), func.types.size())
                                 : func.name + ".full";
    const auto found = counts.find(name);
    if (found == counts.end()) continue;
    sum += found->second;
    counts.erase(found);
  }
  return sum;
}

void expect_waits(const KernelPlan& plan, const Counted& counts) {
  std::set<int> groups_left;
  bool barriers = false, arrivals = false;
  for (const auto& edge : plan.edges) {
    if (edge.wait == planning::Wait::Copies) groups_left.insert(edge.pending);
    barriers = barriers || edge.wait == planning::Wait::Barrier || edge.wait == planning::Wait::Copies;
    arrivals = arrivals || edge.wait == planning::Wait::Arrival;
  }
  EXPECT_EQ(counts.groups_left, groups_left);
  EXPECT_EQ(counts.arrivals, arrivals);
  EXPECT_TRUE(barriers || arrivals || !counts.barriers);
}

/// How many stages were compared.
int expect_stated(const mica::Program& program) {
  int compared = 0;
  for (const KernelPlan& plan : program.kernels) {
    const std::string name =
        plan.func + (plan.definition ? ".update" + std::to_string(plan.definition) : "");
    const auto nest = std::find_if(program.nests.begin(), program.nests.end(),
                                   [&](const Nest& one) { return one.kernel.name == name; });
    if (nest == program.nests.end()) continue;  // over no points
    SCOPED_TRACE(planning::to_string(plan));
    Counted counts = counted(nest->body);
    for (const Stage& stage : plan.stages) {
      const FunctionData& func = *program.pipeline.find(stage.func);
      if (stage.func != plan.func && stage.box.empty()) {
        take(counts.shared_bytes, func);
        take(counts.registers, func);
        continue;
      }
      EXPECT_EQ(take(counts.shared_bytes, func), stage.shared_bytes) << stage.func;
      if (stage.func == plan.func) continue;
      EXPECT_EQ(take(counts.registers, func), stage.registers) << stage.func;
      ++compared;
    }
    expect_waits(plan, counts);
    EXPECT_EQ(plan.threads(),
              std::int64_t{nest->kernel.block[0]} * nest->kernel.block[1] * nest->kernel.block[2]);
    EXPECT_TRUE(counts.shared_bytes.empty()) << counts.shared_bytes.begin()->first;
  }
  return compared;
}

/// Of the code of one thread.
int expect_stated(const std::vector<Func>& outputs, const Variant& variant) {
  return expect_stated(lower(make_pipeline(functions_of(outputs)), options_for(Backend::Cuda, variant),
                             "fuse_thread_loops"));
}

Variant unaligned() {
  Variant variant;
  variant.aligned = false;
  return variant;
}

TEST(PlanFigures, EveryCaseOfTheBenchKeepsTheBytesAndRegistersThatItsPlanStates) {
  int cases = 0, stages = 0;
  for (const auto& c : bench::cases()) {
    if (!bench::has_schedule(c)) continue;
    SCOPED_TRACE(c.name);
    bench::Algorithm algorithm = bench::make_algorithm(c.algorithm);
    schedules::apply(algorithm.output, c.schedule, c.parameters);
    if (!schedules::find(c.schedule).on_gpu) continue;
    stages += expect_stated({algorithm.output}, {});
    stages += expect_stated({algorithm.output}, unaligned());
    ++cases;
  }
  EXPECT_GT(cases, 30);
  EXPECT_GT(stages, 2 * cases);
}

TEST(PlanFigures, SoDoRandomSchedulesOfRandomPrograms) {
  int stages = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    test::Random random(seed);
    const auto program = test::random_program(random);
    auto pipeline = test::build(program);
    test::schedule_randomly_for_gpu(pipeline, random);
    try {
      stages += expect_stated(pipeline.outputs, seed % 2 == 0 ? Variant{} : unaligned());
    } catch (const UserError&) {  // not every drawn schedule is legal
    }
  }
  EXPECT_GT(stages, 50);
}

}  // namespace
}  // namespace mica
