#include "codegen/plan/plan_taps.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "codegen/analysis/linear.h"
#include "codegen/plan/placed_funcs.h"
#include "dsl/pipeline/march_taps.h"

namespace mica::planning {

namespace {

constexpr std::int64_t kWarp = 32;

class Taps {
 public:
  Taps(const Program& program, const KernelPlan& plan)
      : program_(program),
        plan_(plan),
        func_(*program.pipeline.find(plan.func)),
        schedule_(schedule_of(program, func_)) {}

  std::vector<Tap> run() {
    for (const auto& stage : plan_.stages) {
      const FunctionData& reader = *program_.pipeline.find(stage.func);
      const bool own = stage.func == plan_.func;
      const std::size_t first = taps_.size();
      for (std::size_t i = 0; i < reader.definitions.size(); ++i) {
        if (own && i != plan_.definition) continue;
        analysis::for_each_access(reader.definitions[i],
                                  [&](const Access& access) { add(first, tap_of(reader, access)); });
      }
      for (std::size_t k = first; k < taps_.size(); ++k) serve(taps_[k], stage, first);
      if (stage.fill.way == Fill::Way::Window) taps_.push_back(from_window(stage));
    }
    return std::move(taps_);
  }

 private:
  /// The read that fills a plane's own points: a window has the dimensions of the kernel's Func, of
  /// which the plane may lack some or have them in another order.
  [[nodiscard]] Tap from_window(const Stage& stage) const {
    const std::vector<std::string>& column = stage.fill.column;
    Tap tap;
    tap.reader = stage.func;
    tap.source = stage.fill.window;
    tap.server = Server::OwnRegister;
    for (const std::string& dim : plan_.frame.dims) {
      const auto at = std::find(column.begin(), column.end(), dim);
      tap.at.push_back({at == column.end() ? -1 : static_cast<int>(at - column.begin()), 0});
    }
    return tap;
  }

  void add(std::size_t first, Tap tap) {
    for (std::size_t k = first; k < taps_.size(); ++k) {
      if (taps_[k].source != tap.source || taps_[k].at != tap.at) continue;
      ++taps_[k].count;
      return;
    }
    taps_.push_back(std::move(tap));
  }

  void serve(Tap& tap, const Stage& reader, std::size_t first) const {
    if (tap.source == plan_.func) {
      tap.server = Server::Itself;
      return;
    }
    const Stage* source = plan_.find(tap.source);
    if (has_own_points(reader) && is_exchanged(tap, first)) {
      const auto along = std::find_if(tap.at.begin(), tap.at.end(), [&](const Tap::Index& index) {
        return index.of == exchanged_dim(tap) && index.offset != 0;
      });
      tap.server = Server::Lane;
      tap.lanes = along->offset < 0 ? -1 : 1;
      tap.along = static_cast<int>(along - tap.at.begin());
    } else if (source == nullptr || source->is_in(Residence::Global)) {
      const bool copied =
          reader.fill.way == Fill::Way::AsyncCopies || reader.fill.way == Fill::Way::BulkCopies;
      tap.server =
          schedule_.textures.count(tap.source) > 0 && !copied ? Server::Texture : Server::Global;
    } else if (source->is_in(Residence::Registers)) {
      serve_from_registers(tap, *source);
    } else {
      tap.server = Server::Shared;
    }
  }

  // A thread's own points, those that the next lanes of the warp hold, or rows of other warps.
  void serve_from_registers(Tap& tap, const Stage& source) const {
    tap.server = Server::OwnRegister;
    for (std::size_t d = 0; d < tap.at.size(); ++d) {
      const bool of_thread = !source.step || !source.step->kept.is_beside();
      const bool plane = source.step && source.step->dim == static_cast<int>(d);
      if (of_thread || plane || tap.at[d].offset == 0 || tap.server == Server::Shared) continue;
      const bool row = plan_.frame.vars.walks_lanes(func_.args[d]);
      tap.server = row ? Server::Lane : Server::Shared;
      tap.lanes = !row ? 0 : tap.at[d].offset < 0 ? -1 : 1;
      tap.along = row ? static_cast<int>(d) : -1;
    }
  }

  // ---- taps that the neighbours' registers serve (shuffle) -----------------------------------------
  const FuncSchedule::Exchange* exchange_for(const std::string& source) const {
    for (const auto& exchange : schedule_.exchanges) {
      if (exchange.source == source) return &exchange;
      const Stage* stage = plan_.find(source);
      if (stage != nullptr && stage->copies == exchange.source && stage->is_in(Residence::Shared)) {
        return &exchange;
      }
    }
    return nullptr;
  }

  [[nodiscard]] int exchanged_dim(const Tap& tap) const {
    const auto* exchange = exchange_for(tap.source);
    if (exchange == nullptr) return -1;
    const auto found = std::find(func_.args.begin(), func_.args.end(), exchange->var);
    return found == func_.args.end() ? -1 : static_cast<int>(found - func_.args.begin());
  }

  // Does each thread compute the stage at its own points?
  [[nodiscard]] bool has_own_points(const Stage& reader) const {
    return reader.func == plan_.func || reader.level == Level::Thread ||
           (reader.step && reader.step->per_thread);
  }
  // Where a stage needs more threads in x, a warp has parts of two rows.
  [[nodiscard]] bool has_rows_of_warps() const {
    std::int64_t most = plan_.frame.threads[0];
    for (const Stage& stage : plan_.stages) most = std::max(most, stage.crew.extents[0]);
    return most == plan_.frame.threads[0] && most % kWarp == 0;
  }

  // Neighbours in x hold the points beside a thread's own, and the row's own points are at hand.
  [[nodiscard]] bool is_exchanged(const Tap& tap, std::size_t first) const {
    const int dim = exchanged_dim(tap);
    if (dim < 0 || !has_rows_of_warps() || !has_neighbours(dim)) return false;
    const auto place = std::find_if(tap.at.begin(), tap.at.end(),
                                    [dim](const Tap::Index& index) { return index.of == dim; });
    if (place == tap.at.end() || place->offset == 0) return false;
    const std::int64_t width = width_of(dim);
    if (std::abs(place->offset) > width) return false;
    const auto d = static_cast<std::size_t>(place - tap.at.begin());
    bool low = false, high = false, own = false;
    for (std::size_t k = first; k < taps_.size(); ++k) {
      const Tap& other = taps_[k];
      if (other.reader != tap.reader || other.at.size() != tap.at.size()) continue;
      bool same_row = true;
      for (std::size_t e = 0; e < tap.at.size(); ++e) {
        same_row = same_row && (e == d || other.at[e] == tap.at[e]);
      }
      if (!same_row || other.at[d].of != dim || std::abs(other.at[d].offset) > width) continue;
      const Stage* held = plan_.find(other.source);
      const Stage* source = plan_.find(tap.source);
      const bool window = held != nullptr && held->is_in(Residence::Registers) && held->step &&
                          held->copies == (source != nullptr ? source->copies : tap.source);
      if (other.source != tap.source && !window) continue;
      own = own || other.at[d].offset == 0;
      low = low || other.at[d].offset < 0;
      high = high || other.at[d].offset > 0;
    }
    return own || (low && high);
  }

  // Of a vector along the dimension, the unit of an exchange.
  [[nodiscard]] std::int64_t width_of(int dim) const { return dim == 0 ? plan_.frame.row.lanes : 1; }

  // Does the next lane hold the next vector? An update at constants or along a reduction has no loop in
  // some dimensions, and no neighbours there.
  [[nodiscard]] bool has_neighbours(int dim) const {
    const std::string& along = func_.args[static_cast<std::size_t>(dim)];
    const LoopVars::Loop* thread = plan_.frame.vars.lanes();
    if (thread == nullptr || plan_.frame.vars.roots().count(along) == 0) return false;
    const Expr value = plan_.frame.vars.value(along);
    return analysis::linearize(value).coefficient(thread->name) == width_of(dim);
  }

  const Program& program_;
  const KernelPlan& plan_;
  const FunctionData& func_;
  const FuncSchedule& schedule_;
  std::vector<Tap> taps_;
};

}  // namespace

Tap tap_of(const FunctionData& reader, const Access& access) {
  Tap tap;
  tap.reader = reader.name;
  tap.source = access.name;
  for (const auto& arg : access.args) {
    Tap::Index index;
    for (std::size_t e = 0; e < reader.args.size(); ++e) {
      const auto offset = offset_from(arg, reader.args[e]);
      if (offset) index = {static_cast<int>(e), *offset};
    }
    tap.at.push_back(index);
  }
  return tap;
}

std::vector<Tap> taps_of(const Program& program, const KernelPlan& plan) {
  return Taps(program, plan).run();
}

}  // namespace mica::planning
