#include "models/copy_weights.h"

#include <algorithm>
#include <map>

#include "ops/parameter.h"

namespace regard::models {
namespace {

// Return `name` without a prefix that files may omit (NameRules::prefixes), and with the current ending in
// place of an older one (NameRules::endings).
std::string canonical(std::string name, const NameRules& rules) {
  for (const std::string& prefix : rules.prefixes)
    if (!prefix.empty() && name.starts_with(prefix)) {
      name.erase(0, prefix.size());
      break;
    }
  for (const auto& [now, before] : rules.endings)
    if (name.ends_with(before)) name.replace(name.size() - before.size(), before.size(), now);
  return name;
}

}  // namespace

std::vector<std::string> copy_weights(Network& from, Network& model, const std::string& except) {
  std::map<std::string, const Parameter*> sources;
  for (const Parameter* parameter : from.pooler_parameters())
    sources[canonical(parameter->name, from.name_rules())] = parameter;
  for (const Parameter* parameter : from.parameters())
    sources[canonical(parameter->name, from.name_rules())] = parameter;
  std::vector<std::string> unset;
  for (Parameter* parameter : model.parameters()) {
    const std::string name = canonical(parameter->name, model.name_rules());
    const bool excepted = !except.empty() && name.starts_with(except);
    const auto found = excepted ? sources.end() : sources.find(name);
    if (found == sources.end() || !(found->second->value().shape() == parameter->value().shape())) {
      unset.push_back(parameter->name);
      continue;
    }
    const Tensor& value = found->second->value();
    std::copy_n(value.f32(), value.elements(), parameter->variable.value.f32());
  }
  return unset;
}

}  // namespace regard::models
