// Routes for operating the server: /health, /metrics, /openapi.json and the page at /.
#include <map>

#include "base/sha256.h"
#include "inspect/page_source.h"
#include "serve/json_schema.h"
#include "serve/route.h"
#include "text/base64.h"

namespace regard::serve {
namespace {

void answer_health(Call& call) {
  const bool ready = call.services.models.ready() && !call.services.draining();
  const char* status = call.services.draining() ? "stopping" : ready ? "ok" : "loading";
  call.reply({{"status", status}}, ready ? 200 : 503);
}

void answer_metrics(Call& call) {
  std::map<std::string, std::int64_t> waiting, running;
  for (const auto& host : call.services.models.all()) {
    waiting[host->name()] = host->waiting();
    running[host->name()] = host->running();
  }
  call.reply_text(call.services.metrics.text(call.services.connections(), waiting, running),
                  "text/plain; version=0.0.4; charset=utf-8");
}

void answer_openapi(Call& call) {
  // Generate the document only once, because this handler runs on the server's thread and must be fast. All
  // servers of a process have the same routes.
  static const std::string document = json_text(openapi_of(call.services.routes));
  call.reply_text(document, "application/json");
}

// Return the digests of the page's scripts for the Content-Security-Policy, which forbids all other scripts.
std::string script_sources() {
  std::string sources;
  const std::string_view page = inspect::kPageSource;
  for (std::size_t at = page.find("<script"); at != page.npos; at = page.find("<script", at)) {
    const std::size_t begin = page.find('>', at) + 1, end = page.find("</script>", begin);
    const std::string_view script = page.substr(begin, end - begin);
    sources += " 'sha256-" + text::encode_base64(sha256_digest(std::as_bytes(std::span(script)))) + "'";
    at = end;
  }
  return sources;
}

void answer_page(Call& call) {
  static const std::string policy = "default-src 'none'; script-src" + script_sources() +
                                    "; style-src 'unsafe-inline'; img-src data:; font-src data:; connect-src "
                                    "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
  call.exchange->send({.status = 200,
                       .type = "text/html; charset=utf-8",
                       .body = std::string(inspect::kPageSource),
                       .fields = {{"Content-Security-Policy", policy}, {"Referrer-Policy", "no-referrer"}}});
}

}  // namespace

void add_operation_routes(std::vector<Route>& routes) {
  using namespace schema;
  routes.push_back(
      get_route(Protocol::regard, "/health", "Whether the models are loaded", answer_health,
                {.response = object({{"status", one_of({"ok", "loading", "stopping"})}}, {"status"}),
                 .open = true,
                 .any_time = true}));
  routes.push_back(get_route(Protocol::regard, "/metrics", "Metrics in the format of Prometheus",
                             answer_metrics, {.type = "text/plain", .any_time = true}));
  routes.push_back(get_route(Protocol::regard, "/openapi.json", "This document", answer_openapi,
                             {.response = Json{{"type", "object"}}, .open = true, .any_time = true}));
  routes.push_back(get_route(Protocol::regard, "/", "The page that shows attention", answer_page,
                             {.type = "text/html", .open = true, .any_time = true}));
}

}  // namespace regard::serve
