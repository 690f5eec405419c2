// Dual encoders: a text and an image encoder whose vectors are compared by the cosine: CLIP (Radford et al.
// 2021) and SigLIP (Zhai et al. 2023), as in transformers' modeling_clip.py and modeling_siglip.py.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "models/architecture.h"
#include "models/attention_pooling.h"
#include "models/network.h"

namespace regard {

// The token of a text that the head of the text encoder reads.
enum class TextRow {
  largest_id,  // the first one with the largest id
  first_end,   // the first end token; the first token if there is none
  last,
};

struct DualEncoderConfig {
  Json config;                // unmodified, to be saved again
  Architecture text, vision;  // encoders; their heads give the vectors, before normalisation
  TextRow text_row = TextRow::largest_id;
  std::int32_t end_token = -1;
  // pooling of the image's patches, in place of the head of `vision`
  std::optional<AttentionPoolingConfig> pooling;
  std::int64_t size = 0;    // number of elements of a vector
  std::string scale, bias;  // names of scale and bias of the logits; an empty bias means none
  Shape scale_shape;        // shape in the file: [] or [1]
  double initial_scale = 0.0, initial_bias = 0.0;
  // True (SigLIP): loss and probabilities of each pair separately. False (CLIP): softmax over texts and over
  // images.
  bool sigmoid = false;
  std::int64_t text_length =
      0;  // if not 0, texts are padded to this number of tokens, and all of them are attended to
  std::int32_t padding = 0;  // the id
  NameRules names;
};

// A dual encoder. As a Network, it is an encoder without a head: encode() runs the text encoder on ids and
// the image encoder on pixels; input_spec(), vocabulary() and sizes are those of the text encoder.
class DualEncoder : public Network {
 public:
  explicit DualEncoder(DualEncoderConfig config);

  Network& text() { return *text_; }
  Network& vision() { return *vision_; }
  std::int64_t size() const { return config_.size; }
  bool sigmoid() const { return config_.sigmoid; }
  // If the model was trained on padded texts, append padding to the ids of a text. Longer texts are not
  // changed.
  void pad(std::vector<std::int32_t>& ids) const;

  // Return the vectors [sequences, size] of a batch from its last hidden states, before normalisation.
  // Throws invalid_input for a sequence without tokens.
  Var text_vectors(Tape& tape, Var hidden, const InputBatch& batch);
  Var image_vectors(Tape& tape, Var hidden, const InputBatch& batch);

  // Return the logits [texts, images] = exp(scale) · texts · imagesᵀ + bias of normalised vectors
  // (ops/unit_rows.h).
  Var pair_logits(Tape& tape, Var texts, Var images);
  // The contrastive loss of texts and images, where text i belongs to image i; the number of rows must be
  // equal. CLIP: mean cross-entropy of each text's image and of each image's text, averaged. SigLIP: −Σ log
  // σ(±logit) / texts. Return factor · loss.
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
  std::mutex one_pass_;  // serialises passes through the pooling
  std::unique_ptr<Network> text_, vision_;
  std::unique_ptr<AttentionPooling> pooling_;  // may be null
  std::unique_ptr<Parameter> scale_, bias_;    // bias_ may be null
};

// Return the model as a dual encoder; null if it is another network.
DualEncoder* dual_encoder_of(Network& model);

}  // namespace regard
