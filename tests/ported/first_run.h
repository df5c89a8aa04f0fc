// How long a user waits for an algorithm.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "codegen/compile.h"
#include "dsl/func/func.h"
#include "runtime/buffer/buffer.h"

namespace mica::test {

// Passes that verify what they made take several times as long, and so do sanitizers: this bound, in
// seconds, is for what grows without bounds. tests/perf has the times themselves.
inline constexpr double kPatience = 60;

/// Seconds until `outputs` of these sizes have been computed once, with nothing in the cache.
inline double seconds_to_first_run(const std::vector<Func>& outputs,
                                   const std::vector<std::int64_t>& sizes) {
  std::vector<AnyBuffer> buffers;
  std::vector<AnyBuffer*> pointers;
  for (const Func& output : outputs) {
    for (const Type type : output.types()) buffers.emplace_back(type, sizes);
  }
  for (auto& buffer : buffers) pointers.push_back(&buffer);
  CompileOptions options;
  options.use_cache = false;
  const auto start = std::chrono::steady_clock::now();
  compile(outputs, Target::host(), options).run(pointers);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%s: ready in %.2f s\n", outputs.back().name().c_str(), seconds);
  return seconds;
}

}  // namespace mica::test
