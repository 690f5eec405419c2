// Rules that forbid tokens or change their scores before a token is chosen: the logits processors of Hugging
// Face transformers' generate(), in its order, applied to the scores of one row.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace regard::infer {

// `bias` is added to the score of the last token of the sequence if the text ends with the other tokens of
// the sequence. As in transformers, a sequence of several tokens that is longer than the text has no effect.
struct SequenceBias {
  std::vector<std::int32_t> tokens;
  double bias = 0.0;
};

// Exponential length penalty: after `start` + s new tokens (s ≥ 1), |score| · (factor^s − 1) is added to the
// scores of end tokens.
struct EndingPressure {
  std::int64_t start = 0;
  double factor = 1.0;
};

// Whisper's rules for timestamp tokens (Radford et al. 2022, section 4.5), as in transformers'
// WhisperTimeStampLogitsProcessor: timestamps occur in pairs except before the end token, and they do not
// decrease. A timestamp is chosen if the total probability of all timestamps exceeds the probability of every
// other token.
struct TimestampRules {
  // id of the timestamp of 0 seconds; the token with id first − 1 ("no timestamps") is forbidden
  std::int32_t first = 0;
  std::int32_t end = 0;            // id of the end token; ids below it are text
  std::int64_t latest_first = -1;  // maximum index of the first timestamp; −1 means no limit
};

// The rules for the tokens of one request; names in parentheses are keys of generation_config.json. An id
// below 0 or a size of 0 disables a rule.
struct TokenRules {
  std::vector<SequenceBias> biases;         // biases of token sequences; no sequence occurs twice
  double encoder_repetition_penalty = 1.0;  // values above 1 make tokens of the source more likely
  double repetition_penalty = 1.0;  // values above 1 make earlier tokens less likely (Keskar et al. 2019)
  // The penalties of OpenAI's API, subtracted from the score of a token that was already generated:
  // presence_penalty once, and frequency_penalty once per occurrence.
  double presence_penalty = 0.0, frequency_penalty = 0.0;
  std::int64_t no_repeat_ngram = 0;          // size of n-grams that must not occur twice
  std::int64_t encoder_no_repeat_ngram = 0;  // size of n-grams of the source that must not occur
  // forbidden sequences, with the condition of SequenceBias; a sequence that consists of a single end token
  // is ignored
  std::vector<std::vector<std::int32_t>> bad_words;
  // Minimum number of tokens before an end token: min_length counts the prompt, min_new does not. As in
  // transformers, min_length has no effect if min_new is not 0.
  std::int64_t min_length = 0, min_new = 0;
  std::int32_t forced_first = -1;         // token forced after the start token (forced_bos_token_id)
  std::vector<std::int32_t> forced_last;  // tokens allowed as new token number max_new (forced_eos_token_id)
  std::optional<EndingPressure> ending;   // length penalty (exponential_decay_length_penalty)
  std::vector<std::int32_t> suppressed;   // forbidden tokens (suppress_tokens)
  // tokens forbidden as the first new token, or as the second if forced_first is the first
  // (begin_suppress_tokens)
  std::vector<std::int32_t> suppressed_first;
  bool renormalise = false;  // apply log softmax after all rules; affects beam scores
  // rules for timestamps, applied after all other rules except `renormalise`
  std::optional<TimestampRules> timestamps;
  // If true, report log-probabilities after the rules; if false, before the rules. No effect on beam
  // searches, which always report log-probabilities after the rules.
  bool scores_after_rules = false;

  bool change_nothing() const;
  // Throws usage naming the rule that is invalid for a vocabulary of this size.
  void check(std::int64_t vocabulary) const;
};

// The inputs of the rules for one row.
struct RuleContext {
  std::span<const std::int32_t> source;     // the encoder's input; for decoder-only models, the prompt
  std::span<const std::int32_t> prompt;     // the decoder's prompt, including the start token
  std::span<const std::int32_t> generated;  // new tokens so far
  std::span<const std::int32_t> end_tokens;
  std::int64_t max_new = 0;
};

// Apply the rules in place to scores [vocabulary]: logits for greedy search and sampling, log-probabilities
// for beam search. Forbidden tokens become −∞; `buffer` is reused between calls.
void apply(const TokenRules& rules, const RuleContext& context, std::span<float> scores,
           std::vector<std::int32_t>& buffer);

}  // namespace regard::infer
