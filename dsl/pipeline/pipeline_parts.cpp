// Pipeline: what is found by name.
#include <algorithm>

#include "dsl/pipeline/pipeline.h"

namespace mica {

const FunctionData* Pipeline::find(const std::string& name) const {
  for (const auto& f : funcs) {
    if (f->name == name) return f.get();
  }
  return nullptr;
}

const Pipeline::Input* Pipeline::find_input(const std::string& name) const {
  for (const auto& input : inputs) {
    if (input.name == name) return &input;
  }
  return nullptr;
}

bool Pipeline::is_output(const std::string& name) const {
  return std::find(outputs.begin(), outputs.end(), name) != outputs.end();
}

}  // namespace mica
