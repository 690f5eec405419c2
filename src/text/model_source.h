// The "model" of a tokenizer.json as the models' readers take it: settings, and the lists that hold nearly
// all of the file as views into whatever keeps the parsed text.
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
// "left right"; nothing if there is not exactly one space.
std::optional<MergeView> split_merge(std::string_view text);

// The views last as long as what the source was made from.
class ModelSource {
 public:
  virtual ~ModelSource() = default;
  // The object; "vocab" and "merges" are in it if the file has them, perhaps with nothing in them.
  virtual const Json& settings() const = 0;
  virtual std::vector<TokenView> tokens() const = 0;  // "vocab" as an object; ids up to Vocabulary::kMaxId
  virtual std::vector<ScoredPieceView> pieces() const = 0;  // "vocab" as an array
  virtual std::vector<MergeView> merges() const = 0;
  virtual const std::string& file() const = 0;  // for messages
};

// Over a parsed "model", which must outlive it. A list that is missing or not of its form throws bad_file.
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
