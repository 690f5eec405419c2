#include "support/console_blocks.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "support/shared_data.h"

namespace regard::testing {
namespace {

constexpr const char* kOpen = "```console";
constexpr const char* kClose = "```";

bool starts_number(const std::string& text, std::size_t at) {
  const auto digit = [&](std::size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
  return digit(at) || (text[at] == '-' && digit(at + 1));
}

// Return the value of one unit of the last printed digit: 0.001 for "0.250".
double last_digit(const std::string& number) {
  const std::size_t point = number.find('.');
  if (point == std::string::npos) return 1.0;
  std::size_t digits = 0;
  while (point + 1 + digits < number.size() && number[point + 1 + digits] >= '0' &&
         number[point + 1 + digits] <= '9')
    ++digits;
  return std::pow(10.0, -static_cast<double>(digits));
}

std::string take_number(const std::string& text, std::size_t& at) {
  std::size_t used = 0;
  (void)std::stod(text.substr(at), &used);
  const std::string number = text.substr(at, used);
  at += used;
  return number;
}

bool close(const std::string& a, const std::string& b) {
  if (a == b) return true;
  if (a.find('.') == std::string::npos || b.find('.') == std::string::npos)
    return false;  // whole numbers are counts
  // The tolerance is 1.5 units of the last printed digit, and at least 2e-6, the difference between
  // instruction sets.
  return std::fabs(std::stod(a) - std::stod(b)) <= std::max(1.5 * last_digit(a), 2e-6);
}

}  // namespace

std::vector<ConsoleBlock> console_blocks(const std::string& page) {
  std::vector<ConsoleBlock> blocks;
  std::istringstream lines(page);
  std::string line;
  bool inside = false;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (!inside && line == kOpen) {
      inside = true;
      blocks.push_back({number + 1, "", ""});
    } else if (inside && line == kClose) {
      inside = false;
    } else if (inside && blocks.back().command.empty()) {
      blocks.back().command = line.substr(line.rfind("$ ", 0) == 0 ? 2 : 0);
    } else if (inside) {
      blocks.back().output += line + "\n";
    }
  }
  return blocks;
}

std::vector<Figure> figures(const std::string& page) {
  std::vector<Figure> found;
  std::istringstream lines(page);
  std::string line;
  const std::string open = "<!-- figure ", close = " -->";
  for (int number = 1; std::getline(lines, line); ++number) {
    if (!line.starts_with(open) || !line.ends_with(close)) continue;
    const std::string inner = line.substr(open.size(), line.size() - open.size() - close.size());
    const std::size_t at = inner.find(": ");
    if (at == std::string::npos) continue;
    found.push_back({number, inner.substr(0, at), inner.substr(at + 2)});
  }
  return found;
}

std::string run_command(const std::string& command) {
  const std::string bin = std::filesystem::path(built_program()).parent_path();
  const std::string whole = "cd '" + source_folder().string() + "' && PATH='" + bin + ":" + bin +
                            "/examples':\"$PATH\" && export PATH NO_COLOR=1 && { " + command +
                            "; } 2>&1 </dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(whole.c_str(), "r"), pclose);
  if (!pipe) throw std::runtime_error("popen failed");
  std::string output;
  char buffer[4096];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, pipe.get())) output.append(buffer, got);
  if (!output.empty() && output.back() != '\n') output += '\n';
  return output;
}

std::string compare_outputs(const std::string& expected, const std::string& actual) {
  std::size_t i = 0, j = 0;
  while (i < expected.size() && j < actual.size()) {
    const bool fresh = i == 0 || !std::isalnum(static_cast<unsigned char>(expected[i - 1]));
    if (fresh && starts_number(expected, i) && starts_number(actual, j)) {
      const std::string a = take_number(expected, i), b = take_number(actual, j);
      if (!close(a, b)) return "expected " + a + ", printed " + b;
    } else if (expected[i] == actual[j]) {
      ++i, ++j;
    } else {
      return "expected …" + expected.substr(i, 60) + "…, printed …" + actual.substr(j, 60) + "…";
    }
  }
  if (i < expected.size()) return "not printed: " + expected.substr(i);
  return j < actual.size() ? "printed beyond what is expected: " + actual.substr(j) : "";
}

std::string refreshed(const std::string& page) {
  std::string fresh, line;
  std::istringstream lines(page);
  const std::vector<ConsoleBlock> blocks = console_blocks(page);
  std::size_t block = 0;
  bool inside = false;
  while (std::getline(lines, line)) {
    if (!inside) {
      fresh += line + "\n";
      if (line != kOpen) continue;
      inside = true;
      fresh += "$ " + blocks[block].command + "\n" + run_command(blocks[block].command);
      ++block;
    } else if (line == kClose) {
      inside = false;
      fresh += line + "\n";
    }
  }
  return fresh;
}

}  // namespace regard::testing
