#include "regard/model.h"

#include <fmt/format.h>

#include "api/attention_state.h"
#include "api/file_reader.h"
#include "api/model_state.h"
#include "api/pool.h"
#include "base/lasting_path.h"
#include "base/utf8.h"
#include "infer/loaded_model.h"
#include "inspect/attend.h"
#include "inspect/capture_json.h"
#include "inspect/page.h"
#include "inspect/resolve.h"
#include "inspect/svg.h"
#include "models/weights.h"
#include "regard/error.h"

namespace regard {

using namespace models;  // namespace models exposes the names of nn, ops, tensor and base (base/namespaces.h)

void api::check_text(std::string_view text) {
  if (const auto bad = utf8::first_bad_byte(text); bad)
    throw Error(ErrorKind::invalid_input, "the text is not UTF-8",
                {"text", -1, static_cast<std::int64_t>(*bad)});
}

const inspect::Map& Attention::State::map(Kind kind, std::int64_t layer, std::int64_t head) const {
  for (const inspect::Map& map : view.maps)
    if (map.head.kind == kind && map.head.layer == layer && map.head.head == head) return map;
  std::int64_t layers = 0, heads = 0;
  for (const inspect::Map& map : view.maps) {
    if (map.head.kind != kind) continue;
    layers = std::max(layers, map.head.layer + 1), heads = std::max(heads, map.head.head + 1);
  }
  throw usage_error("the model has no such head")
      .found(inspect::Head{kind, layer, head}.text())
      .expected(layers == 0 ? "a model with this kind of attention"
                            : fmt::format("layers 0 to {}, heads 0 to {}", layers - 1, heads - 1));
}

Attention::Attention(std::shared_ptr<const State> state) : state_(std::move(state)) {}

const Attention::State& Attention::state() const {
  return api::state_of(state_, "Attention");
}

const std::string& Attention::text() const {
  return state().view.text;
}
const std::string& Attention::translation() const {
  return state().view.translation;
}
const std::vector<std::string>& Attention::source_tokens() const {
  return state().view.tokens.source;
}
const std::vector<std::string>& Attention::target_tokens() const {
  return state().view.tokens.target;
}
const std::vector<std::string>& Attention::written_tokens() const {
  return state().view.tokens.written;
}

std::int64_t Attention::layers(Kind kind) const {
  std::int64_t layers = 0;
  for (const inspect::Map& map : state().view.maps)
    if (map.head.kind == kind) layers = std::max(layers, map.head.layer + 1);
  return layers;
}

std::int64_t Attention::heads(Kind kind, std::int64_t layer) const {
  std::int64_t heads = 0;
  for (const inspect::Map& map : state().view.maps)
    if (map.head.kind == kind && map.head.layer == layer) heads = std::max(heads, map.head.head + 1);
  return heads;
}

Tensor Attention::weights(Kind kind, std::int64_t layer, std::int64_t head) const {
  const inspect::Map& map = state().map(kind, layer, head);
  Tensor weights = Tensor::empty({map.rows, map.columns});
  std::copy(map.weights.begin(), map.weights.end(), weights.f32());
  return weights;
}

std::string Attention::json() const {
  return inspect::to_json(state().view, inspect::Precision::full);
}

std::string Attention::svg(Kind kind, std::int64_t layer, std::int64_t head) const {
  inspect::View one = state().view;
  one.maps = {state().map(kind, layer, head)};
  return inspect::to_svg(one);
}

std::string Attention::html() const {
  return inspect::to_html(state().view);
}

Model::Model(std::shared_ptr<State> state) : state_(std::move(state)) {}

Model::State& Model::state() const {
  return api::state_of(state_, "Model");
}

Model load(const std::filesystem::path& path, const Progress& progress, Precision precision) {
  return load(path, progress, LoadOptions{.precision = precision});
}

Model load(const std::filesystem::path& path, const Progress& progress, const LoadOptions& options) {
  const auto go_on = [&](double share) {
    if (progress && !progress(share))
      throw cancelled_error("loading was cancelled").at({path.string(), -1, -1});
  };
  go_on(0.0);
  auto state = std::make_shared<Model::State>();
  state->name = path.string();
  state->settings = {.task = options.task,
                     .weight_mode = api::weight_mode(options.precision),
                     .reads = std::nullopt,
                     .adapter = options.adapter,
                     .language = options.language};
  state->loaded = infer::LoadedModel::open(path, state->settings);
  state->loaded.folder.make_absolute();
  state->settings.adapter = base::lasting_path(options.adapter);
  std::int64_t all = 0, done = 0;
  state->loaded.model->prepare_for_inference(nn::Preparation([&](std::int64_t bytes) { all += bytes; }));
  const auto pool = api::pool();
  nn::Preparation preparation(*pool);
  preparation.told = [&](std::int64_t bytes) {
    done += bytes;
    if (done < all) go_on(static_cast<double>(done) / static_cast<double>(all));
  };
  state->loaded.model->prepare_for_inference(preparation);
  go_on(1.0);
  return Model(std::move(state));
}

void quantize(const std::filesystem::path& from, const std::filesystem::path& to) {
  const auto folder = formats::ModelFolder::open(from);
  save_model(*load_merged_model(folder, WeightMode::int8), folder, to);
}

Attention Model::attend(std::string_view text, const AttendOptions& options) const {
  api::check_text(text);
  api::check_text(options.target);
  const infer::LoadedModel& loaded = state().loaded;
  loaded.model->input_spec().require(InputKind::tokens);
  inspect::AttendRequest request;
  request.model_name = state().name;
  request.text = std::string(text);
  const auto pool = api::pool();
  for (const HeadName& head : options.ablated) request.ablated.push_back(api::inner(head));
  const auto edits =
      inspect::resolve(*loaded.model, *pool, &loaded, inspect::parse_interventions(options.interventions), {},
                       api::file_reader(loaded, *pool));
  request.edits = edits.get(), request.interventions = options.interventions;
  if (!options.target.empty()) {
    if (!translates())
      throw usage_error("a target needs an encoder-decoder model").remedy("Leave the target out");
    request.written = inspect::written_ids(loaded, options.target);
  } else if (translates()) {
    inspect::generate_target(loaded, *pool, request);
  }
  auto state = std::make_shared<Attention::State>();
  state->view = inspect::attend(loaded, *pool, request);
  return Attention(std::move(state));
}

bool Model::translates() const {
  return state().loaded.model->kind() == ModelKind::encoder_decoder;
}

bool Model::generates() const {
  return state().loaded.model->kind() == ModelKind::decoder;
}

std::int64_t Model::parameter_count() const {
  return state().loaded.model->parameter_count();
}

const std::string& Model::warning() const {
  return state().loaded.warning;
}

}  // namespace regard
