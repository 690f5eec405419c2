// Run a model on named tensors and return named tensors: hidden states, attention weights, logits, the loss
// and its gradients. Names and layouts are the same as in Hugging Face's models.
//
//   regard::Runner runner("models/bert");
//   regard::NamedTensors inputs = regard::read_tensors("batch.safetensors");
//   regard::NamedTensors outputs = runner.run(inputs, {.capture = {"last_hidden_state", "attentions"}});
//   regard::write_tensors("outputs.safetensors", outputs);
//   std::string capture = runner.attend(inputs).at(0).json();  // docs/capture-format.md
//
// A model requires only some of these inputs. Integers are i64 or i32.
// - integers [batch, length], padded on either side: input_ids, attention_mask, token_type_ids, position_ids,
//   decoder_input_ids, decoder_attention_mask, decoder_position_ids
// - labels: integers [batch, length]; [batch] for classifiers; f32 for regression and multi-label models
// - integers [batch]: start_positions, end_positions
// - f32: pixel_values [batch, channels, height, width]; input_features; input_values
// - f32: loss_weight.OUTPUT, with the shape of the output OUTPUT; the loss is then the sum of the outputs
//   times their weights
//
// A model returns only some of these outputs. N is a layer from 0; for hidden states, 0 is the embeddings.
// - last_hidden_state, encoder_last_hidden_state, pooler_output, logits, start_logits, end_logits
// - hidden_states.N, encoder_hidden_states.N, decoder_hidden_states.N
// - [batch, heads, query, key]: attentions.N, encoder_attentions.N, decoder_attentions.N, cross_attentions.N
// - loss; grad.NAME, the gradient of the parameter NAME of the checkpoint
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "regard/export.h"
#include "regard/model.h"
#include "regard/tensor.h"

namespace regard {

using NamedTensors = std::map<std::string, Tensor>;

// Read a safetensors file into tensors that own their elements. Throws io if the file cannot be read;
// bad_file, naming the location, if its content is invalid.
REGARD_API NamedTensors read_tensors(const std::filesystem::path& file);
// Write a safetensors file atomically. Throws io, and usage for an undefined tensor or for a name that the
// format does not allow.
REGARD_API void write_tensors(const std::filesystem::path& file, const NamedTensors& tensors,
                              const std::map<std::string, std::string>& metadata = {});

struct RunOptions {
  // Outputs to return: names of outputs, "hidden_states" or "attentions" for all outputs of this kind,
  // "gradients" for all gradients, or "all". Names that do not apply to the model or the inputs are skipped.
  std::vector<std::string> capture = {"all"};
  // Compute and return values at padded positions as PyTorch does. If false, these values are not computed
  // and are zero.
  bool compute_padding = false;
  // Interventions applied in the forward pass (docs/looking.md). Texts in interventions must be given as
  // token ids (ids=), because a Runner has no tokenizer. A file (file=) is an image, a sound, or a
  // safetensors file with the model's input.
  std::vector<std::string> interventions = {};
};

// Options of Runner::attend(), which select the values that it returns.
struct CaptureOptions {
  std::vector<std::int64_t> layers = {}, heads = {};  // layers and heads to return; empty means all
  bool values = false;                                // add the query, key and value vectors to json()
  // Probe points whose values are added to json(): complete names ("encoder.0.residual"), or the last parts
  // of names ("residual").
  std::vector<std::string> activations = {};
  std::vector<std::string> interventions = {};  // interventions, as in RunOptions
};

// A handle to a model that computes with named tensors on the threads of regard/threads.h. Copies share the
// weights, and the calls of all copies are serialised. Results are bit-identical for any number of threads
// and, if compute_padding is false, regardless of what else is in the batch. A moved-from Runner can only be
// assigned to or destroyed; every other call throws usage.
class REGARD_API Runner {
 public:
  // Open a Hugging Face folder, a run folder or a checkpoint of a run; a tokenizer is not needed. Weights are
  // converted to f32, except int8 weights of a quantised folder, with which gradients cannot be computed.
  // Throws as load() does.
  explicit Runner(const std::filesystem::path& folder);

  // Run one forward pass, and the backward pass if gradients are selected and the inputs define a loss
  // (labels, start_positions or loss_weight.OUTPUT). Throws invalid_input for an unknown, missing or invalid
  // input; usage for a name in `capture` that no model returns, or if none of the selected outputs exists.
  NamedTensors run(const NamedTensors& inputs, const RunOptions& options = {}) const;

  // For each row of the inputs, run one forward pass without padding and return its attention. The attention
  // weights are bit-identical to those that run() returns. For a model with two encoders, the attention of
  // the texts precedes the attention of the images. An encoder–decoder requires decoder_input_ids. Tokens are
  // shown as text if the folder has a tokenizer, otherwise as ids. Throws as run() does; usage for layers,
  // heads and activations that the model does not have, and invalid_input for a row without tokens.
  std::vector<Attention> attend(const NamedTensors& inputs, const CaptureOptions& options = {}) const;

  // Generate from input_ids and attention_mask as transformers' generate() does, with the defaults of the
  // folder's generation_config.json. Returns sequences (i64, [batch × n_best, length]), including the prompt,
  // and for beam search also sequences_scores. Throws usage for encoders, images, and options that need a
  // tokenizer (stop, bad_words), and numeric if the model's output is not finite.
  NamedTensors generate(const NamedTensors& inputs, const DecodingOptions& options = {}) const;

  // message if the best checkpoint is damaged and another one was loaded; otherwise empty
  const std::string& warning() const;

 private:
  struct State;
  State& state() const;
  std::shared_ptr<State> state_;
};

}  // namespace regard
