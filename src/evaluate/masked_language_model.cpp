#include <algorithm>
#include <cmath>

#include "base/plain_text.h"
#include "base/random.h"
#include "evaluate/language_model.h"
#include "metrics/perplexity.h"
#include "tasks/fill.h"
#include "tasks/pass.h"
#include "tasks/probabilities.h"

namespace regard::evaluate {
namespace {

struct MaskedText {
  tasks::Input input;
  std::vector<std::size_t> places;      // indices of masked tokens, ascending
  std::vector<std::int32_t> originals;  // original token at each of `places`
};

// Mask a random fraction options.share of the tokens that are not special. If the text has such a token, at
// least one is masked.
MaskedText masked(tasks::Input input, const infer::LoadedModel& model, std::int32_t mask,
                  const MaskedOptions& options, std::size_t row) {
  std::vector<std::size_t> places;
  for (std::size_t t = 0; t < input.ids.size(); ++t)
    if (!model.source->is_special(input.ids[t])) places.push_back(t);
  RandomStream random({options.seed, row, place_of("evaluate.mask")});
  const auto wanted =
      static_cast<std::size_t>(std::llround(options.share * static_cast<double>(places.size())));
  const std::size_t count = std::min(places.size(), std::max<std::size_t>(wanted, 1));
  for (std::size_t i = 0; i < count; ++i)
    std::swap(places[i], places[i + static_cast<std::size_t>(random.next_below(places.size() - i))]);
  places.resize(count);
  std::sort(places.begin(), places.end());
  MaskedText text{std::move(input), std::move(places), {}};
  for (const std::size_t place : text.places) {
    text.originals.push_back(text.input.ids[place]);
    text.input.ids[place] = mask;
  }
  return text;
}

// Return −log softmax(logits)[id], and 1 if id has the highest logit, else 0.
std::pair<double, bool> loss_of(std::span<const float> logits, std::int32_t id) {
  tasks::require_finite(logits);
  const float most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float x : logits) sum += std::exp(static_cast<double>(x) - static_cast<double>(most));
  const float own = logits[static_cast<std::size_t>(id)];
  return {std::log(sum) - (static_cast<double>(own) - static_cast<double>(most)), own == most};
}

struct MaskedTexts {
  std::vector<MaskedText> texts;
  std::vector<tasks::Input> inputs;
  std::int64_t truncated = 0;  // number of truncated texts
};

MaskedTexts read_texts(const Subject& subject, const DataOptions& data, const MaskedOptions& options,
                       Evaluation& result) {
  const tasks::Filler filler(subject.model, subject.pool);  // checks the model, and finds the mask token
  const std::int32_t mask = *subject.model.source->id_of(filler.mask());
  const tasks::Reader reader(subject.model,
                             {.most_tokens = options.context, .cut = options.cut || options.context > 0});
  data::TableReader table(
      {.files = data.files, .format = data::TableFormat::text, .blank = data::Faulty::skip});
  MaskedTexts all;
  for (data::TableRow row; table.next(row);) {
    if (is_blank(row.text(0))) continue;
    MaskedText text = masked(placed(row.place(), [&] { return reader.read(row.text(0)); }), subject.model,
                             mask, options, all.texts.size());
    if (text.places.empty()) continue;
    all.truncated += text.input.cut ? 1 : 0;
    all.inputs.push_back(text.input);
    all.texts.push_back(std::move(text));
    result.rows.push_back({row.place(), row.text(0), nullptr, nullptr});
  }
  if (all.texts.empty()) throw nothing_to_evaluate(data);
  return all;
}

// Return the statistics of a text: the sum of losses, the number of correct tokens and the number of masked
// tokens. In `hidden`, the last hidden states of the text's tokens begin at `row`.
std::vector<float> score_text(Network& model, tasks::Pass& pass, const MaskedText& text, const Tensor& hidden,
                              std::int64_t row) {
  Tensor picked = Tensor::empty({std::ssize(text.places), hidden.columns()});
  for (std::size_t p = 0; p < text.places.size(); ++p)
    std::copy_n(hidden.row(row + static_cast<std::int64_t>(text.places[p])), hidden.columns(),
                picked.row(static_cast<std::int64_t>(p)));
  const Tensor logits = model.logits(pass.tape(), pass.tape().constant(picked))->value;
  double sum = 0;
  float right = 0;
  for (std::size_t p = 0; p < text.places.size(); ++p) {
    const std::span<const float> scores(logits.row(static_cast<std::int64_t>(p)),
                                        static_cast<std::size_t>(logits.columns()));
    const auto [loss, hit] = loss_of(scores, text.originals[p]);
    sum += loss, right += hit ? 1.0f : 0.0f;
  }
  return {static_cast<float>(sum), right, static_cast<float>(text.places.size())};
}

void add_masked_scores(Table statistics, Evaluation& result) {
  double total = 0, right = 0, tokens = 0;
  for (const std::vector<float>& row : statistics) {
    total += static_cast<double>(row[0]);
    right += static_cast<double>(row[1]), tokens += static_cast<double>(row[2]);
  }
  const auto count = static_cast<std::int64_t>(tokens);
  result.fact("texts", statistics.size());
  result.fact("masked_tokens", count);
  result.fact("perplexity", metrics::perplexity(total, count));
  result.line("texts          {}\nmasked tokens  {}", statistics.size(), count);
  result.line("loss           {:.4f} nats per masked token\nperplexity     {:.2f}", total / tokens,
              metrics::perplexity(total, count));
  result.line("accuracy       {:.2f} %", 100 * right / tokens);
  result.scores = {{"loss", total / tokens, sums(statistics, [](auto s) { return s[0] / s[2]; })},
                   {"accuracy", right / tokens, sums(statistics, [](auto s) { return s[1] / s[2]; })}};
}

}  // namespace

Evaluation masked_language_model(const Subject& subject, const DataOptions& data,
                                 const MaskedOptions& options) {
  if (!(options.share > 0 && options.share <= 1))
    throw usage_error("the fraction of masked tokens is out of range")
        .found(fmt::format("{}", options.share))
        .expected("more than 0 and at most 1");
  Evaluation result;
  result.task = "masked-language-model", result.row_score = "loss";
  const MaskedTexts all = read_texts(subject, data, options, result);
  Table statistics;
  tasks::Pass pass(*subject.model.model, subject.pool, subject.probe);
  tasks::in_passes(all.inputs, [&](std::size_t first, std::size_t count) {
    const tasks::Pass::States states = pass.run(std::span(all.inputs).subspan(first, count));
    for (std::size_t i = 0; i < count; ++i) {
      statistics.push_back(score_text(*subject.model.model, pass, all.texts[first + i], states.hidden->value,
                                      states.batch.shape.offsets[i]));
      const std::vector<float>& row = statistics.back();
      result.rows[first + i].score = static_cast<double>(row[0] / row[2]);
      result.rows[first + i].output = fmt::format("{} of {} tokens right", row[1], row[2]);
    }
  });
  result.fact("mask_share", options.share);
  result.fact("mask_seed", options.seed);
  add_masked_scores(std::move(statistics), result);
  if (all.truncated > 0) {
    result.fact("truncated", all.truncated);
    result.line("truncated      {}", all.truncated);
  }
  return result;
}

}  // namespace regard::evaluate
