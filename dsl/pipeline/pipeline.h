// The pipeline behind one or several output Funcs, made ready for the compiler: every Func it calls,
// with unique names, wrappers substituted, and rounding fixed.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dsl/func/function.h"

namespace mica {

/// The algorithm that the compiler and the oracle both read. All Access nodes name their callee by
/// a name unique in the pipeline; ParamRef, RVarRef and ImageField nodes have become VarRefs
/// ("c0", "r.x", "u.min.0", "u.extent.1", "u.stride.2"). Users' names have become words
/// (dsl/expr/names.h).
struct Pipeline {
  struct Input {
    std::string name;
    std::shared_ptr<const ImageData> image;
  };
  struct Scalar {
    std::string name;
    std::shared_ptr<const ParamData> param;
  };

  /// What `stage` or `register_window` made.
  struct Copy {
    std::string source;  ///< whose values it holds
    std::string reader;  ///< the Func that reads them there
  };
  /// A part of a sum that `scatter` took apart.
  struct PartialSum {
    std::string of;          ///< the Func whose sum it is a part of
    std::int64_t ahead = 0;  ///< the plane it computes when that Func computes plane z is z + ahead
  };

  /// Producers before consumers. Private copies: later changes to a user's Func do not reach here.
  std::vector<std::shared_ptr<const FunctionData>> funcs;
  std::vector<std::string> outputs;
  std::vector<Input> inputs;
  std::vector<Scalar> params;
  /// How deep an expression may become when every Func is computed inline.
  std::int64_t depth = 0;
  /// Funcs that `scatter` made.
  std::map<std::string, PartialSum> partial_sums;
  /// Funcs whose scatter was refused -> the directive's reason.
  std::map<std::string, std::string> refused_scatters;
  /// Funcs that `stage` made, and `register_window`.
  std::map<std::string, Copy> staged, windows;
  /// Funcs whose planes are asked for earlier than they are read -> by how many steps of the march.
  std::map<std::string, int> asked_early;
  /// Inputs and outputs -> what the user called them.
  std::map<std::string, std::string> texts;
  /// Conditions of the definitions that have specializations, in the order of Funcs and definitions.
  std::vector<std::vector<Expr>> choices;

  [[nodiscard]] const FunctionData* find(const std::string& name) const;  ///< null if no Func
  [[nodiscard]] const Input* find_input(const std::string& name) const;
  [[nodiscard]] bool is_output(const std::string& name) const;
};

/// Collects, copies and normalises. In this order:
///
///  - wrappers of `in` take their place, and the In directives go;
///  - a `stage`d source gets a copy named "<source>.staged" that its consumer reads, and the directive
///    names the copy. An inline Func that only this consumer reads, or one with compute_at, is held
///    itself instead. A source that the Func does not read is left for check_schedule to report;
///  - a `register_window`ed source gets a copy "<source>.window" in registers, which the taps at the
///    point's own column read; a `scatter`ed sum becomes partial sums "<func>.sum0", ...
///    (dsl/pipeline/march_taps.h);
///  - users' names become words: any text is legal, and none is taken for a name that Mica makes
///    (dsl/expr/names.h, dsl/schedule/loop_words.h). Names become unique (a second "f" is "f·2"; inputs,
///    outputs, other Funcs and Params in this order), in accesses and in directives;
///  - rounding is fixed (dsl/expr/rounding.h).
///
/// UserErrors: no output, an undefined Func, an output given twice, a Func that calls itself outside an
/// update, a directive whose Func or source could be two of one name.
///
/// `chosen` says which specialization each definition that has some takes its directives from, as
/// Variant::chosen does: counted from 1, 0 for the definition's own; empty for those of all.
Pipeline make_pipeline(const std::vector<std::shared_ptr<FunctionData>>& outputs,
                       const std::vector<std::uint8_t>& chosen = {});

}  // namespace mica
