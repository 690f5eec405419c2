// regard explain --model M --layer L --block: attention, cross-attention, feed-forward layer, residual
// connections and layer norms of one layer, with the numbers of one token.
#pragma once

#include <cstdint>
#include <string>

#include "base/thread_pool.h"

namespace regard::cli {

struct BlockRequest {
  std::string model, text, target, query;  // `target`: the decoder's text; if empty, the model generates it
  std::int64_t layer = 0;
};

// Return the explanation, for each side of the model that has the layer. `query` selects a token (by number
// or text) of the last side. Default: the last token. Throws usage if no side has the layer or no token
// matches, and the errors of inspect::pass_input().
std::string block_text(const BlockRequest& request, ThreadPool& pool);

}  // namespace regard::cli
