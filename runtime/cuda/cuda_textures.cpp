#include "runtime/cuda/cuda_textures.h"

namespace mica {

namespace {

cuda::ArrayFormat format_of(Type type) {
  if (type == Float(32)) return cuda::kFormatFloat;
  if (type == Int(32)) return cuda::kFormatSigned32;
  internal_check(type == UInt(32), "textures are of f32, i32 or u32");
  return cuda::kFormatUnsigned32;
}

}  // namespace

class CudaTextures::Texture {
 public:
  Texture(std::shared_ptr<const CudaContext> context, std::uint64_t start, std::size_t bytes,
          cuda::ArrayFormat format, const std::string& array)
      : context_(std::move(context)) {
    cuda::LinearResource memory;
    memory.linear.address = start;
    memory.linear.format = format;
    memory.linear.bytes = bytes;
    cuda::TextureSettings settings;
    if (format != cuda::kFormatFloat) settings.flags = cuda::kTextureReadAsInteger;
    const CudaContext::Scope scope(*context_);
    const cuda::Driver& driver = context_->driver();
    const cuda::Result result = driver.cuTexObjectCreate(&object_, &memory, &settings, nullptr);
    if (result != cuda::kSuccess) {
      throw driver.error("cuTexObjectCreate", result,
                         "a texture over " + cuda::bytes_text(bytes) + " of " + array);
    }
  }
  ~Texture() {
    // Errors say that the process ends or that the context is already broken.
    try {
      const CudaContext::Scope scope(*context_);
      (void)context_->driver().cuTexObjectDestroy(object_);
    } catch (const DeviceError&) {
    }
  }
  Texture(const Texture&) = delete;
  Texture& operator=(const Texture&) = delete;

  [[nodiscard]] cuda::TextureHandle object() const { return object_; }

 private:
  const std::shared_ptr<const CudaContext> context_;
  cuda::TextureHandle object_ = 0;
};

TextureView CudaTextures::get(std::uint64_t address, std::size_t bytes, Type type,
                              const std::string& array) {
  const GpuFacts& facts = context_->facts();
  const auto element = static_cast<std::size_t>(type.bytes());
  const std::uint64_t before = address % static_cast<std::uint64_t>(facts.texture_alignment);
  const std::size_t whole = bytes + before;
  if (whole / element > static_cast<std::size_t>(facts.max_texture_elements)) {
    throw UserError(array + " has " + std::to_string(whole / element) +
                    " elements, and a texture over linear memory of " + facts.name + " has at most " +
                    std::to_string(facts.max_texture_elements) + "; read the array without textures");
  }
  const cuda::ArrayFormat format = format_of(type);
  const std::lock_guard lock(mutex_);
  const Key key(address - before, whole, format);
  if (textures_.count(key) == 0 && textures_.size() >= most_) make_room();
  std::shared_ptr<const Texture>& texture = textures_[key];
  if (texture == nullptr) {
    try {
      texture = std::make_shared<const Texture>(context_, address - before, whole, format, array);
    } catch (...) {
      textures_.erase(key);
      throw;
    }
  }
  return {texture->object(), static_cast<std::int64_t>(before / element), texture};
}

void CudaTextures::make_room() {
  {
    const CudaContext::Scope scope(*context_);
    context_->driver().call(context_->driver().cuCtxSynchronize);
  }
  std::erase_if(textures_, [](const auto& entry) { return entry.second.use_count() == 1; });
}

}  // namespace mica
