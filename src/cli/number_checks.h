// Range checks of numbers on the command line. They replace the checks of CLI11, because its error messages
// print the largest double.
#pragma once

#include <CLI/CLI.hpp>

namespace regard::cli {

CLI::Validator finite();    // accepts all numbers except infinity and NaN
CLI::Validator positive();  // accepts numbers above 0
// accepts 0 and above; also needed for unsigned options, where -1 would wrap around
CLI::Validator not_negative();
CLI::Validator between(double low, double high);  // accepts numbers from `low` to `high`, but not NaN

// Let all options for numbers of `app` and its subcommands refuse hexadecimal numbers, and those for integers
// also numbers that begin with 0, such as 010, because CLI11 reads them as octal.
void require_decimal(CLI::App& app);

}  // namespace regard::cli
