// Handlers that POST / shares with the routes of text-embeddings-inference.
#pragma once

#include <vector>

#include "serve/route.h"

namespace regard::serve {

void answer_embed(Call& call);       // inputs: a text or texts
void answer_predict(Call& call);     // inputs: a text, texts or pairs
void answer_similarity(Call& call);  // inputs: source_sentence and sentences

// POST /: the task of the loaded models, as Hugging Face's InferenceClient sends it to a URL.
void add_inference_route(std::vector<Route>& routes);

}  // namespace regard::serve
