// tiktoken's files: a line "BASE64 RANK" for each token, and patterns and
// special tokens that tiktoken's own code holds, here by the file's name.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "text/merge_bytes.h"
#include "text/model.h"

namespace regard::text {

// Byte-pair encoding where a token's id is its rank: of neighbouring bytes, the
// two join first that make the token of lowest id. A word that is a token is
// that token.
class RankedBpe final : public Model {
 public:
  // Throws bad_file with `file` if some single byte is not a token.
  RankedBpe(Vocabulary tokens, const std::string& file);

  bool can_take_bytes() const override { return true; }
  void tokenize(std::string_view word, std::vector<Token>& tokens) const override;
  void tokenize_ids(std::string_view word, std::vector<Token>& scratch, IdBuffer& ids) const override;
  std::optional<std::int32_t> id_of(std::string_view token) const override;  // in letters
  std::optional<std::string> token_of(std::int32_t id) const override;       // in letters
  std::int32_t end_id() const override { return tokens_.end_id(); }
  std::size_t size() const override { return tokens_.size(); }
  Json to_json() const override;
  const char* type() const override { return "BPE"; }

 private:
  Vocabulary tokens_;  // by bytes
  std::int32_t byte_ids_[256];
  std::uint64_t owner_ = PairMemo::new_owner();
  std::vector<std::int32_t> pair_ids_;  // of two bytes, the first one high; -1: no token
};

struct TiktokenFile {
  Json pipeline;  // the rest of a tokenizer.json
  std::unique_ptr<Model> model;
};

// "…/cl100k_base.tiktoken": gpt2, r50k_base, p50k_base, cl100k_base, o200k_base
// are known; another name is bad_file, for its pattern would be a guess.
TiktokenFile read_tiktoken(const std::string& file);

}  // namespace regard::text
