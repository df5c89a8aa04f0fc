#include "fuzz/case_names.h"

#include <set>
#include <vector>

#include "dsl/expr/node_visit.h"
#include "dsl/schedule/directive_fields.h"
#include "fuzz/program.h"

namespace mica::test {
namespace {

Schedule renamed(Schedule schedule, const CaseNames& names, bool funcs) {
  const auto call = [&](std::string& name) { name = called(names, name); };
  for (DefinitionSchedule& stage : schedule.stages) {
    if (funcs) call(stage.func);
    for (Directive& directive : stage.directives) {
      directive::for_each_name(directive.op, [&](directive::Role role, std::string& name) {
        const bool is_loop = directive::names_own_loop(role) || role == directive::Role::LoopOfFunc;
        if (funcs || is_loop) call(name);
      });
    }
  }
  return schedule;
}

/// The names that splits and fusions give.
std::set<std::string> loops_of(const Schedule& schedule) {
  std::set<std::string> loops;
  for (const DefinitionSchedule& stage : schedule.stages) {
    for (const Directive& directive : stage.directives) {
      directive::for_each_name(directive.op, [&](directive::Role role, const std::string& name) {
        if (role == directive::Role::NewLoop) loops.insert(name);
      });
    }
  }
  std::erase_if(loops, [](const std::string& name) { return name.find('.') != std::string::npos; });
  return loops;
}

}  // namespace

std::string called(const CaseNames& names, const std::string& plain) {
  if (const auto given = names.find(plain); given != names.end()) return given->second;
  const std::size_t dot = plain.find('.');
  if (dot == std::string::npos) return plain;
  const std::string rest = plain.substr(dot + 1);
  const bool wrapper = rest.rfind("in.", 0) == 0;
  return called(names, plain.substr(0, dot)) + "." +
         (wrapper ? "in." + called(names, rest.substr(3)) : rest);
}

Schedule with_names(const Schedule& schedule, const CaseNames& names) {
  return renamed(schedule, names, true);
}
Schedule with_loop_names(const Schedule& schedule, const CaseNames& names) {
  return renamed(schedule, names, false);
}

CaseNames random_names(const Program& program, const Schedule& schedule, Random& random) {
  // Those of one kind have different names.
  std::vector<std::vector<std::string>> kinds(3);
  for (const auto& input : program.inputs) kinds[0].push_back(input.name);
  for (const auto& stage : program.stages) {
    if (!stage.boundary) kinds[1].push_back(stage.name);
  }
  std::set<std::string> loops = loops_of(schedule);
  loops.insert(default_dimension_names().begin(), default_dimension_names().end());
  kinds[2].assign(loops.begin(), loops.end());
  kinds.push_back({"p"});
  kinds.push_back({"r"});
  kinds.push_back({"s"});
  std::vector<std::string> parts;
  for (const auto& kind : kinds) parts.insert(parts.end(), kind.begin(), kind.end());

  static const std::vector<std::string> after{
      ".window",  ".staged",         ".staged.tx",   ".row0",   ".row",    ".full",  ".sum0",
      ".min.0",   ".stride.1",       ".extent.0",    ".0",      ".1",      ".2",     ".tx",
      ".step",    ".lane",           ".x",           ".y",      ".u1.x",   ".r.x",   ".value0",
      ".x.block", ".block",          ".thread",      ".vec",    ".unroll", ".chunk", ".march",
      ".x.low",   ".y.march.planes", ".z.block.end", ".update1"};
  static const std::vector<std::string> words{"block",
                                              "thread",
                                              "march",
                                              "block.x",
                                              "thread.x",
                                              "plane",
                                              "tx",
                                              "u1",
                                              "step",
                                              "lane",
                                              "row",
                                              "llvm.fma.f32",
                                              "llvm",
                                              "memcpy",
                                              "mica_free",
                                              "kernel.f0",
                                              "in",
                                              "0",
                                              ".",
                                              "a b",
                                              "a\nb",
                                              "\x01\x1f",
                                              "\"",
                                              "\\",
                                              "{0}",
                                              "%s",
                                              "a/b",
                                              "\xc3\xa4\xc2\xb7",
                                              "\xff",
                                              "\xe2\x80\xae"
                                              "a",
                                              std::string(300, 'n'),
                                              std::string(300, '.')};
  CaseNames names;
  std::vector<std::set<std::string>> taken;
  for (const auto& kind : kinds) taken.emplace_back(kind.begin(), kind.end());
  for (std::int64_t left = random.between(1, 5); left > 0; --left) {
    const auto k = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(kinds.size())));
    if (kinds[k].empty()) continue;
    const std::string part = random.pick(kinds[k]);
    const std::string other = random.pick(parts);
    const auto choice = random.below(7);
    const std::string name = choice == 0  ? other
                             : choice < 4 ? called(names, other) + random.pick(after)
                                          : random.pick(words);
    if (taken[k].insert(name).second) names[part] = name;
  }
  return names;
}

std::string literal(const std::string& text) {
  constexpr char kDigits[] = "01234567";
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte < 0x7f && c != '"' && c != '\\' && c != '?') {
      result += c;
    } else {
      result += {'\\', kDigits[byte >> 6], kDigits[byte >> 3 & 7], kDigits[byte & 7]};
    }
  }
  return result + '"';
}

}  // namespace mica::test
