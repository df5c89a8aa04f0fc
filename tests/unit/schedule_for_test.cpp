// Func::schedule_for: what the compiler chooses is a schedule that says the same.
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "schedules/mica.h"

namespace mica {
namespace {

/// The loops without the notes about who chose them; a dot in a name is written as a user's.
std::string loops_of(const Func& f, const Target& target) {
  std::istringstream lines(f.print_loop_nest(target));
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("//")) continue;
    const std::string dot = "\u00b7";
    for (auto at = line.find(dot); at != std::string::npos; at = line.find(dot))
      line.replace(at, dot.size(), ".");
    text += line + "\n";
  }
  return text;
}

/// Applied to the same algorithm, the choice gives the loops that it has without.
void expect_same_loops(const std::function<Func()>& make, const std::string& directive) {
  for (const Target& target : {Target::host(), Target::gpu_emulator()}) {
    const Func plain = make();
    Func chosen = make();
    const Schedule schedule = chosen.schedule_for(target);
    EXPECT_EQ(chosen.schedule(), Schedule()) << "the Func itself stays as it is";
    chosen.apply(schedule);
    EXPECT_EQ(loops_of(plain, target), loops_of(chosen, target)) << to_string(schedule);
    EXPECT_NE(to_string(schedule).find(directive), std::string::npos) << to_string(schedule);
  }
}

const Var x("x"), y("y"), z("z");

TEST(ScheduleFor, AStencilInThreeDimensions) {
  expect_same_loops(
      [] {
        const ImageParam u(Float(32), 3, "u");
        Func next("next");
        next(x, y, z) = u(x - 1, y, z) + u(x + 1, y, z) + u(x, y, z - 1) + u(x, y + 1, z);
        return next;
      },
      ".vectorize(x, ");
}

// Each operation of 64 lanes would be four vectors of f32.
TEST(ScheduleFor, BytesThatTakeMuchWorkInNarrowerVectors) {
  const ImageParam u(UInt(8), 2, "u");
  const auto filtered = [&](int radius) {
    Expr sum = 0.0F;
    for (int j = -radius; j <= radius; ++j) {
      for (int i = -radius; i <= radius; ++i) {
        const Expr value = cast<float>(u(x + i, y + j));
        sum = sum + value * exp(-value * (0.01F + 0.001F * static_cast<float>(i)));
      }
    }
    Func f("f");
    f(x, y) = cast<std::uint8_t>(sum);
    return to_string(f.schedule_for(Target::host()));
  };
  EXPECT_NE(filtered(0).find(".vectorize(x, 64)"), std::string::npos) << filtered(0);
  EXPECT_NE(filtered(4).find(".vectorize(x, 16)"), std::string::npos) << filtered(4);
}

TEST(ScheduleFor, NamesThatAreNoWords) {
  expect_same_loops(
      [] {
        const Var across("my x"), down("row.of.it");
        const ImageParam u(Float(64), 2, "u of t");
        Func next("next value");
        next(across, down) = u(across, down) * 2;
        return next;
      },
      "\"my x\"");
}

TEST(ScheduleFor, UpdatesAndReductions) {
  expect_same_loops(
      [] {
        const ImageParam u(Float(32), 3, "u");
        const RDom r({{0, 9}}, "r");
        Func sums("sums");
        sums(x, y) = 0.0F;
        sums(x, y) += u(x, y, r);
        return sums;
      },
      "y");
}

// What a row's points read is one value for all of them: they are vectors, though the domain walks along
// a row of u.
TEST(ScheduleFor, ReductionsWhoseRowsShareWhatTheyRead) {
  const ImageParam u(Int(32), 2, "u");
  const RDom r({{0, u.width()}});
  Func shared("shared"), own("own");
  shared(x, y) = 1 << 30;
  shared(x, y) = min(shared(x, y), (x - r) * (x - r) + u(r, y) * u(r, y));
  own(x) = 0;
  own(x) += u(r, x);
  const std::string vectors = loops_of(shared, Target::host()), strided = loops_of(own, Target::host());
  EXPECT_NE(vectors.find("vectorized shared.u1.x"), std::string::npos) << vectors;
  EXPECT_EQ(strided.find("vectorized own.u1"), std::string::npos) << strided;
}

TEST(ScheduleFor, AHistogram) {
  expect_same_loops(
      [] {
        const ImageParam u(UInt(8), 2, "u");
        const RDom r(u, "r");
        Func counts("counts");
        counts(x) = 0;
        counts(cast<std::int32_t>(u(r.x, r.y))) += 1;
        return counts;
      },
      "counts");
}

TEST(ScheduleFor, ARecurrence) {
  expect_same_loops(
      [] {
        const ImageParam u(Float(32), 2, "u");
        Func sums("sums");
        sums(x, y) = select(y == 0, u(x, y), u(x, y) + sums(x, y - 1));
        return sums;
      },
      "sums");
}

TEST(ScheduleFor, FuncsThatAreComputedAhead) {
  const auto chain = [] {
    const ImageParam u(Float(32), 2, "u");
    Func in("in"), out("out");
    Expr sum = u(x, y), all = 0.0F;
    for (int i = 1; i < 9; ++i) sum = sum + u(x + i, y) * u(x - i, y);
    in(x, y) = sum;
    for (int i = 0; i < 60; ++i) all = all + in(x + i, y);
    out(x, y) = all;
    return out;
  };
  expect_same_loops(chain, "in.compute_root()");
}

// The user's own directives stay, and nothing is added to loops that they arrange.
TEST(ScheduleFor, WhatTheUserSaidStays) {
  const ImageParam u(Float(32), 2, "u");
  Func next("next");
  next(x, y) = u(x, y) + u(x + 1, y);
  next.vectorize(x, 4);
  EXPECT_EQ(next.schedule_for(Target::host()), next.schedule());
}

// The default of a 7-point stencil on a GPU is the schedule that is measured as pmpp/naive-planes.
TEST(ScheduleFor, TheSevenPointStencilHasTheKernelThatIsMeasured) {
  const auto star = [] {
    const ImageParam u(Float(32), 3, "u");
    Func next("next");
    next(x, y, z) = 0.4F * u(x, y, z) + 0.1F * u(x - 1, y, z) + 0.2F * u(x + 1, y, z) +
                    0.3F * u(x, y - 1, z) + 0.5F * u(x, y + 1, z) + 0.6F * u(x, y, z - 1) +
                    0.7F * u(x, y, z + 1);
    return next;
  };
  Func named = star(), plain = star();
  schedules::apply(named, "pmpp/naive", {{"vec", 4}, {"planes", 4}});
  plain.apply(plain.schedule_for(Target::gpu_emulator()));
  EXPECT_EQ(compile_to_ptx(named), compile_to_ptx(plain));
}

// Limits of registers are a part of the choice.
TEST(ScheduleFor, AStencilOfManyPointsHasTheKernelThatItHasWithout) {
  const auto box = [] {
    const ImageParam u(Float(64), 3, "u");
    Func next("next");
    Expr sum = u(x, y, z);
    for (int d = 1; d <= 2; ++d) {
      sum = sum + 0.1 * (u(x - d, y, z) + u(x + d, y, z) + u(x, y - d, z) + u(x, y + d, z) +
                         u(x, y, z - d) + u(x, y, z + d));
    }
    next(x, y, z) = sum;
    return next;
  };
  Func chosen = box();
  const Func plain = box();
  chosen.apply(chosen.schedule_for(Target::gpu_emulator()));
  EXPECT_NE(to_string(chosen.schedule()).find("launch_bounds"), std::string::npos);
  EXPECT_EQ(compile_to_ptx(chosen), compile_to_ptx(plain));
}

/// What a GPU's choice says of a Func of f32 in three dimensions whose points are `make`'s of an input.
std::string gpu_choice(const std::function<Expr(const Func&)>& make) {
  const ImageParam u(Float(32), 3, "u");
  Func next("next");
  next(x, y, z) = make(BoundaryConditions::constant_exterior(u, 1.0F));
  return to_string(next.schedule_for(Target::gpu_emulator()));
}

// Many points that take long are long to assemble: two kernels of 16 points of 67 operations took a
// minute.
TEST(ScheduleFor, PointsOfMuchWorkAreFewOfAThread) {
  const auto around = [](const Func& f) {
    Expr sum;
    for (int dz = -1; dz <= 1; ++dz) {
      for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) {
          const Expr term = static_cast<float>(2 + dx + 3 * dy + 9 * dz) * f(x + dx, y + dy, z + dz);
          sum = sum.defined() ? sum + term : term;
        }
      }
    }
    return sum;
  };
  const std::string box = gpu_choice(around);
  EXPECT_NE(box.find(".vectorize(x, 2)\n    .unroll(z, 4)\n    .launch_bounds(3)"), std::string::npos)
      << box;
  const std::string sines =
      gpu_choice([&](const Func& f) { return sin(around(f)) * cos(f(x, y, z)) * exp(f(x, y, z)); });
  EXPECT_NE(sines.find(".vectorize(x, 2);"), std::string::npos) << sines;
  const std::string many = gpu_choice([&](const Func& f) {
    Expr value = around(f);
    for (int i = 0; i < 20; ++i) value = exp(value);
    return value;
  });
  EXPECT_EQ(many.find("vectorize"), std::string::npos) << many;
}

}  // namespace
}  // namespace mica
