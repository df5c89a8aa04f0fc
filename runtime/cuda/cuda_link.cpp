// PTX to machine code: link_ptx of runtime/cuda/cuda_module.h.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "runtime/cuda/cuda_module.h"
#include "runtime/cuda/gpu_facts.h"
#include "runtime/cuda/huge_ptx.h"
#include "runtime/run/trace.h"

namespace mica {

namespace {

constexpr std::size_t kLogBytes = 16384;

/// The assembler's messages, without the empty end of the buffer.
std::string text_of(const std::array<char, kLogBytes>& buffer) {
  std::string text(buffer.data(), buffer.size());
  text.resize(std::min(text.find('\0'), text.size()));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

/// The word after `directive` in PTX, such as "9.0" after ".version", or "?".
std::string directive_of(const std::string& ptx, const std::string& directive) {
  std::size_t at = 0;
  while ((at = ptx.find(directive, at)) != std::string::npos) {
    const bool starts_line = at == 0 || ptx[at - 1] == '\n';
    const std::size_t begin = ptx.find_first_not_of(" \t", at + directive.size());
    if (starts_line && begin != std::string::npos) {
      return ptx.substr(begin, ptx.find_first_of(" \t\r\n,;", begin) - begin);
    }
    at += directive.size();
  }
  return "?";
}

std::string explain(const CudaContext& context, const std::string& ptx, cuda::Result result) {
  const GpuFacts& facts = context.facts();
  std::string text = "PTX " + directive_of(ptx, ".version") + " for " + directive_of(ptx, ".target") +
                     " on sm_" + std::to_string(facts.sm) + " with a driver for CUDA " +
                     cuda::version_text(facts.driver_version);
  if (result == cuda::kErrorUnsupportedPtxVersion) {
    text += ": this driver is too old for the PTX, it takes PTX " +
            std::to_string(facts.ptx_version / 10) + "." + std::to_string(facts.ptx_version % 10) +
            " and older; install a newer driver";
  }
  return text;
}

/// A linker invocation of the driver's; destroying it frees the machine code that it made.
class Link {
 public:
  Link(const cuda::Driver& driver, const std::string& ptx) : driver_(driver) {
    const auto add = [&](int option, void* value) {
      options_.push_back(option);
      values_.push_back(value);
    };
    // Values travel as void*: a buffer's address, or a number in its place.
    const auto number = [](std::uintptr_t value) { return std::bit_cast<void*>(value); };
    add(cuda::kJitErrorLogBuffer, errors_.data());
    add(cuda::kJitErrorLogBufferBytes, number(kLogBytes));
    add(cuda::kJitInfoLogBuffer, notes_.data());
    add(cuda::kJitInfoLogBufferBytes, number(kLogBytes));
    if (ptx.find("\n\t.loc\t") != std::string::npos) add(cuda::kJitGenerateLineInfo, number(1));
    if (is_huge_ptx(ptx)) add(cuda::kJitOptimizationLevel, number(1));
    driver_.call(driver_.cuLinkCreate_v2, static_cast<unsigned>(options_.size()), options_.data(),
                 values_.data(), &handle_);
  }
  ~Link() { (void)driver_.cuLinkDestroy(handle_); }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  cuda::Result add_ptx(const std::string& ptx) {
    // The driver does not write to the text; the size includes the zero at its end.
    return driver_.cuLinkAddData_v2(handle_, cuda::kJitInputPtx, const_cast<char*>(ptx.c_str()),
                                    ptx.size() + 1, "mica.ptx", 0, nullptr, nullptr);
  }

  cuda::Result complete(std::string& cubin) {
    void* code = nullptr;
    std::size_t bytes = 0;
    const cuda::Result result = driver_.cuLinkComplete(handle_, &code, &bytes);
    if (result == cuda::kSuccess) cubin.assign(static_cast<const char*>(code), bytes);
    return result;
  }

  [[nodiscard]] std::string messages() const {
    const std::string errors = text_of(errors_);
    return errors.empty() ? text_of(notes_) : errors;
  }

 private:
  const cuda::Driver& driver_;
  cuda::LinkHandle handle_ = nullptr;
  std::array<char, kLogBytes> errors_{}, notes_{};
  // The driver writes how long the logs are in place of how long they may be.
  std::vector<int> options_;
  std::vector<void*> values_;
};

}  // namespace

std::string link_ptx(const CudaContext& context, const std::string& ptx) {
  const TraceScope trace("assemble PTX");
  const CudaContext::Scope scope(context);
  Link link(context.driver(), ptx);
  std::string cubin;
  const char* call = "cuLinkAddData_v2";
  cuda::Result result = link.add_ptx(ptx);
  if (result == cuda::kSuccess) {
    call = "cuLinkComplete";
    result = link.complete(cubin);
  }
  if (result != cuda::kSuccess) {
    const std::string messages = link.messages();
    throw context.driver().error(
        call, result, explain(context, ptx, result) + (messages.empty() ? "" : "\n" + messages));
  }
  return cubin;
}

}  // namespace mica
