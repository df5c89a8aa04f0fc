#include "codegen/passes/funcs/split_colors.h"

#include <memory>
#include <utility>

namespace mica::passes {

void split_colors(Program& program) {
  for (auto& func : program.pipeline.funcs) {
    auto copy = std::make_shared<FunctionData>(*func);
    copy->definitions.clear();
    for (const Definition& definition : func->definitions) {
      const int count = definition.coloring ? definition.coloring->count : 1;
      for (int color = 0; color < count; ++color) {
        copy->definitions.push_back(definition);
        if (definition.coloring) copy->definitions.back().coloring->only = color;
      }
    }
    if (copy->definitions.size() != func->definitions.size()) func = std::move(copy);
  }
}

}  // namespace mica::passes
