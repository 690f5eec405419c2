#include "inspect/study_rollout.h"

#include <fmt/format.h>

#include <utility>

#include "data/image.h"
#include "inspect/gradients.h"
#include "inspect/shown_tokens.h"
#include "models/dual_encoder.h"
#include "regard/error.h"

namespace regard::inspect {

RolloutStudy::Studied RolloutStudy::studied() const {
  if (DualEncoder* const dual = dual_encoder_of(model_); dual != nullptr) return studied_tower(*dual);
  StudyExample one = example(true);
  std::vector<std::string> labels = labels_of(one);
  const std::int64_t position = model_.kind() == ModelKind::decoder ? std::ssize(labels) - 1 : 0;
  return {model_,
          std::move(one.input),
          std::move(labels),
          place_column(),
          position,
          edits_ == nullptr ? nullptr : std::make_unique<EditedPass>(edits_.get())};
}

RolloutStudy::Studied RolloutStudy::studied_tower(DualEncoder& dual) const {
  need(request_.text, "text");
  const bool image =
      media_.file && (data::names_image(request_.text, ".") || request_.text.ends_with(".safetensors"));
  Network& network = image ? dual.vision() : dual.text();
  auto edits = edits_ == nullptr ? nullptr : std::make_unique<EditedPass>();
  if (edits != nullptr) edits->add_tower(*edits_, image ? "vision" : "text");
  PassInput input;
  if (image) {
    MediaInput media = media_.file(request_.text);
    input.source = std::move(media.file.input);
    std::vector<std::string> labels = position_names(network.input_spec(), input.source);
    return {network, std::move(input), std::move(labels), "patch", 0, std::move(edits)};
  }
  input.source = loaded_.read(request_.text);
  if (input.source.empty()) throw input_error("the text has no tokens").found("'" + request_.text + "'");
  // Default position: the token that the head of the text encoder reads. For TextRow::last, this is the last
  // position of the padded text; otherwise, it is the end token, the last token before the padding.
  const std::int64_t end = dual.text_row() == TextRow::last ? -1 : std::ssize(input.source.ids) - 1;
  dual.pad(input.source.ids);
  std::vector<std::string> labels = shown_tokens(loaded_.source.get(), input.source.ids);
  const std::int64_t position = end < 0 ? std::ssize(labels) - 1 : end;
  return {network, std::move(input), std::move(labels), "token", position, std::move(edits)};
}

StudyTable RolloutStudy::rollout() const {
  const Studied one = studied();
  const std::vector<std::string>& labels = one.labels;
  const std::vector<double> all = attention_rollout(one.network, pool_, one.input, one.edits.get());
  StudyTable table;
  table.study = "rollout";
  if (request_.position >= 0) {
    const auto row = static_cast<std::size_t>(require_position(request_.position, std::ssize(labels)));
    table.title =
        fmt::format("Attention rollout: the contribution of each input {} to position {}", one.place, row);
    table.columns = {"position", one.place, "rollout"};
    for (std::size_t i = 0; i < labels.size(); ++i)
      table.rows.push_back({std::to_string(i), labels[i], all[row * labels.size() + i]});
    return table;
  }
  table.title = fmt::format(
      "Attention rollout: the contribution of each input {} (column) to each position (row)", one.place);
  table.columns = {"position"};
  for (std::size_t i = 0; i < labels.size(); ++i) table.columns.push_back(fmt::format("{} {}", i, labels[i]));
  for (std::size_t row = 0; row < labels.size(); ++row) {
    std::vector<StudyCell> cells{fmt::format("{} {}", row, labels[row])};
    for (std::size_t i = 0; i < labels.size(); ++i) cells.emplace_back(all[row * labels.size() + i]);
    table.rows.push_back(std::move(cells));
  }
  return table;
}

StudyTable RolloutStudy::flow() const {
  const Studied one = studied();
  const std::int64_t position = request_.position >= 0 ? request_.position : one.position;
  const std::vector<double> flows = attention_flow(one.network, pool_, one.input, position, one.edits.get(),
                                                   between_passes(std::ssize(one.labels)));
  StudyTable table;
  table.study = "flow";
  table.title = fmt::format("Attention flow from position {} to each input {}", position, one.place);
  table.columns = {"position", one.place, "flow"};
  for (std::size_t i = 0; i < one.labels.size(); ++i)
    table.rows.push_back({std::to_string(i), one.labels[i], flows[i]});
  return table;
}

}  // namespace regard::inspect
