// The ```console blocks of a page: a command after "$ " and what it prints. They are run, compared and, when
// asked, written anew, so that no figure in the documentation is older than the program.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace regard::testing {

struct ConsoleBlock {
  int line = 0;  // of the command, from 1
  std::string command, output;
};

// "<!-- figure FILE: COMMAND -->": FILE, relative to the page, is what the command prints.
struct Figure {
  int line = 0;
  std::string file, command;
};
std::vector<Figure> figures(const std::string& page);

std::vector<ConsoleBlock> console_blocks(const std::string& page);

// Runs `command` through the shell in the source folder, with the build's bin/ and bin/examples/ first in
// PATH.
std::string run_command(const std::string& command);

// Equal but for the last printed digit of numbers: another instruction set rounds differently. Returns "" or
// what differs.
std::string compare_outputs(const std::string& expected, const std::string& actual);

// The page with every block's output replaced by what its command prints now.
std::string refreshed(const std::string& page);

}  // namespace regard::testing
