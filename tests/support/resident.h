// Memory of a process, as reported by the kernel.
#pragma once

#include <fstream>
#include <string>
#include <string_view>

#include "support/namespaces.h"

namespace regard::testing {

// Return a field of /proc/PROCESS/status in MiB: "VmRSS" or "VmHWM" (the peak). 0 if it is not reported.
inline double resident_mib(std::string_view field = "VmRSS", const std::string& process = "self") {
  std::ifstream status("/proc/" + process + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field)) return std::stod(line.substr(field.size() + 1)) / 1024;
  return 0;
}

}  // namespace regard::testing
