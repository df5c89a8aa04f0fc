#include "tests/export/loaded_library.h"

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <stdexcept>

#include <dlfcn.h>
#include <sys/wait.h>

#include "dsl/func/function.h"
#include "tests/support/compare.h"

namespace mica::test {

namespace {

int dlpack_code(Type type) {
  switch (type.code) {
    case TypeCode::Int: return MICA_INT;
    case TypeCode::UInt: return MICA_UINT;
    case TypeCode::Float: return MICA_FLOAT;
    case TypeCode::BFloat: return MICA_BFLOAT;
    case TypeCode::Bool: return MICA_BOOL;
  }
  throw std::logic_error("no type");
}

/// What a shell's command prints, and its exit status.
std::pair<std::string, int> output_of(const std::string& command) {
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("no pipe for " + command);
  std::string text;
  std::array<char, 4096> part{};
  for (std::size_t n = 0; (n = std::fread(part.data(), 1, part.size(), pipe)) > 0;) {
    text.append(part.data(), n);
  }
  const int status = pclose(pipe);
  return {text, WIFEXITED(status) ? WEXITSTATUS(status) : -1};
}

}  // namespace

mica_buffer c_buffer(AnyBuffer& buffer) {
  mica_buffer c{};
  c.data = buffer.host_data_for_write();
  c.dimensions = buffer.dimensions();
  c.type_code = static_cast<std::uint8_t>(dlpack_code(buffer.type()));
  c.type_bits = static_cast<std::uint8_t>(8 * buffer.type().bytes());
  for (int d = 0; d < buffer.dimensions(); ++d) {
    c.dim[d] = {buffer.min(d), buffer.extent(d), buffer.stride(d)};
  }
  return c;
}

LoadedLibrary::LoadedLibrary(const std::vector<Func>& outputs, ExportOptions options,
                             const Target& target)
    : name_(options.name.empty() ? "pipeline" : options.name) {
  options.name = name_;
  options.shared = true;
  compile_to_library(outputs, stem(), target, options);
  library_ = dlopen((stem() + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) throw std::runtime_error(dlerror());
  description_ = function<const mica_pipeline_description*()>("_describe")();
}

LoadedLibrary::~LoadedLibrary() {
  if (library_ != nullptr) dlclose(library_);
}

void* LoadedLibrary::symbol(const std::string& tail) const {
  void* found = dlsym(library_, (name_ + tail).c_str());
  if (found == nullptr) throw std::runtime_error("the library has no " + name_ + tail);
  return found;
}

CallResult LoadedLibrary::call(const std::vector<const mica_buffer*>& arrays, void* stream,
                               const std::vector<std::uint64_t>& values) const {
  std::vector<const void*> scalars;
  for (int i = 0; i < description_->scalar_count; ++i) {
    const auto k = static_cast<std::size_t>(i);
    scalars.push_back(values.empty() ? &description_->scalars[i].value : &values.at(k));
  }
  using Call = int(const mica_buffer* const*, const void* const*, void*, char*, std::size_t);
  std::array<char, 2048> error{};
  CallResult result;
  result.code =
      function<Call>("_call")(arrays.data(), scalars.data(), stream, error.data(), error.size());
  result.error = error.data();
  return result;
}

CallResult LoadedLibrary::run(Executable& executable, const std::vector<AnyBuffer*>& outputs) const {
  std::vector<mica_buffer> buffers;
  std::vector<std::shared_ptr<AnyBuffer>> inputs;
  std::size_t next = 0;
  for (int k = 0; k < description_->array_count; ++k) {
    const mica_array_description& array = description_->arrays[k];
    if (array.is_output != 0) {
      buffers.push_back(c_buffer(*outputs.at(next++)));
      continue;
    }
    for (const PlanBuffer& planned : executable.plan().buffers) {
      if (planned.name != array.name) continue;
      inputs.push_back(std::atomic_load(&planned.image->bound));
      buffers.push_back(c_buffer(*inputs.back()));
    }
  }
  std::vector<const mica_buffer*> arrays;
  for (const mica_buffer& buffer : buffers) arrays.push_back(&buffer);
  if (static_cast<int>(arrays.size()) != description_->array_count) {
    throw std::logic_error("the library takes another number of arrays than there are");
  }
  return call(arrays);
}

::testing::AssertionResult exported_matches(const std::vector<Func>& outputs, const Box& box,
                                            const ExportOptions& options) {
  std::vector<std::unique_ptr<PoisonedOutput>> expected, actual;
  std::vector<AnyBuffer*> wanted, given;
  for (const Func& f : outputs) {
    for (const Type type : f.types()) {
      expected.push_back(std::make_unique<PoisonedOutput>(type, box));
      wanted.push_back(&expected.back()->crop());
      actual.push_back(std::make_unique<PoisonedOutput>(type, box));
      given.push_back(&actual.back()->crop());
    }
  }
  Executable executable = compile(outputs, Target::host(), {.bake = options.bake});
  executable.run(wanted);
  const LoadedLibrary library(outputs, options);
  const CallResult result = library.run(executable, given);
  if (result.code != MICA_OK) {
    return ::testing::AssertionFailure() << "code " << result.code << ": " << result.error;
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto same = same_bits(*wanted[i], *given[i]);
    if (!same) return ::testing::AssertionFailure() << "output " << i << ": " << same.message();
    const auto untouched = outside_untouched(*actual[i]);
    if (!untouched)
      return ::testing::AssertionFailure() << "output " << i << ": " << untouched.message();
  }
  return ::testing::AssertionSuccess();
}

std::string run_c_program(const std::string& source, const std::filesystem::path& library) {
  const TemporaryFolder folder;
  const std::string program = (folder.path() / "program").string();
  std::ofstream(program + ".c") << source;
  const auto [words, status] = output_of("cc -std=c99 -pedantic -Wall -Wextra -Wshadow -Werror -I'" +
                                         library.parent_path().string() + "' '" + program + ".c' '" +
                                         library.string() + "' -o '" + program + "' -lm -lpthread -ldl");
  if (status != 0) return words;
  const auto [printed, ended] = output_of("'" + program + "'");
  return ended == 0 ? printed : "exit status " + std::to_string(ended) + ": " + printed;
}

}  // namespace mica::test
