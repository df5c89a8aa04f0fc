#include "dsl/schedule/kernel_hints.h"

namespace mica {

KernelHints kernel_hints(const FunctionData& func) {
  KernelHints hints;
  for (const auto& definition : func.definitions) {
    for (const auto& d : definition.directives) {
      if (const auto* bounds = std::get_if<directive::LaunchBounds>(&d.op)) {
        hints.min_blocks = bounds->min_blocks;
      }
      if (const auto* most = std::get_if<directive::MaxRegisters>(&d.op))
        hints.max_registers = most->count;
      if (const auto* source = std::get_if<directive::ReadOnly>(&d.op)) {
        hints.read_only.insert(source->source);
      }
    }
  }
  return hints;
}

}  // namespace mica
