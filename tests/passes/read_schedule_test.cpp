// From read_schedule on, no pass can look at a directive: there is none.
#include <gtest/gtest.h>

#include "tests/passes/lowered.h"

namespace mica::test {
namespace {

int directives_of(const mica::Program& program) {
  std::size_t count = 0;
  for (const auto& func : program.pipeline.funcs) {
    for (const Definition& definition : func->definitions) count += definition.directives.size();
  }
  return static_cast<int>(count);
}

TEST(ReadSchedule, LeavesNoDirective) {
  const Var x("x"), y("y"), z("z");
  const RDom r({{0, 3}});
  const ImageParam u(Float(32), 3, "u"), c(Float(32), 3, "c"), v(Float(32), 3, "v");
  Func near("near"), sums("sums"), f("f");
  near(x, y, z) = v(x - 1, y, z) + v(x, y, z);
  sums(x, y, z) = 0;
  sums(x, y, z) += cast(Int(32), v(x + r, y, z));
  f(x, y, z) = u(x - 1, y, z) + u(x, y, z) + u(x, y, z - 1) + u(x, y, z + 1) +
               near(x, y, z) * c(x, y, z) + near(x, y - 1, z) + cast(Float(32), sums(x, y, z));
  near.compute_at(f, "z.march").align_storage(x, 8).align_storage(x, 4);
  sums.compute_root().gpu_tile(x, y, z, 32, 4, 1).update().gpu_tile(x, y, z, 32, 4, 1).atomic();
  f.gpu_tile(x, y, 32, 4).march(z, 16).stage(u, MemoryType::Shared).texture(c).stream_stores();
  f.launch_bounds(2).warp_split(1);

  EXPECT_GT(directives_of(lowered(f, Backend::Cuda, "order_storage")), 9);
  const mica::Program program = lowered(f, Backend::Cuda, "read_schedule");
  EXPECT_EQ(directives_of(program), 0);

  const FuncSchedule& own = program.schedule.at("f");
  ASSERT_EQ(own.definitions.size(), 1U);
  EXPECT_EQ(own.march->chunk, 16);
  EXPECT_EQ(own.march->loop, "z.march");
  EXPECT_EQ(own.definitions[0].filling_warps, 1);
  EXPECT_EQ(own.definitions[0].loops.dims.size(), 6U) << "threads, blocks, march and chunks";
  EXPECT_FALSE(program.schedule.at("sums").definitions[0].atomic);
  EXPECT_TRUE(program.schedule.at("sums").definitions[1].atomic);
  EXPECT_EQ(own.min_blocks, 2);
  EXPECT_EQ(own.textures, std::set<std::string>{"c"});
  EXPECT_EQ(own.unwritten.at("c").text, "texture(c)");
  EXPECT_TRUE(own.streamed_stores);
  EXPECT_EQ(program.schedule.at("near").alignment.at("x"), 4) << "the last counts";
  EXPECT_EQ(program.schedule.at("near").compute_at->text, "compute_at(f, \"z.march\")");
  EXPECT_EQ(program.schedule.count("u"), 0U);
}

}  // namespace
}  // namespace mica::test
