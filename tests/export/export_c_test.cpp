// Programs in C around exported pipelines: what they are linked to, what they are told.
#include <algorithm>
#include <array>
#include <cfenv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "bench/algorithms.h"
#include "fuzz/random_data.h"
#include "schedules/mica.h"
#include "tests/export/loaded_library.h"
#include "tests/support/compare.h"
#include "tests/support/source_root.h"

namespace mica::test {
namespace {

const Var x("x");
const Var y("y");

std::string printed_by(const std::string& command) {
  std::string text;
  std::FILE* pipe = popen(command.c_str(), "r");
  std::array<char, 4096> part{};
  for (std::size_t n = 0; (n = std::fread(part.data(), 1, part.size(), pipe)) > 0;) {
    text.append(part.data(), n);
  }
  pclose(pipe);
  return text;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// out(x, y) = scale * (u(x - 1, y) + u(x + 1, y)), by threads.
struct Sum {
  ImageParam u{Float(32), 2, "u"};
  Param<float> scale{"scale", 0.5F};
  Func out{"out"};
  Sum() {
    out(x, y) = scale * (u(x - 1, y) + u(x + 1, y));
    out.parallel(y).vectorize(x, 8);
  }
};

constexpr const char* kSumProgram = R"(#include "sum.h"
#include <stdio.h>
int main(void) {
  static float in[5][12], out[5][10];
  for (int i = 0; i < 60; ++i) in[0][i] = (float)(i * i);
  int64_t in_extents[] = {12, 5}, out_extents[] = {10, 5};
  mica_buffer u = mica_dense(in, MICA_FLOAT, 32, 2, in_extents);
  mica_buffer f = mica_dense(out, MICA_FLOAT, 32, 2, out_extents);
  u.dim[0].min = -1;
  if (sum(&u, &f, 0.25f) != MICA_OK) return puts(sum_error()), 1;
  printf("%g %g %s\n", out[0][0], out[4][9], sum_error());
  u.dim[0].min = 0;
  printf("%d %s\n", sum(&u, &f, 0.25f), sum_error());
  return 0;
}
)";

TEST(ExportedC, AProgramThatNeedsTheCLibraryAlone) {
  const TemporaryFolder folder;
  const Sum sum;
  const auto stem = folder.path() / "sum";
  const std::vector<std::string> files = compile_to_library(sum.out, stem.string(), Target::host());
  EXPECT_EQ(files, (std::vector<std::string>{stem.string() + ".a", stem.string() + ".h"}));
  const std::string printed = run_c_program(kSumProgram, stem.string() + ".a");
  EXPECT_TRUE(contains(printed, "1 1682.5 \n")) << printed;
  EXPECT_TRUE(contains(printed, "1 export_c_test.cpp:"));
  EXPECT_TRUE(contains(printed,
                       "out(x, y) reads u(x - 1, y) as far as index -1 in dimension 0, but input "
                       "u starts at 0: on its low side it is short by 1."))
      << printed;
  std::ofstream(folder.path() / "main.c") << kSumProgram;
  EXPECT_TRUE(contains(printed_by("cd '" + folder.path().string() +
                                  "' && cc -std=c99 -static main.c sum.a -lm -o main 2>&1 && ./main"),
                       "1 1682.5 \n"));
  const std::string wanted = printed_by("nm -u '" + stem.string() + ".a'");
  EXPECT_TRUE(contains(wanted, "malloc"));
  for (const char* part : {"llvm", "LLVM", "_Z", "__cxa", "tbb", "mica_parallel_for", "mica_allocate"}) {
    EXPECT_FALSE(contains(wanted, part)) << part << " in " << wanted;
  }
}

/// The text of the first block of docs/export.md of this kind.
std::string block_of_page(const std::string& kind) {
  std::ifstream in(source_root() / "docs/export.md");
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  const std::string begin = "\n```" + kind + "\n";
  const std::size_t at = page.find(begin);
  if (at == std::string::npos) return "the page has no block of " + kind;
  const std::size_t from = at + begin.size();
  return page.substr(from, page.find("```", from) - from);
}

TEST(ExportedC, TheProgramOfThePage) {
  const TemporaryFolder folder;
  bench::Algorithm algorithm = bench::make_algorithm("stencil7");
  bench::apply_named(algorithm, "host/rows", {});
  compile_to_library(algorithm.output, (folder.path() / "stencil7").string(), Target::host());
  const std::string program = block_of_page("c");
  EXPECT_LE(std::count(program.begin(), program.end(), '\n'), 25);
  const std::regex line_number(":[0-9]+: ");
  EXPECT_EQ(std::regex_replace(run_c_program(program, folder.path() / "stencil7.a"), line_number, ": "),
            std::regex_replace(block_of_page("text"), line_number, ": "));
}

TEST(ExportedC, ItsHeaderServesCPlusPlusAndStandsBesideOthers) {
  const TemporaryFolder folder;
  const Sum sum;
  compile_to_library(sum.out, (folder.path() / "one").string(), Target::host());
  compile_to_library(sum.out, (folder.path() / "two").string(), Target::host());
  const std::string program = (folder.path() / "main.cpp").string();
  std::ofstream(program) << "#include \"one.h\"\n#include \"two.h\"\n#include <cstdio>\n"
                            "int main() { mica_buffer b{}; b.dimensions = 1; std::printf(\"%d %d\", "
                            "one(&b, &b, 1), two(&b, &b, 1)); }\n";
  const std::string path = folder.path().string();
  EXPECT_EQ(printed_by("cd '" + path +
                       "' && c++ -std=c++17 -Wall -Wextra -Werror main.cpp one.a two.a -lpthread "
                       "-o main 2>&1 && ./main"),
            "1 1");
}

TEST(ExportedC, DescribesItself) {
  const Sum sum;
  const LoadedLibrary library({sum.out}, {.name = "summed"});
  const mica_pipeline_description& d = library.description();
  EXPECT_EQ(d.abi, MICA_EXPORT_ABI);
  EXPECT_STREQ(d.name, "summed");
  EXPECT_STREQ(d.target, "host");
  ASSERT_EQ(d.array_count, 2);
  EXPECT_STREQ(d.arrays[0].name, "u");
  EXPECT_EQ(d.arrays[0].is_output, 0);
  EXPECT_EQ(d.arrays[1].is_output, 1);
  EXPECT_EQ(d.arrays[1].type_code, MICA_FLOAT);
  EXPECT_EQ(d.arrays[1].type_bits, 32);
  ASSERT_EQ(d.scalar_count, 1);
  EXPECT_STREQ(d.scalars[0].name, "scale");
  EXPECT_EQ(d.scalars[0].value, 0x3f000000U);
}

/// What a run says about buffers that do not fit.
class WrongBuffers : public testing::Test {
 protected:
  WrongBuffers() : library_({sum_.out}) {
    in_ = c_buffer(u_);
    out_ = c_buffer(f_);
  }
  void refuses(int code, const std::string& part) {
    const CallResult result = library_.call({&in_, &out_});
    EXPECT_EQ(result.code, code) << result.error;
    EXPECT_TRUE(contains(result.error, part)) << result.error;
    EXPECT_STREQ(library_.function<const char*()>("_error")(), result.error.c_str());
  }

  const Sum sum_;
  const LoadedLibrary library_;
  Buffer<float> u_{12, 5}, f_{10, 5};
  mica_buffer in_{}, out_{};
};

TEST_F(WrongBuffers, Types) {
  in_.type_bits = 64;
  refuses(MICA_WRONG_ARGUMENT,
          "input u has elements of type f32, but the buffer given holds f64 [0..11] x "
          "[0..4]: give a buffer of f32");
}

TEST_F(WrongBuffers, Dimensions) {
  out_.dimensions = 3;
  refuses(MICA_WRONG_ARGUMENT, "output out has 2 dimensions, but the buffer given has 3");
}

TEST_F(WrongBuffers, NoData) {
  in_.data = nullptr;
  refuses(MICA_WRONG_ARGUMENT, "input u, f32 [0..11] x [0..4], has no data");
}

TEST_F(WrongBuffers, OddAddresses) {
  in_.data = static_cast<char*>(in_.data) + 2;
  refuses(MICA_WRONG_ARGUMENT, "no multiple of an element's 4 bytes");
}

TEST_F(WrongBuffers, MemoryOfAGpu) {
  in_.memory = MICA_DEVICE;
  refuses(MICA_WRONG_ARGUMENT, "the memory of input u is 1, but the pipeline runs on the host");
}

TEST_F(WrongBuffers, NegativeExtents) {
  in_.dim[1].extent = -4;
  refuses(MICA_WRONG_ARGUMENT, "dimension 1 of input u has extent -4: it must be 0 or more");
}

TEST_F(WrongBuffers, FarMins) {
  in_.dim[0].min = (std::int64_t{1} << 28) + 1;
  refuses(MICA_WRONG_ARGUMENT, "has min 268435457 and extent 12 in dimension 0, but a min lies in");
}

TEST_F(WrongBuffers, ElementsThatShareAddresses) {
  out_.dim[1].stride = 9;
  refuses(MICA_WRONG_ARGUMENT, "has a stride of 9 where the faster dimensions span 10 elements");
}

TEST_F(WrongBuffers, OutputsOverInputs) {
  in_.dim[0].min = -1;
  out_.data = static_cast<float*>(in_.data) + 1;
  out_.dim[1].stride = 12;
  refuses(MICA_WRONG_ARGUMENT, "output out f32 [0..9] x [0..4] shares memory with input u");
  refuses(MICA_WRONG_ARGUMENT, "write to a buffer of its own");
}

TEST_F(WrongBuffers, NullPointers) {
  EXPECT_EQ(library_.call({&in_, nullptr}).error, "the buffer given for output out is a null pointer");
}

TEST_F(WrongBuffers, NothingIsAskedOfInputsWhenThereIsNothingToCompute) {
  out_.dim[1].extent = 0;
  EXPECT_EQ(library_.call({&in_, &out_}).code, MICA_OK);
}

TEST(ExportedC, OnlyTheVariantsAskedForAreThere) {
  const Sum sum;
  const LoadedLibrary library({sum.out}, {.variants = {Variant{}}});
  Buffer<float> u(2, 24, 5), f(10, 5);
  AnyBuffer strided = u.sliced(0, 1);
  mica_buffer in = c_buffer(strided), out = c_buffer(f);
  in.dim[0].min = -1;
  const CallResult result = library.call({&in, &out});
  EXPECT_EQ(result.code, MICA_NOT_SERVED);
  EXPECT_TRUE(contains(result.error,
                       "holds no code for an array whose dimension 0 has another stride than 1 "
                       "(strided): export it"))
      << result.error;
}

TEST(ExportedC, ThreadsRunItAtOnce) {
  const Sum sum;
  const LoadedLibrary library({sum.out});
  std::vector<std::thread> threads;
  std::array<bool, 4> right{};
  for (std::size_t t = 0; t < right.size(); ++t) {
    threads.emplace_back([&, t] {
      Buffer<float> u(102, 50), f(100, 50);
      u.fill(static_cast<float>(t));
      mica_buffer in = c_buffer(u), out = c_buffer(f);
      in.dim[0].min = -1;
      bool all = true;
      for (int run = 0; run < 50; ++run) {
        f.fill(-1.0F);
        all = library.call({&in, &out}).code == MICA_OK && all;
        all = f(99, 49) == static_cast<float>(t) && f(0, 0) == static_cast<float>(t) && all;
      }
      right[t] = all;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const bool one : right) EXPECT_TRUE(one);
}

TEST(ExportedC, TheCallersRoundingChangesNothing) {
  const Sum sum;
  const LoadedLibrary library({sum.out});
  Buffer<float> u(102, 50), f(100, 50), up(100, 50);
  fill_random(u, 3);
  mica_buffer in = c_buffer(u), out = c_buffer(f), other = c_buffer(up);
  in.dim[0].min = -1;
  EXPECT_EQ(library.call({&in, &out}).code, MICA_OK);
  std::fesetround(FE_UPWARD);
  const int code = library.call({&in, &other}).code;
  const int mode = std::fegetround();
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(code, MICA_OK);
  EXPECT_EQ(mode, FE_UPWARD);
  EXPECT_TRUE(same_bits(f, up));
}

TEST(ExportedC, LoopsRunWhereTheUserSays) {
  const Sum sum;
  const LoadedLibrary library({sum.out});
  struct Seen {
    std::int64_t calls = 0, iterations = 0;
  } seen;
  const mica_loop_runner runner = [](void (*body)(std::int64_t, void*), std::int64_t min,
                                     std::int64_t extent, void* closure, void* user) {
    ++static_cast<Seen*>(user)->calls;
    for (std::int64_t i = min + extent; i-- > min;) {
      ++static_cast<Seen*>(user)->iterations;
      body(i, closure);
    }
  };
  const auto set = library.function<void(mica_loop_runner, void*)>("_set_parallel_for");
  set(runner, &seen);
  Buffer<float> u(12, 5), f(10, 5);
  u.fill(3.0F);
  mica_buffer in = c_buffer(u), out = c_buffer(f);
  in.dim[0].min = -1;
  EXPECT_EQ(library.call({&in, &out}).code, MICA_OK);
  EXPECT_EQ(seen.calls, 1);
  EXPECT_EQ(seen.iterations, 5);
  EXPECT_EQ(f(9, 4), 3.0F);
  set(nullptr, nullptr);
  EXPECT_EQ(library.call({&in, &out}).code, MICA_OK);
  EXPECT_EQ(seen.calls, 1);
}

}  // namespace
}  // namespace mica::test
