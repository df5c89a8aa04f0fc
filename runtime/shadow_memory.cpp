#include "runtime/shadow_memory.h"

#include <algorithm>
#include <bit>

namespace mica {

void LaunchClock::start_block(std::uint64_t block) {
  first_epoch_ = ++epoch_;
  starts_.push_back({epoch_, block});
}

std::uint64_t LaunchClock::block_at(std::uint32_t epoch) const {
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), epoch,
                                      [](std::uint32_t e, const Start& s) { return e < s.epoch; });
  return after == starts_.begin() ? 0 : std::prev(after)->block;
}

SharedShadow::SharedShadow(const LaunchClock& clock, std::size_t bytes, std::size_t cell_bytes)
    : clock_(clock),
      cells_((bytes + cell_bytes - 1) / cell_bytes),
      cell_shift_(std::countr_zero(cell_bytes)) {}

bool SharedShadow::read(std::size_t offset, std::size_t bytes, std::int32_t thread, Finding& finding) {
  const auto who = static_cast<std::int16_t>(thread);
  const std::uint32_t now = clock_.epoch(), first = clock_.first_epoch();
  const std::size_t begin = offset >> cell_shift_;
  const std::size_t end = (offset + bytes - 1) >> cell_shift_;
  bool good = true;
  for (std::size_t i = begin; i <= end; ++i) {
    Cell& cell = cells_[i];
    const bool blank = cell.write_epoch < first;
    if (good && (blank || (cell.write_epoch == now && cell.writer != who))) {
      good = false;
      finding = {blank ? Hazard::UninitializedRead : Hazard::ReadOfWritten, clock_.block_at(now),
                 cell.writer, (i - begin) << cell_shift_};
    }
    if (cell.read_epoch != now) {
      cell.read_epoch = now;
      cell.reader = who;
      cell.other_reader = -1;
    } else if (cell.reader != who) {
      cell.other_reader = who;
    }
  }
  return good;
}

bool SharedShadow::write(std::size_t offset, std::size_t bytes, std::int32_t thread, Finding& finding) {
  const auto who = static_cast<std::int16_t>(thread);
  const std::uint32_t now = clock_.epoch();
  const std::size_t begin = offset >> cell_shift_;
  const std::size_t end = (offset + bytes - 1) >> cell_shift_;
  bool good = true;
  for (std::size_t i = begin; i <= end; ++i) {
    Cell& cell = cells_[i];
    const auto refuse = [&](Hazard hazard, std::int16_t other) {
      if (good) finding = {hazard, clock_.block_at(now), other, (i - begin) << cell_shift_};
      good = false;
    };
    if (cell.write_epoch == now && cell.writer != who) {
      refuse(Hazard::WriteOfWritten, cell.writer);
    } else if (cell.read_epoch == now && cell.reader != who) {
      refuse(Hazard::WriteOfRead, cell.reader);
    } else if (cell.read_epoch == now && cell.other_reader != -1) {
      refuse(Hazard::WriteOfRead, cell.other_reader);
    }
    cell.write_epoch = now;
    cell.writer = who;
  }
  return good;
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
  const bool other_block = epoch < clock_.first_epoch();
  return other_block || (epoch == clock_.epoch() && thread != who);
}

bool GlobalShadow::read(std::uintptr_t address, int count, std::int32_t thread, Finding& finding) {
  const auto who = static_cast<std::int16_t>(thread);
  bool good = true;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    Cell& at = cell(address / element_bytes_ + i);
    if (good && unordered(at.write_epoch, at.writer, who)) {
      good = false;
      finding = {Hazard::ReadOfWritten, clock_.block_at(at.write_epoch), at.writer, i * element_bytes_};
    }
    // A reader of an earlier block, if there is one, is kept for good; else that of an earlier epoch,
    // which later accesses of this block are ordered with, makes room.
    const bool passed = at.read_epoch >= clock_.first_epoch() && at.read_epoch != clock_.epoch();
    if (at.read_epoch == 0 || passed) {
      at.read_epoch = clock_.epoch();
      at.reader = who;
      at.other_read_epoch = 0;
    } else if (unordered(at.read_epoch, at.reader, who)) {
      at.other_read_epoch = clock_.epoch();
      at.other_reader = who;
    }
  }
  return good;
}

bool GlobalShadow::write(std::uintptr_t address, int count, std::int32_t thread, Finding& finding) {
  const auto who = static_cast<std::int16_t>(thread);
  bool good = true;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    Cell& at = cell(address / element_bytes_ + i);
    const auto refuse = [&](Hazard hazard, std::uint32_t epoch, std::int16_t other) {
      if (good) finding = {hazard, clock_.block_at(epoch), other, i * element_bytes_};
      good = false;
    };
    if (unordered(at.write_epoch, at.writer, who)) {
      refuse(Hazard::WriteOfWritten, at.write_epoch, at.writer);
    } else if (unordered(at.read_epoch, at.reader, who)) {
      refuse(Hazard::WriteOfRead, at.read_epoch, at.reader);
    } else if (unordered(at.other_read_epoch, at.other_reader, who)) {
      refuse(Hazard::WriteOfRead, at.other_read_epoch, at.other_reader);
    }
    at.write_epoch = clock_.epoch();
    at.writer = who;
  }
  return good;
}

}  // namespace mica
