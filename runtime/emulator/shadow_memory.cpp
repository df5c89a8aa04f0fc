#include "runtime/emulator/shadow_memory.h"

#include <bit>

namespace mica {

void SharedReaders::add(std::size_t cell, std::int16_t thread, const LaunchClock& clock) {
  std::vector<Read>& reads = reads_[cell];
  std::erase_if(reads, [&](const Read& r) { return clock.is_before(r.epoch, r.thread, thread); });
  reads.push_back({clock.epoch(), thread});
}

std::int16_t SharedReaders::unordered(std::size_t cell, std::int16_t thread,
                                      const LaunchClock& clock) const {
  const auto found = reads_.find(cell);
  if (found == reads_.end()) return -1;
  for (const Read& r : found->second) {
    if (!clock.is_before(r.epoch, r.thread, thread)) return r.thread;
  }
  return -1;
}

SharedShadow::SharedShadow(const LaunchClock& clock, const BulkPhases& phases, std::size_t bytes,
                           std::size_t cell_bytes)
    : clock_(clock),
      phases_(phases),
      cells_((bytes + cell_bytes - 1) / cell_bytes),
      cell_shift_(std::countr_zero(cell_bytes)) {}

SharedShadow::Cells SharedShadow::cells_of(std::size_t offset, std::size_t bytes) const {
  return {offset >> cell_shift_, ((offset + bytes - 1) >> cell_shift_) + 1};
}

Hazard SharedShadow::hazard_of_read(const Cell& cell, std::int16_t who) const {
  if (cell.copying) return Hazard::ReadOfCopy;
  if (cell.write_epoch < clock_.first_epoch()) return Hazard::UninitializedRead;
  if (cell.phase != 0) return phases_.known(cell.phase, who) ? Hazard::None : Hazard::ReadOfBulk;
  const bool ordered = clock_.is_before(cell.write_epoch, cell.writer, who);
  return ordered ? Hazard::None : Hazard::ReadOfWritten;
}

std::int16_t SharedShadow::unordered_reader(std::size_t at, std::int16_t who) const {
  if (clock_.has_partial_barriers()) return readers_.unordered(at, who, clock_);
  const Cell& cell = cells_[at];
  if (cell.read_epoch != clock_.epoch()) return -1;
  return cell.reader != who ? cell.reader : cell.other_reader;
}

Hazard SharedShadow::hazard_of_write(std::size_t at, std::int16_t who, std::int16_t& other) const {
  const Cell& cell = cells_[at];
  other = cell.writer;
  if (cell.copying) return Hazard::WriteOfCopy;
  const bool by_bulk_copy = cell.phase != 0 && cell.write_epoch >= clock_.first_epoch();
  if (by_bulk_copy && !phases_.known(cell.phase, who)) return Hazard::WriteOfBulk;
  const bool written = cell.write_epoch >= clock_.first_epoch();
  if (!by_bulk_copy && written && !clock_.is_before(cell.write_epoch, cell.writer, who)) {
    return Hazard::WriteOfWritten;
  }
  other = unordered_reader(at, who);
  return other == -1 ? Hazard::None : Hazard::WriteOfRead;
}

void SharedShadow::note_read(std::size_t at, std::int16_t who) {
  if (clock_.has_partial_barriers()) {
    readers_.add(at, who, clock_);
    return;
  }
  Cell& cell = cells_[at];
  if (cell.read_epoch != clock_.epoch()) {
    cell.read_epoch = clock_.epoch();
    cell.reader = who;
    cell.other_reader = -1;
  } else if (cell.reader != who) {
    cell.other_reader = who;
  }
}

bool SharedShadow::read(std::size_t offset, std::size_t bytes, std::int32_t thread, Finding& finding) {
  const auto who = static_cast<std::int16_t>(thread);
  const std::uint32_t now = clock_.epoch();
  const auto [begin, end] = cells_of(offset, bytes);
  bool good = true;
  for (std::size_t i = begin; i < end; ++i) {
    const Cell& cell = cells_[i];
    const Hazard hazard = hazard_of_read(cell, who);
    if (good && hazard != Hazard::None) {
      good = false;
      finding = {hazard, clock_.cluster_at(now), cell.writer, (i - begin) << cell_shift_};
    }
    note_read(i, who);
  }
  return good;
}

bool SharedShadow::write(std::size_t offset, std::size_t bytes, std::int32_t thread, Finding& finding) {
  const auto who = static_cast<std::int16_t>(thread);
  const std::uint32_t now = clock_.epoch();
  const auto [begin, end] = cells_of(offset, bytes);
  bool good = true;
  for (std::size_t i = begin; i < end; ++i) {
    Cell& cell = cells_[i];
    std::int16_t other = -1;
    const Hazard hazard = hazard_of_write(i, who, other);
    if (good && hazard != Hazard::None) {
      good = false;
      finding = {hazard, clock_.cluster_at(now), other, (i - begin) << cell_shift_};
    }
    cell.write_epoch = now;
    cell.writer = who;
    cell.phase = 0;
  }
  return good;
}

bool SharedShadow::begin_copy(std::size_t offset, std::size_t bytes, std::int32_t thread,
                              Finding& finding) {
  const auto who = static_cast<std::int16_t>(thread);
  const auto [begin, end] = cells_of(offset, bytes);
  for (std::size_t i = begin; i < end; ++i) {
    std::int16_t other = -1;
    const Hazard hazard = hazard_of_write(i, who, other);
    if (hazard == Hazard::None) continue;
    finding = {hazard, clock_.cluster_at(clock_.epoch()), other, (i - begin) << cell_shift_};
    return false;
  }
  for (std::size_t i = begin; i < end; ++i) {
    cells_[i].copying = true;
    cells_[i].writer = who;
  }
  return true;
}

// A fence stands directly before a barrier: no write of its epoch comes after it.
void SharedShadow::fence(std::int32_t thread) {
  const auto at = static_cast<std::size_t>(thread);
  if (at >= fence_epochs_.size()) fence_epochs_.resize(at + 1, 0);
  fence_epochs_[at] = clock_.epoch();
}

bool SharedShadow::is_fenced(std::size_t offset, std::size_t bytes, Finding& finding) const {
  const auto [begin, end] = cells_of(offset, bytes);
  for (std::size_t i = begin; i < end; ++i) {
    const Cell& cell = cells_[i];
    const bool own = cell.phase == 0 && cell.write_epoch >= clock_.first_epoch();
    if (!own) continue;
    const auto writer = static_cast<std::size_t>(cell.writer);
    if (writer < fence_epochs_.size() && fence_epochs_[writer] >= cell.write_epoch) continue;
    finding = {Hazard::BulkOfUnfenced, clock_.cluster_at(clock_.epoch()), cell.writer,
               (i - begin) << cell_shift_};
    return false;
  }
  return true;
}

void SharedShadow::land_copy(std::size_t offset, std::size_t bytes, std::int32_t thread) {
  const auto [begin, end] = cells_of(offset, bytes);
  for (std::size_t i = begin; i < end; ++i) {
    cells_[i].copying = false;
    cells_[i].write_epoch = clock_.epoch();
    cells_[i].writer = static_cast<std::int16_t>(thread);
    cells_[i].phase = 0;
  }
}

void SharedShadow::land_bulk_copy(std::size_t offset, std::size_t bytes, std::uint32_t phase) {
  const auto [begin, end] = cells_of(offset, bytes);
  for (std::size_t i = begin; i < end; ++i) {
    cells_[i].copying = false;
    cells_[i].write_epoch = clock_.epoch();
    cells_[i].phase = phase;
  }
}

GlobalShadow::Cell& GlobalShadow::cell(std::uintptr_t element) {
  const std::uintptr_t number = element / kPageCells;
  Recent& recent = recent_[number % kRecentPages];
  if (recent.number != number) {
    std::unique_ptr<Page>& page = pages_[number];
    if (!page) page = std::make_unique<Page>();
    recent = {number, page.get()};
  }
  return (*recent.page)[element % kPageCells];
}

bool GlobalShadow::unordered(std::uint32_t epoch, std::int16_t thread, std::int16_t who) const {
  if (epoch == 0) return false;
  return epoch < clock_.first_epoch() || !clock_.is_before(epoch, thread, who);
}

void GlobalShadow::note(Accesses& accesses, std::int16_t who) const {
  // One that this one comes after makes room; one of an earlier cluster is kept for good.
  if (!unordered(accesses.other_epoch, accesses.other, who)) accesses.other_epoch = 0;
  if (!unordered(accesses.epoch, accesses.thread, who)) {
    accesses.epoch = clock_.epoch();
    accesses.thread = who;
  } else {
    accesses.other_epoch = clock_.epoch();
    accesses.other = who;
  }
}

bool GlobalShadow::all_ordered(const Accesses& accesses, std::int16_t who, Hazard hazard,
                               std::size_t byte, Finding& finding) const {
  const bool first = unordered(accesses.epoch, accesses.thread, who);
  if (!first && !unordered(accesses.other_epoch, accesses.other, who)) return true;
  const std::uint32_t epoch = first ? accesses.epoch : accesses.other_epoch;
  finding = {hazard, clock_.cluster_at(epoch), first ? accesses.thread : accesses.other, byte};
  return false;
}

bool GlobalShadow::read(std::uintptr_t address, int count, std::int32_t thread, Finding& finding) {
  const auto who = static_cast<std::int16_t>(thread);
  bool good = true;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    Cell& at = cell(address / element_bytes_ + i);
    const std::size_t byte = i * element_bytes_;
    if (good && unordered(at.write_epoch, at.writer, who)) {
      good = false;
      finding = {Hazard::ReadOfWritten, clock_.cluster_at(at.write_epoch), at.writer, byte};
    }
    good = good && all_ordered(at.updates, who, Hazard::ReadOfWritten, byte, finding);
    note(at.reads, who);
  }
  return good;
}

bool GlobalShadow::write(std::uintptr_t address, int count, std::int32_t thread, Finding& finding) {
  const auto who = static_cast<std::int16_t>(thread);
  bool good = true;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    Cell& at = cell(address / element_bytes_ + i);
    const std::size_t byte = i * element_bytes_;
    if (good && unordered(at.write_epoch, at.writer, who)) {
      good = false;
      finding = {Hazard::WriteOfWritten, clock_.cluster_at(at.write_epoch), at.writer, byte};
    }
    good = good && all_ordered(at.reads, who, Hazard::WriteOfRead, byte, finding);
    good = good && all_ordered(at.updates, who, Hazard::WriteOfUpdated, byte, finding);
    at.write_epoch = clock_.epoch();
    at.writer = who;
  }
  return good;
}

bool GlobalShadow::update(std::uintptr_t address, std::int32_t thread, Finding& finding) {
  const auto who = static_cast<std::int16_t>(thread);
  Cell& at = cell(address / element_bytes_);
  bool good = true;
  if (unordered(at.write_epoch, at.writer, who)) {
    good = false;
    finding = {Hazard::UpdateOfWritten, clock_.cluster_at(at.write_epoch), at.writer, 0};
  }
  good = good && all_ordered(at.reads, who, Hazard::WriteOfRead, 0, finding);
  note(at.updates, who);
  return good;
}

}  // namespace mica
