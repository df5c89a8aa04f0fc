// The search for a GPU's schedule on the stand-in driver: candidates are compiled and loaded, their
// launches are carried out by nobody, and all take as long. Each test is a process of its own, as the
// process's driver is loaded once.
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "schedules/mica.h"
#include "schedules/tune/tune.h"
#include "tests/support/fake_cuda.h"

namespace mica {
namespace {

class TuneOnAGpu : public test::FakeGpuTest {
 protected:
  void SetUp() override {
    FakeGpuTest::SetUp();
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
};

TuneResult search(bool draw) {
  const Var x("x"), y("y"), z("z");
  const ImageParam u(Float(32), 3, "u");
  Func next("next");
  next(x, y, z) = u(x - 1, y, z) + u(x + 1, y, z) + u(x, y - 1, z) + u(x, y + 1, z) + u(x, y, z - 1) +
                  u(x, y, z + 1) - 6.0F * u(x, y, z);
  TuneOptions options{.extents = {96, 40, 24}};
  options.target = Target{Backend::Cuda, 0};
  options.keep = false;
  options.budget = 7;
  options.seconds = 120;
  options.draw = draw;
  return tune(next, options);
}

void searches() {
  test::FakeGpuProcess process;
  const TuneResult found = search(false);
  std::map<std::string, int> measured;
  std::set<std::string> texts;
  int all = 0;
  for (const TuneCandidate& c : found.candidates) {
    process.expect(c.refused.empty(), c.text() + ": " + c.refused);
    process.expect(texts.insert(c.text()).second, c.text() + " twice");
    measured[c.recipe] += c.measured > 0 ? 1 : 0;
    all += c.measured > 0 ? 1 : 0;
  }
  process.expect(all == 7, std::to_string(all) + " are measured");
  // No schedule, and one of each family that suits a star in three dimensions.
  for (const char* family : {"", "pmpp/naive", "march/plane", "march/high-order", "seismic/z-window"}) {
    process.expect(measured[family] > 0, std::string("no \"") + family + "\" is measured");
  }
  process.end();
}

TEST_F(TuneOnAGpu, MeasuresNoScheduleAndOneOfEachFamilyFirst) {
  EXPECT_EXIT(searches(), testing::ExitedWithCode(0), "");
}

void draws() {
  test::FakeGpuProcess process;
  const TuneResult found = search(true);
  process.expect(found.candidates.size() == 7,
                 std::to_string(found.candidates.size()) + " candidates are tried");
  process.end();
}

TEST_F(TuneOnAGpu, DrawsWhereItIsToldTo) { EXPECT_EXIT(draws(), testing::ExitedWithCode(0), ""); }

}  // namespace
}  // namespace mica
