#include "cli/number_checks.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <functional>

namespace regard::cli {
namespace {

CLI::Validator bound(const std::string& name, const std::string& rule,
                     const std::function<bool(double)>& holds) {
  return {[rule, holds](std::string& text) {
            char* end = nullptr;
            const double value = std::strtod(text.c_str(), &end);
            const bool good =
                !text.empty() && end == text.c_str() + text.size() && std::isfinite(value) && holds(value);
            return good ? std::string() : "'" + text + "' is not " + rule;
          },
          name};
}

}  // namespace

CLI::Validator finite() {
  return bound("NUMBER", "a finite number", [](double) { return true; });
}

CLI::Validator positive() {
  return bound("POSITIVE", "a number above zero", [](double value) { return value > 0; });
}

CLI::Validator not_negative() {
  return bound("NONNEGATIVE", "a number of at least zero", [](double value) { return value >= 0; });
}

CLI::Validator between(double low, double high) {
  return bound(fmt::format("FLOAT in [{:g} - {:g}]", low, high),
               fmt::format("a number from {:g} to {:g}", low, high),
               [low, high](double value) { return value >= low && value <= high; });
}

}  // namespace regard::cli
