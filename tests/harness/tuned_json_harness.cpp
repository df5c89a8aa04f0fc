// Tuned schedules as JSON, as `mica tuned import` takes them up.
#include "schedules/tune/store.h"
#include "tests/harness/harness.h"

namespace {

/// A store in memory.
mica::tuning::TuneStore& store() {
  static mica::tuning::TuneStore made(":memory:");
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    (void)store().from_json({reinterpret_cast<const char*>(data), size});
    (void)store().from_json(store().to_json());
  } catch (const mica::UserError&) {
  }
  (void)store().forget("");
  return 0;
}

std::vector<std::string> mica::test::harness_seeds() {
  tuning::TuneStore made(":memory:");
  tuning::TunedEntry entry;
  entry.key = {0xabcdef, "some CPU", {512, 512}};
  entry.name = "next";
  entry.version = tuning::mica_version();
  entry.best.recipe = "host/rows";
  entry.best.parameters = {{"chunk", 32}};
  entry.best.measured = 0.25;
  made.keep(entry);
  const std::string one = made.to_json();
  entry.key.extents = {9, 9};
  entry.best.recipe = "";
  made.keep(entry);
  return {one, made.to_json()};
}
