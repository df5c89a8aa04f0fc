// What the benchmark command is made of: occupancy, sweeps, and the table of cases.
#include "bench/bench.h"

#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "bench/algorithms.h"
#include "bench/report.h"
#include "bench/sweep.h"
#include "schedules/tune/occupancy.h"
#include "schedules/tune/trial_data.h"
#include "tests/support/expect_error.h"

namespace mica::bench {

using namespace tuning;

namespace {

// Threads and registers a thread, shared bytes a block.
KernelInfo kernel(std::uint32_t threads, int registers, std::uint32_t dynamic_shared,
                  int static_shared) {
  KernelInfo info;
  info.shape.block[0] = threads;
  info.registers = registers;
  info.shape.shared_bytes = dynamic_shared;
  info.static_shared_bytes = static_shared;
  return info;
}

TEST(Occupancy, IsBoundByThreadsRegistersSharedMemoryAndBlocks) {
  const GpuFacts h200 = gpu_facts(Target::gpu_emulator());
  EXPECT_EQ(resident_blocks(kernel(256, 32, 0, 0), h200), 8);        // 2048 threads
  EXPECT_EQ(resident_blocks(kernel(256, 33, 0, 0), h200), 6);        // 40 * 32 registers a warp
  EXPECT_EQ(resident_blocks(kernel(256, 255, 0, 0), h200), 1);       // 64 K registers
  EXPECT_EQ(resident_blocks(kernel(1024, 80, 0, 0), h200), 0);       // they do not start at all
  EXPECT_EQ(resident_blocks(kernel(32, 16, 0, 0), h200), 32);        // blocks
  EXPECT_EQ(resident_blocks(kernel(128, 32, 40000, 960), h200), 5);  // 41,984 of 233,472 bytes
  EXPECT_DOUBLE_EQ(occupancy(kernel(256, 33, 0, 0), h200), 0.75);
  EXPECT_DOUBLE_EQ(occupancy(kernel(1000, 18, 0, 4000), h200), 1.0);  // 32 warps, the last one not full
}

TEST(Occupancy, IsUnknownWithoutRegisters) {
  EXPECT_EQ(occupancy(kernel(256, -1, 0, 0), gpu_facts(Target::gpu_emulator())), -1);
}

TEST(ParseSweep, RefusesRangesWithoutEnd) {
  for (const std::string text : {"tile_x=1:9999999999:1", "n=1:1001:1", "n=1:9223372036854775807:1"}) {
    EXPECT_TRUE(
        test::fails_with([&] { (void)parse_sweep(text); }, {text, "at most 1000", "larger step"}));
  }
  EXPECT_TRUE(
      test::fails_with([&] { (void)parse_sweep("n=1:9999999999:1"); }, {"has 9999999999 values"}));
  EXPECT_EQ(parse_sweep("n=1:1000:1").values.size(), 1000u);
  EXPECT_EQ(parse_sweep("n=1:9223372036854775807:9223372036854775806").values,
            (std::vector<std::int64_t>{1, 9223372036854775807}));
}

TEST(SameBits, TakesAnyNaNForAnyOther) {
  Buffer<float> a(4), b(4);
  Buffer<double> c(4), d(4);
  a.fill(1.0F), b.fill(1.0F), c.fill(1.0), d.fill(1.0);
  a(2) = std::numeric_limits<float>::quiet_NaN(), b(2) = -a(2);
  c(2) = std::numeric_limits<double>::quiet_NaN(), d(2) = -c(2);
  EXPECT_TRUE(same_bits(a, b));
  EXPECT_TRUE(same_bits(c, d));
  b(2) = 1.0F, d(2) = 1.0;
  EXPECT_FALSE(same_bits(a, b));
  EXPECT_FALSE(same_bits(c, d));
  a(2) = 0.0F, b(2) = -0.0F;
  EXPECT_FALSE(same_bits(a, b));
}

TEST(WriteText, NamesTheFileThatCannotBeWritten) {
  for (const std::string path : {"/dev/full", "/no/such/folder/file", "/"}) {
    EXPECT_TRUE(test::fails_with([&] { write_text(path, "text"); }, {"cannot write " + path}));
  }
}

TEST(ParseSweep, TakesListsAndRanges) {
  EXPECT_EQ(parse_sweep("nw=64,8,8,16").parameter, "nw");
  EXPECT_EQ(parse_sweep("nw=64,8,8,16").values, (std::vector<std::int64_t>{8, 16, 64}));
  EXPECT_EQ(parse_sweep("tile_x=5").values, (std::vector<std::int64_t>{5}));
  EXPECT_EQ(parse_sweep("chunk=4:16:6").values, (std::vector<std::int64_t>{4, 10, 16}));
  EXPECT_EQ(parse_sweep("chunk=4:15:6").values, (std::vector<std::int64_t>{4, 10}));
}

TEST(ParseSweep, RefusesWhatIsNoListOfPositiveIntegers) {
  for (const char* text : {"", "nw", "=4", "nw=", "nw=4,", "nw=x", "nw=4:8", "nw=0,4", "nw=-1",
                           "nw=9:4:1", "nw=4:8:0", "nw=1.5"}) {
    EXPECT_TRUE(test::fails_with([&] { (void)parse_sweep(text); }, {text, "name=first:last:step"}));
  }
}

TEST(Cases, HaveNamesOfTheirOwnAndAlgorithmsThatExist) {
  std::set<std::string> names;
  for (const Case& c : cases()) {
    EXPECT_TRUE(names.insert(c.name).second) << c.name;
    EXPECT_NO_THROW((void)make_algorithm(c.algorithm)) << c.name;
  }
}

TEST(SelectCases, PrefersTheCaseOfExactlyThatName) {
  EXPECT_EQ(select_cases("seismic/x").size(), 1U);
  EXPECT_EQ(select_cases("seismic/x-vec").size(), 3U);
  EXPECT_EQ(select_cases("").size(), cases().size());
  EXPECT_TRUE(test::fails_with([] { (void)select_cases("no/such"); }, {"no/such"}));
}

TEST(Sweep, IsOfOneCase) {
  Options options;
  options.filter = "pmpp/";
  std::ostringstream out;
  EXPECT_TRUE(test::fails_with(
      [&] {
        (void)run_sweep(options, {"vec", {1, 2}}, {}, out);
      },
      {"pmpp/naive", "pmpp/shared-tile"}));
}

}  // namespace
}  // namespace mica::bench
