// The n best segmentations of a text, by the Viterbi algorithm with a list of candidates at each position.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "text/model.h"

namespace regard::text {

// Return at most `most` segmentations of a text of `size` bytes, best first. Segmentations with equal scores
// are in the order in which the search finds them.
// pieces_at(begin, reach) must call reach(end, score, id) for every piece that starts at `begin`. It must
// return the next position at which a piece may start.
template <class Score, class PiecesAt>
std::vector<ScoredCut> best_cuts(std::size_t size, std::size_t most, const PiecesAt& pieces_at) {
  struct Way {
    Score score = 0;
    // position and rank of the segmentation to which this piece is appended
    std::uint32_t from = 0, rank = 0;
    std::int32_t id = 0;
  };
  std::vector<std::vector<Way>> ways(size + 1);
  ways[0].push_back({});
  for (std::size_t begin = 0; begin < size;) {
    const std::vector<Way>& here = ways[begin];
    begin = pieces_at(begin, [&](std::size_t end, Score score, std::int32_t id) {
      std::vector<Way>& there = ways[end];
      for (std::size_t rank = 0; rank < here.size(); ++rank) {
        const Way way{score + here[rank].score, static_cast<std::uint32_t>(begin),
                      static_cast<std::uint32_t>(rank), id};
        if (there.size() == most && !(way.score > there.back().score))
          break;  // no remaining candidate has a higher score
        const auto place = std::upper_bound(there.begin(), there.end(), way,
                                            [](const Way& a, const Way& b) { return a.score > b.score; });
        if (there.size() == most) {
          std::move_backward(place, there.end() - 1, there.end());
          *place = way;
        } else {
          there.insert(place, way);
        }
      }
    });
  }
  std::vector<ScoredCut> cuts;
  for (const Way& last : ways[size]) {
    ScoredCut cut{static_cast<double>(last.score), {}};
    auto end = static_cast<std::uint32_t>(size);
    for (const Way* way = &last; end > 0;) {
      cut.tokens.push_back({way->id, way->from, end});
      end = way->from;
      way = &ways[end][way->rank];
    }
    std::reverse(cut.tokens.begin(), cut.tokens.end());
    cuts.push_back(std::move(cut));
  }
  return cuts;
}

}  // namespace regard::text
