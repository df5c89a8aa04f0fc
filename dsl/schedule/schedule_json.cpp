// Schedules as JSON:
//
//   {"mica_schedule": 1,
//    "stages": [{"func": "next", "update": 0,
//                "directives": [{"do": "gpu_tile", "vars": ["x", "y"], "sizes": [32, 8],
//                                "tail": "Auto"}]}]}
//
// Every key is required and no other is accepted, so that a misspelt one is never overlooked.
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dsl/expr/names.h"
#include "dsl/schedule/schedule.h"

namespace mica {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr const char* kVersionKey = "mica_schedule";

template <typename Enum>
struct Words;
template <>
struct Words<TailStrategy> {
  static constexpr TailStrategy values[] = {TailStrategy::Auto, TailStrategy::GuardWithIf,
                                            TailStrategy::ShiftInwards, TailStrategy::RoundUp};
};
template <>
struct Words<MemoryType> {
  static constexpr MemoryType values[] = {MemoryType::Auto, MemoryType::Heap, MemoryType::Stack,
                                          MemoryType::Shared, MemoryType::Register};
};
template <>
struct Words<LoadPolicy> {
  static constexpr LoadPolicy values[] = {LoadPolicy::HaloThreads, LoadPolicy::TwoStep,
                                          LoadPolicy::Strided, LoadPolicy::AsyncCopy, LoadPolicy::Bulk};
};
template <>
struct Words<Partials> {
  static constexpr Partials values[] = {Partials::EveryPlane, Partials::Centre};
};
template <>
struct Words<LoopKind> {
  static constexpr LoopKind values[] = {LoopKind::Serial,   LoopKind::Parallel, LoopKind::Vectorized,
                                        LoopKind::Unrolled, LoopKind::GpuBlock, LoopKind::GpuThread};
};

// ---- the fields of each directive, once for both directions ---------------------------------------

/// Calls io(key, member) for every field of a directive.
template <typename Io>
void fields(Io& io, directive::Split& d) {
  io("var", d.old_var);
  io("outer", d.outer);
  io("inner", d.inner);
  io("factor", d.factor);
  io("tail", d.tail);
}
template <typename Io>
void fields(Io& io, directive::Fuse& d) {
  io("inner", d.inner);
  io("outer", d.outer);
  io("fused", d.fused);
}
template <typename Io>
void fields(Io& io, directive::Reorder& d) {
  io("vars", d.vars);
}
template <typename Io>
void fields(Io& io, directive::MarkLoop& d) {
  io("var", d.var);
  io("kind", d.kind);
}
template <typename Io>
void fields(Io& io, directive::GpuTile& d) {
  io("vars", d.vars);
  io("sizes", d.sizes);
  io("tail", d.tail);
}
template <typename Io>
void fields(Io& io, directive::Vectorize& d) {
  io("var", d.var);
  io("width", d.width);
  io("tail", d.tail);
}
template <typename Io>
void fields(Io& io, directive::Unroll& d) {
  io("var", d.var);
  io("factor", d.factor);
  io("tail", d.tail);
}
template <typename Io>
void fields(Io&, directive::ComputeInline&) {}
template <typename Io>
void fields(Io&, directive::ComputeRoot&) {}
template <typename Io>
void fields(Io&, directive::StoreRoot&) {}
template <typename Io>
void fields(Io& io, directive::ComputeAt& d) {
  io("func", d.level.func);
  io("var", d.level.var);
}
template <typename Io>
void fields(Io& io, directive::StoreAt& d) {
  io("func", d.level.func);
  io("var", d.level.var);
}
template <typename Io>
void fields(Io& io, directive::StoreIn& d) {
  io("memory", d.memory);
}
template <typename Io>
void fields(Io& io, directive::In& d) {
  io("source", d.source);
  io("wrapper", d.wrapper);
}
template <typename Io>
void fields(Io& io, directive::AlignStorage& d) {
  io("var", d.var);
  io("elements", d.elements);
}
template <typename Io>
void fields(Io& io, directive::Bound& d) {
  io("var", d.var);
  io("min", d.min);
  io("extent", d.extent);
}
template <typename Io>
void fields(Io& io, directive::Stage& d) {
  io("source", d.source);
  io("memory", d.memory);
  io("load", d.load);
}
template <typename Io>
void fields(Io& io, directive::ReadOnly& d) {
  io("source", d.source);
}
template <typename Io>
void fields(Io& io, directive::LaunchBounds& d) {
  io("min_blocks", d.min_blocks);
}
template <typename Io>
void fields(Io& io, directive::MaxRegisters& d) {
  io("count", d.count);
}
template <typename Io>
void fields(Io& io, directive::March& d) {
  io("var", d.var);
  io("chunk", d.chunk);
}
template <typename Io>
void fields(Io& io, directive::RegisterWindow& d) {
  io("source", d.source);
  io("var", d.var);
}
template <typename Io>
void fields(Io& io, directive::Prefetch& d) {
  io("source", d.source);
  io("depth", d.depth);
}
template <typename Io>
void fields(Io& io, directive::Scatter& d) {
  io("var", d.var);
  io("partials", d.partials);
}
template <typename Io>
void fields(Io& io, directive::Exchange& d) {
  io("source", d.source);
  io("var", d.var);
}
template <typename Io>
void fields(Io& io, directive::OrderBlocks& d) {
  io("vars", d.vars);
}
template <typename Io>
void fields(Io& io, directive::StreamLoads& d) {
  io("source", d.source);
}
template <typename Io>
void fields(Io&, directive::StreamStores&) {}
template <typename Io>
void fields(Io& io, directive::Texture& d) {
  io("source", d.source);
}
template <typename Io>
void fields(Io& io, directive::WarpSplit& d) {
  io("warps", d.warps);
}
template <typename Io>
void fields(Io& io, directive::FoldStorage& d) {
  io("var", d.var);
  io("factor", d.factor);
}
template <typename Io>
void fields(Io& io, directive::ReorderStorage& d) {
  io("vars", d.vars);
}
template <typename Io>
void fields(Io&, directive::Atomic&) {}
template <typename Io>
void fields(Io&, directive::GpuSingleThread&) {}

/// Words of the "do" key, in the order of Directive::op's alternatives.
constexpr const char* kDirectiveWords[] = {"split",         "fuse",
                                           "reorder",       "mark_loop",
                                           "gpu_tile",      "vectorize",
                                           "unroll",        "compute_inline",
                                           "compute_root",  "compute_at",
                                           "store_at",      "store_root",
                                           "store_in",      "in",
                                           "align_storage", "bound",
                                           "stage",         "read_only",
                                           "launch_bounds", "max_registers",
                                           "march",         "register_window",
                                           "pipeline",      "scatter",
                                           "shuffle",       "order_blocks",
                                           "stream_loads",  "stream_stores",
                                           "texture",       "warp_split",
                                           "fold_storage",  "reorder_storage",
                                           "atomic",        "gpu_single_thread"};
using Op = decltype(Directive::op);
static_assert(std::size(kDirectiveWords) == std::variant_size_v<Op>);
static_assert(std::is_same_v<std::variant_alternative_t<6, Op>, directive::Unroll> &&
              std::is_same_v<std::variant_alternative_t<13, Op>, directive::In> &&
              std::is_same_v<std::variant_alternative_t<19, Op>, directive::MaxRegisters> &&
              std::is_same_v<std::variant_alternative_t<29, Op>, directive::WarpSplit> &&
              std::is_same_v<std::variant_alternative_t<31, Op>, directive::ReorderStorage> &&
              std::is_same_v<std::variant_alternative_t<33, Op>, directive::GpuSingleThread>);

// ---- writing ---------------------------------------------------------------------------------------

struct Writer {
  Json& object;
  template <typename T>
  void operator()(const char* key, const T& value) {
    if constexpr (std::is_enum_v<T>) {
      object[key] = to_string(value);
    } else {
      object[key] = value;
    }
  }
};

// ---- reading ---------------------------------------------------------------------------------------

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw UserError(fmt::format("schedule: {}: {}", path, what));
}

/// A value as text that fits in a message.
std::string excerpt(const Json& json) {
  if (json.is_structured()) return json.is_object() ? "an object" : "an array";
  constexpr std::size_t kLongest = 60;
  std::string text = json.dump();
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

/// Takes the keys of one object; finish() reports those nobody asked for.
class Reader {
 public:
  Reader(const Json& object, std::string path) : object_(object), path_(std::move(path)) {
    if (!object.is_object()) fail(path_, "must be an object");
  }

  const Json& at(const std::string& key) {
    asked_.push_back(key);
    const auto it = object_.find(key);
    if (it == object_.end()) {
      fail(path_, fmt::format("key \"{}\" is missing; it has {}", key, joined(keys_of(object_))));
    }
    return *it;
  }
  [[nodiscard]] std::string path_of(const std::string& key) const { return path_ + "." + key; }

  template <typename T>
  void operator()(const char* key, T& value) {
    read(at(key), path_of(key), value);
  }

  void finish() const {
    for (const auto& key : keys_of(object_)) {
      if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) {
        fail(path_, fmt::format("unknown key \"{}\"{}; legal keys are {}", key,
                                did_you_mean(key, asked_), joined(asked_)));
      }
    }
  }

 private:
  static void read(const Json& json, const std::string& path, std::string& value) {
    if (!json.is_string()) fail(path, fmt::format("must be a string, not {}", excerpt(json)));
    value = json.get<std::string>();
  }
  template <typename T>
  requires std::is_integral_v<T>
  static void read(const Json& json, const std::string& path, T& value) {
    const bool too_large =
        json.is_number_unsigned() &&
        json.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<T>::max());
    if (!json.is_number_integer() || too_large ||
        json.get<std::int64_t>() < std::numeric_limits<T>::min() ||
        json.get<std::int64_t>() > std::numeric_limits<T>::max()) {
      fail(path, fmt::format("must be an integer of {} bits, not {}", sizeof(T) * 8, excerpt(json)));
    }
    value = json.get<T>();
  }
  template <typename T>
  requires std::is_enum_v<T>
  static void read(const Json& json, const std::string& path, T& value) {
    std::string word;
    read(json, path, word);
    std::vector<std::string> legal;
    for (T candidate : Words<T>::values) {
      legal.push_back(to_string(candidate));
      if (legal.back() == word) {
        value = candidate;
        return;
      }
    }
    fail(path, fmt::format("unknown word \"{}\"{}; legal are {}", word, did_you_mean(word, legal),
                           joined(legal)));
  }
  template <typename T>
  static void read(const Json& json, const std::string& path, std::vector<T>& values) {
    if (!json.is_array()) fail(path, fmt::format("must be an array, not {}", excerpt(json)));
    values.clear();
    for (const auto& item : json) {
      values.emplace_back();
      read(item, fmt::format("{}[{}]", path, values.size() - 1), values.back());
    }
  }

  const Json& object_;
  std::string path_;
  std::vector<std::string> asked_;
};

const Json& array_at(Reader& reader, const char* key) {
  const Json& json = reader.at(key);
  if (!json.is_array()) fail(reader.path_of(key), "must be an array");
  return json;
}

/// A directive whose alternative is the one of index `index`.
template <std::size_t I = 0>
Op make_op(std::size_t index) {
  if constexpr (I < std::variant_size_v<Op>) {
    if (index == I) return Op(std::in_place_index<I>);
    return make_op<I + 1>(index);
  } else {
    throw InternalError("a directive word without a directive");
  }
}

Directive read_directive(const Json& json, const std::string& path) {
  Reader reader(json, path);
  std::string word;
  reader("do", word);
  const auto* const found = std::find(std::begin(kDirectiveWords), std::end(kDirectiveWords), word);
  if (found == std::end(kDirectiveWords)) {
    const std::vector<std::string> legal(std::begin(kDirectiveWords), std::end(kDirectiveWords));
    fail(path + ".do", fmt::format("unknown directive \"{}\"{}; legal are {}", word,
                                   did_you_mean(word, legal), joined(legal)));
  }
  Directive directive;
  directive.op = make_op(static_cast<std::size_t>(found - std::begin(kDirectiveWords)));
  std::visit([&](auto& d) { fields(reader, d); }, directive.op);
  reader.finish();
  return directive;
}

}  // namespace

std::string to_json(const Schedule& schedule) {
  Json stages = Json::array();
  for (const auto& stage : schedule.stages) {
    Json directives = Json::array();
    for (const auto& directive : stage.directives) {
      Json object = {{"do", kDirectiveWords[directive.op.index()]}};
      Writer writer{object};
      Op op = directive.op;
      std::visit([&](auto& d) { fields(writer, d); }, op);
      directives.push_back(std::move(object));
    }
    stages.push_back(
        Json{{"func", stage.func}, {"update", stage.update}, {"directives", std::move(directives)}});
  }
  const Json document = {{kVersionKey, kVersion}, {"stages", std::move(stages)}};
  try {
    return document.dump(2) + "\n";
  } catch (const Json::type_error& error) {
    throw UserError(fmt::format("schedule: a name is not UTF-8: {}", error.what()));
  }
}

Schedule schedule_from_json(const std::string& text) {
  Json document;
  try {
    document = Json::parse(text);
  } catch (const Json::exception& error) {  // parse_error, or out_of_range for a number such as 1e400
    throw UserError(fmt::format("schedule: the text is no JSON: {}", error.what()));
  }
  Reader top(document, "document");
  int version = 0;
  top(kVersionKey, version);
  if (version != kVersion) {
    fail(top.path_of(kVersionKey),
         fmt::format("version {} is unknown; this library reads version {}", version, kVersion));
  }
  Schedule schedule;
  for (const auto& stage_json : array_at(top, "stages")) {
    const std::string path = fmt::format("stages[{}]", schedule.stages.size());
    Reader reader(stage_json, path);
    StageSchedule stage;
    reader("func", stage.func);
    reader("update", stage.update);
    for (const auto& json : array_at(reader, "directives")) {
      stage.directives.push_back(
          read_directive(json, fmt::format("{}.directives[{}]", path, stage.directives.size())));
    }
    reader.finish();
    schedule.stages.push_back(std::move(stage));
  }
  top.finish();
  return schedule;
}

void save_schedule(const Schedule& schedule, const std::string& path) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << to_json(schedule);
  file.close();
  if (!file) throw UserError(fmt::format("cannot write the schedule to {}", path));
}

Schedule load_schedule(const std::string& path) {
  std::error_code unknown;  // what there is to say is said when the file is read
  if (std::filesystem::is_directory(path, unknown)) {
    throw UserError(fmt::format("cannot read a schedule from {}: it is a folder", path));
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file) throw UserError(fmt::format("cannot read a schedule from {}", path));
  try {
    return schedule_from_json(text.str());
  } catch (const UserError& error) {
    throw UserError(fmt::format("{}: {}", path, error.what()));
  }
}

}  // namespace mica
