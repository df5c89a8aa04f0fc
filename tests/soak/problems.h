// What the soak computes: algorithms with constants of their own, so that each has kernels, cache
// entries and rows of the tune store of its own, over arrays whose values are always the same.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "codegen/iterate/iteration.h"
#include "dsl/func/func.h"
#include "runtime/buffer/buffer.h"
#include "runtime/run/target.h"

namespace mica::soak {

/// Problems of each kind, numbered from 0.
inline constexpr int kProblems = 6;
/// Steps that results of Heat and Lattice have taken.
inline constexpr int kHeatSteps = 24, kLatticeSteps = 7;

/// The elements' bytes, buffer by buffer, dimension 0 fastest.
std::string bits_of(const std::vector<AnyBuffer>& buffers);
/// Empty for equal bits; else how many bytes differ and which is the first.
std::string difference(const std::string& expected, const std::string& found);

/// blur = a sum of three rows of near, near = a weighted sum of three points of u. f32.
struct Blur {
  /// `suffix` becomes part of the Funcs' names: kernels of another name are other cache entries, of the
  /// same values.
  explicit Blur(int number, const std::string& suffix = {});
  /// Directives number 0 (none) to kSchedules - 1, for the host or, as Blur::on_gpu, for a GPU.
  static constexpr int kSchedules = 4;
  void schedule(int which);
  void on_gpu();
  /// Uninitialised, of the size whose bits are known.
  [[nodiscard]] static Buffer<float> output();

  Func near, blur;
  ImageParam u{Float(32), 2, "u"};
  Buffer<float> input;  ///< what u is set to
};

/// A field that five points decide, over the interior of its box. f32.
struct Heat {
  explicit Heat(int number);
  [[nodiscard]] static Buffer<float> field(int number);

  ImageParam u{Float(32), 2, "u"};
  Func next{"next"};
  Iteration steps;

 private:
  Func defined(int number);
};

/// Five populations of a plane that stream and collide: a step that can be taken in place. f32.
struct Lattice {
  explicit Lattice(int number);
  [[nodiscard]] std::vector<AnyBuffer> fields(int number) const;
  [[nodiscard]] std::vector<RunInput> inputs(const std::vector<AnyBuffer>& fields) const;

  std::vector<ImageParam> u;
  Func next;
  Iteration steps;

 private:
  [[nodiscard]] Func defined(int number) const;
  [[nodiscard]] std::vector<Replacement> replaced() const;
};

/// The bits of every problem's result by its name, as one undisturbed thread on the host computes them.
using References = std::map<std::string, std::string>;
std::string name_of(const char* kind, int number);
References compute_references();
void write_references(const References& references, const std::string& path);
/// std::runtime_error for a file that is none.
References read_references(const std::string& path);

}  // namespace mica::soak
