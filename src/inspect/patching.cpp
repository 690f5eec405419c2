#include "inspect/patching.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/hash.h"
#include "inspect/answer_pass.h"
#include "inspect/study_pass.h"
#include "inspect/sweep_state.h"
#include "regard/error.h"

namespace regard::inspect {
namespace {

bool ends_branch(std::string_view point) {
  return point.ends_with(".feed_forward.output") || point.ends_with(".self.context") ||
         point.ends_with(".cross.context");
}

// Return a number by which probe points are sorted in the order of computation: encoder before decoder, then
// by layer, then self-attention, cross-attention, feed-forward.
std::int64_t order_of(std::string_view point) {
  const bool decoder = point.starts_with("decoder.");
  std::int64_t layer = 0;
  for (std::size_t i = 8; i < point.size() && point[i] >= '0' && point[i] <= '9'; ++i)
    layer = layer * 10 + (point[i] - '0');
  const std::int64_t branch =
      point.find(".feed_forward.") != point.npos ? 2 : point.find(".cross.") != point.npos;
  return (decoder ? std::int64_t{1} << 40 : 0) + 4 * layer + branch;
}

// Return the input lengths of the encoder and the decoder as text for an error message, omitting a length of
// 0. `unit` is the unit of the encoder's length.
std::string lengths(const char* unit, std::int64_t encoder, std::size_t decoder) {
  if (encoder == 0) return fmt::format("{} tokens", decoder);
  if (decoder == 0) return fmt::format("{} {}", encoder, unit);
  return fmt::format("{} {} in the encoder and {} tokens in the decoder", encoder, unit, decoder);
}

class Patching {
 public:
  Patching(Network& model, ThreadPool& pool, const PassInput& clean, const PassInput& corrupted,
           const AnswerDifference& answer, const PatchOptions& options)
      : model_(model),
        options_(options),
        pool_(pool),
        answer_(answer),
        corrupted_input_(corrupted),
        points_(ModelPoints::of(model, pool)) {
    const std::int64_t positions = source_positions(clean), others = source_positions(corrupted);
    const bool texts = model.input_spec().kind == InputKind::tokens;
    const char* unit = texts ? "tokens" : "positions";
    if (positions != others || clean.target.size() != corrupted.target.size())
      throw usage_error(fmt::format("the two inputs of patching have different numbers of {}", unit))
          .found(lengths(unit, others, corrupted.target.size()))
          .expected(lengths(unit, positions, clean.target.size()))
          .remedy(fmt::format("Give two {}s of equal length", input_name(model)));
    for (const auto& [point, features] : points_.features) {
      if (!ends_branch(point) && !point.ends_with(".residual")) continue;
      clean_.want(point), corrupted_.want(point);
    }
    EditedPass clean_pass(options.edits, &clean_), corrupted_pass(options.edits, &corrupted_);
    result_.clean = difference(clean, &clean_pass);
    result_.corrupted = difference(corrupted, &corrupted_pass);
    require_finite(result_.clean), require_finite(result_.corrupted);
    if (options.state.empty()) return;
    state_.open(options.state, {{"study", options.mode == PatchMode::direct ? "path" : "patch"},
                                {"answer", text_of(answer)},
                                {"an input with the hash", hash_of(clean)},
                                {"another input with the hash", hash_of(corrupted)},
                                {"interventions", options.edits == nullptr ? "" : options.edits->text()},
                                {"a model with the differences",
                                 fmt::format("{:.17g} and {:.17g}", result_.clean, result_.corrupted)}});
  }

  PatchResult run() {
    const PatchMode mode = options_.mode;
    for (const auto& [point, features] : points_.features) {
      if (point.ends_with(".feed_forward.output")) ++all_;
      if (mode == PatchMode::total && point.ends_with(".residual")) all_ += clean_.at(point).rows();
    }
    all_ += std::ssize(points_.all_heads());
    for (const Head& head : points_.all_heads()) {
      ValueEdit edit = points_.of_head(head);
      add({head.text(), head, -1, 0, 0}, std::move(edit));
    }
    for (const auto& [point, features] : points_.features)
      if (point.ends_with(".feed_forward.output"))
        add({point.substr(0, point.rfind('.')), std::nullopt, -1, 0, 0},
            {point, 0, features, 0.0f, {}, false, {}});
    if (mode == PatchMode::total) add_residuals();
    return result_;
  }

 private:
  std::int64_t source_positions(const PassInput& input) const {
    return model_.kind() == ModelKind::decoder ? 0 : model_.input_spec().length_of(input.source);
  }

  double difference(const PassInput& input, Probe* probe) {
    return answer_difference(model_, pool_, input, answer_, probe);
  }

  // Return the value of the clean run at the edit's probe point, restricted to the edit's features.
  Tensor clean_value(const ValueEdit& edit) const {
    return clean_.at(edit.point).slice_columns(edit.begin, edit.end).clone();
  }

  void add(PatchEffect effect, ValueEdit edit) {
    EditedPass pass(options_.edits);
    if (options_.mode == PatchMode::direct)
      for (const auto& [point, features] : points_.features)
        if (ends_branch(point) && order_of(point) > order_of(edit.point))
          pass.add(ValueEdit{point, 0, features, 0.0f, corrupted_.at(point), true, {}});
    edit.offset = clean_value(edit);
    edit.by_position = true;
    pass.add(std::move(edit));
    finish(std::move(effect), pass);
  }

  void finish(PatchEffect effect, EditedPass& pass) {
    const std::string part =
        effect.position < 0 ? effect.component : fmt::format("{} {}", effect.component, effect.position);
    effect.difference = state_.value_of("", part, [&] { return difference(corrupted_input_, &pass); });
    const double whole = result_.clean - result_.corrupted;
    effect.effect = whole == 0.0 ? 0.0 : (effect.difference - result_.corrupted) / whole;
    result_.effects.push_back(std::move(effect));
    if (options_.progress &&
        !options_.progress(static_cast<double>(result_.effects.size()) / static_cast<double>(all_)))
      throw cancelled_error("the study was stopped");
  }

  void add_residuals() {
    for (const auto& [point, features] : points_.features) {
      if (!point.ends_with(".residual")) continue;
      const std::int64_t tokens = clean_.at(point).rows();
      for (std::int64_t position = 0; position < tokens; ++position) {
        ValueEdit edit{point, 0, features, 0.0f, clean_.at(point).slice_rows(position, position + 1).clone(),
                       false, {}};
        edit.positions.ranges = {{position, position}};
        EditedPass pass(options_.edits);
        pass.add(std::move(edit));
        finish({point, std::nullopt, position, 0, 0}, pass);
      }
    }
  }

  Network& model_;
  const PatchOptions& options_;
  SweepState state_{"component", "difference"};
  std::int64_t all_ = 0;  // number of effects to compute
  ThreadPool& pool_;
  AnswerDifference answer_;
  const PassInput& corrupted_input_;
  ModelPoints points_;
  PointCapture clean_, corrupted_;
  PatchResult result_;
};

}  // namespace

PatchResult patch_components(Network& model, ThreadPool& pool, const PassInput& clean,
                             const PassInput& corrupted, const AnswerDifference& answer,
                             const PatchOptions& options) {
  return Patching(model, pool, clean, corrupted, answer, options).run();
}

std::string text_of(const AnswerDifference& answer) {
  const bool strongest = answer.answer == AnswerDifference::kStrongest;
  std::string ids = strongest ? "with the highest logit" : std::to_string(answer.answer);
  if (answer.instead >= 0) ids += fmt::format(" minus {}", answer.instead);
  return fmt::format("{} at position {}", ids, answer.position);
}

std::string hash_of(const PassInput& input) {
  std::string values;
  if (input.source.values.defined())
    values.assign(static_cast<const char*>(input.source.values.data()), input.source.values.bytes());
  const std::string all =
      fmt::format("{} {} {} {:016x}", fmt::join(input.source.ids, ","), fmt::join(input.source.types, ","),
                  fmt::join(input.target, ","), xxh3(values));
  return fmt::format("{:016x}", xxh3(all));
}

}  // namespace regard::inspect
