#include "tests/support/check_schedules.h"

#include "tests/support/check_targets.h"

namespace mica::test {

void check_schedules(Func scheduled, Func output, const Box& box,
                     const std::vector<Directives>& schedules) {
  const std::vector<AnyBuffer> expected = expected_values({output}, box);
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    output.clear_schedule();
    schedules[i](scheduled);
    for (const Target& target : all_targets()) {
      EXPECT_TRUE(run_matches(expected, {output}, box, target)) << "schedule " << i;
    }
  }
  output.clear_schedule();
}

void check_schedules(const Func& output, const Box& box, const std::vector<Directives>& schedules) {
  check_schedules(output, output, box, schedules);
}

}  // namespace mica::test
