// Exported pipelines in the tests' own process, and programs in C around them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "codegen/export/compile_to_library.h"
#include "fuzz/oracle.h"
#include "runtime/export/abi.h"
#include "tests/support/temporary_folder.h"

namespace mica::test {

/// A buffer as a C program passes it: the same memory on the host.
mica_buffer c_buffer(AnyBuffer& buffer);

/// What a run returned, and its message.
struct CallResult {
  int code = 0;
  std::string error;
};

/// A pipeline that was exported, as a shared library that is loaded here.
class LoadedLibrary {
 public:
  explicit LoadedLibrary(const std::vector<Func>& outputs, ExportOptions options = {},
                         const Target& target = Target::host());
  ~LoadedLibrary();
  LoadedLibrary(const LoadedLibrary&) = delete;
  LoadedLibrary& operator=(const LoadedLibrary&) = delete;

  [[nodiscard]] std::string stem() const { return (folder_.path() / "library").string(); }
  [[nodiscard]] const mica_pipeline_description& description() const { return *description_; }
  /// A function of the library's: "" is the pipeline itself, "_error" and so on.
  template <typename Function>
  [[nodiscard]] Function* function(const std::string& tail) const {
    return reinterpret_cast<Function*>(symbol(tail));
  }
  /// NAME_call with these arrays in the description's order and with the values that the Params held at
  /// the export, or with `values` in their place.
  [[nodiscard]] CallResult call(const std::vector<const mica_buffer*>& arrays, void* stream = nullptr,
                                const std::vector<std::uint64_t>& values = {}) const;
  /// The same with the inputs that ImageParams hold now and these outputs, in the order given.
  [[nodiscard]] CallResult run(Executable& executable, const std::vector<AnyBuffer*>& outputs) const;

 private:
  [[nodiscard]] void* symbol(const std::string& tail) const;

  const TemporaryFolder folder_;
  std::string name_;
  void* library_ = nullptr;
  const mica_pipeline_description* description_ = nullptr;
};

/// Exports `outputs` as they are scheduled, runs them into the interior of poisoned memory over `box`,
/// and compares all bits with those of Executable::run on the host.
::testing::AssertionResult exported_matches(const std::vector<Func>& outputs, const Box& box,
                                            const ExportOptions& options = {});

/// Compiles a program of C99 with all warnings as errors and `library`, and runs it. What it prints; the
/// compiler's words, or "exit status 1: ..." where it fails.
std::string run_c_program(const std::string& source, const std::filesystem::path& library);

}  // namespace mica::test
