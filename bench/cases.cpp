#include "bench/cases.h"

namespace mica::bench {

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"copy3d/vec4", "copy3d", "pmpp/naive", {{"vec", 4}}, 512, {}},
      {"pmpp/naive",
       "stencil7",
       "pmpp/naive",
       {},
       512,
       {"pmpp", "stencil7_naive", {32, 8, 1}, {32, 8, 1}}},
      {"pmpp/naive-vec4",
       "stencil7",
       "pmpp/naive",
       {{"vec", 4}},
       512,
       {"pmpp", "stencil7_float4", {32, 8, 1}, {128, 8, 1}}},
      {"pmpp/shared-tile",
       "stencil7",
       "pmpp/shared-tile",
       {},
       512,
       {"pmpp", "stencil7_shared_tile", {10, 10, 10}, {8, 8, 8}}},
      {"tile/two-step-load", "stencil7", "tile/two-step-load", {}, 512, {}},
      {"tile/read-only", "stencil7", "tile/read-only", {{"staged", 0}}, 512, {}},
      {"blur/box3x3",
       "box9-u16",
       "blur/box3x3",
       {},
       16384,
       {"blur", "blur_box9", {32, 8, 1}, {32, 8, 1}}},
      {"blur/breadth-first", "blur-u16", "blur/breadth-first", {}, 16384, {}},
      {"blur/inline",
       "blur-u16",
       "blur/inline",
       {},
       16384,
       {"blur", "blur_inline", {32, 8, 1}, {32, 8, 1}}},
      {"blur/shared-tile",
       "blur-u16",
       "blur/shared-tile",
       {},
       16384,
       {"blur", "blur_shared_tile", {32, 8, 1}, {32, 8, 1}}},
      {"jacobi2d/strided-load",
       "jacobi2d",
       "jacobi2d/strided-load",
       {},
       8192,
       {"jacobi2d", "jacobi2d_strided", {128, 1, 1}, {128, 16, 1}}},
  };
  return all;
}

}  // namespace mica::bench
