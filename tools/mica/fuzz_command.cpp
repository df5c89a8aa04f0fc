// mica fuzz: random algorithms under random schedules against the oracle.
#include <iostream>
#include <memory>

#include "fuzz/campaign.h"
#include "fuzz/kept_campaign.h"
#include "fuzz/stop_signals.h"
#include "tools/mica/commands.h"

namespace mica::tools {
namespace {

struct Choice {
  test::CampaignOptions options;
  std::string target, file;
  bool refusals = false, wide = false, report = false;
  bool has_seed = false;
};

Target target_of(const std::string& name) {
  return name == "cuda" ? Target{Backend::Cuda, 0} : Target::parse(name);
}

void print_refusals(bench::Page& page, const test::CampaignResult& result) {
  for (const auto& [message, count] : result.refusals) page << count << "  " << message << "\n";
}

/// A search that ends at its first failure.
void search(const Choice& choice) {
  const test::CampaignResult result = test::run_campaign(choice.options);
  {
    bench::Page page = page_on_stdout(choice.wide);
    page << to_string(result) << "\n";
    if (choice.refusals) print_refusals(page, result);
  }
  if (!result.failed) return;
  std::cout << "seed " << result.failed->seed << " fails:\n"
            << to_string(*result.shrunk, result.outcome);
  throw CLI::RuntimeError(1);
}

/// A search that is kept in a file; what is not said is as the file has it.
void search_in_file(Choice choice) {
  if (const auto kind = test::CampaignFile::kind_of(choice.file)) {
    if (choice.target.empty()) choice.options.target = target_of(kind->target);
    if (!choice.has_seed) choice.options.first_seed = kind->first_seed;
    choice.options.illegal = choice.options.illegal || kind->illegal;
  }
  test::StopSignals signals;
  bench::Page page = page_on_stdout(choice.wide);
  const test::KeptCampaignResult result =
      test::run_kept_campaign({choice.file, choice.options, [&] { return signals.asked(); },
                               [&](const std::string& line) { page << line << "\n"
                                                                   << std::flush; }});
  page << to_string(result.ran) << (result.stopped ? ", stopped" : "") << "\n";
  if (choice.refusals) print_refusals(page, result.ran);
  if (result.found + result.failing_again == 0) return;
  page << result.found << " found, " << result.failing_again
       << " of those before still fail: `mica fuzz "
       << "--campaign " << choice.file << " --report` shows them\n";
  throw CLI::RuntimeError(1);
}

}  // namespace

void add_fuzz(CLI::App& app) {
  auto* command = app.add_subcommand("fuzz", "random algorithms and schedules against an interpreter");
  auto choice = std::make_shared<Choice>();
  test::CampaignOptions& options = choice->options;
  options.seconds = 60;
  command->add_option("--seconds", options.seconds, "run for so many seconds (0: no limit)")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      ->add_option("--pairs", options.cases, "run so many algorithms with a schedule each (0: no limit)")
      ->check(natural_number());
  auto* seed = command
                   ->add_option("--seed", options.first_seed,
                                "the first pair's seed; the next has the next number")
                   ->check(natural_number())
                   ->capture_default_str();
  command->add_option("--target", choice->target, "host, host-checked, emulator, cuda or cuda:N")
      ->default_str("emulator");
  command->add_flag("--illegal", options.illegal,
                    "draw directives without asking whether they are legal");
  command->add_option("--known", options.known, "pass over failures whose message contains this");
  command->add_option("--shrink-seconds", options.shrink_seconds, "seconds for making a failure smaller")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      ->add_option("--case-seconds", options.seconds_a_case,
                   "processor time of a pair; one that takes longer fails")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  command->add_flag("--refusals", choice->refusals, "list what schedules were refused for");
  auto* file = command->add_option(
      "--campaign", choice->file,
      "keep seeds done and failures in this file: begun again, or by several processes at once, the "
      "search goes on there. It does not end at a failure; first it runs what failed before");
  command->add_flag("--report", choice->report, "show what the campaign has seen, and search nothing")
      ->needs(file);
  add_wide(*command, choice->wide);
  set_example(*command, "mica fuzz --seconds 2 --seed 7 --target emulator");
  command->callback([choice, seed] {
    if (choice->report) {
      page_on_stdout(choice->wide) << to_string(test::CampaignFile::summary(choice->file));
      return;
    }
    choice->options.target = target_of(choice->target.empty() ? "emulator" : choice->target);
    choice->has_seed = seed->count() > 0;
    if (choice->file.empty()) {
      search(*choice);
    } else {
      search_in_file(*choice);
    }
  });
}

}  // namespace mica::tools
