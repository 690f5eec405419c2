#include "data/processor_keys.h"

#include <utility>

#include "regard/error.h"

namespace regard::data {

namespace fs = std::filesystem;

std::optional<ProcessorKeys> read_processor_keys(const fs::path& folder, const char* part) {
  std::optional<ProcessorKeys> found;
  if (const fs::path path = folder / "processor_config.json"; fs::exists(path))
    if (Json all = read_json(path.string()); all.is_object() && all.contains(part))
      found = ProcessorKeys{path.string() + ": " + part, std::move(all[part])};
  if (const fs::path path = folder / "preprocessor_config.json"; !found && fs::exists(path))
    found = ProcessorKeys{path.string(), read_json(path.string())};
  if (found && !found->keys.is_object())
    throw file_error(found->file, "the configuration is not a JSON object").found(describe(found->keys));
  return found;
}

std::string processor_class_of(const ProcessorKeys& from, const char* class_key, const fs::path& folder) {
  for (const char* key : {class_key, "feature_extractor_type"})
    if (const auto name = optional_value<std::string>(from.keys, key, from.file)) return *name;
  const fs::path config = folder / "config.json";
  if (!fs::exists(config)) return "";
  const Json all = read_json(config.string());
  return all.is_object() ? optional_value<std::string>(all, "model_type", config.string()).value_or("") : "";
}

}  // namespace regard::data
