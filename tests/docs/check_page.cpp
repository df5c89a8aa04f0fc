// Does a page of the documentation show what is so? Its links lead to files, its code stands in the
// source it is taken from, and its output is what the programs print.
//
//   check_page PAGE [--source FILE]... [--program FILE] [--bin FOLDER] [--mentions NAME]... [--write
//   yes]
//
// Blocks by the word after the ```:
//   cpp      neighbouring lines of a source, indented as there or less
//   output   what the program prints, on every target of kTargets alike; all blocks together are all
//            of it, a line "..." stands for any lines; empty lines are not compared
//   console  "$ COMMAND" and what the command prints; programs are those in the folder --bin.
//            "console figures-vary": numbers, and spaces between words, are not compared
//   others   are not looked at
// With --write yes, output and console blocks without "..." become what is printed now; an output block
// begins where the line is printed that it begins with. Exit status: 0, or 1 with a message a
// difference.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <sys/wait.h>

namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

constexpr const char* kTargets[] = {"host", "emulator"};

struct Block {
  std::string kind;  // the words after ```
  std::size_t line;  // of the ```, from 1
  Lines lines;
};

struct Options {
  fs::path page, program, bin;
  std::vector<fs::path> sources;
  Lines mentions;
  bool write = false;
};

Lines read_lines(const fs::path& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  Lines lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string trimmed(const std::string& line) { return line.substr(0, line.find_last_not_of(' ') + 1); }

// Lines without the spaces at their ends, which editors take away, and without empty ones.
Lines split(const std::string& text) {
  Lines lines;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = trimmed(text.substr(at, end - at));
    if (!line.empty()) lines.push_back(line);
    at = end + 1;
  }
  return lines;
}

std::vector<Block> blocks_of(const Lines& page) {
  std::vector<Block> blocks;
  bool inside = false;
  for (std::size_t i = 0; i < page.size(); ++i) {
    if (page[i].starts_with("```")) {
      if (!inside) blocks.push_back({page[i].substr(3), i + 1, {}});
      inside = !inside;
    } else if (inside) {
      blocks.back().lines.push_back(page[i]);
    }
  }
  if (inside) throw std::runtime_error("the last ``` of the page is not closed");
  return blocks;
}

std::size_t indentation(const Lines& lines) {
  std::size_t least = std::string::npos;
  for (const std::string& line : lines) {
    const std::size_t first = line.find_first_not_of(' ');
    if (first != std::string::npos) least = std::min(least, first);
  }
  return least == std::string::npos ? 0 : least;
}

Lines without_indentation(const Lines& lines) {
  const std::size_t least = indentation(lines);
  Lines result;
  for (const std::string& line : lines) result.push_back(line.size() < least ? "" : line.substr(least));
  return result;
}

bool stands_in(const Lines& source, const Lines& code) {
  if (code.empty()) return false;
  const Lines wanted = without_indentation(code);
  for (std::size_t at = 0; at + code.size() <= source.size(); ++at) {
    const Lines part(source.begin() + static_cast<std::ptrdiff_t>(at),
                     source.begin() + static_cast<std::ptrdiff_t>(at + code.size()));
    if (without_indentation(part) == wanted) return true;
  }
  return false;
}

std::string joined(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// The first line of `printed` that `shown` does not say, or npos.
std::size_t first_difference(const Lines& all, const Lines& printed) {
  const Lines shown = split(joined(all));
  std::size_t at = 0;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (shown[i] == "...") {
      // Up to the line that is shown next; of nothing, to the end.
      if (i + 1 == shown.size()) return std::string::npos;
      while (at < printed.size() && shown[i + 1] != printed[at]) ++at;
      continue;
    }
    if (at == printed.size() || shown[i] != printed[at]) return at;
    ++at;
  }
  return at == printed.size() ? std::string::npos : at;
}

std::string quoted(const std::string& text) { return "'" + text + "'"; }

// What a command prints, stderr included; a failure of it throws.
std::string output_of(const std::string& command) {
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot start " + command);
  std::string text;
  char part[4096];
  while (const std::size_t n = std::fread(part, 1, sizeof part, pipe)) text.append(part, n);
  const int status = pclose(pipe);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw std::runtime_error(command + " failed:\n" + text);
  }
  return text;
}

// The part of a link behind # that leads to a heading: "## By condition, and as data" has
// by-condition-and-as-data.
std::string anchor_of(const std::string& heading) {
  std::string anchor;
  for (const char c : heading.substr(std::min(heading.find_first_not_of("# "), heading.size()))) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '_') {
      anchor += static_cast<char>(std::tolower(byte));
    } else if (c == ' ') {
      anchor += '-';
    }
  }
  return anchor;
}

bool has_anchor(const fs::path& page, const std::string& anchor) {
  bool inside = false;
  for (const std::string& line : read_lines(page)) {
    if (line.starts_with("```")) inside = !inside;
    if (!inside && line.starts_with("#") && anchor_of(line) == anchor) return true;
  }
  return false;
}

// Lines without empty ones at both ends.
Lines without_empty_ends(Lines lines) {
  while (!lines.empty() && trimmed(lines.back()).empty()) lines.pop_back();
  while (!lines.empty() && trimmed(lines.front()).empty()) lines.erase(lines.begin());
  return lines;
}

Lines raw_lines(const std::string& text) {
  Lines lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(trimmed(line));
  return without_empty_ends(lines);
}

bool leaves_out(const Lines& lines) {
  return std::find(lines.begin(), lines.end(), "...") != lines.end();
}

Lines without_figures(const Lines& lines) {
  static const std::regex number("-?[0-9]+([.][0-9]+)?(e[-+]?[0-9]+)?"), spaces(" +");
  Lines result;
  for (const std::string& line : lines) {
    result.push_back(std::regex_replace(std::regex_replace(line, number, "#"), spaces, " "));
  }
  return result;
}

class Check {
 public:
  explicit Check(Options options) : options_(std::move(options)), page_(read_lines(options_.page)) {}

  int run() {
    if (options_.write) write();
    links();
    Lines output;
    for (const Block& block : blocks_of(page_)) {
      if (block.kind == "cpp") code(block);
      if (block.kind == "output") output.insert(output.end(), block.lines.begin(), block.lines.end());
      if (block.kind.starts_with("console")) console(block);
    }
    if (!options_.program.empty()) {
      for (const char* target : kTargets) {
        compare("output on " + std::string(target), output, split(program_output(target)));
      }
    }
    for (const std::string& name : options_.mentions) {
      bool found = false;
      for (const std::string& line : page_) found = found || line.find(name) != std::string::npos;
      if (!found) fail(0, "says nothing of " + name);
    }
    return failures_ == 0 ? 0 : 1;
  }

 private:
  void fail(std::size_t line, const std::string& what) {
    std::cerr << options_.page.string() << ":" << line << ": " << what << "\n";
    ++failures_;
  }

  void links() {
    static const std::regex link(R"(\]\(([^)#:]+)(#[^)]*)?\))");
    bool in_code = false;
    for (std::size_t i = 0; i < page_.size(); ++i) {
      if (page_[i].starts_with("```")) in_code = !in_code;
      if (in_code) continue;
      const std::string text = std::regex_replace(page_[i], std::regex("`[^`]*`(?!\\])"), "");
      for (std::sregex_iterator at(text.begin(), text.end(), link), end; at != end; ++at) {
        const fs::path to = options_.page.parent_path() / (*at)[1].str();
        const std::string anchor = (*at)[2].str();
        if (!fs::exists(to)) {
          fail(i + 1, "there is no " + to.string());
        } else if (!anchor.empty() && !has_anchor(to, anchor.substr(1))) {
          fail(i + 1, to.string() + " has no heading for " + anchor);
        }
      }
    }
  }

  void code(const Block& block) {
    if (options_.sources.empty()) return;
    for (const fs::path& source : options_.sources) {
      if (stands_in(read_lines(source), block.lines)) return;
    }
    fail(block.line,
         "this code stands in no source: " + (block.lines.empty() ? "" : block.lines.front()));
  }

  void compare(const std::string& what, const Lines& shown, const Lines& printed, std::size_t line = 0) {
    const std::size_t at = first_difference(shown, printed);
    if (at == std::string::npos) return;
    fail(line,
         what + " differs at its line " + std::to_string(at + 1) + "; printed was\n" + joined(printed));
  }

  [[nodiscard]] std::string program_output(const std::string& target) const {
    return output_of("MICA_TARGET=" + target + " " + quoted(options_.program.string()));
  }
  [[nodiscard]] std::string console_output(const std::string& command) const {
    return output_of("PATH=" + quoted(options_.bin.string()) + ":\"$PATH\"; " + command);
  }

  // The blocks of what is printed, as it is now.
  void write() {
    std::vector<Block> blocks = blocks_of(page_);
    const Lines printed = options_.program.empty() ? Lines() : raw_lines(program_output(kTargets[0]));
    std::vector<std::pair<Block*, std::size_t>> starts;
    std::size_t from = 0;
    for (Block& block : blocks) {
      if (block.kind.starts_with("console") && !leaves_out(block.lines)) {
        Lines lines;
        for (const std::string& line : block.lines) {
          if (!line.starts_with("$ ")) continue;
          lines.push_back(line);
          for (const std::string& p : raw_lines(console_output(line.substr(2)))) lines.push_back(p);
        }
        block.lines = lines;
      } else if (block.kind == "output" && !block.lines.empty()) {
        const auto at = std::find(printed.begin() + static_cast<std::ptrdiff_t>(from), printed.end(),
                                  trimmed(block.lines.front()));
        if (at == printed.end()) {
          throw std::runtime_error("nothing begins with the line " + block.lines.front() + ": write it");
        }
        from = static_cast<std::size_t>(at - printed.begin());
        starts.emplace_back(&block, from++);
      }
    }
    for (std::size_t i = 0; i < starts.size(); ++i) {
      auto& [block, first] = starts[i];
      const std::size_t last = i + 1 < starts.size() ? starts[i + 1].second : printed.size();
      if (leaves_out(block->lines)) continue;
      block->lines = without_empty_ends(Lines(printed.begin() + static_cast<std::ptrdiff_t>(first),
                                              printed.begin() + static_cast<std::ptrdiff_t>(last)));
    }
    Lines page;
    std::size_t next = 0;
    for (const Block& block : blocks) {
      page.insert(page.end(), page_.begin() + static_cast<std::ptrdiff_t>(next),
                  page_.begin() + static_cast<std::ptrdiff_t>(block.line));
      page.insert(page.end(), block.lines.begin(), block.lines.end());
      for (next = block.line; !page_[next].starts_with("```"); ++next) {
      }
    }
    page.insert(page.end(), page_.begin() + static_cast<std::ptrdiff_t>(next), page_.end());
    if (page == page_) return;
    page_ = page;
    std::ofstream(options_.page) << joined(page);
    std::cout << options_.page.string() << " was written\n";
  }

  void console(const Block& block) {
    if (options_.bin.empty()) throw std::runtime_error("a page with commands needs --bin");
    const bool vary = block.kind.find("figures-vary") != std::string::npos;
    for (std::size_t i = 0; i < block.lines.size();) {
      if (!block.lines[i].starts_with("$ ")) {
        fail(block.line, "a console block begins with $ and a command");
        return;
      }
      const std::string command = block.lines[i++].substr(2);
      Lines shown;
      while (i < block.lines.size() && !block.lines[i].starts_with("$ "))
        shown.push_back(block.lines[i++]);
      const Lines printed = split(console_output(command));
      compare(command, vary ? without_figures(shown) : shown, vary ? without_figures(printed) : printed,
              block.line);
    }
  }

  Options options_;
  Lines page_;
  int failures_ = 0;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (!word.starts_with("--")) {
      options.page = word;
      continue;
    }
    if (++i == argc) throw std::runtime_error(word + " has no value");
    if (word == "--source") {
      options.sources.emplace_back(argv[i]);
    } else if (word == "--program") {
      options.program = argv[i];
    } else if (word == "--bin") {
      options.bin = argv[i];
    } else if (word == "--write") {
      options.write = std::string(argv[i]) == "yes";
    } else if (word == "--mentions") {
      options.mentions.emplace_back(argv[i]);
    } else {
      throw std::runtime_error("unknown option " + word);
    }
  }
  if (options.page.empty()) throw std::runtime_error("usage: check_page PAGE [--source FILE]...");
  return options;
}

}  // namespace

int main(int argc, char** argv) try {
  return Check(parse(argc, argv)).run();
} catch (const std::exception& e) {
  std::cerr << "check_page: " << e.what() << "\n";
  return 1;
}
