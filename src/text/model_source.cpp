#include "text/model_source.h"

#include <fmt/format.h>

#include "text/vocabulary.h"

namespace regard::text {

std::vector<TokenView> JsonModelSource::tokens() const {
  if (!model_.contains("vocab") || !model_.at("vocab").is_object())
    throw file_error(file_, "expected model.vocab to be an object that maps tokens to ids")
        .found(model_.contains("vocab") ? describe(model_.at("vocab")) : "no such key");
  const Json& listed = model_.at("vocab");
  std::vector<TokenView> tokens;
  tokens.reserve(listed.size());
  for (const auto& [token, id] : listed.items()) {
    if (!id.is_number_integer())
      throw file_error(file_, fmt::format("expected an integer as id of token '{}'", token))
          .found(describe(id));
    const auto value = json_as<std::int64_t>(id, token, file_);
    if (value < 0 || value > Vocabulary::kMaxId)
      throw file_error(file_, fmt::format("the id of token '{}' is out of range", token))
          .found(std::to_string(value))
          .expected(fmt::format("an id from 0 to {}", Vocabulary::kMaxId));
    tokens.push_back({token, static_cast<std::int32_t>(value)});
  }
  return tokens;
}

std::vector<ScoredPieceView> JsonModelSource::pieces() const {
  const Json* listed = model_.contains("vocab") ? &model_.at("vocab") : nullptr;
  if (listed == nullptr || !listed->is_array())
    throw file_error(file_, "expected model.vocab of a Unigram model to be an array of [PIECE, SCORE]")
        .found(listed == nullptr ? "no such key" : describe(*listed));
  std::vector<ScoredPieceView> pieces;
  pieces.reserve(listed->size());
  for (const Json& entry : *listed) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number())
      throw file_error(file_,
                       fmt::format("expected [PIECE, SCORE] as entry {} of model.vocab", pieces.size()))
          .found(describe(entry));
    pieces.push_back({entry[0].get_ref<const std::string&>(), entry[1].get<double>()});
  }
  return pieces;
}

std::vector<MergeView> JsonModelSource::merges() const {
  const auto found = model_.find("merges");
  if (found == model_.end())
    throw file_error(file_, "expected model.merges to be an array").found("no such key");
  const Json& listed = *found;
  if (!listed.is_array())
    throw file_error(file_, "expected model.merges to be an array").found(describe(listed));
  std::vector<MergeView> merges;
  merges.reserve(listed.size());
  for (const Json& merge : listed) {
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      merges.emplace_back(merge[0].get_ref<const std::string&>(), merge[1].get_ref<const std::string&>());
      continue;
    }
    const auto pair = merge.is_string() ? split_merge(merge.get_ref<const std::string&>()) : std::nullopt;
    if (!pair)
      throw file_error(file_, fmt::format("expected two tokens in merge {}", merges.size()))
          .found(describe(merge));
    merges.push_back(*pair);
  }
  return merges;
}

std::optional<MergeView> split_merge(std::string_view text) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos)
    return std::nullopt;
  return MergeView(text.substr(0, space), text.substr(space + 1));
}

}  // namespace regard::text
