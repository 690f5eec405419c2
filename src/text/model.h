// The model of a tokenizer: words to tokens. Implementations are immutable and shared by threads.
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

// A token of a word: [begin, end) in bytes of the word.
struct Token {
  std::int32_t id = 0;
  std::uint32_t begin = 0, end = 0;
};

// One way to cut a word, and the sum of its pieces' scores.
struct ScoredCut {
  double score = 0;
  std::vector<Token> tokens;
};

class Model {
 public:
  virtual ~Model() = default;
  // Appends the tokens of a word that is not empty.
  virtual void tokenize(std::string_view word, std::vector<Token>& tokens) const = 0;
  // Appends their ids only. `scratch` is the caller's, its content of no meaning.
  virtual void tokenize_ids(std::string_view word, std::vector<Token>& scratch, IdBuffer& ids) const;
  // At most `most` ways to cut a word, the best first; only models that sum scores have more than one.
  virtual std::vector<ScoredCut> best_ways(std::string_view word, std::size_t most) const;
  virtual std::optional<std::int32_t> id_of(std::string_view token) const = 0;
  virtual std::optional<std::string> token_of(std::int32_t id) const = 0;
  virtual std::int32_t end_id() const = 0;  // 1 + the largest id
  virtual std::size_t size() const = 0;     // tokens
  // Whether words may be given as bytes where the file writes GPT-2's letters (byte_letters.h), and that they
  // will be from now on; tokens keep their spelling in letters.
  virtual bool can_take_bytes() const { return false; }
  virtual void take_bytes() {}
  // How a token is listed: its own spelling, except where the model lists what it stands for.
  virtual std::string spelling(const Token& token, std::string_view word) const {
    static_cast<void>(word);
    return token_of(token.id).value_or("");
  }
  // Whether the token stands for no text (sentencepiece's control pieces).
  virtual bool is_control(std::int32_t) const { return false; }
  // Not null: at_spaces holds for parts that are cut one after another.
  virtual const RunningModel* running() const { return nullptr; }
  // Where a text without a pre-tokenizer may be cut so that its parts have the tokens of the whole.
  virtual Cutting cutting() const { return Cutting::none; }
  // The text of ids, for models with rules of their own; nothing: the decoder does it.
  virtual std::optional<std::string> decode(std::span<const std::int32_t>) const { return std::nullopt; }
  // The "model" of a tokenizer.json.
  virtual Json to_json() const = 0;
  virtual const char* type() const = 0;
};

// From tokenizer.json's "model". Throws bad_file with the model's name if it is unknown.
std::unique_ptr<Model> read_model(const ModelSource& source);

// Its "vocab": an object of tokens and ids.
Vocabulary read_vocabulary(const ModelSource& source);
Vocabulary read_vocabulary(const Json& json, const std::string& file);
// An object of tokens and ids in the order of ids.
Json write_vocabulary(const Vocabulary& vocabulary);

}  // namespace regard::text
