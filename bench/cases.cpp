#include "bench/cases.h"

#include <algorithm>
#include <utility>

namespace mica::bench {
namespace {

using Kind = TwinArray::Kind;

constexpr std::int64_t kVolume = 512, kImage = 16384, kPlane = 8192;

/// A twin of one kernel whose tile has as many points as the block has threads.
Twin plain(const std::string& cubin, const std::string& kernel, std::uint32_t x, std::uint32_t y,
           std::uint32_t z = 1) {
  return {cubin, {{kernel, {x, y, z}, {x, y, z}}}};
}

/// A twin of one kernel of 64x4 threads with `vec` points of x each.
Twin vectors(const std::string& cubin, const std::string& kernel, std::int64_t vec) {
  return {cubin, {{kernel, {64, 4, 1}, {64 * vec, 4, 1}}}, 0, "", vec};
}

/// A twin of one kernel that walks `chunk` planes with tiles of tile_x x tile_y points.
Twin marching(const std::string& cubin, const std::string& kernel, std::uint32_t x, std::uint32_t y,
              std::int64_t tile_x, std::int64_t tile_y, std::int64_t chunk,
              const std::string& parameter = "chunk") {
  return {cubin, {{kernel, {x, y, 1}, {tile_x, tile_y, kChunk}}}, chunk, parameter};
}

std::vector<Case> pmpp() {
  const schedules::Parameters planes = {{"tile_y", 16}};
  const schedules::Parameters queue = {{"min_blocks", 4}};
  return {
      {"copy3d/vec4", "copy3d", "pmpp/naive", {{"vec", 4}}, kVolume, {}},
      {"pmpp/naive", "stencil7", "pmpp/naive", {}, kVolume, plain("pmpp", "stencil7_naive", 32, 8)},
      {"pmpp/naive-f64",
       "stencil7-f64",
       "pmpp/naive",
       {},
       kVolume,
       plain("pmpp", "stencil7_naive_f64", 32, 8)},
      {"pmpp/naive-vec4",
       "stencil7",
       "pmpp/naive",
       {{"vec", 4}, {"block_y", 4}, {"block_z", 4}},
       kVolume,
       {"pmpp", {{"stencil7_float4", {32, 8, 1}, {128, 8, 1}}}, 0, "", 4}},
      {"pmpp/naive-planes",
       "stencil7",
       "pmpp/naive",
       {{"vec", 4}, {"planes", 4}},
       kVolume,
       {"pmpp", {{"stencil7_float4", {32, 8, 1}, {128, 8, 1}}}, 0, "", 4}},
      {"pmpp/shared-tile",
       "stencil7",
       "pmpp/shared-tile",
       {{"tile_x", 14}, {"tile_y", 6}, {"tile_z", 6}},
       kVolume,
       {"pmpp", {{"stencil7_shared_tile", {10, 10, 10}, {8, 8, 8}}}}},
      {"pmpp/three-plane-march", "stencil7", "pmpp/three-plane-march", planes, kVolume,
       marching("pmpp", "stencil7_three_plane", 32, 32, 30, 30, 64)},
      {"pmpp/register-march", "stencil7", "pmpp/register-march", queue, kVolume,
       marching("pmpp", "stencil7_register_march", 32, 32, 30, 30, 64)},
  };
}

std::vector<Case> blur() {
  Twin two_kernels{
      "blur",
      {{"blur_x_pass", {32, 8, 1}, {32, 8, 1}, {{Kind::Input, 0}, {Kind::Scratch, 0}}, {0, 2, 0}},
       {"blur_y_pass", {32, 8, 1}, {32, 8, 1}, {{Kind::Scratch, 0}, {Kind::Output, 0}}}}};
  return {
      {"blur/box3x3",
       "box9-u16",
       "blur/box3x3",
       {{"vec", 8}},
       kImage,
       plain("blur", "blur_box9", 32, 8)},
      {"blur/breadth-first", "blur-u16", "blur/breadth-first", {{"vec", 8}}, kImage, two_kernels},
      {"blur/inline",
       "blur-u16",
       "blur/inline",
       {{"vec", 8}},
       kImage,
       plain("blur", "blur_inline", 32, 8)},
      {"blur/shared-tile",
       "blur-u16",
       "blur/shared-tile",
       {},
       kImage,
       plain("blur", "blur_shared_tile", 32, 8)},
  };
}

std::vector<Case> lecture() {
  const schedules::Parameters box = {{"tile_x", 32}, {"tile_y", 8}, {"tile_z", 4}};
  const schedules::Parameters staged = {{"tile_x", 32}, {"tile_y", 8}, {"tile_z", 4}, {"staged", 1}};
  const schedules::Parameters planes = {{"vec", 2}, {"rows", 4}, {"chunk", 128}};
  const schedules::Parameters queue = {{"chunk", 256}};
  const schedules::Parameters queue_f64 = {
      {"vec", 2}, {"rows", 4}, {"chunk", 256}, {"scatter", 1}, {"window", 0}};
  return {
      {"tile/two-step-load", "stencil7", "tile/two-step-load", box, kVolume,
       plain("tile", "stencil7_two_step", 32, 8, 4)},
      {"tile/read-only", "pair7", "tile/read-only", staged, kVolume,
       plain("tile", "pair7_read_only", 32, 8, 4)},
      {"march/plane", "star25", "march/plane", planes, kVolume,
       marching("march", "star25_plane", 32, 16, 32, 16, 64)},
      {"march/high-order", "star25", "march/high-order", queue, kVolume,
       marching("march", "star25_high_order", 32, 16, 32, 16, 64)},
      {"march/high-order-f64", "star25-f64", "march/high-order", queue_f64, kVolume,
       marching("march", "star25_high_order_f64", 32, 16, 32, 16, 64)},
      {"pipeline/multi-output",
       "multi-output",
       "pipeline/multi-output",
       {},
       kVolume,
       plain("pipeline", "pipeline_multi_output", 32, 8)},
  };
}

std::vector<Case> jacobi2d() {
  return {
      {"jacobi2d/thread-tile",
       "jacobi2d",
       "jacobi2d/thread-tile",
       {{"tile_x", 32}, {"tile_y", 32}},
       kPlane,
       {"jacobi2d", {{"jacobi2d_thread_tile", {16, 16, 1}, {32, 32, 1}}}}},
      {"jacobi2d/strided-load",
       "jacobi2d",
       "jacobi2d/strided-load",
       {},
       kPlane,
       {"jacobi2d", {{"jacobi2d_strided", {128, 1, 1}, {128, 16, 1}}}}},
      {"jacobi2d/row-window",
       "jacobi2d",
       "jacobi2d/row-window",
       {},
       kPlane,
       {"jacobi2d", {{"jacobi2d_row_window", {256, 1, 1}, {256, kChunk, 1}}}, 64, "chunk"}},
      {"jacobi2d/overlapped-copy",
       "jacobi2d-steps",
       "jacobi2d/overlapped-copy",
       {},
       kPlane,
       {},
       false,
       16},
  };
}

std::vector<Case> seismic() {
  const auto block = [](std::int64_t x, std::int64_t y, std::int64_t min_blocks = 0) {
    return schedules::Parameters{{"block_x", x}, {"block_y", y}, {"min_blocks", min_blocks}};
  };
  std::vector<Case> list = {
      {"seismic/x", "derivative-x", "seismic/x", {}, kVolume, plain("seismic", "seismic_x", 256, 1)},
      {"seismic/y", "derivative-y", "seismic/y", block(64, 4), kVolume,
       plain("seismic", "seismic_y", 256, 1)},
  };
  struct Vectors {
    std::string axis;
    std::int64_t vec;
    schedules::Parameters parameters;
  };
  const std::vector<Vectors> vectorized = {{"x", 1, block(256, 1)}, {"x", 2, block(256, 1)},
                                           {"x", 4, block(128, 1)}, {"y", 1, block(64, 4)},
                                           {"y", 2, block(32, 4)},  {"y", 4, block(16, 16, 8)}};
  for (const auto& [axis, vec, parameters] : vectorized) {
    const std::string width = std::to_string(vec), name = "seismic/" + axis + "-vec" + width;
    list.push_back({name, "derivative-" + axis, name, parameters, kVolume,
                    vectors("seismic", "seismic_" + axis + "_vec" + width, vec)});
  }
  Twin fused = vectors("seismic_fused", "seismic_xyz", 4);
  fused.kernels.front().tile[2] = kChunk;
  fused.chunk = 64;
  fused.chunk_parameter = "nw";
  const std::vector<Case> rest = {
      {"seismic/y-shared", "derivative-y", "seismic/y-shared", block(16, 16, 8), kVolume,
       vectors("seismic", "seismic_y_shared", 4)},
      {"seismic/z-window",
       "derivative-z",
       "seismic/z-window",
       {{"nw", 64}, {"vec", 2}, {"block_x", 128}},
       kVolume,
       marching("seismic", "seismic_z_window", 256, 1, 256, 1, 64, "nw")},
      {"seismic/xy",
       "derivative-xy",
       "seismic/xy",
       {{"block_x", 16}, {"block_y", 16}, {"load", 2}, {"min_blocks", 8}},
       kVolume,
       vectors("seismic_fused", "seismic_xy", 4)},
      {"seismic/xyz",
       "derivative-xyz",
       "seismic/xyz",
       {{"block_y", 8}, {"rows", 4}, {"nw", 256}},
       kVolume,
       fused},
  };
  list.insert(list.end(), rest.begin(), rest.end());
  return list;
}

std::vector<Case> fd3d() {
  Twin two_pass{"fd3d",
                {{"star25_plane_pass", {32, 32, 1}, {32, 32, 1}, {{Kind::Input, 0}, {Kind::Scratch, 0}}},
                 {"star25_column_pass",
                  {32, 8, 1},
                  {32, 8, kChunk},
                  {{Kind::Input, 0}, {Kind::Scratch, 0}, {Kind::Output, 0}}}},
                64,
                "chunk"};
  return {
      {"fd3d/two-pass",
       "star25-two-pass",
       "fd3d/two-pass",
       {{"tile_x", 32}, {"tile_y", 32}, {"chunk", 64}},
       kVolume,
       two_pass},
      {"fd3d/one-pass",
       "star25",
       "fd3d/one-pass",
       {{"rows", 4}, {"chunk", 256}, {"scatter", 1}, {"window", 0}},
       kVolume,
       marching("fd3d", "star25_one_pass", 32, 16, 32, 16, 64)},
  };
}

std::vector<Case> cfd() {
  return {{"cfd/jacobi", "cfd-jacobi", "cfd/jacobi", {}, kPlane, {}},
          {"cfd/red-black", "cfd-red-black", "cfd/red-black", {}, kPlane, {}}};
}

std::vector<Case> multigrid() {
  return {{"multigrid/vcycle", "vcycle", "multigrid/vcycle", {}, 256, {}}};
}

std::vector<Case> image() {
  return {{"image/local-laplacian", "local-laplacian", "image/local-laplacian", {}, 4096, {}}};
}

// Of arrays whose shapes the compiler knows, and of any.
std::vector<Case> mhd() {
  constexpr std::int64_t kFields = 256;
  const schedules::Parameters f32 = {{"registers", 0}, {"vec", 4}, {"block_y", 4}};
  const schedules::Parameters f64 = {{"registers", 0}, {"chunk", 256}, {"stream", 1}};
  const schedules::Parameters f32_any = {{"registers", 104}, {"block_y", 4}};
  const schedules::Parameters f64_any = {{"registers", 168}, {"block_y", 4}};
  return {{"mhd/substep", "mhd", "mhd/substep", f32, kFields, {}, true},
          {"mhd/substep-f64", "mhd-f64", "mhd/substep", f64, kFields, {}, true},
          {"mhd/any-shape", "mhd", "mhd/substep", f32_any, kFields, {}},
          {"mhd/any-shape-f64", "mhd-f64", "mhd/substep", f64_any, kFields, {}}};
}

}  // namespace

const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> list;
    for (auto family : {pmpp, blur, lecture, jacobi2d, seismic, fd3d, cfd, multigrid, image, mhd}) {
      for (auto& c : family()) list.push_back(std::move(c));
    }
    return list;
  }();
  return all;
}

bool has_schedule(const Case& c) {
  return std::ranges::any_of(schedules::registry(),
                             [&](const schedules::Recipe& recipe) { return recipe.name == c.schedule; });
}

}  // namespace mica::bench
