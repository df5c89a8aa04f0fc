// How deep JSON text nests: readers of JSON recurse, and no stack holds any depth.
#pragma once

#include <string_view>

namespace mica {

/// Do more than `levels` arrays and objects stand inside each other? Of text that is no JSON the answer
/// is as good as any.
bool nests_deeper(std::string_view json, int levels = 64);

}  // namespace mica
