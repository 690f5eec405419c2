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

// Sets (or unsets, for std::nullopt) environment variables of this process and of the programs that it
// starts. The destructor restores their previous values.
class Environment {
 public:
  using Variables = std::vector<std::pair<std::string, std::optional<std::string>>>;

  explicit Environment(const Variables& values) {
    for (const auto& [name, value] : values) {
      const char* const before = std::getenv(name.c_str());
      before_.emplace_back(name, before == nullptr ? std::nullopt : std::optional<std::string>(before));
      set(name, value);
    }
  }
  ~Environment() {
    for (const auto& [name, value] : before_) set(name, value);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  static void set(const std::string& name, const std::optional<std::string>& value) {
    value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
  }
  Variables before_;
};

// Let the programs that a test starts compute in bf16 also where this is slower than f32
// (kernels::default_bf16_path()).
class SlowBf16 {
 public:
  SlowBf16() {
    if (!kernels::default_bf16_path()) environment_.emplace(Environment::Variables{{"REGARD_ISA", "avx512"}});
  }

 private:
  std::optional<Environment> environment_;
};

}  // namespace regard::testing
