// Adding directives that stay only if they are legal.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "dsl/expr/diagnostics.h"
#include "fuzz/test_pipeline.h"

namespace mica::test {

/// The Funcs of `pipeline` and the wrappers that their schedules made.
std::vector<Func> all_funcs(const TestPipeline& pipeline);
/// Does check_schedule find nothing? What is no pipeline at all is not legal either.
bool is_legal(const TestPipeline& pipeline, bool gpu);
/// Carries out `add`, and takes back what it changed if it throws a UserError or the result is not
/// legal. Did it stay?
bool try_directives(const TestPipeline& pipeline, bool gpu, const std::function<void()>& add);

}  // namespace mica::test
