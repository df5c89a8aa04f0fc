// What a run is given besides its outputs: inputs and scalars of its own, a stream, and what takes the
// lines that it prints.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "dsl/func/func.h"
#include "runtime/buffer/buffer.h"
#include "runtime/run/device.h"

namespace mica {

namespace detail {

template <std::integral V>
constexpr bool is_negative(V value) {
  if constexpr (std::signed_integral<V>) return value < 0;
  return false;
}

/// Does the integer type T hold `value`?
template <std::integral T, std::integral V>
constexpr bool holds(V value) {
  const auto held = static_cast<T>(value);
  return static_cast<V>(held) == value && is_negative(held) == is_negative(value);
}

/// The UserError of a value, as text, that the type of a Param does not hold.
[[noreturn]] void refuse_value(const ParamData& param, const std::string& value, const CallSite& at);

}  // namespace detail

/// Can a V be the value of a Param<T>? A floating-point number is none of a Param of integers.
template <typename V, typename T>
concept ValueOf = std::convertible_to<V, T> && !(std::floating_point<V> && std::integral<T>);

/// The buffer that an input stands for during one run.
struct RunInput {
  /// UserErrors at the caller's line: an undefined buffer, another type or number of dimensions.
  RunInput(const ImageParam& input, const AnyBuffer& buffer_arg, CallSite at = CallSite::current());

  std::shared_ptr<const ImageData> image;
  AnyBuffer buffer;
  CallSite where;
};

/// The value of a Param during one run.
struct RunParam {
  /// UserError at the caller's line: an integer that a Param of integers does not hold.
  template <typename T, ValueOf<T> V>
  RunParam(const Param<T>& scalar, V value, CallSite at = CallSite::current())
      : param(scalar.data()), where(at) {
    if constexpr (std::integral<T> && std::integral<V>) {
      if (!detail::holds<T>(value)) detail::refuse_value(*param, std::to_string(value), at);
    }
    const auto held = static_cast<T>(value);
    std::memcpy(&bits, &held, sizeof(T));
  }

  std::shared_ptr<const ParamData> param;
  std::uint64_t bits = 0;  ///< as ParamData::bits
  CallSite where;
};

/// How one run is carried out: `run(out, {.inputs = {{u, a}}, .params = {{dt, 0.1F}}})`.
struct RunOptions {
  /// Buffers and values for this run alone, whatever ImageParam::set and Param::set say: threads that
  /// share an Executable give each run its own. What is not named here is what those hold when the run
  /// begins. UserErrors at the line of the pair: one named twice, one that the pipeline does not use.
  std::vector<RunInput> inputs = {};
  std::vector<RunParam> params = {};
  /// A stream of the user's; the run is then only enqueued (pipelines with host launches wait for
  /// the device between them). Synchronise the stream before the buffers are read on the host, used
  /// in a run on another stream, or freed. Work that Mica enqueued earlier on a stream of its own is
  /// waited for. Without a stream the run is complete, for host readers, when the output buffer is
  /// next read.
  Stream stream = {};
  /// Gets each line that this run prints on the host or the emulator (`print` and the traces of a Func),
  /// without its line feed, instead of stderr: `{.print = [&](std::string_view l) {
  /// lines.emplace_back(l); }}`. It is called from any thread of the run, but never while another call
  /// of the run is under way, and not after the run has returned; the text is gone when it returns. It
  /// may run other pipelines. After an exception of its own it gets no more lines, the values are
  /// computed to the end, and the run throws that exception. What kernels on a GPU print does not come
  /// here: the driver writes it to stdout (dsl/expr/print.h).
  std::function<void(std::string_view line)> print = {};
};

}  // namespace mica
