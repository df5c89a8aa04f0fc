#include "fuzz/more_runs.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>
#include <string>
#include <thread>

#include "dsl/pipeline/func_graph.h"
#include "dsl/pipeline/pipeline.h"

namespace mica::test {
namespace {

bool holds(const std::vector<BufferDim>& dims, const Box& box) {
  if (dims.size() != box.size()) return false;
  for (std::size_t d = 0; d < box.size(); ++d) {
    const auto& [min, extent] = box[d];
    if (min < dims[d].min || min + extent > dims[d].min + dims[d].extent) return false;
  }
  return true;
}

bool is_inside(const Box& box, const std::vector<std::int64_t>& at) {
  for (std::size_t d = 0; d < box.size(); ++d) {
    if (at[d] < box[d].first || at[d] >= box[d].first + box[d].second) return false;
  }
  return true;
}

/// Empty when `memory` is what it was but for the points of `box`.
std::string changed_around(const Box& box, const PoisonedOutput& before, const PoisonedOutput& memory) {
  const AnyBuffer& was = before.crop();
  const AnyBuffer& is = memory.crop();
  Box all;
  for (const BufferDim& dim : is.dims()) all.emplace_back(dim.min, dim.extent);
  std::string found;
  for_each_point(all, [&](const std::vector<std::int64_t>& at) {
    if (!found.empty() || is_inside(box, at)) return;
    const void* const a = element_address(was, const_cast<void*>(was.host_data()), at);
    const void* const b = element_address(is, const_cast<void*>(is.host_data()), at);
    if (std::memcmp(a, b, static_cast<std::size_t>(is.type().bytes())) == 0) return;
    found = "the input's element at";
    for (const std::int64_t x : at) found += " " + std::to_string(x);
    found += " became " + describe_element(is.type(), b);
  });
  return found.empty() ? memory.writes_outside() : found;
}

Outcome failed(const std::string& where, const std::exception& error) {
  return {Verdict::Failed, where + error.what()};
}

}  // namespace

std::vector<Replacement> replacements(const FuzzCase& drawn) {
  std::vector<Replacement> found;
  const ArrayDims arrays = arrays_of(drawn);
  const std::vector<Box> boxes = output_boxes(drawn.program, drawn.boxes);
  std::size_t output = 0;
  for (std::size_t o = 0; o < boxes.size(); ++o) {
    const auto& stage = drawn.program.stages[static_cast<std::size_t>(drawn.program.outputs[o])];
    for (const Term& value : stage.values) {
      for (std::size_t i = 0; i < drawn.program.inputs.size(); ++i) {
        const Program::Input& input = drawn.program.inputs[i];
        if (input.type == value.type && holds(arrays.at(input.name), boxes[o])) {
          found.emplace_back(output, i);
        }
      }
      ++output;
    }
  }
  return found;
}

Outcome run_in_place(const FuzzCase& drawn, const BoundCase& bound, Executable& executable) {
  for (const auto& [output, i] : replacements(drawn)) {
    ImageParam input = bound.pipeline.inputs[i];
    const std::string where = "output " + std::to_string(output) + " in the memory of input " +
                              drawn.program.inputs[i].name + ": ";
    const Box& box = bound.expected->box(output);
    const std::unique_ptr<PoisonedOutput> memory = input_memory(drawn, i);
    AnyBuffer place = memory->crop().cropped(box);
    input.set(memory->crop());
    Outcome outcome;
    try {
      outcome = bound.expected->run_into(executable, output, place);
      const std::string around = changed_around(box, *bound.memory[i], *memory);
      if (!around.empty()) outcome = {Verdict::WritesOutside, around};
    } catch (const UserError& error) {
      // Refused: memory that is read elsewhere, too, or whose strides are not those compiled in.
      const std::string why = error.message();
      const auto says = [&](const char* words) { return why.find(words) != std::string::npos; };
      if (!says("shares memory") && !says("was compiled in as")) outcome = failed("", error);
    } catch (const std::exception& error) {
      outcome = failed("", error);
    }
    input.set(bound.memory[i]->crop());
    if (outcome.verdict != Verdict::Same) return {outcome.verdict, where + outcome.message};
  }
  return {};
}

FuzzCase case_of_thread(const FuzzCase& drawn, int number) {
  FuzzCase other = drawn;
  other.data_seed += static_cast<std::uint64_t>(1000 * (1 + number));
  const std::function<void(Term&)> change = [&](Term& term) {
    if (term.kind == Term::Kind::Parameter) {
      // An integer at the end of its range goes down.
      term.value += term.value < 1000000 ? 1 + number : -1 - number;
    }
    for_each_part(term, change);
  };
  for (ProgramStage& stage : other.program.stages) for_each_root(stage, change);
  return other;
}

Outcome run_in_threads(const FuzzCase& drawn, const BoundCase& bound, Executable& executable) {
  const Pipeline used = make_pipeline(functions_of(bound.pipeline.outputs));
  std::vector<BoundCase> cases;
  std::vector<RunOptions> options(kCaseThreads);
  for (int number = 0; number < kCaseThreads; ++number) {
    cases.push_back(bind(case_of_thread(drawn, number)));
    const BoundCase& other = cases.back();
    RunOptions& own = options[static_cast<std::size_t>(number)];
    for (std::size_t i = 0; i < bound.pipeline.inputs.size(); ++i) {
      const ImageParam& input = bound.pipeline.inputs[i];
      const bool is_used = std::any_of(used.inputs.begin(), used.inputs.end(),
                                       [&](const auto& u) { return u.image == input.data(); });
      if (is_used) own.inputs.emplace_back(input, other.memory[i]->crop());
    }
    for (std::size_t i = 0; i < bound.pipeline.scalars.size(); ++i) {
      RunParam scalar = bound.pipeline.scalars[i];
      scalar.bits = other.pipeline.scalars[i].bits;
      const bool is_used = std::any_of(used.params.begin(), used.params.end(),
                                       [&](const auto& u) { return u.param == scalar.param; });
      if (is_used) own.params.push_back(scalar);
    }
  }
  std::vector<Outcome> outcomes(kCaseThreads);
  std::vector<std::thread> threads;
  for (std::size_t number = 0; number < outcomes.size(); ++number) {
    threads.emplace_back([&, number] {
      try {
        outcomes[number] = cases[number].expected->run(executable, options[number]);
      } catch (const std::exception& error) {
        outcomes[number] = failed("", error);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t number = 0; number < outcomes.size(); ++number) {
    if (outcomes[number].verdict == Verdict::Same) continue;
    return {outcomes[number].verdict,
            "thread " + std::to_string(number) + ": " + outcomes[number].message};
  }
  return {};
}

}  // namespace mica::test
