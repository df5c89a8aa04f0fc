// Names are the user's: every Func, input, Param, Var, reduction domain and loop may be called anything,
// words that Mica's own names use among it. The bits are those of the same program with plain names.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "dsl/func/func.h"
#include "tests/support/check_targets.h"

namespace mica::test {
namespace {

/// What a program calls its parts.
struct Names {
  std::string input = "u", field = "v", param = "p", producer = "g", output = "f";
  std::string x = "x", y = "y", reduction = "r", outer = "xo", inner = "xi";
};

/// Inputs u and v, a stencil g of u, a stencil f of g and v.
struct Program {
  explicit Program(const Names& n, bool with_update = false)
      : names(n),
        x(n.x),
        y(n.y),
        u(Float(32), 2, n.input),
        v(Float(32), 2, n.field),
        p(n.param, 0.75F),
        g(n.producer),
        f(n.output) {
    g(x, y) = p * u(x - 1, y) + (u(x + 1, y) + u(x, y)) * 0.5F + u(x, y - 1) + 0.25F * u(x, y + 1);
    f(x, y) = g(x, y - 1) + p * g(x, y) + g(x, y + 1) + g(x + 1, y) + v(x, y) * cast<float>(x + 2 * y) +
              v(x - 4, y) * v(x + 4, y) + cast<float>(u.dim(0).extent() - v.dim(1).min());
    if (with_update) {
      const RDom r({{-1, 3}, {0, 2}}, n.reduction);
      f(x, y) += p * v(x + r.x, y + r.y) * cast<float>(r.x + 3 * r.y);
    }
    const Box box{{-6, 100}, {-5, 30}};
    memory = {bind_random(u, box, 3, Contents::Ordinary, Layout::Dense),
              bind_random(v, box, 4, Contents::Ordinary, Layout::Dense)};
  }
  Names names;
  Var x, y;
  ImageParam u, v;
  Param<float> p;
  Func g, f;
  std::vector<std::shared_ptr<void>> memory;
};

struct Way {
  std::string name;
  Target target;
  bool with_update;
  std::function<void(Program&)> apply;
};
void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

std::vector<Way> ways() {
  const Target host = Target::host(), gpu = Target::gpu_emulator();
  return {
      {"host_plain", host, true, [](Program&) {}},
      {"host_blocks", host, true,
       [](Program& p) {
         p.f.split(p.x, p.names.outer, p.names.inner, 8).parallel(p.y, 4).vectorize(p.names.inner);
         p.g.compute_at(p.f, p.names.outer).unroll(p.x, 2);
       }},
      {"host_rows", host, true,
       [](Program& p) {
         p.g.store_root().compute_at(p.f, p.y).vectorize(p.x, 4);
         p.f.vectorize(p.x, 8, TailStrategy::ShiftInwards);
         p.f.update().vectorize(p.x, 4).unroll(p.names.reduction + ".x");
       }},
      {"host_fused", host, false,
       [](Program& p) {
         p.f.fuse(p.x, p.y, p.names.outer).split(p.names.outer, p.names.inner, "rest", 16);
         p.g.compute_root().parallel(p.y);
       }},
      {"gpu_roots", gpu, true,
       [](Program& p) {
         p.g.compute_root().gpu_tile(p.x, p.y, 16, 4).vectorize(p.x, 2);
         p.f.gpu_tile(p.x, p.y, 16, 4).unroll(p.y, 2);
         p.f.update().gpu_tile(p.x, p.y, 16, 4);
       }},
      {"gpu_staged", gpu, false,
       [](Program& p) {
         p.g.compute_root().gpu_tile(p.x, p.y, 16, 4).stage(p.u, MemoryType::Shared);
         p.f.gpu_tile(p.x, p.y, 16, 4).stage(p.g, MemoryType::Shared, LoadPolicy::Strided);
       }},
      {"gpu_tile_of_own_loops", gpu, false,
       [](Program& p) {
         p.f.split(p.x, p.names.outer, p.names.inner, 16).gpu_blocks(p.names.outer, p.y);
         p.f.gpu_threads(p.names.inner);
         p.f.stage(p.g, MemoryType::Shared, LoadPolicy::AsyncCopy);
         p.g.compute_root()
             .gpu_tile(p.x, p.y, 8, 8)
             .stage(p.u, MemoryType::Shared, LoadPolicy::HaloThreads);
       }},
      {"gpu_producer_in_block", gpu, false,
       [](Program& p) {
         p.f.gpu_tile(p.x, p.y, 16, 4).vectorize(p.x, 2);
         p.g.compute_at(p.f, p.names.x + ".block");
       }},
      {"gpu_shuffle", gpu, false,
       [](Program& p) {
         p.g.compute_root().gpu_tile(p.x, p.y, 32, 2).shuffle(p.u, p.x);
         p.f.gpu_tile(p.x, p.y, 32, 2).stage(p.g, MemoryType::Shared).stream_stores();
       }},
      {"gpu_march", gpu, false,
       [](Program& p) {
         p.g.compute_root().gpu_tile(p.x, 32).march(p.y, 5);
         p.g.stage(p.u, MemoryType::Shared).register_window(p.u, p.y).pipeline(p.u, 2);
         p.g.shuffle(p.u, p.x);
         p.f.gpu_tile(p.x, 32).march(p.y, 6).scatter(p.y).stream_loads(p.v);
       }},
      {"gpu_march_of_producer", gpu, false,
       [](Program& p) {
         p.f.gpu_tile(p.x, 32).march(p.y, 4).order_blocks(p.names.y + ".block");
         p.f.stage(p.v, MemoryType::Shared, LoadPolicy::AsyncCopy).pipeline(p.v, 1).warp_split(1);
         p.g.compute_at(p.f, p.names.y + ".march");
       }},
      {"gpu_bulk", gpu, false,
       [](Program& p) {
         p.g.compute_root().gpu_tile(p.x, p.y, 8, 4);
         p.f.gpu_tile(p.x, 8).march(p.y, 5).vectorize(p.x, 4);
         p.f.stage(p.v, MemoryType::Shared, LoadPolicy::Bulk).pipeline(p.v, 1);
       }},
  };
}

/// The part of a program that bears a name.
struct Role {
  const char* name;
  std::string Names::*text;
};
const Role kRoles[] = {{"input", &Names::input},   {"field", &Names::field},
                       {"param", &Names::param},   {"producer", &Names::producer},
                       {"output", &Names::output}, {"x", &Names::x},
                       {"y", &Names::y},           {"reduction", &Names::reduction},
                       {"outer", &Names::outer},   {"inner", &Names::inner}};

/// Words of Mica's own names, names of the program's other parts, and text that is no word.
std::vector<std::string> awkward_names() {
  return {
      // Made of the program's names and Mica's words.
      "f.x", "f.y", "g.x", "g.y", "f.xo", "f.xi", "f.u1.x", "f.u1.r.x", "u.staged", "g.staged",
      "u.staged.tx", "v.staged.step", "g.tx", "f.tx", "f.step", "g.step", "u.staged.lane", "g.lane",
      "u.window", "u.row0", "v.row0", "f.sum0", "f.0", "g.1", "f.2", "u.min.0", "u.extent.0",
      "u.stride.1", "v.min.1", "g.min.0", "g.extent.1", "g.stride.1", "f.extent.0", "f.min.1",
      "my.stride.p", "my.extent.p", "my.min.p", "f.x.block", "f.x.thread", "f.x.vec", "f.y.march",
      "f.y.march.planes", "g.y.march.planes", "f.y.unroll", "g.x.low", "g.x.high", "g.y.low", "f.value0",
      "f.y.chunk", "f.update1", "u.in.g", "g.in.f", "u.texture.origin", "v.staged.full", "u.staged.row",
      "f.body", "f.thread", "f.loop0", "f.call0",
      // Mica's words alone.
      "block", "thread", "block.x", "block.y", "thread.x", "thread.y", "thread.z", "plane", "pow.0.t",
      "tx", "ty", "tz", "step", "lane", "row", "full", "staged", "window", "march", "low", "high", "u1",
      "update1", "value0", "sum0", "min", "extent", "stride", "in", "x.block", "x.thread", "y.march",
      "y.block", "x.vec", "y.unroll", "x.tile", "x.vectors", "x.rows", "x.chunk", "y.chunk", "xo.block",
      "r.x", "r.y", "s", "0", "1",
      // Those of compilers and libraries.
      "llvm", "llvm.fma.f32", "llvm.update1", "memcpy", "memset", "malloc", "free", "main", "mica_free",
      "mica_parallel_for", "mica_allocate", "emulator_access", "_start", "fmaf", "f_update1",
      // The program's other parts.
      "u", "v", "p", "g", "f", "x", "y", "r", "xo", "xi",
      // No words.
      " ", "a b", "a\nb", "a\tb", "\x01", "\x7f", std::string("a\0b", 3), "\"", "'", "\\", "%d", "{}",
      "{0}", "a/b", "a-b", "-1", "1.5", ".", "..", ".x", "x.", "x..y", "x\xc2\xb7y", "\xc2\xb7",
      "f\xc2\xb7"
      "2",
      "\xcf\x80", "\xff\xfe",
      "\xe2\x80\xae"
      "abc",
      "\x1f", "f\x1fx", std::string(300, 'n'), std::string(300, '.'), "f.x" + std::string(300, 'n')};
}

const Box kBox{{-2, 38}, {1, 7}};

std::string shown(const std::string& name) {
  std::string text;
  for (const char c : name) text += c >= ' ' && c < 127 ? std::string(1, c) : "?";
  return text.size() < 40 ? text : text.substr(0, 40) + "...";
}

class AnyName : public testing::TestWithParam<Way> {
 protected:
  /// The bits of the program with plain names.
  [[nodiscard]] std::vector<AnyBuffer> expected() const {
    const Program plain(Names{}, GetParam().with_update);
    return expected_values({plain.f}, kBox);
  }
  static testing::AssertionResult run(const Way& way, const Names& names,
                                      const std::vector<AnyBuffer>& expected) {
    try {
      Program program(names, way.with_update);
      way.apply(program);
      return run_matches(expected, {program.f}, kBox, way.target, Layout::Dense);
    } catch (const std::exception& e) {
      return testing::AssertionFailure() << e.what();
    }
  }
};

TEST_P(AnyName, OfAnyPartOfAProgramIsLegal) {
  const auto expected = this->expected();
  ASSERT_TRUE(run(GetParam(), Names{}, expected));
  const Names plain;
  // Each name is given to every second part, and the ways take turns with these: each part is met in
  // some. Random programs (tests/fuzz) give names like these to any part.
  const std::vector<Way> all = ways();
  std::size_t turn = 0;
  std::size_t pair = 0;
  for (const auto& name : awkward_names()) {
    ++pair;  // the next name begins with another part
    for (const Role& role : kRoles) {
      if (pair++ % 2 == 0) continue;
      // Two Vars or loops of one name are one, and "x.block" is a loop that the ways name.
      const bool is_loop = role.text == &Names::x || role.text == &Names::y ||
                           role.text == &Names::outer || role.text == &Names::inner;
      bool same = is_loop && (name == "x.block" || name == "y.block" || name == "y.march");
      for (const Role& other : kRoles) same = same || plain.*other.text == name;
      if (same || all[turn++ % all.size()].name != GetParam().name) continue;
      Names names;
      names.*role.text = name;
      EXPECT_TRUE(run(GetParam(), names, expected)) << role.name << " " << shown(name);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, AnyName, testing::ValuesIn(ways()),
                         [](const auto& tested) { return tested.param.name; });

// ---- single names ----------------------------------------------------------------------------------

/// The bits of `way` with the names that `set` gives.
void expect_same(const std::string& wanted, const std::function<void(Names&)>& set) {
  for (const Way& way : ways()) {
    if (way.name != wanted) continue;
    Names names;
    set(names);
    Program plain(Names{}, way.with_update), program(names, way.with_update);
    way.apply(program);
    EXPECT_TRUE(
        run_matches(expected_values({plain.f}, kBox), {program.f}, kBox, way.target, Layout::Dense));
    return;
  }
  FAIL() << "no way " << wanted;
}

TEST(Names, AnInputNamedAsARegisterWindowIsNotReadInItsStead) {
  expect_same("gpu_shuffle", [](Names& n) { n.field = "u.window"; });
  const Var x("x");
  const ImageParam u(Float(32), 1, "u"), other(Float(32), 1, "u.window");
  Func f("f");
  f(x) = u(x - 1) + u(x) + u(x + 1) + other(x);
  const Box box{{0, 512}};
  const auto memory = bind_demanded({f}, box, {u, other}, 1);
  const auto expected = expected_values({f}, box);
  f.gpu_tile(x, 32).shuffle(u, x);
  EXPECT_TRUE(run_matches(expected, {f}, box, Target::gpu_emulator()));
}

TEST(Names, AnInputNamedAsExchangedRowsIsNotWrittenTo) {
  expect_same("gpu_shuffle", [](Names& n) { n.field = "u.row0"; });
}

TEST(Names, AParamNamedAsALoopKeepsItsValue) {
  const Var x("x");
  const Param<float> p("f.x", 0.5F);
  Func f("f");
  f(x) = p * cast<float>(x);
  EXPECT_TRUE(check_all_targets(f, {{3, 50}}));
}

TEST(Names, AParamNamedAsTheSumOfCoordinatesAndStrideIsNotTakenForARow) {
  const Var x("x");
  const ImageParam u(Float(32), 1, "u");
  const Param<int> p("my.stride.p", 1);
  Func f("f");
  f(x) = u(x + p) * 2.0F;
  const Box box{{0, 64}};
  const auto memory = bind_random(u, {{0, 80}}, 2, Contents::Ordinary, Layout::Dense);
  const auto expected = expected_values({f}, box);
  for (const Target& target : all_targets()) {
    f.clear_schedule();
    if (target.is_gpu()) {
      f.gpu_tile(x, 4).vectorize(x, 4);
    } else {
      f.vectorize(x, 8);
    }
    EXPECT_TRUE(run_matches(expected, {f}, box, target, Layout::Dense));
  }
}

TEST(Names, OfGpuAxesAndOfLoopsOfMarchesStayTheUsers) {
  for (const char* const name : {"block.x", "thread.x", "f.y.march.planes", "g.tx"}) {
    SCOPED_TRACE(name);
    for (const Role& role : kRoles) {
      expect_same("gpu_march", [&](Names& n) { n.*role.text = name; });
      expect_same("gpu_producer_in_block", [&](Names& n) { n.*role.text = name; });
    }
  }
}

TEST(Names, TwoFuncsOfOneNameBesideATuple) {
  const Var x("x");
  const ImageParam u(Float(32), 1, "u");
  Func first("f"), second("f"), out("out");
  first(x) = Tuple(u(x), u(x + 1), u(x + 2));
  second(x) = first(x)[0] + first(x)[1] * first(x)[2];
  out(x) = second(x - 1) + second(x + 1) * first(x)[1];
  first.compute_root();
  second.compute_root();
  const Box box{{0, 40}};
  const auto memory = bind_demanded({out}, box, {u}, 5);
  const auto expected = expected_values({out}, box);
  EXPECT_TRUE(run_matches(expected, {out}, box, Target::host()));
  for (Func* f : {&first, &second, &out}) f->gpu_tile(x, 8);
  EXPECT_TRUE(run_matches(expected, {out}, box, Target::gpu_emulator()));
}

TEST(Names, ThoseOfATuplesElementsMayAllBeTaken) {
  const Var x("x");
  const ImageParam u(Float(32), 1, "f.1");
  const Param<float> p("f.1", 0.5F);
  Func f("f"), other("f.2"), out("out");
  f(x) = Tuple(u(x), u(x + 1) * p, u(x + 2));
  other(x) = f(x)[0] + f(x)[1] * f(x)[2];
  out(x) = other(x - 1) + other(x + 1) * f(x)[1] - p;
  f.compute_root();
  other.compute_root();
  const Box box{{0, 40}};
  const auto memory = bind_random(u, {{-1, 60}}, 5);
  const auto expected = expected_values({out}, box);
  EXPECT_TRUE(run_matches(expected, {out}, box, Target::host()));
  for (Func* g : {&f, &other, &out}) g->gpu_tile(x, 8);
  EXPECT_TRUE(run_matches(expected, {out}, box, Target::gpu_emulator()));
}

}  // namespace
}  // namespace mica::test
