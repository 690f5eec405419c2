// POST /study: the studies of `regard study`. The request body contains the content of the input files
// instead of their names.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "inspect/study_settings.h"
#include "inspect/study_views.h"
#include "serve/http_error.h"
#include "serve/json_schema.h"
#include "serve/memory_file.h"
#include "serve/request_edits.h"

namespace regard::serve {
namespace {

constexpr std::int64_t kMostStudied = 256;  // maximum tokens of a text
constexpr std::int64_t kMostFlowing = 64;   // maximum tokens of a text for attention flow
constexpr std::int64_t kMostLines = 4096;   // maximum lines of "data"
// Maximum number of tokens of "data", including its targets or labels.
constexpr std::int64_t kMostDataTokens = 65536;

inspect::StudyRequest request_of(const Call& call) {
  inspect::StudyRequest request;
  request.view = call.value<std::string>("view", request.view);
  request.text = call.value<std::string>("text", "");
  request.target = call.value<std::string>("target", "");
  request.other = call.value<std::string>("other", "");
  request.other_target = call.value<std::string>("other_target", "");
  request.answer = call.value<std::string>("answer", "");
  request.instead = call.value<std::string>("instead", "");
  request.off = call.value<std::string>("off", "");
  request.position = call.integer("position", request.position);
  request.most = call.integer("most", request.most);
  request.examples = call.integer("examples", request.examples);
  request.steps = call.integer("steps", request.steps);
  request.length = call.integer("length", request.length);
  request.sequences = call.integer("sequences", request.sequences);
  return request;
}

// Throws HttpError 400 for data with too many lines or tokens, or with too many tokens in one line.
void check_data(const ModelHost& host, std::string_view data) {
  std::int64_t lines = 0, tokens = 0;
  const auto require = [](std::int64_t found, std::int64_t most, const char* what) {
    if (found > most)
      throw HttpError(400, fmt::format("expected at most {} {}, found {}", most, what, found),
                      "context_length_exceeded", "data");
  };
  while (!data.empty()) {
    const std::size_t end = std::min(data.find('\n'), data.size());
    const auto of_line = std::ssize(host.tokenizer().encode_ids(data.substr(0, end)));
    require(of_line, 2 * kMostStudied, "tokens in a line");
    require(++lines, kMostLines, "lines");
    require(tokens += of_line, kMostDataTokens, "tokens");
    data.remove_prefix(std::min(end + 1, data.size()));
  }
}

// Throw HttpError 400 if the body has a member that the view does not use, or combines "data" with "text" or
// "target". A member that is an empty text counts as absent.
void require_members_of_view(const Call& call, const std::string& view) {
  std::vector<std::string> given;
  for (const auto& member : call.body.items())
    if (member.value() != "") given.push_back(member.key());
  const auto has = [&](const char* name) { return std::ranges::find(given, name) != given.end(); };
  if (const auto unread = inspect::unread_setting(view, given))
    throw HttpError(400, fmt::format("\"{}\" does not apply to the view {}", *unread, view), "invalid_value",
                    *unread);
  if (has("data"))
    for (const char* name : {"text", "target"})
      if (has(name))
        throw HttpError(400, fmt::format("\"{}\" cannot be combined with \"data\"", name), "invalid_value",
                        name);
}

void check(const ModelHost& host, const inspect::StudyRequest& request, const Call& call) {
  const auto need = [&](const std::string& value, const char* name) {
    if (value.empty())
      throw HttpError(400, fmt::format("the view {} needs \"{}\"", request.view, name), "invalid_value",
                      name);
  };
  const auto data = call.value<std::string>("data", "");
  const bool labels = request.view == "probe" || request.view == "alignment";
  const bool reads = labels || request.view == "heads" || request.view == "sets" || request.view == "kinds";
  if (labels) need(data, "data");
  if (request.view == "alignment") need(call.value<std::string>("alignments", ""), "alignments");
  if (reads && !data.empty())
    check_data(host, data);
  else if (request.view != "induction")
    need(request.text, "text");
  if (request.view == "patch" || request.view == "path") need(request.other, "other");
  if (request.view == "flip") need(request.instead, "instead");
  const std::int64_t most = request.view == "flow" ? kMostFlowing : kMostStudied;
  for (const std::string* text : {&request.text, &request.target, &request.other, &request.other_target}) {
    const auto tokens = std::ssize(host.tokenizer().encode_ids(*text));
    if (tokens > most)
      throw HttpError(400, fmt::format("expected at most {} tokens, found {}", most, tokens),
                      "context_length_exceeded", "text");
  }
}

// A member of the request body that contains the content of an input file, and the in-memory file from which
// the study reads this content.
struct Content {
  const char* member;
  std::optional<MemoryFile> file = {};

  // Return a path from which the content can be read, or "" if the body does not have the member.
  std::string path(const Call& call) {
    const auto content = call.value<std::string>(member, "");
    return content.empty() ? "" : file.emplace(content).path();
  }
  std::string named(std::string text) const {
    if (!file) return text;
    for (std::size_t at = 0; (at = text.find(file->path(), at)) != text.npos;)
      text.replace(at, file->path().size(), member);
    return text;
  }
};

// Return the error with each path of an in-memory file replaced by the name of the body's member.
Error named(const Error& error, const Content& data, const Content& alignments) {
  const auto length = [](const Content& content) { return content.file ? content.file->path().size() : 0; };
  // Replace the longer path first, because the shorter one may be a prefix of it.
  const bool swapped = length(alignments) > length(data);
  const Content &first = swapped ? alignments : data, &second = swapped ? data : alignments;
  const auto name = [&](const std::string& text) { return second.named(first.named(text)); };
  Error out(error.kind(), name(error.message()),
            {name(error.file()), error.place().line, error.place().byte});
  return out.found(name(error.found())).expected(name(error.expected())).remedy(name(error.remedy()));
}

inspect::StudyTable table_of(Call& call, ModelHost& host, const inspect::StudyRequest& request) {
  // Stop the study with an exception if the deadline has passed or the client has disconnected.
  const auto progress = [&](double) { return call.waiting.require(), true; };
  const auto seed = static_cast<std::uint64_t>(call.integer("seed", 1));
  if (request.view != "tokens")
    return inspect::study_table(host.loaded(), host.pool(), request, seed, progress);
  // Gradients require f32 weights that are not packed.
  const auto loaded = infer::LoadedModel::open(host.loaded().folder, {.weight_mode = WeightMode::widened});
  return inspect::study_table(loaded, host.pool(), request, seed, progress);
}

void answer_study(Call& call) {
  const auto host = call.find_model(Ability::attend);
  inspect::StudyRequest request = request_of(call);
  require_members_of_view(call, request.view);
  check(*host, request, call);
  const ExclusiveUse use(call, *host);
  if (use.edits() != nullptr) request.interventions = use.edits()->texts();
  Content data{"data"}, alignments{"alignments"};
  if (const std::string path = data.path(call); !path.empty()) request.data.files = {path};
  request.alignments = alignments.path(call);
  Json json;
  try {
    json = table_of(call, *host, request).json();
  } catch (const Error& error) {
    throw named(error, data, alignments);
  }
  json["model"] = host->name();
  // The study applied its own copy of the interventions and returned their warnings, so reply() must not add
  // the warnings of call.edits.
  call.edits.reset();
  call.reply(json);
}

}  // namespace

void add_study_route(std::vector<Route>& routes) {
  using namespace schema;
  const Json token = text(1000);
  routes.push_back(post_route(
      Protocol::regard, "/study",
      "Measure the effects of a model's parts on a text, with the views of `regard study`", answer_study,
      {.request =
           object({{"view", one_of({"heads", "sets", "flip", "kinds", "induction", "lens", "direct", "patch",
                                    "path", "tokens", "rollout", "flow", "probe", "alignment"})},
                   {"data", described(text(), "Lines TEXT or TEXT<tab>TARGET, as in a file")},
                   {"alignments", described(text(), "For each line of data, links as in '0-1 2p0'")},
                   {"examples", integer(0, kMostLines)},
                   {"interventions", interventions_schema()},
                   {"text", text()},
                   {"target", text()},
                   {"other", text()},
                   {"other_target", text()},
                   {"answer", token},
                   {"instead", token},
                   {"off", text(10000)},
                   {"position", integer(0, kMostStudied)},
                   {"most", integer(1, 16)},
                   {"steps", integer(1, 200)},
                   {"length", integer(1, kMostStudied)},
                   {"sequences", integer(1, 32)},
                   {"seed", integer(0, std::numeric_limits<std::int64_t>::max())},
                   {"model", text(1000)}},
                  {"view"}),
       .response = Json{{"type", "object"}},
       .heavy = true}));
}

}  // namespace regard::serve
