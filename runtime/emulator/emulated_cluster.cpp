#include "runtime/emulator/emulated_cluster.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>

#include "runtime/run/print_line.h"

namespace mica {

namespace {

constexpr std::size_t kSharedAlignment = 128;  // bytes

std::size_t round_up(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; }

std::byte* aligned_start(std::vector<std::byte>& memory, std::size_t bytes) {
  void* start = memory.data();
  std::size_t space = memory.size();
  return static_cast<std::byte*>(std::align(kSharedAlignment, bytes, start, space));
}

ClusterThreads threads_of(const EmulatedKernel& kernel, const LaunchShape& shape) {
  return {std::size_t{shape.block[0]} * shape.block[1] * shape.block[2],
          std::size_t{kernel.cluster[0]} * kernel.cluster[1] * kernel.cluster[2]};
}

LaunchClock clock_for(const EmulatedKernel& kernel, const ClusterThreads& threads) {
  const bool all_meet = threads.blocks == 1 && !kernel.has_named_barriers;
  return all_meet ? LaunchClock() : LaunchClock(threads.count());
}

}  // namespace

EmulatedCluster::EmulatedCluster(const EmulatedKernel& kernel, const LaunchShape& shape,
                                 void* const* arguments, std::uint64_t seed)
    : kernel_(kernel),
      shape_(shape),
      arguments_(arguments),
      random_(seed),
      threads_(threads_of(kernel, shape)),
      block_bytes_(round_up(kernel.shared_bytes, kSharedAlignment)),
      clock_(clock_for(kernel, threads_)),
      phases_(clock_, threads_.count()),
      shared_shadow_(clock_, phases_, block_bytes_ * threads_.blocks, kernel.shared_cell_bytes),
      shared_(block_bytes_ * threads_.blocks + kSharedAlignment),
      shared_start_(aligned_start(shared_, block_bytes_ * threads_.blocks)),
      copies_(shared_shadow_, shared_start_, threads_.count()),
      bulk_(clock_, shared_shadow_, phases_, shared_start_),
      barriers_(clock_, threads_),
      waits_(threads_, bulk_, barriers_) {
  for (const EmulatedParameter& p : kernel.parameters) {
    global_shadow_.emplace_back();
    if (p.is_pointer && p.is_written) {
      global_shadow_.back().emplace(clock_, static_cast<std::size_t>(p.element_bytes));
    }
  }
  try {
    if (kernel.waits) stacks_.emplace(threads_.count(), kernel.frame_bytes);
  } catch (const std::bad_alloc&) {
    throw DeviceError("operator new", ENOMEM,
                      "no memory for the stacks of the " + std::to_string(threads_.count()) +
                          " threads of a block of kernel " + kernel.name);
  }
  starts_.resize(threads_.count());
  for (std::size_t i = 0; i < threads_.count(); ++i) {
    everybody_.push_back(static_cast<std::int32_t>(i));
    thread_index_.push_back(index_of(i % threads_.block_threads, shape.block));
  }
}

void EmulatedCluster::run() {
  std::uint64_t count = 1;
  for (int d = 0; d < 3; ++d) {
    if (shape_.grid[d] % kernel_.cluster[d] != 0) {
      throw EmulatorError("clusters of kernel " + kernel_.name + ": a grid of " +
                          std::to_string(shape_.grid[d]) + " blocks along dimension " +
                          std::to_string(d) + " is no multiple of " +
                          std::to_string(kernel_.cluster[d]));
    }
    count *= shape_.grid[d] / kernel_.cluster[d];
  }
  std::vector<std::uint64_t> clusters(count);
  for (std::uint64_t i = 0; i < count; ++i) clusters[i] = i;
  std::shuffle(clusters.begin(), clusters.end(), random_);
  for (const std::uint64_t cluster : clusters) run_cluster(cluster);
}

void EmulatedCluster::run_cluster(std::uint64_t cluster) {
  cluster_ = cluster;
  other_memory_epoch_ = 0;
  clock_.start_cluster(cluster);
  copies_.start_cluster();
  bulk_.start_cluster();
  barriers_.start_cluster();
  std::vector<std::int32_t> list = everybody_;
  std::shuffle(list.begin(), list.end(), random_);
  for (const std::int32_t t : list) {
    begin(t);
    stop_if_faulty();
  }
  for (;;) {
    list.clear();
    waits_.collect_ready(list);
    if (list.empty()) {
      if (waits_.all_ended()) break;
      waits_.collect_met(list, clock_);
      if (list.empty()) report_stuck();
    }
    resume(list);
  }
  const std::string left = bulk_.left_over();
  if (!left.empty()) throw EmulatorError(reporter().left_over(left));
  const std::string barrier = barriers_.left_over();
  if (!barrier.empty()) throw EmulatorError(reporter().incomplete(barrier));
  if (other_memory_epoch_ >= clock_.last_meeting()) throw EmulatorError(reporter().unmet_writes());
}

void EmulatedCluster::Start::operator()() const {
  cluster->kernel_.entry(cluster, cluster->arguments_, block.x, block.y, block.z, at.x, at.y, at.z,
                         thread);
}

void EmulatedCluster::begin(std::int32_t thread) {
  const auto i = static_cast<std::size_t>(thread);
  Start& start = starts_[i];
  start = {this, block_of(kernel_, shape_, cluster_, thread), thread_index_[i], thread};
  running_ = thread;
  if (!stacks_) {
    start();
    return;
  }
  waits_.thread(thread).fiber.start(stacks_->stack(i), start);
  finish_turn();
}

void EmulatedCluster::finish_turn() {
  while (line_) {
    write(*line_);
    line_.reset();
    waits_.thread(running_).fiber.resume();
  }
  internal_check(stacks_->is_whole(static_cast<std::size_t>(running_)),
                 "an emulated thread keeps to its stack");
}

void EmulatedCluster::print(const Line& line) noexcept {
  if (!stacks_) return write(line);
  line_ = line;
  stop(running_);
}

void EmulatedCluster::write(const Line& line) const noexcept {
  const void* lines = arguments_[kernel_.print_lines];
  mica_print(line.format, line.values, *static_cast<void* const*>(lines));
}

void EmulatedCluster::resume(std::vector<std::int32_t>& list) {
  std::shuffle(list.begin(), list.end(), random_);
  for (const std::int32_t t : list) {
    running_ = t;
    waits_.thread(t).fiber.resume();
    finish_turn();
    stop_if_faulty();
  }
}

void EmulatedCluster::stop_if_faulty() {
  if (no_memory_) {
    throw DeviceError("operator new", ENOMEM,
                      "no memory for what the emulator notes about kernel " + kernel_.name);
  }
  for (const Overwrite& w : overwrites_) {
    if (std::memcmp(w.address, w.before.data(), w.before.size()) == 0) continue;
    report(reporter().conflict(access(w.access), w.thread, w.at, w.finding));
  }
  overwrites_.clear();
  if (!message_.empty()) throw EmulatorError(message_);
}

void EmulatedCluster::report_stuck() {
  const EmulatedWaits::Stuck why = waits_.why_stuck();
  const bool bulk = why.kind == EmulatedWaits::Stuck::Kind::Bulk;
  const std::string phase = bulk ? bulk_.describe(waits_.thread(why.thread).cell) : std::string();
  throw EmulatorError(reporter().stuck(waits_, why, phase));
}

bool EmulatedCluster::check_shared(const void* address, std::int32_t index, std::int32_t thread) {
  const EmulatedAccess& a = access(index);
  const std::size_t offset = shared_offset(address);
  const auto bytes = static_cast<std::size_t>(a.element_bytes) * static_cast<std::size_t>(a.count);
  return a.is_store ? shared_shadow_.write(offset, bytes, thread, conflict_)
                    : shared_shadow_.read(offset, bytes, thread, conflict_);
}

std::optional<GlobalShadow>& EmulatedCluster::shadow_of(int parameter) {
  const EmulatedParameter& p = kernel_.parameters[static_cast<std::size_t>(parameter)];
  return global_shadow_[static_cast<std::size_t>(p.written_with >= 0 ? p.written_with : parameter)];
}

bool EmulatedCluster::check_global(const void* address, std::int32_t index, std::int32_t thread) {
  const EmulatedAccess& a = access(index);
  std::optional<GlobalShadow>& shadow = shadow_of(a.parameter);
  if (!shadow) return true;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  conflict_address_ = static_cast<const std::byte*>(address);
  if (a.is_atomic) return shadow->update(at, thread, conflict_);
  return a.is_store ? shadow->write(at, a.count, thread, conflict_)
                    : shadow->read(at, a.count, thread, conflict_);
}

bool EmulatedCluster::judge(std::int32_t index, std::int32_t thread, const Coordinates& at) {
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

void EmulatedCluster::misaligned(std::int32_t index, std::int32_t thread, const Coordinates& at) {
  report(reporter().misaligned(access(index), thread, at));
}

void EmulatedCluster::out_of_range(std::int32_t index, std::int32_t thread, const Coordinates& at) {
  report(reporter().out_of_range(access(index), thread, at));
}

void EmulatedCluster::wait_at_barrier(std::int32_t thread, std::int32_t barrier) {
  EmulatedThread& t = waits_.thread(thread);
  t.wait = EmulatedThread::Wait::Barrier;
  t.site = barrier;
}

bool EmulatedCluster::come_to_named_barrier(std::int32_t thread, std::int32_t number, std::int32_t count,
                                            bool waits) {
  const std::string fault = barriers_.come(thread, number, count, waits);
  if (!fault.empty()) report(reporter().barrier_fault(thread, fault));
  if (!waits) return fault.empty();
  EmulatedThread& t = waits_.thread(thread);
  t.wait = EmulatedThread::Wait::Named;
  t.site = number;
  return fault.empty();
}

void EmulatedCluster::wait_for_cluster(std::int32_t thread) {
  EmulatedThread& t = waits_.thread(thread);
  t.wait = EmulatedThread::Wait::Cluster;
  t.site = 0;
}

void* EmulatedCluster::memory_of(void* address, std::int64_t rank, std::int32_t thread) {
  const auto blocks = static_cast<std::int64_t>(threads_.blocks);
  if (rank < 0 || rank >= blocks) {
    report(reporter().cluster_fault(thread, "uses the memory of block " + std::to_string(rank) +
                                                " of a cluster of " + std::to_string(blocks)));
    return nullptr;
  }
  const auto own = static_cast<std::int64_t>(threads_.block_of(static_cast<std::size_t>(thread)));
  if (rank == own) return address;
  if (clock_.last_meeting() == clock_.first_epoch()) {
    report(reporter().cluster_fault(thread, "uses the memory of block " + std::to_string(rank) +
                                                " before a barrier of the cluster, when that block "
                                                "may not have started"));
    return nullptr;
  }
  other_memory_epoch_ = clock_.epoch();
  return static_cast<std::byte*>(address) + (rank - own) * static_cast<std::int64_t>(block_bytes_);
}

void EmulatedCluster::wait_for_exchange(std::int32_t thread, void* value, std::size_t bytes,
                                        std::int32_t delta, std::int32_t site) {
  EmulatedThread& t = waits_.thread(thread);
  t.wait = EmulatedThread::Wait::Shuffle;
  t.site = site;
  t.value = static_cast<std::byte*>(value);
  t.bytes = bytes;
  t.delta = delta;
}

bool EmulatedCluster::begin_copy(std::int32_t thread, const CopyRequest& request) {
  const EmulatedAccess& to = access(request.to_access);
  const EmulatedAccess& from = access(request.from_access);
  const std::size_t in_cluster = shared_offset(request.to);
  const auto own = static_cast<const std::byte*>(shared_memory(thread));
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(request.to) - own);
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
  const CopyPlace place{in_cluster, static_cast<const std::byte*>(request.from),
                        static_cast<std::size_t>(bytes)};
  std::optional<GlobalShadow>& source = shadow_of(from.parameter);
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

void EmulatedCluster::copy_conflict(const CopyRequest& request, std::int32_t thread,
                                    const Coordinates& to, const Coordinates& from) {
  if (conflict_.hazard == Hazard::None) return;  // the fault is reported already
  const EmulatedAccess& a = access(conflict_at_source_ ? request.from_access : request.to_access);
  report(reporter().conflict(a, thread, conflict_at_source_ ? from : to, conflict_));
}

BarrierCell EmulatedCluster::cell(const void* address, std::int32_t index, std::int64_t slot) const {
  return {access(index).buffer, slot, shared_offset(address)};
}

bool EmulatedCluster::bulk_wait(std::int32_t thread, const BarrierCell& cell, std::int32_t parity) {
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
