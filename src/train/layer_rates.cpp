#include "train/layer_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>

#include "base/nearest.h"
#include "regard/error.h"

namespace regard::train {
namespace {

struct Layer {
  std::string stack;  // the parameter's name up to the layer number, such as "encoder.layers."
  std::int64_t index = 0;
};

// Return true for the weights that convert sounds to the input of the first layer: the convolutions of
// Whisper and wav2vec 2.0, and the projection of wav2vec 2.0.
bool reads_sounds(const std::string& name) {
  const auto has = [&name](const char* part) { return name.find(part) != std::string::npos; };
  return has("feature_extractor.") || has("feature_projection.") || has("encoder.conv1.") ||
         has("encoder.conv2.");
}

// Return true for the convolutions after the encoder of wav2vec 2.0 (nn/convolution_adapter.h), which are
// above all layers.
bool follows_encoder(const std::string& name) {
  return name.find("adapter.layers.") != std::string::npos;
}

std::optional<Layer> layer_of(const std::string& name) {
  if (reads_sounds(name) || follows_encoder(name)) return std::nullopt;
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t end = std::min(name.find('.', at), name.size());
    const bool digits = end > at && end - at < 10 &&
                        std::all_of(name.data() + at, name.data() + end,
                                    [](unsigned char c) { return std::isdigit(c) != 0; });
    if (digits) return Layer{name.substr(0, at), std::stoll(name.substr(at, end - at))};
    at = end + 1;
  }
  return std::nullopt;
}

bool is_embedding(const Parameter& parameter) {
  return parameter.use == Parameter::Use::table || parameter.name.find("embed") != std::string::npos ||
         reads_sounds(parameter.name);
}

}  // namespace

bool matches(const std::string& name, const std::string& pattern) {
  std::size_t n = 0, p = 0, star = std::string::npos, tried = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      tried = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p, ++n;
    } else if (star != std::string::npos) {
      p = star + 1;
      n = ++tried;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

void freeze(std::span<Parameter* const> parameters, std::span<const std::string> patterns) {
  for (const std::string& pattern : patterns) {
    bool found = false;
    for (Parameter* parameter : parameters) {
      if (!matches(parameter->name, pattern)) continue;
      parameter->set_trainable(false);
      found = true;
    }
    if (found) continue;
    std::vector<std::string> names;
    for (const Parameter* parameter : parameters) names.push_back(parameter->name);
    const std::string_view near = nearest(pattern, names);
    throw usage_error("a pattern in 'training.freeze' matches no weight of the model")
        .found("\"" + pattern + "\"")
        .expected(fmt::format("a name such as \"{}\", or a pattern such as \"encoder.*\"",
                              near.empty() ? names.at(0) : near));
  }
  if (std::none_of(parameters.begin(), parameters.end(), [](const Parameter* p) { return p->trainable(); }))
    throw usage_error("'training.freeze' freezes all weights of the model")
        .remedy("Remove a pattern from the list");
}

std::vector<double> layer_rates(std::span<Parameter* const> all, std::span<Parameter* const> trained,
                                double decay) {
  if (decay == 1.0) return {};
  // number of layers of each stack; the key is Layer::stack
  std::map<std::string, std::int64_t> layers;
  std::int64_t deepest = 0;
  for (const auto& list : {all, trained})
    for (const Parameter* parameter : list)
      if (const auto layer = layer_of(parameter->name)) {
        std::int64_t& count = layers[layer->stack];
        count = std::max(count, layer->index + 1);
        deepest = std::max(deepest, count);
      }
  std::vector<double> rates;
  for (const Parameter* parameter : trained) {
    std::int64_t below = 0;
    if (const auto layer = layer_of(parameter->name))
      below = layers[layer->stack] - layer->index;
    else if (is_embedding(*parameter))
      below = deepest + 1;
    rates.push_back(std::pow(decay, static_cast<double>(below)));
  }
  return rates;
}

}  // namespace regard::train
