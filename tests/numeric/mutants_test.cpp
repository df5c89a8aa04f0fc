// Faults put into the lowered kernels of scheduled pipelines, one at a time: the emulator reports each,
// or the results differ from the oracle's. MICA_MUTANTS=1 takes all pipelines, not only those that are
// quick.
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/environment.h"
#include "tests/support/gpu_schedules.h"
#include "tests/support/mutant_runs.h"

namespace mica::test {
namespace {

constexpr int kOrders = 3;
constexpr std::int64_t kPiece = 4;  // elements

/// Taps at the corners of a box of `across` points to both sides in x and one in y and z, at the point,
/// and above and below it: each element of a box that a block holds is read.
TestPipeline corners(int across) {
  constexpr int dimensions = 3;
  const std::vector<Var> v = grid_vars(dimensions);
  const ImageParam u(Float(32), dimensions, "u");
  Func next("next");
  int taps = 0;
  Expr total = weight(Float(32), taps++) * u(shifted(v, 0, 0));
  const auto add = [&](const std::vector<Expr>& at) {
    total = total + weight(Float(32), taps++) * u(at);
  };
  add(shifted(v, dimensions - 1, -1));
  add(shifted(v, dimensions - 1, 1));
  for (int corner = 0; corner < 1 << dimensions; ++corner) {
    std::vector<Expr> at = shifted(v, 0, 0);
    for (int d = 0; d < dimensions; ++d) {
      const int far = d == 0 ? across : 1;
      at[static_cast<std::size_t>(d)] += (corner >> d & 1) != 0 ? far : -far;
    }
    add(at);
  }
  next(shifted(v, 0, 0)) = total;
  return {"corners", {next}, {next}, {u}};
}

using Apply = std::function<void(Func&, const ImageParam&)>;

Apply staged(LoadPolicy load) {
  return [=](Func& f, const ImageParam& u) { f.stage(u, MemoryType::Shared, load); };
}
Apply ahead(int planes) {
  return [=](Func& f, const ImageParam& u) { f.pipeline(u, planes); };
}
Apply scattered(Partials partials) {
  return [=](Func& f, const ImageParam&) { f.scatter(f.args().back(), partials); };
}
/// A warp that fills, while the tile's own computes.
void split(Func& f, const ImageParam&) { f.warp_split(1); }
void window(Func& f, const ImageParam& u) { f.register_window(u, f.args().back()); }
void shuffled(Func& f, const ImageParam& u) { f.shuffle(u, f.args().front()); }

GpuCase marched(const std::string& name, int across, const std::vector<Apply>& parts, int vec = 1) {
  return {name, 3, [=] { return corners(across); },
          [=](TestPipeline& p) {
            p.output().gpu_tile("x", "y", 8 / vec, 4);
            if (vec > 1) p.output().vectorize("x", vec);
            p.output().march("z", 15);
            for (const Apply& part : parts) part(p.output(), p.inputs[0]);
          }};
}

std::vector<GpuCase> tiles() {
  std::vector<GpuCase> cases;
  const std::pair<LoadPolicy, int> loads[] = {{LoadPolicy::HaloThreads, 1}, {LoadPolicy::TwoStep, 1},
                                              {LoadPolicy::Strided, 1},     {LoadPolicy::AsyncCopy, 1},
                                              {LoadPolicy::AsyncCopy, 4},   {LoadPolicy::Bulk, 4}};
  for (const auto& [load, across] : loads) {
    cases.push_back({"tile_" + to_string(load), 3, [across = across] { return corners(across); },
                     [load = load](TestPipeline& p) {
                       p.output().gpu_tile("x", "y", "z", 8, 4, 2);
                       p.output().stage(p.inputs[0], MemoryType::Shared, load);
                     }});
  }
  return cases;
}

/// The cases that are quick, or all.
std::vector<GpuCase> wanted(std::vector<GpuCase> quick, const std::vector<GpuCase>& others) {
  if (number_from_environment("MICA_MUTANTS", 0) == 0) return quick;
  quick.insert(quick.end(), others.begin(), others.end());
  return quick;
}

std::vector<GpuCase> rings() {
  return wanted(
      {
          marched("two_step", 1, {staged(LoadPolicy::TwoStep)}),
          marched("strided_ahead_1", 1, {staged(LoadPolicy::Strided), ahead(1)}),
          marched("copies_ahead_1", 1, {staged(LoadPolicy::AsyncCopy), ahead(1)}),
          marched("bulk_ahead_1", 4, {staged(LoadPolicy::Bulk), ahead(1)}, 2),
          marched("two_step_ahead_1_split", 1, {staged(LoadPolicy::TwoStep), ahead(1), split}),
          marched("copies_ahead_2_split", 1, {staged(LoadPolicy::AsyncCopy), ahead(2), split}),
          marched("bulk_ahead_1_split", 4, {staged(LoadPolicy::Bulk), ahead(1), split}),
      },
      {
          marched("two_step_ahead_2", 1, {staged(LoadPolicy::TwoStep), ahead(2)}),
          marched("halo_threads", 1, {staged(LoadPolicy::HaloThreads)}),
          marched("copies", 4, {staged(LoadPolicy::AsyncCopy)}),
          marched("copies_ahead_3", 4, {staged(LoadPolicy::AsyncCopy), ahead(3)}, 4),
          marched("bulk", 4, {staged(LoadPolicy::Bulk)}),
          marched("bulk_ahead_2", 4, {staged(LoadPolicy::Bulk), ahead(2)}),
      });
}

std::vector<GpuCase> windows() {
  return wanted(
      {
          marched("window", 1, {window}),
          marched("window_stage", 1, {staged(LoadPolicy::TwoStep), window}),
          marched("scatter", 1, {scattered(Partials::EveryPlane)}),
          marched("scatter_copies_ahead_1", 4,
                  {scattered(Partials::EveryPlane), staged(LoadPolicy::AsyncCopy), ahead(1)}),
      },
      {
          marched("window_ahead_2", 1, {window, ahead(2)}),
          marched("window_stage_ahead_1", 1, {staged(LoadPolicy::TwoStep), window, ahead(1)}),
          marched("window_copies_ahead_3", 4, {staged(LoadPolicy::AsyncCopy), window, ahead(3)}),
          marched("window_bulk_ahead_3", 4, {staged(LoadPolicy::Bulk), window, ahead(3)}),
          marched("centre_stage_window", 1,
                  {scattered(Partials::Centre), staged(LoadPolicy::TwoStep), window}),
      });
}

std::vector<GpuCase> shuffles() {
  const auto star2 = [] { return star(Float(32), 2, 1); };
  return {{"shuffle", 2, star2,
           [](TestPipeline& p) {
             p.output().gpu_tile("x", "y", 32, 2);
             shuffled(p.output(), p.inputs[0]);
           }},
          {"shuffle_window", 2, star2, [](TestPipeline& p) {
             p.output().gpu_tile("x", 32).march("y", 8);
             window(p.output(), p.inputs[0]);
             shuffled(p.output(), p.inputs[0]);
           }}};
}

std::vector<GpuCase> producers() {
  std::vector<GpuCase> cases;
  for (const auto& all : {gpu_memory_cases(), gpu_kernel_cases()}) {
    for (const GpuCase& c : all) {
      for (const char* const wanted :
           {"shared_producer", "shared_chain", "shared_producer_with_update", "producer_in_registers",
            "halved_producer_in_shared", "two_kernels", "updates_in_kernels_of_their_own"}) {
        if (c.name == wanted) cases.push_back(c);
      }
    }
  }
  const auto crossed = [](bool pairs) {
    return [pairs] {
      const std::vector<Var> v = grid_vars(2);
      const ImageParam u(Float(32), 2, "u");
      Func b("b"), next("next");
      const Expr value = u(v[0], v[1]) * 0.5F + u(v[0] + 1, v[1]) * 0.25F;
      if (pairs) {
        b(v[0], v[1]) = Tuple(value, u(v[0], v[1] + 1));
      } else {
        b(v[0], v[1]) = value;
      }
      Expr total;
      for (const int at : {-1, 1}) {
        for (int element = 0; element < (pairs ? 2 : 1); ++element) {
          for (const int beside : {-1, 1}) {
            const FuncRef tap = b(v[0] + at, v[1] + beside);
            const Expr term = (pairs ? tap[element] : Expr(tap)) * (0.125F + 0.25F * at + 0.5F * beside);
            total = total.defined() ? total + term : term;
          }
        }
      }
      next(v[0], v[1]) = total;
      return TestPipeline{"crossed", {b, next}, {next}, {u}};
    };
  };
  for (const bool pairs : {false, true}) {
    cases.push_back(
        {pairs ? "pairs_in_shared" : "producer_in_shared", 2, crossed(pairs), [](TestPipeline& p) {
           p.output().gpu_tile("x", "y", 8, 4);
           p.func("b").compute_at(p.output(), "x.block").gpu_threads("x", "y");
         }});
    cases.push_back(
        {pairs ? "pairs_on_a_march" : "producer_on_a_march", 2, crossed(pairs), [](TestPipeline& p) {
           p.output().gpu_tile("x", 16).march("y", 15);
           p.func("b").compute_at(p.output(), "y.march").gpu_threads("x");
         }});
  }
  return cases;
}

/// With blocks at every edge and inside, and chunks of which more or fewer steps are left when all whole
/// turns of steps are done.
std::vector<Box> boxes_of(const GpuCase& c) {
  if (c.name.rfind("shuffle", 0) == 0) return {{{0, 72}, {0, 6}}, {{0, 72}, {0, 9}}};
  if (c.dimensions == 2) return {{{0, 36}, {0, 10}}, {{0, 36}, {0, 20}}, {{0, 36}, {0, 23}}};
  std::vector<Box> boxes{{{0, 12}, {0, 6}, {0, 9}}};
  for (const std::int64_t last : {15, 14, 21, 12}) boxes.push_back({{0, 8}, {0, 4}, {0, last}});
  return boxes;
}

/// Inputs whose rows are whole pieces of 16 bytes and start four elements before the box.
std::vector<std::shared_ptr<void>> bind_aligned(const TestPipeline& p, const Box& box) {
  std::vector<std::shared_ptr<void>> memory;
  const std::map<const ImageData*, Box> read = demanded_inputs(p.outputs, box);
  for (const ImageParam& input : p.inputs) {
    Box whole = read.at(input.data().get());
    const std::int64_t end = whole[0].first + whole[0].second;
    whole[0].first = box[0].first - kPiece;
    whole[0].second = (end - whole[0].first + kPiece - 1) / kPiece * kPiece;
    memory.push_back(bind_random(input, whole, 3, Contents::Ordinary, Layout::Dense));
  }
  return memory;
}

void expect_caught(const std::vector<GpuCase>& cases) {
  const std::vector<Mutation> all = all_mutations();
  MutantTable table;
  for (const GpuCase& c : cases) {
    TestPipeline p = c.make();
    std::vector<Situation> situations;
    for (const Box& box : boxes_of(c)) {
      const auto bind = [p, box] { return bind_aligned(p, box); };
      const auto inputs = bind();
      situations.push_back({bind, ExpectedOutputs(p.outputs, std::vector<Box>(p.outputs.size(), box),
                                                  OutputLayout{kPiece, 0, false})});
    }
    c.schedule(p);
    MutantRuns runs(p.outputs, {all.begin(), all.end()});
    run_all(c.name, runs, situations, kOrders, table);
  }
  std::cout << to_string(table);
  for (const std::string& survivor : table.survivors) ADD_FAILURE() << survivor;
}

TEST(Mutants, OfTilesAreCaught) { expect_caught(tiles()); }
TEST(Mutants, OfRingsAreCaught) { expect_caught(rings()); }
TEST(Mutants, OfWindowsAndPartialSumsAreCaught) { expect_caught(windows()); }
TEST(Mutants, OfShufflesAreCaught) { expect_caught(shuffles()); }
TEST(Mutants, OfProducersAreCaught) { expect_caught(producers()); }

}  // namespace
}  // namespace mica::test
