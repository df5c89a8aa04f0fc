// What the formula of predict.h has wrong, as regression trees have learned it.
//
// Of each kernel the formula is multiplied by e^(b + the sum over trees of the leaf that its figures
// lead to): gradient boosting (J. H. Friedman: Greedy function approximation, Annals of Statistics 29
// (2001) 1189-1232). There are two forests for kernels of one step, and two for those of several steps
// at once: for registers that are guessed and for those that the assembler has said. bench/model/fit.py
// makes schedules/tune/forest.bin of candidates that were measured, and says how well it does on those
// that it has not seen.
#pragma once

#include <string_view>
#include <vector>

#include "schedules/tune/figures.h"

namespace mica::tuning {

class Forest {
 public:
  /// The logarithm of what the formula is to be multiplied by.
  [[nodiscard]] double operator()(const Figures& figures) const;

  /// Of those that are part of the library.
  static const Forest& of(bool several_steps, bool known_registers);
  /// All four, of a file's bytes, which outlive them, in this order: one step, registers guessed; known;
  /// several steps, registers guessed; known. A line of text, "mica forest 2 " and the names of the
  /// figures with a blank between two; then, four times, the base (f32), the number of trees (u32) and,
  /// of each tree, that of its nodes (u32) and the nodes, each before its left child: a leaf's value or
  /// a threshold (f32), the figure (u8; 255: a leaf), and by how many nodes further its right child is
  /// (u8). Left leads what is no more than the threshold. Little endian. UserError: others.
  static std::vector<Forest> read(std::string_view bytes);
  /// UserError: a tree whose nodes lead to none of it, or to no leaf.
  void check() const;

 private:
  double base_ = 0;
  std::vector<std::string_view> trees_;  ///< their nodes
};

}  // namespace mica::tuning
