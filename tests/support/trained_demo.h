// The run of `regard demo`, trained once per build of the program (a minute) for all tests that need it.
#pragma once

#include <filesystem>
#include <string>

#include "support/namespaces.h"

namespace regard::testing {

struct TrainedDemo {
  std::filesystem::path folder;  // the run folder; a test that writes into it needs a copy
  std::string json;              // output of `regard demo --json`
};

// Train, or return the run that another test trained with the same program; waits while another test trains.
// Throws std::runtime_error with the program's message if the training fails.
TrainedDemo trained_demo();

}  // namespace regard::testing
