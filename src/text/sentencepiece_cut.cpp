// Segmentation of a normalised text by sentencepiece's four model types.
#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "base/utf8.h"
#include "text/best_cuts.h"
#include "text/lattice.h"
#include "text/merge.h"
#include "text/sentencepiece.h"

namespace regard::text {
namespace {

Token token(std::int32_t id, std::size_t begin, std::size_t end) {
  return {id, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
}

}  // namespace

// The best segmentation up to a position. Scores are summed in f32, as in sentencepiece.
struct SentencePieceModel::Arrival {
  float score = 0;
  // start of the last piece, as an offset in the window of Lattice; −1 if no segmentation was found
  std::int32_t from = -1;
  std::int32_t id = 0;
  float second = -std::numeric_limits<float>::infinity();  // score of the second-best segmentation
};

// Return the size in bytes of the longest user-defined piece at the start of `text`, or the size of one code
// point if there is none. `frozen` is set to true for a user-defined piece, because such a piece is never
// merged with others.
std::size_t SentencePieceModel::symbol_size(std::string_view text, bool& frozen) const {
  const std::size_t size = user_defined_.longest(text).first;
  frozen = size > 0;
  return frozen ? size : static_cast<std::size_t>(utf8::decode(text, 0).size);
}

void SentencePieceModel::cut_whole(std::string_view word, std::vector<Token>& cuts) const {
  switch (options_.kind) {
    case SentencePieceOptions::Kind::unigram:
      return cut_unigram(word, cuts);
    case SentencePieceOptions::Kind::bpe:
      return cut_bpe(word, cuts);
    case SentencePieceOptions::Kind::word:
      return cut_words(word, cuts);
    case SentencePieceOptions::Kind::character:
      return cut_characters(word, cuts);
  }
}

// Call reach(end, score, id) for every piece that starts at `begin`, and for the unknown piece if the code
// point at `begin` is not a piece itself. Return the end of that code point.
template <class Reach>
std::size_t SentencePieceModel::pieces_at(std::string_view word, std::size_t begin,
                                          const Reach& reach) const {
  const auto size = static_cast<std::size_t>(utf8::decode(word, begin).size);
  bool single = false;
  std::int32_t node = ByteTrie::kRoot;
  for (std::size_t end = begin; !trie_.empty() && end < word.size();) {
    node = trie_.child(node, word[end++]);
    if (node == ByteTrie::kNone) break;
    const std::int32_t id = trie_.value(node);
    if (id < 0) continue;
    const float score = scores_[static_cast<std::size_t>(id)];
    if (std::isnan(score)) continue;  // skip unused pieces
    reach(end, score, id);
    single = single || end - begin == size;
  }
  if (!single) reach(begin + size, unknown_score_, unknown_id_);
  return begin + size;
}

std::vector<ScoredCut> SentencePieceModel::best_ways(std::string_view word, std::size_t most) const {
  if (options_.kind != SentencePieceOptions::Kind::unigram) return Model::best_ways(word, most);
  const auto extend = [&](std::size_t begin, const auto& reach) {
    return pieces_at(word, begin, [&](std::size_t end, float score, std::int32_t id) {
      if (has_type(id, PieceType::user_defined))
        score = user_defined_score(utf8::count(word.substr(begin, end - begin)));
      reach(end, score, id);
    });
  };
  std::vector<ScoredCut> ways = best_cuts<float>(word.size(), most, extend);
  for (ScoredCut& way : ways) {
    const std::vector<Token> cuts = std::move(way.tokens);
    way.tokens.clear();
    name_unknown(word, cuts, way.tokens);
  }
  return ways;
}

template <class Take>
void SentencePieceModel::walk_best(std::string_view word, float so_far, const Take& take) const {
  thread_local Lattice<Arrival> lattice;
  const auto arrive = [](std::size_t end, float score, std::size_t from, std::int32_t id) {
    Arrival& place = lattice.reach(end);
    if (place.from >= 0 && score <= place.score) {
      place.second = std::max(place.second, score);
    } else {
      const float second = place.from >= 0 ? place.score : place.second;
      place = {score, lattice.from(from), id, second};
    }
  };
  const auto extend = [&](std::size_t begin, float score_here) {
    return pieces_at(word, begin, [&](std::size_t end, float score, std::int32_t id) {
      arrive(end, score + score_here, begin, id);
    });
  };
  lattice.solve(word.size(), so_far, extend, take);
}

void SentencePieceModel::cut_unigram(std::string_view word, std::vector<Token>& cuts) const {
  walk_best(word, 0, [&](std::size_t begin, std::size_t end, const Arrival& arrival) {
    cuts.push_back(token(arrival.id, begin, end));
  });
}

float SentencePieceModel::cut(std::string_view part, float so_far, IdBuffer& items,
                              const Settled& settled) const {
  constexpr std::size_t kMany = 1 << 14;
  float margin = std::numeric_limits<float>::infinity();
  bool after_unknown = false;
  walk_best(part, so_far, [&](std::size_t begin, std::size_t end, const Arrival& arrival) {
    margin = std::min(margin, arrival.score - arrival.second);
    const bool unknown = arrival.id == unknown_id_;
    if (!unknown) {
      items.push(arrival.id);
    } else {
      if (!after_unknown && !options_.byte_fallback) items.push(silent(unknown_id_));
      for (std::size_t i = begin; options_.byte_fallback && i < end; ++i)
        items.push(silent(byte_ids_[static_cast<std::uint8_t>(part[i])]));
      if (after_unknown && !items.ids().empty() && is_unknown_scores(items.last())) {
        --items.last();
      } else {
        items.push(unknown_scores(1));
      }
    }
    after_unknown = unknown;
    if (settled && items.ids().size() >= kMany) settled();
  });
  return margin;
}

void SentencePieceModel::cut_bpe(std::string_view word, std::vector<Token>& cuts) const {
  // A symbol has the id kFrozen if it must not be merged. Pairs are merged in the order of decreasing scores.
  constexpr std::int32_t kFrozen = -2, kFree = -1;
  std::vector<Token> symbols;
  symbols.reserve(utf8::count(word));
  for (std::size_t place = 0; place < word.size();) {
    bool frozen = false;
    const std::size_t size = symbol_size(word.substr(place), frozen);
    symbols.push_back(token(frozen ? kFrozen : kFree, place, place + size));
    place += size;
  }
  using Halves = std::pair<std::string_view, std::string_view>;
  // the two pieces from which each unused piece was merged
  std::unordered_map<std::string_view, Halves> unused;
  const auto text_of_token = [&](const Token& symbol) {
    return word.substr(symbol.begin, symbol.end - symbol.begin);
  };
  const auto find_merge = [&](const Token& left, const Token& right) -> Merge {
    if (left.id == kFrozen || right.id == kFrozen) return {};
    const std::string_view piece = word.substr(left.begin, right.end - left.begin);
    const auto id = searched_.find(piece);
    if (!id) return {};
    if (has_type(*id, PieceType::unused)) unused[piece] = {text_of_token(left), text_of_token(right)};
    return {bpe_ranks_[static_cast<std::size_t>(*id)], kFree};
  };
  merge_symbols(find_merge, symbols, 0);
  cuts.reserve(cuts.size() + symbols.size());
  std::vector<std::string_view> open;
  for (const Token& symbol : symbols) {
    open.assign(1, text_of_token(symbol));
    while (!open.empty()) {
      const std::string_view piece = open.back();
      open.pop_back();
      const std::int32_t id = find(piece);
      const auto halves = has_type(id, PieceType::unused) ? unused.find(piece) : unused.end();
      if (halves == unused.end()) {
        const auto begin = static_cast<std::size_t>(piece.data() - word.data());
        cuts.push_back(token(id, begin, begin + piece.size()));
      } else {
        open.push_back(halves->second.second);
        open.push_back(halves->second.first);
      }
    }
  }
}

void SentencePieceModel::cut_words(std::string_view word, std::vector<Token>& cuts) const {
  std::size_t begin = 0;
  const auto close = [&](std::size_t end) {
    if (begin < end) cuts.push_back(token(find(word.substr(begin, end - begin)), begin, end));
    begin = end;
  };
  for (std::size_t place = 0; place < word.size();) {
    const bool space = word.substr(place).starts_with(kSpaceSymbol);
    const std::size_t next = place + static_cast<std::size_t>(utf8::decode(word, place).size);
    if (space) close(place);  // split before the space symbol, even if whitespace_as_suffix is set
    place = next;
  }
  close(word.size());
}

void SentencePieceModel::cut_characters(std::string_view word, std::vector<Token>& cuts) const {
  for (std::size_t place = 0; place < word.size();) {
    bool frozen = false;
    const std::size_t size = symbol_size(word.substr(place), frozen);
    cuts.push_back(token(find(word.substr(place, size)), place, place + size));
    place += size;
  }
}

}  // namespace regard::text
