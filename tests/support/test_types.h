// Type lists and case names for parametrised tests.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dsl/expr/type.h"

namespace mica::test {

inline std::vector<Type> integer_types() {
  return {UInt(8), Int(8), UInt(16), Int(16), UInt(32), Int(32), UInt(64), Int(64)};
}
inline std::vector<Type> float_types() { return {Float(16), BFloat(), Float(32), Float(64)}; }
inline std::vector<Type> number_types() {
  std::vector<Type> types = integer_types();
  for (const Type t : float_types()) types.push_back(t);
  return types;
}

/// Names a case after its parameter's member `name`.
template <typename P>
std::string case_name(const ::testing::TestParamInfo<P>& info) {
  return info.param.name;
}
/// Names a case after its Type.
inline std::string type_name(const ::testing::TestParamInfo<Type>& info) {
  return to_string(info.param);
}

}  // namespace mica::test
