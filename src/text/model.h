// Interface of the model of a tokenizer, which maps words to tokens. Implementations are immutable and may be
// shared by threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/model_source.h"
#include "text/pre_tokenizers.h"
#include "text/running_model.h"
#include "text/vocabulary.h"
#include "text/word_cache.h"

namespace regard::text {

// A token of a word, with its range [begin, end) in bytes of the word.
struct Token {
  std::int32_t id = 0;
  std::uint32_t begin = 0, end = 0;
};

// A segmentation of a word and the sum of its pieces' scores.
struct ScoredCut {
  double score = 0;
  std::vector<Token> tokens;
};

class Model {
 public:
  virtual ~Model() = default;
  // Append the tokens of a non-empty word.
  virtual void tokenize(std::string_view word, std::vector<Token>& tokens) const = 0;
  // Append only the ids of the word's tokens. `scratch` is a buffer whose content does not matter.
  virtual void tokenize_ids(std::string_view word, std::vector<Token>& scratch, IdBuffer& ids) const;
  // Return at most `most` segmentations of a word, best first. Throws usage if the model is not a unigram
  // model.
  virtual std::vector<ScoredCut> best_ways(std::string_view word, std::size_t most) const;
  virtual std::optional<std::int32_t> id_of(std::string_view token) const = 0;
  virtual std::optional<std::string> token_of(std::int32_t id) const = 0;
  virtual std::int32_t end_id() const = 0;  // the largest id + 1
  virtual std::size_t size() const = 0;     // number of tokens
  // Return true if words may be passed as bytes instead of in GPT-2's byte alphabet (byte_letters.h);
  // take_bytes() enables this. Tokens are spelled in the byte alphabet in both cases.
  virtual bool can_take_bytes() const { return false; }
  virtual void take_bytes() {}
  // Return the text of a token for Encoding::tokens: the token in the vocabulary. For an unknown token of a
  // Unigram, SentencePiece or Marian model, return the text in `word` that the token represents.
  virtual std::string spelling(const Token& token, std::string_view word) const {
    static_cast<void>(word);
    return token_of(token.id).value_or("");
  }
  // Return true if the token represents no text (sentencepiece's control pieces).
  virtual bool is_control(std::int32_t) const { return false; }
  // Return this model as a RunningModel if it must process the parts of a text in order; otherwise, return
  // null. The parts result from splits at spaces.
  virtual const RunningModel* running() const { return nullptr; }
  // Return where a text without a pre-tokenizer may be split without changing its tokens.
  virtual Cutting cutting() const { return Cutting::none; }
  // Return true if each character is tokenized separately. A text may then be split anywhere, and caching its
  // words does not save time.
  virtual bool divides_anywhere() const { return false; }
  // Return the text of ids, for models with their own decoding rules. Nullopt means that the tokenizer's
  // decoder applies.
  virtual std::optional<std::string> decode(std::span<const std::int32_t>) const { return std::nullopt; }
  // Return the model as it is written under "model" in a tokenizer.json.
  virtual Json to_json() const = 0;
  virtual const char* type() const = 0;
};

// A model with a Vocabulary of its tokens.
class VocabularyModel : public Model {
 public:
  explicit VocabularyModel(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}
  std::optional<std::int32_t> id_of(std::string_view token) const final { return vocabulary_.find(token); }
  std::optional<std::string> token_of(std::int32_t id) const final;
  std::int32_t end_id() const final { return vocabulary_.end_id(); }
  std::size_t size() const final { return vocabulary_.size(); }

 protected:
  Vocabulary vocabulary_;
};

// Create a model from the "model" of a tokenizer.json. Throws bad_file if the type is unknown; the error
// names the type.
std::unique_ptr<Model> read_model(const ModelSource& source);

// Read "vocab", an object that maps tokens to ids.
Vocabulary read_vocabulary(const ModelSource& source);
Vocabulary read_vocabulary(const Json& json, const std::string& file);
// Return an object that maps tokens to ids, in the order of ids.
Json write_vocabulary(const Vocabulary& vocabulary);

}  // namespace regard::text
