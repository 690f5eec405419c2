// Functions that write run folders for tests. Each checkpoint contains a complete model.
#pragma once

#include <filesystem>

#include "base/file.h"
#include "formats/checkpoint.h"
#include "support/namespaces.h"

namespace regard::testing {

// Write the files of the model folder `model` as the checkpoint of `step`.
inline void add_checkpoint(const formats::RunFolder& run, std::int64_t step,
                           const std::filesystem::path& model, const formats::CommitOptions& options = {}) {
  formats::CheckpointWriter writer(run, step);
  for (const auto& file : std::filesystem::directory_iterator(model))
    writer.add_text(file.path().filename().string(), read_file(file.path()));
  writer.commit(options);
}

}  // namespace regard::testing
