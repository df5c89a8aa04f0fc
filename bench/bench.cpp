#include "bench/bench.h"

#include <ostream>

#include "bench/measure.h"
#include "bench/report.h"
#include "dsl/expr/names.h"
#include "runtime/run/device.h"

namespace mica::bench {

std::vector<Case> select_cases(const std::string& filter) {
  std::vector<Case> chosen;
  std::vector<std::string> names;
  for (const Case& c : cases()) {
    names.push_back(c.name);
    if (c.name == filter) return {c};
    if (c.name.find(filter) != std::string::npos) chosen.push_back(c);
  }
  if (chosen.empty()) {
    throw UserError("no benchmark's name contains " + filter + did_you_mean(filter, names) +
                    "; `mica list` has the cases");
  }
  return chosen;
}

std::vector<Result> run(const Options& options, std::ostream& out) {
  const std::vector<Case> chosen = select_cases(options.filter);
  out << device_for(options.target)->name() << ", median of " << options.runs
      << (options.runs == 1 ? " run\n" : " interleaved runs\n");
  print_heading(options.target, out);
  std::vector<Result> results;
  std::string refused;
  for (const Case& c : chosen) {
    Result result;
    try {
      result = measure(c, options);
    } catch (const UserError& e) {
      result.name = c.name;
      result.schedule = c.schedule;
      result.note = std::string("refused: ") + e.what();
      refused += (refused.empty() ? "" : ", ") + c.name;
    }
    results.push_back(result);
    print_result(results.back(), options.target, out);
  }
  if (!options.json.empty()) write_json(options.json, options, results);
  for (const Result& r : results) {
    if (r.ms >= 0 && !r.right) throw InternalError("the bits of " + r.name + " differ from the host's");
    if (r.twin_ms >= 0 && !r.twin_right) {
      throw InternalError("the bits of the twin of " + r.name + " differ from the host's");
    }
  }
  if (!refused.empty()) throw UserError("schedules were refused: " + refused);
  return results;
}

}  // namespace mica::bench
