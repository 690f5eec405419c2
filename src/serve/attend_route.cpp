// POST /attend, /attend/sound and /attend/picture: return the attention of one text, sound or image in the
// capture format.
#include <fmt/format.h>

#include <limits>
#include <optional>

#include "inspect/attend.h"
#include "inspect/capture_json.h"
#include "inspect/picture_attention.h"
#include "inspect/shown_tokens.h"
#include "inspect/sound_view.h"
#include "inspect/usual_kind.h"
#include "regard/error.h"
#include "serve/http_error.h"
#include "serve/json_schema.h"
#include "serve/memory_file.h"
#include "serve/request_edits.h"
#include "serve/request_file.h"
#include "tasks/image_reader.h"
#include "tasks/shown_sound.h"

namespace regard::serve {
namespace {

// maximum total number of elements of the query, key and value vectors in a response
constexpr std::size_t kMostValues = std::size_t{1} << 22;
// Maximum number of attention weights in a response: kMostWeights for a sound or image with weights of 8
// bits, kMostFullWeights for any input with "full" precision.
constexpr std::int64_t kMostWeights = std::int64_t{1} << 26, kMostFullWeights = std::int64_t{1} << 22;

constexpr std::int64_t kWidestBeam = 64;  // maximum beam width

inspect::Selection selection_of(const Call& call) {
  inspect::Selection selection;
  for (const Json& layer : call.value("layers", Json::array()))
    selection.layers.insert(static_cast<std::int64_t>(layer.get<double>()));
  for (const Json& head : call.value("heads", Json::array()))
    selection.heads.insert(static_cast<std::int64_t>(head.get<double>()));
  if (const auto kind = inspect::kind_of(call.value<std::string>("kind", ""))) selection.kinds.insert(*kind);
  selection.values = call.value("values", false);
  selection.parameters = call.value("parameters", false);
  return selection;
}

// Set request.written to the ids in the body's "written". If there are none, use the ids of its "target", or
// generate ids with the interventions.
void set_target(const Call& call, ModelHost& host, inspect::AttendRequest& request) {
  const infer::LoadedModel& loaded = host.loaded();
  const ModelKind kind = loaded.model->kind();
  const auto target = call.value<std::string>("target", "");
  const std::int64_t generate = call.integer("generate", 0);
  const auto written = call.value<std::vector<double>>("written", {});
  if (!written.empty()) {
    if (kind == ModelKind::encoder)
      throw HttpError(400, "\"written\" needs a model with a decoder", "invalid_value", "written");
    for (const double id : written) {
      request.written.push_back(static_cast<std::int32_t>(id));
      if (request.written.back() >= loaded.model->vocabulary())
        throw HttpError(400,
                        "expected token ids of the model, found " + std::to_string(request.written.back()),
                        "invalid_value", "written");
    }
    return;
  }
  if (!target.empty() && kind != ModelKind::encoder_decoder)
    throw HttpError(400, "\"target\" needs an encoder-decoder model", "invalid_value", "target");
  if (generate > 0 && kind == ModelKind::encoder)
    throw HttpError(400, "\"generate\" needs a model with a decoder", "invalid_value", "generate");
  if (!target.empty()) {
    require_short(host, target, "target");
    request.written = inspect::written_ids(loaded, target);
  } else if (kind == ModelKind::encoder_decoder || generate > 0) {
    inspect::generate_target(loaded, host.pool(), request, generate, [&] { call.waiting.require(); });
  }
}

// Return a request with the members of the body that apply to every kind of input.
inspect::AttendRequest request_of(const Call& call, ModelHost& host) {
  inspect::AttendRequest request;
  request.model_name = host.name();
  request.average = call.value("average", false);
  request.page = call.value("page", false);
  request.beam = call.integer("beam", 0);
  request.most_new = std::min(kMostAttended, call.services.options.most_new_tokens);
  request.selection = selection_of(call);
  const auto named = inspect::kind_of(call.value<std::string>("kind", ""));
  request.ablated = inspect::parse_heads(call.value<std::string>("ablate", ""),
                                         named.value_or(inspect::usual_kind(host.loaded().model->kind())));
  return request;
}

// If the body has "free": true, set view.generated to the text that the model generates without the given
// target.
void add_generated(const Call& call, ModelHost& host, const inspect::AttendRequest& request,
                   inspect::View& view) {
  if (!call.value("free", false)) return;
  const ModelKind kind = host.loaded().model->kind();
  const std::int64_t generate = call.integer("generate", 0);
  if (kind == ModelKind::encoder)
    throw HttpError(400, "\"free\" needs a model with a decoder", "invalid_value", "free");
  if (kind == ModelKind::decoder && generate == 0)
    throw HttpError(400, "\"free\" needs \"generate\" above 0, the maximum number of tokens to generate",
                    "invalid_value", "free");
  view.generated = inspect::changed_translation(host.loaded(), host.pool(), request, generate,
                                                [&] { call.waiting.require(); });
  if (request.edits != nullptr) view.warnings = request.edits->warnings();
}

// Throw HttpError if the weights of the view are too many for a response in full precision.
void require_few_weights(const inspect::View& view) {
  std::int64_t weights = 0;
  for (const inspect::Map& map : view.maps) weights += std::ssize(map.weights);
  if (weights > kMostFullWeights)
    throw HttpError(
        400,
        fmt::format("\"full\" returns at most {} attention weights, and this request has {}; select "
                    "fewer layers or heads, or remove \"full\"",
                    kMostFullWeights, weights),
        "invalid_value", "full");
}

void reply_with(Call& call, inspect::View& view) {
  inspect::limit_values(view, kMostValues);
  call.prompt_tokens += view.tokens.source.size() + view.tokens.target.size();
  const auto precision = call.value("full", false) ? inspect::Precision::full : inspect::Precision::bits8;
  if (precision == inspect::Precision::full) require_few_weights(view);
  call.reply_text(inspect::to_json(view, precision), "application/json");
}

void set_interventions(inspect::AttendRequest& request, const ExclusiveUse& use) {
  if (use.edits() == nullptr) return;
  request.edits = use.edits()->pass(), request.interventions = use.edits()->texts();
}

// Add the text's tokens to view.tokenizers for each model that reads text. The requested model is first.
void add_tokenizers(const Call& call, const ModelHost& host, inspect::View& view) {
  view.tokenizers.push_back(inspect::tokenized(host.tokenizer(), host.name(), view.text));
  for (const auto& other : call.services.models.all()) {
    const infer::LoadedModel& loaded = other->loaded();
    if (other->name() != host.name() && loaded.source && loaded.model->input_spec().kind == InputKind::tokens)
      view.tokenizers.push_back(inspect::tokenized(*loaded.source, other->name(), view.text));
  }
}

void answer_attend(Call& call) {
  const auto host = call.find_model(Ability::attend);
  const infer::LoadedModel& loaded = host->loaded();
  inspect::AttendRequest request = request_of(call, *host);
  request.text = call.value<std::string>("text", "");
  request.pair = call.value<std::string>("pair", "");
  request.words = host->training_words();
  for (const std::string* text : {&request.text, &request.pair}) require_short(*host, *text, "text");
  const ExclusiveUse use(call, *host);  // one request at a time: attention weights may occupy gigabytes
  set_interventions(request, use);
  set_target(call, *host, request);
  call.waiting.require();
  inspect::View view = inspect::attend(loaded, host->pool(), request);
  add_generated(call, *host, request, view);
  if (request.page) add_tokenizers(call, *host, view);
  reply_with(call, view);
}

// Return the schema of the beam width, whose maximum bounds the time of a request.
Json beam_schema() {
  return schema::described(schema::integer(1, kWidestBeam),
                           "Beam width of the generated text. Default: the width set in the model's folder");
}

// Return the schema of the JSON object in the form field "request" of /attend/sound and /attend/picture.
Json file_schema() {
  using namespace schema;
  return object(
      {{"language", described(text(32), "Sounds only: language code. Default: detected from the sound")},
       {"written", array(integer(0, std::numeric_limits<std::int32_t>::max()), 0, kMostAttended)},
       {"kind", one_of({"encoder", "decoder", "cross"})},
       {"layers", array(integer(0, 100000), 0, 1000)},
       {"heads", array(integer(0, 100000), 0, 1000)},
       {"ablate", text(10000)},
       {"values", boolean()},
       {"parameters", described(boolean(), "Add W_Q, W_K, W_V and W_O of the heads")},
       {"page", boolean()},
       {"full", boolean()},
       {"free", boolean()},
       {"generate", integer(0, kMostAttended)},
       {"beam", beam_schema()},
       {"interventions", interventions_schema()},
       {"model", text(1000)}});
}

// Replace the body, an HTML form, with the JSON object in the form's field "request".
void read_request(Call& call) {
  Json body = Json::object();
  if (call.has("request")) {
    try {
      body = parse_json(call.value<std::string>("request", ""), "request",
                        {.depth = call.services.options.json_depth});
    } catch (const Error& error) {
      throw HttpError(400, error.what(), "invalid_json", "request");
    }
  }
  static const Json kSchema = [] {
    Json schema = file_schema();
    schema["additionalProperties"] = false;
    return schema;
  }();
  if (const auto bad = violation_of(kSchema, body))
    throw HttpError(400, (bad->place.empty() ? "request" : bad->place) + ": " + bad->message, "invalid_value",
                    bad->place);
  for (auto member = body.begin(); member != body.end();)
    member = member->is_null() ? body.erase(member) : std::next(member);
  call.body = std::move(body);
}

// Reduce request.selection until the attention weights are within the limit. Return a sentence that states
// what is omitted, or "".
std::string limit_weights(const Call& call, ModelHost& host, inspect::AttendRequest& request) {
  return inspect::limit_weights(
      *host.loaded().model, host.pool(), *request.input, std::ssize(request.written),
      call.value("full", false) ? kMostFullWeights : kMostWeights, request.selection);
}

void add_sentence(std::string& text, const std::string& sentence) {
  if (!sentence.empty()) text += (text.empty() ? "" : " ") + sentence;
}

void answer_sound(Call& call) {
  call.only_file();  // refuse a request without exactly one file
  read_request(call);
  const auto host = call.find_model(Ability::attend_sound);
  const infer::LoadedModel& loaded = host->loaded();
  inspect::AttendRequest request = request_of(call, *host);
  const ExclusiveUse use(call, *host);  // one request at a time: attention weights may occupy gigabytes
  set_interventions(request, use);
  const MemoryFile file(call.only_file().value);
  tasks::ShownSound sound;
  try {
    sound =
        tasks::read_shown_sound(loaded, host->pool(), file.path(), call.value<std::string>("language", ""));
  } catch (const Error& error) {
    refuse_file(error);
  }
  request.text = call.only_file().file_name;
  request.input = sound.input, request.source_labels = sound.labels;
  request.prompt = sound.prompt, request.search = &sound.search;
  set_target(call, *host, request);
  std::string left_out;
  if (sound.cut)
    left_out = fmt::format("Only the first {:.1f} seconds of the sound are shown.", sound.seconds);
  add_sentence(left_out, limit_weights(call, *host, request));
  inspect::View view = inspect::attend(loaded, host->pool(), request);
  add_sentence(left_out, view.left_out);
  view.left_out = left_out;
  view.sound = {sound.seconds, sound.first_time, sound.time_step,
                inspect::display_spectrogram(sound.spectrogram, sound.frame_seconds, sound.seconds)};
  add_generated(call, *host, request, view);
  reply_with(call, view);
}

void answer_picture(Call& call) {
  call.only_file();  // refuse a request without exactly one file
  read_request(call);
  const auto host = call.find_model(Ability::attend_picture);
  if (call.has("language"))
    throw HttpError(400, "\"language\" is not supported for an image; remove it", "invalid_value",
                    "language");
  const infer::LoadedModel& loaded = host->loaded();
  inspect::AttendRequest request = request_of(call, *host);
  const ExclusiveUse use(call, *host);  // one request at a time: attention weights may occupy gigabytes
  set_interventions(request, use);
  const data::Image image = read_picture(call);
  const InputSpec& spec = loaded.model->input_spec();
  const std::filesystem::path& folder = loaded.folder.path;
  request.text = call.only_file().file_name;
  request.input = tasks::ImageReader(folder, spec).read({&image, 1})[0];
  set_target(call, *host, request);
  std::string left_out = limit_weights(call, *host, request);
  call.waiting.require();
  inspect::View view = inspect::attend(loaded, host->pool(), request);
  add_sentence(left_out, view.left_out);
  view.left_out = left_out;
  view.picture =
      inspect::display_picture(data::ImageProcessor::open(folder, spec.shape[2], spec.shape[3]).shape(image));
  add_generated(call, *host, request, view);
  reply_with(call, view);
}

Route file_route(const char* path, const char* summary, const char* file, void (*handle)(Call&)) {
  using namespace schema;
  return post_route(
      Protocol::regard, path, summary, handle,
      {.request = object({{"file", described(text(1000), file)},
                          {"request", described(text(100000), "The other members of POST /attend as JSON")}},
                         {"file"}),
       .response = object({{"warnings", warnings_schema()}}),
       .forms = true,
       .files = true,
       .heavy = true});
}

}  // namespace

void add_attend_route(std::vector<Route>& routes) {
  using namespace schema;
  routes.push_back(post_route(
      Protocol::regard, "/attend", "Attention weights of one text, in the capture format", answer_attend,
      {.request =
           object({{"text", text()},
                   {"pair", text()},
                   {"target", text()},
                   {"written",
                    described(array(integer(0, std::numeric_limits<std::int32_t>::max()), 0, kMostAttended),
                              "Token ids of the target or continuation, used instead of a generated text")},
                   {"kind", one_of({"encoder", "decoder", "cross"})},
                   {"layers", array(integer(0, 100000), 0, 1000)},
                   {"heads", array(integer(0, 100000), 0, 1000)},
                   {"ablate", text(10000)},
                   {"interventions", interventions_schema()},
                   {"average", boolean()},
                   {"values", boolean()},
                   {"parameters", described(boolean(), "Add W_Q, W_K, W_V and W_O of the heads")},
                   {"page", described(boolean(), "Add the activations and tokenizers that the page shows")},
                   {"full", boolean()},
                   {"free", described(boolean(), "Also generate a text without the given target")},
                   {"generate", integer(0, kMostAttended)},
                   {"beam", beam_schema()},
                   {"model", text(1000)}},
                  {"text"}),
       .response = Json{{"type", "object"}},
       .heavy = true}));
  routes.push_back(file_route(
      "/attend/sound", "Attention weights over the first 30 seconds of a sound file, in the capture format",
      "A sound file", answer_sound));
  routes.push_back(file_route("/attend/picture", "Attention weights over an image, in the capture format",
                              "An image file", answer_picture));
}

}  // namespace regard::serve
