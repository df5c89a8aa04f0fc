#include "runtime/emulator/emulated_bulk.h"

#include <cstring>

namespace mica {

namespace {

constexpr std::size_t kBarrierBytes = 8;
constexpr std::size_t kBulkUnit = 16;  // bytes: divides both places and the size of a bulk copy

}  // namespace

void EmulatedBulk::start_cluster() {
  phases_.start_cluster();
  barriers_.clear();
}

CopyFault EmulatedBulk::set_up(std::int32_t thread, const BarrierCell& first, int count) {
  for (int i = 0; i < count; ++i) {
    BarrierCell cell = first;
    cell.slot += i;
    cell.offset += kBarrierBytes * static_cast<std::size_t>(i);
    const auto [at, is_new] = barriers_.try_emplace(cell.offset);
    if (!is_new) return "sets up " + cell.text() + ", which is set up already";
    at->second.text = cell.text();
    at->second.owner = thread;
    at->second.epoch = clock_.epoch();
    at->second.number = phases_.add_barrier();
  }
  return {};
}

EmulatedBulk::Barrier* EmulatedBulk::find(std::int32_t thread, const BarrierCell& cell,
                                          CopyFault& fault) {
  const auto found = barriers_.find(cell.offset);
  if (found == barriers_.end()) {
    fault = "uses " + cell.text() + ", which is no transaction barrier that somebody has set up";
    return nullptr;
  }
  Barrier& barrier = found->second;
  if (!clock_.is_before(barrier.epoch, barrier.owner, thread)) {
    fault = "uses " + cell.text() + ", which another thread has set up with no barrier in between";
    return nullptr;
  }
  return &barrier;
}

EmulatedBulk::Barrier* EmulatedBulk::find_phase(std::int32_t thread, const BarrierCell& cell,
                                                CopyFault& fault) {
  Barrier* barrier = find(thread, cell, fault);
  if (barrier == nullptr) return nullptr;
  if (barrier->last_phase != 0 && !phases_.known(barrier->last_phase, thread)) {
    fault = "adds to " + state(*barrier) + ", and has not waited for the phase before";
    return nullptr;
  }
  return barrier;
}

CopyFault EmulatedBulk::expect(std::int32_t thread, const BarrierCell& cell, std::int64_t bytes) {
  CopyFault fault;
  Barrier* barrier = find_phase(thread, cell, fault);
  if (barrier == nullptr) return fault;
  if (barrier->expected >= 0) {
    return "expects " + std::to_string(bytes) + " bytes more at " + state(*barrier) +
           "; nobody has waited for that";
  }
  if (bytes < 0) return "expects " + std::to_string(bytes) + " bytes at " + cell.text();
  barrier->expected = bytes;
  if (clock_.has_partial_barriers()) clock_.add_past(thread, barrier->past);
  if (barrier->begun > bytes) return "has made " + state(*barrier);
  return {};
}

CopyFault EmulatedBulk::begin(std::int32_t thread, const CopyPlace& place, const BarrierCell& cell,
                              Finding& finding) {
  CopyFault fault;
  Barrier* barrier = find_phase(thread, cell, fault);
  if (barrier == nullptr) return fault;
  const bool aligned = place.to % kBulkUnit == 0 && place.bytes % kBulkUnit == 0 &&
                       reinterpret_cast<std::uintptr_t>(place.from) % kBulkUnit == 0;
  if (!aligned) {
    return "bulk-copies " + std::to_string(place.bytes) + " bytes for " + cell.text() +
           "; size and places must be multiples of " + std::to_string(kBulkUnit) + " bytes";
  }
  if (place.bytes == 0) return {};
  Finding unfenced;
  const bool fenced = shadow_.is_fenced(place.to, place.bytes, unfenced);
  if (!shadow_.begin_copy(place.to, place.bytes, thread, finding)) return {};
  if (!fenced) {
    finding = unfenced;
    return {};
  }
  barrier->begun += static_cast<std::int64_t>(place.bytes);
  barrier->copies.push_back({place, {place.from, place.from + place.bytes}});
  if (barrier->expected >= 0 && barrier->begun > barrier->expected) return "has made " + state(*barrier);
  return {};
}

bool EmulatedBulk::can_pass(const BarrierCell& cell, std::int32_t parity) const {
  const auto found = barriers_.find(cell.offset);
  if (found == barriers_.end()) return true;  // the thread will meet the fault
  const Barrier& barrier = found->second;
  return static_cast<std::int32_t>(barrier.completed % 2) != parity || barrier.is_full();
}

bool EmulatedBulk::pass(std::int32_t thread, const BarrierCell& cell, std::int32_t parity,
                        CopyFault& fault) {
  Barrier* barrier = find(thread, cell, fault);
  if (barrier == nullptr) return false;
  if (parity != 0 && parity != 1) {
    fault = "waits for parity " + std::to_string(parity) + " of " + cell.text();
    return false;
  }
  if (static_cast<std::int32_t>(barrier->completed % 2) == parity) {
    if (!barrier->is_full()) return false;
    complete(*barrier, fault);
  }
  if (barrier->last_phase != 0) phases_.pass(barrier->last_phase, thread);
  clock_.learn(thread, barrier->last_past);
  return true;
}

void EmulatedBulk::complete(Barrier& barrier, CopyFault& fault) {
  barrier.last_phase = phases_.complete(barrier.number);
  ++barrier.completed;
  for (const Copy& copy : barrier.copies) {
    const CopyPlace& place = copy.place;
    if (std::memcmp(place.from, copy.data.data(), place.bytes) != 0) fault = source_changed();
    std::memcpy(shared_ + place.to, copy.data.data(), place.bytes);
    shadow_.land_bulk_copy(place.to, place.bytes, barrier.last_phase);
  }
  barrier.copies.clear();
  barrier.last_past.swap(barrier.past);
  barrier.past.clear();
  barrier.expected = -1;
  barrier.begun = 0;
}

std::string EmulatedBulk::state(const Barrier& barrier) {
  return "phase " + std::to_string(barrier.completed) + " of " + barrier.text + ", which " +
         (barrier.expected < 0 ? std::string("expects nothing yet")
                               : "expects " + std::to_string(barrier.expected) + " bytes") +
         " and has copies of " + std::to_string(barrier.begun) + " bytes";
}

std::string EmulatedBulk::describe(const BarrierCell& cell) const {
  const auto found = barriers_.find(cell.offset);
  return found == barriers_.end() ? cell.text() : state(found->second);
}

std::string EmulatedBulk::left_over() const {
  for (const auto& [offset, barrier] : barriers_) {
    if (barrier.expected >= 0 || barrier.begun > 0) return state(barrier);
  }
  return {};
}

}  // namespace mica
