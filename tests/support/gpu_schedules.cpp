#include "tests/support/gpu_schedules.h"

#include "tests/support/check_targets.h"

namespace mica::test {
namespace {

std::string policy_name(LoadPolicy policy) {
  switch (policy) {
    case LoadPolicy::HaloThreads: return "halo_threads";
    case LoadPolicy::TwoStep: return "two_step";
    case LoadPolicy::Strided: return "strided";
    case LoadPolicy::AsyncCopy: return "async_copy";
    case LoadPolicy::Bulk: return "bulk";
  }
  return "";
}

TestPipeline star2() { return star(Float(32), 2, 2); }
TestPipeline star3() { return star(Float(32), 3, 1); }

}  // namespace

void PrintTo(const GpuCase& c, std::ostream* out) { *out << c.name; }

std::vector<GpuCase> gpu_loop_cases() {
  std::vector<GpuCase> cases{
      {"tile_1d", 1, [] { return star(Float(64), 1, 3); },
       [](TestPipeline& p) { p.output().gpu_tile("x", 32); }},
      {"tile_2d", 2, star2, [](TestPipeline& p) { p.output().gpu_tile("x", "y", 16, 4); }},
      {"tile_2d_one_row", 2, star2, [](TestPipeline& p) { p.output().gpu_tile("x", "y", 32, 1); }},
      {"tile_2d_one_thread", 2, star2, [](TestPipeline& p) { p.output().gpu_tile("x", "y", 1, 1); }},
      {"tile_2d_odd", 2, star2, [](TestPipeline& p) { p.output().gpu_tile("x", "y", 7, 3); }},
      {"tile_3d", 3, star3, [](TestPipeline& p) { p.output().gpu_tile("x", "y", "z", 8, 4, 2); }},
      {"tile_xy_of_3d", 3, star3,
       [](TestPipeline& p) { p.output().reorder("z", "x", "y").gpu_tile("x", "y", 16, 2); }},
      {"tile_x_of_2d", 2, star2,
       [](TestPipeline& p) { p.output().reorder("y", "x").gpu_tile("x", 16); }},
      {"by_hand", 2, star2,
       [](TestPipeline& p) {
         p.output()
             .tile("x", "y", "bx", "by", "tx", "ty", 16, 4)
             .gpu_blocks("bx", "by")
             .gpu_threads("tx", "ty");
       }},
      {"by_hand_swapped", 2, star2,
       [](TestPipeline& p) {
         p.output()
             .tile("x", "y", "bx", "by", "tx", "ty", 4, 16)
             .reorder("ty", "tx", "by", "bx")
             .gpu_blocks("by", "bx")
             .gpu_threads("ty", "tx");
       }},
      {"rows_of_blocks", 2, star2,
       [](TestPipeline& p) {
         p.output().split("x", "bx", "tx", 16).gpu_blocks("bx", "y").gpu_threads("tx");
       }},
      {"serial_rows_in_a_thread", 2, star2,
       [](TestPipeline& p) {
         p.output()
             .tile("x", "y", "bx", "by", "tx", "ty", 16, 4)
             .reorder("ty", "tx", "bx", "by")
             .gpu_blocks("bx", "by")
             .gpu_threads("tx");
       }},
      {"fused_threads", 2, star2,
       [](TestPipeline& p) {
         p.output()
             .tile("x", "y", "bx", "by", "tx", "ty", 8, 4)
             .fuse("tx", "ty", "t")
             .gpu_blocks("bx", "by")
             .gpu_threads("t");
       }},
      {"fused_points", 2, star2,
       [](TestPipeline& p) {
         p.output().fuse("x", "y", "p").split("p", "b", "t", 32).gpu_blocks("b").gpu_threads("t");
       }},
  };
  for (const int lanes : {2, 4}) {
    cases.push_back({"tile_vectors_of_" + std::to_string(lanes), 2, star2, [lanes](TestPipeline& p) {
                       p.output().gpu_tile("x", "y", 8, 4).vectorize("x", lanes);
                     }});
    cases.push_back({"tile_unrolled_" + std::to_string(lanes), 2, star2, [lanes](TestPipeline& p) {
                       p.output().gpu_tile("x", "y", 8, 4).unroll("y", lanes);
                     }});
    cases.push_back({"tile_vectors_and_rows_" + std::to_string(lanes), 2,
                     [] { return star(Float(64), 2, 1); },
                     [lanes](TestPipeline& p) {
                       p.output().gpu_tile("x", "y", 8, 2).vectorize("x", lanes).unroll("y", 2);
                     }});
    cases.push_back(
        {"bytes_in_vectors_of_" + std::to_string(4 * lanes), 2, [] { return box(UInt(8), 2, 1); },
         [lanes](TestPipeline& p) { p.output().gpu_tile("x", "y", 4, 4).vectorize("x", 4 * lanes); }});
  }
  for (const TailStrategy tail : {TailStrategy::GuardWithIf, TailStrategy::ShiftInwards}) {
    cases.push_back({"tail_" + to_string(tail), 2, star2,
                     [tail](TestPipeline& p) { p.output().gpu_tile("x", "y", 16, 4, tail); }});
    cases.push_back({"split_tail_" + to_string(tail), 2, star2, [tail](TestPipeline& p) {
                       p.output()
                           .split("x", "bx", "tx", 16, tail)
                           .split("y", "by", "ty", 4, tail)
                           .reorder("tx", "ty", "bx", "by")
                           .gpu_blocks("bx", "by")
                           .gpu_threads("tx", "ty");
                     }});
  }
  return cases;
}

std::vector<GpuCase> gpu_memory_cases() {
  std::vector<GpuCase> cases;
  for (const LoadPolicy policy : {LoadPolicy::HaloThreads, LoadPolicy::TwoStep, LoadPolicy::Strided}) {
    const std::string with = "_" + policy_name(policy);
    cases.push_back({"stage_2d" + with, 2, star2, [policy](TestPipeline& p) {
                       p.output().gpu_tile("x", "y", 16, 4);
                       p.output().stage(p.inputs.front(), MemoryType::Shared, policy);
                     }});
    cases.push_back({"stage_1d" + with, 1, [] { return star(Float(64), 1, 3); },
                     [policy](TestPipeline& p) {
                       p.output().gpu_tile("x", 16);
                       p.output().stage(p.inputs.front(), MemoryType::Shared, policy);
                     }});
    cases.push_back({"stage_3d" + with, 3, star3, [policy](TestPipeline& p) {
                       p.output().gpu_tile("x", "y", "z", 8, 4, 2);
                       p.output().stage(p.inputs.front(), MemoryType::Shared, policy);
                     }});
    cases.push_back({"stage_box3d_bytes" + with, 3, [] { return box(UInt(8), 3, 1); },
                     [policy](TestPipeline& p) {
                       p.output().gpu_tile("x", "y", "z", 8, 4, 2);
                       p.output().stage(p.inputs.front(), MemoryType::Shared, policy);
                     }});
    cases.push_back({"stage_two_inputs" + with, 3, wave, [policy](TestPipeline& p) {
                       p.output().gpu_tile("x", "y", "z", 8, 4, 2);
                       for (const ImageParam& u : p.inputs) {
                         p.output().stage(u, MemoryType::Shared, policy);
                       }
                     }});
    cases.push_back({"stage_producer" + with, 2, blur, [policy](TestPipeline& p) {
                       p.output().gpu_tile("x", "y", 16, 4);
                       p.output().stage(p.func("blur_x"), MemoryType::Shared, policy);
                     }});
    cases.push_back({"stage_unrolled" + with, 2, star2, [policy](TestPipeline& p) {
                       p.output().gpu_tile("x", "y", 8, 4).unroll("y", 2);
                       p.output().stage(p.inputs.front(), MemoryType::Shared, policy);
                     }});
  }
  const auto add = [&](const char* name, int dimensions, std::function<TestPipeline()> make,
                       std::function<void(TestPipeline&)> schedule) {
    cases.push_back({name, dimensions, std::move(make), std::move(schedule)});
  };
  add("shared_producer", 2, blur, [](TestPipeline& p) {
    p.output().gpu_tile("x", "y", 16, 4);
    p.func("blur_x").compute_at(p.output(), "x.block").gpu_threads("x", "y");
  });
  add("shared_producer_by_hand", 2, blur, [](TestPipeline& p) {
    p.output()
        .tile("x", "y", "bx", "by", "tx", "ty", 16, 4)
        .gpu_blocks("bx", "by")
        .gpu_threads("tx", "ty");
    p.func("blur_x").compute_at(p.output(), "bx").store_in(MemoryType::Shared).gpu_threads("x", "y");
  });
  add("shared_chain", 2, gradient, [](TestPipeline& p) {
    p.output().gpu_tile("x", "y", 8, 8);
    for (const char* const name : {"smooth", "gx", "gy"}) {
      p.func(name).compute_at(p.output(), "x.block").gpu_threads("x", "y");
    }
  });
  add(
      "shared_tuple", 2,
      [] {
        TestPipeline p = tuple_stats();
        const Var x("x");
        const Var y("y");
        Func spread("spread");
        Func& stats = p.func("stats");
        spread(x, y) =
            cast<float>(stats(x + 1, y)[0]) - stats(x, y - 1)[2] + cast<float>(stats(x - 1, y)[1]);
        p.funcs.push_back(spread);
        p.outputs = {spread};
        return p;
      },
      [](TestPipeline& p) {
        p.output().gpu_tile("x", "y", 16, 4);
        p.func("stats").compute_at(p.output(), "x.block").gpu_threads("x", "y");
      });
  add("shared_producer_with_update", 2, accumulate, [](TestPipeline& p) {
    p.output().gpu_tile("x", "y", 8, 4);
    Func& acc = p.func("acc");
    acc.compute_at(p.output(), "x.block").gpu_threads("x", "y");
    acc.update(0).gpu_threads("x", "y");
  });
  add("producer_in_registers", 2, gradient, [](TestPipeline& p) {
    p.output().gpu_tile("x", "y", 16, 4);
    p.func("smooth").compute_at(p.output(), "x.thread");
    p.func("gx").compute_at(p.output(), "x.thread").store_in(MemoryType::Register);
  });
  add("halved_producer_in_shared", 2, down_up, [](TestPipeline& p) {
    p.output().gpu_tile("x", "y", 16, 4);
    p.func("down").compute_at(p.output(), "x.block").gpu_threads("x", "y");
  });
  add("wrapper_of_an_input", 2, star2, [](TestPipeline& p) {
    p.output().gpu_tile("x", "y", 16, 4);
    p.inputs.front().in(p.output()).compute_at(p.output(), "x.block").gpu_threads("x", "y");
  });
  add("read_only_input", 2, star2, [](TestPipeline& p) {
    p.output().gpu_tile("x", "y", 16, 4).launch_bounds(2);
    p.output().read_only(p.inputs.front());
  });
  return cases;
}

std::vector<GpuCase> gpu_kernel_cases() {
  std::vector<GpuCase> cases;
  for (const PipelineMaker& maker : pipeline_makers()) {
    cases.push_back({"plain_" + maker.name, maker.dimensions, maker.make, [](TestPipeline& p) {
                       for (Func& f : p.outputs) schedule_plain_gpu(f);
                     }});
  }
  const auto add = [&](const char* name, int dimensions, std::function<TestPipeline()> make,
                       std::function<void(TestPipeline&)> schedule) {
    cases.push_back({name, dimensions, std::move(make), std::move(schedule)});
  };
  add("two_kernels", 2, blur, [](TestPipeline& p) {
    p.func("blur_x").compute_root().gpu_tile("x", "y", 32, 2);
    p.output().gpu_tile("x", "y", 16, 4);
  });
  add("host_then_gpu", 2, blur, [](TestPipeline& p) {
    p.func("blur_x").compute_root().vectorize("x", 8);
    p.output().gpu_tile("x", "y", 16, 4);
  });
  add("gpu_then_host", 2, blur, [](TestPipeline& p) {
    p.func("blur_x").compute_root().gpu_tile("x", "y", 16, 4);
    p.output().vectorize("x", 8);
  });
  add("four_kernels", 2, gradient, [](TestPipeline& p) {
    for (Func& f : p.funcs) {
      if (f.name() != "energy") f.compute_root();
      f.gpu_tile("x", "y", 8, 8).launch_bounds(1).max_registers(64);
    }
  });
  add("updates_in_kernels_of_their_own", 2, accumulate, [](TestPipeline& p) {
    Func& acc = p.func("acc");
    acc.compute_root().gpu_tile("x", "y", 16, 4);
    acc.update(0).gpu_tile("x", "y", 8, 8);
    p.output().gpu_tile("x", "y", 16, 4);
  });
  add("padded_intermediate", 2, blur, [](TestPipeline& p) {
    p.func("blur_x").compute_root().align_storage("x", 32).gpu_tile("x", "y", 32, 2);
    p.output().gpu_tile("x", "y", 8, 4).vectorize("x", 4);
  });
  return cases;
}

std::vector<Box> gpu_boxes(int dimensions) {
  const std::vector<Box> full{{{-5, 39}, {3, 11}, {-2, 5}, {0, 3}},
                              {{0, 16}, {0, 4}, {0, 2}, {0, 1}},
                              {{-1, 3}, {7, 2}, {1, 1}, {0, 2}},
                              {{10, 1}, {0, 1}, {0, 1}, {0, 1}},
                              {{-33, 65}, {-9, 17}, {0, 4}, {-1, 1}}};
  std::vector<Box> boxes;
  for (const Box& b : full) boxes.emplace_back(b.begin(), b.begin() + dimensions);
  return boxes;
}

}  // namespace mica::test
