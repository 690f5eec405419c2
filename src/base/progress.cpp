#include "base/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/printable.h"
#include "base/utf8.h"

namespace regard::base {
namespace {

constexpr double kSecondsBetweenDraws = 0.1;
constexpr int kBarCells = 20;

// Return the text cut to `cells` terminal cells, between grapheme clusters.
std::string cut(std::string_view text, int cells) {
  std::string kept;
  for (const std::string_view cluster : utf8::graphemes(text)) {
    cells -= utf8::cluster_width(cluster);
    if (cells < 0) break;
    kept += cluster;
  }
  return kept;
}

std::string repeated(std::string_view piece, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += piece;
  return text;
}

}  // namespace

std::string duration_text(double seconds) {
  if (!(seconds >= 0) || seconds > 1e8) return "";
  const auto whole = static_cast<long>(std::lround(seconds));
  char text[32];
  if (whole < 60) {
    std::snprintf(text, sizeof text, "%ld s", whole);
  } else if (whole < 3600) {
    std::snprintf(text, sizeof text, "%ld:%02ld", whole / 60, whole % 60);
  } else {
    std::snprintf(text, sizeof text, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
  }
  return text;
}

std::string compose(const ProgressLine& line) {
  const double fraction = std::clamp(std::isfinite(line.fraction) ? line.fraction : 0.0, 0.0, 1.0);
  const double made = fraction - line.first;
  const std::string left = made > 0 ? duration_text(line.elapsed * (1 - fraction) / made) : "";
  std::string tail = " " + std::to_string(static_cast<int>(fraction * 100)) + " %";
  if (!left.empty()) tail += " " + left + " left";
  const int filled = static_cast<int>(fraction * kBarCells);
  std::string bar = repeated("━", filled);
  if (line.colour) bar = "\x1b[32m" + bar + "\x1b[0m";
  bar += repeated("─", kBarCells - filled);
  // Keep one column free, because some terminals wrap a line that fills the last column.
  const int columns_left = line.columns - 1 - static_cast<int>(tail.size());
  if (columns_left < 0) return cut(tail, std::max(line.columns - 1, 0));
  if (columns_left < kBarCells + 1) return cut(line.text, columns_left) + tail;
  const std::string text = cut(line.text, columns_left - kBarCells - 1);
  return text + (text.empty() ? "" : " ") + bar + tail;
}

bool colour_allowed(int descriptor) {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  return ::isatty(descriptor) != 0 && (no_colour == nullptr || *no_colour == '\0') && !dumb;
}

TerminalSize terminal_size(int descriptor) {
  winsize size{};
  TerminalSize terminal;
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0) return terminal;
  if (size.ws_col > 0) terminal.columns = size.ws_col;
  if (size.ws_row > 0) terminal.rows = size.ws_row;
  return terminal;
}

ProgressBar::ProgressBar(bool quiet, double first)
    : shown_(!quiet && ::isatty(STDERR_FILENO) != 0), colour_(colour_allowed(STDERR_FILENO)), first_(first) {}

ProgressBar::~ProgressBar() {
  clear();
}

void ProgressBar::update(double fraction, std::string_view text, std::span<const std::string> rows) {
  if (!shown_) return;
  const double now = watch_.seconds();
  if (drawn_ && now - last_draw_ < kSecondsBetweenDraws) return;
  last_draw_ = now;
  drawn_ = true;
  const TerminalSize terminal = terminal_size(STDERR_FILENO);
  // Between two calls, the cursor is on the first of the drawn lines.
  std::string drawing =
      "\r\x1b[J" + compose({fraction, now, first_, text, terminal.columns, colour_}) + "\x1b[K";
  const std::size_t shown = std::min(rows.size(), static_cast<std::size_t>(std::max(terminal.rows - 1, 0)));
  for (const std::string& row : rows.first(shown))
    drawing += "\r\n" + cut(printable(row), terminal.columns - 1);
  if (shown > 0) drawing += "\x1b[" + std::to_string(shown) + "A";
  std::fputs(drawing.c_str(), stderr);
  std::fflush(stderr);
}

void ProgressBar::clear() {
  if (!drawn_) return;
  std::fputs("\r\x1b[J", stderr);
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace regard::base
