// Driver functions for linking, modules, kernels and launches.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <utility>

#include "runtime/cuda/gpu_facts.h"
#include "runtime/cuda/huge_ptx.h"
#include "tests/fake_cuda/fake_state.h"

namespace {

using namespace fakecuda;

constexpr int kMostSharedBytes = 227 << 10;

/// The first line of "machine code" for the GPUs that there are.
std::string cubin_start() { return "FAKECUBIN sm_" + std::to_string(state().sm); }

/// The word after `directive` at the start of a line, or "".
std::string word_after(const std::string& text, const std::string& directive) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(directive)) continue;
    std::istringstream rest(line.substr(directive.size()));
    std::string word;
    rest >> word;
    return word;
  }
  return "";
}

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += word.size()) ++found;
  return found;
}

/// Applies a line "// fake: NAME registers=40 ..." to the kernel of that name.
void read_attributes(const std::string& line, const std::string& name, Kernel& kernel) {
  std::istringstream words(line);
  std::string comment, fake, of;
  words >> comment >> fake >> of;
  if (of != name) return;
  for (std::string word; words >> word;) {
    (void)std::sscanf(word.c_str(), "registers=%d", &kernel.registers);
    (void)std::sscanf(word.c_str(), "local=%d", &kernel.local_bytes);
    (void)std::sscanf(word.c_str(), "shared=%d", &kernel.static_shared_bytes);
    (void)std::sscanf(word.c_str(), "threads=%d", &kernel.most_threads);
  }
}

/// "Machine code": a line for each entry point of the PTX.
std::string assemble(const std::string& ptx) {
  std::ostringstream code;
  code << cubin_start() << '\n';
  const std::string entry = ".entry ";
  for (std::size_t at = 0; (at = ptx.find(entry, at)) != std::string::npos; at += entry.size()) {
    const std::size_t name_at = at + entry.size();
    const std::size_t open = ptx.find('(', name_at);
    const std::size_t close = ptx.find(')', name_at);
    Kernel kernel;
    kernel.name = ptx.substr(name_at, open - name_at);
    kernel.parameters = count(ptx.substr(open, close - open), ".param");
    const bool repeats = ptx.find("ld.global.nc") != std::string::npos;
    if (repeats && std::getenv("FAKECUDA_SPILLS") != nullptr) kernel.local_bytes = 8;
    std::istringstream lines(ptx);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("// fake:")) read_attributes(line, kernel.name, kernel);
    }
    code << kernel.name << ' ' << kernel.registers << ' ' << kernel.local_bytes << ' '
         << kernel.static_shared_bytes << ' ' << kernel.most_threads << ' ' << kernel.parameters << '\n';
  }
  return code.str();
}

Result refuse(const Link& link, Result result, const std::string& message) {
  if (link.error_log != nullptr) {
    std::snprintf(link.error_log, link.error_log_bytes, "%s", message.c_str());
  }
  return result;
}

Kernel* kernel_of(cuda::FunctionHandle function) {
  for (const auto& [handle, module] : state().modules) {
    for (const auto& kernel : module->kernels) {
      if (static_cast<void*>(kernel.get()) == static_cast<void*>(function)) return kernel.get();
    }
  }
  return nullptr;
}

}  // namespace

extern "C" {

Result cuLinkCreate_v2(unsigned options, int* names, void** values, cuda::LinkHandle* link) {
  FAKE_CALL(Context);
  auto made = std::make_unique<Link>();
  made->values = values;
  made->known.assign(values, values + options);
  for (unsigned i = 0; i < options; ++i) {
    if (names[i] == cuda::kJitErrorLogBuffer) made->error_log = static_cast<char*>(values[i]);
    if (names[i] == cuda::kJitErrorLogBufferBytes) {
      made->error_log_bytes = reinterpret_cast<std::size_t>(values[i]);
    }
    if (names[i] == cuda::kJitOptimizationLevel) made->level = reinterpret_cast<std::size_t>(values[i]);
    if (names[i] == cuda::kJitGenerateLineInfo) made->keeps_lines = values[i] != nullptr;
  }
  *link = reinterpret_cast<cuda::LinkHandle>(add<void*>(state().links, std::move(made)));
  return cuda::kSuccess;
}

Result cuLinkAddData_v2(cuda::LinkHandle link, int kind, void* data, std::size_t bytes, const char* name,
                        unsigned, int*, void**) {
  FAKE_CALL(Context);
  Link* const found = find(state().links, link);
  if (found == nullptr) return cuda::kErrorInvalidHandle;
  const std::string ptx(static_cast<const char*>(data), bytes > 0 ? bytes - 1 : 0);
  if (kind != cuda::kJitInputPtx || ptx.size() != std::strlen(static_cast<const char*>(data))) {
    return refuse(*found, cuda::kErrorInvalidValue, "not text that ends in a zero");
  }
  // They must be there as long as the linker is: the driver writes to some.
  if (!std::equal(found->known.begin(), found->known.end(), found->values)) {
    return refuse(*found, cuda::kErrorInvalidValue, "the options' values are gone");
  }
  const std::string version = word_after(ptx, ".version");
  int major = 0, minor = 0;
  if (std::sscanf(version.c_str(), "%d.%d", &major, &minor) != 2 || word_after(ptx, ".target").empty() ||
      ptx.find("syntax error") != std::string::npos) {
    return refuse(*found, cuda::kErrorInvalidPtx,
                  std::string("ptxas ") + name + ", line 3; fatal   : Parsing error near 'syntax'");
  }
  // The driver would forget them without a word.
  if (found->keeps_lines != (ptx.find("\t.loc\t") != std::string::npos)) {
    return refuse(*found, cuda::kErrorInvalidPtx, "lines are kept where there are some, and only there");
  }
  if ((found->level == 1) != mica::is_huge_ptx(ptx)) {
    return refuse(*found, cuda::kErrorInvalidPtx, "a level for huge PTX, and for no other");
  }
  // PTX 8.x came with CUDA 12, 9.x with CUDA 13.
  if (major > state().driver_version / 1000 - 4) {
    return refuse(*found, cuda::kErrorUnsupportedPtxVersion,
                  "ptxas fatal   : Unsupported .version " + version);
  }
  found->code = assemble(ptx);
  return cuda::kSuccess;
}

Result cuLinkComplete(cuda::LinkHandle link, void** code, std::size_t* bytes) {
  FAKE_CALL(Context);
  Link* const found = find(state().links, link);
  if (found == nullptr) return cuda::kErrorInvalidHandle;
  // As the driver does with the sizes of its logs.
  std::copy(found->known.begin(), found->known.end(), found->values);
  *code = found->code.data();
  *bytes = found->code.size();
  return cuda::kSuccess;
}

Result cuLinkDestroy(cuda::LinkHandle link) {
  FAKE_CALL(Context);
  return state().links.erase(link) == 1 ? cuda::kSuccess : cuda::kErrorInvalidHandle;
}

Result cuModuleLoadData(cuda::ModuleHandle* module, const void* image) {
  FAKE_CALL(Context);
  std::istringstream lines(static_cast<const char*>(image));
  std::string line;
  std::getline(lines, line);
  if (line.starts_with("FAKECUBIN") && line != cubin_start()) return cuda::kErrorNoBinaryForGpu;
  if (line != cubin_start()) return cuda::kErrorInvalidImage;
  auto made = std::make_unique<Module>();
  while (std::getline(lines, line)) {
    auto kernel = std::make_unique<Kernel>();
    std::istringstream fields(line);
    if (!(fields >> kernel->name >> kernel->registers >> kernel->local_bytes >>
          kernel->static_shared_bytes >> kernel->most_threads >> kernel->parameters)) {
      return cuda::kErrorInvalidImage;
    }
    made->kernels.push_back(std::move(kernel));
  }
  *module = reinterpret_cast<cuda::ModuleHandle>(add<void*>(state().modules, std::move(made)));
  return cuda::kSuccess;
}

Result cuModuleUnload(cuda::ModuleHandle module) {
  FAKE_CALL(Context);
  return state().modules.erase(module) == 1 ? cuda::kSuccess : cuda::kErrorInvalidHandle;
}

Result cuModuleGetFunction(cuda::FunctionHandle* function, cuda::ModuleHandle module, const char* name) {
  FAKE_CALL(Context);
  const Module* const found = find(state().modules, module);
  if (found == nullptr) return cuda::kErrorInvalidHandle;
  for (const auto& kernel : found->kernels) {
    if (kernel->name != name) continue;
    *function = reinterpret_cast<cuda::FunctionHandle>(kernel.get());
    return cuda::kSuccess;
  }
  return cuda::kErrorNotFound;
}

Result cuFuncGetAttribute(int* value, int attribute, cuda::FunctionHandle function) {
  FAKE_CALL(Context);
  const Kernel* const kernel = kernel_of(function);
  if (kernel == nullptr) return cuda::kErrorInvalidHandle;
  switch (attribute) {
    case cuda::kMaxThreadsPerBlock: *value = kernel->most_threads; break;
    case cuda::kStaticSharedBytes: *value = kernel->static_shared_bytes; break;
    case cuda::kLocalBytes: *value = kernel->local_bytes; break;
    case cuda::kRegisters: *value = kernel->registers; break;
    case cuda::kMaxDynamicSharedBytes: *value = kernel->most_dynamic_bytes; break;
    default: return cuda::kErrorInvalidValue;
  }
  return cuda::kSuccess;
}

Result cuFuncSetAttribute(cuda::FunctionHandle function, int attribute, int value) {
  FAKE_CALL(Context);
  Kernel* const kernel = kernel_of(function);
  if (kernel == nullptr) return cuda::kErrorInvalidHandle;
  if (attribute != cuda::kMaxDynamicSharedBytes ||
      value + kernel->static_shared_bytes > kMostSharedBytes) {
    return cuda::kErrorInvalidValue;
  }
  kernel->most_dynamic_bytes = value;
  return cuda::kSuccess;
}

#ifndef FAKECUDA_OLD
Result cuFuncGetParamInfo(cuda::FunctionHandle function, std::size_t index, std::size_t* offset,
                          std::size_t* bytes) {
  FAKE_CALL(Context);
  const Kernel* const kernel = kernel_of(function);
  if (kernel == nullptr) return cuda::kErrorInvalidHandle;
  if (index >= kernel->parameters) return cuda::kErrorInvalidValue;
  *offset = 8 * index;
  *bytes = 8;
  return cuda::kSuccess;
}
#endif

#ifndef FAKECUDA_INCOMPLETE
Result cuLaunchKernel(cuda::FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                      cuda::StreamHandle stream, void** arguments, void**) {
  void (*body)(const FakeCudaLaunch*, void*) = nullptr;
  void* closure = nullptr;
  FakeCudaLaunch launch{};
  {
    FAKE_CALL(Context);
    const Kernel* const kernel = kernel_of(function);
    const bool known_stream = is_default_stream(stream) || find(state().streams, stream) != nullptr;
    if (kernel == nullptr || !known_stream) return cuda::kErrorInvalidHandle;
    const unsigned long long blocks = 1ULL * grid_x * grid_y * grid_z;
    const unsigned long long threads = 1ULL * block_x * block_y * block_z;
    if (blocks == 0 || threads == 0 || grid_x > 2147483647U || grid_y > 65535 || grid_z > 65535 ||
        threads > 1024 || shared_bytes > static_cast<unsigned>(kernel->most_dynamic_bytes)) {
      return cuda::kErrorInvalidValue;
    }
    if (threads > static_cast<unsigned long long>(kernel->most_threads)) {
      return cuda::kErrorLaunchOutOfResources;
    }
    launch = {kernel->name.c_str(),
              {grid_x, grid_y, grid_z},
              {block_x, block_y, block_z},
              shared_bytes,
              stream,
              arguments};
    body = state().on_launch;
    closure = state().on_launch_closure;
  }
  if (body != nullptr) body(&launch, closure);
  return cuda::kSuccess;
}
#endif
}
