#include "runtime/emulator/emulator_report.h"

#include <cstring>

#include "dsl/expr/names.h"

namespace mica {
namespace {

std::string triple(const ThreadIndex& at) {
  return "(" + std::to_string(at.x) + ", " + std::to_string(at.y) + ", " + std::to_string(at.z) + ")";
}

}  // namespace

ThreadIndex index_of(std::uint64_t linear, const std::uint32_t (&sizes)[3]) {
  return {static_cast<std::int32_t>(linear % sizes[0]),
          static_cast<std::int32_t>(linear / sizes[0] % sizes[1]),
          static_cast<std::int32_t>(linear / sizes[0] / sizes[1])};
}

ThreadIndex block_of(const EmulatedKernel& kernel, const LaunchShape& shape, std::uint64_t cluster,
                     std::int32_t thread) {
  std::uint32_t clusters[3];
  for (int d = 0; d < 3; ++d) clusters[d] = shape.grid[d] / kernel.cluster[d];
  const ThreadIndex first = index_of(cluster, clusters);
  const std::uint32_t threads = shape.block[0] * shape.block[1] * shape.block[2];
  const ThreadIndex in = index_of(static_cast<std::uint32_t>(thread) / threads, kernel.cluster);
  const auto at = [&](int d, std::int32_t of_cluster, std::int32_t inside) {
    return of_cluster * static_cast<std::int32_t>(kernel.cluster[d]) + inside;
  };
  return {at(0, first.x, in.x), at(1, first.y, in.y), at(2, first.z, in.z)};
}

/// The number of the thread's block in its cluster.
std::int32_t EmulatorReport::rank(std::int32_t thread) const {
  return thread / static_cast<std::int32_t>(shape_.block[0] * shape_.block[1] * shape_.block[2]);
}

std::string EmulatorReport::thread_text(std::int32_t thread) const {
  const std::uint32_t threads = shape_.block[0] * shape_.block[1] * shape_.block[2];
  return "thread " + triple(index_of(static_cast<std::uint32_t>(thread) % threads, shape_.block));
}
std::string EmulatorReport::block_text(std::uint64_t cluster, std::int32_t thread) const {
  return "block " + triple(block_of(kernel_, shape_, cluster, thread));
}
std::string EmulatorReport::who(std::int32_t thread) const {
  return thread_text(thread) + " of " + block_text(cluster_, thread);
}

const std::int64_t* EmulatorReport::scalar(const std::string& name, std::int64_t& value) const {
  for (std::size_t i = 0; i < kernel_.parameters.size(); ++i) {
    if (kernel_.parameters[i].name != name) continue;
    if (kernel_.parameters[i].scalar_bytes == 4) {
      std::int32_t narrow = 0;
      std::memcpy(&narrow, arguments_[i], sizeof narrow);
      value = narrow;
      return &value;
    }
    if (kernel_.parameters[i].scalar_bytes == 8) {
      std::memcpy(&value, arguments_[i], sizeof value);
      return &value;
    }
  }
  return nullptr;
}

EmulatorReport::Range EmulatorReport::range(const EmulatedAccess& access, std::size_t dimension) const {
  Range r;
  if (access.memory != EmulatedAccess::Memory::Global) {
    if (dimension < access.extents.size()) r = {true, 0, access.extents[dimension]};
    return r;
  }
  const std::string d = "." + std::to_string(dimension);
  r.known = scalar(access.buffer + ".min" + d, r.min) != nullptr &&
            scalar(access.buffer + ".extent" + d, r.extent) != nullptr;
  return r;
}

std::size_t EmulatorReport::dimensions(const EmulatedAccess& access) const {
  if (access.memory != EmulatedAccess::Memory::Global) return access.extents.size();
  std::size_t d = 0;
  while (d < Coordinates().size() && range(access, d).known) ++d;
  return d;
}

std::string EmulatorReport::element_text(const EmulatedAccess& access, const Coordinates& at) const {
  const std::size_t count = dimensions(access);
  if (count == 0) return "an element of " + access.buffer;
  std::string text = access.buffer + "(";
  for (std::size_t d = 0; d < count && d < at.size(); ++d) {
    text += (d > 0 ? ", " : "") + std::to_string(at[d]);
  }
  return text + ")";
}

std::string EmulatorReport::conflict(const EmulatedAccess& access, std::int32_t thread,
                                     Coordinates first, const Finding& finding) const {
  first[0] += static_cast<std::int64_t>(finding.byte) / access.element_bytes;
  const std::string element = element_text(access, first);
  const std::string own = who(thread);
  if (finding.hazard == Hazard::UninitializedRead) {
    return "uninitialised shared memory in kernel " + kernel_.name + ": " + own + " reads " + element +
           ", which no thread of the block has written";
  }
  const bool same_cluster = finding.other_cluster == cluster_;
  const bool same_block = same_cluster && rank(finding.other_thread) == rank(thread);
  const std::string other =
      thread_text(finding.other_thread) + " of " +
      (same_block ? "the same block" : block_text(finding.other_cluster, finding.other_thread));
  const std::string why =
      same_cluster ? " with no barrier in between" : "; the blocks of a launch run in any order";
  const std::string head = "race in kernel " + kernel_.name + ": " + own;
  std::string what;
  switch (finding.hazard) {
    case Hazard::None:
    case Hazard::UninitializedRead: break;
    case Hazard::ReadOfWritten: what = " reads " + element + ", which " + other + " has written"; break;
    case Hazard::WriteOfRead: what = " writes " + element + ", which " + other + " has read"; break;
    case Hazard::WriteOfWritten:
      what = " writes " + element + ", which " + other + " has written";
      break;
    case Hazard::WriteOfUpdated:
      what = " writes " + element + ", which " + other + " has changed by an atomic operation";
      break;
    case Hazard::UpdateOfWritten:
      what = " changes " + element + " by an atomic operation, which " + other + " has written";
      break;
    case Hazard::ReadOfCopy:
    case Hazard::WriteOfCopy:
      return head + (finding.hazard == Hazard::ReadOfCopy ? " reads " : " writes ") + element +
             " while a copy to it that " + other + " began is under way";
    case Hazard::ReadOfBulk:
    case Hazard::WriteOfBulk:
      return head + (finding.hazard == Hazard::ReadOfBulk ? " reads " : " writes ") + element +
             ", which has been bulk-copied, and has not waited for that";
    case Hazard::BulkOfUnfenced:
      return head + " bulk-copies to " + element + ", which " + other +
             " has written with no fence since that orders the copy engine's writes after its own";
  }
  return head + what + why;
}

std::string EmulatorReport::misaligned(const EmulatedAccess& access, std::int32_t thread,
                                       const Coordinates& at) const {
  return "misaligned access in kernel " + kernel_.name + ": " + who(thread) +
         (access.is_store ? " writes " : " reads ") +
         counted(static_cast<std::size_t>(access.count), "element") + " from " +
         element_text(access, at) + ", whose address is no multiple of " +
         std::to_string(access.alignment) + " bytes";
}

std::string EmulatorReport::out_of_range(const EmulatedAccess& access, std::int32_t thread,
                                         const Coordinates& at) const {
  std::string box;
  for (std::size_t d = 0; d < at.size(); ++d) {
    const Range r = range(access, d);
    if (!r.known) break;
    box += (d > 0 ? " x [" : "[") + std::to_string(r.min) + ".." + std::to_string(r.min + r.extent - 1) +
           "]";
  }
  return "index out of range in kernel " + kernel_.name + ": " + who(thread) +
         (access.is_store ? " writes " : " reads ") + element_text(access, at) + ", and " +
         access.buffer + " holds " + (box.empty() ? "no such element" : box) +
         (access.memory == EmulatedAccess::Memory::Global ? "" : " from its first element on");
}

std::string EmulatorReport::fault(const char* title, std::int32_t thread,
                                  const std::string& what) const {
  return title + (" in kernel " + kernel_.name) + ": " + who(thread) + " " + what;
}
std::string EmulatorReport::copy_fault(std::int32_t thread, const std::string& what) const {
  return fault("asynchronous copy", thread, what);
}
std::string EmulatorReport::barrier_fault(std::int32_t thread, const std::string& what) const {
  return fault("named barrier", thread, what);
}
std::string EmulatorReport::cluster_fault(std::int32_t thread, const std::string& what) const {
  return fault("memory of a cluster", thread, what);
}

std::string EmulatorReport::left_over(const std::string& phase) const {
  return "bulk copy in kernel " + kernel_.name + ": " + block_text(cluster_, 0) +
         " ends while nobody has waited for " + phase;
}
std::string EmulatorReport::incomplete(const std::string& barrier) const {
  return "named barrier in kernel " + kernel_.name + ": " + block_text(cluster_, 0) + " ends at " +
         barrier;
}
std::string EmulatorReport::unmet_writes() const {
  return "memory of a cluster in kernel " + kernel_.name + ": the cluster of " +
         block_text(cluster_, 0) +
         " ends with no barrier of the cluster after a block's write to another's memory, which may "
         "have ended";
}

std::string EmulatorReport::stuck(const EmulatedWaits& waits, const EmulatedWaits::Stuck& why,
                                  const std::string& bulk_phase) const {
  using Kind = EmulatedWaits::Stuck::Kind;
  const char* title = nullptr;
  switch (why.kind) {
    case Kind::Barrier:
    case Kind::Cluster: title = "divergent barrier"; break;
    case Kind::Shuffle: title = "incomplete shuffle"; break;
    case Kind::Named:
    case Kind::Bulk: title = "deadlock"; break;
  }
  std::string text = title + (" in kernel " + kernel_.name) + ": " + thread_text(why.thread) + " " +
                     waits.state(why.thread);
  if (why.other) {
    text += " while " + thread_text(*why.other);
    if (rank(*why.other) != rank(why.thread)) text += " of " + block_text(cluster_, *why.other);
    text += " " + waits.state(*why.other);
  } else if (why.kind == Kind::Shuffle) {
    text += ", which has fewer than 32 threads";
  }
  if (why.kind == Kind::Bulk) text += ", now in " + bulk_phase;
  if (why.kind == Kind::Bulk || why.kind == Kind::Named) text += ", and no other thread can go on";
  return text + ", in " + block_text(cluster_, why.thread);
}

}  // namespace mica
