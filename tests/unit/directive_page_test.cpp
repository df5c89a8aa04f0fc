// docs/scheduling.md has every directive.
#include <cstddef>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "dsl/schedule/directives.h"
#include "tests/support/source_root.h"

namespace mica {
namespace {

template <typename Op>
void add_words(std::vector<std::string>& words) {
  // The members of Func and Stage that mark loops have names of their own.
  if constexpr (std::is_same_v<Op, directive::MarkLoop>) {
    for (const char* word : {"serial", "parallel", "vectorize", "unroll", "gpu_blocks", "gpu_threads"}) {
      words.emplace_back(word);
    }
  } else if constexpr (std::is_same_v<Op, directive::In>) {
    words.emplace_back("u.in");
  } else {
    words.emplace_back(Op::traits.word);
  }
}

template <std::size_t... I>
std::vector<std::string> directive_words(std::index_sequence<I...> /*alternatives*/) {
  std::vector<std::string> words;
  (add_words<std::variant_alternative_t<I, directive::AnyOp>>(words), ...);
  return words;
}

TEST(SchedulingPage, HasEveryDirective) {
  std::ifstream in(test::source_root() / "docs/scheduling.md");
  if (!in) GTEST_SKIP() << "no source tree at " << test::source_root();
  std::ostringstream text;
  text << in.rdbuf();
  const std::string page = text.str();
  const auto words = directive_words(std::make_index_sequence<std::variant_size_v<directive::AnyOp>>());
  for (const std::string& word : words) {
    EXPECT_NE(page.find("`" + word + "("), std::string::npos) << word;
  }
}

}  // namespace
}  // namespace mica
