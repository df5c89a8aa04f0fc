#include "dsl/schedule/schedule_view.h"

#include <algorithm>

#include "dsl/expr/names.h"
#include "dsl/expr/node_visit.h"
#include "dsl/pipeline/march_taps.h"

namespace mica {

namespace {

std::vector<std::string> read_names(const Definition& definition) {
  std::vector<std::string> names;
  std::unordered_set<std::string> listed;
  for (const auto* exprs : {&definition.args, &definition.values}) {
    visit_nodes(*exprs, [&](const Expr& e) {
      const auto* access = e.as<Access>();
      if (!access || access->is_self) return;
      if (listed.insert(access->name).second) names.push_back(access->name);
    });
  }
  return names;
}

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool FuncView::reads_directly(const std::string& source) const {
  return std::any_of(reads.begin(), reads.end(),
                     [&](const auto& names) { return holds(names, source); });
}

std::vector<std::string> FuncView::all_reads() const {
  std::vector<std::string> all;
  std::unordered_set<std::string> listed;
  for (const auto& names : reads) {
    for (const auto& name : names) {
      if (listed.insert(name).second) all.push_back(name);
    }
  }
  return all;
}

FuncView::LoopPlace FuncView::find_loop(const std::string& var) const {
  for (std::size_t d = 0; d < loops.size(); ++d) {
    if (const LoopPlace found = find_loop(var, d); found.nest) return found;
  }
  return {};
}

FuncView::LoopPlace FuncView::find_loop(const std::string& var, std::size_t d) const {
  const auto& dims = loops[d].dims;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].name == var) return {&loops[d], i};
  }
  return {};
}

ScheduleView::ScheduleView(const Pipeline& pipeline, Diagnostics& findings) : pipeline_(pipeline) {
  for (const auto& f : pipeline.funcs) {
    FuncView view;
    view.func = f.get();
    view.is_output = pipeline.is_output(f->name);
    view.place = compute_place(*f, view.is_output);
    for (const auto& definition : f->definitions) view.reads.push_back(read_names(definition));
    places_.emplace(view.name(), funcs_.size());
    funcs_.push_back(std::move(view));
  }
  for (auto& consumer : funcs_) {
    for (const auto& directive : consumer.func->definitions.front().directives) {
      const auto* stage = std::get_if<directive::StagedSource>(&directive.op);
      if (!stage || !reads_inside(consumer, stage->source)) continue;
      // Producers come first: what stands behind the consumer cannot be held for it.
      const auto at = places_.find(stage->source);
      if (at == places_.end() || at->second >= place_of(consumer)) continue;
      FuncView& held = funcs_[at->second];
      if (held.staged_by || held.is_output) continue;
      held.staged_by = &consumer;
      held.stage = &directive;
    }
  }
  for (auto& view : funcs_) {
    Diagnostics unused;  // an inlined Func has no loops: its directives are a finding of their own
    for (std::size_t d = 0; d < view.func->definitions.size(); ++d) {
      view.loops.push_back(
          expand_loops(*view.func, static_cast<int>(d), view.is_inline() ? unused : findings));
    }
  }
}

const FuncView* ScheduleView::find(const std::string& name) const {
  const auto at = places_.find(name);
  return at != places_.end() ? &funcs_[at->second] : nullptr;
}

bool ScheduleView::reads_inside(const FuncView& f, const std::string& source) const {
  if (f.reads_directly(source)) return true;
  return std::any_of(funcs_.begin(), funcs_.end(), [&](const FuncView& other) {
    const bool inside = other.place.kind == ComputePlace::Kind::At && other.place.level.func == f.name();
    return (inside || is_part_of(other, f)) && other.reads_directly(source);
  });
}

bool ScheduleView::reaches(const FuncView& f, const std::string& input) const {
  std::set<std::string> seen;
  return reaches(f, input, seen);
}

bool ScheduleView::reaches(const FuncView& f, const std::string& input,
                           std::set<std::string>& seen) const {
  for (const auto& name : f.all_reads()) {
    if (name == input) return true;
    const FuncView* callee = find(name);
    if (!seen.insert(name).second) continue;
    const bool root = callee && !callee->staged_by && callee->place.kind == ComputePlace::Kind::Root;
    if (callee && !root && reaches(*callee, input, seen)) return true;
  }
  return false;
}

const FuncView* ScheduleView::window_of(const FuncView& f, const std::string& source) const {
  for (const auto& view : funcs_) {
    const auto it = pipeline_.windows.find(view.name());
    if (it == pipeline_.windows.end() || it->second.source != source) continue;
    if (view.place.level.func == f.name()) return &view;
  }
  return nullptr;
}

bool ScheduleView::is_partial_sum(const FuncView& f) const {
  return pipeline_.partial_sums.count(f.name()) > 0;
}

bool ScheduleView::is_part_of(const FuncView& part, const FuncView& f) const {
  const auto it = pipeline_.partial_sums.find(part.name());
  return it != pipeline_.partial_sums.end() && it->second.of == f.name();
}
ScheduleView::MarchAround ScheduleView::march_around(const FuncView& f) const {
  const auto find_func = [this](const std::string& name) {
    const FuncView* view = find(name);
    return view ? view->func : nullptr;
  };
  for (const auto& arg : f.func->args) {
    const LoopLevel level = march_of(*f.func, arg, find_func);
    if (!level.func.empty() && level.func != f.name()) return {find(level.func), arg};
  }
  return {};
}
bool ScheduleView::is_made(const FuncView& f) const {
  return is_partial_sum(f) || pipeline_.windows.count(f.name()) > 0;
}

std::vector<std::string> ScheduleView::func_names() const {
  std::vector<std::string> names;
  for (const auto& view : funcs_) names.push_back(view.name());
  return names;
}

bool ScheduleView::uses(const FuncView& reader, std::size_t d, const std::string& wanted) const {
  return used_by(reader, d).count(wanted) > 0;
}

const ScheduleView::Names& ScheduleView::used_by(const FuncView& reader, std::size_t d) const {
  const auto [found, is_new] = used_.try_emplace({place_of(reader), d});
  Names& names = found->second;
  if (!is_new) return names;
  std::vector<const std::vector<std::string>*> left{&reader.reads[d]};
  while (!left.empty()) {
    const std::vector<std::string>& reads = *left.back();
    left.pop_back();
    for (const auto& name : reads) {
      if (!names.insert(name).second) continue;
      const FuncView* callee = find(name);
      if (!callee || !callee->is_inline()) continue;
      for (const auto& more : callee->reads) left.push_back(&more);
    }
  }
  return names;
}

const std::vector<const FuncView*>& ScheduleView::consumers(const FuncView& f) const {
  if (consumers_.empty()) {
    for (const auto& view : funcs_) {
      consumers_[view.name()];
      if (view.is_inline()) continue;
      for (std::size_t d = 0; d < view.reads.size(); ++d) {
        for (const auto& name : used_by(view, d)) {
          auto& readers = consumers_[name];
          if (readers.empty() || readers.back() != &view) readers.push_back(&view);
        }
      }
    }
  }
  return consumers_.at(f.name());
}

LoopLevel ScheduleView::level_of(const FuncView& f) const {
  if (!f.staged_by) {
    return f.place.kind == ComputePlace::Kind::At ? f.place.level : LoopLevel();
  }
  for (const auto& nest : f.staged_by->loops) {
    const std::size_t block = innermost_block(nest);
    if (block < nest.dims.size()) return {f.staged_by->name(), nest.dims[block].name};
  }
  return level_of(*f.staged_by);
}

bool ScheduleView::is_inside(const FuncView& f, const LoopLevel& level) const {
  const FuncView* current = &f;
  for (std::size_t steps = 0; current && steps <= funcs_.size(); ++steps) {
    if (current->name() == level.func) return true;
    const LoopLevel at = level_of(*current);
    if (at.func.empty()) return false;
    const FuncView* next = find(at.func);
    if (next && at.func == level.func) {
      if (level.var.empty()) return true;
      return is_loop_inside(*next, *current, at.var, level.var);
    }
    current = next;
  }
  return false;
}

std::vector<bool> ScheduleView::all_inside(const FuncView& host) const {
  std::vector<bool> inside(funcs_.size()), known(funcs_.size());
  inside[place_of(host)] = known[place_of(host)] = true;
  std::vector<std::size_t> way;
  for (const auto& view : funcs_) {
    // Outwards, up to a Func of which the answer is known; places that go round in circles are inside of
    // nothing.
    const FuncView* at = &view;
    bool answer = false;
    for (; at != nullptr; at = find(level_of(*at).func)) {
      const std::size_t place = place_of(*at);
      if (known[place]) {
        answer = inside[place];
        break;
      }
      known[place] = true;
      way.push_back(place);
    }
    for (const std::size_t place : way) inside[place] = answer;
    way.clear();
  }
  return inside;
}

const std::vector<bool>& ScheduleView::needed_by(const FuncView& host, std::size_t d) const {
  const auto [found, is_new] = needed_.try_emplace({place_of(host), d});
  std::vector<bool>& needed = found->second;
  if (!is_new) return needed;
  needed.resize(funcs_.size());
  const std::vector<bool> inside = all_inside(host);
  std::vector<std::size_t> left;
  const auto add = [&](const Names& names) {
    for (const auto& name : names) {
      const auto at = places_.find(name);
      if (at == places_.end() || needed[at->second]) continue;
      needed[at->second] = true;
      left.push_back(at->second);
    }
  };
  add(used_by(host, d));
  while (!left.empty()) {
    const FuncView& reader = funcs_[left.back()];
    left.pop_back();
    if (&reader == &host || reader.is_inline() || !inside[place_of(reader)]) continue;
    for (std::size_t i = 0; i < reader.reads.size(); ++i) add(used_by(reader, i));
  }
  return needed;
}

bool ScheduleView::needs(const FuncView& host, std::size_t d, const FuncView& wanted) const {
  return needed_by(host, d)[place_of(wanted)];
}

// In every definition that needs `wanted`; in the first that has the loops if none does.
bool ScheduleView::is_loop_inside(const FuncView& host, const FuncView& wanted, const std::string& inner,
                                  const std::string& outer) const {
  bool needed = false;
  for (std::size_t d = 0; d < host.loops.size(); ++d) {
    if (!needs(host, d, wanted)) continue;
    needed = true;
    const auto out = host.find_loop(outer, d);
    auto in = host.find_loop(inner, d);
    if (wanted.staged_by == &host) in = {&host.loops[d], innermost_block(host.loops[d])};
    if (!in.nest || !out.nest || in.index > out.index) return false;
  }
  if (needed) return true;
  const auto in = host.find_loop(inner);
  const auto out = host.find_loop(outer);
  return in.nest && out.nest && in.index <= out.index;
}

GpuContext ScheduleView::context_at(const LoopLevel& level, std::size_t d) const {
  const FuncView* host = find(level.func);
  return host ? context_in(host->find_loop(level.var, d), context_of(*host)) : GpuContext();
}

GpuContext ScheduleView::context_of(const FuncView& f) const { return context_of(f, 0); }

GpuContext ScheduleView::context_of(const FuncView& f, std::size_t steps) const {
  const LoopLevel level = level_of(f);
  // Places that go round in circles are reported by check_places.
  const FuncView* host = steps > funcs_.size() ? nullptr : find(level.func);
  return host ? context_in(host->find_loop(level.var), context_of(*host, steps + 1)) : GpuContext();
}

GpuContext ScheduleView::context_in(const FuncView::LoopPlace& place, GpuContext context) {
  if (!place.nest) return context;
  std::size_t blocks = 0;
  std::size_t around = 0;
  bool thread_inside = false;
  for (std::size_t i = 0; i < place.nest->dims.size(); ++i) {
    const LoopKind kind = place.nest->dims[i].kind;
    if (kind == LoopKind::GpuThread) {
      (i >= place.index ? context.in_thread : thread_inside) = true;
    }
    if (kind != LoopKind::GpuBlock) continue;
    ++blocks;
    around += i >= place.index ? 1 : 0;
  }
  context.between_threads = context.in_thread && thread_inside;
  if (blocks > 0) {
    context.in_block = around == blocks;
    context.between_blocks = around > 0 && around < blocks;
  }
  return context;
}

std::vector<std::string> names_of_loops(const LoopNestSpec& nest) {
  std::vector<std::string> names;
  for (const auto& dim : nest.dims) names.push_back(dim.name);
  return names;
}

std::string loop_names(const LoopNestSpec& nest) { return joined(names_of_loops(nest)); }

std::size_t innermost_block(const LoopNestSpec& nest) {
  std::size_t i = 0;
  while (i < nest.dims.size() && nest.dims[i].kind != LoopKind::GpuBlock) ++i;
  return i;
}

std::string user_name(const ScheduleView& view, const std::string& name) {
  const Pipeline& pipeline = view.pipeline();
  for (const auto* made : {&pipeline.windows, &pipeline.staged}) {
    if (const auto it = made->find(name); it != made->end()) return it->second.source;
  }
  return name;
}

std::vector<std::string> read_names(const ScheduleView& view, const FuncView& f) {
  std::vector<std::string> names;
  std::unordered_set<std::string> listed;
  const auto add = [&](const std::string& name) {
    if (listed.insert(name).second) names.push_back(name);
  };
  for (const auto& name : f.all_reads()) {
    const FuncView* callee = view.find(name);
    if (!callee || !view.is_partial_sum(*callee)) {
      add(user_name(view, name));
      continue;
    }
    for (const auto& part : view.funcs()) {
      if (!view.is_part_of(part, f)) continue;
      for (const auto& read : part.all_reads()) {
        const FuncView* other = view.find(read);
        if (!other || !view.is_partial_sum(*other)) add(user_name(view, read));
      }
    }
  }
  return names;
}

std::string read_list(const ScheduleView& view, const FuncView& f) {
  return joined(read_names(view, f));
}

std::string described(const FuncView& f, std::size_t definition, const Directive& directive) {
  return definition_name(*f.func, static_cast<int>(definition)) + to_string(directive);
}

}  // namespace mica
