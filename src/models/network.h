// Network: the interface of all model families for training, decoding and inspection. make_model() builds a
// network from its config. Networks do not depend on files, text or search.
//
// Threads: any thread may run inference passes (Tape::Options::record is false), each with its own tape; a
// mutex serialises them. Only one thread may change weights or gradients, and only while no other thread runs
// a pass.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/json_fwd.h"
#include "base/namespaces.h"
#include "models/model_input.h"
#include "models/name_rules.h"
#include "nn/memory.h"
#include "nn/preparation.h"
#include "ops/ragged.h"
#include "ops/variable.h"
#include "regard/error.h"

namespace regard::nn {
class Cache;
struct CacheShape;
}  // namespace regard::nn

namespace regard::ops {
struct Parameter;
}

namespace regard::models {

enum class ModelKind { encoder, decoder, encoder_decoder };

constexpr std::int32_t kIgnoredLabel = -100;

// The output of the model's head, and its shape.
enum class Output {
  none,
  pooled,            // [sequences, hidden]
  vocabulary,        // [tokens, vocabulary]: logits of the token itself (masked language models)
  next_token,        // [tokens, vocabulary]: logits of the next token (decoders)
  token_classes,     // [tokens, labels]
  sequence_classes,  // [sequences, labels]
  span,              // [tokens, 2]: logits of the start and the end of an answer
  token_flags,       // [tokens, 1]: logit that the token was replaced (ELECTRA)
  ctc,               // [frames, vocabulary]: CTC logits of the labels and the blank (Graves et al. 2006)
};

// Rule for the default positions of a padded batch.
struct PositionRule {
  // true: positions count only the ids other than `padding`, from 0; false: they count all ids of the padded
  // row
  bool over_tokens = false;
  std::int64_t padding = -1;
  std::int64_t first = 0;  // position id that the checkpoint uses for position 0
};

// Return a usage error for a call that requires a part that the model does not have, such as "decoder".
Error without_part(const std::string& part);

class Network {
 public:
  virtual ~Network() = default;

  virtual ModelKind kind() const = 0;
  // size of the decoder's vocabulary if there is a decoder, else of the encoder's
  virtual std::int64_t vocabulary() const = 0;
  virtual std::int64_t source_vocabulary() const { return vocabulary(); }
  // Return the specification of the encoder's input or, if there is no encoder, of the decoder's input (token
  // ids).
  virtual const InputSpec& input_spec() const = 0;
  virtual std::int64_t hidden_size() const = 0;
  // maximum number of positions of a sequence; 0 means no limit
  virtual std::int64_t max_positions() const = 0;

  // Return all weights in a fixed order. A tied weight occurs once. The pointers are valid for the model's
  // lifetime, except that fit_to_file() may replace weights.
  virtual std::vector<Parameter*> parameters() = 0;

  // Return the content of config.json. make_model(config()) builds the same model.
  virtual Json config() const = 0;

  // Compute the last hidden states [source tokens, hidden] of the encoder. If input_spec().output_windows is
  // not empty, the result has the rows of output_shape(). Throws usage if the model has no
  // encoder or does not read this kind of input. Throws invalid_input if the shape of an input is wrong, an
  // id is outside the vocabulary, or a position is beyond the model's limit.
  virtual Var encode(Tape& tape, const InputBatch& source) = 0;

  // Return the shape of the result of encode() for a batch of shape `shape`. It differs from `shape` only if
  // input_spec().output_windows is not empty; it is then stored in the tape's arena.
  virtual Ragged output_shape(Tape& tape, const Ragged& shape) { return (void)tape, shape; }

  // Compute the last hidden states [target tokens, hidden] of the decoder at target.shape.positions. With a
  // cache, the positions of a sequence must start at the slot's length. `memory` contains one source sequence
  // for each target sequence, in the order of the batch. With a cache, it contains only the sources that are
  // not in the cache yet. Throws usage if the model has no decoder, `memory` or `cache` does not fit the
  // batch, or the tape records with a cache. Throws invalid_input if an id is outside the vocabulary or a
  // position is beyond the model's limit, and resource_exhausted if the cache is full.
  virtual Var decode(Tape& tape, const TokenBatch& target, const Memory* memory, Cache* cache) = 0;

  virtual Var logits(Tape& tape, Var hidden) = 0;  // [tokens, vocabulary]

  virtual Output output() const { return Output::next_token; }
  // Apply the head to the last hidden states of `batch`, the batch given to encode() or decode(). Throws
  // usage if output() is Output::none.
  virtual Var head(Tape& tape, Var hidden, const InputBatch& batch);
  virtual std::int64_t labels() const { return 0; }  // number of labels of a classifier
  // pooled() applies the base model's pooler to the last hidden states and returns [sequences, hidden], for
  // models whose head does not use the pooler. Throws usage if has_pooler() is false.
  virtual bool has_pooler() const { return false; }
  virtual Var pooled(Tape& tape, Var hidden, const Ragged& shape);
  virtual PositionRule position_rule() const { return {}; }
  // Return true if the last entry of `hidden_states` in the reference implementation is the output of the
  // final norm of the encoder (or decoder).
  virtual bool last_state_is_normed(bool encoder) const { return (void)encoder, true; }
  // Adapt the model to a file before loading weights: remove the head, tie the output projection, add a
  // pooler, or read sinusoids from the file, depending on the tensors in the file. holds(name) returns true
  // if the file contains the parameter `name`.
  virtual void fit_to_file(const std::function<bool(const std::string& name)>& holds);
  // Return the weights of a pooler that the head does not use. They are loaded from the file and are not
  // trained. parameters() does not contain them; carried() does.
  virtual std::vector<Parameter*> pooler_parameters() { return {}; }
  // Return the naming rules of the family's checkpoints.
  virtual const NameRules& name_rules() const;

  // Return the scalar factor · Σ cross-entropy(logits(hidden), labels [tokens]), summed over tokens with
  // labels other than kIgnoredLabel. Only a part of the logits is in memory at a time.
  virtual Var loss(Tape& tape, Var hidden, std::span<const std::int32_t> labels, float label_smoothing,
                   float factor) = 0;

  virtual CacheShape cache_shape() const = 0;

  // Pack the weights for faster inference passes with bit-identical results. Training passes discard the
  // packed weights, so call this again before the next inference.
  virtual void prepare_for_inference(const nn::Preparation& how) = 0;

  // Content of the weight file that is needed only to save the model: tensors that repeat a tied weight, and
  // tensors that the model does not use.
  struct Carried {
    std::vector<std::pair<std::string, Parameter*>> copies;
    std::vector<std::pair<std::string, Tensor>> tensors;
  };
  const Carried& carried() const { return carried_; }
  void set_carried(Carried carried) { carried_ = std::move(carried); }

  // If `trainable` is true, allocate gradients of zero for all parameters; otherwise free the gradients. Skip
  // the weights listed in name_rules().constants.
  void set_trainable(bool trainable);
  void clear_gradients();
  std::int64_t parameter_count();  // number of elements of all weights; a tied weight counts once

 private:
  Carried carried_;
};

// Build the network of the family that config's "model_type" names, without weights. Throws bad_file, naming
// `file` and the key, if the family is unknown, a key is missing, or a type or value is wrong. For
// regard-transformer, an unknown key is an error too.
std::unique_ptr<Network> make_model(const Json& config, const std::string& file = "config");

// Initialise every weight, with the distributions of the papers' reference implementations. The values of a
// weight depend only on `seed` and the weight's name, not on the machine or the order of weights.
void initialise(Network& model, std::uint64_t seed);

}  // namespace regard::models
