// Users' names as identifiers of C.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace mica::exported {

/// Identifiers for `names`, in their order and all different: what C does not allow becomes '_'; after a
/// word that C or C++ keeps for itself, and one that is taken, comes '_' or a number.
std::vector<std::string> c_identifiers(const std::vector<std::string>& names);

/// UserError, which says what to do, if a program in C cannot have a function of this name.
void check_function_name(const std::string& name);

}  // namespace mica::exported
