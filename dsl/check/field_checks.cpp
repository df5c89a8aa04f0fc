#include "dsl/check/field_checks.h"

#include <algorithm>
#include <concepts>

#include <fmt/format.h>

#include "dsl/expr/names.h"
#include "dsl/schedule/directive_fields.h"

namespace mica {

namespace {

class FieldChecker {
 public:
  FieldChecker(const ScheduleView& view, const FuncView& f) : view_(view), f_(f) {}

  std::vector<std::string> run(const Directive& directive) {
    directive::for_each_name(directive.op, [&](directive::Role role, const std::string& name) {
      if (role == directive::Role::Input) check_input(name);
      if (role == directive::Role::Dimension) check_dimension(name);
    });
    std::visit(
        [&](const auto& op) {
          directive::for_each_field(op, [&](const auto& field, const auto& value) {
            if constexpr (std::integral<std::remove_cvref_t<decltype(value)>>) {
              check_limits(field.limits, value);
            }
          });
        },
        directive.op);
    return std::move(wrong_);
  }

 private:
  void check_input(const std::string& source) {
    if (!view_.pipeline().find_input(source)) {
      std::vector<std::string> inputs;
      for (const auto& input : view_.pipeline().inputs) inputs.push_back(input.name);
      wrong_.push_back(fmt::format("{} is no input{}; inputs are {}", source,
                                   did_you_mean(source, inputs), joined(inputs)));
    } else if (!view_.reaches(f_, source)) {
      wrong_.push_back(fmt::format("{} does not read {}{}; it reads {}", f_.name(), source,
                                   did_you_mean(source, read_names(view_, f_)), read_list(view_, f_)));
    }
  }
  void check_dimension(const std::string& var) {
    const auto& args = f_.func->args;
    if (std::find(args.begin(), args.end(), var) != args.end()) return;
    wrong_.push_back(fmt::format("{} is no dimension of {}{}; its dimensions are {}", var, f_.name(),
                                 did_you_mean(var, args), joined(args)));
  }
  void check_limits(const directive::Limits& limits, std::int64_t value) {
    if (value >= limits.low && value <= limits.high) return;
    wrong_.push_back(
        fmt::format("{} is {}; legal are {} to {}", limits.what, value, limits.low, limits.high));
  }

  const ScheduleView& view_;
  const FuncView& f_;
  std::vector<std::string> wrong_;
};

}  // namespace

std::vector<std::string> wrong_fields(const ScheduleView& view, const FuncView& f,
                                      const Directive& directive) {
  return FieldChecker(view, f).run(directive);
}

}  // namespace mica
