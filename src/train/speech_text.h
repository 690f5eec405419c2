// Texts of speech recognition as labels: Whisper's tokens, or the characters of a model with a CTC head.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
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
  virtual std::vector<std::int32_t> encode(const std::string& text) const = 0;  // ids without special tokens
  virtual std::string decode(std::span<const std::int32_t> ids) const = 0;
  virtual std::string token_of(std::int32_t id) const = 0;
  // Return the names and contents of files to save in a checkpoint.
  virtual std::vector<std::pair<std::string, std::string>> files() const = 0;
};

// Characters for a CTC head, in the form of transformers' Wav2Vec2CTCTokenizer (vocab.json and
// tokenizer_config.json): label 0 is the blank, "|" a space.
class CtcCharacters : public SpeechText {
 public:
  // Use the characters of the texts, sorted.
  explicit CtcCharacters(std::span<const std::string> texts);
  // Use the vocabulary of a folder. Throws io and bad_file.
  explicit CtcCharacters(const formats::ModelFolder& folder);

  std::int32_t blank() const { return blank_; }
  // Return the text of the most probable label of each frame, with repetitions merged. logits [frames,
  // labels].
  std::string best_path(const Tensor& logits) const;

  std::int64_t vocabulary() const override { return static_cast<std::int64_t>(tokens_.size()); }
  SpecialIds special() const override;
  // Characters that are not in the vocabulary become the unknown label, or are left out if there is none.
  std::vector<std::int32_t> encode(const std::string& text) const override;
  std::string decode(std::span<const std::int32_t> ids) const override;
  std::string token_of(std::int32_t id) const override { return tokens_.at(static_cast<std::size_t>(id)); }
  std::vector<std::pair<std::string, std::string>> files() const override { return files_; }

 private:
  std::vector<std::string> tokens_;  // in label order; special tokens include their brackets
  std::int32_t blank_ = 0, space_ = -1, unknown_ = -1;
  bool lower_ = false;  // true if texts are in lower case and tokens in upper case
  std::vector<std::pair<std::string, std::string>> files_;
};

// Whisper's tokens: byte-level BPE, then special tokens, then timestamps every 0.02 seconds.
class WhisperText : public SpeechText {
 public:
  // Train on the texts. `vocabulary` is the number of tokens without the special ones; timestamps reach up
  // to `seconds`.
  WhisperText(std::span<const std::string> texts, std::int64_t vocabulary, std::int64_t seconds,
              ThreadPool& pool);
  // Use the tokens of a folder, with its language and task if it has them. The language is "en" if
  // generation_config.json lists it, else the first language listed there; the task is "transcribe". Throws
  // bad_file.
  explicit WhisperText(const formats::ModelFolder& folder);

  std::int32_t start() const { return start_; }
  std::int32_t end() const { return end_; }
  // Return the decoder's first tokens for a text without timestamps, including the start token.
  const std::vector<std::int32_t>& beginning() const { return beginning_; }
  // Return a text's tokens after the start token and before the end token. If `seconds`, the length of the
  // sound, is not negative, the text begins and ends with a timestamp.
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
