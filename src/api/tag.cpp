#include "tasks/tag.h"

#include "api/model_state.h"
#include "api/task_state.h"
#include "regard/tasks.h"

namespace regard {

using namespace models;  // namespace models exposes the names of nn, ops, tensor and base (base/namespaces.h)
namespace {

tasks::TagOptions inner(const TagOptions& options, Probe* probe) {
  tasks::TagOptions to;
  to.aggregation = static_cast<tasks::Aggregation>(options.aggregation);
  static_assert(static_cast<int>(tasks::Aggregation::max) == static_cast<int>(Aggregation::max));
  to.window = options.window, to.stride = options.stride, to.ignored = options.ignored;
  to.probe = probe;
  return to;
}

}  // namespace

struct REGARD_HIDDEN Tagger::State : api::TaskState {
  State(std::shared_ptr<api::ModelAccess::State> of, const TagOptions& options)
      : TaskState(std::move(of), options.ablated, options.interventions),
        tagger(model->loaded, *turns.pool, inner(options, probe.get())) {}

  std::vector<std::vector<Tag>> tags(std::span<const tasks::Tagger::Reading> readings) {
    const auto turn = turns.take();
    std::vector<std::vector<Tag>> all;
    for (std::vector<tasks::Tag>& tags : tagger.tag(readings)) {
      std::vector<Tag>& list = all.emplace_back();
      for (tasks::Tag& one : tags)
        list.push_back({std::move(one.label), one.score, std::move(one.word), one.begin, one.end});
    }
    return all;
  }

  tasks::Tagger tagger;
};

Tagger::Tagger(const Model& model, const TagOptions& options) : state_(api::made<State>(model, options)) {}

Tagger::State& Tagger::state() const {
  return api::state_of(state_, "Tagger");
}

const std::vector<std::string>& Tagger::labels() const {
  return state().tagger.labels();
}

std::vector<std::vector<Tag>> Tagger::tag(std::span<const std::string> texts) const {
  return state().tags(api::read_texts(state().tagger, texts));
}

std::vector<Tag> Tagger::tag(std::string_view text) const {
  const std::string texts[] = {std::string(text)};
  return tag(texts)[0];
}

std::vector<Tag> Tagger::tag_words(std::span<const std::string> words) const {
  for (const std::string& word : words) api::check_text(word);
  const tasks::Tagger::Reading readings[] = {state().tagger.read_words(words)};
  return state().tags(readings)[0];
}

std::vector<std::string> Tagger::word_labels(std::span<const std::string> words) const {
  for (const std::string& word : words) api::check_text(word);
  const tasks::Tagger::Reading readings[] = {state().tagger.read_words(words)};
  const auto turn = state().turns.take();
  std::vector<std::string> labels;
  const std::vector<std::vector<std::int32_t>> classes = state().tagger.word_classes(readings);
  for (const std::int32_t label : classes[0])
    labels.push_back(label < 0 ? "" : state().tagger.labels()[static_cast<std::size_t>(label)]);
  return labels;
}

}  // namespace regard
