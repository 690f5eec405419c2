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

}  // namespace regard::cli
