// --layer, --head, --kind and further options that select the content of a capture (docs/capture-format.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/verb.h"
#include "inspect/attend.h"
#include "inspect/capture_json.h"

namespace regard::cli {

struct ViewOptions {
  std::string kind;
  std::vector<std::int64_t> layers, heads;
  std::vector<std::string> activations;
  bool average = false, values = false, parameters = false, full = false;

  inspect::Precision precision() const { return full ? inspect::Precision::full : inspect::Precision::bits8; }
  // Copy all options except --full to the request.
  void add_to(inspect::AttendRequest& request) const;
};

// Add the options to a command. Returns them, so that the caller can call needs() on them.
std::vector<CLI::Option*> add_view_options(CLI::App& verb, ViewOptions& options);

}  // namespace regard::cli
