#include "codegen/export/c_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "dsl/expr/diagnostics.h"

namespace mica::exported {

namespace {

// Of C11 and C++20, the names that compilers define, and those of the exported header.
constexpr auto kKept =
    std::to_array<std::string_view>({"alignas",     "alignof",      "and",          "and_eq",
                                     "asm",         "auto",         "bitand",       "bitor",
                                     "bool",        "break",        "case",         "catch",
                                     "char",        "char16_t",     "char32_t",     "char8_t",
                                     "class",       "co_await",     "co_return",    "co_yield",
                                     "compl",       "concept",      "const",        "const_cast",
                                     "consteval",   "constexpr",    "constinit",    "continue",
                                     "decltype",    "default",      "delete",       "do",
                                     "double",      "dynamic_cast", "else",         "enum",
                                     "explicit",    "export",       "extern",       "false",
                                     "float",       "for",          "friend",       "goto",
                                     "if",          "inline",       "int",          "linux",
                                     "long",        "mutable",      "namespace",    "new",
                                     "noexcept",    "not",          "not_eq",       "nullptr",
                                     "operator",    "or",           "or_eq",        "private",
                                     "protected",   "public",       "register",     "reinterpret_cast",
                                     "requires",    "restrict",     "return",       "short",
                                     "signed",      "sizeof",       "static",       "static_assert",
                                     "static_cast", "stream",       "struct",       "switch",
                                     "template",    "this",         "thread_local", "throw",
                                     "true",        "try",          "typedef",      "typeid",
                                     "typename",    "typeof",       "union",        "unix",
                                     "unsigned",    "using",        "virtual",      "void",
                                     "volatile",    "wchar_t",      "while",        "xor",
                                     "xor_eq"});

bool is_letter(unsigned char byte) { return byte < 0x80 && (std::isalnum(byte) != 0 || byte == '_'); }

bool is_kept(const std::string& word) {
  if (std::find(kKept.begin(), kKept.end(), word) != kKept.end()) return true;
  // Types of <stdint.h>, macros, and names that C keeps for its library.
  return word.ends_with("_t") || word.starts_with("mica_") || word.starts_with("MICA_") ||
         word.starts_with("_") || word == "NULL";
}

}  // namespace

std::vector<std::string> c_identifiers(const std::vector<std::string>& names) {
  std::vector<std::string> identifiers;
  std::set<std::string> taken;
  for (const std::string& name : names) {
    std::string word;
    for (const char c : name) {
      const auto byte = static_cast<unsigned char>(c);
      if ((byte & 0xc0) == 0x80) continue;  // a character's further bytes
      word += is_letter(byte) ? c : '_';
    }
    if (word.empty() || word[0] == '_' || std::isdigit(static_cast<unsigned char>(word[0])) != 0) {
      word = "a" + word;
    }
    if (is_kept(word)) word += '_';
    std::string free = word;
    for (int count = 2; !taken.insert(free).second; ++count) free = word + "_" + std::to_string(count);
    identifiers.push_back(free);
  }
  return identifiers;
}

void check_function_name(const std::string& name) {
  const auto refuse = [&](const std::string& why) {
    const std::string advice = c_identifiers({name}).front();
    throw UserError("\"" + name + "\" cannot be the name of a C function: " + why +
                    "; name it with the option `name`, --name on the command line, as in \"" +
                    (advice == name ? name + "_run" : advice) + "\"");
  };
  if (name.empty()) refuse("it is empty");
  const bool legal = std::all_of(name.begin(), name.end(),
                                 [](char c) { return is_letter(static_cast<unsigned char>(c)); });
  if (!legal) refuse("it has characters that are not a letter of ASCII, a digit or _");
  if (std::isdigit(static_cast<unsigned char>(name[0])) != 0) refuse("it begins with a digit");
  if (name == "main" || is_kept(name)) refuse("C, or the library itself, has that name");
}

}  // namespace mica::exported
