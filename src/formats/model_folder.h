// A model on disk: a Hugging Face folder, or a run folder. From a run folder, the best checkpoint is used.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/folder.h"
#include "base/json.h"
#include "formats/weights.h"

namespace regard::formats {

struct ModelFolder {
  std::filesystem::path path;             // folder that contains config.json
  std::string config_file;                // path of config.json, for messages
  Json config;                            // content of config.json, an object
  std::optional<Json> generation_config;  // content of generation_config.json, an object
  std::filesystem::path tokenizer;        // folder of the tokenizer's files
  // folder of a LoRA adapter to apply (adapter_config.json); empty if there is none
  std::filesystem::path adapter;
  // file with the weights of the selected language (select_language()); empty for the model's own language
  std::filesystem::path language_weights;
  std::string warning;  // message if the best checkpoint is damaged and another one is used; otherwise empty
  std::shared_ptr<FolderLock> lock;  // while this lock exists, the checkpoint is not removed
  std::filesystem::path given;       // the path given to open(), such as a run folder

  // Read the JSON files. `adapter` is set if the folder also contains adapter_config.json. No tensor is read.
  // Throws io if the path does not exist or is a file, bad_file if the folder is not a model or its content
  // is invalid.
  static ModelFolder open(const std::filesystem::path& path);

  // Return the codes of the languages for which the folder has weights (MMS), in alphabetical order.
  std::vector<std::string> languages() const;
  // Select the language whose weights are in adapter.CODE.safetensors, and set config["vocab_size"] to the
  // size of the language's vocabulary. Throws usage if the folder has no such file.
  void select_language(const std::string& code);

  // Make the paths of files that may be read later absolute, with lasting_path(). `given` and `config_file`
  // keep the path that the user wrote, because messages show it.
  void make_absolute();

  // Open the weights. Weights of the selected language replace the model's weights of the same names.
  Weights weights() const;
};

}  // namespace regard::formats
