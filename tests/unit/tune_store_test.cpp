// The store of tuned schedules: what it finds again, and whatever happens to its file.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "schedules/mica.h"
#include "schedules/tune/graph_mark.h"
#include "schedules/tune/store.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace mica::tuning {
namespace {

using test::fails_with;

TunedEntry entry(std::vector<std::int64_t> extents, std::int64_t chunk = 32) {
  TunedEntry e;
  e.key = {0xabcdef, "some CPU", std::move(extents)};
  e.name = "next";
  e.version = mica_version();
  e.best.recipe = "host/rows";
  e.best.parameters = {{"chunk", chunk}};
  e.best.measured = 0.25;
  e.without = 0.5;
  return e;
}

class Store : public ::testing::Test {
 protected:
  test::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "deep" / "tuned.db";
};

TEST_F(Store, FindsWhatItKeepsInAnotherProcessToo) {
  { TuneStore(path_).keep(entry({512, 512, 512})); }
  const auto found = TuneStore(path_).find({0xabcdef, "some CPU", {512, 512, 512}});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->best.recipe, "host/rows");
  EXPECT_EQ(found->best.parameters, (schedules::Parameters{{"chunk", 32}}));
  EXPECT_EQ(found->best.measured, 0.25);
  EXPECT_EQ(found->without, 0.5);
  EXPECT_EQ(found->key.extents, (std::vector<std::int64_t>{512, 512, 512}));
}

TEST_F(Store, FindsTheSameClassOfShapesFirstThenTheNearest) {
  TuneStore store(path_);
  store.keep(entry({512, 512}, 1));
  store.keep(entry({2048, 2048}, 2));
  const auto chunk = [&](std::vector<std::int64_t> extents) -> std::int64_t {
    const auto found = store.find({0xabcdef, "some CPU", std::move(extents)});
    return found ? found->best.parameters.at("chunk") : 0;
  };
  EXPECT_EQ(chunk({500, 600}), 1);
  EXPECT_EQ(chunk({700, 512}), 1);
  EXPECT_EQ(chunk({1500, 1500}), 2);
  EXPECT_EQ(chunk({8192, 2048}), 2);
  EXPECT_EQ(chunk({8193 * 2, 2048}), 0);  // more than four times as wide
  EXPECT_EQ(chunk({512}), 0);
  EXPECT_FALSE(store.find({0xabcdee, "some CPU", {512, 512}}).has_value());
  EXPECT_FALSE(store.find({0xabcdef, "another CPU", {512, 512}}).has_value());
  store.keep(entry({520, 520}, 9));  // of the class of 512
  EXPECT_EQ(chunk({512, 512}), 9);
  EXPECT_EQ(store.list().size(), 2U);
}

TEST_F(Store, FindsNothingOfAnotherVersion) {
  TuneStore store(path_);
  TunedEntry old = entry({512, 512});
  old.version = "0.0.1";
  store.keep(old);
  EXPECT_FALSE(store.find(old.key).has_value());
  old.version = "999.0.0";
  store.keep(old);
  EXPECT_FALSE(store.find(old.key).has_value());
}

TEST_F(Store, KeepsTheSchedulesOfEachDevice) {
  TuneStore store(path_);
  TunedEntry one = entry({512, 512}, 1), other = entry({512, 512}, 2);
  other.key.device = "another CPU";
  store.keep(one);
  store.keep(other);
  EXPECT_EQ(store.list().size(), 2U);
  EXPECT_EQ(store.find(one.key)->best.parameters.at("chunk"), 1);
  EXPECT_EQ(store.find(other.key)->best.parameters.at("chunk"), 2);
}

TEST_F(Store, FindsTheNearestWhateverItsPlaceInTheFile) {
  TuneStore store(path_);
  store.keep(entry({256, 256}, 1));
  store.keep(entry({1024, 1024}, 3));
  const auto chunk = [&](std::int64_t n) {
    return store.find({0xabcdef, "some CPU", {n, n}})->best.parameters.at("chunk");
  };
  EXPECT_EQ(chunk(400), 1);
  EXPECT_EQ(chunk(600), 3);
}

TEST_F(Store, KeepsTrialsOfExactlyTheseExtents) {
  TuneStore store(path_);
  const TunedKey key = entry({512, 512}).key;
  TuneCandidate a, b;
  a.recipe = b.recipe = "host/rows";
  a.parameters = {{"chunk", 1}};
  b.parameters = {{"chunk", 2}};
  a.measured = 1.5;
  b.refused = "no";
  store.keep_trial(key, a);
  store.keep_trial(key, b);
  a.measured = 1.25;
  store.keep_trial(key, a);
  const auto trials = store.trials(key);
  ASSERT_EQ(trials.size(), 2U);
  EXPECT_EQ(trials[0].refused, "no");
  EXPECT_EQ(trials[1].measured, 1.25);
  EXPECT_TRUE(store.trials(entry({512, 513}).key).empty());
}

TEST_F(Store, WaitsForOthersThatWrite) {
  using std::chrono::milliseconds;
  { const TuneStore store(path_); }
  Database other(path_, "other");
  std::optional<Transaction> writing(std::in_place, other);
  EXPECT_THROW(TuneStore(path_, milliseconds(0)).keep(entry({512, 512})), DeviceError);
  const std::jthread ends_later([&] {
    std::this_thread::sleep_for(milliseconds(300));
    writing->commit();
  });
  TuneStore(path_, milliseconds(60000)).keep(entry({512, 512}));
  EXPECT_EQ(TuneStore(path_).list().size(), 1U);
}

TEST_F(Store, ExportsImportsAndForgets) {
  TuneStore store(path_);
  store.keep(entry({512, 512}));
  store.keep(entry({64, 64}));
  const std::string text = store.to_json("nex");
  EXPECT_EQ(store.forget("some"), 2U);
  EXPECT_TRUE(store.list().empty());
  EXPECT_EQ(store.from_json(text), 2U);
  EXPECT_EQ(store.list().size(), 2U);
  EXPECT_EQ(store.forget("other"), 0U);
  EXPECT_TRUE(fails_with([&] { store.from_json("{"); }, {"cannot be read"}));
  EXPECT_TRUE(fails_with([&] { store.from_json(R"({"mica_tuned": 7, "entries": []})"); }, {"format 7"}));
  std::string other = text;
  other.replace(other.find("host/rows"), 9, "host/rowz");
  EXPECT_TRUE(fails_with([&] { store.from_json(other); }, {"host/rowz", "host/rows"}));
  EXPECT_EQ(store.list().size(), 2U);
}

// A Func's name may be any bytes, and JSON is UTF-8.
TEST_F(Store, ExportsNamesThatAreNoText) {
  TuneStore store(path_);
  TunedEntry named = entry({512, 512});
  named.name =
      "\xFF"
      "next";
  store.keep(named);
  const std::string text = store.to_json("next");
  EXPECT_EQ(store.forget("next"), 1U);
  EXPECT_EQ(store.from_json(text), 1U);
  EXPECT_EQ(store.list("next").size(), 1U);
}

// ---- files -----------------------------------------------------------------------------------------

TEST_F(Store, SaysThatAFileIsNone) {
  std::filesystem::create_directories(path_.parent_path());
  std::ofstream(path_) << std::string(4096, 'x');
  try {
    const TuneStore store(path_);
    FAIL() << "no error";
  } catch (const DeviceError& e) {
    EXPECT_NE(std::string(e.what()).find(path_.string()), std::string::npos) << e.what();
  }
}

TEST_F(Store, SaysThatItIsOfANewerMica) {
  { const TuneStore store(path_); }
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "PRAGMA user_version = 99", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(database);
  EXPECT_TRUE(
      fails_with([&] { const TuneStore store(path_); }, {"format 99", "knows 1", "MICA_TUNE_STORE"}));
}

TEST_F(Store, IsReadWhereItMayNotBeWritten) {
  { TuneStore(path_).keep(entry({512, 512})); }
  std::filesystem::permissions(path_, std::filesystem::perms::owner_read);
  std::filesystem::permissions(path_.parent_path(),
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  TuneStore store(path_);
  EXPECT_TRUE(store.find(entry({512, 512}).key).has_value());
  if (geteuid() != 0) {  // root writes anything
    EXPECT_THROW(store.keep(entry({64, 64})), DeviceError);
  }
  std::filesystem::permissions(path_.parent_path(), std::filesystem::perms::owner_all);
}

TEST_F(Store, IsWrittenBySeveralProcessesAndThreadsAtOnce) {
  constexpr int kProcesses = 3, kThreads = 2, kEach = 20;
  { const TuneStore store(path_); }
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = fork();
    if (child != 0) continue;
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        TuneStore store(path_, Database::kLongWait);
        for (int i = 0; i < kEach; ++i) {
          TunedEntry e = entry({512});
          e.key.algorithm = static_cast<std::uint64_t>((p * kThreads + t) * kEach + i);
          store.keep(e);
        }
      });
    }
    threads.clear();
    _exit(0);
  }
  for (int p = 0; p < kProcesses; ++p) {
    int status = -1;
    wait(&status);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(TuneStore(path_).list().size(), std::size_t{kProcesses * kThreads * kEach});
}

// ---- tune and realize with a store -----------------------------------------------------------------

class Kept : public Store {
 protected:
  Kept() { setenv("MICA_TUNE_STORE", path_.c_str(), 1); }
  ~Kept() override {
    setenv("MICA_TUNE_STORE", "off", 1);
    unsetenv("MICA_TUNE");
  }
  static Func sum(std::vector<std::string>* lines = nullptr) {
    Var x("x"), y("y");
    Func scaled("scaled"), next("next");
    scaled(x, y) = cast<float>(x) * 0.5F + cast<float>(y);
    next(x, y) = scaled(x - 1, y) + scaled(x + 1, y);
    if (lines != nullptr) scaled.trace_realizations();
    return next;
  }
};

TEST_F(Kept, ASecondSearchTakesUpTheFirst) {
  TuneOptions options{.extents = {100, 50}};
  options.target = Target::host();
  options.budget = 4;
  const TuneResult first = tune(sum(), options);
  EXPECT_EQ(first.note, "");
  int measured = 0;
  options.progress = [&](const TuneCandidate&, const TuneCandidate&) { ++measured; };
  options.budget = 6;
  const TuneResult second = tune(sum(), options);
  ASSERT_EQ(second.candidates.size(), 6U);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(second.candidates[i].text(), first.candidates[i].text());
  const auto found = TuneStore(path_).find({graph_mark(sum()), device_name(Target::host()), {100, 50}});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->best.text(), second.best.text());
}

// No schedule is no find where nothing was compared with it.
TEST_F(Kept, ASearchThatComparesNothingLeavesWhatIsThere) {
  TunedEntry known = entry({104, 52});  // of the same class of shapes
  known.key = {graph_mark(sum()), device_name(Target::host()), {104, 52}};
  TuneStore(path_).keep(known);
  TuneOptions options{.extents = {100, 50}};
  options.target = Target::host();
  options.budget = 1;
  const TuneResult found = tune(sum(), options);
  EXPECT_NE(found.note.find("before it could compare"), std::string::npos) << found.note;
  const TunedKey key{graph_mark(sum()), device_name(Target::host()), {100, 50}};
  ASSERT_TRUE(TuneStore(path_).find(key).has_value());
  EXPECT_EQ(TuneStore(path_).find(key)->best.text(), known.best.text());
  // Of an algorithm that has nothing else the search says so once.
  const Var x("x");
  Func recurrence("recurrence");
  recurrence(x) = select(x == 0, 1.0F, recurrence(x - 1) * 0.5F);
  options.extents = {100};
  options.budget = 4;
  EXPECT_EQ(tune(recurrence, options).note, "");
  EXPECT_TRUE(TuneStore(path_).find({graph_mark(recurrence), device_name(Target::host()), {100}}));
}

// Trials of a Mica of the same number whose schedules had other parameters, and times that cannot be.
TEST_F(Kept, ASearchOutlivesTrialsThatItCannotRepeat) {
  TuneCandidate unknown, illegal, gone;
  unknown.recipe = illegal.recipe = "host/rows";
  gone.recipe = "no/such";
  unknown.parameters = {{"width", 3}};
  illegal.parameters = {{"vec", 3}};
  unknown.measured = illegal.measured = gone.measured = 1e-9;
  for (TuneCandidate* c : {&unknown, &illegal, &gone}) {
    TuneStore(path_).keep_trial({graph_mark(sum()), device_name(Target::host()), {100, 50}}, *c);
  }
  TuneOptions options{.extents = {100, 50}};
  options.target = Target::host();
  options.budget = 6;
  const TuneResult found = tune(sum(), options);
  EXPECT_GT(found.best.seconds(), 1e-8);
  EXPECT_EQ(found.best.refused, "");
  int refused = 0;
  for (const TuneCandidate& c : found.candidates) refused += c.refused.empty() ? 0 : 1;
  EXPECT_EQ(refused, 3) << found.report();
}

TEST_F(Kept, ATunedFuncIsRealizedSoInTheSameProgram) {
  Func next = sum();
  Buffer<float> out(40, 30);
  next.realize(out, Target::host());  // the store is not there yet
  TunedEntry e = entry({40, 30});
  TuneOptions options{.extents = {40, 30}};
  options.target = Target::host();
  options.budget = 2;
  static_cast<void>(tune(next, options));
  // What is found does not matter, but that the store is asked again.
  e.key = {graph_mark(next), device_name(Target::host()), {40, 30}};
  e.best.recipe = "no/such";
  TuneStore(path_).keep(e);
  ::testing::internal::CaptureStderr();
  next.realize(out, Target::host());
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("no/such"), std::string::npos);
  EXPECT_EQ(out(3, 4), 11.0F);
}

TEST_F(Kept, RealizeUsesTheStore) {
  TunedEntry e = entry({64, 64});
  e.key.algorithm = graph_mark(sum());
  e.key.device = device_name(Target::host());
  e.best.parameters = {{"place", 1}};
  TuneStore(path_).keep(e);
  std::vector<std::string> lines;
  Func next = sum(&lines);
  Buffer<float> out(60, 60), far(1000, 60);
  const RunOptions options{.print = [&](std::string_view line) { lines.emplace_back(line); }};
  next.realize(out, Target::host(), options);
  ASSERT_EQ(lines.size(), 2U);  // `scaled` is computed at the root, once
  EXPECT_EQ(lines.front(), "begin realization scaled {{-1, 62}, {0, 60}}");
  EXPECT_EQ(out(3, 4), 1.0F + 4.0F + 2.0F + 4.0F);
  // On a grid of another shape nothing is known, and without a schedule there is nothing to trace.
  EXPECT_TRUE(fails_with([&] { next.realize(far, Target::host(), options); }, {"inline"}));
  next.realize(out, Target::host(), options);
  EXPECT_EQ(lines.size(), 4U);
  // A directive of the user's is all that counts.
  Func own = sum(&lines);
  own.vectorize("x", 8);
  EXPECT_TRUE(fails_with([&] { own.realize(out, Target::host(), options); }, {"inline"}));
}

TEST_F(Kept, RealizeTunesWhereItIsToldTo) {
  setenv("MICA_TUNE", "1", 1);
  Func next = sum();
  Buffer<float> out(40, 30);
  ::testing::internal::CaptureStderr();
  next.realize(out, Target::host());
  next.realize(out, Target::host());
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.find("mica: tuned next in "), 0U) << said;
  EXPECT_EQ(said.find("mica: tuned", 1), std::string::npos) << said;
  EXPECT_EQ(out(3, 4), 11.0F);
  EXPECT_TRUE(
      TuneStore(path_).find({graph_mark(next), device_name(Target::host()), {40, 30}}).has_value());
}

TEST_F(Kept, ADamagedRowStopsNoRun) {
  Func next = sum();
  TunedEntry e = entry({40, 30});
  e.key = {graph_mark(next), device_name(Target::host()), {40, 30}};
  TuneStore(path_).keep(e);
  TuneStore(path_).keep_trial(e.key, e.best);
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(
      sqlite3_exec(database, "UPDATE best SET parameters = '{'; UPDATE trials SET parameters = '[]'",
                   nullptr, nullptr, nullptr),
      SQLITE_OK);
  sqlite3_close(database);
  Buffer<float> out(40, 30);
  ::testing::internal::CaptureStderr();
  next.realize(out, Target::host());
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("damaged"), std::string::npos);
  EXPECT_EQ(out(3, 4), 11.0F);
  TuneOptions options{.extents = {40, 30}};
  options.target = Target::host();
  options.budget = 2;
  EXPECT_NE(tune(next, options).note.find("damaged"), std::string::npos);
}

TEST_F(Kept, ADamagedStoreStopsNoRun) {
  std::filesystem::create_directories(path_.parent_path());
  std::ofstream(path_) << std::string(4096, 'x');
  Func next = sum();
  Buffer<float> out(40, 30);
  ::testing::internal::CaptureStderr();
  next.realize(out, Target::host());
  EXPECT_NE(::testing::internal::GetCapturedStderr().find(path_.string()), std::string::npos);
  EXPECT_EQ(out(3, 4), 11.0F);
  TuneOptions options{.extents = {40, 30}};
  options.target = Target::host();
  options.budget = 2;
  EXPECT_NE(tune(next, options).note.find(path_.string()), std::string::npos);
}

}  // namespace
}  // namespace mica::tuning
