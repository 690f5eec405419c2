#include "inspect/head_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/counted.h"
#include "base/random.h"
#include "inspect/attend.h"
#include "inspect/finite_first.h"
#include "inspect/weight_parts.h"
#include "regard/error.h"

namespace regard::inspect {
namespace {

View view_of(const infer::LoadedModel& loaded, ThreadPool& pool, const StudyExample& example,
             const Selection& selection, const EditedPass* edits) {
  AttendRequest request;
  request.edits = edits;
  request.text = example.text, request.source_labels = example.places;
  request.selection = selection;
  request.input =
      loaded.model->kind() == ModelKind::decoder ? ModelInput(example.input.target) : example.input.source;
  if (loaded.model->kind() == ModelKind::encoder_decoder) request.written = example.input.written;
  return attend(loaded, pool, request);
}

// Return options.sequences sequences. Each consists of options.first, then options.length random tokens, then
// the same random tokens again.
std::vector<std::vector<std::int32_t>> repeated_sequences(Network& model, const InductionOptions& options) {
  if (model.kind() != ModelKind::decoder)
    throw usage_error("induction cannot be measured on this model").expected("a decoder-only model");
  // maximum values of options.length and options.sequences
  constexpr std::int64_t kLongest = 2048, kMostSequences = 10000;
  if (options.length < 2 || options.sequences < 1)
    throw usage_error("too few repeated tokens or sequences")
        .found(fmt::format("{} tokens and {} sequences", options.length, options.sequences))
        .expected("at least 2 tokens and 1 sequence");
  if (options.length > kLongest || options.sequences > kMostSequences)
    throw usage_error("too many repeated tokens or sequences")
        .found(fmt::format("{} tokens and {} sequences", options.length, options.sequences))
        .expected(fmt::format("at most {} tokens and {} sequences", kLongest, kMostSequences));
  const std::int64_t tokens = std::ssize(options.first) + 2 * options.length;
  if (model.max_positions() > 0 && tokens > model.max_positions())
    throw usage_error("the repeated sequence exceeds the model's maximum number of positions")
        .found(counted(tokens, "token"))
        .expected(fmt::format("at most {} tokens", model.max_positions()))
        .remedy(fmt::format("Set the length to at most {}",
                            (model.max_positions() - std::ssize(options.first)) / 2));
  const bool given = !options.choices.empty();
  const std::int64_t choices =
      given ? std::ssize(options.choices) : model.vocabulary() - options.first_random;
  if (options.first_random < 0 || choices < 2)
    throw usage_error("too few tokens for random sequences")
        .found(counted(choices, "token"))
        .expected("at least 2 tokens");
  RandomStream stream({options.seed, 0, place_of("repeated sequences")});
  std::vector<std::vector<std::int32_t>> all;
  for (std::int64_t s = 0; s < options.sequences; ++s) {
    std::vector<std::int32_t>& ids = all.emplace_back(options.first);
    for (std::int64_t i = 0; i < options.length; ++i) {
      const std::uint64_t drawn = stream.next_below(static_cast<std::uint64_t>(choices));
      ids.push_back(given ? options.choices[drawn] : options.first_random + static_cast<std::int32_t>(drawn));
    }
    const std::size_t first = options.first.size();
    for (std::size_t i = first; i < first + static_cast<std::size_t>(options.length); ++i)
      ids.push_back(ids[i]);
  }
  return all;
}

}  // namespace

void HeadSummarySum::add(const View& view) {
  for (const Map& map : view.maps) {
    const HeadSummary one = map.summary ? *map.summary : summarize(view, map);
    Total& total = totals_[map.head];
    ++total.examples;
    total.entropy += one.entropy, total.distance += one.distance, total.spread += one.spread;
    for (std::size_t i = 0; i < total.shares.size(); ++i) total.shares[i] += one.shares[i];
  }
}

std::vector<HeadKind> HeadSummarySum::means() const {
  std::vector<HeadKind> kinds;
  for (const auto& [head, total] : totals_) {
    HeadSummary& mean = kinds.emplace_back(HeadKind{head, {}}).mean;
    mean.entropy = total.entropy / total.examples, mean.distance = total.distance / total.examples;
    mean.spread = total.spread / total.examples;
    for (std::size_t i = 0; i < mean.shares.size(); ++i) mean.shares[i] = total.shares[i] / total.examples;
    choose_pattern(mean);
  }
  return kinds;
}

std::vector<HeadKind> head_kinds(const infer::LoadedModel& loaded, ThreadPool& pool,
                                 const std::vector<StudyExample>& examples, const BetweenPasses& between,
                                 const EditedPass* edits) {
  HeadSummarySum sum;
  const ModelPoints points = ModelPoints::of(*loaded.model, pool);
  for (const StudyExample& example : examples)
    for (const Selection& part : weight_parts(*loaded.model, points, example.input)) {
      if (between) between();
      sum.add(view_of(loaded, pool, example, part, edits));
    }
  return sum.means();
}

std::vector<std::int32_t> distinct_tokens(const text::Tokenizer& tokenizer, const std::string& text) {
  std::vector<std::int32_t> ids = tokenizer.encode_ids(text, {.add_special = false, .match_special = false});
  std::ranges::sort(ids);
  const auto repeated = std::ranges::unique(ids);
  ids.erase(repeated.begin(), repeated.end());
  return ids;
}

std::vector<InductionScore> induction_scores(Network& model, ThreadPool& pool,
                                             const InductionOptions& options) {
  std::map<Head, InductionScore> scores;
  const double sequences = static_cast<double>(options.sequences);
  const auto add = [&](const Map& map) {
    InductionScore& score = scores[map.head];
    score.head = map.head;
    const double share = sequences * static_cast<double>(options.length);
    for (std::int64_t query = map.rows - options.length; query < map.rows; ++query) {
      score.induction += static_cast<double>(map.at(query, query - options.length + 1)) / share;
      score.duplicate += static_cast<double>(map.at(query, query - options.length)) / share;
    }
    for (std::int64_t query = 1; query < map.rows; ++query)
      score.previous +=
          static_cast<double>(map.at(query, query - 1)) / (sequences * static_cast<double>(map.rows - 1));
  };
  const std::vector<std::vector<std::int32_t>> all_ids = repeated_sequences(model, options);
  const ModelPoints points = ModelPoints::of(model, pool);
  for (const std::vector<std::int32_t>& ids : all_ids) {
    PassInput input;
    input.target = ids;
    for (const Selection& part : weight_parts(model, points, input)) {
      if (options.between) options.between();
      Capture capture(part);
      run_pass(model, pool, input, options.edits, capture);
      for (const Map& map : maps_of(capture, false)) add(map);
    }
  }
  std::vector<InductionScore> all;
  for (const auto& [head, score] : scores) all.push_back(score);
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return is_larger(a.induction, b.induction); });
  return all;
}

RepetitionLoss repetition_loss(Network& model, ThreadPool& pool, const InductionOptions& options) {
  RepetitionLoss loss;
  const double sequences = static_cast<double>(options.sequences);
  for (const std::vector<std::int32_t>& ids : repeated_sequences(model, options)) {
    if (options.between) options.between();
    EditedPass edits(options.edits);
    const Tensor logits = run_with_probe(model, pool, {}, ids, edits.empty() ? nullptr : &edits);
    const std::int64_t tokens = std::ssize(ids), second = tokens - options.length;
    const std::int64_t first = second - options.length;
    for (std::int64_t t = std::max<std::int64_t>(first, 1); t < tokens; ++t) {
      const float* row = logits.row(t - 1);
      const double most = static_cast<double>(*std::max_element(row, row + logits.columns()));
      double sum = 0;
      for (std::int64_t i = 0; i < logits.columns(); ++i) sum += std::exp(static_cast<double>(row[i]) - most);
      const double nats = most + std::log(sum) - static_cast<double>(row[ids[static_cast<std::size_t>(t)]]);
      const double counted = t < second ? static_cast<double>(second - std::max<std::int64_t>(first, 1))
                                        : static_cast<double>(options.length);
      (t < second ? loss.first : loss.second) += nats / (sequences * counted);
    }
  }
  return loss;
}

}  // namespace regard::inspect
