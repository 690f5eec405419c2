// Registration of all commands, in the order of the help text.
#pragma once

#include "cli/verb.h"

namespace regard::cli {

void add_verbs(CLI::App& app, Globals& globals);

}  // namespace regard::cli
