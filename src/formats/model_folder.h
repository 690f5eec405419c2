// A model as it lies on disk: a Hugging Face folder, or a run folder of ours, of which the best checkpoint is
// meant.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/folder.h"
#include "base/json.h"
#include "formats/weights.h"

namespace regard::formats {

struct ModelFolder {
  std::filesystem::path path;             // where config.json is
  std::string config_file;                // its path, for messages
  Json config;                            // an object
  std::optional<Json> generation_config;  // generation_config.json, an object
  std::filesystem::path tokenizer;        // the folder that holds the tokenizer's files
  std::string warning;                    // not empty: the best checkpoint is damaged, another is used
  std::shared_ptr<FolderLock> lock;       // of a checkpoint: while it lives, the run does not remove it

  // Reads the JSON files; weights() reads the tensors. Throws usage if there is no such folder, bad_file if
  // it is no model or something in it is wrong.
  static ModelFolder open(const std::filesystem::path& path);

  Weights weights() const { return Weights::open(path); }
};

}  // namespace regard::formats
