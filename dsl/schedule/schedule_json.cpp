// Schedules as JSON:
//
//   {"mica_schedule": 1,
//    "stages": [{"func": "next", "update": 0,
//                "directives": [{"do": "gpu_tile", "vars": ["x", "y"], "sizes": [32, 8],
//                                "tail": "Auto"}]}]}
//
// Every key is required and no other is accepted, so that a misspelt one is never overlooked.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dsl/expr/names.h"
#include "dsl/schedule/directive_fields.h"
#include "dsl/schedule/json_depth.h"
#include "dsl/schedule/schedule.h"

namespace mica {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr const char* kVersionKey = "mica_schedule";
constexpr const char* kStepsKey = "steps";  // where several are taken at once

using directive::Words;

// ---- writing ---------------------------------------------------------------------------------------

Json directive_json(const Directive& directive) {
  Json object = {{"do", directive::traits_of(directive).word}};
  std::visit(
      [&](const auto& op) {
        directive::for_each_field(op, [&](const auto& field, const auto& value) {
          if constexpr (std::is_enum_v<std::remove_cvref_t<decltype(value)>>) {
            object[field.key] = to_string(value);
          } else {
            object[field.key] = value;
          }
        });
      },
      directive.op);
  return object;
}

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

/// The words of the "do" key, in the order of Directive::op's alternatives.
std::vector<std::string> directive_words() {
  std::vector<std::string> words;
  directive::for_each_kind([&]<typename D>() { words.emplace_back(D::traits.word); });
  return words;
}

Directive read_directive(const Json& json, const std::string& path) {
  static const std::vector<std::string> legal = directive_words();
  Reader reader(json, path);
  std::string word;
  reader("do", word);
  const auto found = std::find(legal.begin(), legal.end(), word);
  if (found == legal.end()) {
    fail(path + ".do", fmt::format("unknown directive \"{}\"{}; legal are {}", word,
                                   did_you_mean(word, legal), joined(legal)));
  }
  Directive directive;
  directive.op = directive::op_of_kind(static_cast<std::size_t>(found - legal.begin()));
  std::visit(
      [&](auto& op) {
        directive::for_each_field(op, [&](const auto& field, auto& value) { reader(field.key, value); });
      },
      directive.op);
  reader.finish();
  return directive;
}

}  // namespace

std::string to_json(const Schedule& schedule) {
  Json stages = Json::array();
  for (const auto& stage : schedule.stages) {
    Json directives = Json::array();
    for (const auto& directive : stage.directives) directives.push_back(directive_json(directive));
    stages.push_back(
        Json{{"func", stage.func}, {"update", stage.update}, {"directives", std::move(directives)}});
  }
  Json document = {{kVersionKey, kVersion}, {"stages", std::move(stages)}};
  if (schedule.steps != 1) document[kStepsKey] = schedule.steps;
  try {
    return document.dump(2) + "\n";
  } catch (const Json::type_error& error) {
    throw UserError(fmt::format("schedule: a name is not UTF-8: {}", error.what()));
  }
}

Schedule schedule_from_json(const std::string& text) {
  if (nests_deeper(text)) fail("document", "it nests deeper than any schedule");
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
    DefinitionSchedule stage;
    reader("func", stage.func);
    reader("update", stage.update);
    for (const auto& json : array_at(reader, "directives")) {
      stage.directives.push_back(
          read_directive(json, fmt::format("{}.directives[{}]", path, stage.directives.size())));
    }
    reader.finish();
    schedule.stages.push_back(std::move(stage));
  }
  if (document.contains(kStepsKey)) top(kStepsKey, schedule.steps);
  if (schedule.steps < 1) {
    fail(top.path_of(kStepsKey), fmt::format("{} steps at once; 1 at least are", schedule.steps));
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
