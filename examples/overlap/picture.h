// What was under way when: a timeline.
#pragma once

#include <string>
#include <vector>

#include "runtime/run/copy_pipeline.h"

namespace mica::examples {

/// Three lanes, a bar a slab; of long runs their middle, where all stages are at work. UserError when
/// the file cannot be written.
void draw_timeline(const std::vector<CopyPipeline::Span>& spans, std::int64_t slabs,
                   const std::string& path);

}  // namespace mica::examples
