// The hand-written CUDA kernels of the benchmarks, run as host code, give the oracle's bits for the
// algorithms of their cases: at sizes that fill no tile, and in several orders of their threads.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bench/algorithms.h"
#include "bench/twin_run.h"
#include "bench/weights.h"
#include "fuzz/random_data.h"
#include "tests/support/check_targets.h"
#include "tests/support/compare.h"
#include "tests/support/cuda_on_host.h"

// Outside mica, whose min is that of expressions.
namespace twins {
#include "bench/twins/twin.cuh"
namespace blur {
#include "bench/twins/blur.cu"
}
namespace fd3d {
#include "bench/twins/fd3d.cu"
}
namespace jacobi2d {
#include "bench/twins/jacobi2d.cu"
}
namespace march {
#include "bench/twins/march.cu"
}
namespace pipeline {
#include "bench/twins/pipeline.cu"
}
namespace pmpp {
#include "bench/twins/pmpp.cu"
}
namespace seismic {
#include "bench/twins/seismic.cu"
}
namespace seismic_fused {
#include "bench/twins/seismic_fused.cu"
}
namespace tile {
#include "bench/twins/tile.cu"
}
}  // namespace twins

namespace mica::test {
namespace {

using bench::Case;
using bench::Twin;
using bench::TwinKernel;
using cuda::Order;

// A kernel of a .cu file as host code.
struct HostKernel {
  std::size_t parameters = 0;
  std::function<std::function<void()>(void* const*)> bind;
};

const std::map<std::string, HostKernel>& host_kernels() {
  static const std::map<std::string, HostKernel> all = [] {
    std::map<std::string, HostKernel> list;
#define MICA_TWIN(family, kernel)                                                               \
  list[#family "/" #kernel] = {                                                                 \
    cuda::parameter_count(&twins::family::kernel),                                              \
    [](void* const* arguments) { return cuda::bind_kernel(&twins::family::kernel, arguments); } \
  }
    MICA_TWIN(blur, blur_box9);
    MICA_TWIN(blur, blur_x_pass);
    MICA_TWIN(blur, blur_y_pass);
    MICA_TWIN(blur, blur_inline);
    MICA_TWIN(blur, blur_shared_tile);
    MICA_TWIN(fd3d, star25_plane_pass);
    MICA_TWIN(fd3d, star25_column_pass);
    MICA_TWIN(fd3d, star25_one_pass);
    MICA_TWIN(jacobi2d, jacobi2d_thread_tile);
    MICA_TWIN(jacobi2d, jacobi2d_strided);
    MICA_TWIN(jacobi2d, jacobi2d_row_window);
    MICA_TWIN(march, star25_plane);
    MICA_TWIN(march, star25_high_order);
    MICA_TWIN(march, star25_high_order_f64);
    MICA_TWIN(pipeline, pipeline_multi_output);
    MICA_TWIN(pmpp, stencil7_naive);
    MICA_TWIN(pmpp, stencil7_naive_f64);
    MICA_TWIN(pmpp, stencil7_float4);
    MICA_TWIN(pmpp, stencil7_shared_tile);
    MICA_TWIN(pmpp, stencil7_three_plane);
    MICA_TWIN(pmpp, stencil7_register_march);
    MICA_TWIN(seismic, seismic_x);
    MICA_TWIN(seismic, seismic_x_vec1);
    MICA_TWIN(seismic, seismic_x_vec2);
    MICA_TWIN(seismic, seismic_x_vec4);
    MICA_TWIN(seismic, seismic_y);
    MICA_TWIN(seismic, seismic_y_vec1);
    MICA_TWIN(seismic, seismic_y_vec2);
    MICA_TWIN(seismic, seismic_y_vec4);
    MICA_TWIN(seismic, seismic_y_shared);
    MICA_TWIN(seismic, seismic_z_window);
    MICA_TWIN(seismic_fused, seismic_xy);
    MICA_TWIN(seismic_fused, seismic_xyz);
    MICA_TWIN(tile, stencil7_two_step);
    MICA_TWIN(tile, pair7_read_only);
#undef MICA_TWIN
    return list;
  }();
  return all;
}

class KernelOnHost final : public LoadedKernel {
 public:
  KernelOnHost(HostKernel kernel, Order order) : kernel_(std::move(kernel)), order_(order) {}
  void launch(const LaunchShape& shape, void* const* arguments, std::size_t count, Stream) override {
    if (count != kernel_.parameters)
      throw InternalError("a twin is given other arguments than it takes");
    cuda::run_blocks(shape, order_, kernel_.bind(arguments));
  }
  void describe(KernelInfo&) const override {}

 private:
  HostKernel kernel_;
  Order order_;
};

// The interior of a larger allocation of random bits, whose rows are aligned as the inputs' are.
struct Output {
  AnyBuffer whole, crop;
  AnyBuffer before;

  Output(Type type, const std::vector<std::int64_t>& extents) {
    whole = AnyBuffer::with_halo(type, extents, std::vector<std::int64_t>(extents.size(), 2));
    fill_random(whole, 77);
    before = whole.copy();
    Box box;
    for (const std::int64_t n : extents) box.emplace_back(0, n);
    crop = whole.cropped(box);
  }
  // Puts the crop's old contents back and compares everything.
  ::testing::AssertionResult outside_untouched() {
    Box box;
    for (const BufferDim& d : crop.dims()) box.emplace_back(d.min, d.extent);
    void* to = whole.host_data_for_write();
    void* from = before.host_data_for_write();
    for_each_point(box, [&](const std::vector<std::int64_t>& at) {
      std::memcpy(element_address(whole, to, at), element_address(before, from, at),
                  static_cast<std::size_t>(whole.type().bytes()));
    });
    return same_bits(before, whole);
  }
};

std::int64_t round_up(std::int64_t n, std::int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

void check(const Case& c, std::vector<std::int64_t> extents, std::int64_t chunk, Order order) {
  bench::Algorithm algorithm = bench::make_algorithm(c.algorithm);
  extents.resize(algorithm.halo.size());
  extents[0] = round_up(extents[0], c.twin.multiple_of_x);
  std::vector<AnyBuffer> inputs;
  for (std::size_t i = 0; i < algorithm.inputs.size(); ++i) {
    ImageParam& input = algorithm.inputs[i];
    inputs.push_back(
        AnyBuffer::with_halo(input.type(), extents, {algorithm.halo.begin(), algorithm.halo.end()}));
    fill_random(inputs.back(), 100 + i);
    input.set(inputs.back());
  }
  Box box;
  for (const std::int64_t n : extents) box.emplace_back(0, n);
  const std::vector<AnyBuffer> expected = expected_values({algorithm.output}, box);

  std::vector<Output> memory;
  std::vector<AnyBuffer> outputs;
  for (const Type type : algorithm.output.types()) {
    memory.emplace_back(type, extents);
    outputs.push_back(memory.back().crop);
  }
  schedules::Parameters parameters = c.parameters;
  if (!c.twin.chunk_parameter.empty()) parameters[c.twin.chunk_parameter] = chunk;
  bench::TwinRun run(c.twin, parameters, Target::host(), inputs, outputs,
                     [&](const std::string& cubin, const TwinKernel& kernel) {
                       return std::make_shared<KernelOnHost>(
                           host_kernels().at(cubin + "/" + kernel.name), order);
                     });
  run.launch();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_TRUE(same_bits(expected[i], outputs[i])) << "output " << i;
    EXPECT_TRUE(memory[i].outside_untouched()) << "output " << i;
  }
}

class TwinOf : public ::testing::TestWithParam<std::string> {
 protected:
  static const Case& the_case() {
    for (const Case& c : bench::cases()) {
      if (c.name == GetParam()) return c;
    }
    throw InternalError("no case " + GetParam());
  }
  // Points that a block covers along a side; a walk of several planes counts as one.
  static std::int64_t tile(int d) {
    return std::max<std::int64_t>(1, the_case().twin.kernels[0].tile[d]);
  }
};

TEST_P(TwinOf, GivesTheOraclesBitsWhereTilesStickOut) {
  check(the_case(), {tile(0) + 5, tile(1) + 3, 7}, 3, Order::Forward);
}

TEST_P(TwinOf, GivesTheOraclesBitsOnASinglePoint) { check(the_case(), {1, 1, 1}, 4, Order::Backward); }

TEST_P(TwinOf, GivesTheOraclesBitsOnWholeTilesInAnyOrderOfThreads) {
  for (const Order order : {Order::Forward, Order::Backward, Order::EvenFirst}) {
    check(the_case(), {tile(0), tile(1), 2 * tile(2)}, 1, order);
  }
}

class WalkingTwinOf : public TwinOf {};

TEST_P(WalkingTwinOf, GivesTheOraclesBitsOnLongWalks) {
  for (const Order order : {Order::Backward, Order::EvenFirst}) {
    check(the_case(), {tile(0) - 3, std::max<std::int64_t>(tile(1) - 2, 27), 27}, 23, order);
  }
}

// The cases with a twin, or those whose twin's blocks walk.
std::vector<std::string> names(bool walking) {
  std::vector<std::string> list;
  for (const Case& c : bench::cases()) {
    if (!c.twin.kernels.empty() && (!walking || !c.twin.chunk_parameter.empty())) {
      list.push_back(c.name);
    }
  }
  return list;
}

std::string as_identifier(const ::testing::TestParamInfo<std::string>& c) {
  std::string name = c.param;
  for (char& letter : name) letter = std::isalnum(static_cast<unsigned char>(letter)) ? letter : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, TwinOf, ::testing::ValuesIn(names(false)), as_identifier);
INSTANTIATE_TEST_SUITE_P(All, WalkingTwinOf, ::testing::ValuesIn(names(true)), as_identifier);

TEST(Twins, EveryHandWrittenKernelBelongsToACase) {
  std::map<std::string, int> uses;
  for (const auto& [name, kernel] : host_kernels()) uses[name] = 0;
  for (const Case& c : bench::cases()) {
    for (const TwinKernel& kernel : c.twin.kernels) ++uses[c.twin.cubin + "/" + kernel.name];
  }
  for (const auto& [name, count] : uses) EXPECT_GT(count, 0) << name;
}

}  // namespace
}  // namespace mica::test
