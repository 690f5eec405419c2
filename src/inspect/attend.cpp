#include "inspect/attend.h"

#include <algorithm>

#include "base/json.h"
#include "base/utf8.h"
#include "inspect/capture_json.h"
#include "inspect/generation_steps.h"
#include "inspect/head_pattern.h"
#include "inspect/media_reader.h"
#include "inspect/pass_input.h"
#include "inspect/shown_parameters.h"
#include "inspect/shown_tokens.h"
#include "ops/parameter.h"
#include "regard/error.h"

namespace regard::inspect {
namespace {

// Maximum number of elements in the query, key and value vectors of one view. The activations of a view have
// the same limit. Each limit corresponds to 0.6 MB of base64.
constexpr std::size_t kMostNumbers = 120000;
// Maximum number of elements of the projection matrices in Map::parameters: 0.8 MB of base64.
constexpr std::size_t kMostParameters = 300000;
// Maximum product of tokens and hidden size for which AttendRequest::page captures activations.
constexpr std::int64_t kMostPageNumbers = 30000;

using TokenizerPointer = std::shared_ptr<const text::Tokenizer>;  // null if the tokenizer is not loaded

std::string decoded(const TokenizerPointer& tokenizer, std::span<const std::int32_t> ids) {
  return tokenizer == nullptr ? "" : tokenizer->decode(ids);
}

Network& network_of(const infer::LoadedModel& loaded, const AttendRequest& request) {
  return request.network != nullptr ? *request.network : *loaded.model;
}

std::int32_t likeliest(const Tensor& logits, std::int64_t row) {
  const float* begin = logits.row(row);
  return static_cast<std::int32_t>(std::max_element(begin, begin + logits.columns()) - begin);
}

ModelInput input_of(const infer::LoadedModel& loaded, const AttendRequest& request) {
  const InputSpec& spec = network_of(loaded, request).input_spec();
  if (request.input) {
    spec.require(request.input->kind());
    return *request.input;
  }
  spec.require(InputKind::tokens);
  require_text(loaded, request.text);
  if (request.pair.empty()) return loaded.read(request.text);
  if (loaded.model->kind() != ModelKind::encoder)
    throw usage_error("pairs of texts need an encoder model").remedy("Give one text");
  text::Encoding joined = loaded.source_tokenizer()->encode_pair(
      request.text, request.pair, {.add_special = true, .match_special = false});
  return {std::move(joined.ids), std::move(joined.type_ids)};
}

// Run one forward pass with the probe: over request.batches if they are set, otherwise over `source` and
// `target`. Return what run_with_probe() returns.
Tensor run(const infer::LoadedModel& loaded, ThreadPool& pool, const AttendRequest& request,
           const ModelInput& source, std::span<const std::int32_t> target, Probe& probe) {
  Network& model = network_of(loaded, request);
  if (request.batches != nullptr) return run_with_probe(model, pool, *request.batches, &probe);
  return run_with_probe(model, pool, source, target, &probe);
}

// Return a label for each position of the encoder: a token, the row and column of a patch, or a frame index.
std::vector<std::string> source_tokens(const TokenizerPointer& tokenizer, const InputSpec& spec,
                                       const ModelInput& input) {
  if (spec.kind == InputKind::tokens) return shown_tokens(tokenizer.get(), input.ids);
  return position_names(spec, input);
}

// Return true for each token of `ids` that covers part of an unseen word: a word of request.text that is not
// in request.words. Return an empty list if there is no unseen word, or if `ids` does not begin with the
// tokens of the text (for example because of a language code).
std::vector<bool> unseen_tokens(const infer::LoadedModel& loaded, const AttendRequest& request,
                                std::span<const std::int32_t> ids) {
  if (request.words == nullptr || request.input || !request.pair.empty()) return {};
  const std::string text = loaded.as_trained(request.text);
  const auto places = request.words->unseen_places(text);
  const bool decoder = loaded.model->kind() == ModelKind::decoder;
  const text::Encoding read =
      loaded.source->encode(text, {.add_special = !decoder || loaded.adds_special, .match_special = false});
  if (places.empty() || read.size() > ids.size() ||
      !std::equal(read.ids.begin(), read.ids.end(), ids.begin()))
    return {};
  std::vector<bool> unseen(ids.size(), false);
  for (std::size_t i = 0; i < read.size(); ++i)
    for (const auto& [begin, end] : places)
      if (static_cast<std::size_t>(read.byte_offsets[i].begin) < end &&
          begin < static_cast<std::size_t>(read.byte_offsets[i].end))
        unseen[i] = true;
  return unseen;
}

// Run a decoder on the text and its continuation. tokens.written contains the next token of each position;
// for the last position, this is the most likely token.
void attend_decoder(const infer::LoadedModel& loaded, ThreadPool& pool, const AttendRequest& request,
                    const ModelInput& input, Probe& probe, View& view) {
  const std::vector<std::int32_t>& continuation = request.written;
  std::vector<std::int32_t> read = input.ids;
  if (!continuation.empty()) view.prompt_tokens = std::ssize(read);
  read.insert(read.end(), continuation.begin(), continuation.end());
  const Tensor logits = run(loaded, pool, request, {}, read, probe);
  view.tokens.target = shown_tokens(loaded.source.get(), read);
  view.tokens.special_target = special_tokens(loaded.source.get(), read);
  view.tokens.target_origin = origins(loaded.source.get(), read);
  std::vector<std::int32_t> written(read.begin() + 1, read.end());
  view.tokens.written.assign(view.tokens.target.begin() + 1, view.tokens.target.end());
  if (logits.defined()) {
    written.push_back(likeliest(logits, logits.rows() - 1));
    view.tokens.written_origin = origins(loaded.source.get(), written);
  }
  view.tokens.written.push_back(logits.defined() ? shown_token(loaded.source.get(), written.back()) : "");
  view.steps = generation_steps(logits, written, loaded.source.get());
  if (!continuation.empty()) view.translation = decoded(loaded.target, continuation);
  view.tokens.unseen_target = unseen_tokens(loaded, request, input.ids);
  if (!view.tokens.unseen_target.empty()) view.tokens.unseen_target.resize(view.tokens.target.size());
}

void attend_encoder_decoder(const infer::LoadedModel& loaded, ThreadPool& pool, const AttendRequest& request,
                            const ModelInput& input, Probe& probe, View& view) {
  std::vector<std::int32_t> read = request.decoder_ids, written = request.written;
  if (read.empty() && written.empty())
    throw usage_error("the target of the encoder-decoder is missing").remedy("Give the tokens of a target");
  if (read.empty())
    read = read_ids(loaded.options.start_token, written);
  else
    written.assign(read.begin() + 1, read.end());
  view.translation = decoded(loaded.target, written);
  const Tensor logits = run(loaded, pool, request, input, read, probe);
  view.tokens.target = shown_tokens(loaded.target.get(), read);
  view.tokens.special_target = special_tokens(loaded.target.get(), read);
  view.tokens.target_origin = origins(loaded.target.get(), read);
  const bool complete = written.size() == read.size();
  if (!complete && logits.defined()) written.push_back(likeliest(logits, logits.rows() - 1));
  view.tokens.written = shown_tokens(loaded.target.get(), written);
  if (written.size() < read.size()) {  // without logits, the token after the last position is unknown
    view.tokens.written.emplace_back();
    return;
  }
  view.steps = generation_steps(logits, written, loaded.target.get());
  view.tokens.special_written = special_tokens(loaded.target.get(), written);
  view.tokens.written_origin = origins(loaded.target.get(), written);
}

}  // namespace

namespace {

Selection selection_of(Network& model, const AttendRequest& request, const ModelInput& input) {
  Selection selection = request.selection;
  selection.shapes = true;
  const std::int64_t tokens =
      model.input_spec().length_of(input) + std::ssize(request.written) + std::ssize(request.decoder_ids);
  if (request.page && selection.activations.empty() && tokens * model.hidden_size() <= kMostPageNumbers)
    selection.activations = {"embedding", "residual", "input", "inner", "output"};
  else if (selection.parameters && tokens <= 2 * kMostSteppedTokens)
    selection.activations.insert({"input", "output"});
  return selection;
}

void add_activations(const Capture& capture, std::size_t most, const std::set<std::string>& needed,
                     View& view) {
  for (const PointShape& one : capture.shapes()) {
    const auto found = capture.hidden_states().find(one.point);
    if (found == capture.hidden_states().end()) continue;
    const Tensor& value = found->second;
    view.activations.push_back({one.point, value.rows(), value.columns(),
                                std::vector<float>(value.f32(), value.f32() + value.shape().elements())});
  }
  limit_activations(view, most, needed);
}

// Return true if the model adds sinusoidal position encodings (family "transformer", models/transformer.h).
bool has_sinusoids(const Json& config) {
  return config.is_object() && config.contains("positions") && config["positions"] == "sinusoidal";
}

ModelSize size_of(Network& model, const Capture& capture) {
  ModelSize size{
      model.kind(),       model.hidden_size(),           model.vocabulary(), model.parameter_count(),
      model.input_spec(), has_sinusoids(model.config()), capture.shapes(),   {}};
  for (const Parameter* one : model.parameters())
    size.weights.emplace_back(one->name,
                              one->stored_shape.rank() > 0 ? one->stored_shape : one->value().shape());
  return size;
}

}  // namespace

View attend(const infer::LoadedModel& loaded, ThreadPool& pool, const AttendRequest& request) {
  Network& model = network_of(loaded, request);
  const ModelKind kind = model.kind();
  const ModelInput input = input_of(loaded, request);
  if (input.empty())
    throw input_error("the text has no tokens")
        .found("'" + request.text + "'")
        .expected("a text of at least one token");
  View view;
  view.model = request.model_name, view.text = request.text, view.pair = request.pair;
  view.unablated = request.unablated, view.ablated = request.ablated;
  view.interventions = request.interventions, view.beams = request.beams;
  if (request.words != nullptr && !request.input) view.unseen_words = request.words->unseen(request.text);
  Capture capture(selection_of(model, request, input), request.ablated);
  EditedPass probe(&capture);
  if (request.edits != nullptr) probe.add(*request.edits);
  if (kind != ModelKind::decoder)
    view.tokens.source = request.source_labels.empty()
                             ? source_tokens(loaded.source, model.input_spec(), input)
                             : request.source_labels;
  if (kind != ModelKind::decoder && !input.ids.empty()) {
    view.tokens.special_source = special_tokens(loaded.source.get(), input.ids);
    view.tokens.source_origin = origins(loaded.source.get(), input.ids);
    view.tokens.unseen_source = unseen_tokens(loaded, request, input.ids);
  }
  if (kind == ModelKind::encoder_decoder)
    attend_encoder_decoder(loaded, pool, request, input, probe, view);
  else if (kind == ModelKind::decoder)
    attend_decoder(loaded, pool, request, input, probe, view);
  else
    run(loaded, pool, request, input, {}, probe);
  capture.check();
  view.maps = maps_of(capture, request.average);
  const auto pools = [](const Map& map) { return map.head.kind == Kind::cross; };
  if (kind == ModelKind::encoder && std::ranges::any_of(view.maps, pools))
    view.tokens.target = view.tokens.written = {"[pooling]"};  // label of the learned query
  if (view.maps.empty() && request.selection.weights)
    throw usage_error("the model has no attention").remedy("'regard info' shows the family of a model");
  view.size = size_of(model, capture);
  summarize_maps(view);
  limit_values(view, kMostNumbers / request.views);
  const auto needed = add_parameters(capture, pool, kMostParameters / request.views, view);
  add_activations(capture, kMostNumbers / request.views, needed, view);
  if (request.edits != nullptr) view.warnings = request.edits->warnings();
  return view;
}

}  // namespace regard::inspect
