// Lists of names in messages, the words that users' texts become, and names that stay unique.
//
// Any text is a legal name of a Func, an input, a Param, a Var, a reduction domain or a loop. In a
// Pipeline (dsl/pipeline/pipeline.h) each text has become a word, which has no '.'. Names that Mica
// makes are words joined by '.', as "u.staged", "f.u1" and "u.extent.0": no word is one of them. The
// loops over a Func's dimensions, "f.x", have a name that nothing else has (loop_name).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace mica {

enum class BufferField : std::uint8_t;  // dsl/expr/expr.h

/// "x, y, z"; "none" for an empty list.
std::string joined(const std::vector<std::string>& names);
/// "1 value", "2 values".
std::string counted(std::size_t count, const std::string& noun);
/// " (did you mean xo?)": the one of `known` that `name` is most likely a slip of the pen for, a few
/// letters left out, added, changed or swapped; "" where there is none.
std::string did_you_mean(const std::string& name, const std::vector<std::string>& known);
/// True for a word that C++ accepts as an identifier (keywords aside).
bool is_identifier(const std::string& word);

/// The word for a user's text: the text, if it is printable and without '.', quotes, backslashes and
/// braces; these become the characters that look most like them, as '.' the middle dot: "u·x". What
/// cannot be printed becomes a symbol for it.
std::string word_of(const std::string& text);
/// The text in UTF-8, as JSON is: bytes that are none become the symbol that they are in a word.
std::string as_utf8(const std::string& text);

/// The name of the loop over `dim`, a dimension or what splits and the like made of it, of `func`. No
/// word and no other name has what stands between the two, so that loop "tx" of f is not the "f.tx" that
/// Mica makes of its own, nor loop "x" of "u.staged" the loop "staged.x" of "u".
std::string loop_name(const std::string& func, const std::string& dim);
/// A name as people read it: the loop "x" of "f" is "f.x".
std::string printed(const std::string& name);

/// The name of what a launch knows of an array's dimension: "u.stride.1".
std::string symbol_name(const std::string& array, BufferField field, std::size_t d);

/// Gives out names that were not given out before: a second "f" is "f·2".
class UniqueNames {
 public:
  std::string claim(const std::string& wanted);
  /// Keeps `name` from being given out.
  void reserve(const std::string& name) { taken_.insert(name); }

 private:
  std::set<std::string> taken_;
  std::map<std::string, int> last_;  ///< number given to a name that was wanted again
};

}  // namespace mica
