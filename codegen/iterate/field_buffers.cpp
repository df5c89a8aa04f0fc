#include "codegen/iterate/field_buffers.h"

#include <algorithm>

#include "codegen/compile.h"

namespace mica::iterate {
namespace {

constexpr std::int64_t kLine = 128;   // bytes
constexpr std::int64_t kVector = 16;  // bytes of the widest access

bool covers(const Ranges& inner, const AnyBuffer& buffer) { return inner == ranges_of(buffer); }

/// Can vectors of 16 bytes start at the first point of `inner` in every row?
bool has_aligned_rows(const AnyBuffer& buffer, const Ranges& inner) {
  const std::int64_t size = buffer.type().bytes();
  if (buffer.dims()[0].stride != 1) return false;
  std::int64_t first = buffer.offset() + inner[0].first - buffer.min(0);
  for (int d = 1; d < buffer.dimensions(); ++d) {
    if (buffer.stride(d) * size % kVector != 0) return false;
  }
  return first * size % kVector == 0;
}

}  // namespace

AnyBuffer aligned_like(const AnyBuffer& like, const Ranges& inner) {
  const std::int64_t per_line = std::max<std::int64_t>(1, kLine / like.type().bytes());
  const auto round_up = [&](std::int64_t n) { return (n + per_line - 1) / per_line * per_line; };
  const std::int64_t before = inner[0].first - like.min(0);
  const std::int64_t lead = round_up(before) - before;
  std::vector<BufferDim> dims;
  std::int64_t stride = 1;
  for (int d = 0; d < like.dimensions(); ++d) {
    BufferDim dim{like.min(d), like.extent(d), stride};
    if (d == 0) {
      dim.min -= lead;
      dim.extent += lead;
    }
    stride *= d == 0 ? round_up(dim.extent) : dim.extent;
    dims.push_back(dim);
  }
  return AnyBuffer(like.type(), dims).cropped(ranges_of(like));
}

BoxCopier::Copy BoxCopier::copy_of(const Type& type, int dimensions) {
  const std::lock_guard lock(compiling_);
  const auto key = std::make_pair(to_string(type), dimensions);
  auto found = copies_.find(key);
  if (found == copies_.end()) {
    const ImageParam source(type, dimensions, "from");
    std::vector<Var> vars;
    std::vector<Expr> at;
    for (int d = 0; d < dimensions; ++d) {
      vars.emplace_back("d" + std::to_string(d));
      at.emplace_back(vars.back());
    }
    Func copy("copy");
    copy(at) = source(at);
    found = copies_.emplace(key, Copy{source, compile(copy, target_)}).first;
  }
  return found->second;
}

void BoxCopier::copy(const AnyBuffer& from, const AnyBuffer& to, const Ranges& box) {
  for (const auto& [min, extent] : box) {
    if (extent < 1) return;
  }
  Copy copy = copy_of(from.type(), from.dimensions());
  AnyBuffer part = to.cropped(box);
  copy.run.run(part, {.inputs = {{copy.from, from}}});
}

void BoxCopier::copy_outside(const AnyBuffer& from, const AnyBuffer& to, const Ranges& inner) {
  // From the slowest dimension on: what lies beyond `inner` there, then what is left.
  Ranges rest = ranges_of(to);
  for (std::size_t d = rest.size(); d-- > 0;) {
    const std::int64_t begin = rest[d].first, end = begin + rest[d].second;
    const std::int64_t in_begin = inner[d].first, in_end = in_begin + inner[d].second;
    Ranges side = rest;
    side[d] = {begin, in_begin - begin};
    copy(from, to, side);
    side[d] = {in_end, end - in_end};
    copy(from, to, side);
    rest[d] = inner[d];
  }
}

FieldBuffers::FieldBuffers(std::vector<AnyBuffer> fields, const std::vector<FieldRule>& rules,
                           const Target& target, std::shared_ptr<BoxCopier> copier)
    : fields_(std::move(fields)), rules_(&rules), target_(target), copier_(std::move(copier)) {
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    slots_.push_back({fields_[f], static_cast<int>(f)});
    current_.push_back(static_cast<int>(f));
    // On a GPU rows that are not aligned cost more in each step than two copies.
    const bool aligned = rule(f).output < 0 || has_aligned_rows(fields_[f], rule(f).box);
    if (!target_.is_gpu() || aligned) continue;
    slots_.push_back({aligned_like(fields_[f], rule(f).box), static_cast<int>(f)});
    current_.back() =
        -static_cast<int>(slots_.size());  // marked, until all fields have their first slot
  }
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    if (current_[f] >= 0) continue;
    current_[f] = -current_[f] - 1;
    copier_->copy(fields_[f], slots_[static_cast<std::size_t>(current_[f])].buffer,
                  ranges_of(fields_[f]));
  }
}

int FieldBuffers::outside_of(std::size_t field) const {
  const std::size_t from =
      rule(field).outside < 0 ? field : static_cast<std::size_t>(rule(field).outside);
  return slots_[static_cast<std::size_t>(current_[from])].outside_of;
}

bool FieldBuffers::same_box(const AnyBuffer& a, const AnyBuffer& b) const {
  return a.type() == b.type() && ranges_of(a) == ranges_of(b);
}

int FieldBuffers::slot_for(std::size_t field, const std::vector<int>& next, std::vector<bool>& taken) {
  const AnyBuffer& now = slots_[static_cast<std::size_t>(current_[field])].buffer;
  const auto serves = [&](int slot) {
    const auto s = static_cast<std::size_t>(slot);
    return !taken[s] && std::count(next.begin(), next.end(), slot) == 0 &&
           same_box(slots_[s].buffer, now) &&
           (!target_.is_gpu() || has_aligned_rows(slots_[s].buffer, rule(field).box) ||
            !has_aligned_rows(now, rule(field).box));
  };
  for (const int other : rule(field).may_overwrite) {
    const int slot = current_[static_cast<std::size_t>(other)];
    if (std::count(current_.begin(), current_.end(), slot) == 1 && serves(slot)) return slot;
  }
  const int outside = outside_of(field);
  int found = -1;
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    const int slot = static_cast<int>(s);
    if (std::count(current_.begin(), current_.end(), slot) > 0 || !serves(slot)) continue;
    if (slots_[s].outside_of == outside) return slot;
    if (found < 0) found = slot;
  }
  if (found >= 0) return found;
  slots_.push_back({aligned_like(now, rule(field).box), -1});
  taken.push_back(false);
  return static_cast<int>(slots_.size()) - 1;
}

void FieldBuffers::prepare(const std::vector<FieldRule>& rules) {
  rules_ = &rules;
  next_.assign(fields_.size(), -1);
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    if (rule(f).field >= 0) next_[f] = current_[static_cast<std::size_t>(rule(f).field)];
  }
  std::vector<bool> taken(slots_.size(), false);
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    if (rule(f).output < 0) continue;
    const int slot = slot_for(f, next_, taken);
    taken[static_cast<std::size_t>(slot)] = true;
    next_[f] = slot;
    Slot& to = slots_[static_cast<std::size_t>(slot)];
    const int outside = outside_of(f);
    if (to.outside_of == outside || covers(rule(f).box, to.buffer)) continue;
    const std::size_t from = rule(f).outside < 0 ? f : static_cast<std::size_t>(rule(f).outside);
    copier_->copy_outside(current(from), to.buffer, rule(f).box);
    to.outside_of = outside;
  }
}

AnyBuffer FieldBuffers::output(std::size_t field) const {
  return slots_[static_cast<std::size_t>(next_[field])].buffer.cropped(rule(field).box);
}

const AnyBuffer& FieldBuffers::current(std::size_t field) const {
  return slots_[static_cast<std::size_t>(current_[field])].buffer;
}

void FieldBuffers::advance() { current_ = next_; }

void FieldBuffers::finish() {
  // Slot f is the user's buffer of field f. A field's values move there once nobody needs what lies
  // there.
  for (bool moved = true; moved;) {
    moved = false;
    bool waits = false;
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      const int mine = static_cast<int>(f);
      if (current_[f] == mine) continue;
      if (std::count(current_.begin(), current_.end(), mine) > 0) {
        waits = true;
        continue;
      }
      copier_->copy(current(f), fields_[f], ranges_of(fields_[f]));
      current_[f] = mine;
      moved = true;
    }
    if (moved || !waits) continue;
    // Fields wait for one another in a ring: one steps aside.
    const auto first =
        static_cast<std::size_t>(std::find_if(current_.begin(), current_.end(),
                                              [&, f = 0](int slot) mutable { return slot != f++; }) -
                                 current_.begin());
    slots_.push_back({aligned_like(fields_[first], ranges_of(fields_[first])), -1});
    copier_->copy(current(first), slots_.back().buffer, ranges_of(fields_[first]));
    current_[first] = static_cast<int>(slots_.size()) - 1;
    moved = true;
  }
}

}  // namespace mica::iterate
