// Runs `regard serve` in a separate process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/namespaces.h"

namespace regard::testing {

class ServedProgram {
 public:
  // Start `regard serve` with the arguments on any free port, and wait until it is ready. Throws
  // std::runtime_error with the program's output if the program ends before it is ready.
  explicit ServedProgram(const std::vector<std::string>& arguments);
  ~ServedProgram();  // kills the process if it still runs
  ServedProgram(const ServedProgram&) = delete;
  ServedProgram& operator=(const ServedProgram&) = delete;

  std::uint16_t port() const { return port_; }
  double resident_mib() const;
  int stop();  // send SIGTERM and return the exit code

 private:
  pid_t process_ = -1;
  int output_ = -1;  // standard error of the process
  std::uint16_t port_ = 0;
};

}  // namespace regard::testing
