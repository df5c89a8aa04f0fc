// What single passes do to code.
#include <gtest/gtest.h>

#include "codegen/analysis/simplify.h"
#include "codegen/ir/print.h"
#include "codegen/ir/traverse.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"
#include "tests/passes/lowered.h"

namespace mica {
namespace {

using test::code;
using test::count;
using test::inside;

Expr v(const char* name) { return make_var(name); }

std::string simplified(const Expr& e, std::int64_t t_max = 31) {
  analysis::Ranges ranges;
  ranges.push("t", {0, t_max});
  return to_string(passes::simplify(e, ranges));
}

TEST(Simplify, CollectsTermsOfASum) {
  EXPECT_EQ(simplified((v("a") + 3) + v("b") - (v("a") + 1)), "b + 2");
}

TEST(Simplify, DividesATileIndexByItsTile) {
  EXPECT_EQ(simplified((v("b") * 32 + v("t")) / 32), "b");
  EXPECT_EQ(simplified((v("b") * 32 + v("t")) % 32), "t");
  EXPECT_EQ(simplified((v("b") * 32 + v("t") + 1) / 32), "b + (t + 1)/32");
}

TEST(Simplify, RoundsNegativeConstantsDown) {
  EXPECT_EQ(simplified((v("b") * 4 - 1) / 4), "b - 1");
  EXPECT_EQ(simplified((v("b") * 4 - 1) % 4), "3");
}

TEST(Simplify, DecidesConditionsByRange) {
  EXPECT_EQ(simplified(v("t") < 32), "true");
  EXPECT_EQ(simplified(v("t") + v("b") < v("b")), "false");
  EXPECT_EQ(simplified(v("t") < 31), "t < 31");
}

TEST(Simplify, KeepsTheSmallerOfTwoAtAConstantDistance) {
  EXPECT_EQ(simplified(min(v("a") + 1, v("a") - 2)), "a - 2");
  EXPECT_EQ(simplified(max(max(v("a"), v("b")), v("a") + 3)), "max(b, a + 3)");
}

TEST(Simplify, LeavesDataThatMayWrapAlone) {
  Load load;
  load.buffer = "u";
  load.index = {v("x")};
  Expr data = make_expr(Int(32), load);
  EXPECT_EQ(simplified(data + 1 > data), "u[x] + 1 > u[x]");
}

TEST(Simplify, KeepsALoopThatMayBeEmpty) {
  const auto loop = [](const Expr& extent) {
    const ir::Stmt body = ir::make_stmt(ir::Store{"u", {v("i")}, v("i"), {}, 1});
    return passes::simplify(ir::make_stmt(ir::For{"i", Expr(0), extent, LoopKind::Serial, body}));
  };
  EXPECT_NE(loop(min(v("u.extent.0"), 1)).as<ir::For>(), nullptr);
  EXPECT_NE(loop(Expr(1)).as<ir::Store>(), nullptr);
  EXPECT_FALSE(loop(Expr(0)).defined());
}

TEST(Simplify, IsIdempotent) {
  for (const Expr& e : {(v("b") * 32 + v("t") + 7) / 8, max(min(v("a"), v("b") + 2), 0) % 5,
                        (v("a") + v("t")) * 4 - v("a") * 4, select(v("t") >= 0, v("a"), v("b"))}) {
    analysis::Ranges ranges;
    ranges.push("t", {0, 31});
    Expr once = passes::simplify(e, ranges);
    EXPECT_TRUE(equal(once, passes::simplify(once, ranges))) << to_string(e);
  }
}

struct Row {
  Var x{"x"}, y{"y"};
  ImageParam u{Float(32), 2, "u"};
  Func f{"f"};
  explicit Row(int radius) {
    Expr e = u(x, y);
    for (int k = 1; k <= radius; ++k) e += u(x - k, y) + u(x + k, y);
    f(x, y) = e;
  }
};

TEST(AlignVectorLoads, ARowOfRadiusOneIsOneVectorAndTwoElements) {
  Row r(1);
  r.f.gpu_tile(r.x, r.y, 32, 8).vectorize(r.x, 4);
  Program program = test::lowered(r.f, Backend::Cuda, "align_vector_loads");
  const std::string text = to_string(program);
  const std::string vector_part = text.substr(0, text.find("else"));
  EXPECT_EQ(count(vector_part, "shuffle("), 2) << vector_part;
  ASSERT_EQ(program.plan.alignments.size(), 2U);
  EXPECT_EQ(program.plan.alignments[0].bytes, 16);
  EXPECT_EQ(to_string(program.plan.alignments[0].at[0]), "f.min.0");
}

TEST(AlignVectorLoads, ARowOfRadiusFourIsThreeVectors) {
  Row r(4);
  r.f.gpu_tile(r.x, r.y, 32, 8).vectorize(r.x, 4);
  const std::string text = code(r.f, Backend::Cuda, "align_vector_loads");
  const std::string vector_part = text.substr(0, text.find("else"));
  // No element is loaded alone: every load is a ramp of four.
  EXPECT_EQ(count(vector_part, "u[ramp("), count(vector_part, "u[")) << vector_part;
}

TEST(AlignVectorLoads, TheUnalignedVariantLoadsElements) {
  Row r(1);
  r.f.gpu_tile(r.x, r.y, 32, 8).vectorize(r.x, 4);
  Variant unaligned;
  unaligned.aligned = false;
  Program program = test::lowered(r.f, Backend::Cuda, "align_vector_loads", unaligned);
  EXPECT_EQ(count(to_string(program), "u[ramp("), 0);
  EXPECT_TRUE(program.plan.alignments.empty());
}

TEST(FlattenStorage, WideOffsetsWidenBeforeTheyMultiply) {
  Row r(1);
  Variant wide;
  wide.index32 = false;
  const std::string text = code(r.f, Backend::Host, "flatten_storage", wide);
  EXPECT_GT(count(text, "cast<i64>("), 0) << text;
}

TEST(FlattenStorage, WithoutUnitStrideTheFirstDimensionIsMultipliedToo) {
  Row r(1);
  Variant strided;
  strided.unit_stride = false;
  EXPECT_GT(count(code(r.f, Backend::Host, "", strided), "u.stride.0"), 0);
  EXPECT_EQ(count(code(r.f, Backend::Host), "u.stride.0"), 0);
}

// Coordinates from which the kernel of `f` counts the indices of `array`.
std::string origin_of(const Func& f, const std::string& array) {
  const Program program = test::lowered(f, Backend::Cuda);
  for (const auto& argument : program.plan.launches.at(0).arguments) {
    if (argument.buffer != array) continue;
    std::string text;
    for (const Expr& e : argument.at) text += (text.empty() ? "" : ", ") + to_string(e);
    return text;
  }
  return "not read";
}

TEST(FlattenStorage, IndicesOfAKernelCountFromTheMinsOfTheBoxItComputes) {
  Row r(1);
  r.f.gpu_tile(r.x, r.y, 32, 8);
  EXPECT_EQ(count(code(r.f, Backend::Cuda), ".min."), 0) << code(r.f, Backend::Cuda);
  EXPECT_EQ(origin_of(r.f, "f"), "f.min.0, f.min.1");
  EXPECT_EQ(origin_of(r.f, "u"), "f.min.0, f.min.1");
}

TEST(FlattenStorage, TheOriginIsWhatMostAccessesShare) {
  Var x("x"), y("y");
  ImageParam u(Float(32), 2, "u"), edge(Float(32), 1, "edge");
  Func f("f");
  f(x, y) = u(2 * x, y) + u(2 * x + 1, y) + u(0, y) + edge(0);
  f.gpu_tile(x, y, 32, 8);
  EXPECT_EQ(origin_of(f, "u"), "f.min.0*2, f.min.1");
  EXPECT_EQ(origin_of(f, "edge"), "");
  // The tap that does not move with the box takes the origin off again.
  EXPECT_EQ(count(code(f, Backend::Cuda), "f.min.0*2"), 1) << code(f, Backend::Cuda);
}

TEST(FlattenStorage, OnTheHostIndicesAreLogical) {
  Row r(1);
  const Program program = test::lowered(r.f, Backend::Host);
  for (const auto& argument : program.plan.launches.at(0).arguments) {
    EXPECT_TRUE(argument.at.empty()) << argument.name;
  }
}

TEST(FlattenStorage, RowsOfTheWholeBlockLeadAnIndex) {
  Row r(1);
  r.f.gpu_tile(r.x, r.y, 32, 1);
  EXPECT_GT(count(code(r.f, Backend::Cuda), "u[block.y*u.stride.1 + "), 0) << code(r.f, Backend::Cuda);
}

TEST(FlattenStorage, ABakedStrideIsAConstant) {
  Row r(1);
  LowerOptions options = test::options_for(Backend::Cuda);
  options.bake = {{"u.stride.1", 64}};
  r.f.gpu_tile(r.x, r.y, 32, 8);
  const std::string text = to_string(lower(make_pipeline({r.f.function()}), options));
  EXPECT_EQ(count(text, "u.stride.1"), 0) << text;
  EXPECT_EQ(count(text, "f.stride.1"), 2) << text;  // a parameter and its use
}

TEST(FuseThreadLoops, PutsOneBarrierBetweenFillingATileAndReadingIt) {
  Row r(1);
  r.f.gpu_tile(r.x, r.y, 32, 8);
  r.f.stage(r.u, MemoryType::Shared);
  EXPECT_EQ(count(inside(code(r.f, Backend::Cuda)), "barrier"), 1);
}

TEST(FuseThreadLoops, NeedsNoBarrierWithoutSharedMemory) {
  Row r(1);
  r.f.gpu_tile(r.x, r.y, 32, 8);
  EXPECT_EQ(count(code(r.f, Backend::Cuda), "barrier"), 0);
}

TEST(FuseThreadLoops, ASerialLoopAroundATileNeedsABarrierBeforeTheTileIsRefilled) {
  Row r(1);
  Var yo("yo"), yi("yi"), xo("xo"), xi("xi");
  r.f.split(r.x, xo, xi, 32)
      .split(r.y, yo, yi, 8)
      .reorder(xi, yi, xo, yo)
      .gpu_blocks(xo, yo)
      .gpu_threads(xi);
  r.u.in(r.f).compute_at(r.f, yi).store_in(MemoryType::Shared);
  // One before the rows are read, one before the next row replaces them.
  EXPECT_EQ(count(inside(code(r.f, Backend::Cuda)), "barrier"), 2);
}

TEST(MapGpuAxes, ALargeGridIsNumberedAlongX) {
  Row r(1);
  r.f.gpu_tile(r.x, r.y, 32, 8);
  Variant linear;
  linear.grid3 = false;
  Program program = test::lowered(r.f, Backend::Cuda, "", linear);
  EXPECT_EQ(to_string(program.plan.launches[0].grid[1]), "1");
  EXPECT_EQ(count(to_string(program), "block.y"), 0);
}

TEST(PrintLoopNest, MarksWhatRunsOnTheHostOfAGpu) {
  const Var x("x");
  const ImageParam u(Float(32), 1, "u");
  Func before("before"), f("f");
  before(x) = u(x) * 2.0F;
  f(x) = before(x) + before(x + 1);
  before.compute_root().serial(x);
  f.gpu_tile(x, 32);
  const std::string mark = "// on the host, since no loop of this";
  const std::string text = f.print_loop_nest(Target::gpu_emulator());
  const std::size_t at = text.find(mark);
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_LT(at, text.find("produce before")) << text;
  EXPECT_EQ(text.find(mark, at + 1), std::string::npos) << text;
  EXPECT_EQ(f.print_loop_nest(Target::host()).find(mark), std::string::npos);
}

// A stencil's planes share what they read; of one that keeps to a box, whose edges are loops of their
// own, or reads its own plane only, rows are enough.
TEST(DefaultSchedule, OfTheHostTakesPlanesAtOnceWhereTheyShare) {
  const Var x("x"), y("y"), z("z");
  const ImageParam u(Float(32), 3, "u");
  const auto nest = [&](const Expr& value) {
    Func f("f");
    f(x, y, z) = value;
    return f.print_loop_nest(Target::host());
  };
  using namespace BoundaryConditions;
  const Func edge = repeat_edge(u), image = repeat_image(u), mirror = mirror_image(u),
             interior = mirror_interior(u);
  for (const Expr& value : {u(x, y, z - 1) + u(x + 1, y, z), edge(x, y, z - 1) + edge(x, y, z),
                            image(x, y, z) + image(x, y, z - 2), mirror(x, y, z - 1) + mirror(x, y, z),
                            interior(x, y, z - 1) + interior(x, y, z)}) {
    const std::string planes = nest(value);
    EXPECT_NE(planes.find("unrolled f.z.plane in [0, 4)"), std::string::npos) << planes;
    EXPECT_NE(planes.find("for f.y.row in [0, min(32,"), std::string::npos) << planes;
  }
  Expr wide = u(x, y, z - 20);
  for (int i = -19; i < 20; ++i) wide += u(x, y, z + i);
  for (const Expr& value : {u(x, y, z) + u(x, y + 1, z), edge(x, y, z) + edge(x, y + 1, z), wide,
                            u(x, y, z - 1) + u(x, z, y)}) {
    const std::string rows = nest(value);
    EXPECT_EQ(rows.find("plane"), std::string::npos) << rows;
    EXPECT_NE(rows.find("parallel f.z in [0, f.extent.2)"), std::string::npos) << rows;
  }
}

// Vectors of points neither stride through the rows that are summed, nor come back to memory for each
// point of the domain, unless they wait for it anyway.
TEST(DefaultSchedule, OfUpdatesOnTheHost) {
  const Var x("x"), y("y");
  const ImageParam u(Float(32), 2, "u");
  const RDom row({{0, 1000}}), box({{-2, 5}, {-2, 5}});
  const ImageParam v(Float(32), 1, "v");
  Func sums("sums"), weighted("weighted"), filter("filter"), product("product"), taps("taps");
  sums(y) = 0.0F;
  sums(y) += u(row, y);
  weighted(y) = 0.0F;
  weighted(y) += u(row, y) * v(y);
  taps(x) = 0.0F;
  taps(x) += v(row) * v(x + row);
  filter(x, y) = 0.0F;
  filter(x, y) += u(x + box.x, y + box.y);
  product(x, y) = 0.0F;
  product(x, y) += u(row, y) * u(x, row);
  const auto update_of = [](const Func& f) {
    const std::string text = f.print_loop_nest(Target::host());
    return text.substr(text.rfind("produce"));
  };
  for (const Func& f : {sums, weighted}) {
    EXPECT_EQ(count(update_of(f), "vectorized"), 0) << update_of(f);
    EXPECT_EQ(count(update_of(f), "parallel"), 1) << update_of(f);
  }
  const ImageParam planes(Float(32), 3, "planes");
  Func few("few"), stream("stream");
  const RDom some({{0, 16}}), many({{0, 17}});
  few(x, y) = 0.0F;
  stream(x, y) = 0.0F;
  few(x, y) += planes(x, y, some) * v(some);
  stream(x, y) += planes(x, y, many) * v(many);
  for (const Func& f : {filter, product, few}) {
    const std::string nest = update_of(f);
    EXPECT_LT(nest.find("vectorized"), nest.find(f.name() + ".u1.r")) << nest;
    EXPECT_LT(nest.find(f.name() + ".u1.r"), nest.find("unrolled")) << nest;
  }
  // As many rows as their sums have registers.
  Func best("best"), many_values("many_values");
  best(x, y) = Tuple(0, 0, 0.0F);
  const Expr here = u(x + box.x, y + box.y), better = here > best(x, y)[2];
  best(x, y) = Tuple(select(better, box.x, best(x, y)[0]), select(better, box.y, best(x, y)[1]),
                     select(better, here, best(x, y)[2]));
  EXPECT_EQ(count(update_of(best), "unrolled best.u1.y.part in [0, 4)"), 2) << update_of(best);
  std::vector<Expr> zeros(17, Expr(0.0F)), values;
  many_values(x, y) = Tuple(zeros);
  for (int i = 0; i < 17; ++i) values.push_back(many_values(x, y)[i] + static_cast<float>(i) * here);
  many_values(x, y) = Tuple(values);
  EXPECT_EQ(count(update_of(many_values), "unrolled"), 0) << update_of(many_values);
  EXPECT_GT(count(update_of(taps), "vectorized"), 0) << update_of(taps);
  const std::string rows = update_of(stream);
  EXPECT_LT(rows.find("stream.u1.r"), rows.find("vectorized")) << rows;
  // The Func that the expression makes has the rows of what is read, as the one above.
  Func expression("expression");
  expression(x, y) = sum(row, u(row, y) * u(x, row));
  EXPECT_GT(count(expression.print_loop_nest(Target::host()), "vectorized sum.u1.x"), 0);
}

// The value before waits for no memory where a row is walked from its start; where rows are walked side
// by side, memory is what holds them.
TEST(Recurrences, OfRowsOnTheHostStandInARegister) {
  const Var x("x"), y("y");
  const ImageParam u(Float(32), 2, "u");
  Func rows("rows"), columns("columns"), parts("parts");
  rows(x, y) = select(x == 0, u(x, y), u(x, y) + 0.5F * rows(x - 1, y));
  columns(x, y) = select(y == 0, u(x, y), u(x, y) + 0.5F * columns(x, y - 1));
  parts(x, y) = select(x == 0, u(x, y), u(x, y) + 0.5F * parts(x - 1, y));
  parts.split("x", "xo", "xi", 4).reorder("xi", "y", "xo");
  EXPECT_GT(count(code(rows, Backend::Host, "build_loop_nest"), ".carried0"), 0);
  EXPECT_EQ(count(code(columns, Backend::Host, "build_loop_nest"), ".carried0"), 0);
  EXPECT_EQ(count(code(parts, Backend::Host, "build_loop_nest"), ".carried0"), 0);
}

// A loop inside of the test: once a row is seldom enough.
TEST(PartitionLoops, LeavesTestsAroundLoops) {
  Row r(1);
  r.f.unroll(r.y, 4);
  EXPECT_EQ(code(r.f, Backend::Host, "partition_loops").find("f.y.whole"), std::string::npos);
}

TEST(BakeSymbols, ABakedExtentIsAConstantAndACheck) {
  Row r(1);
  LowerOptions options = test::options_for(Backend::Host);
  options.bake = {{"f.extent.0", 64}};
  r.f.vectorize(r.x, 8);
  Program program = lower(make_pipeline({r.f.function()}), options);
  EXPECT_EQ(count(to_string(program), "f.extent.0"), 0);
  bool checked = false;
  for (const auto& check : program.plan.checks)
    checked = checked || count(check.message, "f.extent.0") > 0;
  EXPECT_TRUE(checked);
}

TEST(BakeSymbols, AnUnknownSymbolIsRefused) {
  Row r(1);
  LowerOptions options = test::options_for(Backend::Host);
  options.bake = {{"f.width", 64}};
  EXPECT_THROW(lower(make_pipeline({r.f.function()}), options), UserError);
}

TEST(Lower, AnUnknownPassListsThePasses) {
  Row r(1);
  try {
    code(r.f, Backend::Host, "optimise");
    FAIL() << "a pass named optimise was found";
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("vectorize_loops"), std::string::npos) << e.what();
  }
}

TEST(Lower, TheSameProgramGivesTheSameText) {
  Row a(2), b(2);
  a.f.gpu_tile(a.x, a.y, 32, 8);
  b.f.gpu_tile(b.x, b.y, 32, 8);
  EXPECT_EQ(code(a.f, Backend::Cuda), code(b.f, Backend::Cuda));
}

// A boundary condition is written out at each tap, with coordinates that many taps have in common.
TEST(Lower, EqualCoordinatesOfTapsAreOneNodeOnTheHost) {
  const Var x("x"), y("y"), z("z");
  const ImageParam u(Float(32), 3, "u");
  const Func b = BoundaryConditions::mirror_image(u);
  Expr total = 0.0F;
  for (int i = 0; i < 27; ++i) {
    total += static_cast<float>(i) * b(x + i % 3 - 1, y + i / 3 % 3 - 1, z + i / 9 - 1);
  }
  Func f("f");
  f(x, y, z) = total;
  std::size_t nodes = 0;
  const Program program = test::lowered(f, Backend::Host, "build_loop_nest");
  for (const Nest& nest : program.nests) {
    ir::walk(nest.body, nullptr, [&](const Expr&) { ++nodes; });
  }
  EXPECT_LT(nodes, 700U) << "of vectors and of what is behind them; 3,000 with nodes for each tap";
}

/// The plan of a chain of Funcs at the root that read one another at clamped points.
Plan plan_of_clamped(int funcs) {
  const Var x("x");
  const ImageParam u(Float(32), 1, "u");
  const Param<std::int32_t> width("width");
  Func f("f");
  f(x) = u(x);
  for (int i = 1; i < funcs; ++i) {
    f.compute_root();
    Func next("f");
    next(x) = f(clamp(x - 1, 0, width - 1)) + f(clamp(x + 1, 0, Expr(width)));
    f = next;
  }
  return test::lowered(f, Backend::Host).plan;
}

std::size_t size_of(const Plan& plan) {
  std::size_t nodes = 0;
  const auto add = [&](const std::vector<Expr>& exprs) {
    for (const Expr& e : exprs) visit_nodes({e}, [&](const Expr&) { ++nodes; });
  };
  for (const PlanValue& value : plan.values) add({value.value});
  for (const PlanCheck& check : plan.checks) add({check.holds});
  for (const PlanTemporary& temporary : plan.temporaries) add(temporary.mins), add(temporary.extents);
  return nodes;
}

TEST(InferBounds, BoxesOfAChainTakeRoomInProportionToItsLength) {
  const Plan few = plan_of_clamped(3), many = plan_of_clamped(50), most = plan_of_clamped(200);
  EXPECT_TRUE(few.values.empty());
  EXPECT_FALSE(many.values.empty());
  EXPECT_LE(size_of(most), 6 * size_of(many));
}

// The checks on a deep index would each hold all that is inside.
TEST(NameValues, ChecksOfADeepIndexTakeRoomInProportionToItsDepth) {
  const auto size = [](int depth) {
    const Var x("x");
    const ImageParam u(Float(32), 1, "u");
    const Param<std::int32_t> p("p"), width("width");
    Expr e = x;
    for (int i = 0; i < depth; ++i) e = max(min(e * p, Expr(width)), i - 3);
    Func f("f");
    f(x) = u(e);
    const Plan plan = test::lowered(f, Backend::Host).plan;
    EXPECT_GE(plan.checks.size(), static_cast<std::size_t>(depth));
    return size_of(plan);
  };
  EXPECT_LE(size(400), 10 * size(50));
}

}  // namespace
}  // namespace mica
