// mica tuned: the store of tuned schedules.
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "dsl/expr/names.h"
#include "schedules/tune/store.h"
#include "tools/mica/commands.h"

namespace mica::tools {
namespace {

using tuning::TunedEntry;
using tuning::TuneStore;

struct Choice {
  std::string filter, file;
  bool all = false, wide = false;
};

TuneStore opened() {
  const auto path = TuneStore::path_from_environment();
  if (path.empty()) {
    throw UserError(
        "there is no store of tuned schedules: MICA_TUNE_STORE is \"off\", or neither it nor HOME is "
        "set");
  }
  return TuneStore(path);
}

void list(const Choice& choice) {
  const TuneStore store = opened();
  bench::Page out = page_on_stdout(choice.wide);
  for (const TunedEntry& entry : store.list(choice.filter)) {
    out << fmt::format("{:%Y-%m-%d}  {}\n", fmt::gmtime(static_cast<std::time_t>(entry.when)),
                       entry.text());
  }
}

void show(const Choice& choice) {
  const TuneStore store = opened();
  const auto entries = store.list(choice.filter);
  if (entries.empty())
    throw UserError("nothing that is tuned has a name or device with \"" + choice.filter + "\"");
  bench::Page out = page_on_stdout(choice.wide);
  for (const TunedEntry& entry : entries) {
    out << entry.text() << "\n  algorithm " << fmt::format("{:016x}", entry.key.algorithm) << ", Mica "
        << entry.version << "\n";
    for (const TuneCandidate& trial : store.trials(entry.key)) {
      out << (trial.measured > 0 ? fmt::format("  {:9.4f} ms", trial.measured * 1e3) : "    refused   ")
          << fmt::format("  predicted {:9.4f} ms  {}{}\n", trial.predicted * 1e3, trial.text(),
                         trial.refused.empty() ? "" : ": " + trial.refused);
    }
  }
}

void write(const Choice& choice) {
  const std::string text = opened().to_json(choice.filter);
  if (choice.file.empty()) {
    std::cout << text;
    return;
  }
  std::ofstream out(choice.file, std::ios::binary);
  out << text;
  if (!out.flush()) throw UserError("cannot write " + choice.file);
}

void read(const Choice& choice) {
  std::ifstream in(choice.file, std::ios::binary);
  if (!in) throw UserError("cannot read " + choice.file);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  std::cout << counted(opened().from_json(text), "schedule") << " taken up\n";
}

void forget(const Choice& choice) {
  if (choice.filter.empty() && !choice.all) {
    throw UserError("name what to forget, or give --all");
  }
  std::cout << counted(opened().forget(choice.filter), "schedule") << " forgotten\n";
}

}  // namespace

void add_tuned(CLI::App& app) {
  auto* tuned = app.add_subcommand(
      "tuned",
      "the schedules that tuning found, kept in ~/.local/share/mica/tuned.db or MICA_TUNE_STORE");
  tuned->require_subcommand(1);
  auto choice = std::make_shared<Choice>();
  const auto add = [&](const char* name, const char* text, void (*run)(const Choice&),
                       const char* example = "") {
    auto* command = tuned->add_subcommand(name, text);
    set_example(*command, std::string("mica tuned ") + name + example);
    command->callback([choice, run] { run(*choice); });
    return command;
  };
  const auto filtered = [&](CLI::App* command) {
    command->add_option("filter", choice->filter, "those whose name or device contains it");
    return command;
  };
  add_wide(*filtered(add("list", "one line a schedule", list)), choice->wide);
  add_wide(*filtered(add("show", "schedules and all that was measured on the way", show)), choice->wide);
  filtered(add("export", "schedules as JSON", write, " -o tuned.json"))
      ->add_option("--output,-o", choice->file, "file (default: standard output)");
  add("import", "takes up what export wrote", read, " tuned.json")
      ->add_option("file", choice->file, "JSON file")
      ->required();
  filtered(add("forget", "removes schedules and their measurements", forget, " next"))
      ->add_flag("--all", choice->all, "all of them");
  set_example(*tuned, "mica tuned list next");
}

}  // namespace mica::tools
