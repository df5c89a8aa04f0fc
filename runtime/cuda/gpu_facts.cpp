#include "runtime/cuda/gpu_facts.h"

#include <utility>

#include "dsl/expr/diagnostics.h"
#include "runtime/cuda/cuda_context.h"

namespace mica {

namespace {

/// What the emulator pretends to be.
GpuFacts emulator_facts() {
  GpuFacts facts;
  facts.name = "emulated NVIDIA H200";
  facts.sm = 90;
  facts.ptx_version = 90;
  facts.driver_version = 13000;
  facts.multiprocessors = 132;
  facts.max_shared_per_block = 48 << 10;
  facts.max_shared_per_block_optin = 227 << 10;
  facts.max_shared_per_sm = 228 << 10;
  facts.max_threads_per_sm = 2048;
  facts.registers_per_sm = 65536;
  facts.l2_bytes = 60 << 20;
  facts.max_texture_elements = std::int64_t{1} << 28;
  facts.texture_alignment = 512;
  facts.total_memory = std::int64_t{143771} << 20;
  return facts;
}

}  // namespace

GpuFacts gpu_facts(const Target& target) {
  switch (target.backend) {
    case Backend::Cuda: return cuda_context(target.device)->facts();
    case Backend::GpuEmulator: return emulator_facts();
    case Backend::Host:
    case Backend::HostChecked:
      throw UserError("the target \"" + to_string(target) +
                      "\" has no GPU to describe: legal targets are \"cuda\", "
                      "\"cuda:<ordinal>\" and \"emulator\"");
  }
  throw InternalError("a Target holds no legal Backend");
}

int ptx_version_of_driver(int driver_version) {
  // The release table of the PTX ISA manual: CUDA release and the PTX that came with it.
  constexpr std::pair<int, int> kReleases[] = {
      {13000, 90}, {12090, 88}, {12080, 87}, {12070, 86}, {12060, 85}, {12050, 85}, {12040, 84},
      {12030, 83}, {12020, 82}, {12010, 81}, {12000, 80}, {11080, 78}, {11070, 77}, {11060, 76},
      {11050, 75}, {11040, 74}, {11030, 73}, {11020, 72}, {11010, 71}, {11000, 70}};
  for (const auto& [release, ptx] : kReleases) {
    if (driver_version >= release) return ptx;
  }
  return 0;
}

}  // namespace mica
