// What the NAME of mica show, plan and traffic stands for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/algorithms.h"
#include "codegen/analysis/traffic/traffic.h"
#include "schedules/registry.h"

namespace mica::tools {

/// An algorithm under a schedule.
struct ShowSubject {
  std::string name, description, document;
  std::vector<schedules::Parameter> parameters;  ///< of the schedule; empty of a time tile
  schedules::Parameters values = {};             ///< those that are not as by default
  bool on_gpu = false;
  bench::Algorithm algorithm = {};
  std::int64_t size = 0;  ///< points along each side

  [[nodiscard]] std::int64_t value_of(const schedules::Parameter& parameter) const;
  /// A GPU that need not be there, or the host.
  [[nodiscard]] Target target() const;
  [[nodiscard]] std::vector<std::int64_t> extents() const;
  [[nodiscard]] Traffic traffic() const;
};

/// What the user asks for.
struct ShowChoice {
  std::string name;
  std::string algorithm;                ///< empty: the case's own, or one that suits the schedule
  std::vector<std::string> parameters;  ///< "name=value"
  std::int64_t size = 0;                ///< 0: the case's own
};

/// A case of the benchmarks, a schedule on an algorithm that it suits, or a stencil of `mica bench time`
/// with several steps at once ("steps=3" among the parameters; else as few as that has). UserErrors:
/// names of none of them, parameters that it does not have, what the schedule refuses.
ShowSubject show_subject(const ShowChoice& choice);

}  // namespace mica::tools
