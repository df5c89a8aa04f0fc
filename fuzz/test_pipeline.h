// An algorithm as the oracle and random schedules take it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dsl/func/func.h"
#include "fuzz/oracle.h"
#include "fuzz/random_data.h"
#include "runtime/run/run_options.h"

namespace mica::test {

/// An algorithm with handles on its parts.
struct TestPipeline {
  std::string name;
  std::vector<Func> funcs;  ///< producers before consumers
  std::vector<Func> outputs;
  std::vector<ImageParam> inputs;
  std::vector<RunParam> scalars = {};  ///< that a run may give other values, with those they have

  [[nodiscard]] Func& func(const std::string& wanted);
  [[nodiscard]] Func& output() { return outputs.front(); }
  [[nodiscard]] const std::vector<std::string>& args() const { return outputs.front().function()->args; }
  /// Random inputs over exactly the boxes that computing the outputs over `box` reads.
  [[nodiscard]] std::vector<std::shared_ptr<void>> bind(const Box& box, std::uint64_t seed,
                                                        Contents contents = Contents::Ordinary,
                                                        Layout layout = Layout::Embedded) const {
    return bind_demanded(outputs, box, inputs, seed, contents, layout);
  }
};

}  // namespace mica::test
