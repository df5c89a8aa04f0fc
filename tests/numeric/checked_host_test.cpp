// Target::host_checked(): faults put into lowered loops, one at a time, are reported with their numbers,
// and sound loops give the plain host's bits.
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/ir/print.h"
#include "codegen/ir/traverse.h"
#include "codegen/llvm/backend.h"
#include "dsl/expr/names.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"
#include "runtime/cpu/checked_run.h"
#include "schedules/registry.h"
#include "tests/passes/lowered.h"
#include "tests/support/check_targets.h"
#include "tests/support/hand_kernels.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

// ---- faults ----------------------------------------------------------------------------------------

using Change = std::function<ir::Stmt(const ir::Stmt&)>;
using ChangeExpr = std::function<Expr(const Expr&)>;

/// `s` with each statement and expression replaced by what the functions make of it; what they return
/// undefined stays.
ir::Stmt rewritten(const ir::Stmt& s, const Change& change, const ChangeExpr& change_expr = nullptr) {
  if (const ir::Stmt other = change(s); other.defined()) return other;
  NodeRewriter expressions([&](const Expr& e) { return change_expr ? change_expr(e) : Expr(); });
  return ir::map_children(
      s, [&](const ir::Stmt& child) { return rewritten(child, change, change_expr); },
      [&](const Expr& e) { return expressions(e); });
}
ir::Stmt nothing(const ir::Stmt& /*s*/) { return {}; }

/// Loads of `array` take the element `by` further along dimension 0.
Change shifted_loads(const std::string& array, int by) {
  return [=](const ir::Stmt& body) {
    return rewritten(body, nothing, [&](const Expr& e) {
      const auto* load = e.as<Load>();
      if (load == nullptr || load->buffer != array) return Expr();
      Load other = *load;
      other.index[0] = other.index[0] + by;
      return make_expr(e.type(), std::move(other));
    });
  };
}
/// Stores to `array` go to the element `by` further along dimension 0.
Change shifted_stores(const std::string& array, int by) {
  return [=](const ir::Stmt& body) {
    return rewritten(body, [&](const ir::Stmt& s) {
      const auto* store = s.as<ir::Store>();
      if (store == nullptr || store->buffer != array) return ir::Stmt();
      ir::Store other = *store;
      other.index[0] = other.index[0] + by;
      return ir::make_stmt(std::move(other));
    });
  };
}
/// Memory of `array` is one element smaller in dimension `d`.
Change smaller(const std::string& array, std::size_t d) {
  return [=](const ir::Stmt& body) {
    return rewritten(body, [&](const ir::Stmt& s) {
      const auto* alloc = s.as<ir::Allocate>();
      if (alloc == nullptr || alloc->buffer != array) return ir::Stmt();
      ir::Allocate other = *alloc;
      other.extents[d] = other.extents[d] - 1;
      return ir::make_stmt(std::move(other));
    });
  };
}
/// Loops of this name end one iteration early.
Change shorter(const std::string& loop) {
  return [=](const ir::Stmt& body) {
    return rewritten(body, [&](const ir::Stmt& s) {
      const auto* found = s.as<ir::For>();
      if (found == nullptr || found->name != loop) return ir::Stmt();
      return ir::make_stmt(
          ir::For{found->name, found->min, found->extent - 1, found->kind, found->body, found->rolled});
    });
  };
}
/// All guards hold for everybody.
ir::Stmt unguarded(const ir::Stmt& body) {
  return rewritten(body, [](const ir::Stmt& s) {
    const auto* guard = s.as<ir::If>();
    return guard == nullptr ? ir::Stmt() : unguarded(guard->then_case);
  });
}

/// `f` for the checked host, its loops after pass `after` changed.
Executable changed(const Func& f, const std::string& after, const Change& change) {
  const Pipeline pipeline = make_pipeline({f.function()});
  return Executable(Target::host_checked(), {f.name()}, [=](const Variant& variant) {
    Program program = lower(pipeline, options_for(Backend::HostChecked, variant), after);
    std::string before, behind;
    for (Nest& nest : program.nests) {
      before += ir::to_string(nest.body);
      nest.body = change(nest.body);
      behind += ir::to_string(nest.body);
    }
    EXPECT_NE(before, behind) << "the fault is nowhere";
    bool rest = false;
    for (const Pass& pass : pass_list()) {
      if (rest) pass.run(program);
      rest = rest || pass.name == after;
    }
    const ir::Module module = to_module(std::move(program));
    auto compiled = std::make_shared<CompiledVariant>();
    compiled->plan = module.plan;
    compiled->kernels =
        llvm_backend::load_host_kernels(module, llvm_backend::HostCpu::Native, KernelCache({}),
                                        pipeline.depth, llvm_backend::Accesses::Checked);
    return compiled;
  });
}

/// What the run reports.
std::string report_of(Executable executable, AnyBuffer& out) {
  try {
    executable.run(out);
  } catch (const AccessError& e) {
    return e.what();
  }
  return "(no report)";
}
std::string report_of(const Func& f, const std::string& after, const Change& change, AnyBuffer& out) {
  return report_of(changed(f, after, change), out);
}

/// next(x, y) = u(x, y) + u(x + 1, y) over 20 x 6 points of u's 21 x 6.
class CheckedHost : public ::testing::Test {
 protected:
  CheckedHost() {
    next_(x_, y_) = u_(x_, y_) + u_(x_ + 1, y_);
    source_.fill(1.0F);
    apart_.fill(1.0F);
    u_.set(source_);
  }
  std::string report(const Change& change, const std::string& after = "simplify_unrolled") {
    return report_of(next_, after, change, out_);
  }
  /// Of vectors that read, and that write, some points beside their arrays.
  void expect_the_first_bad_lane() {
    next_.vectorize(x_, 8, TailStrategy::ShiftInwards);
    EXPECT_EQ(report(shifted_loads("u", 3)),
              "index out of range in kernel next: reads u(21, 0), and u holds [0..20] x [0..5]");
    EXPECT_EQ(report(shifted_stores("next", -2)),
              "index out of range in kernel next: writes next(-2, 0), and next holds [0..19] x [0..5]");
  }

  const Var x_{"x"}, y_{"y"};
  ImageParam u_{Float(32), 2, "u"};
  Func next_{"next"};
  Buffer<float> source_{21, 6}, out_{20, 6};
  Buffer<float> apart_{std::vector<BufferDim>{{0, 21, 7}, {0, 6, 147}}};  ///< as source_, strided
};

TEST_F(CheckedHost, ReportsATapBesideAnInput) {
  next_.serial(y_);
  EXPECT_EQ(report(shifted_loads("u", 1)),
            "index out of range in kernel next: reads u(21, 0), and u holds [0..20] x [0..5]");
  EXPECT_EQ(report(shifted_loads("u", -1)),
            "index out of range in kernel next: reads u(-1, 0), and u holds [0..20] x [0..5]");
}

TEST_F(CheckedHost, ReportsAPointBesideAnOutput) {
  next_.serial(y_);
  EXPECT_EQ(report(shifted_stores("next", 1)),
            "index out of range in kernel next: writes next(20, 0), and next holds [0..19] x [0..5]");
}

TEST_F(CheckedHost, ReportsTheFirstBadLaneOfAVector) { expect_the_first_bad_lane(); }

TEST_F(CheckedHost, ReportsTheFirstBadLaneOfAVectorOfStridedRows) {
  u_.set(apart_);
  out_ = Buffer<float>(std::vector<BufferDim>{{0, 20, 6}, {0, 6, 1}});
  expect_the_first_bad_lane();
}

// A vector at the end of a row: each lane loads the tap or the element that stands for it.
TEST_F(CheckedHost, ReportsTheFirstBadLaneOfThoseThatAreTaken) {
  Buffer<float> out(16, 6);
  for (Buffer<float>& memory : {std::ref(apart_), std::ref(source_)}) {
    u_.set(memory);
    Func held("held");
    held(x_, y_) = BoundaryConditions::repeat_edge(u_)(x_ - 1, y_);
    held.vectorize(x_, 16).serial(y_);
    EXPECT_EQ(report_of(held, "simplify_unrolled", shifted_loads("u", 6), out), "(no report)");
    EXPECT_EQ(report_of(held, "simplify_unrolled", shifted_loads("u", 7), out),
              "index out of range in kernel held: reads u(21, 0), and u holds [0..20] x [0..5]");
  }
}

TEST_F(CheckedHost, ReportsTheRestOfAVectorWhoseGuardIsLeftOut) {
  next_.vectorize(x_, 8, TailStrategy::GuardWithIf);
  EXPECT_EQ(report(unguarded, "simplify_loops"),
            "index out of range in kernel next: reads u(21, 0), and u holds [0..20] x [0..5]");
}

// Blocks run at once: of those that go beyond an edge there is one.
TEST_F(CheckedHost, ReportsThreadsBeyondTheEdge) {
  next_.gpu_tile(x_, y_, 16, 6);
  EXPECT_EQ(report(unguarded, "simplify_loops"),
            "index out of range in kernel next: reads u(21, 0), and u holds [0..20] x [0..5]");
}

TEST_F(CheckedHost, ReportsThreadsBelowTheLastRow) {
  next_.gpu_tile(x_, y_, 20, 4);
  EXPECT_EQ(report(unguarded, "simplify_loops"),
            "index out of range in kernel next: reads u(0, 6), and u holds [0..20] x [0..5]");
}

TEST_F(CheckedHost, ReportsOneOfTheBadIterationsOfAParallelLoop) {
  next_.parallel(y_).vectorize(x_, 4);
  for (int again = 0; again < 5; ++again) {
    const std::string message = report(shifted_loads("u", 1));
    EXPECT_TRUE(message.starts_with("index out of range in kernel next: reads u(21, ")) << message;
    EXPECT_TRUE(message.ends_with("), and u holds [0..20] x [0..5]")) << message;
  }
}

TEST_F(CheckedHost, LeavesTheRestOfALoopOut) {
  out_.fill(7.0F);
  next_.reorder(x_, y_);
  // Of the first row but the last point, which would read u(21, 0).
  (void)report(shifted_loads("u", 1));
  for (int y = 0; y < 6; ++y) {
    for (int x = 0; x < 20; ++x) EXPECT_EQ(out_(x, y), y == 0 && x < 19 ? 2.0F : 7.0F) << x << ", " << y;
  }
}

TEST(CheckedHostData, ReportsAnIndexThatDataGive) {
  const Var x("x");
  ImageParam u(Float(32), 1, "u"), at(Int(32), 1, "at");
  for (const bool vectors : {false, true}) {
    Func f("f");
    f(x) = u(clamp(at(x), 0, 9));
    if (vectors) f.vectorize(x, 8);
    Buffer<float> values(10), out(16);
    Buffer<int> places(16);
    places.fill(3);
    places(11) = 1000000;
    u.set(values);
    at.set(places);
    const Change without_clamp = [](const ir::Stmt& body) {
      return rewritten(body, nothing, [](const Expr& e) {
        const auto* op = e.as<Binary>();
        return op != nullptr && e.type() == Int(32) &&
                       (op->op == BinaryOp::Min || op->op == BinaryOp::Max)
                   ? (as_int(op->a) != nullptr ? op->b : op->a)
                   : Expr();
      });
    };
    const Change twice = [&](const ir::Stmt& body) { return without_clamp(without_clamp(body)); };
    EXPECT_EQ(report_of(f, "simplify_unrolled", twice, out),
              "index out of range in kernel f: reads u(1000000), and u holds [0..9]")
        << vectors;
  }
}

/// f(x, y) = g(x, y) + g(x, y + 1), g in rows of its own.
class CheckedScratch : public ::testing::TestWithParam<LoopKind> {
 protected:
  CheckedScratch() {
    g_(x_, y_) = cast<float>(x_ + 10 * y_);
    f_(x_, y_) = g_(x_, y_) + g_(x_, y_ + 1);
    g_.compute_at(f_, y_);
    if (GetParam() == LoopKind::Parallel) f_.parallel(y_);
    if (GetParam() == LoopKind::Serial) f_.serial(y_);
    if (GetParam() == LoopKind::Vectorized) {
      f_.vectorize(x_, 8);
      g_.vectorize(x_, 8);
    }
  }
  std::string report(const Change& change) { return report_of(f_, "simplify_unrolled", change, out_); }

  const Var x_{"x"}, y_{"y"};
  Func f_{"f"}, g_{"g"};
  Buffer<float> out_{20, 6};
};

TEST_P(CheckedScratch, ThatIsTooSmallIsReported) {
  EXPECT_EQ(report(smaller("g", 1)),
            "index out of range in kernel f, computing g: writes g(0, 1), and g holds [0..19] x [0..0] "
            "from its first element on");
  EXPECT_EQ(report(smaller("g", 0)),
            "index out of range in kernel f, computing g: writes g(19, 0), and g holds [0..18] x [0..1] "
            "from its first element on");
}

TEST_P(CheckedScratch, ThatNothingWroteIsReported) {
  EXPECT_EQ(report(shorter(loop_name("g", "y"))),
            "uninitialised memory in kernel f: reads g(0, 1), which nothing has written");
}

TEST_P(CheckedScratch, ThatIsSoundHasTheValues) {
  Buffer<float> plain(20, 6);
  compile(f_, Target::host()).run(plain);
  compile(f_, Target::host_checked()).run(out_);
  out_.for_each([&](const float& value, const auto& at) { EXPECT_EQ(value, plain(at[0], at[1])); });
}

INSTANTIATE_TEST_SUITE_P(Loops, CheckedScratch,
                         ::testing::Values(LoopKind::Serial, LoopKind::Vectorized, LoopKind::Parallel),
                         [](const auto& c) { return std::string(to_string(c.param)); });

// ---- sound code ------------------------------------------------------------------------------------

TEST(CheckedHostSchedules, OfTheRegistryHaveTheOraclesBits) {
  for (const auto& recipe : schedules::registry()) {
    const int d = std::max(recipe.min_dimensions, 1);
    SCOPED_TRACE(recipe.name);
    TestPipeline p = star(Float(32), d, 1);
    schedules::Parameters parameters;
    if (recipe.name == "pmpp/shared-tile") parameters = {{"tile_x", 4}, {"tile_y", 4}, {"tile_z", 4}};
    schedules::apply(p.output(), recipe.name, parameters);
    Box region{{-3, 45}, {2, 9}, {0, 5}};
    region.resize(static_cast<std::size_t>(d));
    const auto memory = p.bind(region, 5);
    EXPECT_TRUE(matches_oracle(p.outputs, region, Target::host_checked()));
  }
}

TEST(CheckedHostPipelines, WithoutASchedulePipelinesHaveTheOraclesBits) {
  for (const PipelineMaker& maker : pipeline_makers()) {
    SCOPED_TRACE(maker.name);
    TestPipeline p = maker.make();
    Box region{{-3, 37}, {2, 9}, {0, 5}, {1, 3}};
    region.resize(static_cast<std::size_t>(maker.dimensions));
    const auto memory = p.bind(region, 5);
    EXPECT_TRUE(matches_oracle(p.outputs, region, Target::host_checked()));
  }
}

// ---- the cache -------------------------------------------------------------------------------------

/// out[0] = u[4], where u holds 4 elements but its memory more.
ir::Module beside() {
  ir::Kernel kernel;
  kernel.name = "beside";
  kernel.params = {pointer("u", Float(32)), scalar("u.min.0"),      scalar("u.extent.0"),
                   scalar("out.min.0"),     scalar("out.extent.0"), pointer("out", Float(32), true)};
  Load load;
  load.buffer = "u";
  load.index = load.logical = {Expr(4)};
  kernel.body =
      ir::make_stmt(ir::Store{"out", {Expr(0)}, make_expr(Float(32), std::move(load)), {Expr(0)}, 1});
  ir::Module module;
  module.name = "cached";
  module.kernels = {kernel};
  return module;
}

TEST(CheckedHostCache, IsApartFromThePlainHosts) {
  const TemporaryFolder folder;
  const KernelCache cache((folder.path() / "cache").string());
  const ir::Module module = beside();
  for (int again = 0; again < 2; ++again) {
    for (const auto accesses : {llvm_backend::Accesses::Plain, llvm_backend::Accesses::Checked}) {
      const auto loaded =
          llvm_backend::load_host_kernels(module, llvm_backend::HostCpu::Native, cache, 1, accesses);
      std::vector<float> u{0, 1, 2, 3, 4}, out(1);
      float *u_data = u.data(), *out_data = out.data();
      int min = 0, extent = 4, one = 1;
      void* arguments[] = {&u_data, &min, &extent, &min, &one, &out_data};
      std::string message;
      try {
        loaded.at(0).second->launch({}, arguments, 6, {});
      } catch (const AccessError& e) {
        message = e.what();
      }
      const bool checked = accesses == llvm_backend::Accesses::Checked;
      EXPECT_EQ(message,
                checked ? "index out of range in kernel beside: reads u(4), and u holds [0..3]" : "");
      EXPECT_EQ(out[0], checked ? 0.0F : 4.0F);
    }
  }
}

}  // namespace
}  // namespace mica::test
