#include "dsl/expr/deep_stack.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>
#include <pthread.h>

#include "dsl/expr/node_map.h"

namespace mica {
namespace {

// Of the deepest recursion, in bytes a level, unoptimised builds included. Around each local value the
// address sanitizer keeps bytes of its own: up to 7,500 a level were seen.
#ifdef __has_feature
constexpr bool kSanitized = __has_feature(address_sanitizer);
#elif defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
constexpr std::size_t kBytesPerLevel = kSanitized ? 16384 : 4096;
constexpr std::size_t kBytesBeside = std::size_t{16} << 20;
// What an ordinary stack of 8 MiB certainly holds.
constexpr std::int64_t kShallow = 500;

struct Call {
  FunctionRef<void()> work;
  std::exception_ptr failure;
};

void* carry_out(void* argument) {
  auto* call = static_cast<Call*>(argument);
  try {
    call->work();
  } catch (...) {
    call->failure = std::current_exception();
  }
  return nullptr;
}

}  // namespace

std::int64_t depth_of(const std::vector<Expr>& roots) {
  NodeMap<std::int64_t> depths;
  std::vector<std::pair<const Expr*, bool>> left;
  std::int64_t deepest = 0;
  for (const Expr& root : roots) {
    if (!root.defined()) continue;
    left.emplace_back(&root, false);
    while (!left.empty()) {
      const auto [e, is_open] = left.back();
      const ExprNode* const node = e->ptr().get();
      if (depths.count(node) > 0) {
        left.pop_back();
        continue;
      }
      std::int64_t below = 0;
      const auto first = left.size();
      left.back().second = true;
      for_each_child(*e, [&](const Expr& child) {
        const auto known = depths.find(child.ptr().get());
        if (known != depths.end()) {
          below = std::max(below, known->second);
        } else if (!is_open) {
          left.emplace_back(&child, false);
        }
      });
      if (left.size() > first) continue;  // after its children
      depths.emplace(node, below + 1);
      left.pop_back();
    }
    deepest = std::max(deepest, depths.at(root.ptr().get()));
  }
  return deepest;
}

void with_stack_for(std::int64_t depth, FunctionRef<void()> work) {
  if (depth > kDeepestExpression) {
    throw UserError(
        fmt::format("an expression of {} operations inside one another, with the Funcs that are "
                    "computed inline; at most {} are compiled: compute a Func on the way at the root",
                    depth, kDeepestExpression));
  }
  if (depth <= kShallow) return work();
  Call call{work, nullptr};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes,
                            static_cast<std::size_t>(depth) * kBytesPerLevel + kBytesBeside);
  pthread_t thread{};
  const int error = pthread_create(&thread, &attributes, carry_out, &call);
  pthread_attr_destroy(&attributes);
  if (error != 0) {
    throw UserError(
        fmt::format("no memory for the stack that an expression of {} operations inside one "
                    "another takes to compile: compute a Func on the way at the root",
                    depth));
  }
  pthread_join(thread, nullptr);
  if (call.failure) std::rethrow_exception(call.failure);
}

}  // namespace mica
