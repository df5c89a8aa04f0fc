#include "examples/overlap/picture.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "examples/common/pictures.h"

namespace mica::examples {

void draw_timeline(const std::vector<CopyPipeline::Span>& spans, std::int64_t slabs,
                   const std::string& path) {
  constexpr std::size_t kMost = 24 * CopyPipeline::kStages;  // bars
  const std::size_t shown = std::min(spans.size(), kMost);
  const auto first =
      spans.begin() + static_cast<std::ptrdiff_t>((spans.size() - shown) / 2 / CopyPipeline::kStages *
                                                  CopyPipeline::kStages);
  const std::vector<CopyPipeline::Span> bars(first, first + static_cast<std::ptrdiff_t>(shown));
  const auto [begin, end] = [&] {
    double from = bars.front().begin, to = from;
    for (const auto& bar : bars) {
      from = std::min(from, bar.begin);
      to = std::max(to, bar.end);
    }
    return std::pair(from, to);
  }();
  const PipelineTimes times = times_of(spans);
  char title[96];
  std::snprintf(title, sizeof title, "%lld slabs a pass: %.2f stages under way at once, on average",
                static_cast<long long>(slabs), times.overlap());

  struct Lane {
    const char* name;
    double seconds;
    Color color;
  };
  const Lane lanes[] = {{"host to device", times.in, kBlue},
                        {"kernels", times.work, kGreen},
                        {"device to host", times.out, kOrange}};
  constexpr double kLeft = 170, kTop = 50, kWidth = 960, kLane = 74;
  Page page(1170, 350);
  Plot plot = page.plot({kLeft, kTop, kWidth, 3 * kLane}, {"time (ms)", begin * 1e3, end * 1e3},
                        {.label = "", .from = 0, .to = 3, .bare = true}, title);
  for (const auto& bar : bars) {
    const auto lane = static_cast<int>(bar.stage);
    const Color& color = lanes[lane].color;
    plot.box({bar.begin * 1e3, 2.1 - lane}, {bar.end * 1e3, 2.9 - lane},
             bar.item % 2 == 0 ? color : mix(color, {1, 1, 1}, 0.4));
  }
  for (int i = 0; i < CopyPipeline::kStages; ++i) {
    char share[32];
    std::snprintf(share, sizeof share, "%.0f %%", 100 * lanes[i].seconds / std::max(times.sum(), 1e-30));
    page.text(20, kTop + kLane * (i + 0.46), lanes[i].name, lanes[i].color);
    page.text(20, kTop + kLane * (i + 0.46) + 20, share, lanes[i].color);
  }
  page.save(path);
}

}  // namespace mica::examples
