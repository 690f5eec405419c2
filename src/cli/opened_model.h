// A model folder opened for reading and writing text: the model, its tokenizers, its special ids.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "inspect/attend.h"
#include "models/model.h"
#include "text/tokenizer.h"

namespace regard::cli {

struct OpenedModel {
  std::unique_ptr<Model> model;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::int32_t start_id = -1, end_id = -1;

  // Throws as ModelFolder::open, load_model and Tokenizer::load do.
  static OpenedModel open(const std::string& folder);

  inspect::Reader reader() const { return {*model, *tokenizer, *tokenizer, start_id, end_id}; }

  // Greedily: the ids written, end_id last where it came to that, in order. Encoder–decoders only.
  std::vector<std::vector<std::int32_t>> translate(ThreadPool& pool,
                                                   std::span<const std::string> texts) const;
};

}  // namespace regard::cli
