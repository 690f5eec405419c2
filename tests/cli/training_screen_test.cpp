// The screen of a training run on a terminal, and the progress line of other trainings.
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "train/tiny_task.h"

namespace regard::testing {
namespace {

// Run the program on a terminal of this size and return what it writes there.
std::string on_terminal(const std::vector<std::string>& arguments, const std::filesystem::path& folder,
                        unsigned short columns, unsigned short rows) {
  winsize size{};
  size.ws_col = columns, size.ws_row = rows;
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) regard::testing::exec_program(arguments, folder);
  std::string written;
  char piece[4096];
  for (ssize_t got = 0; (got = ::read(terminal, piece, sizeof piece)) > 0;)
    written.append(piece, static_cast<std::size_t>(got));
  int status = 0;
  waitpid(child, &status, 0);
  ::close(terminal);
  EXPECT_EQ(status, 0) << written;
  return written;
}

// Return what a terminal of unlimited height shows at the end. Only the control sequences that the screen
// uses are interpreted.
std::vector<std::string> shown_after(const std::string& written) {
  std::vector<std::string> lines(1);
  std::size_t row = 0;
  bool start = true;  // the cursor is at the start of the line, so the next text replaces the line
  for (std::size_t at = 0; at < written.size();) {
    if (written.compare(at, 3, "\x1b[J") == 0) {
      lines.resize(row + 1), lines[row].clear(), at += 3;
    } else if (written.compare(at, 3, "\x1b[K") == 0) {
      at += 3;
    } else if (written.compare(at, 2, "\x1b[") == 0) {
      const std::size_t end = written.find_first_of("ABm", at);
      if (written[end] == 'A') row -= std::stoul(written.substr(at + 2, end - at - 2));
      at = end + 1;
    } else if (written[at] == '\n') {
      if (++row == lines.size()) lines.emplace_back();
      ++at;
    } else if (written[at] == '\r') {
      start = true, ++at;
    } else {
      if (start) lines[row].clear();
      start = false;
      lines[row] += written[at++];
    }
  }
  return lines;
}

TEST(TrainingScreen, RedrawsItsRowsAndLeavesOnlyLinesOfTheLog) {
  const testing::TemporaryFolder folder;
  train::testing_task::write_run(folder.path());
  const std::string written = on_terminal({"train", "run.toml"}, folder.path(), 70, 24);
  for (const char* part : {"tokens/s", "learning rate ", "gradient norm ", "epoch ", "validation at step ",
                           "best so far", "  → ", "  = ", "left"})
    EXPECT_NE(written.find(part), std::string::npos) << part;
  int finals = 0;
  for (const std::string& line : shown_after(written)) {
    EXPECT_EQ(line.find("gradient norm"), std::string::npos) << "a row was left behind: " << line;
    finals += line.starts_with("step ") && line.find(": loss ") != std::string::npos;
  }
  EXPECT_GE(finals, 1) << "validations stay";
}

TEST(TrainingScreen, RowsFitTheTerminal) {
  const testing::TemporaryFolder folder;
  train::testing_task::write_run(folder.path());
  const std::string narrow = on_terminal({"train", "run.toml"}, folder.path(), 30, 24);
  for (std::size_t begin = 0; (begin = narrow.find("\r\nlearning rate", begin)) != narrow.npos; ++begin) {
    const std::string row = narrow.substr(begin + 2, narrow.find_first_of("\r\x1b", begin + 2) - begin - 2);
    EXPECT_LT(utf8::width(row), 30) << row;
  }
  // A terminal of two rows shows the progress line and one more row.
  const std::string low =
      on_terminal({"train", "run.toml", "--set", "output.folder=low"}, folder.path(), 70, 2);
  EXPECT_NE(low.find("learning rate"), std::string::npos);
  EXPECT_EQ(low.find("\nvalidation at"), std::string::npos);
}

TEST(ProgressLine, NamesEachPartOfATrainingAndIsErased) {
  const testing::TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "the fox is quick and the dog runs\n";
  testing::write_file(folder.path(), "lines.txt", text);
  const auto expect_parts = [&](std::vector<std::string> arguments, const std::vector<const char*>& parts) {
    arguments.insert(arguments.end(), {"lines.txt", "-o", "result", "-t", "1"});
    const std::string written = on_terminal(arguments, folder.path(), 120, 24);
    std::size_t place = 0;
    for (const char* part : parts) {
      const std::size_t next = written.find(part, place);
      EXPECT_NE(next, std::string::npos) << part << " in " << written;
      if (next != std::string::npos) place = next;
    }
    for (const std::string& line : shown_after(written))
      for (const char* part : parts) EXPECT_EQ(line.find(part), std::string::npos) << line;
  };
  const std::vector<std::string> vectors{"vectors", "train", "--size", "4", "--epochs", "1", "--model"};
  auto glove = vectors, pairs = vectors;
  glove.emplace_back("glove"), pairs.emplace_back("skip-gram");
  expect_parts(glove, {"read 0 MB · ", "counting pairs ", "loss ", " · rate 0.0500 · ", "k words/s "});
  expect_parts(pairs, {"read 0 MB · ", "loss 0.6", " · rate 0.0250 · ", "k words/s "});
  expect_parts({"tokenizer", "train", "--type", "unigram", "--vocab-size", "330"},
               {"read 0 MB · ", " MB/s ", "pieces "});
}

}  // namespace
}  // namespace regard::testing
