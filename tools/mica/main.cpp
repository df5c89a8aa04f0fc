// mica: looks at named schedules and at what the compiler makes of them.
#include <algorithm>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench/page.h"
#include "dsl/expr/names.h"
#include "schedules/tune/store.h"
#include "tools/mica/commands.h"

namespace {

using mica::bench::Ink;
using mica::bench::Inked;
using mica::bench::Page;

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

// The commands that are named, from the program itself to the innermost.
std::vector<const CLI::App*> named_commands(const CLI::App& app) {
  std::vector<const CLI::App*> all{&app};
  for (auto inner = app.get_subcommands(); !inner.empty(); inner = all.back()->get_subcommands()) {
    all.push_back(inner.front());
  }
  return all;
}

// "mica tuned list", without its first word.
std::string words_of(const std::vector<const CLI::App*>& commands) {
  std::string words;
  for (std::size_t i = 1; i < commands.size(); ++i) {
    words += (words.empty() ? "" : " ") + commands[i]->get_name();
  }
  return words;
}

// What is wrong with a command line, and what was meant.
std::string fault_of(const CLI::App& app, const CLI::ParseError& error) {
  const bool is_required = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  if (!is_required && dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) return error.what();
  const std::vector<std::string> extra = app.remaining(true);
  const std::vector<const CLI::App*> commands = named_commands(app);
  const CLI::App& last = *commands.back();
  if (last.get_require_subcommand_min() > 0) {
    const std::vector<std::string> names = command_names(last);
    const std::string behind = commands.size() > 1 ? " of " + words_of(commands) : "";
    const std::string legal = "; the commands" + behind + " are " + mica::joined(names);
    for (const std::string& word : extra) {
      if (word.starts_with("-")) return "there is no option " + word + " before the command" + legal;
      return "there is no command " + word + mica::did_you_mean(word, names) + legal;
    }
    return "a command is missing" + legal;
  }
  std::vector<std::string> options;
  for (std::size_t i = 1; i < commands.size(); ++i) {
    for (const CLI::Option* option : commands[i]->get_options()) {
      for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
    }
  }
  for (const std::string& word : extra) {
    if (!word.starts_with("-")) continue;
    const std::string name = word.substr(0, word.find('='));
    if (std::find(options.begin(), options.end(), name) != options.end()) {
      return name + " stands before the command; it belongs behind " + words_of(commands);
    }
    return "there is no option " + name + mica::did_you_mean(name, options) + "; the options of " +
           words_of(commands) + " are " + mica::joined(options);
  }
  return error.what();
}

// The help that a fault should send its reader to.
std::string help_for(const CLI::App& app) {
  const std::string words = words_of(named_commands(app));
  return "mica " + words + (words.empty() ? "" : " ") + "--help";
}

void print_error(const std::string& message) {
  Page page(std::cerr, Page::kColumns, mica::bench::shows_color(2));
  page << Inked{Ink::Bad, "mica:"} << " " << message << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Mica: stencils and schedules for NVIDIA GPUs", "mica");
  app.set_version_flag("--version", "mica " + mica::tuning::mica_version());
  app.require_subcommand(1);
  mica::tools::add_list(app);
  mica::tools::add_show(app);
  mica::tools::add_plan(app);
  mica::tools::add_traffic(app);
  mica::tools::add_dump(app);
  mica::tools::add_ptx(app);
  mica::tools::add_export(app);
  mica::tools::add_bench(app);
  mica::tools::add_tune(app);
  mica::tools::add_tuned(app);
  mica::tools::add_fuzz(app);
  mica::tools::set_example(app, "mica show pmpp/register-march --size 256");
  // The status is 0 when all is done and printed, 1 for an error, 2 for a wrong command line.
  try {
    app.parse(argc, argv);
    if (!std::cout.flush()) throw mica::UserError("what was to be printed could not be written");
  } catch (const CLI::RuntimeError& e) {
    return e.get_exit_code();  // the command has said why
  } catch (const CLI::Success& e) {
    Page page(std::cout, Page::kColumns, false);
    return app.exit(e, page, page);
  } catch (const CLI::ParseError& e) {
    print_error(fault_of(app, e) + "\n`" + help_for(app) + "` has all options and an example");
    return 2;
  } catch (const std::bad_alloc&) {
    print_error("memory runs out: give a smaller --size");
    return 1;
  } catch (const std::exception& e) {
    print_error(e.what());
    return 1;
  }
  return 0;
}
