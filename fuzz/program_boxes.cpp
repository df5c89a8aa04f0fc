// What a program reads, from intervals of its coordinates.
#include <algorithm>

#include "fuzz/program.h"

namespace mica::test {
namespace {

/// First and last value.
using Interval = std::pair<std::int64_t, std::int64_t>;

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  if (b < 0) return floor_div(-a, -b);
  return a >= 0 ? a / b : -((-a + b - 1) / b);
}

/// Intervals of a definition's variables, by Index::var.
struct Ranges {
  std::vector<Interval> pure, reduction;
  [[nodiscard]] Interval of(const Index& index) const {
    if (index.is_constant()) return {index.offset, index.offset};
    Interval v =
        index.looked_up.empty() ? followed(index) : values_of(index.looked_up.front().type, index.shift);
    if (index.looked_up.empty()) v = {v.first >> index.shift, v.second >> index.shift};
    if (index.mask) v = {0, *index.mask};
    if (index.modulus) {
      v = {std::min<std::int64_t>(0, std::int64_t{*index.modulus} + 1),
           std::max<std::int64_t>(0, std::int64_t{*index.modulus} - 1)};
    }
    if (!index.limits) return v;
    const auto held = [&](std::int64_t x) {
      return std::max<std::int64_t>(std::min<std::int64_t>(x, index.limits->second),
                                    index.limits->first);
    };
    return {held(v.first), held(v.second)};
  }

 private:
  /// What a variable becomes by scale, offset and divisor.
  [[nodiscard]] Interval followed(const Index& index) const {
    Interval v = index.var >= kReduction ? reduction.at(static_cast<std::size_t>(index.var - kReduction))
                                         : pure.at(static_cast<std::size_t>(index.var));
    v = {v.first * index.scale, v.second * index.scale};
    if (v.first > v.second) std::swap(v.first, v.second);
    v = {floor_div(v.first + index.offset, index.divisor),
         floor_div(v.second + index.offset, index.divisor)};
    if (v.first > v.second) std::swap(v.first, v.second);
    return v;
  }
  /// All values of an integer type, shifted to the right; of a u64 those of up to 63 bits.
  static Interval values_of(Type type, int shift) {
    const int bits = std::min(type.is_int() ? type.bits - 1 - shift : type.bits - shift, 63);
    const auto last = static_cast<std::int64_t>((std::uint64_t{1} << bits) - 1);
    return {type.is_int() ? -last - 1 : 0, last};
  }
};

std::vector<Interval> intervals(const Box& box) {
  std::vector<Interval> result;
  for (const auto& [min, extent] : box) result.emplace_back(min, min + extent - 1);
  return result;
}

void include(Box& box, const std::vector<Interval>& at) {
  for (std::size_t d = 0; d < at.size(); ++d) {
    const auto [low, high] = at[d];
    if (box.size() <= d) {
      box.emplace_back(low, high - low + 1);
      continue;
    }
    const std::int64_t last = std::max(box[d].first + box[d].second - 1, high);
    box[d].first = std::min(box[d].first, low);
    box[d].second = last - box[d].first + 1;
  }
}

class Demand {
 public:
  Demand(const Program& program, const std::map<std::string, Box>& bounded)
      : program_(program), bounded_(bounded), boxes_(program.inputs.size() + program.stages.size()) {}

  std::vector<Box> run(const std::vector<Box>& outputs) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      include(box_of(program_.outputs[i]), intervals(outputs[i]));
    }
    for (std::size_t i = program_.stages.size(); i-- > 0;) {
      const ProgramStage& stage = program_.stages[i];
      if (boxes_[program_.inputs.size() + i].empty()) continue;
      if (stage.boundary) {
        read_inside(stage, intervals(box_of(static_cast<int>(i))));
        continue;
      }
      const bool is_output =
          std::count(program_.outputs.begin(), program_.outputs.end(), static_cast<int>(i)) > 0;
      grow_to_start(stage, box_of(static_cast<int>(i)));
      grow_by_updates(stage, is_output, box_of(static_cast<int>(i)));
      grow_to_start(stage, box_of(static_cast<int>(i)));
      const Box& box = box_of(static_cast<int>(i));
      Ranges ranges{intervals(box), {}};
      for (const Term& term : stage.shared) read(term, ranges);
      for (const Term& term : stage.values) read(term, ranges);
      for (const auto& update : stage.updates) {
        ranges.reduction = intervals(update.domain);
        read(update.at, ranges);
        for (const Term& term : update.values) read(term, ranges);
      }
    }
    return boxes_;
  }

 private:
  Box& box_of(int stage) { return boxes_[program_.inputs.size() + static_cast<std::size_t>(stage)]; }

  /// A Func that reads itself is computed from its start.
  static void grow_to_start(const ProgramStage& stage, Box& box) {
    if (!stage.walk || !stage.walk->start) return;
    std::vector<Interval> at = intervals(box);
    at[static_cast<std::size_t>(stage.walk->dim)] = {*stage.walk->start, *stage.walk->start};
    include(box, at);
  }

  /// Adds what the updates write and read of their own Func. With colors, an output keeps its rim.
  static void grow_by_updates(const ProgramStage& stage, bool is_output, Box& box) {
    for (std::size_t u = stage.updates.size(); u-- > 0;) {
      const auto& update = stage.updates[u];
      if (update.color && is_output) continue;
      for (int again = 1; update.color && again < update.color->count; ++again) grow_once(update, box);
      grow_once(update, box);
    }
  }
  static void grow_once(const ProgramStage::Update& update, Box& box) {
    const Ranges ranges{intervals(box), intervals(update.domain)};
    std::vector<Interval> written;
    for (const Index& index : update.at) written.push_back(ranges.of(index));
    include(box, written);
    for (const Term& value : update.values) {
      for_each_term(value, [&](const Term& term) {
        if (term.kind != Term::Kind::Tap || term.source != kSelf) return;
        std::vector<Interval> at;
        for (const Index& index : term.at) at.push_back(ranges.of(index));
        include(box, at);
      });
    }
  }

  /// What a boundary condition over `at` asks of its source.
  void read_inside(const ProgramStage& stage, std::vector<Interval> at) {
    const Program::Input* const origin =
        program_.is_stage(program_.origin_of(stage.source))
            ? nullptr
            : &program_.inputs[static_cast<std::size_t>(program_.origin_of(stage.source))];
    for (std::size_t d = 0; d < at.size(); ++d) {
      const BoundaryExtent own, extent = stage.extents.empty() ? own : stage.extents[d];
      if (extent.kind == BoundaryExtent::Kind::Given) {
        at[d] = {extent.min, extent.min + std::max(extent.extent, 1) - 1};
      } else if (extent.kind == BoundaryExtent::Kind::Own) {
        const auto found = origin != nullptr ? bounded_.find(origin->name) : bounded_.end();
        at[d] = {0, 0};
        if (found != bounded_.end()) {
          const auto& [min, count] = found->second[d];
          at[d] = {min, min + count - 1};
        }
      }
    }
    include(boxes_[static_cast<std::size_t>(stage.source)], at);
  }

  void read(const std::vector<Index>& at, const Ranges& ranges) {
    for (const Index& index : at) {
      for (const Term& term : index.looked_up) read(term, ranges);
    }
  }
  void read(const Term& term, const Ranges& ranges) {
    read(term.at, ranges);
    if (!term.domain.empty()) {
      const Ranges inner{ranges.pure, intervals(term.domain)};
      for (const Term& operand : term.operands) read(operand, inner);
      return;
    }
    for (const Term& operand : term.operands) read(operand, ranges);
    if (term.kind != Term::Kind::Tap || term.source == kSelf) return;
    std::vector<Interval> at;
    for (const Index& index : term.at) at.push_back(ranges.of(index));
    include(boxes_[static_cast<std::size_t>(term.source)], at);
  }

  const Program& program_;
  const std::map<std::string, Box>& bounded_;
  std::vector<Box> boxes_;
};

constexpr std::int64_t kMany = std::int64_t{1} << 40;

std::int64_t points_of(const Box& box) {
  std::int64_t points = 1;
  for (const auto& [min, extent] : box) points = std::min(points * std::min(extent, kMany), kMany);
  return points;
}

}  // namespace

std::vector<Box> demanded_boxes(const Program& program, const std::vector<Box>& boxes,
                                const std::map<std::string, Box>& bounded) {
  return Demand(program, bounded).run(boxes);
}

std::vector<Box> output_boxes(const Program& program, const std::vector<Box>& boxes) {
  const std::vector<Box> demanded = demanded_boxes(program, boxes);
  std::vector<Box> result;
  for (const int output : program.outputs) {
    result.push_back(demanded[program.inputs.size() + static_cast<std::size_t>(output)]);
  }
  return result;
}

std::int64_t points_to_compute(const Program& program, const std::vector<Box>& boxes) {
  const std::vector<Box> demanded = demanded_boxes(program, boxes);
  std::int64_t points = 0;
  for (std::size_t source = 0; source < demanded.size(); ++source) {
    if (demanded[source].empty()) continue;
    std::int64_t rounds = 1;
    if (program.is_stage(static_cast<int>(source))) {
      for (const auto& update : program.stage(static_cast<int>(source)).updates) {
        rounds += points_of(update.domain);
      }
    }
    points = std::min(points + points_of(demanded[source]) * rounds, kMany);
  }
  return points;
}

std::vector<std::int64_t> inlined_taps(const Program& program) {
  std::vector<std::int64_t> taps(program.stages.size());
  for (std::size_t i = 0; i < program.stages.size(); ++i) {
    const std::function<std::int64_t(const Term&)> count = [&](const Term& term) {
      std::int64_t total = 0;
      for (const Term& operand : term.operands) total += count(operand);
      for (const Index& index : term.at) {
        for (const Term& part : index.looked_up) total += count(part);
      }
      if (!term.domain.empty()) total *= points_of(term.domain);
      if (term.kind != Term::Kind::Tap) return total;
      const bool inlined =
          term.source != kSelf && program.is_stage(term.source) && !program.stage(term.source).is_kept();
      return total + (inlined ? taps[static_cast<std::size_t>(term.source) - program.inputs.size()] : 1);
    };
    ProgramStage stage = program.stages[i];
    taps[i] = 1;
    if (stage.boundary) {
      Term source;
      source.kind = Term::Kind::Tap;
      source.source = stage.source;
      taps[i] += count(source);
    }
    for_each_root(stage, [&](const Term& term) { taps[i] += count(term); });
  }
  return taps;
}

Program without_unused(Program program) {
  std::vector<bool> used(program.inputs.size() + program.stages.size(), false);
  for (const int output : program.outputs) {
    used[program.inputs.size() + static_cast<std::size_t>(output)] = true;
  }
  for (std::size_t i = program.stages.size(); i-- > 0;) {
    const ProgramStage& stage = program.stages[i];
    if (!used[program.inputs.size() + i]) continue;
    if (stage.boundary) used[static_cast<std::size_t>(stage.source)] = true;
    for_each_term(stage, [&](const Term& term) {
      if (term.kind == Term::Kind::Tap && term.source != kSelf) {
        used[static_cast<std::size_t>(term.source)] = true;
      }
    });
  }
  std::vector<int> renumbered(used.size(), -1);
  int next = 0;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i]) renumbered[i] = next++;
  }
  Program result;
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    if (used[i]) result.inputs.push_back(program.inputs[i]);
  }
  const std::function<void(Term&)> renumber = [&](Term& term) {
    if (term.kind == Term::Kind::Tap && term.source != kSelf) {
      term.source = renumbered[static_cast<std::size_t>(term.source)];
    }
    for_each_part(term, renumber);
  };
  for (std::size_t i = 0; i < program.stages.size(); ++i) {
    if (!used[program.inputs.size() + i]) continue;
    ProgramStage stage = std::move(program.stages[i]);
    if (stage.boundary) stage.source = renumbered[static_cast<std::size_t>(stage.source)];
    for_each_root(stage, renumber);
    result.stages.push_back(std::move(stage));
  }
  for (const int output : program.outputs) {
    result.outputs.push_back(renumbered[program.inputs.size() + static_cast<std::size_t>(output)] -
                             static_cast<int>(result.inputs.size()));
  }
  return result;
}

}  // namespace mica::test
