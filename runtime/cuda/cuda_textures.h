// Texture objects over linear memory of one GPU.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

#include "runtime/cuda/cuda_context.h"
#include "runtime/run/device.h"

namespace mica {

/// Makes textures and keeps them for the next launches over the same memory. A texture only describes
/// memory, so it serves whatever is allocated there later. Used by several threads at once.
class CudaTextures {
 public:
  /// At most `most` are kept: then those that no launch is about to use are destroyed, after the work in
  /// the context is done.
  explicit CudaTextures(std::shared_ptr<const CudaContext> context, std::size_t most = 256)
      : context_(std::move(context)), most_(most) {}

  /// As Device::texture. Unnormalised integer coordinates, no filter, elements as they are. The texture
  /// starts at the multiple of the GPU's texture alignment at or below `address`.
  TextureView get(std::uint64_t address, std::size_t bytes, Type type, const std::string& array);

 private:
  /// Destroys its texture.
  class Texture;
  using Key = std::tuple<std::uint64_t, std::size_t, int>;  ///< start, bytes, format

  void make_room();

  const std::shared_ptr<const CudaContext> context_;
  const std::size_t most_;
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<const Texture>> textures_;
};

}  // namespace mica
