#include "codegen/passes/funcs/check_sizes.h"

#include <string>

#include "dsl/expr/limits.h"
#include "dsl/expr/node_visit.h"

namespace mica::passes {

void check_sizes(Program& program) {
  for (const auto& func : program.pipeline.funcs) {
    for (const Definition& definition : func->definitions) {
      std::int64_t operations = 0;
      visit_nodes(definition.values, [&](const Expr& e) {
        const bool leaf = e.as<IntImm>() || e.as<FloatImm>() || e.as<VarRef>() || e.as<ParamRef>();
        operations += leaf ? 0 : 1;
      });
      if (operations <= kMostOperations) continue;
      throw UserError(
          func->name + " has " + std::to_string(operations) +
              " operations a point, with all that is computed inline in it; at most " +
              std::to_string(kMostOperations) +
              " are compiled: compute parts of it in Funcs of their own with compute_root(), "
              "or write what repeats as a sum over an RDom",
          definition.where);
    }
  }
}

}  // namespace mica::passes
