// The HTTP routes of LibreTranslate's API.

#include <algorithm>
#include <map>

#include "base/utf8.h"
#include "serve/file_store.h"
#include "serve/http_error.h"
#include "serve/json_schema.h"
#include "serve/language_names.h"
#include "serve/request_edits.h"
#include "serve/route.h"
#include "serve/translation.h"

namespace regard::serve {
namespace {

constexpr std::int64_t kMostAlternatives = 8;

bool contains(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// Return the detected languages of a text and their scores, best first.
std::vector<std::pair<std::string, float>> detect(Call& call, const std::string& text) {
  const auto detector = call.services.models.detector();
  if (!detector) throw HttpError(501, "this server does not detect languages; start it with --detect FOLDER");
  ModelHost::Inputs inputs;
  inputs.push_back(detector->read_classified(text, std::nullopt, true));
  call.prompt_tokens += static_cast<std::uint64_t>(inputs[0].tokens());
  const ModelHost::Vector scores =
      detector->classify(std::move(inputs), detector->usual_scores(), call.waiting)[0];
  std::vector<std::pair<std::string, float>> languages;
  for (std::size_t i = 0; i < scores.size(); ++i) languages.emplace_back(detector->labels()[i], scores[i]);
  std::stable_sort(languages.begin(), languages.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return languages;
}

Json detection_json(const std::pair<std::string, float>& language) {
  return {{"confidence", language.second * 100.0f}, {"language", language.first}};
}

ModelRegistry::Hosts translators(const Call& call) {
  ModelRegistry::Hosts hosts = call.services.models.all();
  std::erase_if(hosts, [](const auto& host) { return !host->can(Ability::translate); });
  return hosts;
}

// Return the source language for "auto": the detected language or, without a detector, the only source
// language.
std::string source_of_auto(Call& call, const std::string& text, Json& detected) {
  if (call.services.models.detector()) {
    const auto best = detect(call, text).at(0);
    detected = detection_json(best);
    return best.first;
  }
  std::vector<std::string> sources;
  for (const auto& host : translators(call))
    for (const std::string& source : host->languages().sources)
      if (!contains(sources, source)) sources.push_back(source);
  if (sources.size() != 1)
    throw HttpError(400,
                    "expected a source language: \"auto\" needs --detect, or models with one source language",
                    "invalid_value", "source");
  detected = {{"confidence", 100.0}, {"language", sources[0]}};
  return sources[0];
}

std::shared_ptr<ModelHost> translator(Call& call, const std::string& source, const std::string& target) {
  const ModelRegistry::Hosts hosts = translators(call);
  std::string pairs;
  for (const auto& host : hosts) {
    const Languages& languages = host->languages();
    if (contains(languages.sources, source) && contains(languages.targets, target)) {
      call.model = host->name();
      return host;
    }
    for (const std::string& from : languages.sources)
      for (const std::string& to : languages.targets)
        if (pairs.size() < 1000) pairs += (pairs.empty() ? "" : ", ") + from + "-" + to;
  }
  if (hosts.empty()) throw HttpError(400, "no model of this server can translate");
  if (pairs.empty())
    throw HttpError(400,
                    "the languages of the models are not known; start the server with --languages "
                    "NAME=SOURCES:TARGETS");
  throw HttpError(400, "expected languages of a model (" + pairs + "), found " + source + "-" + target);
}

void answer_translate(Call& call) {
  const std::vector<std::string> texts = texts_of(call.body["q"]);
  TranslationRequest request;
  request.target = call.value<std::string>("target", "");
  request.alternatives = call.integer("alternatives", 0);
  std::vector<Json> detected(texts.size());
  std::vector<Translations> results(texts.size());
  std::string source = call.value<std::string>("source", "");
  const bool html = call.value<std::string>("format", "text") == "html";
  // Detected languages may differ, so the texts may require different models.
  std::map<std::string, std::vector<std::size_t>> by_source;
  for (std::size_t i = 0; i < texts.size(); ++i)
    by_source[source == "auto" ? source_of_auto(call, texts[i], detected[i]) : source].push_back(i);
  for (const auto& [language, which] : by_source) {
    request.host = translator(call, language, request.target);
    std::vector<std::string> group;
    for (const std::size_t i : which) group.push_back(texts[i]);
    std::vector<Translations> of =
        html ? translate_html(call, request, group) : translate_texts(call, request, group);
    for (std::size_t k = 0; k < which.size(); ++k) results[which[k]] = std::move(of[k]);
  }
  const bool list = call.body["q"].is_array();
  Json translated = Json::array(), alternatives = Json::array(), found = Json::array();
  for (std::size_t i = 0; i < results.size(); ++i) {
    translated.push_back(results[i][0]);
    alternatives.push_back(std::vector<std::string>(results[i].begin() + 1, results[i].end()));
    found.push_back(detected[i]);
  }
  Json json{{"translatedText", list ? translated : translated.at(0)}};
  if (request.alternatives > 0) json["alternatives"] = list ? alternatives : alternatives.at(0);
  if (source == "auto") json["detectedLanguage"] = list ? found : found.at(0);
  call.reply(json);
}

void answer_languages(Call& call) {
  std::map<std::string, std::vector<std::string>> targets;
  for (const auto& host : translators(call))
    for (const std::string& source : host->languages().sources)
      for (const std::string& target : host->languages().targets)
        if (!contains(targets[source], target)) targets[source].push_back(target);
  // Also list languages that are targets but not sources, because clients look up the names of target
  // languages in this list.
  for (const auto& host : translators(call))
    for (const std::string& target : host->languages().targets) targets[target];
  Json json = Json::array();
  for (const auto& [code, to] : targets)
    json.push_back({{"code", code}, {"name", language_name(code)}, {"targets", to}});
  call.reply(json);
}

void answer_detect(Call& call) {
  Json json = Json::array();
  for (const auto& language : detect(call, call.value<std::string>("q", "")))
    if (json.empty() || language.second >= 0.01f) json.push_back(detection_json(language));
  call.reply(json);
}

void answer_translate_file(Call& call) {
  const FormPart& file = call.only_file();
  if (!utf8::valid(file.value))
    throw HttpError(400, "expected a text file in UTF-8", "invalid_value", "file");
  const bool html = file.file_name.ends_with(".html") || file.file_name.ends_with(".htm");
  TranslationRequest request;
  request.target = call.value<std::string>("target", "");
  std::string source = call.value<std::string>("source", "");
  Json detected;
  if (source == "auto") source = source_of_auto(call, file.value.substr(0, 1000), detected);
  request.host = translator(call, source, request.target);
  const std::vector<std::string> texts{file.value};
  std::vector<Translations> results =
      html ? translate_html(call, request, texts) : translate_texts(call, request, texts);
  const std::string name = call.services.files.keep(std::move(results[0][0]), file.file_name);
  const std::string host(call.request.field("host"));
  call.reply({{"translatedFileUrl", "http://" + host + "/download_file/" + name}});
}

void answer_download(Call& call) {
  auto content = call.services.files.find(call.value<std::string>("file", ""));
  if (!content) throw HttpError(404, "the file does not exist or has expired");
  call.exchange->send({.status = 200,
                       .type = "text/plain; charset=utf-8",
                       .body = std::move(*content),
                       .fields = {{"Content-Disposition", "attachment"}}});
}

// Respond to the request for settings, which LibreTranslate's web page and clients send first.
void answer_settings(Call& call) {
  const auto hosts = translators(call);
  Json language = Json::object();
  if (!hosts.empty() && !hosts[0]->languages().sources.empty() && !hosts[0]->languages().targets.empty()) {
    const auto entry = [](const std::string& code) {
      return Json{{"code", code}, {"name", language_name(code)}};
    };
    language = {{"source", entry(hosts[0]->languages().sources[0])},
                {"target", entry(hosts[0]->languages().targets[0])}};
  }
  call.reply({{"apiKeys", !call.services.options.api_keys.empty()},
              {"charLimit", -1},
              {"frontendTimeout", 500},
              {"keyRequired", !call.services.options.api_keys.empty()},
              {"language", language},
              {"suggestions", false},
              {"supportedFilesFormat", {".txt", ".html"}},
              {"filesTranslation", true}});
}

Route form_route(const char* path, const char* summary, void (*handle)(Call&), Json request, Json response) {
  Route route =
      json_route(Protocol::libretranslate, path, summary, handle, std::move(request), std::move(response));
  route.forms = true;
  return route;
}

}  // namespace

void add_libretranslate_routes(std::vector<Route>& routes) {
  using namespace schema;
  const Json code = text(32),
             detection = object({{"confidence", Json{{"type", "number"}}}, {"language", text()}},
                                {"confidence", "language"});
  const Json texts = any_of({text(), array(text(), 1, kMostTexts)});
  routes.push_back(
      form_route("/translate", "Translate texts", answer_translate,
                 object({{"q", texts},
                         {"source", described(code, "A language code, or auto")},
                         {"target", code},
                         {"format", one_of({"text", "html"})},
                         {"alternatives", integer(0, kMostAlternatives)},
                         {"interventions", interventions_schema()},
                         {"api_key", text(1000)}},
                        {"q", "source", "target"}),
                 object({{"translatedText", any_of({text(1 << 30), array(text(1 << 30), 1, kMostTexts)})}},
                        {"translatedText"})));
  routes.push_back(form_route("/detect", "Detect the language of a text", answer_detect,
                              object({{"q", text()}, {"api_key", text(1000)}}, {"q"}),
                              array(detection, 1, 1000)));
  Route file = form_route("/translate_file", "Translate a text or HTML file", answer_translate_file,
                          object({{"file", text(1000)},
                                  {"source", code},
                                  {"target", code},
                                  {"interventions", interventions_schema()},
                                  {"api_key", text(1000)}},
                                 {"file", "source", "target"}),
                          object({{"translatedFileUrl", text()}}, {"translatedFileUrl"}));
  file.files = true;
  routes.push_back(std::move(file));
  const Json language = object({{"code", text()}, {"name", text()}, {"targets", array(text(), 0, 1000)}},
                               {"code", "name", "targets"});
  routes.push_back(get_route(Protocol::libretranslate, "/languages", "The languages of the models",
                             answer_languages, {.response = array(language, 0, 1000), .open = true}));
  routes.push_back(get_route(Protocol::libretranslate, "/frontend/settings",
                             "Settings of LibreTranslate's web page", answer_settings,
                             {.response = Json{{"type", "object"}}, .open = true}));
  routes.push_back(get_route(Protocol::libretranslate, "/download_file/{file}",
                             "A file that /translate_file has created", answer_download,
                             {.type = "text/plain", .open = true}));
}

}  // namespace regard::serve
