#include "dsl/schedule/compute_place.h"

namespace mica {

const LoopLevel* ComputePlace::store_level() const {
  const auto* at = store ? std::get_if<directive::StoreAt>(&store->op) : nullptr;
  return at ? &at->level : nullptr;
}

bool ComputePlace::stores_at_root() const {
  return kind == Kind::At && store && std::holds_alternative<directive::StoreRoot>(store->op);
}

ComputePlace compute_place(const FunctionData& f, bool is_output) {
  ComputePlace place;
  const bool updated = f.definitions.size() > 1 || f.definitions.at(0).recurrence;
  if (is_output || updated) place.kind = ComputePlace::Kind::Root;
  const Directive* store = nullptr;
  for (const auto& d : f.definitions.at(0).directives) {
    if (std::holds_alternative<directive::ComputeInline>(d.op)) {
      place = {updated ? ComputePlace::Kind::Root : ComputePlace::Kind::Inline, {}, &d, nullptr};
    } else if (std::holds_alternative<directive::ComputeRoot>(d.op)) {
      place = {ComputePlace::Kind::Root, {}, &d, nullptr};
    } else if (const auto* at = std::get_if<directive::ComputeAt>(&d.op)) {
      place = {ComputePlace::Kind::At, at->level, &d, nullptr};
    } else if (std::holds_alternative<directive::StoreAt>(d.op) ||
               std::holds_alternative<directive::StoreRoot>(d.op)) {
      store = &d;
    }
  }
  place.store = store;
  if (is_output) {
    place.kind = ComputePlace::Kind::Root;
    place.level = {};
  }
  return place;
}

}  // namespace mica
