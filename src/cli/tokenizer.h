// Subcommands of `regard tokenizer`, one file each.
#pragma once

#include "cli/verb.h"

namespace regard::cli {

void add_tokenizer(CLI::App& app, Globals& globals);
void add_tokenizer_train(CLI::App& verb, Globals& globals);

}  // namespace regard::cli
