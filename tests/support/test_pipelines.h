// Algorithms that many tests share, without directives.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dsl/func/func.h"
#include "fuzz/test_pipeline.h"

namespace mica::test {

/// The Vars x, y, z, w, as many as asked for.
std::vector<Var> grid_vars(int dimensions);
/// `vars` as expressions with `offset` added in dimension `d`.
std::vector<Expr> shifted(const std::vector<Var>& vars, int d, int offset);

/// Output `next` from input `u`: the points up to `radius` away along each axis, every distance with
/// a weight of its own.
TestPipeline star(Type type, int dimensions, int radius);
/// All (2*radius + 1)^dimensions points, every one with a weight of its own.
TestPipeline box(Type type, int dimensions, int radius);
/// u16: `blur_x` then `blur_y`, three taps each, from `in`.
TestPipeline blur();
/// Two inputs and two Params in a 7-point update: next = a*lap(u) + b*u - v.
TestPipeline wave();
/// f32, 2-D: `smooth` of u, `gx` and `gy` of smooth, `energy` of both.
TestPipeline gradient();
/// f32, 2-D, outputs y1, y2, y3, each reading those before it.
TestPipeline multi_output();
/// f32, 2-D: `down` at half resolution, `up` = down((x + c)/2, ...) - u.
TestPipeline down_up();
/// 2-D, one Func of three values: u16 maximum, i32 sum, f32 mean of a 3x3 neighbourhood.
TestPipeline tuple_stats();
/// f32, 2-D: `acc` starts from u and adds taps of v over a reduction domain, then is halved.
TestPipeline accumulate();
/// f32, 2-D: in place over width x height points from `start`, black and white in turn, the mean of a
/// point's four neighbours and taps of `b` up to 2 points away; points at the rim stay.
Func coloured_relaxation(const Func& b, const ImageParam& start, int width, int height);
/// f32 from u8 and i16 inputs and an f64 one.
TestPipeline mixed_types();

/// f32, 1-D: `count` Funcs f0, f1, ... that each read the one before twice, by two calls.
TestPipeline chain_read_twice(int count);

/// Names and makers of the pipelines above, for parametrised tests.
struct PipelineMaker {
  std::string name;
  int dimensions;
  std::function<TestPipeline()> make;
};
const std::vector<PipelineMaker>& pipeline_makers();
/// How GoogleTest names a case of PipelineMaker.
void PrintTo(const PipelineMaker& maker, std::ostream* out);

/// A constant of `type` that differs from its neighbours: for floats 1/(n + 2) with alternating
/// sign, for integers n + 1.
Expr weight(Type type, int n);

}  // namespace mica::test
