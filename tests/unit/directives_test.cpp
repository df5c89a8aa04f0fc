// Every kind of directive has a description from which its text and its JSON are made.
#include "dsl/schedule/directives.h"

#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dsl/schedule/directive_fields.h"
#include "dsl/schedule/loop_dims.h"

namespace mica {
namespace {

using directive::AnyOp;

/// Gives each field a value of its own: names "n0", "n1", ..., numbers from 2 on, a word's last value.
struct Fill {
  int next = 0;
  void operator()(std::string& name) { name = "n" + std::to_string(next++); }
  template <typename T>
  void operator()(T& value) {
    if constexpr (std::is_enum_v<T>) {
      value = *std::prev(std::end(directive::Words<T>::values));
    } else if constexpr (std::is_integral_v<T>) {
      value = 2 + next++;
    } else {
      value.resize(2);
      for (auto& item : value) (*this)(item);
    }
  }
};

template <typename D>
D filled() {
  D d;
  Fill fill;
  directive::for_each_field(d, [&](const auto&, auto& value) { fill(value); });
  if constexpr (std::is_same_v<D, directive::In>) d.wrapper = d.source + ".in.f";
  return d;
}

std::vector<AnyOp> every_kind() {
  std::vector<AnyOp> ops;
  directive::for_each_kind([&]<typename D>() { ops.push_back(filled<D>()); });
  return ops;
}

TEST(Directives, HaveAWordOfTheirOwnEach) {
  std::set<std::string> words;
  for (const AnyOp& op : every_kind()) {
    EXPECT_TRUE(words.insert(directive::traits_of({op, {}}).word).second);
  }
  EXPECT_EQ(words.size(), std::variant_size_v<AnyOp>);
}

TEST(Directives, HaveFieldsOfDifferentKeys) {
  for (const AnyOp& op : every_kind()) {
    std::set<std::string> keys;
    std::size_t fields = 0;
    std::visit(
        [&](const auto& d) {
          directive::for_each_field(d, [&](const auto& field, const auto&) {
            keys.insert(field.key);
            ++fields;
          });
        },
        op);
    EXPECT_EQ(keys.size(), fields) << directive::traits_of({op, {}}).word;
    EXPECT_EQ(keys.count("do"), 0U);
  }
}

TEST(Directives, TellTheirFieldsInTheirText) {
  for (const AnyOp& op : every_kind()) {
    const std::string text = to_string(Directive{op, {}});
    if (!std::holds_alternative<directive::MarkLoop>(op)) {
      EXPECT_NE(text.find("." + std::string(directive::traits_of({op, {}}).word) + "("),
                std::string::npos)
          << text;
    }
    directive::for_each_name(op, [&](directive::Role role, const std::string& name) {
      if (role == directive::Role::Wrapper) return;
      EXPECT_NE(text.find(name), std::string::npos) << text;
    });
  }
}

TEST(Directives, ReturnFromJsonUnchanged) {
  Schedule schedule;
  for (const AnyOp& op : every_kind()) schedule.stages.push_back({"f", 0, {{op, {}}}});
  EXPECT_EQ(schedule_from_json(to_json(schedule)), schedule);
}

TEST(Directives, OfEachIndexAreOfThatKind) {
  for (std::size_t i = 0; i < std::variant_size_v<AnyOp>; ++i) {
    EXPECT_EQ(directive::op_of_kind(i).index(), i);
  }
  EXPECT_THROW(directive::op_of_kind(std::variant_size_v<AnyOp>), InternalError);
}

TEST(Directives, OfOneThreadMakeTheLoopsThatAreNamedSo) {
  const auto& makes = directive::GpuSingleThread::traits.makes;
  for (std::size_t i = 0; i < std::size(kSingleLoops); ++i) EXPECT_STREQ(makes.at(i), kSingleLoops[i]);
}

}  // namespace
}  // namespace mica
