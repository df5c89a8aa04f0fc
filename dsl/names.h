// Lists of names in messages, and names that stay unique.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace mica {

/// "x, y, z"; "none" for an empty list.
std::string joined(const std::vector<std::string>& names);
/// "1 value", "2 values".
std::string counted(std::size_t count, const std::string& noun);
/// True for a word that C++ accepts as an identifier (keywords aside).
bool is_identifier(const std::string& word);

/// Gives out names that were not given out before: a second "f" is "f.2".
class UniqueNames {
 public:
  std::string claim(const std::string& wanted);
  /// Keeps `name` from being given out.
  void reserve(const std::string& name) { taken_.insert(name); }

 private:
  std::set<std::string> taken_;
};

}  // namespace mica
