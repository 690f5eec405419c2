// The commands of a Markdown page, and their output. A test runs the page from top to bottom in one shell, as
// a reader would, and compares what the commands print with what the page shows.
//
// ```sh      commands without output; they must succeed.
// ```console commands after "$ ", each followed by its output. A line "…" stands for any lines, "…" within a
//            line for any text.
//
// A comment before a fence changes its treatment:
// <!-- test: skip REASON -->  not run
// <!-- test: slow -->         run by the slow tests only (label `data`)
// <!-- test: varies -->       run; all numbers are masked before the comparison
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "support/namespaces.h"

namespace regard::testing {

struct DocumentCommand {
  int line = 0;  // line number of the command, from 1
  std::string text;
  std::string output;     // output that the page shows
  bool compared = false;  // false for a command of an ```sh block
  enum class Mode { run, skip, slow, varies } mode = Mode::run;
};

std::vector<DocumentCommand> document_commands(const std::string& page);

struct CommandResult {
  bool ran = false;
  int status = 0;
  std::string output;  // standard output and standard error
};

// Run the commands in one bash process in `sandbox`, which looks like a fresh clone with the built program in
// build/release/bin. "/tmp/" in commands is a folder of the sandbox; in outputs the sandbox is
// "/path/to/regard". Returns one result per command.
std::vector<CommandResult> run_document(const std::vector<DocumentCommand>& commands,
                                        const std::filesystem::path& sandbox, bool slow);

// Create the folders, files and links that make `sandbox` look like a fresh clone. Throws if that fails.
void make_sandbox(const std::filesystem::path& sandbox);

// Return "" if `actual` is what the page shows, else a description of the difference. Times, speeds, thread
// counts and instruction sets are masked; decimal numbers may differ in their last printed digit.
std::string compare_document_output(const std::string& shown, const std::string& actual, bool varies);

// Return the page with the new outputs of its commands. An output with one line "…" keeps as many lines
// before and after it as the page had.
std::string updated_page(const std::string& page, const std::vector<DocumentCommand>& commands,
                         const std::vector<CommandResult>& results);

struct Link {
  int line = 0;
  std::string target;
};
std::vector<Link> links(const std::string& page);

// Return the anchors of the page's headings, as GitHub makes them.
std::vector<std::string> heading_anchors(const std::string& page);

}  // namespace regard::testing
