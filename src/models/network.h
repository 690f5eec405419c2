// Network: what training, decoding and inspection see of any family. A family is made from its config by
// make_model() and knows nothing of files, text or search.
//
// Threads: passes that do not record may be run from any thread, each on a tape of its own; they take turns.
// What changes weights or gradients is for one thread, while no other has a pass.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "models/name_rules.h"
#include "nn/cache.h"
#include "nn/memory.h"
#include "nn/preparation.h"
#include "ops/tape.h"

namespace regard {

// What a side of a model reads: a ragged batch, sequences laid end to end, no padding. RaggedBuffer
// (ops/ragged.h) fills shape.
struct TokenBatch {
  std::span<const std::int32_t> ids;  // [tokens]
  Ragged shape;
  std::span<const std::int32_t> types = {};  // [tokens]: token types; empty: all 0
  // [tokens]: 0 where nothing may attend to a token. For padding that is computed all the same, as PyTorch
  // does: the sequences must then be of one length. Null: no such tokens.
  const std::uint8_t* attended = nullptr;
  const Tensor* pixels = nullptr;  // [images, channels, height, width], instead of ids
};

enum class ModelKind { encoder, decoder, encoder_decoder };

constexpr std::int32_t kIgnoredLabel = -100;

// What stands on top of the last hidden states, and the shape of what it gives.
enum class Output {
  none,
  pooled,            // [sequences, hidden]
  vocabulary,        // [tokens, vocabulary]: of the token itself (masked language models)
  next_token,        // [tokens, vocabulary]: of the token that follows (decoders)
  token_classes,     // [tokens, labels]
  sequence_classes,  // [sequences, labels]
  span,              // [tokens, 2]: start and end of an answer
  token_flags,       // [tokens, 1]: whether something holds of a token (ELECTRA: that it was replaced)
};

// How a family counts the positions of a padded batch where it is not told them.
struct PositionRule {
  bool over_tokens = false;  // counted over ids that are not `padding`, from 0; else the column
  std::int64_t padding = -1;
  std::int64_t first = 0;  // what the checkpoint calls position 0
};

// What an image must be for a model that reads images, and the patches that it is cut into, row by row,
// behind the special tokens.
struct ImageInput {
  std::int64_t channels = 0, height = 0, width = 0, patch_rows = 0, patch_columns = 0, specials = 0;
};

class Network {
 public:
  virtual ~Network() = default;

  virtual ModelKind kind() const = 0;
  virtual std::int64_t vocabulary() const = 0;  // of the output side
  virtual std::int64_t source_vocabulary() const { return vocabulary(); }
  virtual std::int64_t hidden_size() const = 0;
  virtual std::int64_t max_positions() const = 0;  // 0: no limit

  // Every weight in the checkpoint's order, each once: a tied weight has one name. The pointers stay valid
  // as long as the model.
  virtual std::vector<Parameter*> parameters() = 0;

  // What config.json holds: make_model(config()) builds the same model.
  virtual Json config() const = 0;

  // Encoders and encoder–decoders: the last hidden states [source tokens, hidden].
  virtual Var encode(Tape& tape, const TokenBatch& source) = 0;

  // Decoders and encoder–decoders: the last hidden states [target tokens, hidden]. target.shape.positions are
  // used as they are: with a cache they continue at the slot's length. With a cache, `memory` is needed only
  // where a selected slot has no cross-attention yet, and then has one sequence for each of those, in the
  // order of the batch. Throws usage: ids outside the vocabulary, positions outside the model, no room in the
  // cache.
  virtual Var decode(Tape& tape, const TokenBatch& target, const Memory* memory, Cache* cache) = 0;

  virtual Var logits(Tape& tape, Var hidden) = 0;  // [tokens, vocabulary]

  virtual Output output() const { return Output::next_token; }
  // What output() says, of the last hidden states of the batch `shape`. Throws usage for Output::none.
  virtual Var head(Tape& tape, Var hidden, const Ragged& shape);
  virtual std::int64_t labels() const { return 0; }  // of classifiers
  // What the base model's pooler gives of the last hidden states [sequences, hidden], for models with another
  // head. Throws usage where has_pooler() is false.
  virtual bool has_pooler() const { return false; }
  virtual Var pooled(Tape& tape, Var hidden, const Ragged& shape);
  // Of encoders that read images [images, channels, height, width]: how many tokens one becomes. Throws usage
  // for other sizes than the model's, and for models that read none.
  virtual std::int64_t tokens_per_image(const Shape& pixels) const;
  virtual bool reads_images() const { return false; }    // instead of tokens
  virtual ImageInput image_input() const { return {}; }  // of those
  virtual PositionRule position_rule() const { return {}; }
  // Whether the last layer's hidden state is shown as it stands behind the final norm, as the family's own
  // code numbers them.
  virtual bool last_state_is_normed() const { return true; }
  // Fits the model to a file before its weights are read: a head or a pooler that the file may lack or have.
  // `holds` says whether the file has a weight of this model's name.
  virtual void fit_to_file(const std::function<bool(const std::string& name)>& holds);
  // Weights of a pooler beside the head: read from the file, never trained, and no part of parameters(), as
  // carried() has them.
  virtual std::vector<Parameter*> pooler_parameters() { return {}; }
  // How the family's checkpoints name what they hold.
  virtual const NameRules& name_rules() const;

  // A scalar: factor × the sum over counted tokens of the cross-entropy of logits(hidden) and labels
  // [tokens]; labels of kIgnoredLabel are not counted. Never holds all logits at once.
  virtual Var loss(Tape& tape, Var hidden, std::span<const std::int32_t> labels, float label_smoothing,
                   float factor) = 0;

  virtual CacheShape cache_shape() const = 0;

  // Rearranges the weights for the kernels, so that passes that do not record are faster. A recording pass
  // drops that again: call it after training steps, before decoding. Never changes a bit of any result.
  virtual void prepare_for_inference(const nn::Preparation& how) = 0;

  // What the file beside the weights held, to be written again: more names of tied weights, and tensors that
  // change nothing.
  struct Carried {
    std::vector<std::pair<std::string, Parameter*>> copies;
    std::vector<std::pair<std::string, Tensor>> tensors;
  };
  const Carried& carried() const { return carried_; }
  void set_carried(Carried carried) { carried_ = std::move(carried); }

  // Parameters get gradients (zero) where `trainable`, and lose them where not; constants never have any.
  void set_trainable(bool trainable);
  void clear_gradients();
  std::int64_t parameter_count();  // numbers, tied ones once

 private:
  Carried carried_;
};

// Builds the family that config's "model_type" names, its weights not yet set. Throws bad_file naming `file`
// and the key: unknown family, unknown key, wrong type or value, missing key.
std::unique_ptr<Network> make_model(const Json& config, const std::string& file = "config");

// Sets every weight as the papers' code does, from the seed and the weight's name: the same on every machine
// and for any order of weights.
void initialise(Network& model, std::uint64_t seed);

}  // namespace regard
