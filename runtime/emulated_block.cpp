#include "runtime/emulated_block.h"

#include <algorithm>
#include <cstring>

namespace mica {

namespace {

constexpr std::size_t kFrameAlignment = 64;    // bytes
constexpr std::size_t kSharedAlignment = 128;  // bytes
constexpr std::size_t kChunkBytes = std::size_t{1} << 20;

std::size_t round_up(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; }

std::byte* aligned_start(std::vector<std::byte>& memory, std::size_t bytes) {
  void* start = memory.data();
  std::size_t space = memory.size();
  return static_cast<std::byte*>(std::align(kSharedAlignment, bytes, start, space));
}

}  // namespace

void* FrameArena::allocate(std::size_t bytes) {
  const std::size_t size = round_up(bytes, kFrameAlignment);
  while (chunk_ < chunks_.size() && used_ + size > chunks_[chunk_].size) ++chunk_, used_ = 0;
  if (chunk_ == chunks_.size()) add(std::max(size, kChunkBytes));
  void* result = chunks_[chunk_].start + used_;
  used_ += size;
  return result;
}

void FrameArena::add(std::size_t size) {
  Chunk chunk{std::make_unique_for_overwrite<std::byte[]>(size + kFrameAlignment), nullptr, size};
  void* start = chunk.memory.get();
  std::size_t space = size + kFrameAlignment;
  chunk.start = static_cast<std::byte*>(std::align(kFrameAlignment, size, start, space));
  chunks_.push_back(std::move(chunk));
}

EmulatedBlock::EmulatedBlock(const EmulatedKernel& kernel, const LaunchShape& shape,
                             void* const* arguments, std::uint64_t seed)
    : kernel_(kernel),
      shape_(shape),
      arguments_(arguments),
      random_(seed),
      count_(std::size_t{shape.block[0]} * shape.block[1] * shape.block[2]),
      phases_(clock_, count_),
      shared_shadow_(clock_, phases_, kernel.shared_bytes, kernel.shared_cell_bytes),
      shared_(kernel.shared_bytes + kSharedAlignment),
      shared_start_(aligned_start(shared_, kernel.shared_bytes)),
      copies_(shared_shadow_, shared_start_, count_),
      bulk_(clock_, shared_shadow_, phases_, shared_start_),
      waits_(bulk_, count_) {
  for (const EmulatedParameter& p : kernel.parameters) {
    global_shadow_.emplace_back();
    if (p.is_pointer && p.is_written) {
      global_shadow_.back().emplace(clock_, static_cast<std::size_t>(p.element_bytes));
    }
  }
  for (std::size_t i = 0; i < count_; ++i) {
    everybody_.push_back(static_cast<std::int32_t>(i));
    thread_index_.push_back(index_of(i, shape.block));
  }
}

void EmulatedBlock::run() {
  const std::uint64_t count = std::uint64_t{shape_.grid[0]} * shape_.grid[1] * shape_.grid[2];
  std::vector<std::uint64_t> blocks(count);
  for (std::uint64_t i = 0; i < count; ++i) blocks[i] = i;
  std::shuffle(blocks.begin(), blocks.end(), random_);
  for (const std::uint64_t block : blocks) run_block(block);
}

void EmulatedBlock::run_block(std::uint64_t block) {
  block_ = block;
  arena_.clear();
  clock_.start_block(block);
  copies_.start_block();
  bulk_.start_block();
  const ThreadIndex at = index_of(block, shape_.grid);
  std::vector<std::int32_t> list = everybody_;
  std::shuffle(list.begin(), list.end(), random_);
  for (const std::int32_t t : list) {
    const ThreadIndex in = thread_index_[static_cast<std::size_t>(t)];
    waits_.thread(t).handle = kernel_.entry(this, arguments_, at.x, at.y, at.z, in.x, in.y, in.z, t);
    stop_if_faulty();
  }
  for (;;) {
    list.clear();
    waits_.collect_ready(list);
    if (list.empty()) {
      if (waits_.all_ended()) break;
      if (!waits_.all_at_barrier()) report_stuck();
      clock_.next_epoch();
      list = everybody_;
    }
    resume(list);
  }
  const std::string left = bulk_.left_over();
  if (!left.empty()) throw EmulatorError(reporter().left_over(left));
}

void EmulatedBlock::resume(std::vector<std::int32_t>& list) {
  std::shuffle(list.begin(), list.end(), random_);
  for (const std::int32_t t : list) {
    waits_.thread(t).resume();
    stop_if_faulty();
  }
}

void EmulatedBlock::stop_if_faulty() {
  for (const Overwrite& w : overwrites_) {
    if (std::memcmp(w.address, w.before.data(), w.before.size()) == 0) continue;
    report(reporter().conflict(access(w.access), w.thread, w.at, w.finding));
  }
  overwrites_.clear();
  if (!message_.empty()) throw EmulatorError(message_);
}

void EmulatedBlock::report_stuck() {
  const EmulatedWaits::Stuck why = waits_.why_stuck();
  const bool bulk = why.kind == EmulatedWaits::Stuck::Kind::Bulk;
  const std::string phase = bulk ? bulk_.describe(waits_.thread(why.thread).cell) : std::string();
  throw EmulatorError(reporter().stuck(waits_, why, phase));
}

bool EmulatedBlock::check_shared(const void* address, std::int32_t index, std::int32_t thread) {
  const EmulatedAccess& a = access(index);
  const std::size_t offset = shared_offset(address);
  const auto bytes = static_cast<std::size_t>(a.element_bytes) * static_cast<std::size_t>(a.count);
  return a.is_store ? shared_shadow_.write(offset, bytes, thread, conflict_)
                    : shared_shadow_.read(offset, bytes, thread, conflict_);
}

bool EmulatedBlock::check_global(const void* address, std::int32_t index, std::int32_t thread) {
  const EmulatedAccess& a = access(index);
  std::optional<GlobalShadow>& shadow = global_shadow_[static_cast<std::size_t>(a.parameter)];
  if (!shadow) return true;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  conflict_address_ = static_cast<const std::byte*>(address);
  return a.is_store ? shadow->write(at, a.count, thread, conflict_)
                    : shadow->read(at, a.count, thread, conflict_);
}

bool EmulatedBlock::judge(std::int32_t index, std::int32_t thread, const Coordinates& at) {
  const EmulatedAccess& a = access(index);
  const bool may_agree =
      conflict_.hazard == Hazard::WriteOfWritten && a.memory == EmulatedAccess::Memory::Global;
  if (!may_agree) {
    report(reporter().conflict(a, thread, at, conflict_));
    return false;
  }
  const std::size_t bytes = static_cast<std::size_t>(a.element_bytes * a.count);
  overwrites_.push_back(
      {index, thread, at, conflict_, conflict_address_, {conflict_address_, conflict_address_ + bytes}});
  return true;
}

void EmulatedBlock::misaligned(std::int32_t index, std::int32_t thread, const Coordinates& at) {
  report(reporter().misaligned(access(index), thread, at));
}

void EmulatedBlock::out_of_range(std::int32_t index, std::int32_t thread, const Coordinates& at) {
  report(reporter().out_of_range(access(index), thread, at));
}

void EmulatedBlock::wait_at_barrier(std::int32_t thread, std::int32_t barrier) {
  EmulatedThread& t = waits_.thread(thread);
  t.wait = EmulatedThread::Wait::Barrier;
  t.site = barrier;
}

void EmulatedBlock::wait_for_exchange(std::int32_t thread, void* value, std::size_t bytes,
                                      std::int32_t delta, std::int32_t site) {
  EmulatedThread& t = waits_.thread(thread);
  t.wait = EmulatedThread::Wait::Shuffle;
  t.site = site;
  t.value = static_cast<std::byte*>(value);
  t.bytes = bytes;
  t.delta = delta;
}

bool EmulatedBlock::begin_copy(std::int32_t thread, const CopyRequest& request) {
  const EmulatedAccess& to = access(request.to_access);
  const EmulatedAccess& from = access(request.from_access);
  const std::size_t offset = shared_offset(request.to);
  const std::int64_t bytes = request.count * to.element_bytes;
  const auto at = reinterpret_cast<std::uintptr_t>(request.from);
  conflict_ = {};
  const std::size_t end = std::min(to.shared_end, kernel_.shared_bytes);
  if (bytes < 0 || offset < to.shared_begin || offset > end ||
      static_cast<std::size_t>(bytes) > end - offset) {
    note(thread,
         "copies " + std::to_string(request.count) + " elements to " + to.buffer + " and past its end");
    return false;
  }
  const CopyPlace place{offset, static_cast<const std::byte*>(request.from),
                        static_cast<std::size_t>(bytes)};
  std::optional<GlobalShadow>& source = global_shadow_[static_cast<std::size_t>(from.parameter)];
  conflict_at_source_ = source && !source->read(at, static_cast<int>(request.count), thread, conflict_);
  if (conflict_at_source_) return false;
  if (request.barrier != nullptr) {
    const CopyFault fault = bulk_.begin(thread, place, *request.barrier, conflict_);
    note(thread, fault);
    return fault.empty() && conflict_.hazard == Hazard::None;
  }
  if (place.to % place.bytes != 0 || at % place.bytes != 0) {
    note(thread, "copies " + std::to_string(bytes) + " bytes from " + from.buffer + " to " + to.buffer +
                     " at places that are no multiples of that");
    return false;
  }
  return copies_.begin(thread, place, conflict_);
}

void EmulatedBlock::copy_conflict(const CopyRequest& request, std::int32_t thread, const Coordinates& to,
                                  const Coordinates& from) {
  if (conflict_.hazard == Hazard::None) return;  // the fault is reported already
  const EmulatedAccess& a = access(conflict_at_source_ ? request.from_access : request.to_access);
  report(reporter().conflict(a, thread, conflict_at_source_ ? from : to, conflict_));
}

BarrierCell EmulatedBlock::cell(const void* address, std::int32_t index, std::int64_t slot) const {
  return {access(index).buffer, slot, shared_offset(address)};
}

bool EmulatedBlock::bulk_wait(std::int32_t thread, const BarrierCell& cell, std::int32_t parity) {
  CopyFault fault;
  const bool passed = bulk_.pass(thread, cell, parity, fault);
  note(thread, fault);
  if (passed) return true;
  EmulatedThread& t = waits_.thread(thread);
  t.wait = EmulatedThread::Wait::Bulk;
  t.cell = cell;
  t.parity = parity;
  return false;
}

}  // namespace mica
