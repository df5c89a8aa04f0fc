// shape_run of runtime/run/run_plan.h: a plan evaluated for arguments of given shapes.
#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "runtime/buffer/buffer_layout.h"
#include "runtime/export/limits.h"
#include "runtime/export/shape_rules.h"
#include "runtime/run/check_arguments.h"
#include "runtime/run/run_plan.h"

namespace mica {

namespace {

constexpr std::int64_t kLargestOffset32 = LARGEST_OFFSET32;  // elements
constexpr std::int64_t kLargestGridX = LARGEST_GRID_X;       // blocks
constexpr std::int64_t kLargestGridYZ = LARGEST_GRID_YZ;
static_assert(kLargestOffset32 == (std::int64_t{1} << 31) - 1 - kLargestConstant32);

/// The present dimensions and address alignment of one of a plan's arrays.
struct Array {
  std::vector<BufferDim> dims;
  int element_bytes = 1;
  /// Address of the element at the mins modulo kAddressPeriod on each side.
  std::int64_t host_phase = 0, device_phase = 0;
};

/// Coordinates; null where there are none, which are all 0.
class Place {
 public:
  Place(const std::vector<HostProgram>& programs, const HostValue* symbols)
      : has_any_(!programs.empty()) {
    for (std::size_t d = 0; d < programs.size(); ++d) at_.at(d) = programs[d].run(symbols);
  }
  [[nodiscard]] const HostValue* get() const { return has_any_ ? at_.data() : nullptr; }

 private:
  std::array<HostValue, kMaxDimensions> at_;
  bool has_any_;
};

/// Carries out one evaluation.
class Shaper {
 public:
  Shaper(ShapedRun& out, const BoundArguments& bound) : out_(out), plan_(*out.plan), bound_(bound) {
    const auto period = static_cast<std::int64_t>(kAddressPeriod);
    for (const AnyBuffer* buffer : bound.buffers) {
      const std::int64_t bytes = buffer->offset() * buffer->type().bytes();
      arrays_.push_back({buffer->dims(), buffer->type().bytes(),
                         (buffer->storage()->host_phase() + bytes) % period,
                         (buffer->storage()->device_phase() + bytes) % period});
    }
  }

  void shape() {
    out_.symbols.resize(static_cast<std::size_t>(plan_.symbols.size()));
    read_scalars(plan_, bound_, out_.symbols.data());
    for (std::size_t k = 0; k < arrays_.size(); ++k) set_symbols(k);
    if (std::vector<std::uint8_t> chosen = chosen_now(); chosen != plan_.variant.chosen) {
      out_.wanted = plan_.variant;
      out_.wanted.chosen = std::move(chosen);
      return;
    }
    for (std::size_t v = 0; v < plan_.values.size(); ++v) {
      out_.symbols[static_cast<std::size_t>(plan_.first_value_slot) + v].i = value(plan_.values[v]);
    }
    for (std::size_t t = 0; t < plan_.temporaries.size(); ++t) size_temporary(t);
    check_conditions(plan_, out_.symbols.data());
    const std::size_t buffers = plan_.plan().buffers.size();
    for (std::size_t t = 0; t < plan_.temporaries.size(); ++t) {
      out_.temporaries.push_back(layout_of(plan_.plan().temporaries[t].type, arrays_[buffers + t].dims));
    }
    choose_variant();
    if (out_.wanted == plan_.variant) {
      for (std::size_t l = 0; l < plan_.launches.size(); ++l) add_launch(l);
    }
  }

 private:
  [[nodiscard]] std::int64_t value(const HostProgram& program) const {
    return program.run(out_.symbols.data()).i;
  }

  [[nodiscard]] const HostValue* symbols_of(int array) const {
    return out_.symbols.data() + plan_.first_slot[static_cast<std::size_t>(array)];
  }
  [[nodiscard]] std::int64_t rank_of(int array) const {
    return static_cast<std::int64_t>(arrays_[static_cast<std::size_t>(array)].dims.size());
  }

  void set_symbols(std::size_t array) {
    HostValue* slot = out_.symbols.data() + plan_.first_slot[array];
    for (const BufferDim& dim : arrays_[array].dims) {
      (slot++)->i = dim.min;
      (slot++)->i = dim.extent;
      (slot++)->i = dim.stride;
    }
  }

  void size_temporary(std::size_t t) {
    const PlanTemporary& temporary = plan_.plan().temporaries[t];
    Array array;
    array.element_bytes = temporary.type.bytes();
    std::int64_t stride = 1;
    for (std::size_t d = 0; d < temporary.extents.size(); ++d) {
      const std::int64_t extent = std::max<std::int64_t>(0, value(plan_.temporaries[t].extents[d]));
      const std::int64_t min = value(plan_.temporaries[t].mins[d]);
      if (extent > 0 && !lies_within_limits(min, extent)) {
        throw UserError(temporary.name + " would be computed from index " + std::to_string(min) +
                            " for " + std::to_string(extent) + " points in dimension " +
                            std::to_string(d) + ", but " + limits_text() +
                            ": clamp the indices at which it is read",
                        temporary.where);
      }
      array.dims.push_back({min, extent, stride});
      // A product beyond 64 bits is refused with the array's layout.
      stride =
          shape_rules::next_stride(stride, extent, d < temporary.align.size() ? temporary.align[d] : 1);
    }
    arrays_.push_back(std::move(array));
    set_symbols(arrays_.size() - 1);
  }

  [[nodiscard]] bool is_aligned(const PlanAlignment& wanted,
                                const PreparedPlan::Alignment& point) const {
    const Array& array = arrays_[static_cast<std::size_t>(point.array)];
    const Place at = place(point.at);
    const auto is_aligned_at = [&](std::int64_t phase) {
      return shape_rules::is_aligned(symbols_of(point.array), rank_of(point.array), at.get(),
                                     array.element_bytes, wanted.bytes, phase);
    };
    const PreparedPlan::Sides& sides = plan_.sides[static_cast<std::size_t>(point.array)];
    return (!sides.host || is_aligned_at(array.host_phase)) &&
           (!sides.device || is_aligned_at(array.device_phase));
  }

  [[nodiscard]] std::vector<Variant::Inner> inner_strides() const {
    constexpr std::int64_t kWidest = 4;
    std::vector<Variant::Inner> all;
    for (std::size_t i = 0; i < plan_.plan().buffers.size(); ++i) {
      const std::vector<BufferDim>& dims = arrays_[i].dims;
      Variant::Inner inner;
      const std::int64_t stride = dims.front().stride;
      if (stride >= 1 && stride <= kWidest) inner.stride = static_cast<std::uint8_t>(stride);
      for (std::size_t d = 1; d < dims.size() && stride != 1; ++d) {
        if (dims[d].stride == 1 && inner.unit == 0) inner.unit = static_cast<std::uint8_t>(d);
      }
      all.push_back(inner);
    }
    const bool known = std::any_of(all.begin(), all.end(), [](const Variant::Inner& inner) {
      return inner.stride > 1 || inner.unit > 0;
    });
    return known ? all : std::vector<Variant::Inner>();
  }

  /// Variant::alike.
  [[nodiscard]] std::vector<std::uint16_t> alike_now() const {
    constexpr std::size_t kMost = std::numeric_limits<std::uint16_t>::max();
    if (arrays_.size() < kFewestAlike || arrays_.size() > kMost) return {};
    std::map<std::vector<std::int64_t>, std::vector<std::uint16_t>> shapes;
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      std::vector<std::int64_t> shape;
      for (const BufferDim& dim : arrays_[i].dims) {
        shape.insert(shape.end(), {dim.min, dim.extent, dim.stride});
      }
      shapes[shape].push_back(static_cast<std::uint16_t>(i));
    }
    std::vector<std::uint16_t> all(arrays_.size());
    std::iota(all.begin(), all.end(), std::uint16_t{0});
    bool any = false;
    for (const auto& [shape, members] : shapes) {
      if (members.size() < kFewestAlike || shape.empty()) continue;
      for (const std::uint16_t i : members) all[i] = members.front();
      any = true;
    }
    return any ? all : std::vector<std::uint16_t>();
  }

  /// Variant::chosen; empty where no condition holds.
  [[nodiscard]] std::vector<std::uint8_t> chosen_now() const {
    std::vector<std::uint8_t> all;
    bool any = false;
    for (const auto& conditions : plan_.choices) {
      const auto holds =
          std::find_if(conditions.begin(), conditions.end(),
                       [&](const HostProgram& condition) { return value(condition) != 0; });
      const auto first = holds == conditions.end() ? 0 : holds - conditions.begin() + 1;
      all.push_back(static_cast<std::uint8_t>(first));
      any = any || first != 0;
    }
    return any ? all : std::vector<std::uint8_t>();
  }

  [[nodiscard]] bool has_few_blocks() const {
    return std::all_of(plan_.launches.begin(), plan_.launches.end(), [&](const auto& launch) {
      std::int64_t blocks = 1;
      for (const HostProgram& axis : launch.grid) {
        blocks *= std::clamp<std::int64_t>(value(axis), 0, kMostOverlapped + 1);
      }
      return blocks <= kMostOverlapped;
    });
  }

  void choose_variant() {
    // A variant with fewer assumptions serves whatever one with more would: only turn them off.
    Variant& wanted = out_.wanted;
    wanted = plan_.variant;
    if (bound_.in_place) wanted.separate = false;
    wanted.alike = alike_now();
    wanted.overlapped = bound_.in_graph && has_few_blocks();
    for (const Array& array : arrays_) {
      if (array.dims.front().stride != 1) wanted.unit_stride = false;
    }
    if (!wanted.unit_stride) wanted.inner = inner_strides();
    for (const PreparedPlan::Launch& launch : plan_.launches) {
      for (const PreparedPlan::Argument& argument : launch.arguments) {
        if (argument.array < 0) continue;
        if (largest_offset(argument) > kLargestOffset32) wanted.index32 = false;
      }
    }
    for (std::size_t a = 0; a < plan_.alignments.size(); ++a) {
      if (!is_aligned(plan_.plan().alignments[a], plan_.alignments[a])) wanted.aligned = false;
    }
    if (!plan_.variant.grid3) return;
    for (const PreparedPlan::Launch& launch : plan_.launches) {
      for (std::size_t axis = 0; axis < launch.grid.size(); ++axis) {
        const std::int64_t limit = axis == 0 ? kLargestGridX : kLargestGridYZ;
        if (value(launch.grid[axis]) > limit) wanted.grid3 = false;
      }
    }
  }

  void add_launch(std::size_t index) {
    const PreparedPlan::Launch& prepared = plan_.launches[index];
    const PlanLaunch& launch = plan_.plan().launches[index];
    if (prepared.when.defined() && value(prepared.when) == 0) return;
    ShapedLaunch shaped;
    shaped.on_device = launch.on_device;
    shaped.launch = index;
    if (launch.on_device) shaped.shape = block_shape(launch);
    for (std::size_t axis = 0; axis < prepared.grid.size(); ++axis) {
      const std::int64_t blocks = value(prepared.grid[axis]);
      if (blocks <= 0) return;
      const std::int64_t limit = axis == 0 ? kLargestGridX : kLargestGridYZ;
      if (blocks > limit) {
        throw UserError("kernel " + launch.kernel + " needs a grid of " + std::to_string(blocks) +
                        " blocks in dimension " + std::to_string(axis) + ", more than " +
                        std::to_string(limit) + ": use larger tiles");
      }
      shaped.shape.grid[axis] = static_cast<std::uint32_t>(blocks);
    }
    shaped.values.resize(launch.arguments.size());
    for (std::size_t a = 0; a < launch.arguments.size(); ++a) {
      const PreparedPlan::Argument& argument = prepared.arguments[a];
      if (argument.array >= 0) {
        shaped.pointers.push_back({a, argument.array, offset_of(argument), launch.arguments[a].written,
                                   launch.arguments[a].kind == KernelArgument::Kind::Texture});
      } else if (argument.origin) {
        continue;  // comes with its texture
      } else if (argument.lines) {
        shaped.lines.push_back(a);
      } else if (argument.each_run) {
        shaped.each_run.push_back(a);
      } else {
        shaped.values[a] = scalar_argument(plan_, index, a, bound_, out_.symbols.data());
      }
    }
    out_.launches.push_back(std::move(shaped));
  }

  [[nodiscard]] Place place(const std::vector<HostProgram>& programs) const {
    return {programs, out_.symbols.data()};
  }

  /// Elements between the array's first and the point that the argument's pointer shall show,
  /// KernelArgument::at.
  [[nodiscard]] std::int64_t offset_of(const PreparedPlan::Argument& argument) const {
    return shape_rules::offset_of(symbols_of(argument.array), rank_of(argument.array),
                                  place(argument.at).get());
  }
  [[nodiscard]] std::int64_t largest_offset(const PreparedPlan::Argument& argument) const {
    return shape_rules::largest_offset(symbols_of(argument.array), rank_of(argument.array),
                                       place(argument.at).get());
  }

  ShapedRun& out_;
  const PreparedPlan& plan_;
  const BoundArguments& bound_;
  std::vector<Array> arrays_;
};

}  // namespace

LaunchShape block_shape(const PlanLaunch& launch) {
  LaunchShape shape;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    shape.block[axis] = static_cast<std::uint32_t>(launch.block[axis]);
  }
  shape.shared_bytes = static_cast<std::uint32_t>(launch.shared_bytes);
  return shape;
}

ShapedRun shape_run(std::shared_ptr<const PreparedPlan> plan, const BoundArguments& bound) {
  ShapedRun shaped;
  shaped.plan = std::move(plan);
  Shaper(shaped, bound).shape();
  return shaped;
}

void check_scalars(const ShapedRun& shaped, const BoundArguments& bound) {
  const PreparedPlan& plan = *shaped.plan;
  if (plan.checks_of_scalars.empty()) return;
  std::vector<HostValue> symbols = shaped.symbols;
  read_scalars(plan, bound, symbols.data());
  for (const std::size_t check : plan.checks_of_scalars) check_condition(plan, check, symbols.data());
}

}  // namespace mica
