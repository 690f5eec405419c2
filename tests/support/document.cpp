#include "support/document.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "support/console_blocks.h"
#include "support/shared_data.h"

namespace regard::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMarker = "@@command";
constexpr const char* kClone = "/path/to/regard";  // the name of the sandbox in outputs
const std::string kGap = "…";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    line.erase(line.find_last_not_of(' ') + 1);  // the pages have no spaces at the ends of lines
    lines.push_back(line);
  }
  return lines;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

DocumentCommand::Mode mode_of(const std::string& comment) {
  using Mode = DocumentCommand::Mode;
  if (comment.starts_with("<!-- test: skip")) return Mode::skip;
  if (comment == "<!-- test: slow -->") return Mode::slow;
  if (comment == "<!-- test: varies -->") return Mode::varies;
  throw std::runtime_error("unknown comment of a document: " + comment);
}

std::string masked(std::string text, bool varies) {
  static const std::pair<std::regex, const char*> kMasks[] = {
      {std::regex(R"(\b[0-9.]+k? (tokens|words|lines|texts|sentences)/s)"), "N $1/s"},
      {std::regex(R"(\b[0-9.]+ (ns|µs|ms|s|min|h|MB/s|GB/s)(?![a-z]))"), "N $1"},
      {std::regex("\"([a-z_]*seconds|elapsed|threads|[a-z_]*per_s|[a-z_]*_ms)\": ?[0-9.e+-]+"), "\"$1\":N"},
      {std::regex("\"settings\": ?\"[0-9a-f]+\""),
       "\"settings\":N"},  // a checksum that covers absolute paths
      {std::regex("20[0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9:]+Z"), "TIME"},
      {std::regex("\"isa\": ?\"[^\"]*\""), "\"isa\":N"},
      {std::regex(R"(instruction set  .*)"), "instruction set  N"},
      {std::regex(R"(threads          .*)"), "threads          N"},
  };
  for (const auto& [pattern, with] : kMasks) text = std::regex_replace(text, pattern, with);
  if (varies) text = std::regex_replace(text, std::regex(R"([0-9][0-9.]*)"), "N");
  return text;
}

// Match a line with gaps: its parts must occur in this order, the first at the start and the last at the end.
bool matches_gaps(const std::string& shown, const std::string& actual) {
  std::size_t at = 0, begin = 0;
  for (bool first = true;; first = false) {
    const std::size_t gap = shown.find(kGap, begin);
    const std::string part = shown.substr(begin, gap == shown.npos ? gap : gap - begin);
    if (gap == shown.npos) return actual.size() >= at + part.size() && actual.ends_with(part);
    const std::size_t found = actual.find(part, at);
    if (found == actual.npos || (first && found != 0)) return false;
    at = found + part.size();
    begin = gap + kGap.size();
  }
}

std::string compare_line(const std::string& shown, const std::string& actual) {
  if (shown.find(kGap) != shown.npos && matches_gaps(shown, actual)) return "";
  return compare_outputs(shown, actual);
}

// Compare the page's lines a, from line i, with the printed lines b, from line j. The lines after a gap may
// be found at any later line of b.
std::string compare_lines(const std::vector<std::string>& a, const std::vector<std::string>& b, std::size_t i,
                          std::size_t j) {
  for (; i < a.size(); ++i, ++j) {
    if (a[i] == kGap) {
      std::string difference = "nothing printed for the lines after …";
      for (std::size_t k = j; k <= b.size(); ++k)
        if ((difference = compare_lines(a, b, i + 1, k)).empty()) return "";
      return difference;
    }
    if (j >= b.size()) return "not printed: " + a[i];
    if (const std::string difference = compare_line(a[i], b[j]); !difference.empty())
      return "shown:   " + a[i] + "\n  printed: " + b[j] + "\n  " + difference;
  }
  return j >= b.size() ? "" : "printed, but not shown: " + b[j];
}

}  // namespace

std::vector<DocumentCommand> document_commands(const std::string& page) {
  std::vector<DocumentCommand> commands;
  std::string fence, comment;
  int number = 0;
  for (const std::string& line : lines_of(page)) {
    ++number;
    if (fence.empty()) {
      if (line.starts_with("<!-- test:")) comment = line;
      if (!line.starts_with("```")) continue;
      fence = line;
      const auto mode = comment.empty() ? DocumentCommand::Mode::run : mode_of(comment);
      comment.clear();
      if (line == "```sh") commands.push_back({number + 1, "", "", false, mode});
      if (line == "```console") commands.push_back({0, "", "", true, mode});
    } else if (line == "```") {
      if (fence == "```console" && commands.back().line == 0) throw std::runtime_error("empty console block");
      fence.clear();
    } else if (fence == "```sh") {
      commands.back().text += line + "\n";
    } else if (fence == "```console") {
      if (line.starts_with("$ ")) {
        if (commands.back().line != 0) commands.push_back({0, "", "", true, commands.back().mode});
        commands.back().line = number;
        commands.back().text = line.substr(2) + "\n";
      } else if (commands.back().line == 0) {
        throw std::runtime_error("a console block must start with \"$ \": " + line);
      } else {
        commands.back().output += line + "\n";
      }
    }
  }
  return commands;
}

void make_sandbox(const fs::path& sandbox) {
  const fs::path source = source_folder();
  fs::create_directories(sandbox / "build/release");
  fs::create_directories(sandbox / "tmp");
  fs::create_directory_symlink(fs::path(built_program()).parent_path(), sandbox / "build/release/bin");
  for (const char* name : {"README.md", "LICENSE", "CHANGELOG.md"})
    fs::copy_file(source / name, sandbox / name);
  for (const char* name : {"tests", "docs", "recipes", "examples"})
    fs::create_directory_symlink(source / name, sandbox / name);
}

std::vector<CommandResult> run_document(const std::vector<DocumentCommand>& commands, const fs::path& sandbox,
                                        bool slow) {
  using Mode = DocumentCommand::Mode;
  const fs::path script = sandbox / "tmp/page.sh", log = sandbox / "tmp/page.log";
  const std::string temporary = (sandbox / "tmp").string();
  std::vector<CommandResult> results(commands.size());
  {
    std::ofstream file(script);
    // Use one instruction set, so that the results of a training run do not depend on the machine.
    file << "export REGARD_ISA=avx2 REGARD_PROGRESS_SECONDS=1000000 NO_COLOR=1 LC_ALL=C.UTF-8 "
            "PATH=\"$PWD/build/release/bin:$PATH\"\n";
    for (std::size_t i = 0; i < commands.size(); ++i) {
      const DocumentCommand& command = commands[i];
      results[i].ran = command.mode != Mode::skip && (slow || command.mode != Mode::slow);
      if (results[i].ran)
        file << "{\n"
             << replaced(command.text, "/tmp/", temporary + "/") << "} 2>&1 </dev/null\n"
             << "printf '\\n"
             << kMarker << " %d %d\\n' " << i << " $?\n";
    }
  }
  const std::string whole =
      "cd '" + sandbox.string() + "' && bash '" + script.string() + "' > '" + log.string() + "' 2>&1";
  if (std::system(whole.c_str()) == -1) throw std::runtime_error("cannot run bash");
  std::ifstream file(log);
  std::string output;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(kMarker)) {
      output += line + "\n";
      continue;
    }
    std::istringstream fields(line.substr(std::string(kMarker).size()));
    std::size_t index = 0;
    fields >> index >> results.at(index).status;
    if (output.ends_with("\n\n") || output == "\n") output.pop_back();  // line end printed before the marker
    results[index].output.clear();
    for (const std::string& printed :
         lines_of(replaced(replaced(output, temporary, "/tmp"), sandbox.string(), kClone)))
      results[index].output += printed + "\n";
    output.clear();
  }
  for (CommandResult& result : results)
    if (result.ran && output != "" && &result == &results.back()) result.output += output;
  return results;
}

std::string compare_document_output(const std::string& shown, const std::string& actual, bool varies) {
  const std::vector<std::string> a = lines_of(masked(shown, varies)), b = lines_of(masked(actual, varies));
  return compare_lines(a, b, 0, 0);
}

std::string updated_page(const std::string& page, const std::vector<DocumentCommand>& commands,
                         const std::vector<CommandResult>& results) {
  std::string fresh;
  const std::vector<std::string> lines = lines_of(page);
  std::size_t next = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    fresh += lines[i] + "\n";
    while (next < commands.size() && !commands[next].compared) ++next;
    if (next == commands.size() || commands[next].line != static_cast<int>(i) + 1) continue;
    const DocumentCommand& command = commands[next];
    const CommandResult& result = results[next++];
    const std::vector<std::string> old = lines_of(command.output);
    i += old.size();
    const bool varies = command.mode == DocumentCommand::Mode::varies;
    if (!result.ran || compare_document_output(command.output, result.output, varies).empty()) {
      fresh += command.output;
      continue;
    }
    const auto gap = std::ranges::find(old, kGap);
    const std::vector<std::string> printed = lines_of(result.output);
    const auto before = static_cast<std::size_t>(gap - old.begin()), after = old.size() - before - 1;
    if (gap == old.end() || printed.size() <= before + after) {
      fresh += result.output;
      continue;
    }
    for (std::size_t k = 0; k < before; ++k) fresh += printed[k] + "\n";
    fresh += kGap + "\n";
    for (std::size_t k = printed.size() - after; k < printed.size(); ++k) fresh += printed[k] + "\n";
  }
  return fresh;
}

std::vector<Link> links(const std::string& page) {
  static const std::regex kLink(R"(\]\(([^)\s]+)\))"), kImage("src=\"([^\"]+)\"");
  std::vector<Link> found;
  bool fenced = false;
  int number = 0;
  for (const std::string& line : lines_of(page)) {
    ++number;
    if (line.starts_with("```")) fenced = !fenced;
    if (fenced) continue;
    for (const std::regex* pattern : {&kLink, &kImage})
      for (std::sregex_iterator at(line.begin(), line.end(), *pattern), end; at != end; ++at)
        found.push_back({number, (*at)[1]});
  }
  return found;
}

std::vector<std::string> heading_anchors(const std::string& page) {
  std::vector<std::string> anchors;
  bool fenced = false;
  for (const std::string& line : lines_of(page)) {
    if (line.starts_with("```")) fenced = !fenced;
    if (fenced || !line.starts_with("#")) continue;
    std::string anchor;
    const std::string title = line.substr(line.find_first_not_of("# "));
    for (std::size_t i = 0; i < title.size(); ++i) {
      const char letter = title[i];
      const auto byte = static_cast<unsigned char>(letter);
      if (byte == 0xE2) {  // punctuation and symbols U+2000 to U+2FFF are removed
        i += 2;
        continue;
      }
      if (byte >= 128 || std::isalnum(byte) != 0 || letter == '-' || letter == '_')
        anchor += static_cast<char>(byte < 128 ? std::tolower(byte) : byte);
      else if (letter == ' ')
        anchor += '-';
    }
    anchors.push_back(anchor);
  }
  return anchors;
}

}  // namespace regard::testing
