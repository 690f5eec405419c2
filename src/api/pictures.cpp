#include "regard/pictures.h"

#include "api/model_state.h"
#include "api/task_state.h"
#include "tasks/best.h"
#include "tasks/embed.h"
#include "tasks/image_text.h"

namespace regard {

using namespace models;  // namespace models exposes the names of nn, ops, tensor and base (base/namespaces.h)
namespace {

using PictureModel = api::ModelAccess::State;

}  // namespace

struct REGARD_HIDDEN Captioner::State {
  State(std::shared_ptr<PictureModel> of, const DecodingOptions& options)
      : model(std::move(of)),
        images(model->loaded.folder.path, model->loaded.model->input_spec()),
        search(api::search_options(model->loaded, options)) {
    model->need(ModelKind::encoder_decoder, "generate text from images");
    probe = api::probe_of(model->loaded, *turns.pool, {}, options.interventions);
    search.probe = probe.get();
  }
  api::Turns turns;
  std::shared_ptr<PictureModel> model;
  std::unique_ptr<Probe> probe;
  tasks::ImageReader images;
  infer::SearchOptions search;
};

Captioner::Captioner(const Model& model, const DecodingOptions& options)
    : state_(api::made<State>(model, options)) {}

Captioner::State& Captioner::state() const {
  return api::state_of(state_, "Captioner");
}

std::vector<std::string> Captioner::caption(const std::filesystem::path& file) const {
  State& state = this->state();
  std::vector<std::string> texts;
  for (const data::Image& image : data::read_images(file)) {
    const ModelInput input = state.images.read({&image, 1})[0];
    const auto turn = state.turns.take();
    const auto found =
        infer::decode(*state.model->loaded.model, *state.turns.pool, {&input, 1}, state.search);
    texts.push_back(found[0].empty() ? "" : state.model->loaded.written(found[0][0], state.search));
  }
  return texts;
}

struct REGARD_HIDDEN ImageTextEncoder::State : api::TaskState {
  State(std::shared_ptr<PictureModel> of, const ImageTextOptions& options)
      : TaskState(std::move(of), {}, options.interventions),
        encoder(model->loaded, *turns.pool, probe.get()) {}

  Tensor embed(std::span<const tasks::Input> inputs) {
    const auto turn = turns.take();
    return encoder.embed(inputs);
  }
  tasks::ImageTextEncoder encoder;
};

ImageTextEncoder::ImageTextEncoder(const Model& model, const ImageTextOptions& options)
    : state_(api::made<State>(model, options)) {}

ImageTextEncoder::State& ImageTextEncoder::state() const {
  return api::state_of(state_, "ImageTextEncoder");
}

std::int64_t ImageTextEncoder::size() const {
  return state().encoder.size();
}

Tensor ImageTextEncoder::embed(std::span<const std::string> texts) const {
  return state().embed(api::read_texts(state().encoder, texts));
}

Tensor ImageTextEncoder::embed(std::string_view text) const {
  const std::string texts[] = {std::string(text)};
  return embed(texts);
}

Tensor ImageTextEncoder::embed_images(std::span<const std::filesystem::path> files) const {
  Tensor vectors = Tensor::empty({std::ssize(files), size()});
  for (std::size_t i = 0; i < files.size(); ++i) {
    const data::Image image = data::read_one_image(files[i]);
    const Tensor one = state().embed(state().encoder.read({&image, 1}));
    std::copy_n(one.f32(), one.elements(), vectors.row(static_cast<std::int64_t>(i)));
  }
  return vectors;
}

Tensor ImageTextEncoder::embed_images(const std::filesystem::path& file) const {
  return embed_images({&file, 1});
}

Tensor ImageTextEncoder::similarities(const Tensor& a, const Tensor& b) const {
  api::require_matrix("similarities", "a", a);
  api::require_matrix("similarities", "b", b);
  return tasks::similarities(*state().turns.pool, a, b);
}

std::vector<std::vector<Label>> ImageTextEncoder::classify(const std::filesystem::path& file,
                                                           const std::vector<std::string>& labels,
                                                           std::string_view pattern) const {
  State& state = this->state();
  for (const std::string& label : labels) api::check_text(label);
  api::check_text(pattern);
  const std::vector<data::Image> images = data::read_images(file);
  const auto turn = state.turns.take();
  tasks::ZeroShotClassifier classifier(state.encoder, labels, std::string(pattern));
  std::vector<std::vector<Label>> all;
  for (const data::Image& image : images) {
    const Tensor scores = classifier.scores(state.encoder.read({&image, 1}));
    std::vector<Label>& best = all.emplace_back();
    for (const std::int64_t i : tasks::best_of({scores.f32(), labels.size()}, labels.size()))
      best.push_back({labels[static_cast<std::size_t>(i)], scores.f32()[i]});
  }
  return all;
}

}  // namespace regard
