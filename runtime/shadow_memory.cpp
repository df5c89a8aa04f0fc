#include "runtime/shadow_memory.h"

namespace mica {
namespace {

bool happened(const ThreadMoment& m) { return m.epoch != 0; }

/// Neither thread is known to come before the other.
bool unordered(const ThreadMoment& a, const ThreadMoment& b) {
  if (a.block != b.block) return true;
  return a.thread != b.thread && a.epoch == b.epoch;
}

}  // namespace

SharedShadow::SharedShadow(std::size_t bytes, std::size_t cell_bytes)
    : cells_((bytes + cell_bytes - 1) / cell_bytes), cell_bytes_(cell_bytes) {}

void SharedShadow::start_block(std::uint64_t block) {
  block_ = block;
  first_epoch_ = ++epoch_;
}

Finding SharedShadow::read(std::size_t offset, std::size_t bytes, std::int32_t thread) {
  const auto who = static_cast<std::int16_t>(thread);
  Finding finding;
  const std::size_t end = (offset + bytes + cell_bytes_ - 1) / cell_bytes_;
  for (std::size_t i = offset / cell_bytes_; i < end; ++i) {
    Cell& cell = cells_[i];
    const std::size_t byte = i * cell_bytes_ - offset;
    if (cell.write_epoch < first_epoch_) {
      if (!finding.found()) finding = {Hazard::UninitializedRead, {}, byte};
    } else if (cell.write_epoch == epoch_ && cell.writer != who && !finding.found()) {
      finding = race(Hazard::ReadOfWritten, cell.writer, byte);
    }
    if (cell.read_epoch != epoch_) {
      cell.read_epoch = epoch_;
      cell.reader = who;
      cell.other_reader = -1;
    } else if (cell.reader != who) {
      cell.other_reader = who;
    }
  }
  return finding;
}

Finding SharedShadow::write(std::size_t offset, std::size_t bytes, std::int32_t thread) {
  const auto who = static_cast<std::int16_t>(thread);
  Finding finding;
  const std::size_t end = (offset + bytes + cell_bytes_ - 1) / cell_bytes_;
  for (std::size_t i = offset / cell_bytes_; i < end; ++i) {
    Cell& cell = cells_[i];
    const std::size_t byte = i * cell_bytes_ - offset;
    if (!finding.found()) {
      if (cell.write_epoch == epoch_ && cell.writer != who) {
        finding = race(Hazard::WriteOfWritten, cell.writer, byte);
      } else if (cell.read_epoch == epoch_) {
        if (cell.reader != who) {
          finding = race(Hazard::WriteOfRead, cell.reader, byte);
        } else if (cell.other_reader != -1) {
          finding = race(Hazard::WriteOfRead, cell.other_reader, byte);
        }
      }
    }
    cell.write_epoch = epoch_;
    cell.writer = who;
  }
  return finding;
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

Finding GlobalShadow::read(std::uintptr_t address, int count, const ThreadMoment& who) {
  Finding finding;
  for (int i = 0; i < count; ++i) {
    Cell& at = cell(address / element_bytes_ + static_cast<std::uintptr_t>(i));
    if (happened(at.writer) && unordered(at.writer, who) && !finding.found()) {
      finding = {Hazard::ReadOfWritten, at.writer, static_cast<std::size_t>(i) * element_bytes_};
    }
    // Two readers are enough if they are of different blocks or, in one block, of different threads
    // in its latest epoch with a read.
    const bool newer = at.reader.block == who.block && at.reader.epoch < who.epoch &&
                       (!happened(at.other_reader) || at.other_reader.block == who.block);
    if (!happened(at.reader) || newer) {
      at.reader = who;
      at.other_reader = {};
    } else if (unordered(at.reader, who)) {
      at.other_reader = who;
    }
  }
  return finding;
}

Finding GlobalShadow::write(std::uintptr_t address, int count, const ThreadMoment& who) {
  Finding finding;
  for (int i = 0; i < count; ++i) {
    Cell& at = cell(address / element_bytes_ + static_cast<std::uintptr_t>(i));
    if (!finding.found()) {
      if (happened(at.writer) && unordered(at.writer, who)) {
        finding = {Hazard::WriteOfWritten, at.writer, static_cast<std::size_t>(i) * element_bytes_};
      } else if (happened(at.reader) && unordered(at.reader, who)) {
        finding = {Hazard::WriteOfRead, at.reader, static_cast<std::size_t>(i) * element_bytes_};
      } else if (happened(at.other_reader) && unordered(at.other_reader, who)) {
        finding = {Hazard::WriteOfRead, at.other_reader, static_cast<std::size_t>(i) * element_bytes_};
      }
    }
    at.writer = who;
  }
  return finding;
}

}  // namespace mica
