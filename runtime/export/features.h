// What code for a CPU may need of it, by the names that GCC and LLVM share: bit k of Pipeline::features
// is the k-th of them.
#pragma once

// clang-format off
#define MICA_CPU_FEATURES(X) \
  X("sse4.1") X("popcnt") X("lzcnt") X("movbe") X("avx") X("avx2") X("f16c") \
  X("fma") X("bmi") X("bmi2") X("gfni") X("vaes") X("vpclmulqdq") X("avxvnni") \
  X("avx512f") X("avx512bw") X("avx512cd") X("avx512dq") X("avx512vl") X("avx512ifma") X("avx512vbmi") \
  X("avx512vbmi2") X("avx512vnni") X("avx512bitalg") X("avx512vpopcntdq") X("avx512bf16")
// clang-format on
