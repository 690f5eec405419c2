#include "tasks/fill.h"

#include <algorithm>

#include "regard/error.h"
#include "tasks/best.h"
#include "tasks/probabilities.h"
#include "text/mask_token.h"

namespace regard::tasks {
namespace {

std::int32_t target_id(const text::Tokenizer& tokenizer, const std::string& target) {
  if (const auto id = tokenizer.id_of(target)) return *id;
  const auto ids = tokenizer.encode_ids(target, {.add_special = false});
  if (ids.empty())
    throw usage_error("a target has no tokens")
        .found("\"" + target + "\"")
        .expected("a text of at least one token");
  return ids[0];
}

}  // namespace

Filler::Filler(const infer::LoadedModel& loaded, ThreadPool& pool, const FillOptions& options)
    : loaded_(loaded), reader_(loaded, options.reading), pass_(*loaded.model, pool, options.reading.probe) {
  if (loaded.model->output() != Output::vocabulary)
    throw usage_error("this model has no head for masked tokens").expected("a masked language model");
  const auto mask = text::mask_token(*loaded.source);
  if (!mask) throw Error(ErrorKind::bad_file, "the tokenizer has no mask token").expected("[MASK] or <mask>");
  mask_ = mask->text, mask_id_ = mask->id;
  for (const std::string& target : options.targets) targets_.push_back(target_id(*loaded.source, target));
  std::sort(targets_.begin(), targets_.end());
  targets_.erase(std::unique(targets_.begin(), targets_.end()), targets_.end());
}

Input Filler::read(std::string_view text) const {
  Input input = reader_.read_marked(text);
  if (std::find(input.ids.begin(), input.ids.end(), mask_id_) == input.ids.end())
    throw Error(ErrorKind::invalid_input, "the text has no mask").expected("at least one " + mask_);
  return input;
}

std::size_t Filler::masks_of(const Input& input) const {
  return static_cast<std::size_t>(std::ranges::count(input.ids, mask_id_));
}

std::vector<std::vector<std::vector<Filling>>> Filler::fill(std::span<const Input> inputs,
                                                            std::size_t count) {
  std::vector<std::vector<std::vector<Filling>>> all(inputs.size());
  in_passes(inputs, [&](std::size_t first, std::size_t size) {
    const Pass::States states = pass_.run(inputs.subspan(first, size));
    // Compute logits only for the rows of mask tokens.
    std::vector<std::int64_t> rows;
    for (std::size_t i = 0; i < size; ++i) {
      const Input& input = inputs[first + i];
      for (std::size_t t = 0; t < input.ids.size(); ++t)
        if (input.ids[t] == mask_id_)
          rows.push_back(states.batch.shape.offsets[i] + static_cast<std::int64_t>(t));
    }
    const Tensor& hidden = states.hidden->value;
    Tensor picked = Tensor::empty({std::ssize(rows), hidden.columns()});
    for (std::size_t r = 0; r < rows.size(); ++r)
      std::copy_n(hidden.row(rows[r]), hidden.columns(), picked.row(static_cast<std::int64_t>(r)));
    const Tensor logits = loaded_.model->logits(pass_.tape(), pass_.tape().constant(picked))->value;
    std::int64_t row = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const Input& input = inputs[first + i];
      const bool alone = masks_of(input) == 1;
      for (std::size_t t = 0; t < input.ids.size(); ++t)
        if (input.ids[t] == mask_id_)
          all[first + i].push_back(best_at(
              input, t, {logits.row(row++), static_cast<std::size_t>(logits.columns())}, count, alone));
    }
  });
  return all;
}

std::vector<Filling> Filler::best_at(const Input& input, std::size_t place, std::span<const float> logits,
                                     std::size_t count, bool alone) const {
  require_finite(logits);
  std::vector<float> scores(logits.size());
  softmax(logits, scores);
  std::vector<Filling> best;
  std::vector<std::int32_t> ids = input.ids;
  const auto score_of = [&](std::int32_t token) { return scores[static_cast<std::size_t>(token)]; };
  std::vector<float> of_targets(targets_.size());
  std::transform(targets_.begin(), targets_.end(), of_targets.begin(), score_of);
  for (const std::int64_t i : best_of(targets_.empty() ? scores : of_targets, count)) {
    const auto token =
        targets_.empty() ? static_cast<std::int32_t>(i) : targets_[static_cast<std::size_t>(i)];
    ids[place] = token;
    best.push_back({token, loaded_.source->decode({&token, 1}, false), score_of(token),
                    loaded_.source->decode(ids, alone)});
  }
  return best;
}

}  // namespace regard::tasks
