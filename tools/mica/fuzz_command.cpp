// mica fuzz: random algorithms under random schedules against the oracle.
#include <iostream>

#include "fuzz/campaign.h"
#include "tools/mica/commands.h"

namespace mica::tools {

void add_fuzz(CLI::App& app) {
  struct Choice {
    test::CampaignOptions options;
    std::string target = "emulator";
    bool refusals = false, wide = false;
  };
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
  command
      ->add_option("--seed", options.first_seed, "the first pair's seed; the next has the next number")
      ->check(natural_number())
      ->capture_default_str();
  command->add_option("--target", choice->target, "host, host-checked, emulator, cuda or cuda:N")
      ->capture_default_str();
  command->add_flag("--illegal", options.illegal,
                    "draw directives without asking whether they are legal");
  command->add_option("--known", options.known, "pass over failures whose message contains this");
  command->add_option("--shrink-seconds", options.shrink_seconds, "seconds for making a failure smaller")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_flag("--refusals", choice->refusals, "list what schedules were refused for");
  add_wide(*command, choice->wide);
  set_example(*command, "mica fuzz --seconds 2 --seed 7 --target emulator");
  command->callback([choice] {
    choice->options.target =
        choice->target == "cuda" ? Target{Backend::Cuda, 0} : Target::parse(choice->target);
    const test::CampaignResult result = test::run_campaign(choice->options);
    {
      bench::Page page = page_on_stdout(choice->wide);
      page << to_string(result) << "\n";
      if (choice->refusals) {
        for (const auto& [message, count] : result.refusals) page << count << "  " << message << "\n";
      }
    }
    if (!result.failed) return;
    std::cout << "seed " << result.failed->seed << " fails:\n"
              << to_string(*result.shrunk, result.outcome);
    throw CLI::RuntimeError(1);
  });
}

}  // namespace mica::tools
