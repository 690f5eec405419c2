// A model folder opened for decoding text: the model, its tokenizers, and how the folder wants it decoded.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/model_folder.h"
#include "infer/search.h"
#include "models/network.h"
#include "models/weights.h"
#include "text/tokenizer.h"

namespace regard::infer {

struct LoadedModel {
  std::unique_ptr<Network> model;
  // The same object where one vocabulary serves both sides, and for decoders alone.
  std::shared_ptr<const text::Tokenizer> source, target;
  // From generation_config.json, or config.json where that lacks a key: start and end tokens, num_beams,
  // length_penalty, early_stopping, max_new_tokens or max_length, do_sample, temperature, top_k, top_p,
  // min_p.
  SearchOptions options;
  std::int32_t source_end = -1;  // what training put behind every source; −1: what the tokenizer adds is all
  std::string warning;           // not empty: the best checkpoint is damaged, another is used

  // `path`: a run folder (its best checkpoint), a checkpoint of one, or a Hugging Face folder. Throws as
  // ModelFolder::open, load_model and Tokenizer::load do; bad_file where tokenizer and model do not fit.
  // The weights are held for inference: as they are stored, or in int8.
  static LoadedModel open(const std::filesystem::path& path, Keep keep = Keep::stored);

  // Ids as in training: special tokens are added, and never read out of the text.
  std::vector<std::int32_t> encode_source(std::string_view text) const;
  std::vector<std::int32_t> encode_prompt(std::string_view text) const;
  std::string decode(const Hypothesis& hypothesis) const;  // special tokens left out
};

// SearchOptions as a folder has them; for folders whose model is built elsewhere.
SearchOptions search_options_of(const formats::ModelFolder& folder);

}  // namespace regard::infer
