// The tokenizers of a run: functions that load, train and save them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "models/network.h"
#include "text/tokenizer.h"
#include "text/train_tokenizer.h"
#include "train/run_config.h"

namespace regard::train {

class Task;

// Source and target are the same object if there is one vocabulary. Both are null if TaskTraits::has_text is
// false.
struct Tokenizers {
  std::shared_ptr<const text::Tokenizer> source, target;
  // Names and contents of further files that describe the tokenizer and are saved in checkpoints:
  // tokenizer_config.json, special_tokens_map.json and chat_template.jinja.
  std::vector<std::pair<std::string, std::string>> settings{};
  bool joint() const { return source == target; }

  // Load the tokenizers of a run, checkpoint or model folder, as text::load_tokenizer_pair() does. Throws io
  // and bad_file.
  static Tokenizers load(const std::filesystem::path& folder);
  // Return the names and contents of the files to save: tokenizer.json (target) and, for two vocabularies,
  // source_tokenizer.json. Empty if there are no tokenizers.
  std::vector<std::pair<std::string, std::string>> files() const;
  // Return `settings` for a checkpoint of `model`. If tokenizer_config.json is missing or does not name a
  // class, add the keys of text::fast_tokenizer_config(). These keys are not added if there are two
  // vocabularies or if transformers cannot open the model.
  std::vector<std::pair<std::string, std::string>> settings_of(const Network& model) const;
};

// Ids of special tokens, found by their usual spellings. An id is −1 if the vocabulary has no such token.
struct SpecialIds {
  std::int32_t pad = -1, begin = -1, end = -1;
  // start token of the decoder: `begin` if present, otherwise `pad`, otherwise `end`
  std::int32_t decoder_start = -1;
};
SpecialIds special_ids(const text::Tokenizer& tokenizer);
// Return the ids of special tokens of the target vocabulary. If `settings` contains an eos_token, it is the
// end token.
SpecialIds special_ids(const Tokenizers& tokenizers);

// Load tokenizer.file or the tokenizers of model.from; if neither is set, the task trains the tokenizers.
// Both are null if TaskTraits::has_text is false.
Tokenizers obtain_tokenizers(const RunConfig& config, const Task& task, ThreadPool& pool);

// Tokens that a trained tokenizer adds to a text.
enum class Marks {
  none,
  sentence,  // adds a space before the first word, and the end token after the last word
  // adds [CLS] and [SEP] as BERT does: [CLS] text [SEP], or [CLS] first [SEP] second [SEP] with token types;
  // the vocabulary also contains [MASK]
  bert,
};

// Train a tokenizer with the values of [tokenizer].
std::shared_ptr<const text::Tokenizer> train_tokenizer(const RunConfig& config, const text::LineSource& lines,
                                                       Marks marks, ThreadPool& pool);

// Train a tokenizer on texts [first, last) of each training record. Records held out for validation are
// skipped.
std::shared_ptr<const text::Tokenizer> train_on_records(const RunConfig& config, std::size_t first,
                                                        std::size_t last, Marks marks, ThreadPool& pool);

// Return the content of the file infer::kTrainingWordsFile: the words of the source texts of a translation
// run. Return "" for other tasks and with data.sharded. Also return "" with model.from, because the model in
// that folder was trained on other data too, and if data.train names standard input, which can be read only
// once.
std::string source_words(const RunConfig& config, ThreadPool& pool);

}  // namespace regard::train
