#include "runtime/run/copy_pipeline.h"

#include <algorithm>
#include <string>
#include <utility>

#include "dsl/expr/diagnostics.h"

namespace mica {

CopyPipeline::CopyPipeline(const Target& target, int slots) : target_(target), slots_(slots) {
  if (slots < 1) {
    throw UserError("a CopyPipeline of " + std::to_string(slots) +
                    " slots has no place for an item: give one, or three to keep all stages busy");
  }
  for (int s = 0; s < kStages; ++s) streams_.emplace_back(target);
}

void CopyPipeline::add(const Put& in, const Put& work, const Put& out, std::int64_t after) {
  if (after < -1 || after >= items()) {
    throw UserError("item " + std::to_string(items()) + " of a CopyPipeline waits for item " +
                    std::to_string(after) + ", which has not been added: give one before it, or -1");
  }
  // The stage Out works in order: an item that is out has all others before it out, too.
  const std::int64_t waits_for = std::max(after, items() - slots_);
  const Put* const puts[] = {&in, &work, &out};
  Item item;
  for (std::size_t s = 0; s < kStages; ++s) {
    const GpuStream& stream = streams_[s];
    if (s > 0) item.ends.back().hold_up(stream);
    if (s == 0 && waits_for >= 0)
      items_[static_cast<std::size_t>(waits_for)].ends.back().hold_up(stream);
    item.begins.emplace_back(target_).record(stream);
    (*puts[s])(stream);
    item.ends.emplace_back(target_).record(stream);
  }
  items_.push_back(std::move(item));
}

void CopyPipeline::synchronize() const {
  for (const GpuStream& stream : streams_) stream.synchronize();
}

std::vector<CopyPipeline::Span> CopyPipeline::spans() const {
  std::vector<Span> spans;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const GpuEvent& first = items_.front().begins.front();
    for (std::size_t s = 0; s < kStages; ++s) {
      spans.push_back({static_cast<std::int64_t>(i), static_cast<Stage>(s),
                       items_[i].begins[s].milliseconds_since(first) * 1e-3,
                       items_[i].ends[s].milliseconds_since(first) * 1e-3});
    }
  }
  return spans;
}

PipelineTimes times_of(const std::vector<CopyPipeline::Span>& spans) {
  PipelineTimes times;
  double begin = spans.empty() ? 0 : spans.front().begin, end = begin;
  for (const CopyPipeline::Span& span : spans) {
    double& sum = span.stage == CopyPipeline::Stage::In     ? times.in
                  : span.stage == CopyPipeline::Stage::Work ? times.work
                                                            : times.out;
    sum += span.end - span.begin;
    begin = std::min(begin, span.begin);
    end = std::max(end, span.end);
  }
  times.wall = end - begin;
  return times;
}

}  // namespace mica
