// Going over the descriptions of directives (dsl/schedule/directives.h).
#pragma once

#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "dsl/schedule/schedule.h"

namespace mica::directive {

/// The words that a field of type Enum may have, the first being the usual one, and the type's name.
/// March is no kind that a directive gives a loop.
template <typename Enum>
struct Words;
template <>
struct Words<TailStrategy> {
  static constexpr const char* type = "TailStrategy";
  static constexpr TailStrategy values[] = {TailStrategy::Auto, TailStrategy::GuardWithIf,
                                            TailStrategy::ShiftInwards, TailStrategy::RoundUp};
};
template <>
struct Words<MemoryType> {
  static constexpr const char* type = "MemoryType";
  static constexpr MemoryType values[] = {MemoryType::Auto, MemoryType::Heap, MemoryType::Stack,
                                          MemoryType::Shared, MemoryType::Register};
};
template <>
struct Words<LoadPolicy> {
  static constexpr const char* type = "LoadPolicy";
  static constexpr LoadPolicy values[] = {LoadPolicy::HaloThreads, LoadPolicy::TwoStep,
                                          LoadPolicy::Strided, LoadPolicy::AsyncCopy, LoadPolicy::Bulk};
};
template <>
struct Words<Partials> {
  static constexpr const char* type = "Partials";
  static constexpr Partials values[] = {Partials::EveryPlane, Partials::Centre};
};
template <>
struct Words<LoopKind> {
  static constexpr const char* type = "LoopKind";
  static constexpr LoopKind values[] = {LoopKind::Serial,   LoopKind::Parallel, LoopKind::Vectorized,
                                        LoopKind::Unrolled, LoopKind::GpuBlock, LoopKind::GpuThread};
};

/// Calls visit(field, value) for the fields of one kind of directive, in their order.
template <typename D, typename Visit>
void for_each_field(D& op, Visit&& visit) {
  std::apply([&](const auto&... field) { (visit(field, std::invoke(field.get, op)), ...); },
             std::remove_const_t<D>::fields());
}

/// Calls visit(role, name) for each name in the fields of a directive of any kind, in their order.
template <typename Op, typename Visit>
void for_each_name(Op& op, Visit&& visit) {
  std::visit(
      [&](auto& d) {
        for_each_field(d, [&](const auto& field, auto& value) {
          using T = std::remove_cvref_t<decltype(value)>;
          if constexpr (std::is_same_v<T, std::string>) visit(field.role, value);
          if constexpr (std::is_same_v<T, std::vector<std::string>>) {
            for (auto& name : value) visit(field.role, name);
          }
        });
      },
      op);
}

inline const Traits& traits_of(const Directive& directive) {
  return std::visit([](const auto& op) -> const Traits& { return op.traits; }, directive.op);
}

/// Are fields of this role names of the definition's own loops or of the Func's dimensions?
inline bool names_own_loop(Role role) {
  return role == Role::Loop || role == Role::NewLoop || role == Role::Dimension;
}

/// Calls call.operator()<D>() for every kind of directive, in the order of Directive::op.
template <typename Call>
void for_each_kind(Call&& call) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (call.template operator()<std::variant_alternative_t<I, AnyOp>>(), ...);
  }
  (std::make_index_sequence<std::variant_size_v<AnyOp>>());
}

/// The directive of the kind of index `index` in Directive::op, with its fields' initial values.
AnyOp op_of_kind(std::size_t index);

}  // namespace mica::directive
