// Misuse of named schedules and of the tool's algorithms.
#include <gtest/gtest.h>

#include "bench/algorithms.h"
#include "schedules/registry.h"

namespace mica {
namespace {

template <typename Fn>
std::string message_of(const Fn& call) {
  try {
    call();
  } catch (const UserError& e) {
    return e.what();
  }
  return "no UserError";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(RegistryErrors, AnUnknownScheduleListsTheKnownOnes) {
  bench::Algorithm a = bench::make_algorithm("stencil7");
  const std::string text = message_of([&] { schedules::apply(a.output, "pmpp/fast"); });
  EXPECT_TRUE(has(text, "pmpp/fast") && has(text, "pmpp/naive")) << text;
  EXPECT_TRUE(has(text, "registry_errors_test.cpp")) << "the user's line: " << text;
}

TEST(RegistryErrors, AnUnknownParameterListsTheLegalOnes) {
  bench::Algorithm a = bench::make_algorithm("stencil7");
  const std::string text = message_of([&] { schedules::apply(a.output, "pmpp/naive", {{"tile", 8}}); });
  EXPECT_TRUE(has(text, "tile") && has(text, "block_x")) << text;
}

TEST(RegistryErrors, AValueOutsideItsRangeNamesTheRange) {
  bench::Algorithm a = bench::make_algorithm("stencil7");
  const std::string text = message_of([&] {
    schedules::apply(a.output, "pmpp/naive", {{"block_z", 65}});
  });
  EXPECT_TRUE(has(text, "65") && has(text, "1 to 64")) << text;
  EXPECT_TRUE(has(text, "registry_errors_test.cpp")) << "the user's line: " << text;
}

TEST(RegistryErrors, WhatItsDirectivesAreRefusedForStandsAtTheUsersLine) {
  bench::Algorithm a = bench::make_algorithm("stencil7");
  schedules::apply(a.output, "pmpp/naive", {{"block_x", 1024}, {"block_y", 1024}});
  const std::string text = message_of([&] { (void)a.output.print_loop_nest(Target::gpu_emulator()); });
  EXPECT_TRUE(has(text, "1048576 threads")) << text;
  EXPECT_TRUE(has(text, "registry_errors_test.cpp:" + std::to_string(__LINE__ - 3))) << text;

  schedules::apply(a.output, "pmpp/register-march", {{"vec", 3}});
  const std::string vector = message_of([&] { (void)a.output.print_loop_nest(Target::gpu_emulator()); });
  EXPECT_TRUE(has(vector, "registry_errors_test.cpp:" + std::to_string(__LINE__ - 2))) << vector;
}

TEST(RegistryErrors, AFuncOfOtherDimensionsIsRefused) {
  bench::Algorithm a = bench::make_algorithm("stencil7");
  const std::string text = message_of([&] { schedules::apply(a.output, "jacobi2d/strided-load"); });
  EXPECT_TRUE(has(text, "2 to 2") && has(text, "has 3")) << text;
}

TEST(RegistryErrors, AnUnknownAlgorithmListsTheKnownOnes) {
  const std::string text = message_of([] { bench::make_algorithm("stencil9"); });
  EXPECT_TRUE(has(text, "stencil9") && has(text, "stencil7")) << text;
}

}  // namespace
}  // namespace mica
