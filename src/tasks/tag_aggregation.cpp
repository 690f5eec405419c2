#include "tasks/tag_aggregation.h"

#include <algorithm>

#include "base/names.h"
#include "base/utf8.h"
#include "regard/error.h"

namespace regard::tasks {
namespace {

constexpr const char* kNames[] = {"none", "simple", "first", "average", "max"};

// The entity of a label, without the prefix; `begins` is true if the prefix is "B-".
struct Prefixed {
  bool begins = false;
  std::string_view entity;
};

Prefixed prefixed(std::string_view label) {
  if (label.starts_with("B-")) return {true, label.substr(2)};
  return {false, label.starts_with("I-") ? label.substr(2) : label};
}

std::size_t best_of(std::span<const float> probabilities) {
  return static_cast<std::size_t>(std::max_element(probabilities.begin(), probabilities.end()) -
                                  probabilities.begin());
}

}  // namespace

const char* name_of(Aggregation aggregation) noexcept {
  return kNames[static_cast<std::size_t>(aggregation)];
}

Aggregation aggregation_named(const std::string& name) {
  if (const auto known = enumerator_named<Aggregation>(kNames, name)) return *known;
  throw usage_error("unknown aggregation").found(name).expected("none, simple, first, average or max");
}

// A token with its probabilities.
struct TagAggregator::Part {
  std::string word;
  std::span<const float> probabilities;  // [labels]
  std::size_t begin = 0, end = 0, index = 0;
  bool continues_word = false;
};

TagAggregator::TagAggregator(std::shared_ptr<const text::Tokenizer> tokenizer, Aggregation aggregation,
                             std::vector<std::string> ignored)
    : tokenizer_(std::move(tokenizer)), aggregation_(aggregation), ignored_(std::move(ignored)) {
  const Json& description = tokenizer_->description();
  if (const auto decoder = description.find("decoder"); decoder != description.end() && !decoder->is_null())
    decoder_ = text::read_decoder(*decoder, "tokenizer.json");
  marks_continuation_ = std::string_view(tokenizer_->model_type()) == "WordPiece";
  for (const char* name : {"[UNK]", "<unk>"})
    if (const auto id = tokenizer_->id_of(name)) unknown_ = *id;
}

std::string TagAggregator::decoded(std::vector<std::string> tokens) const {
  if (decoder_) decoder_->apply(tokens);
  std::string text;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!decoder_ && i > 0) text += ' ';
    text += tokens[i];
  }
  return text::repaired_utf8(text);
}

TagAggregator::Part TagAggregator::part_of(std::string_view text, const TokenPlace& place,
                                           std::span<const float> probabilities) const {
  Part part{tokenizer_->token_of(place.id), probabilities, place.begin, place.end, place.index, false};
  const std::string_view reference = text.substr(place.begin, place.end - place.begin);
  if (place.id == unknown_) {
    part.word = reference;
    return part;
  }
  // If the model marks continuations, for example with "##", a token continues a word if its spelling and its
  // text differ in length. Otherwise, a token continues a word if there is no space before or at its start.
  // Both rules are as in transformers.
  if (marks_continuation_) {
    part.continues_word = utf8::count(part.word) != utf8::count(reference);
  } else if (place.begin > 0) {
    part.continues_word =
        text[place.begin - 1] != ' ' && (place.begin == text.size() || text[place.begin] != ' ');
  }
  return part;
}

// Return the label of a word, computed from the probabilities of its tokens.
Tag TagAggregator::tag_of(std::span<const Part> word, std::span<const std::string> labels) const {
  std::vector<float> mean;
  std::span<const float> probabilities = word[0].probabilities;
  if (aggregation_ == Aggregation::max) {
    for (const Part& part : word)
      if (part.probabilities[best_of(part.probabilities)] > probabilities[best_of(probabilities)])
        probabilities = part.probabilities;
  } else if (aggregation_ == Aggregation::average) {
    mean.resize(labels.size());
    for (std::size_t label = 0; label < mean.size(); ++label) {
      double sum = 0;
      for (const Part& part : word) sum += static_cast<double>(part.probabilities[label]);
      mean[label] = static_cast<float>(sum / static_cast<double>(word.size()));
    }
    probabilities = mean;
  }
  const std::size_t best = best_of(probabilities);
  Tag tag{labels[best],       probabilities[best], word[0].word,
          word.front().begin, word.back().end,     word[0].index};
  if (aggregation_ == Aggregation::none || aggregation_ == Aggregation::simple) return tag;
  std::vector<std::string> tokens;
  for (const Part& part : word) tokens.push_back(part.word);
  tag.word = decoded(std::move(tokens));
  return tag;
}

// Merge adjacent tags of the same entity. A label with the prefix "B-" begins a new entity.
std::vector<Tag> TagAggregator::grouped(std::span<const Tag> tags) const {
  std::vector<Tag> groups;
  for (std::size_t first = 0; first < tags.size();) {
    std::size_t end = first + 1;
    const std::string_view entity = prefixed(tags[first].label).entity;
    while (end < tags.size() && !prefixed(tags[end].label).begins &&
           prefixed(tags[end].label).entity == entity)
      ++end;
    // As in the pipeline, the entity's name is the part of the label after the first "-", if there is one.
    const std::string& label = tags[first].label;
    const std::size_t dash = label.find('-');
    std::vector<std::string> words;
    double sum = 0;
    for (const Tag& tag : tags.subspan(first, end - first)) {
      words.push_back(tag.word);
      sum += static_cast<double>(tag.score);
    }
    groups.push_back({dash == std::string::npos ? label : label.substr(dash + 1),
                      static_cast<float>(sum / static_cast<double>(end - first)), decoded(std::move(words)),
                      tags[first].begin, tags[end - 1].end, 0});
    first = end;
  }
  return groups;
}

std::vector<Tag> TagAggregator::tags(std::string_view text, std::span<const TokenPlace> places,
                                     std::span<const float> probabilities,
                                     std::span<const std::string> labels) const {
  std::vector<Part> parts;
  for (std::size_t t = 0; t < places.size(); ++t)
    parts.push_back(part_of(text, places[t], probabilities.subspan(t * labels.size(), labels.size())));
  const bool by_word = aggregation_ != Aggregation::none && aggregation_ != Aggregation::simple;
  std::vector<Tag> tags;
  for (std::size_t first = 0; first < parts.size();) {
    std::size_t end = first + 1;
    while (by_word && end < parts.size() && parts[end].continues_word) ++end;
    tags.push_back(tag_of(std::span(parts).subspan(first, end - first), labels));
    first = end;
  }
  if (aggregation_ != Aggregation::none) tags = grouped(tags);
  std::erase_if(tags, [this](const Tag& tag) {
    return std::find(ignored_.begin(), ignored_.end(), tag.label) != ignored_.end();
  });
  return tags;
}

std::vector<Tag> TagAggregator::merge(std::vector<Tag> tags) {
  std::stable_sort(tags.begin(), tags.end(), [](const Tag& a, const Tag& b) { return a.begin < b.begin; });
  std::vector<Tag> merged;
  for (Tag& tag : tags) {
    if (merged.empty() || tag.begin >= merged.back().end) {
      merged.push_back(std::move(tag));
      continue;
    }
    Tag& kept = merged.back();
    const std::size_t length = tag.end - tag.begin, kept_length = kept.end - kept.begin;
    if (length > kept_length || (length == kept_length && tag.score > kept.score)) kept = std::move(tag);
  }
  return merged;
}

}  // namespace regard::tasks
