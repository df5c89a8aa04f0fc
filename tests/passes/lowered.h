// Code after a pass, for tests that read it.
#pragma once

#include <string>

#include "codegen/lower.h"
#include "codegen/print_loops.h"
#include "dsl/func/func.h"
#include "dsl/pipeline/pipeline.h"

namespace mica::test {

inline LowerOptions options_for(Backend backend, Variant variant = {}) {
  return {Target{backend, 0}, variant, {}, DeviceLimits{}};
}

/// The program behind `f` after `pass`, or after all of them.
inline mica::Program lowered(const Func& f, Backend backend, const std::string& pass = {},
                             Variant variant = {}) {
  return lower(make_pipeline({f.function()}), options_for(backend, variant), pass);
}

inline std::string code(const Func& f, Backend backend, const std::string& pass = {},
                        Variant variant = {}) {
  return to_string(lowered(f, backend, pass, variant));
}

inline std::string loops(const Func& f, Backend backend) {
  return print_loops(lowered(f, backend, "simplify_loops"));
}

/// How often `part` stands in `text`.
inline int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

/// The loops or code of blocks inside the domain, which stand before those of blocks at its edge.
inline std::string inside(const std::string& text) { return text.substr(0, text.find("else")); }

}  // namespace mica::test
