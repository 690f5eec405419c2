// Builds a View of attention from an input: tokenises a text, runs one pass with a Capture, and labels the
// maps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "infer/loaded_model.h"
#include "infer/training_words.h"
#include "inspect/attention_view.h"
#include "inspect/between_passes.h"
#include "inspect/edited_pass.h"

namespace regard::inspect {

struct AttendRequest {
  std::string model_name;  // name of the model, copied to View::model
  std::string text;        // input text, or the name of an image or sound
  std::string pair;        // encoders: the second text of a pair; empty if there is none
  // input that is used instead of tokenised text and pair; required if the model does not read tokens
  std::optional<ModelInput> input;
  // If not null, the forward pass runs these batches of one sequence. They contain the tokens of `input` and
  // `decoder_ids`, but their position ids may differ from the default.
  const PassBatches* batches = nullptr;
  // the network to run, one encoder of a dual encoder; null means the whole model
  Network* network = nullptr;
  // Words of the training data. All other words of `text` are marked as unseen. If null, no word is marked.
  const infer::TrainingWords* words = nullptr;
  // Labels of the encoder's positions. If empty: the tokens of a text; the special tokens of an image and
  // "row,column" of each patch; the frame indices of a sound.
  std::vector<std::string> source_labels = {};
  // Encoder–decoders: the decoder's prompt in generate_target(), beginning with the start token. If empty,
  // the prompt is the start token.
  std::vector<std::int32_t> prompt = {};
  // Search options of generate_target(). If null, the options of the model folder are used.
  const infer::SearchOptions* search = nullptr;
  std::int64_t beam = 0;  // number of beams in generate_target(); 0: SearchOptions::beam
  // maximum number of tokens to generate, also if max_new or the search options allow more; 0: no maximum
  std::int64_t most_new = 0;
  // For encoder–decoders: the generated or given target ids, including the end token. For decoders: the ids
  // that continue the text.
  std::vector<std::int32_t> written;
  // Encoder–decoders: the decoder's input ids, as an alternative to `written`. The view then shows the most
  // probable token as the generated token of the last position.
  std::vector<std::int32_t> decoder_ids = {};
  // beam search that generated `written`, copied to View::beams; empty for other searches
  std::optional<BeamTree> beams = {};
  // text generated without ablation and interventions, copied to View::unablated
  std::string unablated;
  const EditedPass* edits = nullptr;            // interventions of the pass; may be null
  std::vector<std::string> interventions = {};  // interventions as texts, copied to View::interventions
  Selection selection;
  std::vector<Head> ablated;
  bool average = false;
  // number of views in one file; the limits of vectors and activations are divided equally among them
  std::size_t views = 1;
  // Capture activations for the HTML page (hidden states, layer inputs, outputs, inner values of feed-forward
  // layers) if the input is short enough to show them.
  bool page = false;
};

// Run one forward pass and return its view. If the model's tokenizers are not loaded, request.input is
// required and tokens are shown as ids. Throws usage if a selected or ablated head does not exist, or if this
// kind of model cannot process the request; throws invalid_input if the text has no tokens.
View attend(const infer::LoadedModel& loaded, ThreadPool& pool, const AttendRequest& request);

// Throw invalid_input if the text has no tokens besides special tokens.
void require_text(const infer::LoadedModel& loaded, std::string_view text);
// Return the ids of a target text, with the end token if the model has one.
std::vector<std::int32_t> written_ids(const infer::LoadedModel& loaded, std::string_view target);
// Return the ids that the model generates for request.input or request.text under `probe`, which may be
// null. max_new and `between` are as in generate_target().
std::vector<std::int32_t> generated_ids(const infer::LoadedModel& loaded, ThreadPool& pool,
                                        const AttendRequest& request, std::int64_t max_new, Probe* probe,
                                        const BetweenPasses& between = {});
// Generate the continuation or translation of request.input or request.text under the request's ablation and
// edits. Sets request.written and request.beams, and also request.unablated if there are ablated heads or
// edits. A positive max_new replaces the limit of the model folder, SearchOptions::max_new; if request.search
// has a limit too, the smaller one applies. Throws usage for encoders and for heads that do not exist.
void generate_target(const infer::LoadedModel& loaded, ThreadPool& pool, AttendRequest& request,
                     std::int64_t max_new = 0, const BetweenPasses& between = {});

// Return the text that the model generates under the request's ablation and interventions.
std::string changed_translation(const infer::LoadedModel& loaded, ThreadPool& pool,
                                const AttendRequest& request, std::int64_t max_new = 0,
                                const BetweenPasses& between = {});

}  // namespace regard::inspect
