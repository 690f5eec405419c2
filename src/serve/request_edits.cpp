#include "serve/request_edits.h"

#include <fmt/format.h>

#include <algorithm>

#include "inspect/resolve.h"
#include "serve/http_error.h"
#include "serve/json_schema.h"

namespace regard::serve {
namespace {

constexpr std::int64_t kMostInterventions = 32;
constexpr std::size_t kLongest = 16384;  // maximum bytes of one intervention
// Maximum total number of feature ranges in the interventions of a request. A probe point that is edited
// without ranges counts as one range.
constexpr std::size_t kMostPlaces = 1024;

HttpError refused(std::size_t index, const std::string& message) {
  return {400, message, "invalid_value", fmt::format("interventions[{}]", index)};
}

void check(const ModelHost& host, const inspect::Intervention& one, std::size_t index) {
  const std::pair<const char*, const std::string&> files[] = {{"texts", one.texts},
                                                              {"files", one.files},
                                                              {"file", one.other.file},
                                                              {"vector", one.vector},
                                                              {"pattern", one.pattern}};
  for (const auto& [key, value] : files)
    if (!value.empty())
      throw refused(index, fmt::format("an intervention of a request cannot name a file ({}=); give the "
                                       "other input with text= or ids=",
                                       key));
  for (const std::string* text : {&one.other.text, &one.other.target, &one.minus.text})
    if (!text->empty()) require_short(host, *text, "interventions");
  for (const auto* ids : {&one.other.ids, &one.other.target_ids})
    if (std::ssize(*ids) > kMostAttended)
      throw refused(index, fmt::format("expected at most {} ids, found {}", kMostAttended, ids->size()));
}

}  // namespace

void require_short(const ModelHost& host, std::string_view text, const char* parameter) {
  const auto tokens = std::ssize(host.tokenizer().encode_ids(text));
  if (tokens > kMostAttended)
    throw HttpError(400, fmt::format("expected at most {} tokens, found {}", kMostAttended, tokens),
                    "context_length_exceeded", parameter);
}

TurnHolder::TurnHolder(ModelHost& host, const Call& call) : host_(host.shared_from_this()) {
  if (!host_->edit_turn().begin(call.waiting.deadline, [&] { return call.exchange->gone(); }))
    throw HttpError(504, "the request was not processed before its deadline", "timeout");
}

TurnHolder::~TurnHolder() {
  host_->edit_turn().end();
}

Json interventions_schema() {
  using namespace schema;
  return described(
      array(any_of({text(kLongest), Json{{"type", "object"}, {"maxProperties", 16}}}), 0, kMostInterventions),
      "Interventions in every pass, in the syntax of --intervene; an intervention that reads a file is an "
      "error");
}

Json warnings_schema() {
  using namespace schema;
  const Json warning = object({{"intervention", text(kLongest)},
                               {"reason", one_of({"place", "positions", "keys"})},
                               {"message", text(2 * kLongest)}});
  return described(array(warning, 1, kMostInterventions),
                   "Interventions that changed nothing, each with the reason: no pass computes the values at "
                   "its place, or no input has tokens at its positions or keys");
}

RequestEdits::RequestEdits(const Call& call, std::shared_ptr<ModelHost> host) : host_(std::move(host)) {
  std::vector<inspect::Intervention> interventions;
  std::size_t places = 0;
  for (const Json& one : call.body.at("interventions")) {
    interventions.push_back(one.is_string() ? inspect::Intervention::parse(one.get_ref<const std::string&>())
                                            : inspect::Intervention::of(one));
    texts_.push_back(interventions.back().text);
    const std::size_t index = texts_.size() - 1;
    if (texts_.back().size() > kLongest)
      throw refused(index,
                    fmt::format("expected at most {} bytes, found {}", kLongest, texts_.back().size()));
    for (const inspect::Site& site : interventions.back().sites)
      places += std::max<std::size_t>(1, site.features.ranges.size());
    if (places > kMostPlaces)
      throw refused(index, fmt::format("expected at most {} places in all", kMostPlaces));
    check(*host_, interventions.back(), index);
  }
  turn_.emplace(*host_, call);
  pass_ = inspect::resolve(*host_->loaded().model, host_->pool(), &host_->loaded(), interventions,
                           [&call] { call.waiting.require(); });
}

Generator& RequestEdits::generator() {
  if (!generator_) {
    infer::SearchOptions options = host_->loaded().options;
    options.probe = pass_.get();
    infer::SessionLimits limits = host_->session_limits();
    limits.resident_bytes = 0;  // the cache is used by only one request, so its memory is not made resident
    generator_ =
        std::make_unique<Generator>(*host_->loaded().model, host_->pool(), options, limits, host_->metrics());
  }
  return *generator_;
}

bool has_interventions(const Json& body) {
  const auto given = [](const Json& of) {
    const auto found = of.find("interventions");
    return found != of.end() && !found->empty();
  };
  // POST / has "interventions" in its member "parameters"
  const auto parameters = body.find("parameters");
  return given(body) || (parameters != body.end() && parameters->is_object() && given(*parameters));
}

RequestEdits* edits_of(Call& call, ModelHost& host) {
  const auto given = call.body.find("interventions");
  if (given == call.body.end() || given->empty()) return nullptr;
  if (!call.edits || &call.edits->host() != &host) {
    call.edits.reset();  // end the exclusive use of another model before waiting for this one
    call.edits = std::make_shared<RequestEdits>(call, host.shared_from_this());
  }
  return call.edits.get();
}

Probe* probe_of(Call& call, ModelHost& host) {
  const RequestEdits* edits = edits_of(call, host);
  return edits == nullptr ? nullptr : edits->pass();
}

ExclusiveUse::ExclusiveUse(Call& call, ModelHost& host) : edits_(edits_of(call, host)) {
  if (edits_ == nullptr) turn_.emplace(host, call);
}

Probe* ExclusiveUse::probe() const {
  return edits_ == nullptr ? nullptr : edits_->pass();
}

std::shared_ptr<Generator> generator_of(Call& call, ModelHost& host) {
  if (RequestEdits* edits = edits_of(call, host)) return {call.edits, &edits->generator()};
  return {host.shared_from_this(), &host.generator()};
}

}  // namespace regard::serve
