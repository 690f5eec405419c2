// Bounds of numbers on the command line. CLI11's own names for these spell out the largest double when they
// refuse.
#pragma once

#include <CLI/CLI.hpp>

namespace regard::cli {

CLI::Validator positive();      // above zero
CLI::Validator not_negative();  // zero or above; for unsigned options too, which would wrap round

}  // namespace regard::cli
