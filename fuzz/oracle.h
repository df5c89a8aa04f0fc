// The oracle: an interpreter of algorithms that ignores schedules and shares no code with the
// compiler. Compiled code must return its bits.
//
// Every Func is evaluated point by point on demand and remembered; one that reads itself, from the start
// of its recurrence to the point. An update with colors is evaluated point by point, too: a read of a
// point of a lower color gives its new value, any other read the value before the update. A Func with
// other updates is evaluated slice by slice: along the dimensions that every update passes through
// unchanged its points are independent; the others span a box that holds the demanded points and all
// that the updates read.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "dsl/func/func.h"
#include "dsl/pipeline/pipeline.h"
#include "runtime/buffer/buffer.h"

namespace mica::test {

/// (min, extent) of each dimension, as AnyBuffer::cropped takes them.
using Box = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// The algorithm reads outside an input, an input is not set, or updates never settle on a box.
class OracleError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Fills `outputs` over their boxes: one buffer per output, Tuple elements one after another. Reads
/// the buffers and scalars that ImageParams and Params hold now.
void interpret(const Pipeline& pipeline, const std::vector<AnyBuffer*>& outputs);
void interpret(const std::vector<Func>& funcs, const std::vector<AnyBuffer*>& outputs);
/// Into new dense buffers over `box`, one per Tuple element.
std::vector<AnyBuffer> interpret(const Func& func, const Box& box);

/// The smallest box of each input that evaluating `funcs` over `box` reads; inputs that are not read are
/// left out. Inputs are taken as zero and unbounded, so that this holds for
/// algorithms whose indices depend neither on input values nor on the inputs' bounds.
std::map<const ImageData*, Box> demanded_inputs(const std::vector<Func>& funcs, const Box& box);

/// A dense uninitialised buffer over `box`.
AnyBuffer buffer_over(Type type, const Box& box);
/// The coordinates of `box` one after another, dimension 0 fastest.
void for_each_point(const Box& box, const std::function<void(const std::vector<std::int64_t>&)>& fn);
/// Address of the element at logical coordinates of a buffer whose host data starts at `data`.
void* element_address(const AnyBuffer& buffer, void* data, const std::vector<std::int64_t>& at);
std::string to_string(const Box& box);

}  // namespace mica::test
