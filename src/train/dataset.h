// The data of a run: its tokenizers, and its training and validation corpora as token ids.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "data/token_store.h"
#include "text/tokenizer.h"
#include "train/run_config.h"

namespace regard::train {

// Source and target are the same object if the vocabulary is joint, and for language models.
struct Tokenizers {
  std::shared_ptr<const text::Tokenizer> source, target;
  bool joint() const { return source == target; }

  // Load from a run, checkpoint or model folder, as text::load_tokenizer_pair(). Throws io, bad_file.
  static Tokenizers load(const std::filesystem::path& folder);
  // Names and contents of the files to save: tokenizer.json (target) and, for two vocabularies,
  // source_tokenizer.json.
  std::vector<std::pair<std::string, std::string>> files() const;
};

// Ids of special tokens, found by their usual spellings. -1: the vocabulary has no such token.
struct SpecialIds {
  std::int32_t pad = -1, begin = -1, end = -1;
  std::int32_t decoder_start = -1;  // begin if present, else pad, else end
};
SpecialIds special_ids(const text::Tokenizer& tokenizer);

// Load tokenizer.file or the tokenizers of model.from; if neither is set, train tokenizers on the training
// data.
Tokenizers obtain_tokenizers(const RunConfig& config, ThreadPool& pool);

struct Dataset {
  // Translation: pairs of token ids, both sides ending with the end token, and the validation pairs as text.
  data::PairStore train, valid;
  std::vector<std::string> valid_sources, valid_targets;
  // Language models: one token stream each.
  std::vector<std::int32_t> train_stream, valid_stream;

  std::vector<std::string> notes;  // numbers of pairs and tokens read and left out; one line each
  std::uint64_t fingerprint = 0;   // hash of all ids; must be equal when a run is resumed
};

// Read and tokenize the corpora. Throws as CorpusReader does, and bad_file if no training or validation data
// is left.
Dataset load_dataset(const RunConfig& config, const Tokenizers& tokenizers, ThreadPool& pool);

// Token ids of a running text, without special tokens. Encoded in parallel; identical to encoding the whole
// text at once.
std::vector<std::int32_t> encode_stream(const text::Tokenizer& tokenizer, const std::string& whole,
                                        ThreadPool& pool);

}  // namespace regard::train
