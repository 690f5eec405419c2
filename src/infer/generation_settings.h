// The settings of generation in a model folder.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <system_error>

#include "base/json.h"
#include "formats/model_folder.h"

namespace regard::infer {

// Reads values of generation_config.json, or of config.json if the key is missing there. If `strict` is set,
// config.json is used only if there is no generation_config.json, as in transformers.
class GenerationSettings {
 public:
  // The keys that are looked up are added to `asked`, unless it is null.
  explicit GenerationSettings(const formats::ModelFolder& folder, bool strict = false,
                              std::set<std::string>* asked = nullptr)
      : folder_(folder), strict_(strict), asked_(asked) {}

  const Json* find(const char* key) const {
    if (asked_ != nullptr) asked_->insert(key);
    if (in_generation_config(key)) return &folder_.generation_config->at(key);
    if (folder_.generation_config && strict_) return nullptr;
    const auto found = folder_.config.find(key);
    return found != folder_.config.end() && !found->is_null() ? &*found : nullptr;
  }
  template <class T>
  void read(const char* key, T& value) const {
    if (const Json* found = find(key)) value = json_as<T>(*found, key, file(key));
  }
  // Return the file that contains the value of `key`, for messages.
  std::string file(const char* key) const {
    // Without the file generation_config.json, the values of folder_.generation_config come from config.json.
    const std::filesystem::path generation = folder_.path / "generation_config.json";
    std::error_code error;
    return in_generation_config(key) && exists(generation, error) ? generation.string() : folder_.config_file;
  }

 private:
  bool in_generation_config(const char* key) const {
    return folder_.generation_config && !folder_.generation_config->value(key, Json()).is_null();
  }

  const formats::ModelFolder& folder_;
  bool strict_;
  std::set<std::string>* asked_;
};

}  // namespace regard::infer
