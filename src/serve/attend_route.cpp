// POST /attend: attention of one text, in the capture format.
#include <algorithm>
#include <limits>
#include <optional>

#include "inspect/attend.h"
#include "inspect/capture_json.h"
#include "inspect/usual_kind.h"
#include "serve/http_error.h"
#include "serve/json_schema.h"
#include "serve/request_edits.h"

namespace regard::serve {
namespace {

constexpr std::size_t kMostValues = std::size_t{1} << 22;  // maximum number of query, key and value elements

inspect::Selection selection_of(const Call& call) {
  inspect::Selection selection;
  for (const Json& layer : call.value("layers", Json::array()))
    selection.layers.insert(static_cast<std::int64_t>(layer.get<double>()));
  for (const Json& head : call.value("heads", Json::array()))
    selection.heads.insert(static_cast<std::int64_t>(head.get<double>()));
  if (const auto kind = inspect::kind_of(call.value<std::string>("kind", ""))) selection.kinds.insert(*kind);
  selection.values = call.value("values", false);
  return selection;
}

// Set request.written to the given target, or to a text generated under the interventions.
void set_target(const Call& call, ModelHost& host, inspect::AttendRequest& request) {
  const infer::LoadedModel& loaded = host.loaded();
  const ModelKind kind = loaded.model->kind();
  const auto target = call.value<std::string>("target", "");
  const std::int64_t generate = call.integer("generate", 0);
  const auto written = call.value<std::vector<double>>("written", {});
  if (!written.empty()) {
    if (kind == ModelKind::encoder)
      throw HttpError(400, "written ids need a model with a decoder", "invalid_value", "written");
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
    throw HttpError(400, "a target needs an encoder-decoder model", "invalid_value", "target");
  if (generate > 0 && kind == ModelKind::encoder)
    throw HttpError(400, "generate needs a model with a decoder", "invalid_value", "generate");
  if (!target.empty()) {
    require_short(host, target, "target");
    request.written = inspect::written_ids(loaded, target);
  } else if (kind == ModelKind::encoder_decoder || generate > 0) {
    const std::int64_t most = std::min(kMostAttended, call.services.options.most_new_tokens);
    inspect::generate_target(loaded, host.pool(), request, generate > 0 ? std::min(generate, most) : most,
                             [&] { call.waiting.require(); });
  }
}

void answer_attend(Call& call) {
  const auto host = call.find_model(Ability::attend);
  const infer::LoadedModel& loaded = host->loaded();
  inspect::AttendRequest request;
  request.model_name = host->name();
  request.text = call.value<std::string>("text", "");
  request.pair = call.value<std::string>("pair", "");
  request.average = call.value("average", false);
  request.page = call.value("page", false);
  request.selection = selection_of(call);
  for (const std::string* text : {&request.text, &request.pair}) require_short(*host, *text, "text");
  const auto named = inspect::kind_of(call.value<std::string>("kind", ""));
  request.ablated = inspect::parse_heads(call.value<std::string>("ablate", ""),
                                         named.value_or(inspect::usual_kind(loaded.model->kind())));
  // The weights of one request may take gigabytes, so such requests run one at a time.
  std::optional<TurnHolder> turn;
  if (const RequestEdits* edits = edits_of(call, *host))
    request.edits = edits->pass(), request.interventions = edits->texts();
  else
    turn.emplace(*host, call);
  set_target(call, *host, request);
  call.waiting.require();
  inspect::View view = inspect::attend(loaded, host->pool(), request);
  inspect::limit_values(view, kMostValues);
  call.prompt_tokens += view.tokens.source.size() + view.tokens.target.size();
  const auto precision = call.value("full", false) ? inspect::Precision::full : inspect::Precision::bits8;
  call.reply_text(inspect::to_json(view, precision), "application/json");
}

}  // namespace

void add_attend_route(std::vector<Route>& routes) {
  using namespace schema;
  routes.push_back(
      {.method = "POST",
       .path = "/attend",
       .protocol = Protocol::regard,
       .summary = "Attention weights of one text, in the capture format",
       .handle = answer_attend,
       .request =
           object({{"text", text()},
                   {"pair", text()},
                   {"target", text()},
                   {"written",
                    described(array(integer(0, std::numeric_limits<std::int32_t>::max()), 0, kMostAttended),
                              "Ids of the target or continuation, instead of generating it")},
                   {"kind", one_of({"encoder", "decoder", "cross"})},
                   {"layers", array(integer(0, 100000), 0, 1000)},
                   {"heads", array(integer(0, 100000), 0, 1000)},
                   {"ablate", text(10000)},
                   {"interventions", interventions_schema()},
                   {"average", boolean()},
                   {"values", boolean()},
                   {"page", described(boolean(), "Add the activations that the page shows")},
                   {"full", boolean()},
                   {"generate", integer(0, kMostAttended)},
                   {"model", text(1000)}},
                  {"text"}),
       .response = Json{{"type", "object"}},
       .heavy = true});
}

}  // namespace regard::serve
