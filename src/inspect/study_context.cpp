#include "inspect/study_context.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "inspect/shown_tokens.h"
#include "inspect/usual_kind.h"
#include "models/dual_encoder.h"
#include "regard/error.h"
#include "text/mask_token.h"

namespace regard::inspect {
namespace {

// Return the first position that has a label, or 0 if there is none.
std::int64_t first_prediction(const StudyExample& example) {
  const std::vector<std::int32_t>& labels = example.labels;
  const auto found = std::find_if(labels.begin(), labels.end(), [](std::int32_t id) { return id >= 0; });
  return found == labels.end() ? 0 : found - labels.begin();
}

}  // namespace

StudyContext::StudyContext(const infer::LoadedModel& loaded, ThreadPool& pool, const StudyRequest& request,
                           std::uint64_t seed, const std::function<bool(double)>& progress,
                           const MediaReader& media)
    : loaded_(loaded),
      model_(*loaded.model),
      pool_(pool),
      request_(request),
      seed_(seed),
      progress_(progress),
      media_(media) {}

// Throw usage if request_.answer is set in the study heads or sets of an encoder. In these studies, the
// answer selects the predictions of the target that are measured, and an encoder has no target.
void StudyContext::require_answer_fits() const {
  if ((request_.view != "heads" && request_.view != "sets") || request_.answer.empty()) return;
  if (model_.kind() == ModelKind::encoder || dual_encoder_of(model_) != nullptr)
    throw usage_error(fmt::format("the view {} has no answer if the model is an encoder", request_.view))
        .expected("a decoder or an encoder-decoder");
}

void StudyContext::require_fit() const {
  require_answer_fits();
  const auto one_of = [this](std::initializer_list<const char*> views) {
    return std::find(views.begin(), views.end(), request_.view) != views.end();
  };
  const bool predicts = model_.kind() != ModelKind::encoder && model_.output() == Output::next_token;
  const char* needed = nullptr;
  if (one_of({"lens", "direct"}) && !predicts)
    needed = "a model that predicts the next token: a decoder or an encoder-decoder";
  if (request_.view == "induction" && model_.kind() != ModelKind::decoder) needed = "a decoder-only model";
  if (request_.view == "alignment" && (model_.kind() != ModelKind::encoder_decoder || reads_media()))
    needed = "an encoder-decoder that reads texts";
  const bool dual = dual_encoder_of(model_) != nullptr;
  if (dual && !one_of({"heads", "kinds", "rollout", "flow", "probe"}))
    needed =
        "the view heads or kinds for pairs of an image and a text, or rollout, flow or probe for images or "
        "texts";
  if (needed == nullptr) return;
  if (dual)
    throw usage_error(fmt::format("the view {} does not apply to this model", request_.view))
        .found("two encoders, of texts and of images")
        .expected(needed);
  const char* kind = model_.kind() == ModelKind::encoder   ? "an encoder"
                     : model_.kind() == ModelKind::decoder ? "a decoder"
                                                           : "an encoder-decoder";
  throw usage_error(fmt::format("the view {} does not apply to this model", request_.view))
      .found(fmt::format("{} that reads {}s", kind, input_name(model_)))
      .expected(needed);
}

void StudyContext::read_interventions() {
  edits_ = resolve(model_, pool_, &loaded_, parse_interventions(request_.interventions), between_passes(),
                   file_reader());
}

void StudyContext::add_interventions(StudyTable& table) const {
  if (edits_ == nullptr) return;
  table.notes.push_back(
      fmt::format("Interventions in every pass: '{}'.", fmt::join(request_.interventions, "', '")));
  table.warnings = edits_->warnings();
}

void StudyContext::need(const std::string& value, const char* setting) const {
  if (value.empty()) throw usage_error(needs_setting(request_.view, setting));
}

BetweenPasses StudyContext::between_passes(std::int64_t passes) const {
  return [this, passes, done = std::make_shared<std::int64_t>(0)] {
    const std::int64_t now = passes == 0 ? 0 : std::min(passes, (*done)++);
    if (progress_ && !progress_(passes == 0 ? 0.0 : static_cast<double>(now) / static_cast<double>(passes)))
      throw cancelled_error("the study was stopped");
  };
}

StudyDataOptions StudyContext::data_options(bool limits) const {
  return {.most_examples = request_.examples,
          .answer = limits ? request_.answer : "",
          .between = between_passes(),
          .media = &media_,
          .edits = edits_.get()};
}

FileReader StudyContext::file_reader() const {
  if (!media_.file) return {};
  return [this](const std::string& file) { return media_.file(file).file; };
}

std::vector<StudyExample> StudyContext::examples(bool labels) const {
  if (request_.data.files.empty()) return {example(false)};
  StudyDataOptions options = data_options(true);
  options.labels = labels;
  return read_examples(loaded_, pool_, request_.data, options);
}

StudyExample StudyContext::example(bool whole) const {
  need(request_.text, request_.data.files.empty() && !whole ? "data or text" : "text");
  return study_example(loaded_, pool_, request_.text, request_.target, data_options(!whole));
}

std::string StudyContext::token(std::int32_t id) const {
  return shown_token(loaded_.target.get(), id);
}

std::int32_t StudyContext::answer_id(const std::string& text) const {
  if (model_.output() == Output::sequence_classes) return class_of(model_, text);
  std::vector<std::int32_t> ids;
  const bool masked = model_.output() == Output::vocabulary && loaded_.source != nullptr;
  if (model_.output() == Output::ctc && media_.ctc_labels)
    ids = media_.ctc_labels(text);
  else if (model_.kind() == ModelKind::encoder && !masked)
    throw usage_error("the study needs logits of tokens or classes")
        .expected("a decoder, an encoder-decoder or a classifier");
  else
    ids = (masked ? loaded_.source : loaded_.target)
              ->encode_ids(text, {.add_special = false, .match_special = false});
  if (ids.empty()) throw usage_error("the answer has no tokens").found("'" + text + "'");
  return ids[0];
}

std::int64_t StudyContext::usual_position(const StudyExample& example) const {
  if (model_.kind() == ModelKind::decoder) return std::ssize(example.input.target) - 1;
  if (model_.output() == Output::next_token) return first_prediction(example);
  if (model_.output() != Output::vocabulary || loaded_.source == nullptr) return 0;
  const auto mask = text::mask_token(*loaded_.source);
  const std::vector<std::int32_t>& ids = example.input.source.ids;
  const auto found = mask ? std::ranges::find(ids, mask->id) : ids.end();
  return found == ids.end() ? 0 : found - ids.begin();
}

AnswerDifference StudyContext::answer_of(const StudyExample& example, bool strongest) const {
  AnswerDifference answer{request_.position, -1, -1};
  if (answer.position < 0) answer.position = usual_position(example);
  const auto at = static_cast<std::size_t>(answer.position);
  if (!request_.answer.empty())
    answer.answer = answer_id(request_.answer);
  else if (strongest)
    answer.answer = AnswerDifference::kStrongest;
  else if (model_.output() != Output::ctc && at < example.labels.size() && example.labels[at] >= 0)
    answer.answer = example.labels[at];
  else
    need("", "answer");
  if (!request_.instead.empty()) answer.instead = answer_id(request_.instead);
  return answer;
}

std::string StudyContext::measured(const AnswerDifference& answer) const {
  const auto name = [&](std::int32_t id) {
    if (model_.output() == Output::vocabulary && loaded_.source != nullptr)
      return "'" + shown_token(*loaded_.source, id) + "'";
    if (model_.kind() != ModelKind::encoder) return "'" + token(id) + "'";
    return fmt::format("{} {}", model_.output() == Output::ctc ? "label" : "class", id);
  };
  if (answer.answer == AnswerDifference::kStrongest)
    return fmt::format("highest other logit minus logit of {} at position {}", name(answer.instead),
                       answer.position);
  return answer.instead < 0 ? fmt::format("logit of {} at position {}", name(answer.answer), answer.position)
                            : fmt::format("logit of {} minus logit of {} at position {}", name(answer.answer),
                                          name(answer.instead), answer.position);
}

HeadSweepOptions StudyContext::sweep_options() const {
  HeadSweepOptions options;
  options.off = parse_heads(request_.off, usual_kind(model_.kind()));
  options.edits = edits_.get();
  options.state = request_.state;
  options.progress = progress_;
  return options;
}

std::vector<std::string> StudyContext::labels_of(const StudyExample& example) const {
  if (reads_media()) return example.places;
  std::vector<std::string> labels;
  const bool decoder = model_.kind() == ModelKind::decoder;
  for (const std::int32_t id : decoder ? example.input.target : example.input.source.ids)
    labels.push_back(shown_token(decoder ? *loaded_.target : *loaded_.source, id));
  return labels;
}

const char* StudyContext::place_column() const {
  if (!reads_media()) return "token";
  return model_.input_spec().patch_rows > 0 ? "patch" : "time";
}

const char* StudyContext::unit_of_distance() const {
  if (!reads_media()) return "tokens";
  return model_.input_spec().patch_rows > 0 ? "patches" : "positions";
}

std::string StudyContext::input_title() const {
  std::string name = input_name(model_);
  name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return name;
}

std::int64_t StudyContext::require_position(std::int64_t position, std::int64_t count) {
  if (position < count) return position;
  throw usage_error("the position is out of range")
      .found(std::to_string(position))
      .expected(fmt::format("a position from 0 to {}", count - 1));
}

}  // namespace regard::inspect
