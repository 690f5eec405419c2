#include "train/batch_preview.h"

#include "data/preview.h"

namespace regard::train {
namespace {

std::span<const std::int32_t> part_at(std::span<const std::int32_t> values, const Ragged& shape,
                                      std::size_t sequence) {
  const auto begin = static_cast<std::size_t>(shape.offsets[sequence]);
  return values.subspan(begin, static_cast<std::size_t>(shape.offsets[sequence + 1]) - begin);
}

}  // namespace

std::span<const std::int32_t> part_of(std::span<const std::int32_t> values, const Batch& batch,
                                      std::size_t sequence) {
  return part_at(values, batch.target.view(), sequence);
}

std::string next_token_preview(const PreviewTokenizers& tokenizers, const Batch& batch,
                               std::size_t sequence) {
  std::string text;
  if (tokenizers.source != nullptr) {
    const data::PreviewRow source[] = {data::token_row(
        "source", *tokenizers.source, part_at(batch.source_ids, batch.source.view(), sequence))};
    text += data::aligned_preview(source);
  }
  const std::span<const std::int32_t> labels = part_of(batch.labels, batch, sequence);
  data::PreviewRow rows[] = {data::token_row("input", tokenizers.target, part_of(batch.ids, batch, sequence)),
                             data::token_row("labels", tokenizers.target, labels)};
  for (std::size_t t = 0; t < labels.size(); ++t)
    if (labels[t] == kIgnoredLabel) rows[1].cells[t] = "·";
  return text + data::aligned_preview(rows);
}

std::string labelled_preview(const text::Tokenizer& tokenizer, std::span<const std::int32_t> ids,
                             std::span<const std::int32_t> labels, const std::vector<std::string>& names) {
  const data::PreviewRow rows[] = {data::token_row("input", tokenizer, ids),
                                   data::label_row("labels", labels, names)};
  return data::aligned_preview(rows);
}

}  // namespace regard::train
