#include "regard/tasks.h"

#include "api/file_reader.h"
#include "api/model_state.h"
#include "api/task_state.h"
#include "formats/model_folder.h"
#include "inspect/resolve.h"
#include "tasks/answer.h"
#include "tasks/classify.h"
#include "tasks/embed.h"
#include "tasks/fill.h"
#include "tasks/image_reader.h"

namespace regard {

using namespace models;  // namespace models exposes the names of nn, ops, tensor and base (base/namespaces.h)
namespace {

using ModelState = api::ModelAccess::State;

tasks::Options inner(const ReadingOptions& options, Probe* probe) {
  return {options.max_tokens, options.truncate, probe};
}

tasks::EmbedOptions inner(const EmbedOptions& options) {
  tasks::EmbedOptions to;
  if (!options.pooling.empty()) {
    to.pooling = tasks::pooling_mode_of(options.pooling);
    if (!to.pooling)
      throw usage_error("unknown pooling mode")
          .found(options.pooling)
          .expected("cls, max, mean, mean_sqrt_len_tokens, weightedmean or lasttoken");
  }
  to.normalise = options.normalise, to.prompt = options.prompt, to.cut = options.truncate;
  to.most_tokens = options.max_tokens;
  return to;
}

tasks::AnswerOptions inner(const AnswerOptions& options, Probe* probe) {
  tasks::AnswerOptions to;
  to.count = options.count, to.window = options.window, to.stride = options.stride,
  to.longest = options.longest;
  to.may_be_none = options.may_be_none, to.whole_words = options.whole_words;
  to.probe = probe;
  return to;
}

}  // namespace

std::unique_ptr<Probe> api::probe_of(const infer::LoadedModel& loaded, ThreadPool& pool,
                                     const std::vector<HeadName>& ablated,
                                     const std::vector<std::string>& interventions) {
  std::vector<inspect::Head> heads;
  for (const HeadName& head : ablated) heads.push_back(api::inner(head));
  return inspect::probe_of(loaded, pool, heads, interventions, api::file_reader(loaded, pool));
}

struct REGARD_HIDDEN Embedder::State {
  State(const std::filesystem::path& path, const EmbedOptions& options)
      : folder(tasks::EmbeddingFolder::open(path, inner(options), api::weight_mode(options.precision))),
        probe(api::probe_of(folder.loaded, *turns.pool, options.ablated, options.interventions)),
        embedder(folder, *turns.pool, inner(options), probe.get()) {
    folder.loaded.model->prepare_for_inference(*turns.pool);
  }
  api::Turns turns;
  tasks::EmbeddingFolder folder;
  std::unique_ptr<Probe> probe;
  tasks::Embedder embedder;
};

Embedder::Embedder(const std::filesystem::path& folder, const EmbedOptions& options) {
  if (options.prompt) api::check_text(*options.prompt);
  state_ = std::make_shared<State>(folder, options);
}

Embedder::State& Embedder::state() const {
  return api::state_of(state_, "Embedder");
}

std::int64_t Embedder::size() const {
  return state().embedder.size();
}

Tensor Embedder::embed(std::span<const std::string> texts) const {
  for (const std::string& text : texts) api::check_text(text);
  const auto turn = state().turns.take();
  return state().embedder.embed(texts);
}

Tensor Embedder::embed(std::string_view text) const {
  const std::string texts[] = {std::string(text)};
  return embed(texts);
}

Tensor Embedder::similarities(const Tensor& a, const Tensor& b) const {
  State& state = this->state();
  api::require_matrix("similarities", "a", a);
  api::require_matrix("similarities", "b", b);
  return tasks::similarities(*state.turns.pool, a, b, state.embedder.compares_by_product());
}

struct REGARD_HIDDEN Classifier::State : api::TaskState {
  State(std::shared_ptr<ModelState> of, const ReadingOptions& options)
      : TaskState(std::move(of), options.ablated, options.interventions),
        classifier(model->loaded, *turns.pool, {inner(options, probe.get()), {}, {}}) {}

  std::vector<std::vector<Label>> named(const Tensor& scores) const {
    std::vector<std::vector<Label>> all;
    const std::size_t count = classifier.labels().size();
    for (std::int64_t i = 0; i < scores.rows(); ++i) {
      std::vector<Label>& labels = all.emplace_back();
      for (tasks::LabelScore& one : classifier.best({scores.row(i), count}, count))
        labels.push_back({std::move(one.label), one.score});
    }
    return all;
  }
  void need(InputKind given) const { model->loaded.model->input_spec().require(given); }

  std::vector<std::vector<Label>> classes(std::span<const tasks::Input> inputs) {
    const auto turn = turns.take();
    return named(classifier.scores(inputs));
  }

  tasks::Classifier classifier;
};

Classifier::Classifier(const Model& model, const ReadingOptions& options)
    : state_(api::made<State>(model, options)) {}

Classifier::State& Classifier::state() const {
  return api::state_of(state_, "Classifier");
}

const std::vector<std::string>& Classifier::labels() const {
  return state().classifier.labels();
}

std::vector<std::vector<Label>> Classifier::classify(std::span<const std::string> texts) const {
  state().need(InputKind::tokens);
  return state().classes(api::read_texts(state().classifier, texts));
}

std::vector<Label> Classifier::classify(std::string_view text) const {
  const std::string texts[] = {std::string(text)};
  return classify(texts)[0];
}

std::vector<Label> Classifier::classify(std::string_view first, std::string_view second) const {
  state().need(InputKind::tokens);
  api::check_text(first), api::check_text(second);
  const tasks::Input inputs[] = {state().classifier.read(first, second)};
  return state().classes(inputs)[0];
}

std::vector<std::vector<Label>> Classifier::classify_image(const std::filesystem::path& file) const {
  state().need(InputKind::pixels);
  const infer::LoadedModel& loaded = state().model->loaded;
  const tasks::ImageReader reader(loaded.folder.path, loaded.model->input_spec());
  std::vector<std::vector<Label>> all;
  for (const data::Image& image : data::read_images(file))
    all.push_back(state().classes(reader.read({&image, 1}))[0]);
  return all;
}

struct REGARD_HIDDEN Answerer::State : api::TaskState {
  State(std::shared_ptr<ModelState> of, const AnswerOptions& options)
      : TaskState(std::move(of), options.ablated, options.interventions),
        answerer(model->loaded, *turns.pool, inner(options, probe.get())) {}
  tasks::Answerer answerer;
};

Answerer::Answerer(const Model& model, const AnswerOptions& options)
    : state_(api::made<State>(model, options)) {}

Answerer::State& Answerer::state() const {
  return api::state_of(state_, "Answerer");
}

std::vector<Answer> Answerer::answer(std::string_view question, std::string_view text) const {
  api::check_text(question), api::check_text(text);
  const tasks::Answerer::Reading reading = state().answerer.read(question, text);
  const auto turn = state().turns.take();
  std::vector<Answer> answers;
  for (tasks::Answer& one : state().answerer.answer(reading))
    answers.push_back({std::move(one.text), one.score, one.begin, one.end});
  return answers;
}

struct REGARD_HIDDEN Filler::State : api::TaskState {
  State(std::shared_ptr<ModelState> of, const std::vector<std::string>& targets,
        const ReadingOptions& options)
      : TaskState(std::move(of), options.ablated, options.interventions),
        filler(model->loaded, *turns.pool, {inner(options, probe.get()), targets}) {}
  tasks::Filler filler;
};

Filler::Filler(const Model& model, const std::vector<std::string>& targets, const ReadingOptions& options) {
  for (const std::string& target : targets) api::check_text(target);
  state_ = api::made<State>(model, targets, options);
}

Filler::State& Filler::state() const {
  return api::state_of(state_, "Filler");
}

const std::string& Filler::mask() const {
  return state().filler.mask();
}

std::vector<std::vector<Filling>> Filler::fill(std::string_view text, std::size_t count) const {
  api::check_text(text);
  const tasks::Input inputs[] = {state().filler.read(text)};
  const auto turn = state().turns.take();
  std::vector<std::vector<Filling>> masks;
  auto filled = state().filler.fill(inputs, count);
  for (auto& mask : filled[0]) {
    std::vector<Filling>& fillings = masks.emplace_back();
    for (tasks::Filling& one : mask)
      fillings.push_back({std::move(one.text), one.score, std::move(one.sequence)});
  }
  return masks;
}

}  // namespace regard
