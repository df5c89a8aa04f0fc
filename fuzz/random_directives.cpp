#include "fuzz/random_directives.h"

#include <algorithm>
#include <set>

#include "dsl/expr/traverse.h"
#include "dsl/schedule/directive_fields.h"
#include "dsl/schedule/loop_dims.h"
#include "fuzz/known_shapes.h"
#include "fuzz/random_schedules.h"
#include "fuzz/try_directives.h"

namespace mica::test {
namespace {

/// Names that directives of one definition of a Func may use.
class Drawer {
 public:
  Drawer(const TestPipeline& pipeline, bool gpu, bool wild, Random& random)
      : pipeline_(pipeline), gpu_(gpu), wild_(wild), random_(random) {
    funcs_ = all_funcs(pipeline);
    func_ = random.pick(funcs_);
    definition_ = random.below(static_cast<std::int64_t>(func_.function()->definitions.size()));
    Diagnostics unused;
    for (const auto& dim : expand_loops(*func_.function(), static_cast<int>(definition_), unused).dims) {
      loops_.push_back(dim.name);
    }
    std::set<std::string> read;
    for (const Definition& d : func_.function()->definitions) {
      for (const Expr& value : d.values) {
        walk(value, [&](const Expr& e) {
          const auto* access = e.as<Access>();
          if (access && !access->is_self) read.insert(access->name);
        });
      }
    }
    read_.assign(read.begin(), read.end());
  }

  /// A directive, added. With no regard for the rules each kind is drawn now and then by its description
  /// alone, so that none is forgotten.
  void add() {
    if (now_and_then()) {
      add_described();
    } else if (gpu_ && random_.below(3) > 0) {
      add_gpu();
    } else {
      add_common();
    }
  }

 private:
  bool now_and_then() { return wild_ && random_.below(12) == 0; }
  int factor() {
    if (now_and_then()) return random_.pick(std::vector<int>{-1, 0, 9, 100, 2048});
    return random_.pick(std::vector<int>{1, 2, 2, 3, 4, 4, 5, 7, 8, 16, 32});
  }
  int width() {
    if (now_and_then()) return factor();
    return random_.pick(std::vector<int>{1, 2, 2, 4, 4, 8, 16});
  }
  /// RoundUp of an output would be a promise of room that the output's memory does not keep.
  TailStrategy tail() {
    const bool is_output = std::any_of(pipeline_.outputs.begin(), pipeline_.outputs.end(),
                                       [&](const Func& f) { return f.name() == func_.name(); });
    return random_.pick(std::vector<TailStrategy>{
        TailStrategy::Auto, TailStrategy::Auto, TailStrategy::GuardWithIf, TailStrategy::ShiftInwards,
        is_output ? TailStrategy::Auto : TailStrategy::RoundUp});
  }
  std::string loop() {
    if (loops_.empty() || now_and_then())
      return random_.pick(std::vector<std::string>{"x", "q", "x.block"});
    return random_.pick(loops_);
  }
  std::string dimension() { return now_and_then() ? "q" : random_.pick(func_.function()->args); }
  std::string any_func() { return random_.pick(funcs_).name(); }
  std::string source() {
    if (read_.empty() || now_and_then()) return any_func();
    return random_.pick(read_);
  }
  std::string input() {
    if (pipeline_.inputs.empty() || now_and_then()) return any_func();
    return random_.pick(pipeline_.inputs).name();
  }
  LoopLevel level() {
    const Func& at = random_.pick(funcs_);
    Diagnostics unused;
    std::vector<std::string> loops;
    for (const auto& dim : expand_loops(*at.function(), 0, unused).dims) loops.push_back(dim.name);
    if (loops.empty() || now_and_then()) return {at.name(), "q"};
    return {at.name(), random_.pick(loops)};
  }
  template <typename D>
  void put(D d) {
    func_.function()->definitions[static_cast<std::size_t>(definition_)].directives.push_back({d, {}});
  }
  /// For directives of a Func as a whole.
  template <typename D>
  void put_first(D d) {
    func_.function()->definitions.front().directives.push_back({d, {}});
  }
  std::vector<std::string> several_loops(std::size_t most) {
    std::vector<std::string> result;
    const auto count = static_cast<std::size_t>(random_.between(1, static_cast<std::int64_t>(most)));
    for (std::size_t i = 0; i < 4 * most && result.size() < count; ++i) {
      const std::string name = loop();
      if (std::find(result.begin(), result.end(), name) == result.end()) result.push_back(name);
    }
    return result;
  }

  // ---- directives by their descriptions ------------------------------------------------------------

  void draw(directive::Role role, std::string& name) {
    switch (role) {
      case directive::Role::Dimension: name = dimension(); break;
      case directive::Role::Source: name = source(); break;
      case directive::Role::Input: name = input(); break;
      case directive::Role::Func: name = any_func(); break;
      case directive::Role::NewLoop: name = loop() + "n"; break;
      default: name = loop(); break;
    }
  }
  void draw(directive::Role role, std::vector<std::string>& names) {
    names = several_loops(3);
    if (role == directive::Role::Dimension) names = {dimension(), dimension()};
  }
  void draw(directive::Role, TailStrategy& word) { word = tail(); }
  template <typename T>
  void draw(directive::Role, T& value) {
    if constexpr (std::is_enum_v<T>) {
      const auto& words = directive::Words<T>::values;
      value = random_.pick(std::vector<T>(std::begin(words), std::end(words)));
    } else if constexpr (std::is_integral_v<T>) {
      value = factor();
    } else {
      for (std::int64_t left = random_.between(1, 3); left > 0; --left) value.push_back(factor());
    }
  }
  /// A directive of any kind, each as likely, with fields drawn by what they mean.
  void add_described() {
    const auto kinds = static_cast<std::int64_t>(std::variant_size_v<directive::AnyOp>);
    directive::AnyOp op = directive::op_of_kind(static_cast<std::size_t>(random_.below(kinds)));
    if (std::holds_alternative<directive::In>(op)) return add_wrapper();
    std::visit(
        [&](auto& d) {
          directive::for_each_field(d, [&](const auto& field, auto& value) { draw(field.role, value); });
          if (d.traits.of == directive::Of::Func) {
            put_first(d);
          } else {
            put(d);
          }
        },
        op);
  }

  // ---- and in ways that are legal more often -------------------------------------------------------

  void add_common() {
    switch (random_.below(18)) {
      case 0: {
        const std::string v = loop();
        return put(directive::Split{v, v + "o", v + "i", factor(), tail()});
      }
      case 1: {
        const auto names = several_loops(2);
        return put(directive::Fuse{names.front(), names.back(), names.front() + names.back()});
      }
      case 2: return put(directive::Reorder{several_loops(4)});
      case 3:
        return put(directive::MarkLoop{
            loop(), random_.pick(std::vector<LoopKind>{LoopKind::Serial, LoopKind::Vectorized,
                                                       LoopKind::Unrolled, LoopKind::Parallel,
                                                       LoopKind::Parallel})});
      case 4: return put(directive::Vectorize{loop(), width(), tail()});
      case 5: return put(directive::Unroll{loop(), factor() % 8, tail()});
      case 6: return put_first(directive::ComputeRoot{});
      case 7: return put_first(directive::ComputeAt{level()});
      case 8:
        return random_.coin() ? put_first(directive::StoreAt{level()})
                              : put_first(directive::StoreRoot{});
      case 9:
        return put_first(directive::StoreIn{random_.pick(std::vector<MemoryType>{
            MemoryType::Heap, MemoryType::Stack, MemoryType::Shared, MemoryType::Register})});
      case 10: return add_wrapper();
      case 11: return put_first(directive::AlignStorage{dimension(), factor()});
      case 12:
        if (!wild_) return put_first(directive::StoreRoot{});
        return put_first(directive::Bound{
            dimension(), now_and_then() ? unlikely_size(random_) : random_.between(-20, 20),
            now_and_then() ? unlikely_size(random_) : random_.between(1, 60)});
      case 13: return put_first(directive::ComputeInline{});
      // Refused when it is too small, or when nothing slides along the dimension.
      case 14: return put_first(directive::FoldStorage{dimension(), random_.coin() ? factor() : 37});
      case 15: return put_first(directive::ReorderStorage{{dimension(), dimension()}});
      case 16: return put(directive::Atomic{});
      default: return put(directive::MarkLoop{loop(), LoopKind::Parallel});
    }
  }

  void add_gpu() {
    switch (random_.below(20)) {
      case 0: {
        directive::GpuTile tile;
        tile.vars = several_loops(3);
        for (std::size_t i = 0; i < tile.vars.size(); ++i) {
          tile.sizes.push_back(i == 0 ? random_.pick(std::vector<int>{4, 7, 8, 16, 32}) : factor() % 9);
          if (tile.sizes.back() < 1 && !wild_) tile.sizes.back() = 1;
        }
        tile.tail = tail();
        return put(tile);
      }
      case 1: return put(directive::MarkLoop{loop(), LoopKind::GpuBlock});
      case 2: return put(directive::MarkLoop{loop(), LoopKind::GpuThread});
      case 3:
      case 4:
        return put_first(directive::StagedSource{
            source(), random_.below(8) > 0 ? MemoryType::Shared : MemoryType::Register,
            random_.pick(std::vector<LoadPolicy>{LoadPolicy::HaloThreads, LoadPolicy::TwoStep,
                                                 LoadPolicy::Strided, LoadPolicy::AsyncCopy,
                                                 LoadPolicy::Bulk})});
      case 5: return put_first(directive::ReadOnly{input()});
      case 6:
        return put_first(directive::LaunchBounds{static_cast<int>(random_.between(wild_ ? 0 : 1, 3))});
      case 7:
        return put_first(
            directive::MaxRegisters{random_.pick(std::vector<int>{16, 32, 64, 255, wild_ ? 3 : 128})});
      case 8: return put_first(directive::March{loop(), factor()});
      case 9: return put_first(directive::RegisterWindow{source(), dimension()});
      case 10:
        return put_first(
            directive::PipelineDepth{source(), static_cast<int>(random_.between(wild_ ? -1 : 0, 3))});
      case 11:
        return put_first(
            directive::Scatter{dimension(), random_.coin() ? Partials::EveryPlane : Partials::Centre});
      case 12: return put_first(directive::Shuffle{source(), dimension()});
      case 13: return put_first(directive::OrderBlocks{several_loops(3)});
      case 14: return put_first(directive::StreamLoads{input()});
      case 15: return put_first(directive::StreamStores{});
      case 16: return put_first(directive::Texture{input()});
      case 17:
        return put_first(directive::WarpSplit{static_cast<int>(random_.between(wild_ ? 0 : 1, 2))});
      case 18: return put(directive::GpuSingleThread{});
      default: return put_first(directive::ComputeAt{level()});
    }
  }

  void add_wrapper() {
    const std::string wanted = source();
    for (Func& f : funcs_) {
      if (f.name() == wanted) f.in(func_);
    }
    for (const ImageParam& u : pipeline_.inputs) {
      if (u.name() == wanted) u.in(func_);
    }
  }

  const TestPipeline& pipeline_;
  bool gpu_, wild_;
  Random& random_;
  std::vector<Func> funcs_;
  Func func_{"none"};
  std::int64_t definition_ = 0;
  std::vector<std::string> loops_, read_;
};

/// Takes all directives off, and puts back what is legal: a Func's together if they are, else one by
/// one.
void leave_out_the_illegal(TestPipeline& pipeline, bool gpu) {
  if (is_legal(pipeline, gpu)) return;
  std::vector<std::vector<std::vector<Directive>>> planned;
  for (Func& f : pipeline.funcs) {
    planned.emplace_back();
    for (Definition& d : f.function()->definitions)
      planned.back().push_back(std::exchange(d.directives, {}));
  }
  for (std::size_t i = pipeline.funcs.size(); i-- > 0;) {
    auto& definitions = pipeline.funcs[i].function()->definitions;
    const bool whole = try_directives(pipeline, gpu, [&] {
      for (std::size_t d = 0; d < definitions.size(); ++d) definitions[d].directives = planned[i][d];
    });
    if (whole) continue;
    for (std::size_t d = 0; d < definitions.size(); ++d) {
      for (const Directive& directive : planned[i][d]) {
        try_directives(pipeline, gpu, [&] { definitions[d].directives.push_back(directive); });
      }
    }
  }
}

}  // namespace

void add_random_directives(TestPipeline& pipeline, bool gpu, int count, Random& random) {
  for (int i = 0; i < count; ++i) {
    try {
      Drawer(pipeline, gpu, true, random).add();
    } catch (const UserError&) {
      // in() of a Func that does not read the source.
    }
  }
}

void schedule_legally(TestPipeline& pipeline, bool gpu, int count, Random& random) {
  if (random.below(5) > 0) {
    if (gpu) {
      schedule_randomly_for_gpu(pipeline, random);
    } else {
      schedule_randomly_for_host(pipeline, random);
    }
    leave_out_the_illegal(pipeline, gpu);
  }
  for (int i = 0; i < count; ++i) {
    try_directives(pipeline, gpu, [&] { Drawer(pipeline, gpu, false, random).add(); });
  }
}

}  // namespace mica::test
