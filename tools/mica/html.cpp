#include "tools/mica/html.h"

namespace mica::tools {
namespace {

// Colours have names, so that the two schemes differ in one place. The classes of drawings: where points
// are kept (shared, registers, stored, global), what is drawn beside them, and lines of plots.
constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --paper: #fff; --ink: #1c2430; --faint: #566070; --line: #d5dae2; --grid: #e6e9ee; --panel: #f3f5f8;
  --good: #e7f4ea; --blue: #2d6cb5; --orange: #c96a12; --green: #2e8b57; --red: #c0392b; --gray: #7d8794 }
@media (prefers-color-scheme: dark) { :root { --paper: #14181f; --ink: #e4e8ee; --faint: #a3adba; --line: #3a424e; --grid: #2a313b; --panel: #1d232c;
  --good: #1d3a28; --blue: #6ea8e8; --orange: #eba15a; --green: #5fc48b; --red: #ec7a6c; --gray: #8d97a4 } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 64em; padding: 0 1em; color: var(--ink); background: var(--paper) }
h1 { font-size: 1.5em } h2 { font-size: 1.15em; margin-top: 2em; border-bottom: 1px solid var(--line) } h3 { font-size: 1em; margin: 1.5em 0 0.5em }
table { border-collapse: collapse; width: 100%; font-size: 0.9em }
th, td { padding: 0.2em 0.7em; text-align: right; vertical-align: top; border-bottom: 1px solid var(--grid) }
th:last-child, td:last-child, .words th, .words td { text-align: left }
tr.best td { background: var(--good); font-weight: 600 } tr.plain td { background: var(--panel) } tr.refused td { color: var(--faint) }
pre { background: var(--panel); padding: 0.8em; overflow-x: auto; font-size: 0.85em } summary { cursor: pointer; font-weight: 600; margin: 0.6em 0 }
figure { display: inline-block; margin: 0 1em 1em 0; vertical-align: top } figcaption { font-size: 0.85em; color: var(--faint) }
svg { max-width: 100%; height: auto; display: block } svg text { font: 12px system-ui, sans-serif; fill: var(--faint) } svg text.strong { fill: var(--ink); font-weight: 600 }
.shared { fill: var(--blue); stroke: var(--blue) } .registers { fill: var(--orange); stroke: var(--orange) } .stored { fill: var(--green); stroke: var(--green) }
.global { fill: var(--gray); stroke: var(--gray) } .light { fill-opacity: 0.22 } .full { fill-opacity: 0.8 } .open { fill-opacity: 0.08; stroke-dasharray: 3 2 }
.box { fill-opacity: 0.12; stroke-width: 1.5 } .grid { stroke: var(--ink); stroke-opacity: 0.18; stroke-width: 0.6; fill: none } .one { fill: var(--red); fill-opacity: 0.75; stroke: none }
.rule { stroke: var(--grid); fill: none } .axis { stroke: var(--gray); fill: none } .read { fill: var(--ink); stroke: var(--paper) }
.dot { fill-opacity: 0.75; stroke: none } .ring { fill: none; stroke-width: 1.6 } .line { fill: none; stroke-width: 1.6 } .dashed { stroke-dasharray: 5 4 }
.blue { fill: var(--blue); stroke: var(--blue) } .red { fill: var(--red); stroke: var(--red) } .green { fill: var(--green); stroke: var(--green) }
.orange { fill: var(--orange); stroke: var(--orange) } .gray { fill: var(--gray); stroke: var(--gray) } .line, .ring, .rule, .axis, .grid { fill: none }
)";

std::string cells_of(const std::vector<std::string>& cells, const char* tag, const std::string& kind) {
  std::string row = kind.empty() ? "<tr>" : "<tr class=\"" + escaped(kind) + "\">";
  for (const std::string& cell : cells) {
    row += std::string("<") + tag + ">" + escaped(cell) + "</" + tag + ">";
  }
  return row + "</tr>\n";
}

}  // namespace

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      case '\'': result += "&#39;"; break;
      default: result += c;
    }
  }
  return result;
}

std::string html_document(const std::string& title, const std::string& body) {
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
         "content=\"width=device-width\"><meta http-equiv=\"Content-Security-Policy\" "
         "content=\"default-src 'none'; style-src 'unsafe-inline'\"><title>" +
         escaped(title) + "</title><style>" + kStyle + "</style></head><body>\n<h1>" + escaped(title) +
         "</h1>\n" + body + "</body></html>\n";
}

std::string html_heading(const std::string& text) { return "<h2>" + escaped(text) + "</h2>\n"; }

std::string html_paragraph(const std::string& text) { return "<p>" + escaped(text) + "</p>\n"; }

std::string html_folded(const std::string& title, const std::string& text, bool open) {
  if (text.empty()) return "";
  return std::string("<details") + (open ? " open" : "") + "><summary>" + escaped(title) +
         "</summary><pre>" + escaped(text) + "</pre></details>\n";
}

HtmlTable::HtmlTable(const std::vector<std::string>& headings, bool words)
    : words_(words), head_(cells_of(headings, "th", "")) {}

void HtmlTable::row(const std::vector<std::string>& cells, const std::string& kind) {
  rows_ += cells_of(cells, "td", kind);
}

std::string HtmlTable::html() const {
  return std::string(words_ ? "<table class=\"words\">" : "<table>") + "<thead>" + head_ +
         "</thead><tbody>\n" + rows_ + "</tbody></table>\n";
}

}  // namespace mica::tools
