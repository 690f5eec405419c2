// Token classification, such as named entities or parts of speech: labels of tokens, words or entities, as
// in transformers' token-classification pipeline. Long texts are divided into overlapping windows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/pass.h"
#include "tasks/reader.h"
#include "tasks/tag_aggregation.h"

namespace regard::tasks {

struct TagOptions {
  Aggregation aggregation = Aggregation::none;
  // tokens per window, including special tokens; default: 0, which means the model's maximum, or 512 if it
  // has none
  std::int64_t window = 0;
  // Overlap of neighbouring windows in tokens. Default: 128, or a quarter of the window without its special
  // tokens if that is smaller.
  std::optional<std::int64_t> stride = std::nullopt;
  std::vector<std::string> ignored{"O"};  // labels and entities to omit
  // names of the labels; default: as in config.json (labels_of())
  std::optional<std::vector<std::string>> labels = std::nullopt;
  Probe* probe = nullptr;  // called in every forward pass; it can ablate heads. Not owned; may be null
};

class Tagger {
 public:
  // `loaded`, `pool` and the probe must outlive the tagger. Throws usage if the model does not classify
  // tokens or the options are invalid for it, bad_file if the number of labels is wrong.
  Tagger(const infer::LoadedModel& loaded, ThreadPool& pool, const TagOptions& options = {});

  const std::vector<std::string>& labels() const { return labels_; }

  // A tokenised text, divided into windows.
  struct Reading {
    struct Window {
      Input input;
      std::vector<TokenPlace> places;  // one for each token of the window, without special tokens
    };
    std::string text;
    std::vector<Window> windows;
    std::size_t words = 0;  // number of words given to read_words()

    std::int64_t tokens() const;
  };
  Reading read(std::string_view text) const;
  // Read a text given as words. The text is the words joined by spaces.
  Reading read_words(std::span<const std::string> words) const;

  // Return the results of each text, in order. Throws numeric if logits are not finite.
  std::vector<std::vector<Tag>> tag(std::span<const Reading> readings);

  // Return the class of each word: the class of the word's first token, or −1 for a word without tokens.
  // `readings` must be results of read_words(). If several windows contain the token, use the window in which
  // the token's distance from the nearer end is largest.
  std::vector<std::vector<std::int32_t>> word_classes(std::span<const Reading> readings);

 private:
  using Scores = std::vector<float>;  // probabilities [tokens of the window's text, labels]
  std::vector<std::vector<Scores>> scores(std::span<const Reading> readings);
  Reading windows_of(std::string text, text::Encoding encoding) const;

  const infer::LoadedModel& loaded_;
  TagOptions options_;
  std::vector<std::string> labels_;
  TagAggregator aggregator_;
  std::int64_t window_, stride_;
  Pass pass_;
};

}  // namespace regard::tasks
