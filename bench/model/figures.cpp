// mica_figures TABLE...: of candidates that were measured on a GPU, what the learned part of the tuner's
// model sees of them (schedules/tune/figures.h), to standard output: what bench/model/fit.py reads.
// Twice each, with the registers that the model guesses (known: 0) and with the assembler's.
#include "schedules/tune/figures.h"

#include <cmath>
#include <exception>
#include <iostream>

#include <fmt/format.h>

#include "bench/model/measured.h"

int main(int argc, char** argv) {
  using namespace mica;
  try {
    fmt::print("algorithm,known,log_ratio");
    for (const auto name : tuning::kFigureNames) fmt::print(",{}", name);
    fmt::print("\n");
    bench::MeasuredSubjects subjects;
    for (int i = 1; i < argc; ++i) {
      for (const bench::Measured& m : bench::read_measured(argv[i])) {
        if (m.kernels.size() != 1) continue;  // whose time is whose is not known
        const tuning::Subject& subject = subjects.of(m);
        for (const bool known : {false, true}) {
          const auto compiled = known ? m.kernels : std::vector<KernelInfo>();
          std::vector<tuning::Seen> kernels;
          try {
            kernels = tuning::kernels_seen(subject, m.candidate, subjects.rates(), compiled);
          } catch (const UserError&) {
            continue;  // no longer a candidate, or registers of another assembler
          }
          if (kernels.size() != 1) continue;
          const auto& [seconds, figures] = kernels.front();
          const double all = m.seconds * m.candidate.steps();  // a table has the time of one
          fmt::print("{},{:d},{:.5f}", m.algorithm, known, std::log(all / seconds));
          for (const float figure : figures) fmt::print(",{:g}", figure);
          fmt::print("\n");
        }
      }
    }
    return 0;
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}
