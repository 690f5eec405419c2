#include "text/sentencepiece.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/utf8.h"
#include "text/decoders.h"

namespace regard::text {
namespace {}  // namespace

SentencePieceModel::SentencePieceModel(std::vector<SentencePiece> pieces, SentencePieceOptions options,
                                       const std::string& file)
    : pieces_(std::move(pieces)), options_(std::move(options)) {
  std::fill(std::begin(byte_ids_), std::end(byte_ids_), -1);
  std::vector<TokenView> all, user_defined;
  bool scored = false;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const SentencePiece& piece = pieces_[i];
    const auto id = static_cast<std::int32_t>(i);
    const auto wrong = [&](const char* what) {
      return file_error(file, what).found(fmt::format("piece {} '{}'", i, piece.piece));
    };
    if (piece.piece.empty()) throw wrong("a piece is empty");
    const bool searched = piece.type == PieceType::normal || piece.type == PieceType::user_defined ||
                          piece.type == PieceType::unused;
    Vocabulary& home = searched ? searched_ : reserved_;
    if (home.find(piece.piece)) throw wrong("duplicate piece");
    home.add(piece.piece, id);
    if (searched) all.push_back({piece.piece, id});
    if (piece.type == PieceType::user_defined) user_defined.push_back({piece.piece, id});
    if (piece.type == PieceType::unknown) {
      if (unknown_id_ >= 0) throw wrong("more than one unknown piece");
      unknown_id_ = id;
    }
    if (piece.type == PieceType::normal) {
      least_ = scored ? std::min(least_, piece.score) : piece.score;
      scored = true;
    }
  }
  if (unknown_id_ < 0) throw file_error(file, "expected a piece of type UNKNOWN, such as <unk>, found none");
  for (const SentencePiece& piece : pieces_)
    if (std::isnan(piece.score))
      throw file_error(file, "the score of piece '" + piece.piece + "' is not a number")
          .found("NaN")
          .expected("a number");
  rank_pieces();
  set_scores();
  trie_ = ByteTrie(all);
  user_defined_ = ByteTrie(user_defined);
  for (int byte = 0; options_.byte_fallback && byte < 256; ++byte) {
    const std::string name = fmt::format("<0x{:02X}>", byte);
    const auto id = reserved_.find(name);
    if (!id || !has_type(*id, PieceType::byte))
      throw file_error(file, "a byte piece is missing").expected(name);
    byte_ids_[byte] = *id;
  }
  for (const SentencePiece& piece : pieces_)
    if (piece.type == PieceType::byte && byte_of_name(piece.piece) < 0)
      throw file_error(file, "a byte piece does not name a byte")
          .found(piece.piece)
          .expected("a name such as <0x41>");
}

void SentencePieceModel::set_scores() {
  constexpr float kUnknownMargin = 10.0F;
  unknown_score_ = least_ - kUnknownMargin;
  largest_score_ = std::abs(unknown_score_);
  apart_ = searched_.find(kSpaceSymbol).has_value();
  for (const SentencePiece& piece : pieces_) {
    const bool searched = piece.type == PieceType::normal || piece.type == PieceType::user_defined;
    const float score =
        piece.type == PieceType::user_defined ? user_defined_score(piece.piece.size()) : piece.score;
    scores_.push_back(searched ? score : std::numeric_limits<float>::quiet_NaN());
    if (!searched) continue;
    largest_score_ = std::max(largest_score_, std::abs(score));
    apart_ = apart_ && piece.piece.find(kSpaceSymbol, 1) == std::string::npos;
  }
}

// The score increases with the length, and scores of normal pieces are usually negative. The search therefore
// prefers the longest user-defined piece. The formula is that of sentencepiece 0.2.3.
float SentencePieceModel::user_defined_score(std::size_t length) {
  return static_cast<float>(0.1 * static_cast<double>(length - 1));
}

void SentencePieceModel::rank_pieces() {
  std::vector<std::int32_t> order(pieces_.size());
  std::iota(order.begin(), order.end(), 0);
  const auto score = [this](std::int32_t id) { return pieces_[static_cast<std::size_t>(id)].score; };
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return score(a) > score(b); });
  bpe_ranks_.assign(pieces_.size(), 0);
  std::int32_t rank = 0;
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (score(order[i]) < score(order[i - 1])) ++rank;
    bpe_ranks_[static_cast<std::size_t>(order[i])] = rank;
  }
}

std::int32_t SentencePieceModel::find(std::string_view piece) const {
  if (const auto id = reserved_.find(piece)) return *id;
  return searched_.find(piece).value_or(unknown_id_);
}

std::optional<std::int32_t> SentencePieceModel::id_of(std::string_view token) const {
  if (const auto id = reserved_.find(token)) return id;
  return searched_.find(token);
}

std::optional<std::string> SentencePieceModel::token_of(std::int32_t id) const {
  if (id < 0 || id >= end_id()) return std::nullopt;
  return pieces_[static_cast<std::size_t>(id)].piece;
}

std::string SentencePieceModel::spelling(const Token& token, std::string_view word) const {
  if (token.id == unknown_id_) return std::string(word.substr(token.begin, token.end - token.begin));
  return token_of(token.id).value_or("");
}

// Segment the word. Then encode unknown characters as bytes, or merge adjacent unknown characters into one
// token.
void SentencePieceModel::tokenize(std::string_view word, std::vector<Token>& tokens) const {
  thread_local std::vector<Token> cuts;
  cuts.clear();
  cut_whole(word, cuts);
  name_unknown(word, cuts, tokens);
}

void SentencePieceModel::name_unknown(std::string_view word, const std::vector<Token>& cuts,
                                      std::vector<Token>& tokens) const {
  bool after_unknown = false;
  for (const Token& cut : cuts) {
    const bool unknown = cut.id == unknown_id_;
    if (unknown && options_.byte_fallback) {
      // The last byte token covers the whole range of the character; the ranges of the others are empty.
      for (std::uint32_t i = cut.begin; i < cut.end; ++i)
        tokens.push_back({byte_ids_[static_cast<std::uint8_t>(word[i])], cut.begin,
                          i + 1 == cut.end ? cut.end : cut.begin});
    } else if (unknown && after_unknown) {
      tokens.back().end = cut.end;
    } else {
      tokens.push_back(cut);
    }
    after_unknown = unknown;
  }
}

void SentencePieceModel::tokenize_ids(std::string_view word, std::vector<Token>& scratch,
                                      IdBuffer& ids) const {
  scratch.clear();
  cut_whole(word, scratch);
  bool after_unknown = false;
  for (const Token& cut : scratch) {
    const bool unknown = cut.id == unknown_id_;
    if (unknown && options_.byte_fallback) {
      for (std::uint32_t i = cut.begin; i < cut.end; ++i)
        ids.push(byte_ids_[static_cast<std::uint8_t>(word[i])]);
    } else if (!unknown || !after_unknown) {
      ids.push(cut.id);
    }
    after_unknown = unknown;
  }
}

// Return the text of one piece, without a leading space if `at_start` is set and the options require this.
// The returned flag is true if the next piece must keep its leading space: a space was removed and
// remove_extra_whitespace is off.
std::pair<std::string, bool> SentencePieceModel::text_of(std::int32_t id, bool at_start) const {
  if (is_control(id)) return {"", false};
  if (id == unknown_id_) return {options_.unknown_surface, false};
  std::string_view piece = pieces_[static_cast<std::size_t>(id)].piece;
  bool space_left_out = false;
  if (at_start && (options_.dummy_prefix || options_.remove_extra_whitespace) &&
      piece.starts_with(kSpaceSymbol)) {
    piece.remove_prefix(kSpaceSymbol.size());
    space_left_out = !options_.remove_extra_whitespace;
  }
  std::string text;
  for (std::size_t i = 0; i < piece.size();) {
    const bool space = piece.substr(i).starts_with(kSpaceSymbol);
    text.append(space ? " " : piece.substr(i, 1));
    i += space ? kSpaceSymbol.size() : 1;
  }
  return {std::move(text), space_left_out};
}

std::optional<std::string> SentencePieceModel::decode(std::span<const std::int32_t> ids) const {
  std::string text, bytes;
  bool at_start = true, space_left_out = false;
  const auto flush = [&] {
    for (std::size_t i = 0; i < bytes.size();) {
      const utf8::Decoded symbol = utf8::decode(bytes, i);
      const std::size_t size = symbol.valid ? static_cast<std::size_t>(symbol.size) : 1;
      text.append(symbol.valid ? std::string_view(bytes).substr(i, size) : "\uFFFD");
      i += size;
    }
    bytes.clear();
  };
  for (const std::int32_t id : ids) {
    if (id < 0 || id >= end_id()) continue;
    if (has_type(id, PieceType::byte)) {
      bytes.push_back(static_cast<char>(byte_of_name(pieces_[static_cast<std::size_t>(id)].piece)));
      continue;
    }
    flush();
    if (space_left_out || !text.empty()) at_start = false;
    auto [piece, left_out] = text_of(id, at_start);
    space_left_out = left_out;
    text.append(piece);
  }
  flush();
  return text;
}

Json SentencePieceModel::to_json() const {
  Json pieces = Json::array();
  for (const SentencePiece& piece : pieces_)
    pieces.push_back({piece.piece, piece.score, static_cast<int>(piece.type)});
  return {{"type", "SentencePiece"},
          {"model_type", static_cast<int>(options_.kind)},
          {"byte_fallback", options_.byte_fallback},
          {"treat_whitespace_as_suffix", options_.whitespace_as_suffix},
          {"add_dummy_prefix", options_.dummy_prefix},
          {"remove_extra_whitespaces", options_.remove_extra_whitespace},
          {"escape_whitespaces", options_.escape_whitespace},
          {"unk_surface", options_.unknown_surface},
          {"pieces", std::move(pieces)}};
}

std::unique_ptr<SentencePieceModel> read_sentencepiece_pieces(const Json& json, const std::string& file) {
  SentencePieceOptions options;
  options.kind = static_cast<SentencePieceOptions::Kind>(require_in<int>(json, "model_type", file, 1, 4));
  options.byte_fallback = require<bool>(json, "byte_fallback", file);
  options.whitespace_as_suffix = require<bool>(json, "treat_whitespace_as_suffix", file);
  options.dummy_prefix = require<bool>(json, "add_dummy_prefix", file);
  options.remove_extra_whitespace = require<bool>(json, "remove_extra_whitespaces", file);
  options.escape_whitespace = require<bool>(json, "escape_whitespaces", file);
  options.unknown_surface = require<std::string>(json, "unk_surface", file);
  std::vector<SentencePiece> pieces;
  for (const Json& entry : require<std::vector<Json>>(json, "pieces", file)) {
    if (!entry.is_array() || entry.size() != 3)
      throw file_error(file, "malformed piece").found(describe(entry)).expected("[TEXT, SCORE, TYPE]");
    const int type = json_as<int>(entry[2], "type", file);
    if (type < 1 || type > 6)
      throw file_error(file, "a piece has an unknown type")
          .found(std::to_string(type))
          .expected("a number from 1 to 6");
    pieces.push_back({json_as<std::string>(entry[0], "piece", file), json_as<float>(entry[1], "score", file),
                      static_cast<PieceType>(type)});
  }
  return std::make_unique<SentencePieceModel>(std::move(pieces), std::move(options), file);
}

}  // namespace regard::text
