#include "base/peak_memory.h"

#include <fstream>
#include <string>

namespace regard::base {

std::uint64_t peak_memory_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    // the value of VmHWM is in KiB
    if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) * 1024;
  return 0;
}

}  // namespace regard::base
