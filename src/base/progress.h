// A progress line on standard error: text, a bar and the time left. The line is shown only on a terminal and
// only if `quiet` is false, is drawn at most ten times per second, and has no colour if NO_COLOR is set.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/namespaces.h"

namespace regard::base {

struct ProgressLine {
  double fraction = 0;    // completed fraction, 0 to 1
  double elapsed = 0;     // elapsed time in seconds
  double first = 0;       // fraction that was already completed at the start, for a resumed run
  std::string_view text;  // text formatted by the caller, such as "loss 3.21 · 12k tokens/s"
  int columns = 80;       // width of the terminal in characters
  bool colour = false;
};

// Return the line, narrower than the terminal: "TEXT ━━━━━━──── 42 % 1:23 left".
std::string compose(const ProgressLine& line);

// Format a duration as "12 s", "1:23" or "2:03:09". Returns "" if the duration is negative, not finite or
// above 10^8 seconds.
std::string duration_text(double seconds);

class ProgressBar {
 public:
  // `first` is the fraction that was completed before, for example in a resumed run.
  explicit ProgressBar(bool quiet, double first = 0);
  ~ProgressBar();  // clears the line
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  bool shown() const noexcept { return shown_; }
  // `rows` are shown below the line, each cut to the width of the terminal. Rows that do not fit its height
  // are omitted.
  void update(double fraction, std::string_view text, std::span<const std::string> rows = {});
  // Erase the line and the rows so that the caller can print other lines; the next update() redraws them.
  void clear();

 private:
  bool shown_ = false, colour_ = false, drawn_ = false;
  double first_ = 0, last_draw_ = -1;
  Stopwatch watch_;
};

// Return true if the descriptor (1: standard output, 2: standard error) is a terminal that supports colour
// (TERM is not "dumb") and NO_COLOR is not set.
bool colour_allowed(int descriptor);
// Size of the terminal on a descriptor, in characters. Default: 80 × 24, if the system does not report the
// size.
struct TerminalSize {
  int columns = 80, rows = 24;
};
TerminalSize terminal_size(int descriptor);

}  // namespace regard::base
