// Convert scores of tokens to labels of tokens, words and entities, by the rules of transformers'
// token-classification pipeline.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/decoders.h"
#include "text/tokenizer.h"

namespace regard::tasks {

// Labels may have the prefixes "B-" (begins an entity) and "I-" (continues it); a label without a prefix
// continues an entity.
enum class Aggregation {
  none,     // one result per token
  simple,   // adjacent tokens of one entity are joined
  first,    // like `simple`, but a word has the label of its first token
  average,  // like `simple`, but a word has the label with the highest mean probability
  max,      // like `simple`, but a word has the label of the token with the highest probability
};
const char* name_of(Aggregation aggregation) noexcept;
// return the value of a name; throws usage, listing the valid names, for an unknown name
Aggregation aggregation_named(const std::string& name);

// A token of a text.
struct TokenPlace {
  std::int32_t id = 0;
  std::uint32_t begin = 0, end = 0;  // byte range in the text
  std::int32_t word = -1;            // index of the token's word
  bool starts_word = false;
  std::size_t index = 0;  // index of the token in the window's input
};

// The label of a token (Aggregation::none), or of an entity (the label without its prefix).
struct Tag {
  std::string label;
  float score = 0.0f;              // probability, or mean probability of the entity's tokens or words
  std::string word;                // the token, or the decoded tokens of the entity
  std::size_t begin = 0, end = 0;  // byte range in the text
  std::size_t index = 0;  // index of the token in its window, including special tokens; 0 for an entity
};

class TagAggregator {
 public:
  // Throws bad_file if the tokenizer's decoder is unknown.
  TagAggregator(std::shared_ptr<const text::Tokenizer> tokenizer, Aggregation aggregation,
                std::vector<std::string> ignored);

  // Return the results of one window, without ignored labels. `places` describes the window's tokens;
  // probabilities: [tokens, labels].
  std::vector<Tag> tags(std::string_view text, std::span<const TokenPlace> places,
                        std::span<const float> probabilities, std::span<const std::string> labels) const;

  // Merge the results of several windows. Among overlapping results, keep the longest; among equally long
  // ones, keep the one with the highest score.
  static std::vector<Tag> merge(std::vector<Tag> tags);

 private:
  struct Part;
  Part part_of(std::string_view text, const TokenPlace& place, std::span<const float> probabilities) const;
  Tag tag_of(std::span<const Part> word, std::span<const std::string> labels) const;
  std::vector<Tag> grouped(std::span<const Tag> tags) const;
  std::string decoded(std::vector<std::string> tokens) const;

  std::shared_ptr<const text::Tokenizer> tokenizer_;
  // decoder that joins tokens to text; if null, tokens are joined by spaces
  std::unique_ptr<const text::Decoder> decoder_;
  Aggregation aggregation_;
  std::vector<std::string> ignored_;
  bool marks_continuation_ = false;  // true if the model marks tokens that continue a word ("##ing")
  std::int32_t unknown_ = -1;        // id of the unknown token
};

}  // namespace regard::tasks
