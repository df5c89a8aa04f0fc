// What the tool's pages are made of: HTML that needs nothing from elsewhere, light or dark as the
// reader's browser is.
#pragma once

#include <string>
#include <vector>

namespace mica::tools {

/// `text` with the characters that HTML and SVG give a meaning written as themselves.
std::string escaped(const std::string& text);

/// A whole document, which tells the browser to fetch nothing. `body` is HTML, the title text; it is
/// also the first heading.
std::string html_document(const std::string& title, const std::string& body);
std::string html_heading(const std::string& text);
std::string html_paragraph(const std::string& text);
/// Text as it stands, below a line that opens and closes it. Empty text: nothing.
std::string html_folded(const std::string& title, const std::string& text, bool open = false);

/// Rows of text cells: numbers but for the last column, or words in all.
class HtmlTable {
 public:
  explicit HtmlTable(const std::vector<std::string>& headings, bool words = false);
  /// `kind` is the row's class in the style sheet: "best", "plain", "refused" or none.
  void row(const std::vector<std::string>& cells, const std::string& kind = "");
  [[nodiscard]] std::string html() const;

 private:
  bool words_;
  std::string head_, rows_;
};

}  // namespace mica::tools
