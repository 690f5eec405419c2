// Conversion of transcripts to the labels of speech recognition: Whisper's tokens, or characters for a model
// with a CTC head.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "formats/model_folder.h"
#include "regard/tensor.h"
#include "text/tokenizer.h"
#include "train/tokenizers.h"

namespace regard::train {

class SpeechText {
 public:
  virtual ~SpeechText() = default;
  virtual std::int64_t vocabulary() const = 0;
  virtual SpecialIds special() const = 0;
  // return the labels of a text, without special tokens
  virtual std::vector<std::int32_t> encode(const std::string& text) const = 0;
  virtual std::string decode(std::span<const std::int32_t> ids) const = 0;
  virtual std::string token_of(std::int32_t id) const = 0;
  // Return the names and contents of files to save in a checkpoint.
  virtual std::vector<std::pair<std::string, std::string>> files() const = 0;
};

// Characters for a CTC head, in the format of transformers' Wav2Vec2CTCTokenizer (vocab.json and
// tokenizer_config.json). In a new vocabulary, label 0 is the blank; "|" represents a space.
class CtcCharacters : public SpeechText {
 public:
  // Create a vocabulary of special tokens, followed by the characters of the texts in the order of code
  // points.
  explicit CtcCharacters(std::span<const std::string> texts);
  // Load the vocabulary of a model folder. `language` is the code of the language selected in the folder;
  // empty for the folder's own language. Throws io and bad_file.
  explicit CtcCharacters(const formats::ModelFolder& folder, const std::string& language = {});

  std::int32_t blank() const { return blank_; }
  // Return the text of the most probable label of each frame, without repetitions and blanks (CTC best path).
  // `logits` is [frames, labels].
  std::string best_path(const Tensor& logits) const;

  std::int64_t vocabulary() const override { return static_cast<std::int64_t>(tokens_.size()); }
  SpecialIds special() const override;
  // Characters outside the vocabulary become the unknown label, or are omitted if there is no unknown label.
  std::vector<std::int32_t> encode(const std::string& text) const override;
  std::string decode(std::span<const std::int32_t> ids) const override;
  std::string token_of(std::int32_t id) const override { return tokens_.at(static_cast<std::size_t>(id)); }
  std::vector<std::pair<std::string, std::string>> files() const override { return files_; }

 private:
  void index_tokens();

  std::vector<std::string> tokens_;                    // text of each label, by id
  std::unordered_map<std::string, std::int32_t> ids_;  // label of each token text (in lower case if lower_)
  std::set<std::string> specials_{"<pad>", "<s>", "</s>", "<unk>"};  // texts of special tokens
  std::int32_t blank_ = 0, space_ = -1, unknown_ = -1;
  bool lower_ = false;  // true if texts and tokens are converted to lower case (do_lower_case)
  std::vector<std::pair<std::string, std::string>> files_;
};

// Whisper's tokens: byte-level BPE tokens, then special tokens, then timestamps in steps of 0.02 seconds.
class WhisperText : public SpeechText {
 public:
  // Train a tokenizer on the texts. `vocabulary` is the number of tokens without special tokens; the last
  // timestamp is `seconds`.
  WhisperText(std::span<const std::string> texts, std::int64_t vocabulary, std::int64_t seconds,
              ThreadPool& pool);
  // Load the tokenizer of a model folder. generation_config.json may list languages and tasks for
  // beginning(). The language is "en" if it is listed, otherwise the first language. The task is "transcribe"
  // if it is listed, otherwise the first task. Throws bad_file.
  explicit WhisperText(const formats::ModelFolder& folder);

  std::int32_t start() const { return start_; }
  std::int32_t end() const { return end_; }
  // Return the decoder's first tokens for a text without timestamps; the first of them is the start token.
  const std::vector<std::int32_t>& beginning() const { return beginning_; }
  // Return the labels of a text for the decoder, without the start token and the end token. `seconds` is the
  // length of the sound; if it is negative or the tokenizer has no timestamps, the labels have no timestamps.
  // Otherwise, there is a timestamp before and after the text.
  std::vector<std::int32_t> target(const std::string& text, double seconds) const;

  std::int64_t vocabulary() const override { return tokenizer_->vocabulary_size(); }
  SpecialIds special() const override;
  std::vector<std::int32_t> encode(const std::string& text) const override;
  std::string decode(std::span<const std::int32_t> ids) const override;
  std::string token_of(std::int32_t id) const override { return tokenizer_->token_of(id); }
  std::vector<std::pair<std::string, std::string>> files() const override;
  Json generation_config() const { return generation_; }

 private:
  std::shared_ptr<const text::Tokenizer> tokenizer_;
  std::int32_t start_ = -1, end_ = -1, no_times_ = -1;
  std::int64_t times_ = 0;  // number of timestamp tokens
  std::vector<std::int32_t> beginning_;
  Json generation_;
};

}  // namespace regard::train
