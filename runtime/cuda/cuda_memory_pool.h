// GPU memory that is kept for reuse, in the order of the streams that use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "runtime/cuda/cuda_context.h"

namespace mica {

/// Blocks of device memory from cuMemAlloc. A released block is kept, up to a quarter of the GPU's
/// memory, and serves a later request of about its size:
///  - at once in the stream that released it, whose order makes that safe;
///  - in another stream once the work that was in the releasing stream is done.
/// When memory runs out, all kept blocks go back to the driver before the request is tried again.
/// All members may be called from several threads.
class CudaMemoryPool {
 public:
  explicit CudaMemoryPool(std::shared_ptr<const CudaContext> context);
  ~CudaMemoryPool();
  CudaMemoryPool(const CudaMemoryPool&) = delete;
  CudaMemoryPool& operator=(const CudaMemoryPool&) = delete;

  /// Memory for `bytes` (0 is allowed), aligned to 256 bytes, for work put into `stream` from now on.
  /// DeviceError on exhaustion says how much was asked for and is free.
  cuda::Address allocate(std::size_t bytes, Stream stream);
  /// Takes the block at `address` back, to be reused after the work now in `stream`. InternalError
  /// for an address that allocate did not return; no error of the driver is thrown.
  void release(cuda::Address address, Stream stream);
  /// Waits for the work on all kept blocks and returns them to the driver.
  void trim();

  [[nodiscard]] std::size_t bytes_in_use() const;
  [[nodiscard]] std::size_t bytes_kept() const;

  /// Bytes of the block that serves a request: at most an eighth more, in steps of at most 2 MiB.
  static std::size_t block_bytes(std::size_t bytes);

 private:
  struct KeptBlock {
    cuda::Address address = 0;
    void* stream = nullptr;             // Stream::handle of the releasing stream; null: Mica's own
    cuda::EventHandle ready = nullptr;  // after the work in the user's stream; null for Mica's own
    bool after_everything = false;      // no event could be made: usable after all work in the context
  };
  using Kept = std::multimap<std::size_t, KeptBlock>;  // by bytes

  // These expect mutex_ to be held and the context to be current.
  cuda::Address take_kept(std::size_t size, Stream stream);
  bool may_serve(const KeptBlock& block, Stream stream) const;
  void drop(const KeptBlock& block);
  void drop_all();

  const std::shared_ptr<const CudaContext> context_;
  const std::size_t keep_at_most_;
  mutable std::mutex mutex_;
  Kept kept_;
  std::unordered_map<cuda::Address, std::size_t> in_use_;
  std::size_t in_use_bytes_ = 0, kept_bytes_ = 0;
};

}  // namespace mica
