// Every verb, in the order in which help lists them.
#pragma once

#include "cli/verb.h"

namespace regard::cli {

void add_verbs(CLI::App& app, Globals& globals);

}  // namespace regard::cli
