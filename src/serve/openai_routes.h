// The routes of OpenAI's API. Each is implemented in a file of its own.
#pragma once

#include <vector>

#include "serve/route.h"

namespace regard::serve {

void add_openai_chat_route(std::vector<Route>& routes);
void add_openai_completions_route(std::vector<Route>& routes);
void add_openai_speech_routes(std::vector<Route>& routes);
void add_openai_embeddings_route(std::vector<Route>& routes);

}  // namespace regard::serve
