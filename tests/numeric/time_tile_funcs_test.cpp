// Steps of several Funcs in time tiles: staggered grids, whose Funcs read one another and compute boxes
// of their own, have the bits of single steps.
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/iterate/iteration.h"
#include "dsl/func/boundary.h"
#include "tests/support/check_targets.h"
#include "tests/support/compare.h"
#include "tests/support/compared_steps.h"
#include "tests/support/expect_error.h"

namespace mica::test {
namespace {

const Var x("x"), y("y"), z("z");

/// Pressure in the middle of cells and velocities at their faces: the new pressure is that of the new
/// velocities (J. Virieux, Geophysics 51 (1986) 889-901).
struct Staggered {
  ImageParam p, vx, vy;
  Func nx = Func("nx"), ny = Func("ny"), np = Func("np");

  explicit Staggered(Type type) : p(type, 2, "p"), vx(type, 2, "vx"), vy(type, 2, "vy") {
    const Expr c = cast(type, Expr(0.2));
    nx(x, y) = vx(x, y) - c * (p(x, y) - p(x - 1, y));
    ny(x, y) = vy(x, y) - c * (p(x, y) - p(x, y - 1));
    np(x, y) = p(x, y) - c * (nx(x + 1, y) - nx(x, y) + ny(x, y + 1) - ny(x, y));
  }
  [[nodiscard]] Compared compared() const {
    return {.pairs = {{vx, nx}, {vy, ny}, {p, np}}, .fields = {vx, vy, p}, .box = {{-3, 150}, {2, 91}}};
  }
};

TEST(TimeTileFuncs, AStaggeredGridInRows) {
  for (const Type& type : {Float(32), Float(64)}) {
    Compared c = Staggered(type).compared();
    c.expect_tiled(type.bytes() == 4 ? 5 : 2, 11);
  }
}

TEST(TimeTileFuncs, TheOrderOfPairsDoesNotMatter) {
  Staggered s(Float(32));
  Compared c = s.compared();
  c.pairs = {{s.p, s.np}, {s.vy, s.ny}, {s.vx, s.nx}};
  c.expect_tiled(4, 9);
}

// Walls: faces at the ends have no pressure on the other side, and keep their velocities. The last one
// lies beyond the pressure's points.
TEST(TimeTileFuncs, AFaceMoreThanThereAreCells) {
  for (const Target& target : all_targets()) {
    const ImageParam p(Float(32), 2, "p"), vx(Float(32), 2, "vx"), vy(Float(32), 2, "vy");
    const Func at = BoundaryConditions::repeat_edge(p);
    Func nx("nx"), ny("ny"), np("np");
    nx(x, y) = vx(x, y) - 0.2F * (at(x, y) - at(x - 1, y));
    ny(x, y) = vy(x, y) - 0.2F * (at(x, y) - at(x, y - 1));
    np(x, y) = p(x, y) - 0.2F * (nx(x + 1, y) - nx(x, y) + ny(x, y + 1) - ny(x, y));
    Compared c{
        .pairs = {{vx, nx}, {vy, ny}, {p, np}}, .fields = {vx, vy, p}, .box = {{0, 130}, {0, 60}}};
    c.others_of = {{0, {{0, 131}, {0, 60}}}, {1, {{0, 130}, {0, 61}}}};
    const std::string notes = c.notes_of(4, 9, target);
    // On a GPU edges are opened within the pressure's own points.
    EXPECT_EQ(notes.empty(), !target.is_gpu()) << notes;
  }
}

TEST(TimeTileFuncs, BoxesThatReachBeyondAField) {
  Staggered s(Float(32));
  for (const Box& box : {Box{{-9, 170}, {10, 40}}, Box{{5, 64}, {2, 91}}, Box{{-3, 40}, {-9, 140}}}) {
    Compared c = s.compared();
    c.others_of = {{0, box}};
    c.expect_tiled(3, 7);
    // A field that takes its values, and has its box.
    const ImageParam before(Float(32), 2, "before");
    Func again("again");
    again(x, y) = s.vy(x, y) + 0.25F * (before(x + 1, y) - s.p(x, y));
    c.pairs[1] = {s.vy, again};
    c.pairs[2] = {s.p, s.np};
    c.pairs.push_back({before, s.vx});
    c.fields.push_back(before);
    c.others_of[3] = box;
    c.expect_tiled(3, 8);
  }
}

TEST(TimeTileFuncs, BoxesByOver) {
  Staggered s(Float(64));
  Compared c = s.compared();
  c.also = [&](Iteration& steps) {
    steps.over(s.nx, {{0, 100}, {5, 80}})
        .over(s.ny, {{10, 70}, {4, 60}})
        .over(s.np, {{20, 40}, {30, 20}});
  };
  c.expect_tiled(4, 9);
}

TEST(TimeTileFuncs, ExtentsOfOneAndOddRows) {
  for (const Box& box : {Box{{0, 511}, {0, 5}}, Box{{0, 4}, {0, 3}}, Box{{0, 3}, {0, 200}}}) {
    Compared c = Staggered(Float(32)).compared();
    c.box = box;
    c.expect_tiled(3, 7);
  }
  const ImageParam u(Float(32), 2, "u"), v(Float(32), 2, "v");
  Func nu("nu"), nv("nv");
  nu(x, y) = u(x, y) + v(x, y);
  nv(x, y) = v(x, y) - 0.5F * nu(x, y);
  Compared c{.pairs = {{u, nu}, {v, nv}}, .fields = {u, v}, .box = {{0, 1}, {0, 1}}};
  c.expect_tiled(3, 7);
}

TEST(TimeTileFuncs, MarchesOfPlanesByTheFirstFuncsDirectives) {
  for (const Target& target : all_targets()) {
    const ImageParam p(Float(32), 3, "p"), vx(Float(32), 3, "vx"), vy(Float(32), 3, "vy"),
        vz(Float(32), 3, "vz");
    Func nx("nx"), ny("ny"), nz("nz"), np("np");
    nx(x, y, z) = vx(x, y, z) - 0.2F * (p(x + 1, y, z) - p(x, y, z));
    ny(x, y, z) = vy(x, y, z) - 0.2F * (p(x, y + 1, z) - p(x, y, z));
    nz(x, y, z) = vz(x, y, z) - 0.2F * (p(x, y, z + 1) - p(x, y, z));
    np(x, y, z) = p(x, y, z) - 0.2F * (nx(x, y, z) - nx(x - 1, y, z) + ny(x, y, z) - ny(x, y - 1, z) +
                                       nz(x, y, z) - nz(x, y, z - 1));
    if (target.is_gpu()) np.gpu_tile(x, y, 32, 8).vectorize(x, 2).unroll(y, 2).march(z, 12).scatter(z);
    Compared c{.pairs = {{p, np}, {vx, nx}, {vy, ny}, {vz, nz}},
               .fields = {p, vx, vy, vz},
               .box = {{0, 70}, {-1, 40}, {0, 30}}};
    EXPECT_EQ(c.notes_of(2, 5, target), "");
  }
}

// Elastic waves: velocities of all stresses, then stresses of all velocities, by Tuples whose Funcs have
// Vars of their own, a helper between them, and material that varies.
TEST(TimeTileFuncs, ElasticWavesWithTuplesAndHelpers) {
  const Var i("i"), j("j");
  const ImageParam vx(Float(32), 2, "vx"), vy(Float(32), 2, "vy"), sx(Float(32), 2, "sx"),
      sy(Float(32), 2, "sy"), sxy(Float(32), 2, "sxy"), rho(Float(32), 2, "rho"), mu(Float(32), 2, "mu");
  Func v("v"), s("s"), divergence("divergence");
  v(x, y) = Tuple(vx(x, y) + rho(x, y) * (sx(x + 1, y) - sx(x, y) + sxy(x, y) - sxy(x, y - 1)),
                  vy(x, y) + rho(x, y) * (sxy(x, y) - sxy(x - 1, y) + sy(x, y + 1) - sy(x, y)));
  divergence(i, j) = v(i, j)[0] - v(i - 1, j)[0] + v(i, j)[1] - v(i, j - 1)[1];
  s(i, j) = Tuple(sx(i, j) + 0.1F * divergence(i, j) + mu(i, j) * (v(i, j)[0] - v(i - 1, j)[0]),
                  sy(i, j) + 0.1F * divergence(i, j) + mu(i, j) * (v(i, j)[1] - v(i, j - 1)[1]),
                  sxy(i, j) + mu(i, j) * (v(i, j + 1)[0] - v(i, j)[0] + v(i + 1, j)[1] - v(i, j)[1]));
  const Box box{{0, 100}, {0, 75}};
  Compared c{.pairs = {{vx, v, 0}, {vy, v, 1}, {sx, s, 0}, {sy, s, 1}, {sxy, s, 2}},
             .fields = {vx, vy, sx, sy, sxy},
             .others = {{rho, random_over(Float(32), box, 3)}, {mu, random_over(Float(32), box, 4)}},
             .box = box};
  c.expect_tiled(3, 7);
  divergence.compute_at(s, j);
  c.expect_tiled(2, 5, {Target::host()});
}

TEST(TimeTileFuncs, ALeapfrogStepThatAnotherFuncReads) {
  const ImageParam before(Float(64), 2, "before"), now(Float(64), 2, "now"), q(Float(64), 2, "q");
  Func next("next"), nq("nq");
  next(x, y) = 2.0 * now(x, y) - before(x, y) +
               0.2 * (now(x - 1, y) + now(x + 1, y) + now(x, y - 1) + now(x, y + 1) - 4.0 * now(x, y)) +
               0.1 * q(x, y);
  nq(x, y) = 0.9 * q(x, y) + 0.1 * (next(x + 1, y) - next(x - 1, y)) * cast(Float(64), step());
  Compared c{.pairs = {{before, now}, {now, next}, {q, nq}},
             .fields = {before, now, q},
             .box = {{0, 90}, {3, 50}}};
  c.expect_tiled(3, 8);
}

TEST(TimeTileFuncs, BoundaryConditionsOfAllFields) {
  for (const auto& boundary : std::vector<std::function<Func(const ImageParam&)>>{
           [](const ImageParam& u) { return BoundaryConditions::repeat_image(u); },
           [](const ImageParam& u) { return BoundaryConditions::repeat_edge(u); },
           [](const ImageParam& u) { return BoundaryConditions::constant_exterior(u, 0.5F); }}) {
    const ImageParam u(Float(32), 2, "u"), v(Float(32), 2, "v");
    const Func bu = boundary(u), bv = boundary(v);
    Func nu("nu"), nv("nv");
    nu(x, y) = 0.6F * bu(x, y) + 0.1F * (bu(x - 1, y) + bu(x, y + 1)) + 0.2F * bv(x, y);
    nv(x, y) = 0.5F * nu(x, y) + 0.2F * (bv(x + 1, y) + bu(x, y - 1));
    Compared c{.pairs = {{u, nu}, {v, nv}}, .fields = {u, v}, .box = {{0, 90}, {-2, 50}}};
    c.expect_tiled(3, 7);
  }
}

TEST(TimeTileFuncs, SourcesAndReceiversBetweenFuncs) {
  Staggered s(Float(32));
  Compared c = s.compared();
  c.sources = {{s.p, {{{{60, 40}, 0.25}, {{61, 40}, 0.75}}}}, {s.vx, {{{{20, 70}}}}}};
  c.receivers = {{s.vy, {{{{62, 41}}}, {{{63, 44}, 0.5}, {{64, 44}, 0.5}}}}, {s.p, {{{{60, 40}}}}}};
  for (const int tile : {2, 4}) c.expect_tiled(tile, 9);
  // Where one of the boxes ends, and beside it.
  c.sources = {{s.p, {{{{145, 90}}}}}};
  c.receivers = {{s.vx, {{{{146, 91}}}}}, {s.vy, {{{{-3, 2}}}}}, {s.p, {{{{146, 92}}}}}};
  c.expect_tiled(3, 7);
}

TEST(TimeTileFuncs, AChainOfTenFuncs) {
  constexpr int kFuncs = 10;
  Compared c{.pairs = {}, .fields = {}, .box = {{0, 140}, {0, 60}}};
  std::vector<Func> next;
  for (int i = 0; i < kFuncs; ++i) {
    const ImageParam u(Float(32), 2, "u" + std::to_string(i));
    Func f("f" + std::to_string(i));
    const Expr before = i == 0 ? Expr(u(x - 1, y)) : Expr(next.back()(x, y));
    f(x, y) = 0.75F * u(x, y) + 0.125F * (before + u(x, y + 1));
    c.pairs.push_back({u, f});
    c.fields.push_back(u);
    next.push_back(f);
  }
  // What a Func reads of the one before lies further from a source with each of them.
  c.sources = {{c.fields.front(), {{{{70, 30}}}}}};
  for (const Target& target : {Target::host(), Target::gpu_emulator()}) (void)c.notes_of(2, 5, target);
}

// A Func of the step that is read at every second point: what ten steps at once would need of the first
// one is 512 times as wide and as high as the fields, which no memory holds. Step by step each
// computes the fields' points.
TEST(TimeTileFuncs, WhatIsReadAtEverySecondPointIsComputedStepByStep) {
  for (const Target& target : all_targets()) {
    const ImageParam u(Int(32), 2, "u"), v(Int(32), 2, "v");
    Func nu("nu"), nv("nv");
    nu(x, y) = u(x, y) + v(x, y) * 3;
    nv(x, y) = nu(2 * x + 1, 2 * y - 1) + nu(x, y);
    Compared c{.pairs = {{u, nu}, {v, nv}}, .fields = {u, v}, .box = {{0, 90}, {0, 70}}};
    c.also = [&](Iteration& steps) { steps.over(nu, {{0, 90}, {0, 70}}).over(nv, {{1, 40}, {2, 30}}); };
    const std::string notes = c.notes_of(10, 20, target);
    EXPECT_NE(notes.find("at ever more points"), std::string::npos) << notes;
  }
}

// Each dimension of what an earlier step computes is as long as the other, and a point more: that ends.
// Of (2*x + 3)/2 boxes have to say that it is x + 1.
TEST(TimeTileFuncs, ReadsWithTheDimensionsExchangedAreTiled) {
  const ImageParam u(Int(32), 2, "u"), v(Int(32), 2, "v"), w(Int(32), 2, "w");
  Func nu("nu"), turned("turned"), nw("nw");
  nu(x, y) = u(y + 1, x) + u(x, y);
  turned(x, y) = v(max(x, 1 - y), select(y > 4, 2 - y, -x)) - v(x / 2, y % 7);
  nw(x, y) = w((2 * x + 3) / 2, y - 1) * 3 + w(x, y);
  for (const auto& [field, func] : {std::pair{u, nu}, std::pair{v, turned}, std::pair{w, nw}}) {
    Compared c{.pairs = {{field, func}}, .fields = {field}, .box = {{-100, 300}, {-100, 300}}};
    c.also = [next = func](Iteration& steps) { steps.over(next, {{0, 90}, {0, 70}}); };
    EXPECT_EQ(c.notes_of(2, 5, Target::host()), "");
  }
}

TEST(TimeTileFuncs, ThreadsShareAnIterationOfSeveralFuncs) {
  const Staggered s(Float(32));
  const Compared c = s.compared();
  Iteration plain(c.pairs), tiled(c.pairs);
  tiled.time_tile(3);
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      const Box box{{0, 60 + 7 * t}, {0, 40}};
      const auto run = [&](Iteration& steps) {
        std::vector<AnyBuffer> fields;
        std::vector<RunInput> inputs;
        for (const ImageParam& field : c.fields) {
          fields.push_back(random_over(Float(32), box, 5 + static_cast<std::uint64_t>(t)));
          inputs.emplace_back(field, fields.back());
        }
        steps.run(inputs, 7, {.target = Target::host()});
        return fields;
      };
      const std::vector<AnyBuffer> single = run(plain), several = run(tiled);
      for (std::size_t f = 0; f < single.size(); ++f) EXPECT_TRUE(same_bits(single[f], several[f]));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(TimeTileFuncs, FuncsOfOtherDimensionsAreRefused) {
  const ImageParam u(Float(32), 2, "u"), v(Float(32), 1, "v");
  Func nu("nu"), nv("nv");
  nu(x, y) = u(x, y) + v(x);
  nv(x) = 0.5F * v(x);
  Iteration steps({{u, nu}, {v, nv}});
  AnyBuffer a = random_over(Float(32), {{0, 9}, {0, 9}}, 1), b = random_over(Float(32), {{0, 9}}, 2);
  steps.run({{u, a}, {v, b}}, 3);
  steps.time_tile(2);
  const auto tiled = [&] { steps.run({{u, a}, {v, b}}, 2); };
  EXPECT_TRUE(fails_with(tiled, {"nu has 2 dimensions, nv 1: ", "leave time_tile out"}));
}

}  // namespace
}  // namespace mica::test
