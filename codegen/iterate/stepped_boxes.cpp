#include "codegen/iterate/stepped_boxes.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "codegen/analysis/bounds.h"
#include "codegen/passes/funcs/infer_bounds.h"
#include "codegen/program.h"
#include "dsl/expr/deep_stack.h"
#include "dsl/expr/names.h"
#include "dsl/expr/node_map.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/traverse.h"
#include "dsl/pipeline/func_graph.h"
#include "runtime/run/evaluate.h"

namespace mica::iterate {
namespace {

using Symbols = std::map<std::string, std::int64_t>;

/// The indices of an array that a step reads, per dimension.
struct Need {
  std::string array;
  const ImageData* input = nullptr;  ///< null: an output's
  std::size_t output = 0;
  analysis::Box box;
};

void set_box(Symbols& symbols, const std::string& array, const Ranges& ranges) {
  for (std::size_t d = 0; d < ranges.size(); ++d) {
    symbols[symbol_name(array, BufferField::Min, d)] = ranges[d].first;
    symbols[symbol_name(array, BufferField::Extent, d)] = ranges[d].second;
  }
}

/// How far what is needed sticks out of `limit` on either side; 0 where it does not.
struct Excess {
  std::int64_t low = 0, high = 0;
};

Excess excess_of(const analysis::Interval& need, const std::pair<std::int64_t, std::int64_t>& limit,
                 const Symbols& symbols) {
  if (!need.bounded()) return {};
  const std::int64_t low = evaluate_int(need.min, symbols), high = evaluate_int(need.max, symbols);
  if (low > high) return {};
  return {std::max<std::int64_t>(0, limit.first - low),
          std::max<std::int64_t>(0, high - (limit.first + limit.second - 1))};
}

}  // namespace

std::string text_of(const Ranges& ranges) {
  std::string text;
  for (const auto& [min, extent] : ranges) {
    text += (text.empty() ? "[" : " x [") + std::to_string(min) + ".." +
            std::to_string(min + extent - 1) + "]";
  }
  return text;
}

std::int64_t points_in(const Ranges& box) {
  std::int64_t points = 1;
  for (const auto& [min, extent] : box) points *= extent;
  return points;
}

bool is_inside(const Ranges& inner, const Ranges& outer) {
  for (std::size_t d = 0; d < inner.size(); ++d) {
    if (inner[d].first < outer[d].first) return false;
    if (inner[d].first + inner[d].second > outer[d].first + outer[d].second) return false;
  }
  return true;
}

Ranges box_around(const Ranges& a, const Ranges& b) {
  if (a.empty() || b.empty()) return a.empty() ? b : a;
  Ranges both;
  for (std::size_t d = 0; d < a.size(); ++d) {
    const std::int64_t min = std::min(a[d].first, b[d].first);
    both.emplace_back(min, std::max(a[d].first + a[d].second, b[d].first + b[d].second) - min);
  }
  return both;
}

Ranges box_around(const std::vector<Ranges>& boxes) {
  Ranges all = boxes.front();
  for (const Ranges& box : boxes) {
    if (box.size() != all.size()) return boxes.front();
    all = box_around(all, box);
  }
  return all;
}

Ranges ranges_of(const AnyBuffer& buffer) {
  Ranges ranges;
  for (const BufferDim& dim : buffer.dims()) ranges.emplace_back(dim.min, dim.extent);
  return ranges;
}

namespace {

bool mentions_row_ends(const Expr& e) {
  bool found = false;
  walk(e, [&](const Expr& node) {
    const auto* field = node.as<ImageField>();
    found = found || (field != nullptr && field->dimension == 0);
  });
  return found;
}

bool mentions_row_ends(const FunctionData& func) {
  const auto any = [](const std::vector<Expr>& all) {
    return std::any_of(all.begin(), all.end(), [](const Expr& e) { return mentions_row_ends(e); });
  };
  return func.box_of != nullptr ||
         std::any_of(func.definitions.begin(), func.definitions.end(),
                     [&](const Definition& d) { return any(d.values) || any(d.args); });
}

bool has_remainders(const FunctionData& func) {
  bool found = false;
  const auto look = [&](const Access& access) {
    for (const Expr& index : access.args) {
      walk(index, [&](const Expr& node) {
        const auto* op = node.as<Binary>();
        found = found || (op != nullptr && op->op == BinaryOp::Mod);
      });
    }
  };
  for (const Definition& definition : func.definitions) analysis::for_each_access(definition, look);
  return found;
}

/// How many points more than before an index may span for each point that every loop is longer: 0, 1, or
/// kMore, whether or not it does. What it is bent into, as by clamp or by a remainder, is taken for
/// fixed.
class IndexGrowth {
 public:
  static constexpr int kMore = 2;

  int operator()(const Expr& index) {
    const auto known = known_.find(index.ptr().get());
    if (known != known_.end()) return known->second;
    const int growth = of(index);
    known_.try_emplace(index.ptr().get(), growth);
    return growth;
  }

 private:
  int of(const Expr& e) {
    if (e.as<VarRef>()) return 1;
    if (e.as<Access>()) return 0;  // of what the data holds
    if (const auto* op = e.as<Binary>()) return of(*op);
    if (const auto* cast = e.as<Cast>()) return (*this)(cast->value);
    if (const auto* op = e.as<Unary>()) return (*this)(op->a);
    if (const auto* choice = e.as<Select>()) {
      return std::max((*this)(choice->if_true), (*this)(choice->if_false));
    }
    return of_any(e);
  }
  int of(const Binary& op) {
    const int a = (*this)(op.a), b = (*this)(op.b);
    switch (op.op) {
      case BinaryOp::Add:
      case BinaryOp::Sub: return std::min(a + b, kMore);
      case BinaryOp::Min:
      case BinaryOp::Max: return std::max(a, b);
      case BinaryOp::Div: return b == 0 ? a : kMore;
      case BinaryOp::Mod: return b == 0 ? 0 : kMore;
      default: return a + b == 0 ? 0 : kMore;
    }
  }
  int of_any(const Expr& e) {
    int growth = 0;
    for_each_child(e, [&](const Expr& child) { growth = (*this)(child) == 0 ? growth : kMore; });
    return growth;
  }

  NodeMap<int> known_;
};

/// Do any of `funcs` read at an index that may grow by more than their loops do?
bool may_grow(const std::vector<std::shared_ptr<FunctionData>>& funcs) {
  IndexGrowth growth;
  bool found = false;
  const auto look = [&](const Access& access) {
    found = found || std::ranges::any_of(access.args, [&](const Expr& index) {
              return growth(index) == IndexGrowth::kMore;
            });
  };
  for (const auto& func : funcs) {
    for (const Definition& definition : func->definitions) analysis::for_each_access(definition, look);
  }
  return found;
}

/// Boxes of a step's outputs, of which an end of one dimension is moved by `excess` points: of one
/// output, if that is enough; where several read as far, of those that do.
class EndCuts {
 public:
  EndCuts(std::vector<Ranges>& boxes, const std::vector<bool>& fixed, std::int64_t excess)
      : boxes_(boxes), fixed_(fixed), excess_(excess) {}

  /// Tries dimension `d` first, then the others; of each the near end, then the far one, until `helps`
  /// takes the boxes. False: it takes none.
  bool cut(std::size_t d, bool low_side, FunctionRef<bool(const std::vector<Ranges>&)> helps) {
    for (std::size_t o = 0; o < boxes_.size(); ++o) {
      if (cut({o}, d, low_side, helps)) return true;
    }
    std::vector<std::size_t> all(boxes_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return cut(all, d, low_side, helps);
  }

 private:
  bool cut(const std::vector<std::size_t>& outputs, std::size_t d, bool low_side,
           FunctionRef<bool(const std::vector<Ranges>&)> helps) {
    const std::size_t dimensions = boxes_[outputs.front()].size();
    for (std::size_t turn = 0; turn < dimensions; ++turn) {
      for (const bool at_low : {low_side, !low_side}) {
        std::vector<Ranges> smaller = boxes_;
        for (const std::size_t o : outputs) move(smaller[o], o, (d + turn) % dimensions, at_low);
        if (smaller == boxes_ || !helps(smaller)) continue;
        for (std::size_t i = 0; outputs.size() > 1 && i < outputs.size(); ++i) {
          const std::size_t o = outputs[i];  // which stays if it has no part in it
          std::vector<Ranges> fewer = smaller;
          fewer[o] = boxes_[o];
          if (helps(fewer)) smaller = std::move(fewer);
        }
        boxes_ = std::move(smaller);
        return true;
      }
    }
    return false;
  }
  void move(Ranges& box, std::size_t output, std::size_t dim, bool at_low) const {
    if (fixed_[output] || dim >= box.size() || box[dim].second <= excess_) return;
    if (at_low) box[dim].first += excess_;
    box[dim].second -= excess_;
  }

  std::vector<Ranges>& boxes_;
  const std::vector<bool>& fixed_;
  std::int64_t excess_;
};

}  // namespace

using Inputs = std::vector<std::pair<const ImageData*, AnyBuffer>>;
using Params = std::map<const ParamData*, std::int64_t>;

struct StepReads::Parts {
  /// What boxes depend on, but for those of outputs.
  [[nodiscard]] Symbols symbols_of(const Inputs& of, const Params& params) const;
  void set_outputs(Symbols& symbols, const std::vector<Ranges>& boxes) const;

  Program program;
  std::vector<std::string> outputs;  ///< names of arrays, of each output's first value
  std::vector<Need> needs;
  std::map<const ImageData*, std::string> inputs;
  bool asks_for_row_ends = false, at_remainders = false, may_widen = false;
};

Symbols StepReads::Parts::symbols_of(const Inputs& of, const Params& params) const {
  Symbols symbols;
  for (const auto& [image, buffer] : of) {
    const auto found = inputs.find(image);
    if (found == inputs.end()) continue;
    set_box(symbols, found->second, ranges_of(buffer));
    for (std::size_t d = 0; d < buffer.dims().size(); ++d) {
      symbols[symbol_name(found->second, BufferField::Stride, d)] = buffer.dims()[d].stride;
    }
  }
  for (const auto& scalar : program.pipeline.params) {
    const auto found = params.find(scalar.param.get());
    if (found != params.end()) symbols[scalar.name] = found->second;
  }
  return symbols;
}

void StepReads::Parts::set_outputs(Symbols& symbols, const std::vector<Ranges>& boxes) const {
  for (std::size_t o = 0; o < boxes.size(); ++o) set_box(symbols, outputs[o], boxes[o]);
}

StepReads::StepReads(const std::vector<Func>& outputs) {
  auto parts = std::make_unique<Parts>();
  const std::vector<std::shared_ptr<FunctionData>> functions = functions_of(outputs);
  const auto funcs = collect_graph(functions).funcs;
  for (const auto& func : funcs) {
    parts->asks_for_row_ends = parts->asks_for_row_ends || mentions_row_ends(*func);
    parts->at_remainders = parts->at_remainders || has_remainders(*func);
  }
  Program& program = parts->program;
  program.pipeline = make_pipeline(functions);
  const Pipeline& pipeline = program.pipeline;
  made_with_stack_for(pipeline.depth, [&] {
    passes::infer_bounds(program);
    parts->may_widen = may_grow(funcs);
    return 0;
  });
  for (const std::string& name : pipeline.outputs) {
    parts->outputs.push_back(storage_name(name, 0, pipeline.find(name)->types.size()));
  }
  for (const auto& input : pipeline.inputs) {
    parts->inputs[input.image.get()] = input.name;
    parts->needs.push_back({input.name, input.image.get(), 0, {}});
  }
  for (std::size_t o = 0; o < pipeline.outputs.size(); ++o) {
    parts->needs.push_back({pipeline.outputs[o], nullptr, o, {}});
  }
  // In full: they are evaluated for many boxes of the outputs, which decide the plan's values.
  std::map<std::string, Expr> values;
  NodeRewriter in_full([&](const Expr& e) {
    const auto* var = e.as<VarRef>();
    const auto found = var ? values.find(var->name) : values.end();
    return found == values.end() ? Expr() : found->second;
  });
  for (const PlanValue& value : program.plan.values) values[value.name] = in_full(value.value);
  for (Need& need : parts->needs) {
    need.box = analysis::read_box(pipeline, program.required, need.array);
    for (analysis::Interval& along : need.box) along = {in_full(along.min), in_full(along.max)};
  }
  parts_ = std::move(parts);
}

StepReads::~StepReads() = default;

bool StepReads::reads(const ImageData* input) const { return parts_->inputs.count(input) > 0; }

bool StepReads::asks_for_row_ends() const { return parts_->asks_for_row_ends; }

bool StepReads::at_remainders() const { return parts_->at_remainders; }

bool StepReads::has_scalar(const ParamData* param) const {
  const auto& params = parts_->program.pipeline.params;
  return std::any_of(params.begin(), params.end(),
                     [&](const auto& scalar) { return scalar.param.get() == param; });
}

bool StepReads::may_widen() const { return parts_->may_widen; }

bool StepReads::widens(const Ranges& box, const std::vector<const ImageData*>& fields,
                       const Inputs& inputs, const Params& params) const {
  Symbols symbols = parts_->symbols_of(inputs, params);
  const auto with_reads = [&](const Ranges& of) {
    parts_->set_outputs(symbols, std::vector<Ranges>(parts_->outputs.size(), of));
    Ranges all = of;
    for (const Need& need : parts_->needs) {
      if (need.input != nullptr && std::ranges::count(fields, need.input) == 0) continue;
      for (std::size_t d = 0; d < std::min(need.box.size(), of.size()); ++d) {
        const Excess beyond = excess_of(need.box[d], of[d], symbols);
        const std::int64_t first = of[d].first - beyond.low,
                           end = of[d].first + of[d].second + beyond.high;
        const std::int64_t min = std::min(all[d].first, first);
        all[d] = {min, std::max(all[d].first + all[d].second, end) - min};
      }
    }
    return all;
  };
  const Ranges before = with_reads(box), earlier = with_reads(before);
  for (std::size_t d = 0; d < box.size(); ++d) {
    if (earlier[d].second - before[d].second > before[d].second - box[d].second) return true;
  }
  return false;
}

std::vector<Ranges> StepReads::inside(std::vector<Ranges> boxes, const std::vector<bool>& fixed,
                                      const Inputs& inputs, const Params& params,
                                      const CallSite& at) const {
  Symbols symbols = parts_->symbols_of(inputs, params);
  std::map<const ImageData*, Ranges> limits;
  for (const auto& [image, buffer] : inputs) {
    if (parts_->inputs.count(image) > 0) limits[image] = ranges_of(buffer);
  }
  const std::vector<Ranges> whole = boxes;
  const auto shrink = [&](const Need& need, std::size_t d, bool low_side, std::int64_t excess,
                          const std::pair<std::int64_t, std::int64_t>& limit) {
    return EndCuts{boxes, fixed, excess}.cut(d, low_side, [&](const std::vector<Ranges>& smaller) {
      parts_->set_outputs(symbols, smaller);
      const Excess left = excess_of(need.box[d], limit, symbols);
      return (low_side ? left.low : left.high) < excess;
    });
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const Need& need : parts_->needs) {
      for (std::size_t d = 0; d < need.box.size(); ++d) {
        if (need.input != nullptr && limits.count(need.input) == 0) continue;
        for (const bool low_side : {true, false}) {
          const auto limit = need.input != nullptr ? limits.at(need.input)[d] : boxes[need.output][d];
          parts_->set_outputs(symbols, boxes);
          const Excess excess = excess_of(need.box[d], limit, symbols);
          const std::int64_t beyond = low_side ? excess.low : excess.high;
          if (beyond == 0) continue;
          if (shrink(need, d, low_side, beyond, limit)) {
            changed = true;
            continue;
          }
          if (std::find(fixed.begin(), fixed.end(), true) != fixed.end()) continue;  // the run says it
          const std::string name = need.input != nullptr ? need.input->name : need.array;
          throw UserError("no point of the step has all its taps: for the fields' points " +
                              text_of(whole[0]) + " it reads dimension " + std::to_string(d) + " of " +
                              name + " " + std::to_string(beyond) + " beyond " +
                              std::to_string(limit.first) + ".." +
                              std::to_string(limit.first + limit.second - 1) +
                              (need.input != nullptr ? "" : ", over which that Func is computed") +
                              "; give larger buffers, read it through a boundary condition, or say by "
                              "over(func, box) what each Func computes",
                          at);
        }
      }
    }
  }
  return boxes;
}

}  // namespace mica::iterate
