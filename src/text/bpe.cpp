#include "text/bpe.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/utf8.h"
#include "text/byte_letters.h"

namespace regard::text {

Bpe::Bpe(Vocabulary vocabulary, std::span<const MergeView> merges, BpeOptions options,
         const std::string& file)
    : VocabularyModel(std::move(vocabulary)), options_(std::move(options)) {
  const auto known = [&](std::int32_t id, std::string_view token, std::size_t merge) {
    if (id < 0)
      throw file_error(file, "a merge has a token that is not in the vocabulary")
          .found(fmt::format("'{}' in merge {}", token, merge));
    return id;
  };
  merges_.reserve(merges.size());
  merge_list_.reserve(merges.size());
  joined_ids_.reserve(merges.size());
  in_memo_ = merges.size() < PairMemo::kMostRanks && vocabulary_.end_id() <= PairMemo::kMostIds;
  std::string joined;
  // Id of the previous merge's token. Trainers number merged tokens in the order of merges, so the next id is
  // usually one larger.
  std::int32_t joined_id = -2;
  constexpr std::size_t kTogether = 32;
  std::array<std::string_view, 2 * kTogether> sides;
  std::array<std::int32_t, 2 * kTogether> side_ids;
  const auto find_sides = [&](std::span<const MergeView> next) {
    for (std::size_t i = 0; i < next.size(); ++i) std::tie(sides[2 * i], sides[2 * i + 1]) = next[i];
    vocabulary_.find_all(std::span(sides).first(2 * next.size()), side_ids);
    for (std::size_t i = 0; i < next.size(); ++i) merges_.prefetch(side_ids[2 * i], side_ids[2 * i + 1]);
  };
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const auto& [left, right] = merges[i];
    const std::size_t side = i % kTogether * 2;
    if (side == 0) find_sides(merges.subspan(i, std::min(kTogether, merges.size() - i)));
    const std::int32_t left_id = known(side_ids[side], left, i),
                       right_id = known(side_ids[side + 1], right, i);
    if (right.size() < options_.continuing_prefix.size())
      throw file_error(file, "the right side of a merge lacks the continuing prefix")
          .found(fmt::format("'{}'", right))
          .expected(fmt::format("a token that starts with '{}'", options_.continuing_prefix));
    joined.assign(left).append(right, options_.continuing_prefix.size());
    joined_id = known(vocabulary_.find_near(joined, joined_id + 1), joined, i);
    joined_ids_.push_back(joined_id);
    merges_.add(left_id, right_id, {static_cast<std::int32_t>(i), joined_id});
    merge_list_.emplace_back(left_id, right_id);
  }
  can_take_bytes_ =
      options_.continuing_prefix.empty() && options_.end_of_word_suffix.empty() && !options_.byte_fallback;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const auto value = static_cast<std::uint8_t>(byte);
    byte_ids_[byte] =
        vocabulary_.find(letters_of_bytes({reinterpret_cast<const char*>(&value), 1})).value_or(-1);
    fallback_ids_[byte] = vocabulary_.find(fmt::format("<0x{:02X}>", byte)).value_or(-1);
    can_take_bytes_ = can_take_bytes_ && byte_ids_[byte] >= 0;
  }
  if (options_.unknown) unknown_id_ = vocabulary_.find(*options_.unknown).value_or(-1);
  // The tokens of an unknown symbol depend on the next symbol in two cases: unknown symbols are fused, or
  // some bytes have no fallback token.
  const bool every_byte = std::find(fallback_ids_.begin(), fallback_ids_.end(), -1) == fallback_ids_.end();
  characters_alone_ = merges.empty() && options_.continuing_prefix.empty() &&
                      options_.end_of_word_suffix.empty() && !options_.ignore_merges &&
                      (options_.byte_fallback ? every_byte : !options_.fuse_unknown);
}

void Bpe::take_bytes() {
  bytes_ = true;
  byte_ranks_.resize(1 << 16);
  for (std::size_t pair = 0; pair < byte_ranks_.size(); ++pair)
    byte_ranks_[pair] = merges_.find(byte_ids_[pair >> 8], byte_ids_[pair & 0xFFu]).rank;
}

void Bpe::tokenize(std::string_view word, std::vector<Token>& tokens) const {
  if (options_.ignore_merges) {
    const auto whole = bytes_ ? vocabulary_.find(letters_of_bytes(word)) : vocabulary_.find(word);
    if (whole) {
      tokens.push_back({*whole, 0, static_cast<std::uint32_t>(word.size())});
      return;
    }
  }
  const std::size_t first = tokens.size();
  if (word.size() > kShortBytes) tokens.reserve(first + word.size());
  if (bytes_) {
    spell_bytes(word, tokens);
  } else {
    spell(word, tokens);
  }
  if (!bytes_) {
    merge_symbols([this](const Token& left, const Token& right) { return merges_.find(left.id, right.id); },
                  tokens, first);
    return;
  }
  const auto find = [this, word](const Token& left, const Token& right) {
    if (right.end - left.begin > 2) return merges_.find(left.id, right.id);
    const auto byte = [&](std::size_t i) {
      return static_cast<std::size_t>(static_cast<unsigned char>(word[i]));
    };
    const std::int32_t rank = byte_ranks_[byte(left.begin) << 8 | byte(right.begin)];
    return rank < 0 ? Merge{} : Merge{rank, joined_ids_[static_cast<std::size_t>(rank)]};
  };
  merge_symbols(find, tokens, first);
}

void Bpe::tokenize_ids(std::string_view word, std::vector<Token>& scratch, IdBuffer& ids) const {
  if (!bytes_ || !in_memo_ || word.size() > kShortBytes || options_.ignore_merges)
    return Model::tokenize_ids(word, scratch, ids);
  PairMemo& memo = PairMemo::of(owner_);
  merge_bytes(
      word, byte_ids_.data(),
      [&](std::uint8_t first, std::uint8_t second) {
        return byte_ranks_[static_cast<std::size_t>(first) << 8 | second];
      },
      [&](std::int32_t left, std::int32_t right, std::string_view) {
        return memo.find(left, right, [&] { return merges_.find(left, right).rank; });
      },
      [&](std::uint32_t rank) { return joined_ids_[rank]; }, ids);
}

void Bpe::spell_bytes(std::string_view word, std::vector<Token>& symbols) const {
  std::uint32_t place = 0;
  for (const char byte : word) {
    symbols.push_back({byte_ids_[static_cast<std::uint8_t>(byte)], place, place + 1});
    ++place;
  }
}

// Append the bytes of the symbol as <0x..> tokens. Returns false and appends nothing if one of these tokens
// is missing.
bool Bpe::spell_fallback(std::string_view symbol, std::uint32_t& place, std::vector<Token>& symbols) const {
  const auto id_of_byte = [this](char byte) { return fallback_ids_[static_cast<std::uint8_t>(byte)]; };
  if (std::any_of(symbol.begin(), symbol.end(), [&](char byte) { return id_of_byte(byte) < 0; }))
    return false;
  for (const char byte : symbol) {
    symbols.push_back({id_of_byte(byte), place, place + 1});
    ++place;
  }
  return true;
}

// As in the reference implementation, an unknown token is written after the byte tokens of the code points
// that follow it. The position of a token is the total size of the tokens written before it.
void Bpe::spell(std::string_view word, std::vector<Token>& symbols) const {
  std::uint32_t place = 0, unknown_size = 0;
  bool pending = false;
  const auto flush = [&] {
    if (!pending) return;
    symbols.push_back({unknown_id_, place, place + unknown_size});
    place += unknown_size;
    pending = false;
  };
  const bool decorated = !options_.continuing_prefix.empty() || !options_.end_of_word_suffix.empty();
  std::string spelled;
  for (std::size_t i = 0; i < word.size();) {
    const auto size = static_cast<std::size_t>(utf8::decode(word, i).size);
    std::string_view symbol = word.substr(i, size);
    if (decorated) {
      spelled.assign(i > 0 ? options_.continuing_prefix : "").append(symbol);
      if (i + size == word.size()) spelled.append(options_.end_of_word_suffix);
      symbol = spelled;
    }
    i += size;
    if (const auto id = vocabulary_.find(symbol)) {
      flush();
      symbols.push_back({*id, place, place + static_cast<std::uint32_t>(size)});
      place += static_cast<std::uint32_t>(size);
      continue;
    }
    if (options_.byte_fallback && spell_fallback(symbol, place, symbols)) continue;
    if (!options_.unknown) continue;
    if (unknown_id_ < 0)
      throw Error(ErrorKind::bad_file, "the tokenizer's unknown token is not in its vocabulary")
          .found(*options_.unknown)
          .remedy("Add the token to model.vocab, or set model.unk_token to null");
    if (!options_.fuse_unknown) flush();
    unknown_size =
        pending ? unknown_size + static_cast<std::uint32_t>(size) : static_cast<std::uint32_t>(size);
    pending = true;
  }
  flush();
}

Json Bpe::to_json() const {
  const auto or_null = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  Json json{{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", options_.unknown ? Json(*options_.unknown) : Json(nullptr)},
            {"continuing_subword_prefix", or_null(options_.continuing_prefix)},
            {"end_of_word_suffix", or_null(options_.end_of_word_suffix)},
            {"fuse_unk", options_.fuse_unknown},
            {"byte_fallback", options_.byte_fallback},
            {"ignore_merges", options_.ignore_merges}};
  json["vocab"] = write_vocabulary(vocabulary_);
  Json merges = Json::array();
  for (const auto& [left, right] : merge_list_)
    merges.push_back({*vocabulary_.token(left), *vocabulary_.token(right)});
  json["merges"] = std::move(merges);
  return json;
}

std::unique_ptr<Bpe> read_bpe(const ModelSource& source) {
  const Json& json = source.settings();
  const std::string& file = source.file();
  BpeOptions options;
  options.unknown = optional_value<std::string>(json, "unk_token", file);
  options.continuing_prefix =
      optional_value<std::string>(json, "continuing_subword_prefix", file).value_or("");
  options.end_of_word_suffix = optional_value<std::string>(json, "end_of_word_suffix", file).value_or("");
  options.fuse_unknown = optional_value<bool>(json, "fuse_unk", file).value_or(false);
  options.byte_fallback = optional_value<bool>(json, "byte_fallback", file).value_or(false);
  options.ignore_merges = optional_value<bool>(json, "ignore_merges", file).value_or(false);
  if (optional_value<double>(json, "dropout", file).value_or(0.0) != 0.0)
    throw file_error(file, "BPE dropout is not supported")
        .found("model.dropout " + describe(json.at("dropout")))
        .expected("null or 0")
        .remedy("Set model.dropout to null");
  const std::vector<MergeView> merges = source.merges();
  return std::make_unique<Bpe>(read_vocabulary(source), merges, std::move(options), file);
}

}  // namespace regard::text
