// The code of docs/for-cuda-users.md, compiled against the CUDA runtime's header where there is one.
// Nothing of it is run here: tests/gpu has what is.
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#else
#include "tests/docs/cuda_runtime_names.h"
#endif
#include <mica/mica.h>

namespace for_cuda_users {

using namespace mica;

void first_contact(float* device_in, float* device_out, int nx, int ny, cudaStream_t stream) {
  Var x("x"), y("y");
  ImageParam u(Float(32), 2, "u");
  Param<float> c("c", 0.25F);
  Func next("next");
  next(x, y) = c * (u(x - 1, y) + u(x + 1, y) + u(x, y - 1) + u(x, y + 1));
  next.gpu_tile(x, y, 32, 8).vectorize(x, 4);

  // Memory of the program's on GPU 0: rows of nx points, nothing between them.
  const Target gpu = Target::cuda(0);
  const std::vector<BufferDim> dims = {{0, nx, 1}, {0, ny, nx}};
  auto in = Buffer<float>::wrap_device(reinterpret_cast<std::uint64_t>(device_in), dims, gpu);
  auto out = Buffer<float>::wrap_device(reinterpret_cast<std::uint64_t>(device_out), dims, gpu);
  Buffer<float> inside = out.cropped({{1, nx - 2}, {1, ny - 2}});

  // Compiled once; every run is put into the program's stream and returns at once.
  Executable step = compile(next, gpu);
  step.run(inside, {.inputs = {{u, in}}, .params = {{c, 0.2F}}, .stream = {stream}});
}

void memory(Buffer<float>& field, const Target& gpu, cudaStream_t stream) {
  // The device's side of a Buffer of Mica's, made and brought up to date where needed.
  const float* read = reinterpret_cast<const float*>(field.device_data(gpu, false));
  float* write =
      reinterpret_cast<float*>(field.device_data(gpu, true));  // the device's side is newer now
  cudaMemcpyAsync(write + field.stride(1), read, 4 * sizeof(float), cudaMemcpyDeviceToDevice, stream);
  cudaStreamSynchronize(stream);
  field.copy_to_host();
}

void copies(Executable& step, const ImageParam& u, const Target& gpu, std::int64_t nx, std::int64_t ny,
            std::int64_t rows) {
  Buffer<float> in[3], out[3];  // on the device: three slabs are under way at once
  for (int s = 0; s < 3; ++s) {
    in[s] = Buffer<float>(nx, rows + 2);
    out[s] = Buffer<float>(nx - 2, rows);
  }
  auto field = Buffer<float>::pinned(dense_dims({nx, ny}), gpu);  // page-locked host memory
  auto result = Buffer<float>::pinned(dense_dims({nx - 2, ny - 2}), gpu);
  field.fill(1);

  CopyPipeline pipeline(gpu);
  for (std::int64_t y = 0; y + rows <= ny - 2; y += rows) {
    const int slot = pipeline.next_slot();
    const auto slab = field.cropped({{0, nx}, {y, rows + 2}});
    const auto own = result.cropped({{0, nx - 2}, {y, rows}});
    const auto to = out[slot].translated({1, 1});
    pipeline.add([&](Stream s) { copy_to_device(slab, in[slot], gpu, s); },
                 [&](Stream s) {
                   Buffer<float> written = to;
                   step.run(written, {.inputs = {{u, in[slot]}}, .stream = s});
                 },
                 [&](Stream s) { copy_to_host(out[slot], own, gpu, s); });
  }
  pipeline.synchronize();
  std::printf("%.2f stages at once\n", times_of(pipeline.spans()).overlap());
}

void graphs(Executable& executable, const ImageParam& u, const Param<float>& dt, Buffer<float>& a,
            Buffer<float>& b) {
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);
  // All is decided and allocated here, so that run() launches and nothing else.
  PreparedRun there = executable.prepare(b, {.inputs = {{u, a}}, .stream = {stream}});
  PreparedRun back = executable.prepare(a, {.inputs = {{u, b}}, .stream = {stream}});

  cudaGraph_t graph = nullptr;
  cudaGraphExec_t steps = nullptr;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  for (int n = 0; n < 50; ++n) {
    there.run();
    back.run();
  }
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&steps, graph, 0);
  for (int n = 0; n < 10; ++n) cudaGraphLaunch(steps, stream);
  cudaStreamSynchronize(stream);

  there.set({dt, 0.1F});  // for runs to come; a graph keeps the values that it was captured with
  cudaGraphExecDestroy(steps);
  cudaGraphDestroy(graph);
}

void timing(Executable& step, Buffer<float>& out, const Target& gpu) {
  step.run(out);  // compiles, loads, copies
  GpuTimer timer(gpu);
  timer.start();
  for (int n = 0; n < 100; ++n) step.run(out);
  timer.stop();
  const double ms = timer.milliseconds() / 100;
  const double bytes = 2.0 * static_cast<double>(out.elements()) * sizeof(float);
  std::printf("%.3f ms, %.0f GB/s; a copy makes %.0f GB/s\n", ms, bytes / ms * 1e-6,
              device_copy_bandwidth(gpu, static_cast<std::size_t>(bytes / 2)));
}

void code(Func& next, Executable& step) {
  // Without a GPU at hand: for sm_90, for the driver that is the oldest to take it.
  std::ofstream("next.ptx") << compile_to_ptx(next, 90);

  // After a run: what the assembler made of it.
  for (const KernelInfo& kernel : step.kernels()) {
    std::printf("%s: %d registers, %d bytes of spills, blocks of %u x %u x %u\n", kernel.name.c_str(),
                kernel.registers, kernel.local_bytes, kernel.shape.block[0], kernel.shape.block[1],
                kernel.shape.block[2]);
  }
}

}  // namespace for_cuda_users
