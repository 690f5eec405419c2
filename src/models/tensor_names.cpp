#include "models/tensor_names.h"
#include "ops/parameter.h"

#include <algorithm>
#include <unordered_set>

namespace regard::models {
namespace {

// Return every name that the rules allow for `name`, starting with `name` itself.
std::vector<std::string> spellings(const std::string& name, const NameRules& rules) {
  std::vector<std::string> all{name};
  for (const std::string& prefix : rules.prefixes) {
    if (prefix.empty()) continue;
    all.push_back(name.starts_with(prefix) ? name.substr(prefix.size()) : prefix + name);
  }
  const std::size_t plain = all.size();
  for (const auto& [now, before] : rules.endings)
    for (std::size_t i = 0; i < plain; ++i)
      if (all[i].ends_with(now)) all.push_back(all[i].substr(0, all[i].size() - now.size()) + before);
  return all;
}

class Binder {
 public:
  Binder(Network& model, const formats::Weights& weights)
      : rules_(model.name_rules()), weights_(weights), parameters_(model.parameters()) {}

  Binding bind() {
    Binding binding;
    for (Parameter* parameter : parameters_) binding.weights.push_back(bind(*parameter));
    for (const std::string& name : weights_.names()) {
      if (taken_.contains(name)) continue;
      const bool ignored = std::any_of(rules_.ignored.begin(), rules_.ignored.end(),
                                       [&](const std::string& part) { return name.find(part) != name.npos; });
      if (!ignored)
        throw file_error(weights_.label(), "tensor \"" + name + "\" is not part of the model")
            .remedy(
                "Check that config.json belongs to these weights: same family, head and number of layers");
      binding.ignored.push_back(name);
    }
    return binding;
  }

 private:
  // Return the error for a missing tensor. Also used if the tensor exists but belongs to another weight.
  Error missing(const std::string& name) const {
    return file_error(weights_.label(), "tensor \"" + name + "\" is missing")
        .remedy("Check that config.json belongs to these weights: same family, head and number of layers");
  }

  std::optional<std::string> find(const std::string& name) {
    for (const std::string& spelling : spellings(name, rules_))
      if (weights_.contains(spelling) && taken_.insert(spelling).second) return spelling;
    return std::nullopt;
  }

  Bound bind(Parameter& parameter) {
    Bound bound{&parameter, "", {}};
    if (auto name = find(parameter.name)) bound.name = *name;
    for (const auto& [original, copy] : rules_.copies) {
      if (original != parameter.name) continue;
      const auto name = find(copy);
      if (!name) continue;
      if (bound.name.empty()) {
        bound.name = *name;
      } else {
        bound.copies.push_back(*name);
      }
    }
    for (const auto& [usual, other] : rules_.instead)
      if (bound.name.empty() && usual == parameter.name) bound.name = find(other).value_or("");
    if (bound.name.empty()) throw missing(parameter.name);
    if (weights_.entry(bound.name).dtype == "I8") {
      bound.scale = scale_name(bound.name);
      weights_.entry(bound.scale);  // throws bad_file if the scale is missing
      taken_.insert(bound.scale);
      for (const std::string& copy : bound.copies)
        if (weights_.contains(scale_name(copy))) taken_.insert(scale_name(copy));
    }
    return bound;
  }

  const NameRules& rules_;
  const formats::Weights& weights_;
  std::vector<Parameter*> parameters_;
  std::unordered_set<std::string> taken_;
};

}  // namespace

std::optional<std::string> find_tensor(const std::string& name, const NameRules& rules,
                                       const formats::Weights& weights) {
  for (const std::string& spelling : spellings(name, rules))
    if (weights.contains(spelling)) return spelling;
  return std::nullopt;
}

Binding bind(Network& model, const formats::Weights& weights) {
  return Binder(model, weights).bind();
}

}  // namespace regard::models
