#include "fuzz/oracle.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>

#include "dsl/expr/traverse.h"
#include "dsl/pipeline/func_graph.h"
#include "fuzz/oracle_state.h"

namespace mica::test {
namespace {

constexpr int kMostRounds = 4096;

class Interpreter {
 public:
  /// With `record`, inputs read as zero and the points asked for are noted instead.
  Interpreter(const Pipeline& pipeline, bool record) : pipeline_(pipeline), record_(record) {
    for (const auto& input : pipeline.inputs) inputs_[input.name].input = &input;
    for (const auto& func : pipeline.funcs) prepare(*func);
  }

  Value value(const std::string& func, std::size_t element, const Point& at) {
    return value(funcs_.at(func), element, at);
  }
  [[nodiscard]] const std::map<std::string, InputState>& inputs() const { return inputs_; }
  /// The box of an output, before its first value is asked for.
  void set_box(const std::string& func, const Corners& box) { funcs_.at(func).box = box; }

 private:
  void prepare(const FunctionData& func) {
    FuncState& state = funcs_.try_emplace(func.name, &func).first->second;
    for (const Definition& definition : func.definitions) {
      DefinitionCode code;
      code.definition = &definition;
      code.variables = definition.pure_vars;
      if (definition.domain) {
        for (const auto& dim : definition.domain->dims) code.variables.push_back(dim.name);
      }
      state.has_colors = state.has_colors || definition.coloring;
      std::vector<Expr> all = definition.args;
      all.insert(all.end(), definition.values.begin(), definition.values.end());
      code.tape = compile(state, code.variables, all);
      std::vector<Expr> bounds;
      for (std::size_t r = 0; definition.domain && r < definition.domain->dims.size(); ++r) {
        bounds.push_back(definition.domain->dims[r].min);
        bounds.push_back(definition.domain->dims[r].extent);
      }
      code.bounds = compile(state, {}, bounds);
      if (definition.recurrence && definition.recurrence->start.defined()) {
        code.start = compile(state, code.variables, {definition.recurrence->start});
      }
      if (definition.coloring) {
        code.color = compile(state, code.variables, {definition.coloring->value});
        code.taps = compile(state, code.variables, own_coordinates(definition.values));
      }
      state.definitions.push_back(std::move(code));
      state.after.emplace_back(func.types.size());
    }
    for (std::size_t u = 1; u < func.definitions.size(); ++u) {
      note_dependences(state, func.definitions[u]);
    }
  }

  /// The arguments of all reads of the Func itself, one read after the other.
  static std::vector<Expr> own_coordinates(const std::vector<Expr>& values) {
    std::vector<Expr> coordinates;
    std::function<void(const Expr&)> visit = [&](const Expr& e) {
      const auto* access = e.as<Access>();
      if (access != nullptr && access->is_self) {
        coordinates.insert(coordinates.end(), access->args.begin(), access->args.end());
      }
      for_each_child(e, visit);
    };
    for (const Expr& e : values) visit(e);
    return coordinates;
  }

  Tape compile(FuncState& self, const std::vector<std::string>& variables,
               const std::vector<Expr>& exprs) {
    const TapeEnvironment environment{
        [&](const std::string& name) {
          const auto at = std::find(variables.begin(), variables.end(), name);
          return at == variables.end() ? -1 : static_cast<int>(at - variables.begin());
        },
        [&](const std::string& name, Type type) { return symbol(name, type); },
        [&](const Access& access, Type type) { return reader(self, access, type); }};
    return {exprs, environment};
  }

  Value symbol(const std::string& name, Type type) const {
    for (const auto& scalar : pipeline_.params) {
      if (scalar.name == name) return load_value(type, &scalar.param->bits);
    }
    for (const auto& input : pipeline_.inputs) {
      for (int d = 0; d < input.image->dimensions; ++d) {
        const std::string dim = "." + std::to_string(d);
        const bool is_min = name == input.name + ".min" + dim;
        const bool is_extent = name == input.name + ".extent" + dim;
        const bool is_stride = name == input.name + ".stride" + dim;
        if (!is_min && !is_extent && !is_stride) continue;
        if (!input.image->bound) throw OracleError("input " + input.name + " is not set");
        const BufferDim& dimension = input.image->bound->dim(d);
        return integer_value(type, is_min      ? dimension.min
                                   : is_extent ? dimension.extent
                                               : dimension.stride);
      }
    }
    throw OracleError("unknown name in the algorithm: " + name);
  }

  std::function<Value(const Point&)> reader(FuncState& self, const Access& access, Type type) {
    const auto element = static_cast<std::size_t>(access.value_index);
    if (access.is_self || access.name == self.data->name) {
      return [this, &self, element](const Point& at) { return read_self(self, element, at); };
    }
    const auto input = inputs_.find(access.name);
    if (input != inputs_.end()) return input_reader(input->second, type);
    const auto func = funcs_.find(access.name);
    if (func == funcs_.end()) throw OracleError("unknown callee " + access.name);
    return
        [this, &callee = func->second, element](const Point& at) { return value(callee, element, at); };
  }

  std::function<Value(const Point&)> input_reader(InputState& state, Type type) {
    if (record_) {
      return [&state](const Point& at) {
        if (!state.demanded) state.demanded = Corners::at(at);
        state.demanded->include(at);
        return Value{};
      };
    }
    const auto& buffer = state.input->image->bound;
    if (!buffer) throw OracleError("input " + state.input->name + " is not set");
    state.data = static_cast<const char*>(buffer->host_data());
    return [&state, type, dims = buffer->dims()](const Point& at) {
      std::int64_t offset = 0;
      for (std::size_t d = 0; d < dims.size(); ++d) {
        if (at[d] < dims[d].min || at[d] >= dims[d].min + dims[d].extent) {
          throw OracleError("input " + state.input->name + " is read at " + std::to_string(at[d]) +
                            " in dimension " + std::to_string(d) + ", outside " +
                            state.input->image->bound->describe());
        }
        offset += (at[d] - dims[d].min) * dims[d].stride;
      }
      return load_value(type, state.data + offset * type.bytes());
    };
  }

  Value value(FuncState& func, std::size_t element, const Point& at) {
    if (func.has_colors) return value_after(func, func.definitions.size() - 1, at)[element];
    if (func.definitions.size() > 1) return slice_value(func, element, at);
    if (const Value* known = func.memo.find(at)) return known[element];
    std::vector<Value> tuple = first_values(func, at);
    func.memo.put(at, tuple);
    return tuple[element];
  }

  static std::vector<Value> pure_values(const FuncState& func, const Point& at) {
    const DefinitionCode& pure = func.definitions.front();
    std::vector<Value> results;
    pure.tape.evaluate(at.data(), results);
    results.erase(results.begin(),
                  results.begin() + static_cast<std::ptrdiff_t>(pure.definition->args.size()));
    return results;
  }

  // ---- recurrences and colors ----------------------------------------------------------------------

  /// Values of the first definition. Those of a recurrence are found one after the other from its start.
  std::vector<Value> first_values(FuncState& func, const Point& at) {
    const auto& recurrence = func.definitions.front().definition->recurrence;
    if (!recurrence) return pure_values(func, at);
    const std::int64_t step = recurrence->ahead ? -1 : 1;
    const std::int64_t start = start_of(func);
    Point from = at;
    std::int64_t& place = from[recurrence->dim];
    while (func.after.front().find(from) == nullptr && (place - start) * step > 0) place -= step;
    for (;; place += step) {
      if (func.after.front().find(from) == nullptr)
        func.after.front().put(from, pure_values(func, from));
      if (place == at[recurrence->dim]) break;
    }
    const Value* values = func.after.front().find(at);
    return {values, values + func.data->types.size()};
  }

  static std::int64_t start_of(const FuncState& func) {
    const DefinitionCode& code = func.definitions.front();
    const Recurrence& recurrence = *code.definition->recurrence;
    if (!recurrence.start.defined()) {
      return recurrence.ahead ? func.box->high[recurrence.dim] - 1 : func.box->low[recurrence.dim];
    }
    const Point nowhere{};
    std::vector<Value> results;
    code.start.evaluate(nowhere.data(), results);
    return results.front().i;
  }

  /// What the first definition reads of its own Func: 0 beyond the start.
  static Value read_behind(const FuncState& func, std::size_t element, const Point& at) {
    const Recurrence& recurrence = *func.definitions.front().definition->recurrence;
    const std::int64_t past = at[recurrence.dim] - start_of(func);
    if (recurrence.ahead ? past > 0 : past < 0) return {};
    const Value* values = func.after.front().find(at);
    if (values == nullptr) throw OracleError("a recurrence reads a point that is still to come");
    return values[element];
  }

  static std::int64_t color_of(const DefinitionCode& code, const Point& at) {
    std::vector<Value> results;
    code.color.evaluate(at.data(), results);
    const std::int64_t count = code.definition->coloring->count;
    return ((results.front().i % count) + count) % count;
  }

  /// The values at a point after definition `turn` of a Func some of whose updates have colors.
  std::vector<Value> value_after(FuncState& func, std::size_t turn, const Point& at) {
    Memo& known = func.after[turn];
    const auto remembered = [&] {
      const Value* values = known.find(at);
      return std::vector<Value>(values, values + func.data->types.size());
    };
    if (known.find(at) != nullptr) return remembered();
    if (turn == 0) {
      const std::size_t asking = std::exchange(func.turn, 0);
      const std::vector<Value> tuple = first_values(func, at);
      func.turn = asking;
      if (known.find(at) == nullptr) known.put(at, tuple);
      return remembered();
    }
    const DefinitionCode& code = func.definitions[turn];
    if (code.definition->coloring && leaves_box(func, code, at)) {
      known.put(at, value_after(func, turn - 1, at));
      return remembered();
    }
    const std::size_t turn_before = func.turn;
    const std::int64_t color_before = func.own_color;
    func.turn = turn;
    func.own_color = code.definition->coloring ? color_of(code, at) : 0;
    std::vector<Value> results;
    code.tape.evaluate(at.data(), results);
    func.turn = turn_before;
    func.own_color = color_before;
    results.erase(results.begin(),
                  results.begin() + static_cast<std::ptrdiff_t>(func.data->args.size()));
    known.put(at, results);
    return remembered();
  }

  /// Would a read of the Func leave the box of an output?
  static bool leaves_box(const FuncState& func, const DefinitionCode& code, const Point& at) {
    if (!func.box) return false;
    std::vector<Value> coordinates;
    code.taps.evaluate(at.data(), coordinates);
    const std::size_t dimensions = func.data->args.size();
    for (std::size_t i = 0; i < coordinates.size(); ++i) {
      const std::size_t d = i % dimensions;
      if (coordinates[i].i < func.box->low[d] || coordinates[i].i >= func.box->high[d]) return true;
    }
    return false;
  }

  Value read_colored(FuncState& func, std::size_t element, const Point& at) {
    const DefinitionCode& code = func.definitions[func.turn];
    const bool is_done = code.definition->coloring && color_of(code, at) < func.own_color;
    return value_after(func, is_done ? func.turn : func.turn - 1, at)[element];
  }

  // ---- updates -----------------------------------------------------------------------------------

  /// Dimension d is independent when each update writes and reads the Func at its own Var there.
  static void note_dependences(FuncState& state, const Definition& update) {
    const auto note = [&](const std::vector<Expr>& args) {
      for (std::size_t d = 0; d < args.size(); ++d) {
        const auto* var = args[d].as<VarRef>();
        if (var == nullptr || var->name != state.data->args[d]) state.independent[d] = false;
      }
    };
    note(update.args);
    std::function<void(const Expr&)> visit = [&](const Expr& e) {
      const auto* access = e.as<Access>();
      if (access != nullptr && (access->is_self || access->name == state.data->name)) {
        note(access->args);
      }
      for_each_child(e, visit);
    };
    for (const Expr& e : update.args) visit(e);
    for (const Expr& e : update.values) visit(e);
  }

  Value slice_value(FuncState& func, std::size_t element, const Point& at) {
    Point key{};
    for (std::size_t d = 0; d < key.size(); ++d) key[d] = func.independent[d] ? at[d] : 0;
    const auto [entry, is_new] = func.slices.try_emplace(key);
    Slice& slice = entry->second;
    if (is_new || !slice.box.contains(at)) {
      if (is_new) slice.wanted = Corners::at(at);
      slice.wanted.include(at);
      fill(func, slice);
    }
    return slice.data[slice.box.index(at) * func.data->types.size() + element];
  }

  /// Carries out all definitions over slice.wanted, again while reads fall outside it.
  void fill(FuncState& func, Slice& slice) {
    for (int round = 0; round < kMostRounds; ++round) {
      slice.box = slice.wanted;
      slice.data.assign(static_cast<std::size_t>(slice.box.points()) * func.data->types.size(), {});
      func.current = &slice;
      func.is_first = true;
      slice.box.for_each([&](const Point& p) { store(func, slice, p, first_values(func, p)); });
      func.is_first = false;
      for (std::size_t u = 1; u < func.definitions.size(); ++u) {
        run_update(func, slice, func.definitions[u]);
      }
      func.current = nullptr;
      if (slice.box.points() == slice.wanted.points()) return;
    }
    throw OracleError("the updates of " + func.data->name + " never settle on a box");
  }

  void run_update(FuncState& func, Slice& slice, const DefinitionCode& update) {
    const std::size_t pure = update.definition->pure_vars.size();
    Corners loops;  // pure variables over the slice
    for (std::size_t v = 0; v < pure; ++v) {
      const auto& names = func.data->args;
      const auto d = static_cast<std::size_t>(
          std::find(names.begin(), names.end(), update.variables[v]) - names.begin());
      loops.low[v] = slice.box.low[d];
      loops.high[v] = slice.box.high[d];
    }
    Corners reduction;
    const auto& domain = update.definition->domain;
    const std::size_t dims = domain ? domain->dims.size() : 0;
    std::vector<Value> results;
    update.bounds.evaluate(nullptr, results);
    for (std::size_t r = 0; r < dims; ++r) {
      if (results[2 * r + 1].i < 1) return;
      reduction.low[r] = results[2 * r].i;
      reduction.high[r] = results[2 * r].i + results[2 * r + 1].i;
    }
    results.clear();
    const std::size_t args = update.definition->args.size();
    loops.for_each([&](const Point& p) {
      reduction.for_each([&](const Point& r) {
        std::array<std::int64_t, 2 * kMaxDimensions> variables{};
        std::copy_n(p.begin(), pure, variables.begin());
        std::copy_n(r.begin(), dims, variables.begin() + static_cast<std::ptrdiff_t>(pure));
        update.tape.evaluate(variables.data(), results);
        Point to{};
        for (std::size_t d = 0; d < args; ++d) to[d] = results[d].i;
        results.erase(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(args));
        store(func, slice, to, results);
      });
    });
  }

  /// A write outside the box is dropped: a later read of it would have made the box larger.
  static void store(const FuncState& func, Slice& slice, const Point& at,
                    const std::vector<Value>& tuple) {
    if (!slice.box.contains(at)) return;
    const std::size_t first = slice.box.index(at) * func.data->types.size();
    std::copy(tuple.begin(), tuple.end(), slice.data.begin() + static_cast<std::ptrdiff_t>(first));
  }

  Value read_self(FuncState& func, std::size_t element, const Point& at) {
    if (func.has_colors && func.turn > 0) return read_colored(func, element, at);
    if (func.current == nullptr || func.is_first) return read_behind(func, element, at);
    Slice& slice = *func.current;
    if (!slice.box.contains(at)) {
      slice.wanted.include(at);
      return {};
    }
    return slice.data[slice.box.index(at) * func.data->types.size() + element];
  }

  const Pipeline& pipeline_;
  bool record_;
  std::map<std::string, FuncState> funcs_;
  std::map<std::string, InputState> inputs_;
};

Corners corners_of(const Box& box) {
  Corners c;
  for (std::size_t d = 0; d < box.size(); ++d) {
    c.low[d] = box[d].first;
    c.high[d] = box[d].first + box[d].second;
  }
  return c;
}

Box box_of(const AnyBuffer& buffer) {
  Box box;
  for (const BufferDim& d : buffer.dims()) box.emplace_back(d.min, d.extent);
  return box;
}

Pipeline pipeline_of(const std::vector<Func>& funcs) { return make_pipeline(functions_of(funcs)); }

}  // namespace

void interpret(const Pipeline& pipeline, const std::vector<AnyBuffer*>& outputs) {
  Interpreter interpreter(pipeline, false);
  std::size_t next = 0;
  for (const std::string& name : pipeline.outputs) {
    interpreter.set_box(name, corners_of(box_of(*outputs.at(next))));
    next += pipeline.find(name)->types.size();
  }
  next = 0;
  for (const std::string& name : pipeline.outputs) {
    const FunctionData* func = pipeline.find(name);
    for (std::size_t element = 0; element < func->types.size(); ++element) {
      AnyBuffer& out = *outputs.at(next++);
      if (out.elements() == 0) continue;
      void* const data = out.host_data_for_write();
      std::vector<std::int64_t> logical(func->args.size());
      corners_of(box_of(out)).for_each([&](const Point& at) {
        std::copy_n(at.begin(), logical.size(), logical.begin());
        store_value(out.type(), element_address(out, data, logical),
                    interpreter.value(name, element, at));
      });
    }
  }
  if (next != outputs.size()) throw OracleError("more output buffers than outputs");
}

void interpret(const std::vector<Func>& funcs, const std::vector<AnyBuffer*>& outputs) {
  interpret(pipeline_of(funcs), outputs);
}

std::vector<AnyBuffer> interpret(const Func& func, const Box& box) {
  std::vector<AnyBuffer> buffers;
  for (const Type type : func.types()) buffers.push_back(buffer_over(type, box));
  std::vector<AnyBuffer*> outputs;
  for (AnyBuffer& b : buffers) outputs.push_back(&b);
  interpret(std::vector<Func>{func}, outputs);
  return buffers;
}

std::map<const ImageData*, Box> demanded_inputs(const std::vector<Func>& funcs, const Box& box) {
  const Pipeline pipeline = pipeline_of(funcs);
  Interpreter interpreter(pipeline, true);
  for (const std::string& name : pipeline.outputs) interpreter.set_box(name, corners_of(box));
  for (const std::string& name : pipeline.outputs) {
    corners_of(box).for_each([&](const Point& at) { interpreter.value(name, 0, at); });
  }
  std::map<const ImageData*, Box> result;
  for (const auto& [name, state] : interpreter.inputs()) {
    if (!state.demanded) continue;
    Box& demanded = result[state.input->image.get()];
    for (std::size_t d = 0; d < static_cast<std::size_t>(state.input->image->dimensions); ++d) {
      demanded.emplace_back(state.demanded->low[d], state.demanded->high[d] - state.demanded->low[d]);
    }
  }
  return result;
}

AnyBuffer buffer_over(Type type, const Box& box) {
  std::vector<BufferDim> dims;
  std::int64_t stride = 1;
  for (const auto& [min, extent] : box) {
    dims.push_back({min, extent, stride});
    stride *= std::max<std::int64_t>(extent, 1);
  }
  return {type, dims};
}

void for_each_point(const Box& box, const std::function<void(const std::vector<std::int64_t>&)>& fn) {
  std::vector<std::int64_t> logical(box.size());
  corners_of(box).for_each([&](const Point& at) {
    std::copy_n(at.begin(), logical.size(), logical.begin());
    fn(logical);
  });
}

void* element_address(const AnyBuffer& buffer, void* data, const std::vector<std::int64_t>& at) {
  std::int64_t offset = 0;
  for (int d = 0; d < buffer.dimensions(); ++d) {
    offset += (at[static_cast<std::size_t>(d)] - buffer.min(d)) * buffer.stride(d);
  }
  return static_cast<char*>(data) + offset * buffer.type().bytes();
}

std::string to_string(const Box& box) {
  std::string text;
  for (const auto& [min, extent] : box) {
    text += (text.empty() ? "[" : " x [") + std::to_string(min) + ".." +
            std::to_string(min + extent - 1) + "]";
  }
  return text;
}

}  // namespace mica::test
