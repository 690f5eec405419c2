// regard explain --model M --layer L --block: show attention, cross-attention, feed-forward layer, residual
// connections and layer norms of one layer, with the numbers of one token.
#pragma once

#include <cstdint>
#include <string>

#include "base/thread_pool.h"

namespace regard::cli {

struct BlockRequest {
  // `target`: text of the decoder; if empty, it is generated. `query`: token to explain, by index or text; if
  // empty, the last token
  std::string model, text, target, query;
  std::int64_t layer = 0;
};

// Return the explanation of layer request.layer in the encoder, in the decoder, or in both. If both have the
// layer, request.query selects a token of the decoder, and the encoder's last token is explained. Throws
// usage if the model has no such layer or no token matches, invalid_input if the text is too long, and the
// errors of inspect::pass_input().
std::string block_text(const BlockRequest& request, ThreadPool& pool);

}  // namespace regard::cli
