// Read access to the "model" of a tokenizer.json: settings as JSON, and the long lists (vocabulary, merges)
// as views into the parsed text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "text/vocabulary.h"

namespace regard::text {

struct ScoredPieceView {
  std::string_view piece;
  double score = 0;
};

using MergeView = std::pair<std::string_view, std::string_view>;
// Split "left right" at the space. Returns nullopt unless the text has exactly one space.
std::optional<MergeView> split_merge(std::string_view text);

// Returned views are valid during the lifetime of the object from which the source was constructed.
class ModelSource {
 public:
  virtual ~ModelSource() = default;
  // Return the "model" as a JSON object. It has "vocab" and "merges" if the file has them, but these may be
  // empty; the functions below return their content.
  virtual const Json& settings() const = 0;
  // "vocab" as an object: tokens with ids up to Vocabulary::kMaxId
  virtual std::vector<TokenView> tokens() const = 0;
  virtual std::vector<ScoredPieceView> pieces() const = 0;  // "vocab" as an array: pieces with scores
  virtual std::vector<MergeView> merges() const = 0;
  virtual const std::string& file() const = 0;  // file name for messages
};

// Reads a parsed "model", which must outlive it. Throws bad_file for a list that is missing or malformed.
class JsonModelSource final : public ModelSource {
 public:
  JsonModelSource(const Json& model, const std::string& file) : model_(model), file_(file) {}
  const Json& settings() const override { return model_; }
  std::vector<TokenView> tokens() const override;
  std::vector<ScoredPieceView> pieces() const override;
  std::vector<MergeView> merges() const override;
  const std::string& file() const override { return file_; }

 private:
  const Json& model_;
  const std::string& file_;
};

}  // namespace regard::text
