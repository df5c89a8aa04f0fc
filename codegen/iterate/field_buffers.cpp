#include "codegen/iterate/field_buffers.h"

#include <algorithm>

#include "codegen/compile.h"

namespace mica::iterate {
namespace {

constexpr std::int64_t kLine = FunctionData::Held::kVectorBytes;
constexpr std::int64_t kVector = 16;  // bytes of the widest access

}  // namespace

bool has_aligned_rows(const AnyBuffer& buffer, const Ranges& inner) {
  const std::int64_t size = buffer.type().bytes();
  if (buffer.dims()[0].stride != 1) return false;
  std::int64_t first = buffer.offset() + inner[0].first - buffer.min(0);
  for (int d = 1; d < buffer.dimensions(); ++d) {
    if (buffer.stride(d) * size % kVector != 0) return false;
  }
  return first * size % kVector == 0;
}

AnyBuffer aligned_like(const AnyBuffer& like, const Ranges& inner) {
  const std::int64_t per_line = std::max<std::int64_t>(1, kLine / like.type().bytes());
  const auto round_up = [&](std::int64_t n) { return (n + per_line - 1) / per_line * per_line; };
  const Ranges points = box_around(ranges_of(like), inner);
  const std::int64_t before = inner[0].first - points[0].first;
  const std::int64_t lead = round_up(before) - before;
  std::vector<BufferDim> dims;
  std::int64_t stride = 1;
  for (const auto& [min, extent] : points) {
    BufferDim dim{min, extent, stride};
    if (dims.empty()) {
      dim.min -= lead;
      dim.extent = round_up(dim.extent + lead);
    }
    stride *= dim.extent;
    dims.push_back(dim);
  }
  return AnyBuffer(like.type(), dims).cropped(points);
}

Ranges in_lines(Type type, Ranges box, std::int64_t first) {
  const std::int64_t per_line = kLine / type.bytes();
  const auto up_to_line = [&](std::int64_t n) { return ((n % per_line) + per_line) % per_line; };
  auto& [begin, extent] = box[0];
  extent += up_to_line(first - begin - extent);
  const std::int64_t before = up_to_line(begin - first);
  begin -= before;
  extent += before;
  return box;
}

AnyBuffer in_lines(const AnyBuffer& buffer, std::int64_t first) {
  const auto [begin, extent] = in_lines(buffer.type(), ranges_of(buffer), first)[0];
  const std::int64_t before = buffer.min(0) - begin;
  return buffer.widened(before, extent - buffer.extent(0) - before);
}

BoxCopier::Copy BoxCopier::copy_for(const AnyBuffer& buffer) {
  const std::lock_guard lock(compiling_);
  const auto key = std::make_pair(to_string(buffer.type()), buffer.dimensions());
  const auto found = copies_.find(key);
  if (found != copies_.end()) return found->second;
  const ImageParam source(buffer.type(), buffer.dimensions(), "from");
  std::vector<Var> vars;
  for (int d = 0; d < buffer.dimensions(); ++d) vars.emplace_back("d" + std::to_string(d));
  const std::vector<Expr> at(vars.begin(), vars.end());
  Func copy("copy");
  copy(at) = source(at);
  return copies_.emplace(key, Copy{source, compile(copy, target_)}).first->second;
}

PreparedRun BoxCopier::prepare(const AnyBuffer& from, const AnyBuffer& to, const Ranges& box) {
  Copy copy = copy_for(from);
  AnyBuffer part = to.cropped(box);
  return copy.run.prepare(part, {.inputs = {{copy.from, from}}});
}

void BoxCopier::copy(const AnyBuffer& from, const AnyBuffer& to, const Ranges& box) {
  for (const auto& [min, extent] : box) {
    if (extent < 1) return;
  }
  prepare(from, to, box).run();
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
    rest[d] = {std::max(begin, in_begin), std::min(end, in_end) - std::max(begin, in_begin)};
  }
}

FieldBuffers::FieldBuffers(std::vector<AnyBuffer> fields, const std::vector<FieldRule>& rules,
                           BoxCopier& copier)
    : fields_(std::move(fields)), copier_(copier), gpu_(copier.target().is_gpu()) {
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    slots_.push_back({fields_[f], fields_[f], static_cast<int>(f)});
    current_.push_back(static_cast<int>(f));
    aligned_.push_back(rules[f].box.empty() ? ranges_of(fields_[f]) : rules[f].box);
  }
  if (!gpu_) return;
  // On a GPU rows that are not aligned cost more in each step than two copies.
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    if (rules[f].output < 0 || rules[f].stays || has_aligned_rows(fields_[f], aligned_[f])) continue;
    current_[f] = add_slot(f, static_cast<int>(f));
    copier_.copy(fields_[f], slots_.back().buffer, ranges_of(fields_[f]));
  }
}

int FieldBuffers::add_slot(std::size_t field, int outside_of) {
  const AnyBuffer memory = aligned_like(fields_[field], aligned_[field]);
  slots_.push_back({memory.cropped(ranges_of(fields_[field])), memory, outside_of});
  return static_cast<int>(slots_.size()) - 1;
}

std::size_t FieldBuffers::outside_of(std::size_t field) const {
  return rule(field).outside < 0 ? field : static_cast<std::size_t>(rule(field).outside);
}

int FieldBuffers::slot_for(std::size_t field) {
  const AnyBuffer& now = current(field);
  const bool aligned = has_aligned_rows(now, aligned_[field]);
  const auto has_room = [&](int place) {
    return is_inside(rule(field).box, ranges_of(slots_[static_cast<std::size_t>(place)].memory));
  };
  const auto serves = [&](int place) {
    const AnyBuffer& buffer = in(place);
    return std::count(next_.begin(), next_.end(), place) == 0 && buffer.type() == now.type() &&
           ranges_of(buffer) == ranges_of(now) && has_room(place) &&
           (!gpu_ || !aligned || has_aligned_rows(buffer, aligned_[field]));
  };
  const int outside = slots_[static_cast<std::size_t>(current_[outside_of(field)])].outside_of;
  const bool is_whole = is_inside(ranges_of(now), rule(field).box) && !rule(field).with_still;
  // What lies outside of the box there may be the only copy of it, or would be copied in each step.
  const auto is_needed_outside = [&](int place) {
    const int there = slots_[static_cast<std::size_t>(place)].outside_of;
    if (there == outside) return false;
    if (is_whole) return there >= 0;
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      if (f != field && rule(f).output >= 0 && current_[outside_of(f)] == place) return true;
    }
    return false;
  };
  for (const int other : rule(field).may_overwrite) {
    const int place = current_[static_cast<std::size_t>(other)];
    const bool alone = std::count(current_.begin(), current_.end(), place) == 1;
    if (alone && serves(place) && !is_needed_outside(place)) return place;
  }
  int found = -1;
  for (int place = 0; place < static_cast<int>(slots_.size()); ++place) {
    if (std::count(current_.begin(), current_.end(), place) > 0 || !serves(place)) continue;
    if (slots_[static_cast<std::size_t>(place)].outside_of == outside) return place;
    if (found < 0) found = place;
  }
  if (found >= 0) return found;
  return add_slot(field, -1);
}

bool FieldBuffers::prepare(const std::vector<FieldRule>& rules) {
  rules_ = &rules;
  bool filled = false;
  next_.assign(fields_.size(), -1);
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    if (rule(f).field >= 0) next_[f] = current_[static_cast<std::size_t>(rule(f).field)];
  }
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    if (rule(f).output < 0) continue;
    next_[f] = rule(f).stays ? current_[f] : slot_for(f);
    Slot& to = slots_[static_cast<std::size_t>(next_[f])];
    const std::size_t from = outside_of(f);
    const int outside = slots_[static_cast<std::size_t>(current_[from])].outside_of;
    if (is_inside(ranges_of(to.buffer), rule(f).box)) {
      to.outside_of = rule(f).with_still ? outside : -1;
      continue;
    }
    if (outside >= 0 && to.outside_of == outside) continue;
    copier_.copy_outside(current(from), to.buffer, rule(f).box);
    to.outside_of = outside;
    filled = true;
  }
  return filled;
}

AnyBuffer FieldBuffers::output(std::size_t field) const {
  return slots_[static_cast<std::size_t>(next_[field])].memory.cropped(rule(field).box);
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
      copier_.copy(current(f), fields_[f], ranges_of(fields_[f]));
      current_[f] = mine;
      moved = true;
    }
    if (moved || !waits) continue;
    // Fields wait for one another in a ring: one steps aside.
    const auto first =
        static_cast<std::size_t>(std::find_if(current_.begin(), current_.end(),
                                              [&, f = 0](int slot) mutable { return slot != f++; }) -
                                 current_.begin());
    const int aside = add_slot(first, -1);
    copier_.copy(current(first), in(aside), ranges_of(fields_[first]));
    current_[first] = aside;
    moved = true;
  }
}

}  // namespace mica::iterate
