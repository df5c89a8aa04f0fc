// Expectations on the text and place of UserErrors and findings.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dsl/expr/diagnostics.h"

namespace mica::test {

/// Does `action` throw a UserError whose message contains every part? With a line > 0, its place must
/// be that line of this file.
inline ::testing::AssertionResult fails_with(const std::function<void()>& action,
                                             const std::vector<std::string>& parts, int line = 0) {
  try {
    action();
  } catch (const UserError& error) {
    const std::string text = error.what();
    for (const std::string& part : parts) {
      if (text.find(part) == std::string::npos) {
        return ::testing::AssertionFailure() << "\"" << text << "\" lacks \"" << part << "\"";
      }
    }
    if (line > 0 && error.where().line != line) {
      return ::testing::AssertionFailure()
             << "\"" << text << "\" is at line " << error.where().line << ", not " << line;
    }
    return ::testing::AssertionSuccess();
  } catch (const std::exception& error) {
    return ::testing::AssertionFailure() << "another exception: " << error.what();
  }
  return ::testing::AssertionFailure() << "no UserError";
}

/// Is there exactly one finding, and does it contain every part and stand at `line` (if > 0)?
inline ::testing::AssertionResult only_finding(const Diagnostics& findings,
                                               const std::vector<std::string>& parts, int line = 0) {
  std::string all;
  for (const auto& finding : findings) all += "\n  " + finding.message;
  if (findings.size() != 1) {
    return ::testing::AssertionFailure() << findings.size() << " findings:" << all;
  }
  for (const std::string& part : parts) {
    if (findings[0].message.find(part) == std::string::npos) {
      return ::testing::AssertionFailure() << "lacks \"" << part << "\":" << all;
    }
  }
  if (line > 0 && findings[0].where.line != line) {
    return ::testing::AssertionFailure()
           << "at line " << findings[0].where.line << ", not " << line << ":" << all;
  }
  return ::testing::AssertionSuccess();
}

}  // namespace mica::test

/// EXPECTs that the statement throws a UserError with these parts in its message, at the line it
/// stands on.
#define EXPECT_FAILS(statement, ...) \
  EXPECT_TRUE(::mica::test::fails_with([&] { statement; }, {__VA_ARGS__}, __LINE__))
