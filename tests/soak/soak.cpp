// mica_soak: Mica at work for a long time, in several processes and threads, some of them killed; every
// result is compared bit by bit with that of an undisturbed computation. CONTRIBUTING.md says how to run
// it, docs/reliability.md what it has seen.
#include <cstdio>
#include <exception>
#include <map>
#include <string>

#include <CLI/CLI.hpp>

#include "tests/soak/gpu.h"
#include "tests/soak/problems.h"
#include "tests/soak/processes.h"
#include "tests/soak/worker.h"

namespace {

using mica::soak::Fault;
using mica::soak::Folder;

const std::map<std::string, Fault> kFaults = {
    {"none", Fault::None}, {"bits", Fault::Bits},   {"leak", Fault::Leak},   {"crash", Fault::Crash},
    {"hang", Fault::Hang}, {"store", Fault::Store}, {"cache", Fault::Cache}, {"lost", Fault::Lost}};

int run(int argc, char** argv) {
  CLI::App app("Runs Mica for a long time in processes that share a cache and a store and are killed.");
  mica::soak::SoakOptions soak;
  mica::soak::WorkerOptions worker;
  worker.place = -1;
  std::string references;
  app.add_option("--seconds", soak.seconds, "how long")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--processes", soak.processes)
      ->capture_default_str()
      ->check(CLI::Range(1, mica::soak::kMostProcesses));
  app.add_option("--threads", soak.threads, "of each process")
      ->capture_default_str()
      ->check(CLI::Range(1, mica::soak::kMostThreads));
  app.add_option("--kill-every", soak.kill_every, "seconds between two kills in the mean; 0: none")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.add_option("--patience", soak.patience, "seconds without a result after which a process hangs")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", soak.seed)->capture_default_str();
  app.add_option("--folder", soak.folder, "an empty one, which is kept");
  app.add_option("--fault", soak.fault, "a fault made on purpose, which must be found")
      ->transform(CLI::CheckedTransformer(kFaults));
  bool gpu = false, fault_kernel = false;
  app.add_flag("--gpu", gpu, "one process on the first GPU, or the emulator, without kills");
  // What a soak starts itself with.
  app.add_flag("--fault-kernel", fault_kernel)->group("");
  app.add_option("--references", references)->group("");
  app.add_option("--worker", worker.place)->group("");
  app.add_option("--sample", worker.sample_every)->group("");
  CLI11_PARSE(app, argc, argv);
  if (!references.empty()) {
    mica::soak::write_references(mica::soak::compute_references(), Folder(references).references());
    return 0;
  }
  if (fault_kernel) return mica::soak::fault_on_gpu();
  if (gpu) {
    return mica::soak::soak_gpu(
        {.seconds = soak.seconds, .threads = soak.threads, .seed = soak.seed, .fault = soak.fault});
  }
  if (worker.place < 0) return mica::soak::soak(soak);
  worker.threads = soak.threads;
  worker.seed = soak.seed;
  worker.fault = soak.fault;
  return work(Folder(soak.folder), worker);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "mica_soak: %s\n", e.what());
    return 2;
  }
}
