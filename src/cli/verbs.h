// Registration of all commands, in the order of the help text.
#pragma once

#include <string_view>

#include "cli/verb.h"

namespace regard::cli {

// Add the command `wanted`, or all commands if there is no such command. Adding all takes milliseconds.
void add_verbs(CLI::App& app, Globals& globals, std::string_view wanted);

}  // namespace regard::cli
