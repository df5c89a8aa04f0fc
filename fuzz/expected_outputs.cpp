#include "fuzz/expected_outputs.h"

#include <memory>

#include "fuzz/compare_memory.h"

namespace mica::test {

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::Same: return "the oracle's bits";
    case Verdict::Refused: return "refused";
    case Verdict::Differs: return "other bits than the oracle's";
    case Verdict::WritesOutside: return "a write outside the output";
    case Verdict::Failed: return "an exception";
    case Verdict::Crashed: return "a crash";
    case Verdict::Hung: return "no end";
  }
  return "";
}

ExpectedOutputs::ExpectedOutputs(const std::vector<Func>& outputs, const std::vector<Box>& boxes,
                                 const OutputLayout& layout)
    : layout_(layout) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    for (const Type type : outputs[i].types()) {
      expected_.push_back(buffer_over(type, boxes[i]));
      boxes_.push_back(boxes[i]);
    }
  }
  std::vector<AnyBuffer*> pointers;
  for (AnyBuffer& buffer : expected_) pointers.push_back(&buffer);
  interpret(outputs, pointers);
}

Outcome ExpectedOutputs::run(Executable& executable, const RunOptions& options) const {
  return run(executable, options, 0, nullptr);
}

Outcome ExpectedOutputs::run_into(Executable& executable, std::size_t i, AnyBuffer& memory) const {
  return run(executable, {}, i, &memory);
}

Outcome ExpectedOutputs::run(Executable& executable, const RunOptions& options, std::size_t given_i,
                             AnyBuffer* given) const {
  std::vector<std::unique_ptr<PoisonedOutput>> memory;
  std::vector<AnyBuffer*> pointers;
  for (std::size_t i = 0; i < expected_.size(); ++i) {
    memory.push_back(std::make_unique<PoisonedOutput>(expected_[i].type(), boxes_[i], layout_.margin,
                                                      layout_.row_padding, layout_.transposed));
    pointers.push_back(given != nullptr && i == given_i ? given : &memory.back()->crop());
  }
  executable.run(pointers, options);
  executable.synchronize();
  for (std::size_t i = 0; i < expected_.size(); ++i) {
    const std::string number = "output " + std::to_string(i) + ": ";
    if (const auto found = differing_bits(expected_[i], *pointers[i]); !found.empty()) {
      return {Verdict::Differs, number + found};
    }
    if (const auto found = memory[i]->writes_outside(); !found.empty()) {
      return {Verdict::WritesOutside, number + found};
    }
  }
  return {};
}

}  // namespace mica::test
