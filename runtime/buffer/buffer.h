// Multi-dimensional arrays on the host, on a GPU, or both.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dsl/expr/diagnostics.h"
#include "dsl/expr/expr.h"
#include "dsl/expr/limits.h"
#include "dsl/expr/type.h"
#include "runtime/run/target.h"

namespace mica {

/// One dimension: indices min ... min + extent - 1, `stride` elements apart.
struct BufferDim {
  std::int64_t min = 0, extent = 0, stride = 1;
  friend bool operator==(const BufferDim&, const BufferDim&) = default;
};

/// Dimensions of a dense array with mins 0: dimension 0 fastest. UserErrors as AnyBuffer's.
std::vector<BufferDim> dense_dims(const std::vector<std::int64_t>& extents);

class ImageParam;      // dsl/func/func.h
struct BufferStorage;  // runtime/buffer/buffer_storage.h: memory of one allocation on each side

/// A typed view of shared storage whose element type is known at run time only. Copies share the
/// storage and its host/device state; one that was moved from is undefined, as a default-made one.
/// Dimension 0 is the fastest by default.
///
/// Memory is made on first use, on the host or the device. The newer side is copied to the other
/// when that is asked for, always the whole storage. All members may be called from several threads;
/// who reads elements while another writes them needs an order of their own.
class AnyBuffer {
 public:
  AnyBuffer() = default;
  AnyBuffer(const AnyBuffer&) = default;
  AnyBuffer& operator=(const AnyBuffer&) = default;
  AnyBuffer(AnyBuffer&& other) noexcept;
  AnyBuffer& operator=(AnyBuffer&& other) noexcept;
  ~AnyBuffer() = default;
  /// Dense, uninitialised, min 0; UserError for 0 or more than kMaxDimensions or a negative extent.
  /// Zero extents are legal and hold no elements.
  AnyBuffer(Type type, const std::vector<std::int64_t>& extents);
  AnyBuffer(Type type, std::initializer_list<std::int64_t> extents)
      : AnyBuffer(type, std::vector<std::int64_t>(extents)) {}
  /// Any mins, extents, strides (strides in elements, any sign). Elements must not share addresses:
  /// in order of size, each stride must exceed the span of the dimensions before it, or a UserError.
  AnyBuffer(Type type, const std::vector<BufferDim>& dims);
  AnyBuffer(Type type, std::initializer_list<BufferDim> dims)
      : AnyBuffer(type, std::vector<BufferDim>(dims)) {}
  /// Memory of the user's, not owned; Mica touches no byte between the elements that `dims` names.
  /// `host` points at the element at the mins. After a run on a GPU, call copy_to_host() before
  /// reading through a pointer of your own. `owner`, if there is one, is kept until the last buffer and
  /// expression that use the memory are gone.
  static AnyBuffer wrap_host(Type type, void* host, const std::vector<BufferDim>& dims,
                             std::shared_ptr<void> owner = nullptr);
  /// Device memory of the user's (a CUdeviceptr as integer, of the element at the mins), not owned.
  /// host_data() copies it into host memory of Mica's; copy_to_device() brings changes back. On a
  /// target without memory of its own this is wrap_host. `owner` as there; Mica's own work on the memory
  /// has ended when it goes.
  static AnyBuffer wrap_device(Type type, std::uint64_t device_ptr, const std::vector<BufferDim>& dims,
                               const Target& target, std::shared_ptr<void> owner = nullptr);

  /// As the constructor, in page-locked host memory, which the GPU of `target` copies from and to by
  /// itself, at the full speed of its link and beside kernels (runtime/buffer/copy_async.h). The memory
  /// is made at once, in about half a second a gigabyte, and is not to be had for most of a machine's.
  /// DeviceError when it cannot be had. On a target without memory of its own: ordinary memory.
  static AnyBuffer pinned(Type type, const std::vector<BufferDim>& dims, const Target& target);

  /// Allocates `extents` interior points with `halo` more on each side: mins are -halo. The first
  /// interior point is aligned to 128 bytes, that of every row to 32 bytes, a sector of a GPU's memory,
  /// or to 128 without a halo in dimension 0. (Rows of 512 points of f32 and a halo of one that begin
  /// 2,080 bytes apart take a sweep 2 % less time on an H200 than 2,176 bytes apart.)
  /// UserError for a negative halo or one that is not given for every dimension.
  static AnyBuffer with_halo(Type type, const std::vector<std::int64_t>& extents,
                             const std::vector<std::int64_t>& halo);

  [[nodiscard]] bool defined() const { return storage_ != nullptr; }
  [[nodiscard]] Type type() const { return type_; }
  [[nodiscard]] int dimensions() const { return static_cast<int>(dims_.size()); }
  [[nodiscard]] const BufferDim& dim(int d) const;
  [[nodiscard]] const std::vector<BufferDim>& dims() const { return dims_; }
  [[nodiscard]] std::int64_t min(int d) const { return dim(d).min; }
  [[nodiscard]] std::int64_t extent(int d) const { return dim(d).extent; }
  [[nodiscard]] std::int64_t stride(int d) const { return dim(d).stride; }
  [[nodiscard]] std::int64_t elements() const;  ///< product of the extents

  /// The view of [min, min + extent) of each dimension; shares memory. UserError if it sticks out.
  [[nodiscard]] AnyBuffer cropped(
      const std::vector<std::pair<std::int64_t, std::int64_t>>& ranges) const;
  /// The same memory with other mins.
  [[nodiscard]] AnyBuffer translated(const std::vector<std::int64_t>& mins) const;
  /// The view of the elements whose coordinate d is `index`, with one dimension less; shares memory.
  /// UserErrors: no such dimension or index, a buffer of one dimension.
  [[nodiscard]] AnyBuffer sliced(int d, std::int64_t index, CallSite at = CallSite::current()) const;
  /// The view with dimensions d0 and d1 exchanged; shares memory. UserError for no such dimension.
  [[nodiscard]] AnyBuffer transposed(int d0, int d1, CallSite at = CallSite::current()) const;
  /// Same elements in freshly allocated host memory.
  [[nodiscard]] AnyBuffer copy() const;

  // ---- in algorithms --------------------------------------------------------------------------------
  /// The input that stands for this very view of this very memory, for directives and boundary
  /// conditions: `f.stage(table.input(), MemoryType::Shared)`. Copies of a buffer have one input;
  /// another crop has another, and so has another buffer of the same elements. It is called "buffer"
  /// or what whoever asks first calls it, keeps the memory alive, and cannot be set to anything else.
  /// Directives tell buffers of one algorithm apart by name. UserErrors: an undefined buffer, an empty
  /// name, an input that goes by another name as long as anything reads it.
  [[nodiscard]] ImageParam input(CallSite at = CallSite::current()) const;
  [[nodiscard]] ImageParam input(const std::string& name, CallSite at = CallSite::current()) const;

  // ---- host side ----------------------------------------------------------------------------------
  /// Address of the element at the mins, after bringing the host copy up to date. Null when empty.
  [[nodiscard]] void* host_data() const;
  /// As host_data, and marks the host copy as the newer one.
  [[nodiscard]] void* host_data_for_write();
  /// Says that the user wrote through a pointer obtained earlier.
  void set_host_dirty();

  // ---- device side --------------------------------------------------------------------------------
  /// Address (CUdeviceptr) of the element at the mins on `target`'s device, allocating and copying
  /// as needed; `for_write` marks the device copy as the newer one (the whole storage is brought
  /// over first unless `overwrites_all`).
  [[nodiscard]] std::uint64_t device_data(const Target& target, bool for_write,
                                          bool overwrites_all = false) const;
  [[nodiscard]] bool host_dirty() const;    ///< the host copy is newer
  [[nodiscard]] bool device_dirty() const;  ///< the device copy is newer
  void copy_to_host() const;
  void copy_to_device(const Target& target) const;
  /// Frees the device copy (after bringing the host copy up to date). Memory of the user's stays.
  void device_free() const;

  /// Do the two views share an element's memory? Exact for views of equal strides (crops of one
  /// storage), by the address range from first to last element otherwise.
  [[nodiscard]] bool overlaps(const AnyBuffer& other) const;
  [[nodiscard]] std::string describe() const;  ///< "f32 [-1..512] x [0..255]"

  // ---- for Executable -------------------------------------------------------------------------------
  [[nodiscard]] const std::shared_ptr<BufferStorage>& storage() const { return storage_; }
  /// Elements from the storage's first to the element at the mins.
  [[nodiscard]] std::int64_t offset() const { return offset_; }
  /// The view holds all elements of its storage.
  [[nodiscard]] bool covers_storage() const;
  /// The view with `before` and `after` more points along dimension 0, which stand in the same storage:
  /// what pads a row, or its neighbours. Their values are unspecified; they are for reading. Undefined
  /// where the storage ends, for memory of the user's, and unless dimension 0 has stride 1 and the
  /// others have positive ones.
  [[nodiscard]] AnyBuffer widened(std::int64_t before, std::int64_t after) const;

 protected:
  /// input()(args).
  [[nodiscard]] Expr access(std::vector<Expr> args, const CallSite& at) const;
  /// host_data_for_write without bringing over elements that the caller overwrites all.
  void* host_data_for_overwrite();
  /// UserErrors: another element type; coordinates of another number, or out of range.
  void require_type(Type type) const;
  void require_coordinates(std::initializer_list<std::int64_t> at) const;

  Type type_;
  std::vector<BufferDim> dims_;
  std::int64_t offset_ = 0;  // elements from the storage's start to the element at the mins
  std::shared_ptr<BufferStorage> storage_;
};

/// A coordinate of an element, rather than an expression.
template <typename I>
concept BufferIndex = requires(I i) {
  static_cast<std::int64_t>(i);
};

/// AnyBuffer with a static element type: element access on the host, and accesses in algorithms.
template <typename T>
class Buffer : public AnyBuffer {
 public:
  Buffer() = default;
  explicit Buffer(std::int64_t nx) : AnyBuffer(type_of<T>(), std::vector<std::int64_t>{nx}) {}
  Buffer(std::int64_t nx, std::int64_t ny)
      : AnyBuffer(type_of<T>(), std::vector<std::int64_t>{nx, ny}) {}
  Buffer(std::int64_t nx, std::int64_t ny, std::int64_t nz)
      : AnyBuffer(type_of<T>(), std::vector<std::int64_t>{nx, ny, nz}) {}
  Buffer(std::int64_t nx, std::int64_t ny, std::int64_t nz, std::int64_t nw)
      : AnyBuffer(type_of<T>(), std::vector<std::int64_t>{nx, ny, nz, nw}) {}
  explicit Buffer(const std::vector<std::int64_t>& extents) : AnyBuffer(type_of<T>(), extents) {}
  explicit Buffer(std::initializer_list<std::int64_t> extents) : AnyBuffer(type_of<T>(), extents) {}
  explicit Buffer(const std::vector<BufferDim>& dims) : AnyBuffer(type_of<T>(), dims) {}
  explicit Buffer(std::initializer_list<BufferDim> dims) : AnyBuffer(type_of<T>(), dims) {}
  /// UserError if `other` holds another type.
  Buffer(const AnyBuffer& other) : AnyBuffer(other) { check_type(); }  // NOLINT
  /// Wraps dense host memory, not owned.
  Buffer(T* host, const std::vector<std::int64_t>& extents);
  Buffer(T* host, const std::vector<BufferDim>& dims)
      : AnyBuffer(AnyBuffer::wrap_host(type_of<T>(), host, dims)) {}
  static Buffer wrap_device(std::uint64_t device_ptr, const std::vector<BufferDim>& dims,
                            const Target& target, std::shared_ptr<void> owner = nullptr) {
    return Buffer(AnyBuffer::wrap_device(type_of<T>(), device_ptr, dims, target, std::move(owner)));
  }
  static Buffer pinned(const std::vector<BufferDim>& dims, const Target& target) {
    return Buffer(AnyBuffer::pinned(type_of<T>(), dims, target));
  }
  static Buffer with_halo(const std::vector<std::int64_t>& extents,
                          const std::vector<std::int64_t>& halo) {
    return Buffer(AnyBuffer::with_halo(type_of<T>(), extents, halo));
  }
  [[nodiscard]] Buffer cropped(const std::vector<std::pair<std::int64_t, std::int64_t>>& ranges) const {
    return Buffer(AnyBuffer::cropped(ranges));
  }
  [[nodiscard]] Buffer translated(const std::vector<std::int64_t>& mins) const {
    return Buffer(AnyBuffer::translated(mins));
  }
  [[nodiscard]] Buffer sliced(int d, std::int64_t index, CallSite at = CallSite::current()) const {
    return Buffer(AnyBuffer::sliced(d, index, at));
  }
  [[nodiscard]] Buffer transposed(int d0, int d1, CallSite at = CallSite::current()) const {
    return Buffer(AnyBuffer::transposed(d0, d1, at));
  }
  [[nodiscard]] Buffer copy() const { return Buffer(AnyBuffer::copy()); }

  [[nodiscard]] T* data() { return static_cast<T*>(host_data_for_write()); }
  [[nodiscard]] const T* data() const { return static_cast<const T*>(host_data()); }
  /// Element at logical coordinates. The reference form marks the host copy as newer. Each call
  /// checks the host/device state; loops over many elements take `data()` once or `for_each`.
  /// UserError for a wrong number of coordinates; unless NDEBUG is defined, also for one out of
  /// range.
  template <BufferIndex... I>
  T& operator()(I... i) {
    return data()[offset_of({static_cast<std::int64_t>(i)...})];
  }
  template <BufferIndex... I>
  const T& operator()(I... i) const {
    return data()[offset_of({static_cast<std::int64_t>(i)...})];
  }
  /// The value in an algorithm, where one coordinate at least is a Var or another expression, as
  /// `f(x) = table(x % 4, 0)`: input()(x, y), read in place whenever the algorithm runs.
  Expr operator()(Expr x, CallSite at = CallSite::current()) const { return access({std::move(x)}, at); }
  Expr operator()(Expr x, Expr y, CallSite at = CallSite::current()) const {
    return access({std::move(x), std::move(y)}, at);
  }
  Expr operator()(Expr x, Expr y, Expr z, CallSite at = CallSite::current()) const {
    return access({std::move(x), std::move(y), std::move(z)}, at);
  }
  Expr operator()(Expr x, Expr y, Expr z, Expr w, CallSite at = CallSite::current()) const {
    return access({std::move(x), std::move(y), std::move(z), std::move(w)}, at);
  }
  Expr operator()(std::vector<Expr> args, CallSite at = CallSite::current()) const {
    return access(std::move(args), at);
  }
  /// Calls fn(element&, coordinates), or fn(element&), for every element, dimension 0 fastest;
  /// coordinates of dimensions that the buffer does not have are 0.
  void for_each(const std::function<void(T&, const Coordinates&)>& fn);
  void for_each(const std::function<void(const T&, const Coordinates&)>& fn) const;
  void for_each(const std::function<void(T&)>& fn);
  void for_each(const std::function<void(const T&)>& fn) const;
  /// Every element of the view becomes `value`, on the host.
  void fill(T value);

 private:
  void check_type() const;
  [[nodiscard]] std::int64_t offset_of(std::initializer_list<std::int64_t> at) const;
};

/// The buffers that `Func::realize(sizes)` made, one per Tuple element.
class Realization {
 public:
  explicit Realization(std::vector<AnyBuffer> buffers) : buffers_(std::move(buffers)) {}
  [[nodiscard]] std::size_t size() const { return buffers_.size(); }
  /// UserError beyond size().
  AnyBuffer& operator[](std::size_t i);
  /// The only buffer, typed. UserError if there are several or the type differs.
  template <typename T>
  operator Buffer<T>() const {
    return Buffer<T>(only());
  }  // NOLINT

 private:
  [[nodiscard]] const AnyBuffer& only() const;
  std::vector<AnyBuffer> buffers_;
};

}  // namespace mica

#include "runtime/buffer/buffer_inline.h"
