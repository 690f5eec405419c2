// The table of routes: which ones need a key, wait for the models, stream, or take forms.
#include "serve/route.h"

#include <gtest/gtest.h>

#include <set>

namespace regard::serve {
namespace {

std::string flags_of(const Route& route) {
  std::string text = std::string(route.method) + " " + route.path;
  if (route.also_text) text += " also-text";
  if (route.forms) text += " forms";
  if (route.files) text += " files";
  if (route.streams) text += " streams";
  if (route.open) text += " open";
  if (route.any_time) text += " any-time";
  if (route.heavy) text += " heavy";
  return text;
}

TEST(Routes, WithFlags) {
  std::vector<Route> routes;
  for (const auto add : {add_operation_routes, add_openai_routes, add_libretranslate_routes,
                         add_embedding_routes, add_regard_routes, add_attend_route, add_study_route,
                         add_generate_route, add_line_routes, add_model_routes})
    add(routes);
  std::set<std::string> found;
  for (const Route& route : routes)
    if (const std::string flags = flags_of(route); flags != std::string(route.method) + " " + route.path)
      found.insert(flags);
  const std::set<std::string> expected = {
      "GET / open any-time",
      "GET /download_file/{file} open",
      "GET /frontend/settings open",
      "GET /health open any-time",
      "GET /languages open",
      "GET /metrics any-time",
      "GET /openapi.json open any-time",
      "POST /attend heavy",
      "POST /attend/picture forms files heavy",
      "POST /attend/sound forms files heavy",
      "POST /detect forms",
      "POST /study heavy",
      "POST /translate forms",
      "POST /translate_file forms files",
      "POST /v1/audio/transcriptions also-text forms files heavy",
      "POST /v1/audio/translations also-text forms files heavy",
      "POST /v1/chat/completions streams",
      "POST /v1/completions streams",
  };
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace regard::serve
