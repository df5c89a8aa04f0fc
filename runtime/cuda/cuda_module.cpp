#include "runtime/cuda/cuda_module.h"

#include <charconv>
#include <map>
#include <utility>

#include "runtime/cuda/cuda_kernel.h"
#include "runtime/cuda/plain_loads.h"
#include "runtime/run/trace.h"

namespace mica {

namespace {

std::vector<KernelRequest> requests_of(const std::vector<std::string>& names,
                                       const std::vector<int>& shared_bytes) {
  internal_check(names.size() == shared_bytes.size(), "one number of shared bytes for each kernel");
  std::vector<KernelRequest> requests;
  for (std::size_t i = 0; i < names.size(); ++i) requests.push_back({names[i], shared_bytes[i]});
  return requests;
}

std::shared_ptr<const CudaContext> context_of(const Target& target) {
  internal_check(target.backend == Backend::Cuda, "machine code for GPUs is loaded on GPUs only");
  return cuda_context(target.device);
}

/// `key` with what only the GPU and its driver decide.
CacheKey key_on(const CudaContext& context, const std::vector<KernelRequest>& requests, CacheKey key) {
  key.add("sm", std::to_string(context.facts().sm));
  key.add("driver", std::to_string(context.driver().version()));
  for (const KernelRequest& request : requests) key.add("kernel", request.name);
  return key;
}

// A cache entry is the number of bytes of PTX in decimal, a line feed, the PTX, and the machine code.
std::string pack(const std::string& ptx, const std::string& cubin) {
  return std::to_string(ptx.size()) + "\n" + ptx + cubin;
}

/// PTX and machine code of an entry that pack made; nothing for any other text.
std::optional<std::pair<std::string, std::string>> unpack(const std::string& entry) {
  std::size_t size = 0;
  const char* const end = entry.data() + entry.size();
  const auto [line, error] = std::from_chars(entry.data(), end, size);
  if (error != std::errc() || line == end || *line != '\n') return std::nullopt;
  const auto begin = static_cast<std::size_t>(line - entry.data()) + 1;
  if (size > entry.size() - begin) return std::nullopt;
  return std::pair(entry.substr(begin, size), entry.substr(begin + size));
}

/// Of the kernels with read-only loads those whose code keeps values in local memory.
std::vector<std::string> spilling_kernels(const LoadedKernels& kernels,
                                          const std::vector<ReadOnlyEntry>& entries) {
  std::map<std::string_view, std::int64_t> allowed;
  for (const ReadOnlyEntry& entry : entries) allowed.emplace(entry.name, entry.local_bytes);
  std::vector<std::string> spilling;
  for (const auto& [name, kernel] : kernels) {
    const auto found = allowed.find(name);
    if (found == allowed.end()) continue;
    KernelInfo info;
    kernel->describe(info);
    if (info.local_bytes > found->second) spilling.push_back(name);
  }
  return spilling;
}

}  // namespace

std::optional<LoadedKernels> load_cached_kernels(const std::shared_ptr<const CudaContext>& context,
                                                 const KernelCache& cache,
                                                 const std::vector<KernelRequest>& requests,
                                                 const CacheKey& key) {
  const TraceScope trace("load cached kernels");
  const std::optional<std::string> entry = cache.load(key_on(*context, requests, key));
  if (!entry.has_value()) return std::nullopt;
  const auto parts = unpack(*entry);
  if (!parts.has_value()) return std::nullopt;
  try {
    return load_module(context, parts->second, requests, parts->first, true);
  } catch (const DeviceError&) {
    // Machine code that this driver refuses is assembled anew; if the driver refuses that too, its
    // error is the one to show.
    return std::nullopt;
  }
}

LoadedKernels load_kernels(const std::shared_ptr<const CudaContext>& context, const KernelCache& cache,
                           const std::string& ptx, const std::vector<KernelRequest>& requests,
                           const CacheKey& key) {
  if (auto cached = load_cached_kernels(context, cache, requests, key)) return std::move(*cached);
  std::string cubin = link_ptx(*context, ptx);
  LoadedKernels kernels = load_module(context, cubin, requests, ptx, false);
  const std::string plain = with_plain_loads(ptx, spilling_kernels(kernels, read_only_entries(ptx)));
  if (plain != ptx) {
    cubin = link_ptx(*context, plain);
    kernels = load_module(context, cubin, requests, plain, false);
  }
  cache.store(key_on(*context, requests, key), pack(plain, cubin));
  return kernels;
}

LoadedKernels load_cuda_kernels(const Target& target, const std::string& ptx,
                                const std::vector<std::string>& names,
                                const std::vector<int>& shared_bytes, const CacheKey& key,
                                bool use_cache) {
  const KernelCache cache = use_cache ? KernelCache::from_environment() : KernelCache({});
  return load_kernels(context_of(target), cache, ptx, requests_of(names, shared_bytes), key);
}

std::optional<LoadedKernels> load_cached_cuda_kernels(const Target& target,
                                                      const std::vector<std::string>& names,
                                                      const std::vector<int>& shared_bytes,
                                                      const CacheKey& key) {
  return load_cached_kernels(context_of(target), KernelCache::from_environment(),
                             requests_of(names, shared_bytes), key);
}

std::shared_ptr<LoadedKernel> load_cubin(const Target& target, const std::string& bytes,
                                         const std::string& kernel, int shared_bytes) {
  return load_module(context_of(target), bytes, {{kernel, shared_bytes}}, {}, false).front().second;
}

}  // namespace mica
