// Shapes that a program knows before it runs: `bound` directives and the symbols that a compilation
// bakes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/random_data.h"
#include "fuzz/test_pipeline.h"
#include "runtime/buffer/buffer.h"

namespace mica::test {

/// Arrays by name.
using ArrayDims = std::map<std::string, std::vector<BufferDim>>;
/// Symbols of CompileOptions::bake; without a value, the one that the run's array has.
using Baked = std::map<std::string, std::optional<std::int64_t>>;

/// The value of "u.extent.0", say; nothing for what is no symbol of an array's.
std::optional<std::int64_t> value_of(const ArrayDims& arrays, const std::string& symbol);
/// CompileOptions::bake of `baked`; a symbol without a value that no array has is left out.
std::map<std::string, std::int64_t> bake_of(const Baked& baked, const ArrayDims& arrays);

/// Bounds dimensions of Funcs of `pipeline`, most often the outputs, which are computed over `boxes`;
/// with `wild`, some of them to other ranges.
void bound_randomly(TestPipeline& pipeline, const std::map<std::string, Box>& boxes, bool wild,
                    Random& random);
/// All symbols of `arrays` or some of them; with `wild`, some have values of no array or name none.
Baked random_bake(const ArrayDims& arrays, bool wild, Random& random);
/// A min, an extent or a stride that no array here has.
std::int64_t unlikely_size(Random& random);

}  // namespace mica::test
