// What a run trains and validates on: its tokenizers, and its corpora as token ids.
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

// Source and target are one and the same where the vocabulary is joint, and for language models.
struct Tokenizers {
  std::shared_ptr<const text::Tokenizer> source, target;
  bool joint() const { return source == target; }

  // From a folder that save() wrote: tokenizer.json (the target's), and source_tokenizer.json where there are
  // two. Throws io, bad_file.
  static Tokenizers load(const std::filesystem::path& folder);
  // Names and contents of the files.
  std::vector<std::pair<std::string, std::string>> files() const;
};

// The ids that training and decoding need; -1 where the vocabulary has none.
struct SpecialIds {
  std::int32_t pad = -1, begin = -1, end = -1;
  std::int32_t decoder_start = -1;  // begin, else pad, else end
};
SpecialIds special_ids(const text::Tokenizer& tokenizer);

// Loads tokenizer.file, or what model.from has, or trains what the run asks for on its training text.
Tokenizers obtain_tokenizers(const RunConfig& config, ThreadPool& pool);

struct Dataset {
  // translation: pairs whose sides end with the end token, and the validation pairs as text
  data::PairStore train, valid;
  std::vector<std::string> valid_sources, valid_targets;
  // language models: one stream each
  std::vector<std::int32_t> train_stream, valid_stream;

  std::vector<std::string> notes;  // what was read and what was left out, a line each
  std::uint64_t fingerprint = 0;   // of all ids: a resumed run has to find the same
};

// Throws as CorpusReader does; bad_file where nothing is left to train or validate on.
Dataset load_dataset(const RunConfig& config, const Tokenizers& tokenizers, ThreadPool& pool);

// The ids of a running text, without special tokens: those of the whole, also where threads share the work.
std::vector<std::int32_t> encode_stream(const text::Tokenizer& tokenizer, const std::string& whole,
                                        ThreadPool& pool);

}  // namespace regard::train
