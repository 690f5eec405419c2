#include "infer/token_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "regard/error.h"

namespace regard::infer {
namespace {

using Ids = std::span<const std::int32_t>;

constexpr float kNever = -std::numeric_limits<float>::infinity();

void ban(std::span<float> scores, Ids ids) {
  for (const std::int32_t id : ids) scores[static_cast<std::size_t>(id)] = kNever;
}

// Call visit(token, count) for each different token in `seen`. `buffer` has room for a sorted copy of `seen`.
template <class Visit>
void count_tokens(Ids seen, std::span<std::int32_t> buffer, const Visit& visit) {
  const std::span<std::int32_t> sorted = buffer.first(seen.size());
  std::copy(seen.begin(), seen.end(), sorted.begin());
  std::sort(sorted.begin(), sorted.end());
  for (auto first = sorted.begin(); first != sorted.end();) {
    const auto end = std::find_if(first, sorted.end(), [first](std::int32_t id) { return id != *first; });
    visit(static_cast<std::size_t>(*first), end - first);
    first = end;
  }
}

// Lower the score of each token in `seen` (raise it if penalty < 1). The number of occurrences has no effect.
void penalise(std::span<float> scores, Ids seen, double penalty, std::span<std::int32_t> buffer) {
  const auto factor = static_cast<float>(penalty);
  count_tokens(seen, buffer, [&](std::size_t token, std::ptrdiff_t) {
    float& score = scores[token];
    score = score < 0.0f ? score * factor : score / factor;
  });
}

// Lower the score of each generated token by `presence` + `frequency` × its number of occurrences.
void penalise_generated(std::span<float> scores, Ids generated, const TokenRules& rules,
                        std::span<std::int32_t> buffer) {
  count_tokens(generated, buffer, [&](std::size_t token, std::ptrdiff_t count) {
    scores[token] -=
        static_cast<float>(rules.presence_penalty + rules.frequency_penalty * static_cast<double>(count));
  });
}

// Forbid each token that, appended to `history`, would complete an n-gram that occurs in `where`.
void ban_ngrams(std::span<float> scores, Ids where, Ids history, std::int64_t size) {
  if (size <= 0 || std::ssize(history) + 1 < size) return;
  const auto prefix = static_cast<std::size_t>(size - 1);
  const Ids begun = history.last(prefix);
  for (std::size_t i = 0; i + prefix < where.size(); ++i)
    if (std::equal(begun.begin(), begun.end(), where.begin() + static_cast<std::ptrdiff_t>(i)))
      scores[static_cast<std::size_t>(where[i + prefix])] = kNever;
}

// Return true if `history` ends with `begun`, the sequence of a rule without its last token. As in
// transformers, a sequence of several tokens has no effect if it is longer than the history.
bool stands_before(Ids begun, Ids history) {
  return (begun.empty() || begun.size() < history.size()) &&
         std::equal(begun.begin(), begun.end(), history.end() - static_cast<std::ptrdiff_t>(begun.size()));
}

void ban_words(std::span<float> scores, const TokenRules& rules, Ids history, Ids end_tokens) {
  for (const std::vector<std::int32_t>& word : rules.bad_words) {
    const Ids begun = Ids(word).first(word.size() - 1);
    if (begun.empty() && std::find(end_tokens.begin(), end_tokens.end(), word[0]) != end_tokens.end())
      continue;
    if (stands_before(begun, history)) scores[static_cast<std::size_t>(word.back())] = kNever;
  }
}

void add_biases(std::span<float> scores, const std::vector<SequenceBias>& biases, Ids history) {
  for (const SequenceBias& one : biases)
    if (stands_before(Ids(one.tokens).first(one.tokens.size() - 1), history))
      scores[static_cast<std::size_t>(one.tokens.back())] += static_cast<float>(one.bias);
}

void press_to_end(std::span<float> scores, const EndingPressure& ending, std::int64_t generated, Ids ends) {
  if (generated <= ending.start) return;
  // Subtract in double, because the start may be any integer: the difference may exceed 64 bits.
  const double tokens = static_cast<double>(generated) - static_cast<double>(ending.start);
  const auto grown = static_cast<float>(std::pow(ending.factor, tokens) - 1.0);
  for (const std::int32_t id : ends) {
    float& score = scores[static_cast<std::size_t>(id)];
    if (std::isfinite(score)) score += std::abs(score) * grown;
  }
}

void renormalise(std::span<float> scores) {
  const float most = *std::max_element(scores.begin(), scores.end());
  if (!std::isfinite(most)) return;
  double total = 0.0;
  for (const float score : scores) total += std::exp(static_cast<double>(score) - static_cast<double>(most));
  const auto shift = static_cast<float>(static_cast<double>(most) + std::log(total));
  for (float& score : scores) score -= shift;
}

void force(std::span<float> scores, Ids ids) {
  std::fill(scores.begin(), scores.end(), kNever);
  for (const std::int32_t id : ids) scores[static_cast<std::size_t>(id)] = 0.0f;
}

// Forbid text tokens if the total probability of the timestamps is higher than the probability of every text
// token.
void prefer_time(std::span<float> text, std::span<const float> times) {
  const float most = *std::max_element(times.begin(), times.end());
  if (!std::isfinite(most)) return;
  double total = 0.0;
  for (const float score : times) total += std::exp(static_cast<double>(score) - static_cast<double>(most));
  const double together = static_cast<double>(most) + std::log(total);
  if (together > static_cast<double>(*std::max_element(text.begin(), text.end())))
    std::fill(text.begin(), text.end(), kNever);
}

void keep_time(std::span<float> scores, const TimestampRules& rules, Ids generated) {
  const auto first = static_cast<std::size_t>(rules.first);
  const auto text = scores.first(first), times = scores.subspan(first);
  const auto is_time = [&](std::size_t from_end) {
    return generated.size() >= from_end && generated[generated.size() - from_end] >= rules.first;
  };
  scores[first - 1] = kNever;
  const bool last = is_time(1), before = generated.size() < 2 || is_time(2);
  if (last && before) std::fill(times.begin(), times.end(), kNever);
  if (last && !before) {
    const auto words = text.first(static_cast<std::size_t>(rules.end));
    std::fill(words.begin(), words.end(), kNever);
  }
  const auto latest = std::find_if(generated.rbegin(), generated.rend(),
                                   [&](std::int32_t token) { return token >= rules.first; });
  if (latest != generated.rend()) {
    const auto allowed = static_cast<std::size_t>(*latest - rules.first) + (last && !before ? 0 : 1);
    const auto past = times.first(std::min(allowed, times.size()));
    std::fill(past.begin(), past.end(), kNever);
  }
  if (generated.empty()) {
    std::fill(text.begin(), text.end(), kNever);
    const auto allowed = static_cast<std::size_t>(rules.latest_first + 1);
    if (rules.latest_first >= 0 && allowed < times.size())
      std::fill(times.begin() + static_cast<std::ptrdiff_t>(allowed), times.end(), kNever);
  }
  prefer_time(text, times);
}

}  // namespace

bool TokenRules::change_nothing() const {
  return encoder_repetition_penalty == 1.0 && repetition_penalty == 1.0 && no_repeat_ngram <= 0 &&
         encoder_no_repeat_ngram <= 0 && bad_words.empty() && min_length <= 0 && min_new <= 0 &&
         forced_first < 0 && forced_last.empty() && suppressed.empty() && suppressed_first.empty() &&
         biases.empty() && !ending && !renormalise && presence_penalty == 0.0 && frequency_penalty == 0.0 &&
         !timestamps && !scores_after_rules;
}

void TokenRules::check(std::int64_t vocabulary) const {
  const auto check_ids = [&](const char* what, Ids ids) {
    for (const std::int32_t id : ids)
      if (id < 0 || id >= vocabulary)
        throw usage_error(std::string(what) + " has an id outside the model's vocabulary")
            .found(std::to_string(id))
            .expected("ids from 0 to " + std::to_string(vocabulary - 1));
  };
  for (const double penalty : {repetition_penalty, encoder_repetition_penalty})
    if (!(penalty > 0.0 && std::isfinite(penalty)))
      throw usage_error("a repetition penalty is out of range")
          .found(std::to_string(penalty))
          .expected("a finite number above 0");
  for (const double penalty : {presence_penalty, frequency_penalty})
    if (!std::isfinite(penalty))
      throw usage_error("a presence or frequency penalty is not finite")
          .found(std::to_string(penalty))
          .expected("a finite number");
  for (const std::vector<std::int32_t>& word : bad_words) {
    if (word.empty())
      throw usage_error("bad_words_ids has a sequence without tokens")
          .expected("at least one token in each sequence");
    check_ids("bad_words_ids", word);
  }
  for (const SequenceBias& one : biases) {
    if (one.tokens.empty())
      throw usage_error("sequence_bias has a sequence without tokens")
          .expected("at least one token in each sequence");
    check_ids("sequence_bias", one.tokens);
  }
  if (ending && !(ending->factor > 0.0))
    throw usage_error("the factor of exponential_decay_length_penalty is not positive")
        .found(std::to_string(ending->factor))
        .expected("a number above 0");
  if (forced_first >= 0) check_ids("forced_bos_token_id", {&forced_first, 1});
  check_ids("forced_eos_token_id", forced_last);
  check_ids("suppress_tokens", suppressed);
  check_ids("begin_suppress_tokens", suppressed_first);
  if (timestamps && (timestamps->first < 1 || timestamps->first >= vocabulary || timestamps->end < 0 ||
                     timestamps->end >= timestamps->first))
    throw usage_error("the first timestamp token is invalid")
        .found(std::to_string(timestamps->first))
        .expected("an id above that of the end token and below " + std::to_string(vocabulary));
}

void apply(const TokenRules& rules, const RuleContext& context, std::span<float> scores,
           std::vector<std::int32_t>& buffer) {
  buffer.assign(context.prompt.begin(), context.prompt.end());
  buffer.insert(buffer.end(), context.generated.begin(), context.generated.end());
  const std::size_t tokens = buffer.size();
  const bool penalises = rules.encoder_repetition_penalty != 1.0 || rules.repetition_penalty != 1.0 ||
                         rules.presence_penalty != 0.0 || rules.frequency_penalty != 0.0;
  if (penalises) buffer.resize(tokens + std::max(tokens, context.source.size()));
  const Ids history = Ids(buffer).first(tokens);
  const std::span<std::int32_t> rest = std::span(buffer).subspan(tokens);
  const std::int64_t generated = std::ssize(context.generated);
  add_biases(scores, rules.biases, history);
  if (rules.encoder_repetition_penalty != 1.0)
    penalise(scores, context.source, 1.0 / rules.encoder_repetition_penalty, rest);
  if (rules.repetition_penalty != 1.0) penalise(scores, history, rules.repetition_penalty, rest);
  if (rules.presence_penalty != 0.0 || rules.frequency_penalty != 0.0)
    penalise_generated(scores, context.generated, rules, rest);
  ban_ngrams(scores, history, history, rules.no_repeat_ngram);
  ban_ngrams(scores, context.source, history, rules.encoder_no_repeat_ngram);
  ban_words(scores, rules, history, context.end_tokens);
  const bool too_short =
      rules.min_new > 0 ? generated < rules.min_new : std::ssize(history) < rules.min_length;
  if (too_short) ban(scores, context.end_tokens);
  if (rules.forced_first >= 0 && history.size() == 1) force(scores, {&rules.forced_first, 1});
  if (!rules.forced_last.empty() && generated + 1 == context.max_new) force(scores, rules.forced_last);
  if (rules.ending) press_to_end(scores, *rules.ending, generated, context.end_tokens);
  ban(scores, rules.suppressed);
  const bool forces = context.prompt.size() == 1 && rules.forced_first >= 0;
  if (generated == (forces ? 1 : 0)) ban(scores, rules.suppressed_first);
  if (rules.timestamps) keep_time(scores, *rules.timestamps, context.generated);
  if (rules.renormalise) renormalise(scores);
}

}  // namespace regard::infer
