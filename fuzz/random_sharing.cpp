#include "fuzz/random_sharing.h"

namespace mica::test {
namespace {

/// The parts of `term` of this type, or of any: outside of reductions, whose dimensions they could name,
/// and other than amounts of shifts, which have a range.
void collect(Term& term, const std::optional<Type>& type, std::vector<Term*>& found) {
  if (!type || term.type == *type) found.push_back(&term);
  if (!term.domain.empty()) return;
  const bool shifts = term.operation == Operation::Shl || term.operation == Operation::Shr;
  for (Term& operand : term.operands) {
    collect(operand, type, found);
    if (shifts) return;
  }
}

std::vector<Term*> parts_of(std::vector<Term>& values, const std::optional<Type>& type) {
  std::vector<Term*> found;
  for (Term& value : values) collect(value, type, found);
  return found;
}

Term shared_term(std::size_t i, Type type) {
  Term term;
  term.kind = Term::Kind::Shared;
  term.type = type;
  term.element = static_cast<int>(i);
  return term;
}

/// A value that uses `before` two or three times.
Term link_of(const Term& before, Random& random) {
  const Type type = before.type;
  const Term number = constant_term(type, type.is_float() ? 0.5 : 3);
  Term other = applied(Operation::Mul, type, {number, before});
  if (random.below(4) == 0) {
    Term condition = applied(Operation::Less, Bool(), {before, number});
    return applied(Operation::Select, type, {std::move(condition), before, std::move(other)});
  }
  return applied(random.pick(std::vector<Operation>{Operation::Max, Operation::Min, Operation::Add,
                                                    Operation::Sub}),
                 type, {before, std::move(other)});
}

}  // namespace

void share_terms(ProgramStage& stage, Random& random) {
  for (std::int64_t n = random.between(1, 2); n > 0; --n) {
    Term& part = *random.pick(parts_of(stage.values, std::nullopt));
    const Type type = part.type;
    stage.shared.push_back(part);
    const std::int64_t links =
        type.is_bool() ? 0 : random.pick(std::vector<std::int64_t>{0, 0, 1, 3, 12, 40});
    for (std::int64_t i = 0; i < links; ++i) {
      stage.shared.push_back(link_of(shared_term(stage.shared.size() - 1, type), random));
    }
    const Term use = shared_term(stage.shared.size() - 1, type);
    part = use;
    for (std::int64_t uses = random.between(1, 3); uses > 0; --uses) {
      Term& value = *random.pick(parts_of(stage.values, type));
      const Operation join = type.is_bool()  ? Operation::Either
                             : random.coin() ? Operation::Add
                                             : Operation::Min;
      if (value.operands.empty() && random.coin()) {
        value = use;
      } else {
        Term both = applied(join, type, {value, use});
        value = std::move(both);
      }
    }
  }
}

}  // namespace mica::test
