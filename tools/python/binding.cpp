// mica._mica: named algorithms under schedules, compiled and run on memory that Python says the
// addresses of. What objects that memory belongs to, and where arrays lie, tools/python/mica decides;
// here are Mica's own orders of dimensions and coordinates.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bench/algorithms.h"
#include "codegen/compile.h"
#include "codegen/iterate/stepped_boxes.h"

namespace py = pybind11;

namespace {

using namespace mica;

using Box = iterate::Ranges;  // {min, extent} of each dimension
/// {name, type, dimensions, is an output}.
using ArrayFacts = std::tuple<std::string, std::string, int, bool>;
/// The address of the element at the mins, and {min, extent, stride} of each dimension.
using Memory =
    std::pair<std::uint64_t, std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>>>;

/// Errors name no line of C++: the traceback has the user's.
CallSite no_line() { return CallSite::current("", 0, ""); }

std::vector<BufferDim> dims_of(const Memory& memory) {
  std::vector<BufferDim> dims;
  for (const auto& [min, extent, stride] : memory.second) dims.push_back({min, extent, stride});
  return dims;
}

std::vector<std::int64_t> mins_of(const Memory& memory) {
  std::vector<std::int64_t> mins;
  for (const auto& dim : memory.second) mins.push_back(std::get<0>(dim));
  return mins;
}

/// Are two arrays one, whatever their mins? A run that may work in place asks for views of one buffer.
bool same_elements(const Memory& a, const Memory& b) {
  const auto same = [](const auto& c, const auto& d) {
    return std::get<1>(c) == std::get<1>(d) && std::get<2>(c) == std::get<2>(d);
  };
  return a.first == b.first &&
         std::equal(a.second.begin(), a.second.end(), b.second.begin(), b.second.end(), same);
}

/// A buffer for questions about its box alone; it never has memory.
AnyBuffer shape_only(Type type, const Box& box) {
  std::vector<std::int64_t> extents, mins;
  for (const auto& [min, extent] : box) {
    mins.push_back(min);
    extents.push_back(extent);
  }
  return AnyBuffer(type, extents).translated(mins);
}

class NamedPipeline {
 public:
  /// At most one of `schedule`, `json` and `file` is given. Its code for usual arrays is compiled here,
  /// so that what is wrong with a schedule shows.
  NamedPipeline(const std::string& algorithm, const std::optional<std::string>& schedule,
                const schedules::Parameters& parameters, const std::optional<std::string>& json,
                const std::optional<std::string>& file, const std::optional<std::string>& target)
      : algorithm_(bench::make_algorithm(algorithm)),
        target_(target ? Target::parse(*target) : Target::best()),
        reads_({algorithm_.output}) {
    if (schedule) bench::apply_named(algorithm_, *schedule, parameters);
    if (json) algorithm_.output.apply(schedule_from_json(*json));
    if (file) algorithm_.output.apply(load_schedule(*file));
    (void)device_for(target_);
    executable_ = compile(algorithm_.output, target_);
    (void)executable_.plan();
  }

  [[nodiscard]] std::string description() const { return algorithm_.description; }
  [[nodiscard]] std::string target() const { return to_string(target_); }

  /// Inputs, then outputs.
  [[nodiscard]] std::vector<ArrayFacts> arrays() const {
    std::vector<ArrayFacts> all;
    for (const ImageParam& input : algorithm_.inputs) {
      all.emplace_back(input.name(), to_string(input.type()), input.dimensions(), false);
    }
    const Func& output = algorithm_.output;
    const std::vector<Type> types = output.types();
    for (std::size_t i = 0; i < types.size(); ++i) {
      const std::string element = types.size() > 1 ? "." + std::to_string(i) : "";
      all.emplace_back(output.name() + element, to_string(types[i]), output.dimensions(), true);
    }
    return all;
  }

  /// The largest box inside `within` at which every tap of `inputs`, in the order of arrays(), has a
  /// value.
  [[nodiscard]] Box output_box(const Box& within, const std::vector<Box>& inputs) const {
    std::vector<std::pair<const ImageData*, AnyBuffer>> limits;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const ImageParam& input = algorithm_.inputs.at(i);
      limits.emplace_back(input.data().get(), shape_only(input.type(), inputs[i]));
    }
    return reads_.inside({within}, {false}, limits, {}, no_line()).front();
  }

  /// `arrays` in the order of arrays(). `stream`: a CUstream, or 0 for a run that is complete when the
  /// call returns.
  void run(const std::vector<Memory>& arrays, std::uint64_t stream) const {
    const std::size_t inputs = algorithm_.inputs.size();
    RunOptions options;
    options.stream.handle = std::bit_cast<void*>(static_cast<std::uintptr_t>(stream));
    for (std::size_t i = 0; i < inputs; ++i) {
      const ImageParam& input = algorithm_.inputs[i];
      options.inputs.emplace_back(input, wrap(input.type(), arrays.at(i)), no_line());
    }
    std::vector<AnyBuffer> outputs;
    for (const Type type : algorithm_.output.types()) {
      const Memory& memory = arrays.at(inputs + outputs.size());
      outputs.push_back(wrap(type, memory));
      for (std::size_t i = 0; i < inputs; ++i) {
        if (same_elements(memory, arrays[i]) && options.inputs[i].buffer.type() == type) {
          outputs.back() = options.inputs[i].buffer.translated(mins_of(memory));
        }
      }
    }
    std::vector<AnyBuffer*> pointers;
    for (AnyBuffer& output : outputs) pointers.push_back(&output);
    Executable executable = executable_;
    executable.run(pointers, options, no_line());
    if (target_.backend != Backend::Cuda) return;
    // What kernels on the host have computed goes where the user's array is.
    for (const AnyBuffer& output : outputs) output.copy_to_device(target_);
    if (stream == 0) executable.synchronize();
  }

 private:
  [[nodiscard]] AnyBuffer wrap(Type type, const Memory& memory) const {
    return AnyBuffer::wrap_device(type, memory.first, dims_of(memory), target_);
  }

  bench::Algorithm algorithm_;
  const Target target_;
  const iterate::StepReads reads_;
  Executable executable_;
};

py::dict algorithms() {
  py::dict all;
  for (const std::string& name : bench::algorithm_names()) {
    const bench::Algorithm algorithm = bench::make_algorithm(name);
    all[py::str(name)] = py::make_tuple(algorithm.description, algorithm.schedule);
  }
  return all;
}

py::dict schedule_facts() {
  py::dict all;
  for (const schedules::Recipe& recipe : schedules::registry()) {
    py::list parameters;
    for (const schedules::Parameter& p : recipe.parameters) {
      parameters.append(py::make_tuple(p.name, p.value, p.min, p.max, p.meaning));
    }
    all[py::str(recipe.name)] =
        py::make_tuple(recipe.description, recipe.document, recipe.on_gpu, recipe.min_dimensions,
                       recipe.max_dimensions, py::tuple(parameters));
  }
  return all;
}

/// Mica's errors as the classes that the package has for them.
void translate(std::exception_ptr thrown) {
  const auto raise = [](const char* type, const std::string& message) {
    PyErr_SetString(py::module_::import("mica._errors").attr(type).ptr(), message.c_str());
  };
  try {
    if (thrown) std::rethrow_exception(std::move(thrown));
  } catch (const UserError& error) {
    raise("UserError", error.message());
  } catch (const DeviceError& error) {
    raise("DeviceError", error.what());
  }
}

}  // namespace

PYBIND11_MODULE(_mica, module) {
  module.doc() = "Named pipelines of libmica; the package mica is the door to them.";
  py::register_exception_translator(translate);
  module.def("algorithms", algorithms);
  module.def("schedules", schedule_facts);
  using Unlocked = py::call_guard<py::gil_scoped_release>;
  py::class_<NamedPipeline>(module, "NamedPipeline")
      .def(py::init<const std::string&, const std::optional<std::string>&, const schedules::Parameters&,
                    const std::optional<std::string>&, const std::optional<std::string>&,
                    const std::optional<std::string>&>(),
           py::kw_only(), py::arg("algorithm"), py::arg("schedule"), py::arg("parameters"),
           py::arg("json"), py::arg("file"), py::arg("target"), Unlocked())
      .def_property_readonly("description", &NamedPipeline::description)
      .def_property_readonly("target", &NamedPipeline::target)
      .def("arrays", &NamedPipeline::arrays)
      .def("output_box", &NamedPipeline::output_box, Unlocked())
      .def("run", &NamedPipeline::run, Unlocked());
}
