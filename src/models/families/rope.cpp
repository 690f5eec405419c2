#include "models/families/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace regard::models::families {
namespace {

// The configuration key that specifies the scaling of rotary positions, and its value. The value is null if
// there is no scaling.
struct Scaling {
  const char* key;
  const Json* values;
};

Scaling scaling_of(const ConfigReader& config) {
  if (config.has("rope_parameters") && config.has("rope_scaling") &&
      *config.json().find("rope_parameters") != *config.json().find("rope_scaling"))
    throw config.wrong("rope_scaling", "a value equal to rope_parameters, or only one of the two");
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    if (!config.has(key)) continue;
    const Json& values = *config.json().find(key);
    if (!values.is_object()) throw config.wrong(key, "an object");
    return {key, &values};
  }
  return {"rope_scaling", nullptr};
}

double positive(const ConfigReader& scaling, const char* key) {
  const auto value = require<double>(scaling.json(), key, scaling.file());
  if (!(value > 0.0 && value < 1e12)) throw scaling.wrong(key, "a number above 0");
  return value;
}

// Return the scaling factor, which must be at least 1, as in all published methods.
double factor_of(const ConfigReader& scaling) {
  const double factor = positive(scaling, "factor");
  if (factor < 1.0) throw scaling.wrong("factor", "at least 1");
  return factor;
}

double original_length(const ConfigReader& config, const ConfigReader& scaling) {
  constexpr const char* kKey = "original_max_position_embeddings";
  if (config.has(kKey)) return static_cast<double>(config.size(kKey));
  return static_cast<double>(scaling.size(kKey, config.size("max_position_embeddings")));
}

// Scale the frequencies as in Llama 3.1. Long wavelengths are multiplied by `factor`, short wavelengths are
// unchanged, and the frequencies of all other wavelengths are interpolated.
void scale_llama3(const ConfigReader& config, const ConfigReader& scaling, nn::RotaryConfig& rotary) {
  const double factor = factor_of(scaling), low = positive(scaling, "low_freq_factor"),
               high = positive(scaling, "high_freq_factor"), length = original_length(config, scaling);
  if (!scaling.has("original_max_position_embeddings"))
    throw scaling.wrong("original_max_position_embeddings", "a number of positions");
  if (!(high > low)) throw scaling.wrong("high_freq_factor", "more than low_freq_factor");
  for (double& frequency : rotary.frequencies) {
    const double wave = 2.0 * std::numbers::pi / frequency;
    const double smooth = std::clamp((length / wave - low) / (high - low), 0.0, 1.0);
    frequency = (1.0 - smooth) * frequency / factor + smooth * frequency;
  }
}

// Scale the frequencies as in YaRN (Peng et al. 2023).
void scale_yarn(const ConfigReader& config, const ConfigReader& scaling, double theta,
                nn::RotaryConfig& rotary) {
  const double factor = factor_of(scaling), length = original_length(config, scaling);
  const auto optional = [&](const char* key, double fallback) {
    const double value = scaling.number(key, fallback, 0.0, 1e6);
    return value == 0.0 ? fallback : value;
  };
  const auto pairs = static_cast<double>(rotary.frequencies.size());
  const double dim = 2.0 * pairs;
  const auto corrected = [&](double rotations) {
    return dim * std::log(length / (rotations * 2.0 * std::numbers::pi)) / (2.0 * std::log(theta));
  };
  double low = corrected(optional("beta_fast", 32.0)), high = corrected(optional("beta_slow", 1.0));
  if (scaling.flag("truncate", true)) low = std::floor(low), high = std::ceil(high);
  low = std::max(low, 0.0), high = std::min(high, dim - 1.0);
  if (low == high) high += 0.001;
  for (std::size_t i = 0; i < rotary.frequencies.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    rotary.frequencies[i] *= ramp / factor + (1.0 - ramp);
  }
  const auto magnitude = [&](double m) { return factor <= 1.0 ? 1.0 : 0.1 * m * std::log(factor) + 1.0; };
  const double all = optional("mscale_all_dim", 0.0), one = optional("mscale", 0.0);
  rotary.magnitude = all != 0.0 && one != 0.0 ? magnitude(one) / magnitude(all) : magnitude(1.0);
  rotary.magnitude = scaling.number("attention_factor", rotary.magnitude, 1e-6, 1e6);
}

}  // namespace

nn::RotaryConfig rope_of(const ConfigReader& config, std::int64_t head_dim) {
  if (head_dim % 2 != 0)
    throw file_error(config.file(), "rotary positions cannot be used with an odd head size")
        .found(std::to_string(head_dim))
        .expected("an even number of features");
  const Scaling found = scaling_of(config);
  const Json none = Json::object();
  const ConfigReader scaling(found.values != nullptr ? *found.values : none,
                             config.file() + ": " + found.key);
  config.only("partial_rotary_factor", 1.0, "Rotary positions over part of a head");
  scaling.only("partial_rotary_factor", 1.0, "Rotary positions over part of a head");
  double theta = config.number("rope_theta", 10000.0, 1e-3, 1e15);
  theta = scaling.number("rope_theta", theta, 1e-3, 1e15);
  if (theta <= 1.0) throw config.wrong("rope_theta", "a number above 1");
  nn::RotaryConfig rotary;
  rotary.frequencies = nn::rotary_frequencies(head_dim, theta);
  const std::string type = scaling.word("rope_type", scaling.word("type", "default"));
  if (type == "linear") {
    const double factor = factor_of(scaling);
    for (double& frequency : rotary.frequencies) frequency /= factor;
  } else if (type == "llama3") {
    scale_llama3(config, scaling, rotary);
  } else if (type == "yarn") {
    scale_yarn(config, scaling, theta, rotary);
  } else if (type != "default") {
    throw file_error(scaling.file(), "unsupported scaling of rotary positions")
        .found("\"" + type + "\"")
        .expected("default, linear, llama3, yarn");
  }
  return rotary;
}

}  // namespace regard::models::families
