// The ```console blocks of a Markdown page: a command after "$ ", then its output. Tests run the commands and
// compare their output with the page, or rewrite the page, so that the documentation matches the program.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "support/namespaces.h"

namespace regard::testing {

struct ConsoleBlock {
  int line = 0;  // line number of the command, from 1
  std::string command, output;
};

// "<!-- figure FILE: COMMAND -->": FILE, relative to the page, contains the output of the command.
struct Figure {
  int line = 0;
  std::string file, command;
};
std::vector<Figure> figures(const std::string& page);

std::vector<ConsoleBlock> console_blocks(const std::string& page);

// Run `command` in the shell, in the source folder, with the build's bin/ and bin/examples/ first in PATH.
std::string run_command(const std::string& command);

// Compare two outputs. Decimal numbers may differ in their last printed digit, since instruction sets round
// differently. Return "" or a description of the difference.
std::string compare_outputs(const std::string& expected, const std::string& actual);

// Return the page with the output of every block replaced by the current output of its command.
std::string refreshed(const std::string& page);

}  // namespace regard::testing
