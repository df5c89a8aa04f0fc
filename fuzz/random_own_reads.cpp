#include "fuzz/random_own_reads.h"

#include <cstdlib>

namespace mica::test {

std::vector<Index> own_point(const ProgramStage& stage) {
  std::vector<Index> at;
  for (int d = 0; d < stage.dimensions; ++d) at.push_back({d});
  return at;
}

namespace {

/// Element `element` of the stage's own Func, as `type`.
Term own_tap(const ProgramStage& stage, std::size_t element, std::vector<Index> at, Type type) {
  Term tap;
  tap.kind = Term::Kind::Tap;
  tap.type = stage.values[element].type;
  tap.source = kSelf;
  tap.element = static_cast<int>(element);
  tap.at = std::move(at);
  return tap.type == type ? tap : applied(Operation::Cast, type, {std::move(tap)});
}

Operation random_join(Type type, Random& random) {
  if (type.is_bool()) return random.coin() ? Operation::Either : Operation::Both;
  return random.pick(std::vector<Operation>{Operation::Add, Operation::Add, Operation::Sub,
                                            Operation::Max, Operation::Min});
}

std::size_t random_element(const ProgramStage& stage, Random& random) {
  return static_cast<std::size_t>(random.below(static_cast<std::int64_t>(stage.values.size())));
}

/// Half of a float, so that what walks far stays finite; another type as it is.
Term damped(Term term, Random& random) {
  const Type type = term.type;
  if (!type.is_float() || random.below(4) == 0) return term;
  return applied(Operation::Mul, type, {constant_term(type, 0.5), std::move(term)});
}

/// `first` at the start, and before it where the comparison says so, else `then`.
Term guarded(const ProgramStage& stage, Term first, Term then, Random& random) {
  Term place;
  place.kind = Term::Kind::Coordinate;
  place.type = Int(32);
  place.at = {{stage.walk->dim}};
  const Term start = constant_term(Int(32), *stage.walk->start);
  Operation compare = Operation::Equal;
  std::vector<Term> sides{place, start};
  if (random.coin()) {
    compare = Operation::AtMost;
    if (stage.walk->ahead) std::swap(sides[0], sides[1]);
  }
  const Type type = first.type;
  return applied(Operation::Select, type,
                 {applied(compare, Bool(), std::move(sides)), std::move(first), std::move(then)});
}

}  // namespace

void add_walk(ProgramStage& stage, bool is_last, std::optional<int> dim, Random& random) {
  ProgramStage::Walk walk;
  walk.dim = dim ? *dim : static_cast<int>(random.below(stage.dimensions));
  walk.ahead = random.coin();
  if (!is_last || random.coin()) walk.start = static_cast<int>(random.between(-12, 12));
  const ProgramStage before = stage;
  stage.walk = walk;
  for (std::size_t i = 0; i < stage.values.size(); ++i) {
    const Type type = stage.values[i].type;
    Term value = before.values[i];
    for (std::int64_t taps = random.between(1, 2); taps > 0; --taps) {
      std::vector<Index> at = own_point(stage);
      const auto distance = static_cast<int>(random.pick(std::vector<int>{1, 1, 1, 2, 3, 7}));
      at[static_cast<std::size_t>(walk.dim)].offset = walk.ahead ? distance : -distance;
      Term tap = damped(own_tap(before, random_element(before, random), std::move(at), type), random);
      value = applied(random_join(type, random), type, {std::move(value), std::move(tap)});
    }
    stage.values[i] = walk.start ? guarded(stage, before.values[i], std::move(value), random) : value;
  }
}

void add_colored_update(ProgramStage& stage, Random& random) {
  ProgramStage::Update update;
  ProgramStage::Color color;
  color.count = random.pick(std::vector<int>{2, 2, 2, 3, 4});
  for (int d = 0; d < stage.dimensions; ++d) {
    color.factors.push_back(random.pick(std::vector<int>{1, 1, 1, -1, 2, 3, 0}));
  }
  update.at = own_point(stage);
  for (std::size_t i = 0; i < stage.values.size(); ++i) {
    const Type type = stage.values[i].type;
    Term value = own_tap(stage, i, own_point(stage), type);
    for (std::int64_t taps = random.between(1, 4); taps > 0; --taps) {
      std::vector<Index> at = own_point(stage);
      int shift = 0;
      for (std::size_t d = 0; d < at.size(); ++d) {
        if (random.coin()) at[d].offset = static_cast<int>(random.between(-2, 2));
        shift += color.factors[d] * at[d].offset;
      }
      if (std::abs(shift) % color.count == 0) continue;  // of the point's own color
      Term tap = damped(own_tap(stage, random_element(stage, random), std::move(at), type), random);
      value = applied(random_join(type, random), type, {std::move(value), std::move(tap)});
    }
    update.values.push_back(std::move(value));
  }
  update.color = std::move(color);
  stage.updates.push_back(std::move(update));
}

}  // namespace mica::test
