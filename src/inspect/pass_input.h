// Input of one pass over a text, as attend, interventions and studies run it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "infer/loaded_model.h"
#include "models/model_input.h"
#include "ops/probe.h"

namespace regard::inspect {

struct PassInput {
  ModelInput source;                 // of the encoder; empty for a decoder
  std::vector<std::int32_t> target;  // the decoder's input; empty for an encoder
  // Encoder–decoders: what the decoder writes, including the end token; target is the start token and all of
  // it but its last token.
  std::vector<std::int32_t> written;
};

// The decoder input that generates `written`, which must not be empty.
std::vector<std::int32_t> read_ids(std::int32_t start, std::span<const std::int32_t> written);

// `target`: the text that an encoder–decoder writes; empty: what the model generates for `text`. Throws
// invalid_input if a text has no tokens, usage if the model does not read text or takes no target.
PassInput pass_input(const infer::LoadedModel& loaded, ThreadPool& pool, std::string_view text,
                     std::string_view target = {});

// run_with_probe() of attention_view.h.
Tensor run_pass(Network& model, ThreadPool& pool, const PassInput& input, Probe* probe);

}  // namespace regard::inspect
