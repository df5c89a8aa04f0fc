#include "codegen/plan/frame/common_frame.h"

#include <algorithm>

#include "codegen/program.h"
#include "dsl/check/tap_text.h"
#include "dsl/pipeline/march_taps.h"

namespace mica::planning {
namespace {

class Framer {
 public:
  Framer(const Program& program, const FunctionData& func, const FuncSchedule::March& march)
      : program_(program), func_(func) {
    frame_.loop = march.loop;
    frame_.march = march.var;
  }

  std::optional<CommonFrame> run() {
    margin_[func_.name].resize(func_.args.size());
    const auto& funcs = program_.pipeline.funcs;
    for (auto it = funcs.rbegin(); it != funcs.rend(); ++it) {
      if (!is_kept(**it)) continue;
      add(**it);
      keeps_box_ = keeps_box_ || (*it)->held.of != nullptr;
    }
    if (!beside_own_ && !keeps_box_) return std::nullopt;
    frame_.margin.resize(func_.args.size());
    for (const auto& [name, margins] : margin_) {
      for (std::size_t d = 0; d < margins.size(); ++d) {
        frame_.margin[d].before = std::max(frame_.margin[d].before, margins[d].before);
        frame_.margin[d].after = std::max(frame_.margin[d].after, margins[d].after);
      }
    }
    return frame_;
  }

 private:
  [[nodiscard]] bool is_at_march(const FunctionData& f) const {
    const auto placed = program_.placement.find(f.name);
    return placed != program_.placement.end() && placed->second.level == Placement::Level::At &&
           placed->second.compute.func == func_.name && placed->second.compute.var == frame_.loop;
  }
  [[nodiscard]] bool is_kept(const FunctionData& f) const {
    return is_at_march(f) && program_.placement.at(f.name).memory == MemoryType::Register &&
           f.definitions.size() == 1 && f.args.size() == func_.args.size();
  }

  void add(const FunctionData& f) {
    CommonFrame::Kept& kept = frame_.kept[f.name];
    kept.beside.resize(f.args.size());
    std::vector<Around>& margin = margin_[f.name];
    margin.resize(f.args.size());
    for (const auto& reader : program_.pipeline.funcs) {
      const auto own = margin_.find(reader->name);
      const bool in_frame = own != margin_.end();
      for (const auto& definition : reader->definitions) {
        analysis::for_each_access(definition, [&](const Access& access) {
          if (access.name != f.name || access.is_self) return;
          if (in_frame && read(*reader, access, own->second, kept, margin)) return;
          refused_ = refused_ ? refused_ : &access;
          refusing_ = refusing_ ? refusing_ : reader.get();
        });
      }
    }
    const bool beside = kept.is_beside();
    if (beside && !beside_own_) frame_.where = program_.placement.at(f.name).where;
    beside_own_ = beside_own_ || beside;
    if (beside && refused_ != nullptr) {
      throw UserError(f.name + " is kept in registers along the march of " + func_.name +
                          ", where a thread knows the points around its own, and " + refusing_->name +
                          " reads it at " + args_text(refused_->args) +
                          "; keep it in MemoryType::Shared",
                      program_.placement.at(f.name).where);
    }
    refused_ = nullptr;
    refusing_ = nullptr;
  }

  /// Is the access at a constant distance from the reader's point?
  bool read(const FunctionData& reader, const Access& access, const std::vector<Around>& own,
            CommonFrame::Kept& kept, std::vector<Around>& margin) const {
    const auto offsets = offsets_from(access.args, reader.args);
    if (!offsets || offsets->size() != func_.args.size()) return false;
    int dims = 0;
    for (std::size_t d = 0; d < offsets->size(); ++d) {
      const std::int64_t offset = func_.args[d] == frame_.march ? 0 : (*offsets)[d];
      const Around away{std::max<std::int64_t>(0, -offset), std::max<std::int64_t>(0, offset)};
      dims += offset != 0 ? 1 : 0;
      kept.beside[d].before = std::max(kept.beside[d].before, away.before);
      kept.beside[d].after = std::max(kept.beside[d].after, away.after);
      margin[d].before = std::max(margin[d].before, own[d].before + away.before);
      margin[d].after = std::max(margin[d].after, own[d].after + away.after);
    }
    kept.corners = kept.corners || dims > 1;
    return true;
  }

  const Program& program_;
  const FunctionData& func_;
  CommonFrame frame_;
  std::map<std::string, std::vector<Around>> margin_;  // of the Funcs in the frame
  bool beside_own_ = false, keeps_box_ = false;
  const Access* refused_ = nullptr;
  const FunctionData* refusing_ = nullptr;
};

}  // namespace

bool CommonFrame::Kept::is_beside() const {
  return std::any_of(beside.begin(), beside.end(), [](const Around& a) { return a != Around(); });
}

std::optional<CommonFrame> common_frame(const Program& program, const FunctionData& func,
                                        const std::optional<FuncSchedule::March>& march) {
  return march ? Framer(program, func, *march).run() : std::nullopt;
}

const FunctionData* copied_plane(const Program& program, const FunctionData& func) {
  const auto* access = func.definitions.front().values.front().as<Access>();
  if (func.types.size() != 1 || access == nullptr) return nullptr;
  const auto source = program.placement.find(access->name);
  const bool at_march = source != program.placement.end() &&
                        source->second.memory == MemoryType::Shared &&
                        source->second.level == Placement::Level::At &&
                        source->second.compute == program.placement.at(func.name).compute;
  if (!at_march) return nullptr;
  if (offsets_from(access->args, func.args) != std::vector<std::int64_t>(func.args.size()))
    return nullptr;
  const FunctionData* copied = program.pipeline.find(access->name);
  return copied->types.size() == 1 ? copied : nullptr;
}

}  // namespace mica::planning
