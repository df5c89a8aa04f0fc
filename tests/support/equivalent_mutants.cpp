// Which mutants cannot be told from the code they were made of.
#include <algorithm>
#include <map>
#include <optional>

#include "codegen/analysis/bounds.h"
#include "codegen/analysis/simplify.h"
#include "codegen/ir/traverse.h"
#include "dsl/expr/traverse.h"
#include "tests/support/mutants.h"

namespace mica::test {

namespace {

/// A place in an array that a statement reads or writes.
struct Touch {
  std::string array;
  bool writes = false;
  std::vector<Expr> index;  ///< empty: many
};

void add_touches(const ir::Stmt& s, std::vector<Touch>& touches) {
  for (const ir::ArrayUse& use : ir::array_uses(s)) {
    const auto* store = s.as<ir::Store>();
    const bool writes = use.kind != ir::ArrayUse::Kind::Read;
    touches.push_back({use.array, writes, store != nullptr ? store->index : std::vector<Expr>()});
  }
}

/// The statements of a kernel that do something, in the order of the text.
std::vector<ir::Stmt> in_order(const ir::Stmt& body) {
  std::vector<ir::Stmt> list;
  ir::walk(
      body, [&](const ir::Stmt& s) { list.push_back(s); }, nullptr);
  return list;
}

std::map<std::string, MemoryType> memory_of_arrays(const ir::Stmt& body) {
  std::map<std::string, MemoryType> memory;
  for (const ir::Stmt& s : in_order(body)) {
    if (const auto* a = s.as<ir::Allocate>()) memory.emplace(a->buffer, a->memory);
  }
  return memory;
}

/// The statements [begin, end) of `list` that are the outermost loop around `place`, or `place` alone.
struct Range {
  std::size_t begin, end;
};
Range loop_around(const std::vector<ir::Stmt>& list, std::size_t place) {
  for (std::size_t i = 0; i < place; ++i) {
    if (list[i].as<ir::For>() == nullptr) continue;
    const std::size_t end = i + in_order(list[i]).size();
    if (place < end) return {i, end};
  }
  return {place, place + 1};
}

/// Is a statement in the other case of an If than `place`?
bool is_elsewhere(const std::vector<ir::Stmt>& list, std::size_t place, std::size_t statement) {
  for (std::size_t i = 0; i < std::min(place, statement); ++i) {
    const auto* branch = list[i].as<ir::If>();
    if (branch == nullptr || !branch->then_case.defined() || !branch->else_case.defined()) continue;
    const std::size_t middle = i + 1 + in_order(branch->then_case).size();
    const std::size_t end = middle + in_order(branch->else_case).size();
    if (std::max(place, statement) < end && (place < middle) != (statement < middle)) return true;
  }
  return false;
}

/// What the statements that a barrier parts touch: those of the loop around it, and before and after up
/// to the next barriers.
std::vector<Touch> touches_around(const std::vector<ir::Stmt>& list, std::size_t place) {
  Range range = loop_around(list, place);
  while (range.begin > 0 && list[range.begin - 1].as<ir::Barrier>() == nullptr) --range.begin;
  while (range.end < list.size() && list[range.end].as<ir::Barrier>() == nullptr) ++range.end;
  std::vector<Touch> touches;
  for (std::size_t i = range.begin; i < range.end; ++i) {
    if (is_elsewhere(list, place, i)) continue;
    add_touches(list[i], touches);
    ir::for_each_child(list[i], nullptr, [&](const Expr& e) {
      mica::walk(e, [&](const Expr& node) {
        if (const auto* load = node.as<Load>()) touches.push_back({load->buffer, false, load->index});
      });
    });
  }
  return touches;
}

/// An element of each thread: `base`, the same for all threads, plus a constant for each of them.
struct ThreadPlaces {
  Expr base;
  std::vector<std::int64_t> steps;
};
std::optional<ThreadPlaces> places_of(const Expr& index, const int (&block)[3]) {
  const auto of_thread = [&](int x, int y, int z) {
    const int at[] = {x, y, z};
    return passes::simplify(substitute(index, [&](const std::string& name) {
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const auto thread_axis = static_cast<std::size_t>(ir::GpuAxis::ThreadX) + axis;
        if (name == ir::kGpuAxisNames[thread_axis]) return Expr(at[axis]);
      }
      return Expr();
    }));
  };
  ThreadPlaces places{of_thread(0, 0, 0), {}};
  for (int z = 0; z < block[2]; ++z) {
    for (int y = 0; y < block[1]; ++y) {
      for (int x = 0; x < block[0]; ++x) {
        const auto step = analysis::constant_difference(of_thread(x, y, z), places.base);
        if (!step) return std::nullopt;
        places.steps.push_back(*step);
      }
    }
  }
  return places;
}

/// Is `e` a multiple of `unit` plus the constant `rest`?
bool is_multiple(const Expr& e, std::int64_t unit, std::int64_t rest) {
  if (const std::int64_t* value = as_int(e)) return (*value - rest) % unit == 0;
  const auto* op = e.as<Binary>();
  if (op == nullptr) return false;
  if (op->op == BinaryOp::Add) {
    return (is_multiple(op->a, unit, 0) && is_multiple(op->b, unit, rest)) ||
           (is_multiple(op->a, unit, rest) && is_multiple(op->b, unit, 0));
  }
  if (op->op != BinaryOp::Mul || rest != 0) return false;
  return is_multiple(op->a, unit, 0) || is_multiple(op->b, unit, 0);
}

/// Have the threads elements of their own, `lanes` from their places on, in a plane of `plane` elements?
bool are_apart(ThreadPlaces places, std::int64_t lanes, std::int64_t plane) {
  std::vector<std::int64_t>& steps = places.steps;
  std::sort(steps.begin(), steps.end());
  for (std::size_t i = 1; i < steps.size(); ++i) {
    if (steps[i] - steps[i - 1] < lanes) return false;
  }
  return steps.back() - steps.front() + lanes <= plane;
}

/// The first of neighbouring elements, or undefined.
Expr first_element(const Expr& index) {
  if (index.type().is_scalar()) return index;
  const auto* ramp = index.as<Ramp>();
  return ramp != nullptr && is_const(ramp->stride, 1) ? ramp->base : Expr();
}

/// Does each thread touch elements of its own? Either all touches are of one element of each thread,
/// which no other thread writes, or its own element of each of several planes of `plane` elements.
bool keeps_to_own(const std::vector<const Touch*>& touches, std::int64_t plane, const int (&block)[3]) {
  std::optional<ThreadPlaces> first;
  for (const Touch* touch : touches) {
    if (touch->index.empty()) return false;
    const std::int64_t lanes = touch->index.front().type().lanes;
    const Expr from = first_element(touch->index.front());
    if (!from.defined() || lanes != touches.front()->index.front().type().lanes) return false;
    const auto places = places_of(from, block);
    if (!places || (first && places->steps != first->steps)) return false;
    if (!first) first = places;
    const auto apart = analysis::constant_difference(places->base, first->base);
    if (as_int(places->base) != nullptr && apart == std::int64_t{0}) continue;
    const bool in_planes = (apart && *apart % plane == 0) ||
                           (is_multiple(places->base, plane, 0) && is_multiple(first->base, plane, 0));
    if (!in_planes || !are_apart(*places, lanes, plane)) return false;
  }
  return true;
}

/// Is each shared array that is written beside the barrier touched by each thread at elements of its
/// own?
bool orders_own_elements(const Mutant& mutant) {
  const std::vector<ir::Stmt> list = in_order(mutant.kernel.body);
  const std::vector<Touch> touches = touches_around(list, mutant.place);
  for (const ir::Stmt& s : list) {
    const auto* array = s.as<ir::Allocate>();
    if (array == nullptr || array->memory != MemoryType::Shared) continue;
    std::vector<const Touch*> own;
    bool written = false;
    for (const Touch& touch : touches) {
      if (touch.array != array->buffer) continue;
      own.push_back(&touch);
      written = written || touch.writes;
    }
    const std::int64_t plane = ir::element_count(*array) / std::max<std::int64_t>(array->places, 1);
    if (written && !keeps_to_own(own, plane, mutant.kernel.block)) return false;
  }
  return true;
}

/// Where the statements of `s` write to.
struct Targets {
  bool shared = false, global = false;
};
Targets targets_of(const ir::Stmt& s, const ir::Stmt& kernel) {
  const auto memory = memory_of_arrays(kernel);
  Targets targets;
  for (const ir::Stmt& child : in_order(s)) {
    for (const ir::ArrayUse& use : ir::array_uses(child)) {
      if (use.kind == ir::ArrayUse::Kind::Read) continue;
      const auto found = memory.find(use.array);
      if (found == memory.end()) {
        targets.global = true;
      } else if (found->second == MemoryType::Shared) {
        targets.shared = true;
      }
    }
  }
  return targets;
}

std::string why_guard(const Mutant& mutant) {
  const auto& branch = *mutant.original.as<ir::If>();
  const auto uses = [&](const char* name) { return uses_var(branch.condition, name); };
  const bool of_threads = uses("thread.x") || uses("thread.y") || uses("thread.z");
  if (of_threads && branch.then_case.as<ir::BulkWait>() != nullptr) {
    return "guards a wait of those who read, in which others may join";
  }
  const Targets targets = targets_of(branch.then_case, mutant.kernel.body);
  if (targets.shared) return "";
  if (!targets.global) return "guards values that a thread needs not, or has from its neighbours";
  return of_threads ? "guards points of other blocks, which would be computed twice" : "";
}

bool has_commit_before_wait(const Mutant& mutant) {
  const std::vector<ir::Stmt> list = in_order(mutant.kernel.body);
  for (std::size_t i = mutant.place + 1; i < list.size(); ++i) {
    if (is_elsewhere(list, mutant.place, i)) continue;
    if (list[i].as<ir::CopyWait>() != nullptr) return false;
    if (list[i].as<ir::CopyCommit>() != nullptr) return true;
  }
  return false;
}

/// Has a commit no copies to end a group of, where every wait is for all groups?
bool ends_nothing(const Mutant& mutant) {
  const std::vector<ir::Stmt> list = in_order(mutant.kernel.body);
  for (const ir::Stmt& s : list) {
    const auto* wait = s.as<ir::CopyWait>();
    if (wait != nullptr && wait->pending > 0) return false;
  }
  for (std::size_t i = mutant.place; i-- > 0;) {
    if (list[i].as<ir::AsyncCopy>() != nullptr) return false;
    if (list[i].as<ir::CopyCommit>() != nullptr) return true;
  }
  return false;
}

bool is_before_copies(const Mutant& mutant) {
  const std::vector<ir::Stmt> list = in_order(mutant.kernel.body);
  const std::size_t end = loop_around(list, mutant.place).end;
  for (std::size_t i = 0; i < end; ++i) {
    if (!is_elsewhere(list, mutant.place, i) && list[i].as<ir::AsyncCopy>() != nullptr) return false;
  }
  return true;
}

/// Is it code of blocks at the domain's edge, the other case of a test of the block?
bool is_at_the_edge(const Mutant& mutant) {
  const std::vector<ir::Stmt> list = in_order(mutant.kernel.body);
  for (std::size_t i = 0; i < mutant.place; ++i) {
    const auto* branch = list[i].as<ir::If>();
    if (branch == nullptr || !branch->else_case.defined()) continue;
    const auto uses = [&](const char* name) { return uses_var(branch->condition, name); };
    const bool of_block = (uses("block.x") || uses("block.y") || uses("block.z")) && !uses("thread.x") &&
                          !uses("thread.y") && !uses("thread.z");
    const std::size_t middle = i + 1 + in_order(branch->then_case).size();
    const std::size_t end = middle + in_order(branch->else_case).size();
    if (of_block && mutant.place >= middle && mutant.place < end) return true;
  }
  return false;
}

}  // namespace

std::string why_equivalent(const Mutant& mutant) {
  switch (mutant.mutation) {
    case Mutation::DropBarrier:
      if (mutant.kernel.block[0] * mutant.kernel.block[1] * mutant.kernel.block[2] == 1) {
        return "orders the accesses of the block's one thread";
      }
      return orders_own_elements(mutant) ? "orders the accesses of each thread to its own elements" : "";
    case Mutation::DropWait: return is_before_copies(mutant) ? "waits before the first copy" : "";
    case Mutation::DropCommit:
      if (ends_nothing(mutant)) return "ends a group without copies";
      return has_commit_before_wait(mutant) ? "ends a group that the next wait waits for with the next"
                                            : "";
    case Mutation::DropGuard: return why_guard(mutant);
    case Mutation::DropSetUp:
    case Mutation::CountBytes:
    case Mutation::ShrinkHalo:
      // The last point of a box is beside the block's last one, which lies outside.
      return is_at_the_edge(mutant) ? "fills a point beside one outside the domain" : "";
    case Mutation::ShiftTap:
      return is_at_the_edge(mutant) && targets_of(mutant.original, mutant.kernel.body).shared
                 ? "fills a point outside the domain"
                 : "";
    case Mutation::ShiftSlot:
    case Mutation::StaleWindow: break;
  }
  return "";
}

}  // namespace mica::test
