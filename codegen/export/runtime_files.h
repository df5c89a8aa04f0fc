// What exported libraries take from the build of Mica: the objects of runtime/export, and the text of
// runtime/export/abi.h.
#pragma once

#include <string_view>

namespace mica::exported {

/// A static library; it lives as long as the program.
std::string_view runtime_archive();
/// The header's text.
std::string_view abi_header();

}  // namespace mica::exported
