// Schedules as C++ text.
#include "dsl/schedule/schedule.h"

#include <algorithm>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "dsl/expr/names.h"
#include "dsl/schedule/directive_fields.h"

namespace mica {

namespace {

std::string quoted(const std::string& text) {
  std::string literal = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') literal += '\\';
    literal += byte < ' ' || byte == 0x7f ? fmt::format("\\{:03o}", byte) : std::string(1, c);
  }
  return literal + '"';
}

/// A Var, which the text takes to be named as the loop is, or the loop's name.
std::string var_or_name(const std::string& name) { return is_identifier(name) ? name : quoted(name); }

/// A variable that could hold the Func or input of this name.
std::string handle(const std::string& name) {
  std::string word;
  for (const char c : name) {
    if ((static_cast<unsigned char>(c) & 0xc0) == 0x80) continue;  // a character's further bytes
    word += is_identifier(std::string("_") + c) ? c : '_';
  }
  return is_identifier(word) ? word : "_" + word;
}

std::string mark_name(LoopKind kind) {
  switch (kind) {
    case LoopKind::Serial: return "serial";
    case LoopKind::Parallel: return "parallel";
    case LoopKind::Vectorized: return "vectorize";
    case LoopKind::Unrolled: return "unroll";
    case LoopKind::GpuBlock: return "gpu_blocks";
    case LoopKind::GpuThread: return "gpu_threads";
    case LoopKind::March: return "march";
  }
  return "";
}

/// `name_of` gives the C++ expression for the Func or input of a name, `loop` that for a loop.
template <typename NameOf>
struct DirectiveText {
  NameOf name_of;
  std::string (*loop)(const std::string&);

  template <typename D>
  std::string operator()(const D& d) const {
    std::string member = D::traits.word;
    std::vector<std::string> arguments;
    bool is_usual = false;  // from here on all is left out
    directive::for_each_field(d, [&](const auto& field, const auto& value) {
      using T = std::remove_cvref_t<decltype(value)>;
      if constexpr (std::is_same_v<T, LoopKind>) {
        member = mark_name(value);
      } else {
        if constexpr (!std::is_same_v<T, std::string>) {
          is_usual = is_usual || (field.role == directive::Role::Option && value == usual<T>(field));
        }
        if (!is_usual) add_argument(arguments, field.role, value);
      }
    });
    const char* format = arguments.size() < fewest<D>() ? ".{}({{{}}})" : ".{}({})";
    return fmt::format(fmt::runtime(format), member, fmt::join(arguments, ", "));
  }

 private:
  /// From how many items on a call takes a list without braces.
  template <typename D>
  static constexpr std::size_t fewest() {
    if (std::is_same_v<D, directive::Reorder> || std::is_same_v<D, directive::ReorderStorage>) return 2;
    return std::is_same_v<D, directive::OrderBlocks> ? 1 : 0;
  }
  template <typename T, typename Field>
  static T usual(const Field& field) {
    if constexpr (std::is_same_v<decltype(field.usual), directive::Zero>) {
      return T{};
    } else {
      return field.usual;
    }
  }
  template <typename T>
  void add_argument(std::vector<std::string>& arguments, directive::Role role, const T& value) const {
    if constexpr (std::is_same_v<T, std::string>) {
      const bool is_loop = directive::names_own_loop(role) || role == directive::Role::LoopOfFunc;
      arguments.push_back(is_loop ? loop(value) : name_of(value));
    } else if constexpr (std::is_enum_v<T>) {
      arguments.push_back(fmt::format("{}::{}", directive::Words<T>::type, to_string(value)));
    } else if constexpr (std::is_integral_v<T>) {
      arguments.push_back(std::to_string(value));
    } else {
      for (const auto& item : value) add_argument(arguments, role, item);
    }
  }
};

}  // namespace

directive::AnyOp directive::op_of_kind(std::size_t index) {
  AnyOp made;
  std::size_t kind = 0;
  for_each_kind([&]<typename D>() {
    if (kind++ == index) made = D();
  });
  if (index >= kind) throw InternalError("there is no such kind of directive");
  return made;
}

std::string to_string(const Directive& directive) {
  return std::visit(DirectiveText<std::string (*)(const std::string&)>{&handle, &var_or_name},
                    directive.op);
}

namespace {

using HandleOf = std::function<std::string(const std::string&)>;

std::string schedule_text(const Schedule& schedule, const HandleOf& handle_of,
                          std::string (*loop)(const std::string&)) {
  // How C++ names a Func: wrappers through their sources, others by a variable.
  struct Wrapper {
    std::string source, consumer;
  };
  std::map<std::string, Wrapper> wrappers;
  for (const auto& stage : schedule.stages) {
    for (const auto& directive : stage.directives) {
      const auto* in = std::get_if<directive::In>(&directive.op);
      if (in) wrappers[in->wrapper] = {in->source, stage.func};
    }
  }
  constexpr int kNested = 8;  // a damaged file's wrappers may wrap themselves
  int nested = 0;
  std::function<std::string(const std::string&)> name_of = [&](const std::string& name) {
    const auto it = wrappers.find(name);
    if (it == wrappers.end() || nested == kNested) return handle_of(name);
    ++nested;
    std::string text =
        fmt::format("{}.in({})", name_of(it->second.source), name_of(it->second.consumer));
    --nested;
    return text;
  };
  const DirectiveText<HandleOf> text{name_of, loop};

  std::string result;
  for (const auto& stage : schedule.stages) {
    std::string chain;
    for (const auto& directive : stage.directives) {
      if (const auto* in = std::get_if<directive::In>(&directive.op)) {
        const bool scheduled =
            std::any_of(schedule.stages.begin(), schedule.stages.end(),
                        [&](const DefinitionSchedule& s) { return s.func == in->wrapper; });
        if (!scheduled) result += name_of(in->wrapper) + ";\n";
        continue;
      }
      chain += (chain.empty() ? "" : "\n    ") + std::visit(text, directive.op);
    }
    if (chain.empty()) continue;
    result += name_of(stage.func);
    if (stage.update > 0) result += fmt::format(".update({})", stage.update - 1);
    result += chain + ";\n";
  }
  if (schedule.steps != 1) result += fmt::format("iteration.time_tile({});\n", schedule.steps);
  return result;
}

}  // namespace

std::string to_string(const Schedule& schedule) {
  return schedule_text(schedule, &handle, &var_or_name);
}

std::string to_string(const Schedule& schedule, const HandleOf& handle_of) {
  return schedule_text(schedule, handle_of, &quoted);
}

std::string to_string(MemoryType memory) {
  switch (memory) {
    case MemoryType::Auto: return "Auto";
    case MemoryType::Heap: return "Heap";
    case MemoryType::Stack: return "Stack";
    case MemoryType::Shared: return "Shared";
    case MemoryType::Register: return "Register";
  }
  return "";
}

std::string to_string(TailStrategy tail) {
  switch (tail) {
    case TailStrategy::Auto: return "Auto";
    case TailStrategy::GuardWithIf: return "GuardWithIf";
    case TailStrategy::ShiftInwards: return "ShiftInwards";
    case TailStrategy::RoundUp: return "RoundUp";
  }
  return "";
}

std::string to_string(LoadPolicy policy) {
  switch (policy) {
    case LoadPolicy::HaloThreads: return "HaloThreads";
    case LoadPolicy::TwoStep: return "TwoStep";
    case LoadPolicy::Strided: return "Strided";
    case LoadPolicy::AsyncCopy: return "AsyncCopy";
    case LoadPolicy::Bulk: return "Bulk";
  }
  return "";
}

std::string to_string(LoopKind kind) {
  switch (kind) {
    case LoopKind::Serial: return "Serial";
    case LoopKind::Parallel: return "Parallel";
    case LoopKind::Vectorized: return "Vectorized";
    case LoopKind::Unrolled: return "Unrolled";
    case LoopKind::GpuBlock: return "GpuBlock";
    case LoopKind::GpuThread: return "GpuThread";
    case LoopKind::March: return "March";
  }
  return "";
}

std::string to_string(Partials partials) {
  switch (partials) {
    case Partials::EveryPlane: return "EveryPlane";
    case Partials::Centre: return "Centre";
  }
  return "";
}

}  // namespace mica
