// Environment variables of a test and of the programs that it starts.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/bf16.h"
#include "support/namespaces.h"

namespace regard::testing {

// Sets environment variables of this process and of the programs that it starts. The destructor unsets them.
class Environment {
 public:
  explicit Environment(const std::vector<std::pair<std::string, std::string>>& values) {
    for (const auto& [name, value] : values) {
      ::setenv(name.c_str(), value.c_str(), 1);
      names_.push_back(name);
    }
  }
  ~Environment() {
    for (const std::string& name : names_) ::unsetenv(name.c_str());
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::vector<std::string> names_;
};

// Let the programs that a test starts compute in bf16 also where this is slower than f32
// (kernels::default_bf16_path()).
class SlowBf16 {
 public:
  SlowBf16() {
    if (!kernels::default_bf16_path()) environment_.emplace(Variables{{"REGARD_ISA", "avx512"}});
  }

 private:
  using Variables = std::vector<std::pair<std::string, std::string>>;
  std::optional<Environment> environment_;
};

}  // namespace regard::testing
