// regard explain --model M --layer L --block: attention, cross-attention, feed-forward layer, residual
// connections and layer norms of one layer, with the numbers of one token.
#pragma once

#include <cstdint>
#include <string>

#include "base/thread_pool.h"

namespace regard::cli {

struct BlockRequest {
  std::string model, text, target, query;  // target: the decoder's text; empty: what the model generates
  std::int64_t layer = 0;
};

// The explanation, for each side of the model that has the layer. `query`: a token (number or text) of the
// last side; the last token if it is empty. Throws usage if no side has the layer or no token matches, and as
// inspect::pass_input() does.
std::string block_text(const BlockRequest& request, ThreadPool& pool);

}  // namespace regard::cli
