// The n best segmentations of a text, computed from the best segmentations of its words.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "text/pieces.h"
#include "text/tokenizer_parts.h"

namespace regard::text {
namespace {

using ScoredIds = Tokenizer::ScoredIds;

// Combine each segmentation in `before` with each segmentation of the next word, and keep the best `most`.
std::vector<ScoredIds> joined(const std::vector<ScoredIds>& before, const std::vector<ScoredCut>& next,
                              std::size_t most) {
  struct Pair {
    double score;
    std::size_t first, second;
  };
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < before.size(); ++i)
    for (std::size_t j = 0; j < next.size() && (i + 1) * (j + 1) <= most;
         ++j)  // skip a pair if at least `most` other pairs have the same or a higher score
      pairs.push_back({before[i].score + next[j].score, i, j});
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const Pair& a, const Pair& b) { return a.score > b.score; });
  if (pairs.size() > most) pairs.resize(most);
  std::vector<ScoredIds> all;
  for (const Pair& pair : pairs) {
    ScoredIds ids = before[pair.first];
    ids.score = pair.score;
    for (const Token& token : next[pair.second].tokens) ids.ids.push_back(token.id);
    all.push_back(std::move(ids));
  }
  return all;
}

}  // namespace

std::vector<ScoredIds> Tokenizer::encode_nbest(std::string_view text, std::size_t most,
                                               bool match_special) const {
  constexpr std::size_t kMost = 1024;
  if (most < 1 || most > kMost)
    throw usage_error("the number of segmentations is out of range")
        .found(std::to_string(most))
        .expected(fmt::format("1 to {}", kMost));
  Pieces pieces(text, false);
  parts_->cut(pieces, match_special);
  std::vector<ScoredIds> ways(1);
  for (const Piece& piece : pieces.list()) {
    if (piece.token >= 0) {
      for (ScoredIds& way : ways) way.ids.push_back(piece.token);
    } else {
      ways = joined(ways, parts_->model->best_ways(pieces.text_of(piece), most), most);
    }
  }
  return ways;
}

}  // namespace regard::text
