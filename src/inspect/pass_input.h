// Input of one pass over a text, for attention views, interventions and studies.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "infer/loaded_model.h"
#include "inspect/between_passes.h"
#include "models/model_input.h"
#include "ops/probe.h"

namespace regard::inspect {

struct PassInput {
  ModelInput source;                 // input of the encoder; empty for a decoder
  std::vector<std::int32_t> target;  // input of the decoder; empty for an encoder
  // Encoder–decoders: the ids that the decoder generates, including the end token. `target` is the start
  // token followed by these ids without the last.
  std::vector<std::int32_t> written;
};

class EditedPass;
struct AttendRequest;

// Settings for generating a target that is not given.
struct TargetGeneration {
  BetweenPasses between = {};
  const EditedPass* edits = nullptr;       // interventions of every pass; may be null
  std::vector<std::int32_t> written = {};  // target to use; if empty, the model generates one
};

// Return the decoder input that predicts the tokens `written`: `start`, then `written` without the last
// token. `written` must not be empty.
std::vector<std::int32_t> read_ids(std::int32_t start, std::span<const std::int32_t> written);

// Return the input of a pass over `text`. `target` is the text that an encoder–decoder generates; if empty,
// the model generates it from `text`. Throws invalid_input if a text has no tokens, and usage if the model
// does not read text or does not accept a target.
PassInput pass_input(const infer::LoadedModel& loaded, ThreadPool& pool, std::string_view text,
                     std::string_view target = {}, const TargetGeneration& generation = {});
// Return generation.written or, if it is empty, the ids that the model generates for the input of `request`.
std::vector<std::int32_t> generated_target(const infer::LoadedModel& loaded, ThreadPool& pool,
                                           const AttendRequest& request, const TargetGeneration& generation);

// Run one forward pass, in which `probe` receives the intermediate values. Return the logits [target tokens,
// vocabulary]. The tensor is undefined if the model does not predict the next token.
Tensor run_pass(Network& model, ThreadPool& pool, const PassInput& input, Probe* probe);
// Run one pass with the interventions `edits`, which may be null. `observer` receives the values after the
// interventions.
Tensor run_pass(Network& model, ThreadPool& pool, const PassInput& input, const EditedPass* edits,
                Probe& observer);

}  // namespace regard::inspect
