#include "cli/number_checks.h"

#include <fmt/format.h>

#include <algorithm>
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

CLI::Validator decimal(bool integer) {
  return {[integer](std::string& text) {
            const std::size_t zero = std::min(text.find_first_not_of(" \t+-"), text.size());
            const std::string digits = text.substr(zero, 2);
            const bool other =
                digits == "0x" || digits == "0X" ||
                (integer && digits.size() == 2 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9');
            return other ? "'" + text + "' is not a decimal number without leading zeros" : std::string();
          },
          ""};
}

}  // namespace

void require_decimal(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    const bool integer = type.starts_with("INT") || type.starts_with("UINT");
    // transform() puts the check before the others, which read the number as CLI11 does
    if (integer || type.starts_with("FLOAT")) option->transform(decimal(integer));
  }
  for (CLI::App* verb : app.get_subcommands([](CLI::App*) { return true; })) require_decimal(*verb);
}

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
