#include "train/run_state.h"

#include <cmath>
#include <limits>
#include <utility>

#include "base/hash.h"

namespace regard::train {
namespace {

// JSON has no NaN and no infinity; RunState writes these numbers as strings.
constexpr std::pair<const char*, double> kSpecialNumbers[] = {
    {"nan", std::numeric_limits<double>::quiet_NaN()},
    {"inf", std::numeric_limits<double>::infinity()},
    {"-inf", -std::numeric_limits<double>::infinity()}};

Json number_json(double number) {
  for (const auto& [name, value] : kSpecialNumbers)
    if (number == value || (std::isnan(number) && std::isnan(value))) return name;
  return number;
}

std::optional<double> best_of(const Json& json, const std::string& file) {
  const auto best = json.find("best");
  for (const auto& [name, value] : kSpecialNumbers)
    if (best != json.end() && *best == name) return value;
  return optional_value<double>(json, "best", file);
}

}  // namespace

Json RunState::to_json() const {
  Json json{{"format", 1}, {"step", step}};
  json["random"] = {{"seed", seed}, {"step", step}};
  json["isa"] = isa;
  json["data"] = hex(data);
  json["position"] = position;
  json["seconds"] = seconds;
  json["epochs"] = epochs;
  json["best"] = best ? number_json(*best) : Json(nullptr);  // null: no validation yet
  json["judged_by"] = judged_by;
  json["best_step"] = best_step;
  json["validations_since_best"] = validations_since_best;
  json["validated"] = validated;
  json["average_of"] = average_of;
  json["skipped"] = {{"total", skipped.total}, {"in_row", skipped.in_row}};
  return json;
}

RunState RunState::from_json(const Json& json, const std::string& file) {
  require_in<std::int64_t>(json, "format", file, 1, 1);
  RunState state;
  state.step = require_in<std::int64_t>(json, "step", file, 0, std::int64_t{1} << 60);
  state.seed = require<std::uint64_t>(require<Json>(json, "random", file), "seed", file);
  state.isa = require<std::string>(json, "isa", file);
  const auto digits = require<std::string>(json, "data", file);
  if (digits.size() != 16 || digits.find_first_not_of("0123456789abcdef") != std::string::npos)
    throw file_error(file, "the value of 'data' is not a checksum")
        .found("'" + digits + "'")
        .expected("16 hexadecimal digits");
  state.data = std::stoull(digits, nullptr, 16);
  state.position = require<Json>(json, "position", file);
  state.seconds = require<double>(json, "seconds", file);
  state.best = best_of(json, file);
  state.judged_by = optional_value<std::string>(json, "judged_by", file).value_or("");
  state.best_step = require<std::int64_t>(json, "best_step", file);
  // Earlier versions wrote null for NaN and infinities.
  if (!state.best && state.best_step > 0) state.best = std::nan("");
  state.validations_since_best = require<std::int64_t>(json, "validations_since_best", file);
  state.validated = require<std::vector<std::int64_t>>(json, "validated", file);
  state.average_of = require<std::int64_t>(json, "average_of", file);
  // "epochs" and "skipped" are missing in the state of runs of earlier versions.
  state.epochs = optional_value<double>(json, "epochs", file).value_or(0.0);
  if (const auto skipped = optional_value<Json>(json, "skipped", file)) {
    state.skipped.total = require_in<std::int64_t>(*skipped, "total", file, 0, state.step);
    state.skipped.in_row = require_in<std::int64_t>(*skipped, "in_row", file, 0, state.skipped.total);
  }
  return state;
}

std::optional<std::string> limit_of(const RunState& state, const RunConfig& config) {
  const TrainingConfig& training = config.training;
  if (training.max_steps > 0 && state.step >= training.max_steps) return "max_steps";
  if (training.max_epochs > 0 && state.epochs >= training.max_epochs) return "max_epochs";
  if (training.max_minutes > 0 && state.seconds >= 60.0 * training.max_minutes) return "max_minutes";
  const std::int64_t patience = config.validation.patience;
  if (patience > 0 && state.validations_since_best >= patience) return "patience";
  return std::nullopt;
}

}  // namespace regard::train
