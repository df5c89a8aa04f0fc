// Copies between buffers of the host and buffers of a device, in a stream, beside kernels.
//
//   auto field = Buffer<float>::pinned(dims, gpu);       // host memory that the GPU copies by itself
//   copy_to_device(field.cropped(slab), there, gpu, stream);
//   step.run(out, {.inputs = {{u, there}}, .stream = stream});
//   copy_to_host(out, result.cropped(slab), gpu, stream);
//   stream.synchronize();
#pragma once

#include "dsl/expr/diagnostics.h"
#include "runtime/buffer/buffer.h"
#include "runtime/run/device.h"
#include "runtime/run/target.h"

namespace mica {

/// Puts a copy of all elements of `from`'s host side into `to`'s memory on the device of `target`, into
/// `stream` (null: the device's own). It returns before the copy is done if `from` is pinned, else
/// perhaps only when it is; on the host and the emulator it is done on return. Until it is done, in the
/// order of `stream`, `from` must not change, and `to` must not be used in another stream.
/// The device side of `to` is the newer one from now on; if `to` is a part of a buffer whose host side
/// is newer, the whole is brought over first. Rows of both may be any distance apart; mins may differ.
/// UserErrors at the caller's line: an undefined buffer, other types, other extents.
void copy_to_device(const AnyBuffer& from, const AnyBuffer& to, const Target& target, Stream stream,
                    CallSite at = CallSite::current());

/// Puts a copy of all elements of `from`'s memory on the device of `target` into `to`'s host side, into
/// `stream`, as copy_to_device does the other way. `to` may be read once the work in `stream` is done;
/// its host side is the newer one from now on.
void copy_to_host(const AnyBuffer& from, const AnyBuffer& to, const Target& target, Stream stream,
                  CallSite at = CallSite::current());

}  // namespace mica
