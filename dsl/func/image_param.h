// Inputs and scalars of an algorithm. Part of dsl/func/func.h.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dsl/expr/operators.h"
#include "dsl/func/function.h"

namespace mica {

class AnyBuffer;  // runtime/buffer/buffer.h
class Func;       // dsl/func/func.h

/// An input: a `dimensions`-dimensional array of `type` (1 to kMaxDimensions of them,
/// dsl/expr/limits.h).
class ImageParam {
 public:
  /// UserError if the type is no user type or dimensions is outside 1..kMaxDimensions.
  ImageParam(Type type, int dimensions, std::string name, CallSite at = CallSite::current());
  explicit ImageParam(std::shared_ptr<const ImageData> data) : data_(std::move(data)) {}
  ImageParam(const ImageParam&) = default;
  ImageParam& operator=(const ImageParam&) = default;
  [[nodiscard]] const std::string& name() const { return data_->name; }
  [[nodiscard]] Type type() const { return data_->type; }
  [[nodiscard]] int dimensions() const { return data_->dimensions; }
  /// The buffer that runs read from now on; a UserError if type or dimensions differ. Any thread may
  /// set it at any time: a run keeps the one buffer that was set when it began. Runs that must not
  /// depend on what other threads set name their inputs themselves (RunOptions::inputs).
  void set(const AnyBuffer& buffer, CallSite at = CallSite::current());
  /// Nothing is set any more; set's rules about threads hold. Both: a UserError for AnyBuffer::input.
  void reset(CallSite at = CallSite::current());
  /// The value at integer coordinates.
  Expr operator()(Expr x, CallSite at = CallSite::current()) const;
  Expr operator()(Expr x, Expr y, CallSite at = CallSite::current()) const;
  Expr operator()(Expr x, Expr y, Expr z, CallSite at = CallSite::current()) const;
  Expr operator()(Expr x, Expr y, Expr z, Expr w, CallSite at = CallSite::current()) const;
  Expr operator()(Expr x, Expr y, Expr z, Expr w, Expr d4, CallSite at = CallSite::current()) const;
  Expr operator()(Expr x, Expr y, Expr z, Expr w, Expr d4, Expr d5,
                  CallSite at = CallSite::current()) const;
  Expr operator()(std::vector<Expr> args, CallSite at = CallSite::current()) const;

  /// One dimension's bounds, as expressions known at launch.
  class Dimension {
   public:
    Dimension(const Dimension&) = default;
    Dimension& operator=(const Dimension&) = default;
    [[nodiscard]] Expr min() const;
    [[nodiscard]] Expr extent() const;
    /// min + extent - 1.
    [[nodiscard]] Expr max() const;
    [[nodiscard]] Expr stride() const;

   private:
    friend class ImageParam;
    Dimension(std::shared_ptr<const ImageData> image, int d) : image_(std::move(image)), d_(d) {}
    std::shared_ptr<const ImageData> image_;
    int d_;
  };
  [[nodiscard]] Dimension dim(int d, CallSite at = CallSite::current()) const;
  [[nodiscard]] Expr width(CallSite at = CallSite::current()) const { return dim(0, at).extent(); }
  [[nodiscard]] Expr height(CallSite at = CallSite::current()) const { return dim(1, at).extent(); }

  /// A Func that stands for this input where `consumer` reads it, to be scheduled on its own
  /// (before: consumer reads u; after: consumer reads w, w(x, ...) = u(x, ...)).
  Func in(Func& consumer, CallSite at = CallSite::current()) const;

  [[nodiscard]] const std::shared_ptr<const ImageData>& data() const { return data_; }

 private:
  std::shared_ptr<const ImageData> data_;
};

/// What a Param points to, with the value 0. UserError for an empty name.
std::shared_ptr<const ParamData> make_param(std::string name, Type type, const SourceLocation& where);

/// A scalar that is set at run time without recompiling.
template <typename T>
class Param {
 public:
  explicit Param(std::string name, CallSite at = CallSite::current())
      : Param(std::move(name), T{}, at) {}
  /// UserError for an empty name.
  Param(std::string name, T value, CallSite at = CallSite::current())
      : data_(make_param(std::move(name), type_of<T>(), at)) {
    set(value);
  }
  Param(const Param&) = default;
  Param& operator=(const Param&) = default;
  /// Any thread may set it at any time: a run keeps the one value that was set when it began. Runs that
  /// must not depend on what other threads set name their values themselves (RunOptions::params).
  void set(T value) const {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    data_->bits = bits;
  }
  [[nodiscard]] T get() const {
    const std::uint64_t bits = data_->bits;
    T value;
    std::memcpy(&value, &bits, sizeof(T));
    return value;
  }
  [[nodiscard]] const std::string& name() const { return data_->name; }
  operator Expr() const { return make_expr(data_->type, ParamRef{data_}); }  // NOLINT
  [[nodiscard]] const std::shared_ptr<const ParamData>& data() const { return data_; }

 private:
  std::shared_ptr<const ParamData> data_;
};

}  // namespace mica
