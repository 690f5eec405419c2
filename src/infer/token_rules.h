// What may come next, and what is made less likely, before a token is chosen: the rules of Hugging Face's
// generate() in its order (transformers' logits processors), over the scores of one row.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace regard::infer {

// Added to the score of the last token where the others stand before it.
struct SequenceBias {
  std::vector<std::int32_t> tokens;
  double bias = 0.0;
};

// From the step `start` + 1 on, s steps later: |score| · (factor^s − 1) is added to the score of end tokens.
struct EndingPressure {
  std::int64_t start = 0;
  double factor = 1.0;
};

// Ids below 0 and sizes of 0 are rules that are not there.
struct TokenRules {
  std::vector<SequenceBias> biases;         // each sequence once
  double encoder_repetition_penalty = 1.0;  // > 1: tokens of the source become more likely
  double repetition_penalty = 1.0;   // > 1: tokens that were there become less likely (Keskar et al. 2019)
  std::int64_t no_repeat_ngram = 0;  // no n tokens twice
  std::int64_t encoder_no_repeat_ngram = 0;  // no n tokens of the source (of a decoder alone: of the prompt)
  std::vector<std::vector<std::int32_t>>
      bad_words;                               // sequences that never appear; lone end tokens are let be
  std::int64_t min_length = 0;                 // tokens before an end token, prompt counted
  std::int64_t min_new = 0;                    // the same, prompt not counted
  std::int32_t forced_first = -1;              // behind a start token alone
  std::vector<std::int32_t> forced_last;       // where only one token is left
  std::optional<EndingPressure> ending;        // exponential_decay_length_penalty
  std::vector<std::int32_t> suppressed;        // never
  std::vector<std::int32_t> suppressed_first;  // not as the first token that is chosen freely
  bool renormalise = false;                    // log softmax of what all rules left; beams see it

  bool change_nothing() const;
  // Throws usage naming what does not fit a vocabulary of this size.
  void check(std::int64_t vocabulary) const;
};

// Where a row stands.
struct RuleContext {
  std::span<const std::int32_t> source;     // the encoder's, or the prompt
  std::span<const std::int32_t> prompt;     // the decoder's, start token counted
  std::span<const std::int32_t> generated;  // so far
  std::span<const std::int32_t> end_tokens;
  std::int64_t max_new = 0;
};

// Changes the scores [vocabulary] in place: logits for greedy search and sampling, log-probabilities for
// beams. What must not come becomes −∞. `history` is scratch that keeps its memory between calls.
void apply(const TokenRules& rules, const RuleContext& context, std::span<float> scores,
           std::vector<std::int32_t>& history);

}  // namespace regard::infer
