// Handlers that the routes of text-embeddings-inference and POST / share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "serve/route.h"

namespace regard::serve {

// Return the member "dimensions", the length of the vectors in the response. Default: the length of the
// model's vectors. Throws HttpError 400 for a larger number.
std::int64_t dimensions_of(const Call& call, const ModelHost& host);

void answer_embed(Call& call);    // "inputs": a text or a list of texts
void answer_predict(Call& call);  // "inputs": a text, a list of texts, or a list of lists of 1 or 2 texts
// The same as answer_predict(), with at most the `most` best labels of each input.
void answer_best_labels(Call& call, std::size_t most);
void answer_similarity(Call& call);  // "inputs": an object with source_sentence and sentences

// Add POST /, which runs the task of the loaded model. Hugging Face's InferenceClient sends requests to this
// route if its argument `model` is the server's URL.
void add_inference_route(std::vector<Route>& routes);

}  // namespace regard::serve
