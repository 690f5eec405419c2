// Dual encoders: a text encoder and an image encoder whose vectors are compared by cosine similarity. CLIP
// (Radford et al. 2021), SigLIP (Zhai et al. 2023): transformers' modeling_clip.py and modeling_siglip.py.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/namespaces.h"
#include "models/architecture.h"
#include "models/network.h"

namespace regard::models {

// Selects the token whose hidden state the text encoder's head reads.
enum class TextRow {
  largest_id,  // the first token with the largest id
  first_end,   // the first end token; the first token if there is none
  last,
};

struct DualEncoderConfig {
  Json config;  // config.json, unmodified, for saving
  // text encoder and image encoder; their heads compute the text and image vectors before normalisation
  Architecture text, vision;
  TextRow text_row = TextRow::largest_id;
  std::int32_t end_token = -1;
  std::int64_t size = 0;  // number of elements of a text or image vector
  // name of the logits' scale; name of their bias, empty if they have no bias
  std::string scale, bias;
  Shape scale_shape;  // shape of scale and bias in the file: [] or [1]
  double initial_scale = 0.0, initial_bias = 0.0;
  // True (SigLIP): loss and probabilities are computed for each pair separately. False (CLIP): they are
  // computed by softmax over texts and over images.
  bool sigmoid = false;
  std::int64_t text_length = 0;  // if not 0, pad texts to this many tokens and attend to the padding
  std::int32_t padding = 0;      // id of the padding token
  NameRules names;
};

// A dual encoder, as a Network without a head. encode() runs the text encoder on ids and the image encoder on
// pixels. input_spec(), vocabulary(), hidden_size() and max_positions() describe the text encoder.
class DualEncoder : public Network {
 public:
  explicit DualEncoder(DualEncoderConfig config);

  Network& text() { return *text_; }
  Network& vision() { return *vision_; }
  std::int64_t size() const { return config_.size; }
  bool sigmoid() const { return config_.sigmoid; }
  TextRow text_row() const { return config_.text_row; }
  // If the model was trained on padded texts, append padding to `ids` up to the length used in training.
  // Longer texts are not changed.
  void pad(std::vector<std::int32_t>& ids) const;

  // text_vectors() and image_vectors() compute the vectors [sequences, size] of texts and images, before
  // normalisation, from the last hidden states of a batch. Throws invalid_input for a text without tokens.
  Var text_vectors(Tape& tape, Var hidden, const InputBatch& batch);
  Var image_vectors(Tape& tape, Var hidden, const InputBatch& batch);

  // Return the logits [texts, images] = exp(scale) · texts · imagesᵀ + bias. The rows of `texts` and `images`
  // must be normalised (ops/unit_rows.h).
  Var pair_logits(Tape& tape, Var texts, Var images);
  // Return factor · contrastive loss, where text i belongs to image i; the numbers of texts and images must
  // be equal.
  //   CLIP: mean of two cross-entropies: over the images for each text, and over the texts for each image
  //   SigLIP: −Σ log σ(±logit) / number of texts, with + for pairs that belong together and − for the others
  Var contrastive_loss(Tape& tape, Var texts, Var images, float factor = 1.0f);

  ModelKind kind() const override { return ModelKind::encoder; }
  std::int64_t vocabulary() const override { return text_->vocabulary(); }
  const InputSpec& input_spec() const override { return text_->input_spec(); }
  std::int64_t hidden_size() const override { return text_->hidden_size(); }
  std::int64_t max_positions() const override { return text_->max_positions(); }
  std::vector<Parameter*> parameters() override;
  Json config() const override { return config_.config; }
  Var encode(Tape& tape, const InputBatch& source) override;
  Var decode(Tape& tape, const TokenBatch& target, const Memory* memory, Cache* cache) override;
  Output output() const override { return Output::none; }
  Var logits(Tape& tape, Var hidden) override;
  Var loss(Tape& tape, Var hidden, std::span<const std::int32_t> labels, float label_smoothing,
           float factor) override;
  bool last_state_is_normed(bool) const override { return false; }
  const NameRules& name_rules() const override { return config_.names; }
  CacheShape cache_shape() const override;
  void prepare_for_inference(const nn::Preparation& how) override;

 private:
  DualEncoderConfig config_;
  std::unique_ptr<Network> text_, vision_;
  std::unique_ptr<Parameter> scale_, bias_;  // scale and bias of the logits; bias_ may be null
};

// Return `model` as a DualEncoder, or null if it is another kind of network.
DualEncoder* dual_encoder_of(Network& model);

}  // namespace regard::models
