// The task "masked-language-model": predict masked tokens of a text with an encoder (Devlin et al. 2019).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "train/task.h"

namespace regard::train {

const TaskTraits& masked_language_model_traits();

enum class MaskUnit {
  token,
  word,  // mask all tokens of a word together (BERT's whole-word masking)
  // mask sequences of words whose lengths are drawn from a geometric distribution (SpanBERT, Joshi et al.
  // 2020)
  span,
};

struct MaskRules {
  MaskUnit unit = MaskUnit::word;
  double share = 0.15;  // fraction of the tokens to mask
  std::int32_t mask = -1;
  // A masked token becomes `mask` with probability 0.8, and a random id below `vocabulary` with probability
  // 0.1; otherwise it is unchanged.
  std::int64_t vocabulary = 0;
  std::uint64_t seed = 1;
};

// Mask some of the ids, at least one, and return the labels: the original id of each masked token, and
// kIgnoredLabel for other tokens. `starts` [tokens] is 1 where a word begins, −1 for special tokens and 0 for
// other tokens. The random draws depend only on the seed of `rules`, on `epoch` and on `example`.
std::vector<std::int32_t> mask_tokens(std::span<std::int32_t> ids, std::span<const std::int32_t> starts,
                                      const MaskRules& rules, std::uint64_t epoch, std::uint64_t example);

}  // namespace regard::train
