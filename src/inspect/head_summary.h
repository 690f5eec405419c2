// Summary of a head's attention in one pass, in numbers and words. Computed by summarize() in
// inspect/head_pattern.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace regard::inspect {

// Pattern of a head's attention: the positional pattern (previous to diagonal) that covers the largest share
// of the attention weight. If this share is below 40 %, the pattern is `spread` or `content`.
enum class Pattern : std::uint8_t {
  previous,   // attention to the preceding token (self-attention)
  next,       // attention to the following token (encoder self-attention)
  same,       // attention to the query's own token (self-attention)
  same_word,  // attention to other occurrences of the query's token (self-attention)
  // attention to the first token of the text, which often receives attention regardless of its content
  // (attention sink, Xiao et al. 2023)
  first,
  special,   // attention to special tokens such as separators (Clark et al. 2019)
  diagonal,  // attention to the source token at the same relative position, ± 1 (cross-attention)
  spread,    // nearly uniform attention weights: at least 90 % of the maximum entropy
  content,   // none of the patterns above
};

const char* name_of(Pattern pattern) noexcept;  // name of a pattern, such as "previous" or "same word"

// number of positional patterns: Pattern::previous to Pattern::diagonal
constexpr std::size_t kPositionalPatterns = 7;
// Share of the attention weight that each positional pattern covers (mean over the queries), indexed by
// Pattern. Patterns may overlap.
using PatternShares = std::array<double, kPositionalPatterns>;

struct HeadSummary {
  double entropy = 0;  // mean entropy over the queries, in bits
  // attention-weighted mean distance between query and key, in tokens or, in an image, in patches; 0 for
  // cross-attention
  double distance = 0;
  double spread = 0;  // entropy divided by the maximum entropy (of uniform weights), 0 to 1
  PatternShares shares{};
  Pattern pattern = Pattern::content;
  // share of the attention weight that the pattern covers, 0 to 1; for Pattern::spread, the value of `spread`
  double share = 0;
  // Score that orders heads for display, largest first. For each query, take the largest difference between a
  // key's attention weight and the key's mean weight over all queries; the score is the mean over the
  // queries. Special tokens are ignored as keys. Self-attention also ignores the first token, the query's own
  // position and the adjacent positions. For cross-attention, 1 is added, because cross-attention connects a
  // model's input and output.
  double telling = 0;
  std::string caption;  // one sentence that describes the head
};

}  // namespace regard::inspect
