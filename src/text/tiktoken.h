// tiktoken's files, which contain one line "BASE64 RANK" per token. The patterns and special tokens are part
// of tiktoken's code, so they are selected here by the name of the file.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "text/merge_bytes.h"
#include "text/model.h"

namespace regard::text {

// Byte-pair encoding in which the id of a token is its rank: the adjacent pair that merges to the token with
// the lowest id is merged first. A word that is itself a token becomes that token.
class RankedBpe final : public Model {
 public:
  // Throws bad_file with `file` unless every single byte is a token.
  RankedBpe(Vocabulary tokens, const std::string& file);

  bool can_take_bytes() const override { return true; }
  void tokenize(std::string_view word, std::vector<Token>& tokens) const override;
  void tokenize_ids(std::string_view word, std::vector<Token>& scratch, IdBuffer& ids) const override;
  // `token` is in GPT-2's byte alphabet (byte_letters.h)
  std::optional<std::int32_t> id_of(std::string_view token) const override;
  std::optional<std::string> token_of(std::int32_t id) const override;  // the token in GPT-2's byte alphabet
  std::int32_t end_id() const override { return tokens_.end_id(); }
  std::size_t size() const override { return tokens_.size(); }
  Json to_json() const override;
  const char* type() const override { return "BPE"; }

 private:
  Vocabulary tokens_;  // ids of the tokens by their bytes
  std::int32_t byte_ids_[256];
  std::uint64_t owner_ = PairMemo::new_owner();
  // id of the token of each pair of bytes, at index 256 · first + second; −1 if there is none
  std::vector<std::int32_t> pair_ids_;
};

struct TiktokenFile {
  Json pipeline;  // the tokenizer.json without "model"
  std::unique_ptr<Model> model;
};

// Read "…/NAME.tiktoken", where NAME is gpt2, r50k_base, p50k_base, cl100k_base or o200k_base. Throws
// bad_file for other names, because their patterns are unknown.
TiktokenFile read_tiktoken(const std::string& file);

}  // namespace regard::text
