// This process's memory as the kernel counts it.
#pragma once

#include <fstream>
#include <string>
#include <string_view>

namespace regard::testing {

// A field of /proc/self/status in MiB, "VmRSS" or "VmHWM" (the peak); 0 where the kernel does not say.
inline double resident_mib(std::string_view field = "VmRSS") {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field)) return std::stod(line.substr(field.size() + 1)) / 1024;
  return 0;
}

}  // namespace regard::testing
