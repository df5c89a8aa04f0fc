#include "dsl/compute_place.h"

namespace mica {

ComputePlace compute_place(const FunctionData& f, bool is_output) {
  ComputePlace place;
  const bool updated = f.definitions.size() > 1;
  if (is_output || updated) place.kind = ComputePlace::Kind::Root;
  for (const auto& d : f.definitions.at(0).directives) {
    if (std::holds_alternative<directive::ComputeInline>(d.op)) {
      place = {updated ? ComputePlace::Kind::Root : ComputePlace::Kind::Inline, {}, &d};
    } else if (std::holds_alternative<directive::ComputeRoot>(d.op)) {
      place = {ComputePlace::Kind::Root, {}, &d};
    } else if (const auto* at = std::get_if<directive::ComputeAt>(&d.op)) {
      place = {ComputePlace::Kind::At, at->level, &d};
    }
  }
  if (is_output) {
    place.kind = ComputePlace::Kind::Root;
    place.level = {};
  }
  return place;
}

}  // namespace mica
