// The values that a program's symbols take on a grid of given extents, and the boxes that its inputs
// need there.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codegen/analysis/traffic/affine_form.h"
#include "dsl/func/func.h"
#include "runtime/run/target.h"

namespace mica {
struct Pipeline;

struct Program;

namespace analysis {

/// What `e` is with these symbols; nothing where it depends on others.
std::optional<std::int64_t> value_of(const Expr& e, const Symbols& symbols);

/// `symbols`, as CompileOptions::bake names them, and what they do not say of the outputs' boxes:
/// `extents` from 0. UserError for extents that are not one for each dimension of an output.
Symbols output_symbols(const Pipeline& pipeline, const std::vector<std::int64_t>& extents,
                       const std::map<std::string, std::int64_t>& symbols);

/// Mins and extents of a program's arrays when its outputs have `extents` from 0: those that `symbols`
/// names as they are said there ("u.extent.0", as CompileOptions::bake), of inputs the extents from 0.
/// Params of integers are what they hold. UserError for extents that are not one for each dimension of
/// an output.
class UsualSymbols {
 public:
  UsualSymbols(const Program& program, std::vector<std::int64_t> extents,
               const std::map<std::string, std::int64_t>& symbols = {});
  [[nodiscard]] const Symbols& symbols() const { return symbols_; }

 private:
  void set(const std::string& array, BufferField field, std::size_t d,
           std::optional<std::int64_t> value);
  [[nodiscard]] std::int64_t usual_extent(std::size_t d) const;

  std::vector<std::int64_t> extents_;
  Symbols symbols_;
};

}  // namespace analysis

/// The box of an input.
struct InputBox {
  std::shared_ptr<const ImageData> image;
  std::vector<std::int64_t> mins, extents;
};
/// The boxes that the inputs of a pipeline need at least when its outputs have `extents` from 0; where
/// nothing bounds what is read of an input, or data decides, the extents from 0. UserErrors of compile,
/// and those of UsualSymbols.
std::vector<InputBox> input_boxes(const std::vector<Func>& outputs,
                                  const std::vector<std::int64_t>& extents, const Target& target);

}  // namespace mica
