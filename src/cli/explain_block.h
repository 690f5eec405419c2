// regard explain --model M --layer L --block: show attention, cross-attention, feed-forward layer, residual
// connections and layer norms of one layer, with the numbers of one token.
#pragma once

#include <cstdint>
#include <string>

#include "base/thread_pool.h"

namespace regard::cli {

struct BlockRequest {
  std::string model, text, target, query;  // `target`: text of the decoder; if empty, it is generated
  std::int64_t layer = 0;
};

// Return the explanation for each stack (encoder, decoder) of the model that has the layer. `query` selects a
// token of the last stack, by number or text. Default: the last token. Throws usage if no stack has the layer
// or no token matches, invalid_input if the text is too long, and the errors of inspect::pass_input().
std::string block_text(const BlockRequest& request, ThreadPool& pool);

}  // namespace regard::cli
