// Making a failing case smaller: every change that keeps the failure is kept.
#include <algorithm>
#include <chrono>
#include <functional>
#include <set>

#include "fuzz/campaign.h"
#include "fuzz/run_isolated.h"

namespace mica::test {
namespace {

using Candidates = std::vector<FuzzCase>;

// ---- keeping a case whole after a change -------------------------------------------------------------

/// The Func or input that a directive names beside its own; empty for none.
std::string named_by(const Directive& directive) {
  return std::visit(
      [](const auto& d) -> std::string {
        if constexpr (requires { d.source; }) return d.source;
        if constexpr (requires { d.level; }) return d.level.func;
        return "";
      },
      directive.op);
}

/// Takes out of the schedule what the program no longer has.
void prune(FuzzCase& c) {
  std::set<std::string> names;
  std::map<std::string, std::size_t> definitions;
  for (const auto& input : c.program.inputs) names.insert(input.name);
  for (const ProgramStage& stage : c.program.stages) {
    names.insert(stage.name);
    definitions[stage.name] = 1 + stage.updates.size();
  }
  for (const DefinitionSchedule& stage : c.schedule.stages) {
    for (const Directive& d : stage.directives) {
      const auto* in = std::get_if<directive::In>(&d.op);
      if (in && names.count(in->source) > 0 && names.count(stage.func) > 0) {
        names.insert(in->wrapper);
        definitions[in->wrapper] = 1;
      }
    }
  }
  std::erase_if(c.schedule.stages, [&](DefinitionSchedule& stage) {
    const auto found = definitions.find(stage.func);
    if (found == definitions.end() || static_cast<std::size_t>(stage.update) >= found->second)
      return true;
    std::erase_if(stage.directives, [&](const Directive& d) {
      const std::string other = named_by(d);
      return !other.empty() && names.count(other) == 0;
    });
    return stage.directives.empty();
  });
  // An output's memory has no room for whole tiles.
  for (const int output : c.program.outputs) {
    for (DefinitionSchedule& stage : c.schedule.stages) {
      if (stage.func != c.program.stages[static_cast<std::size_t>(output)].name) continue;
      for (Directive& directive : stage.directives) {
        std::visit(
            [](auto& d) {
              if constexpr (requires { d.tail; }) {
                if (d.tail == TailStrategy::RoundUp) d.tail = TailStrategy::Auto;
              }
            },
            directive.op);
      }
    }
  }
  std::erase_if(c.bounded_inputs, [&](const auto& entry) { return names.count(entry.first) == 0; });
}

FuzzCase with_program(const FuzzCase& c, Program program) {
  FuzzCase changed = c;
  changed.program = without_unused(std::move(program));
  prune(changed);
  return changed;
}

// ---- changes -----------------------------------------------------------------------------------------

void fewer_outputs(const FuzzCase& c, Candidates& out) {
  const std::size_t count = c.program.outputs.size();
  for (std::size_t i = 0; count > 1 && i < count; ++i) {
    FuzzCase changed = c;
    changed.boxes.erase(changed.boxes.begin() + static_cast<std::ptrdiff_t>(i));
    Program program = c.program;
    program.outputs.erase(program.outputs.begin() + static_cast<std::ptrdiff_t>(i));
    out.push_back(with_program(changed, std::move(program)));
  }
  // An earlier stage in the last output's place.
  for (std::size_t i = 0; i < c.program.stages.size(); ++i) {
    const ProgramStage& stage = c.program.stages[i];
    const int number = static_cast<int>(i);
    if (stage.boundary || std::count(c.program.outputs.begin(), c.program.outputs.end(), number) > 0)
      continue;
    FuzzCase changed = c;
    Box& box = changed.boxes.back();
    box.resize(static_cast<std::size_t>(stage.dimensions), {0, 8});
    Program program = c.program;
    program.outputs.back() = number;
    out.push_back(with_program(changed, std::move(program)));
  }
}

void fewer_directives(const FuzzCase& c, Candidates& out) {
  for (std::size_t s = 0; s < c.schedule.stages.size(); ++s) {
    out.push_back(c);
    auto& stages = out.back().schedule.stages;
    stages.erase(stages.begin() + static_cast<std::ptrdiff_t>(s));
    prune(out.back());
  }
  for (std::size_t s = 0; s < c.schedule.stages.size(); ++s) {
    for (std::size_t i = 0; i < c.schedule.stages[s].directives.size(); ++i) {
      out.push_back(c);
      auto& directives = out.back().schedule.stages[s].directives;
      directives.erase(directives.begin() + static_cast<std::ptrdiff_t>(i));
      prune(out.back());
    }
  }
}

void simpler_directives(const FuzzCase& c, Candidates& out) {
  const auto change = [&](std::size_t s, std::size_t i, const auto& edit) {
    FuzzCase changed = c;
    Directive& directive = changed.schedule.stages[s].directives[i];
    std::visit(edit, directive.op);
    if (!(directive == c.schedule.stages[s].directives[i])) out.push_back(std::move(changed));
  };
  for (std::size_t s = 0; s < c.schedule.stages.size(); ++s) {
    for (std::size_t i = 0; i < c.schedule.stages[s].directives.size(); ++i) {
      change(s, i, [](auto& d) {
        if constexpr (requires { d.tail; }) d.tail = TailStrategy::Auto;
      });
      change(s, i, [](auto& d) {
        if constexpr (requires { d.load; }) d.load = LoadPolicy::TwoStep;
      });
      change(s, i, [](auto& d) {
        if constexpr (requires { d.factor; }) d.factor = std::min(d.factor, 2);
        if constexpr (requires { d.width; }) d.width = std::min(d.width, 2);
        if constexpr (requires { d.chunk; }) d.chunk = std::min(d.chunk, 1);
        if constexpr (requires { d.depth; }) d.depth = std::min(d.depth, 1);
      });
      for (std::size_t k = 0; k < 3; ++k) {
        for (const int size : {1, 4}) {
          change(s, i, [&](auto& d) {
            if constexpr (requires { d.sizes; }) {
              if (k < d.sizes.size() && d.sizes[k] > size) d.sizes[k] = size;
            }
          });
        }
      }
    }
  }
}

void less_known(const FuzzCase& c, Candidates& out) {
  if (c.bake.size() > 1) {
    out.push_back(c);
    out.back().bake.clear();
  }
  for (const auto& [symbol, value] : c.bake) {
    out.push_back(c);
    out.back().bake.erase(symbol);
  }
}

/// The source in the place of a boundary condition, or a plainer condition.
void simpler_boundary(const FuzzCase& c, std::size_t i, Candidates& out) {
  const ProgramStage& stage = c.program.stages[i];
  Program program = c.program;
  const int boundary = program.source_of_stage(i);
  const std::function<void(Term&)> read_source = [&](Term& term) {
    if (term.kind == Term::Kind::Tap && term.source == boundary) term.source = stage.source;
    for_each_part(term, read_source);
  };
  for (ProgramStage& s : program.stages) {
    if (s.boundary && s.source == boundary) s.source = stage.source;
    for_each_root(s, read_source);
  }
  FuzzCase changed = c;
  if (!program.is_stage(stage.source)) {
    changed.bounded_inputs.erase(c.program.inputs[static_cast<std::size_t>(stage.source)].name);
  }
  out.push_back(with_program(changed, program));
  for (std::size_t d = 0; d < stage.extents.size(); ++d) {
    const auto change = [&](const BoundaryExtent& extent) {
      if (extent == stage.extents[d]) return;
      program = c.program;
      program.stages[i].extents[d] = extent;
      out.push_back(with_program(c, program));
    };
    BoundaryExtent extent = stage.extents[d];
    extent.of_params = false;
    change(extent);
    change({BoundaryExtent::Kind::None});
    change({BoundaryExtent::Kind::Given, 0, 4});
  }
}

/// Without one shared expression: what uses it uses the one before, or 1.
Program without_shared(Program program, std::size_t i, std::size_t gone) {
  ProgramStage& stage = program.stages[i];
  const bool has_before = gone > 0 && stage.shared[gone - 1].type == stage.shared[gone].type;
  const auto element = static_cast<int>(gone);
  const std::function<void(Term&)> renumber = [&](Term& term) {
    if (term.kind == Term::Kind::Shared && term.element >= element) {
      if (term.element > element || has_before) {
        --term.element;
      } else {
        term = constant_term(term.type, 1);
      }
    }
    for_each_part(term, renumber);
  };
  stage.shared.erase(stage.shared.begin() + element);
  for_each_root(stage, renumber);
  return program;
}

void simpler_stages(const FuzzCase& c, Candidates& out) {
  for (std::size_t i = 0; i < c.program.stages.size(); ++i) {
    const ProgramStage& stage = c.program.stages[i];
    for (std::size_t u = 0; u < stage.updates.size(); ++u) {
      Program program = c.program;
      auto& updates = program.stages[i].updates;
      updates.erase(updates.begin() + static_cast<std::ptrdiff_t>(u));
      out.push_back(with_program(c, program));
      if (stage.updates[u].of_params) {
        program = c.program;
        program.stages[i].updates[u].of_params = false;
        out.push_back(with_program(c, program));
      }
      for (std::size_t r = 0; r < stage.updates[u].domain.size(); ++r) {
        program = c.program;
        auto& range = program.stages[i].updates[u].domain[r];
        if (range == std::pair<std::int64_t, std::int64_t>(0, 1)) continue;
        range = {0, 1};
        out.push_back(with_program(c, program));
      }
    }
    if (stage.values.size() > 1) {
      for (std::size_t e = 0; e < stage.values.size(); ++e) {
        Program program = c.program;
        ProgramStage& changed = program.stages[i];
        const auto at = static_cast<std::ptrdiff_t>(e);
        changed.values.erase(changed.values.begin() + at);
        for (auto& update : changed.updates) update.values.erase(update.values.begin() + at);
        out.push_back(with_program(c, program));
      }
    }
    if (stage.boundary) simpler_boundary(c, i, out);
    for (std::size_t k = 0; k < stage.shared.size(); ++k) {
      out.push_back(with_program(c, without_shared(c.program, i, k)));
    }
  }
}

/// Simpler coordinates, nearest to x first. What is looked up keeps what makes it few places.
std::vector<Index> simpler(const Index& index) {
  if (!index.looked_up.empty()) {
    Index plain{0}, smaller = index;
    smaller.scale = 1;
    smaller.offset = 0;
    return smaller == index ? std::vector<Index>{plain} : std::vector<Index>{plain, smaller};
  }
  std::vector<Index> result;
  const auto add = [&](Index changed) {
    if (!(changed == index)) result.push_back(changed);
  };
  if (index.var >= 0) add({index.var, 1, 0, 1, std::nullopt});
  Index changed = index;
  changed.limits.reset();
  add(changed);
  changed = index;
  changed.modulus.reset();
  if (std::abs(std::int64_t{changed.scale}) < 1000 && std::abs(std::int64_t{changed.offset}) < 1000)
    add(changed);
  changed = index;
  changed.scale = changed.divisor = 1;
  add(changed);
  changed = index;
  changed.shift = 0;
  changed.mask.reset();
  add(changed);
  changed = index;
  changed.offset = 0;
  add(changed);
  changed.offset = index.offset / 2;
  add(changed);
  return result;
}

/// Simpler terms in this one's place.
std::vector<Term> simpler(const Term& term) {
  std::vector<Term> result;
  Term one;
  one.type = term.type;
  one.value = 1;
  if (!(term == one)) result.push_back(one);
  for (const Term& operand : term.operands) {
    if (!term.domain.empty()) break;  // an operand may name the reduction's dimensions
    if (operand.type == term.type) {
      result.push_back(operand);
      continue;
    }
    Term converted;
    converted.kind = Term::Kind::Apply;
    converted.type = term.type;
    converted.operation = Operation::Cast;
    converted.operands = {operand};
    if (!(converted == term)) result.push_back(converted);
  }
  for (std::size_t d = 0; d < term.domain.size(); ++d) {
    Term shorter = term;
    shorter.domain[d] = {0, 1};
    if (!(shorter == term)) result.push_back(shorter);
  }
  for (std::size_t i = 0; i < term.at.size(); ++i) {
    for (const Index& index : simpler(term.at[i])) {
      result.push_back(term);
      result.back().at[i] = index;
    }
  }
  return result;
}

void simpler_terms(const FuzzCase& c, Candidates& out) {
  Program program = c.program;
  const std::function<void(Term&)> visit = [&](Term& term) {
    const Term original = term;
    for (Term& changed : simpler(original)) {
      term = std::move(changed);
      out.push_back(with_program(c, program));
    }
    term = original;
    for_each_part(term, visit);
  };
  for (ProgramStage& stage : program.stages) for_each_root(stage, visit);
}

/// One type replaced by f32 or i32 throughout.
void plainer_types(const FuzzCase& c, Candidates& out) {
  for (const Type from : {Float(64), Float(16), BFloat(), UInt(8), Int(8), UInt(16), Int(16), UInt(64),
                          UInt(32), Int(64), Int(32)}) {
    for (const Type to : {Float(32), Int(32)}) {
      if (from == to) continue;
      FuzzCase changed = c;
      for (auto& input : changed.program.inputs) {
        if (input.type == from) input.type = to;
      }
      const std::function<void(Term&)> retype = [&](Term& term) {
        if (term.type == from) term.type = to;
        for (Term& operand : term.operands) retype(operand);
      };
      for (ProgramStage& stage : changed.program.stages) for_each_root(stage, retype);
      if (!(changed.program == c.program)) out.push_back(std::move(changed));
    }
  }
}

void smaller_boxes(const FuzzCase& c, Candidates& out) {
  const auto shrink_box = [&](const Box& box, const std::function<Box&(FuzzCase&)>& in) {
    for (std::size_t d = 0; d < box.size(); ++d) {
      const std::int64_t extent = box[d].second;
      for (const std::int64_t smaller : {std::int64_t{1}, extent / 2, extent - 1}) {
        if (smaller < 1 || smaller >= extent) continue;
        out.push_back(c);
        in(out.back())[d].second = smaller;
      }
      if (box[d].first == 0) continue;
      out.push_back(c);
      in(out.back())[d].first = 0;
    }
  };
  for (std::size_t i = 0; i < c.boxes.size(); ++i) {
    shrink_box(c.boxes[i], [i](FuzzCase& changed) -> Box& { return changed.boxes[i]; });
  }
  for (const auto& [name, box] : c.bounded_inputs) {
    shrink_box(box, [key = name](FuzzCase& changed) -> Box& { return changed.bounded_inputs[key]; });
  }
}

void plainer_names(const FuzzCase& c, Candidates& out) {
  for (const auto& entry : c.names) {
    out.push_back(c);
    out.back().names.erase(entry.first);
  }
}

void plainer_data(const FuzzCase& c, Candidates& out) {
  for (bool FuzzCase::*const more : {&FuzzCase::in_place, &FuzzCase::in_threads}) {
    if (!(c.*more)) continue;
    out.push_back(c);
    out.back().*more = false;
  }
  for (const auto& [steps, tile] : {std::pair{0, 1}, {1, 1}, {c.steps - 1, c.time_tile}, {c.steps, 1}}) {
    if (steps < 0 || tile > std::max(steps, 1) ||
        std::pair(steps, tile) >= std::pair(c.steps, c.time_tile)) {
      continue;
    }
    out.push_back(c);
    out.back().steps = steps;
    out.back().time_tile = tile;
  }
  if (c.contents != Contents::Small) {
    out.push_back(c);
    out.back().contents = Contents::Small;
  }
  if (c.transposed) {
    out.push_back(c);
    out.back().transposed = false;
  }
  if (c.margin != 0 || c.row_padding != 0) {
    out.push_back(c);
    out.back().margin = out.back().row_padding = 0;
  }
}

}  // namespace

FuzzCase shrink(const FuzzCase& failed, const Outcome& outcome, double seconds, int seconds_a_case,
                const Stop& stop) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  const std::vector<void (*)(const FuzzCase&, Candidates&)> passes{
      plainer_names,  plainer_data,  fewer_outputs, fewer_directives, less_known,
      simpler_stages, smaller_boxes, simpler_terms, plainer_types,    simpler_directives};
  FuzzCase smallest = failed;
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (const auto pass : passes) {
      Candidates candidates;
      pass(smallest, candidates);
      for (std::size_t i = 0; i < candidates.size();) {
        if (std::chrono::steady_clock::now() > end) return smallest;
        try {
          follow_boxes(candidates[i], smallest);
        } catch (const UserError&) {  // no program: a Func that reads itself where it stands
          ++i;
          continue;
        }
        const std::vector<Outcome> now = run_isolated({candidates[i]}, seconds_a_case, stop);
        if (now.empty()) return smallest;
        if (!is_same_kind(now.front(), outcome)) {
          ++i;
          continue;
        }
        smallest = candidates[i];
        smaller = true;
        candidates.clear();
        pass(smallest, candidates);
      }
    }
  }
  return smallest;
}

}  // namespace mica::test
