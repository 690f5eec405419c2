#include "text/unigram.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/utf8.h"
#include "text/best_cuts.h"
#include "text/lattice.h"

namespace regard::text {
namespace {

// The best segmentation up to a position: its score, the previous position and the last piece.
struct Arrival {
  double score = 0;
  std::int32_t from = -1;  // −1 if no piece has reached this position
  std::int32_t id = 0;
};

}  // namespace

Unigram::Unigram(std::span<const ScoredPieceView> pieces, std::optional<std::int32_t> unknown,
                 bool byte_fallback, const std::string& file)
    : unknown_(unknown), byte_fallback_(byte_fallback) {
  if (unknown && (*unknown < 0 || static_cast<std::size_t>(*unknown) >= pieces.size()))
    throw file_error(file, "unk_id is not the id of a piece")
        .found(std::to_string(*unknown))
        .expected(fmt::format("an id from 0 to {}", static_cast<std::int64_t>(pieces.size()) - 1));
  std::vector<TokenView> strings;
  strings.reserve(pieces.size());
  scores_.reserve(pieces.size());
  double worst = std::numeric_limits<double>::infinity();
  for (std::size_t id = 0; id < pieces.size(); ++id) {
    strings.push_back({pieces[id].piece, static_cast<std::int32_t>(id)});
    scores_.push_back(pieces[id].score);
    worst = std::min(worst, pieces[id].score);
  }
  vocabulary_.add_all(strings);
  trie_ = ByteTrie(strings);
  unknown_score_ = worst - kUnknownPenalty;
  for (int byte = 0; byte < 256; ++byte)
    fallback_ids_[byte] = vocabulary_.find(fmt::format("<0x{:02X}>", byte)).value_or(-1);
}

// Call reach(end, score, id) for every piece that starts at `begin`, and for the unknown token if the
// character at `begin` is not a piece itself. Return the position of the next character.
template <class Reach>
std::size_t Unigram::pieces_at(std::string_view word, std::size_t begin, const Reach& reach) const {
  const std::size_t size = static_cast<unsigned char>(word[begin]) < 0x80
                               ? 1
                               : static_cast<std::size_t>(utf8::decode(word, begin).size);
  bool single = false;  // true if the first code point alone is a piece
  std::int32_t node = ByteTrie::kRoot;
  for (std::size_t end = begin; !trie_.empty() && end < word.size();) {
    node = trie_.child(node, word[end++]);
    if (node == ByteTrie::kNone) break;
    const std::int32_t id = trie_.value(node);
    if (id < 0) continue;
    reach(end, scores_[static_cast<std::size_t>(id)], id);
    single = single || end - begin == size;
  }
  if (!single) {
    if (!unknown_)
      throw Error(ErrorKind::bad_file, "the text has an unknown piece and the tokenizer has no unk_id")
          .found("'" + std::string(word.substr(begin, size)) + "'")
          .remedy("Set model.unk_id, or remove the piece from the text");
    reach(begin + size, unknown_score_, *unknown_);
  }
  return begin + size;
}

template <class Push>
void Unigram::spell_unknown(std::string_view word, std::size_t begin, std::size_t end,
                            const Push& push) const {
  const std::string_view stretch = word.substr(begin, end - begin);
  if (const auto known = vocabulary_.find(stretch)) return push(*known, begin, end);
  const bool spelled = byte_fallback_ && std::all_of(stretch.begin(), stretch.end(), [this](char byte) {
                         return fallback_ids_[static_cast<std::uint8_t>(byte)] >= 0;
                       });
  if (!spelled) return push(*unknown_, begin, end);
  for (const char byte : stretch) push(fallback_ids_[static_cast<std::uint8_t>(byte)], begin, end);
}

// Merges adjacent unknown characters into one token, or encodes them as bytes.
template <class Push>
class Unigram::Namer {
 public:
  Namer(const Unigram& model, std::string_view word, const Push& push)
      : model_(model), word_(word), push_(push), from_(word.size()) {}
  void take(std::int32_t id, std::size_t begin, std::size_t end) {
    if (model_.unknown_ && id == *model_.unknown_) {
      from_ = std::min(from_, begin);
      to_ = end;
      return;
    }
    close();
    push_(id, begin, end);
  }
  void close() {
    if (from_ < word_.size()) model_.spell_unknown(word_, from_, to_, push_);
    from_ = word_.size();
  }

 private:
  const Unigram& model_;
  std::string_view word_;
  const Push& push_;
  std::size_t from_, to_ = 0;  // range of adjacent unknown characters that are not yet passed to push_
};

template <class Push>
void Unigram::cut(std::string_view word, const Push& push) const {
  thread_local Lattice<Arrival> lattice;
  const auto extend = [&](std::size_t begin, double so_far) {
    return pieces_at(word, begin, [&](std::size_t end, double score, std::int32_t id) {
      Arrival& place = lattice.reach(end);
      if (place.from < 0 || score + so_far > place.score) place = {score + so_far, lattice.from(begin), id};
    });
  };
  Namer<Push> namer(*this, word, push);
  lattice.solve(word.size(), 0, extend, [&](std::size_t begin, std::size_t end, const Arrival& arrival) {
    namer.take(arrival.id, begin, end);
  });
  namer.close();
}

std::vector<ScoredCut> Unigram::best_ways(std::string_view word, std::size_t most) const {
  std::vector<ScoredCut> ways = best_cuts<double>(
      word.size(), most, [&](std::size_t begin, const auto& reach) { return pieces_at(word, begin, reach); });
  for (ScoredCut& way : ways) {
    std::vector<Token> named;
    const auto push = [&](std::int32_t id, std::size_t begin, std::size_t end) {
      named.push_back({id, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
    };
    Namer<decltype(push)> namer(*this, word, push);
    for (const Token& token : way.tokens) namer.take(token.id, token.begin, token.end);
    namer.close();
    way.tokens = std::move(named);
  }
  return ways;
}

void Unigram::tokenize(std::string_view word, std::vector<Token>& tokens) const {
  cut(word, [&](std::int32_t id, std::size_t begin, std::size_t end) {
    tokens.push_back({id, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
  });
}

void Unigram::tokenize_ids(std::string_view word, std::vector<Token>&, IdBuffer& ids) const {
  cut(word, [&](std::int32_t id, std::size_t, std::size_t) { ids.push(id); });
}

std::optional<std::string> Unigram::token_of(std::int32_t id) const {
  const auto token = vocabulary_.token(id);
  if (!token) return std::nullopt;
  return std::string(*token);
}

std::string Unigram::spelling(const Token& token, std::string_view word) const {
  if (unknown_ && token.id == *unknown_)
    return std::string(word.substr(token.begin, token.end - token.begin));
  return token_of(token.id).value_or("");
}

Json Unigram::to_json() const {
  Json pieces = Json::array();
  for (std::int32_t id = 0; id < end_id(); ++id)
    pieces.push_back({token_of(id).value_or(""), scores_[static_cast<std::size_t>(id)]});
  return {{"type", "Unigram"},
          {"unk_id", unknown_ ? Json(*unknown_) : Json(nullptr)},
          {"vocab", std::move(pieces)},
          {"byte_fallback", byte_fallback_}};
}

std::unique_ptr<Model> read_unigram(const ModelSource& source) {
  const Json& json = source.settings();
  const std::string& file = source.file();
  const std::vector<ScoredPieceView> pieces = source.pieces();
  if (pieces.size() > static_cast<std::size_t>(Vocabulary::kMaxId))
    throw file_error(file, "model.vocab has too many pieces")
        .found(std::to_string(pieces.size()))
        .expected("at most " + std::to_string(Vocabulary::kMaxId));
  return std::make_unique<Unigram>(pieces, optional_value<std::int32_t>(json, "unk_id", file),
                                   optional_value<bool>(json, "byte_fallback", file).value_or(false), file);
}

}  // namespace regard::text
