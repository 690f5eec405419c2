// Passes of a study: batches of examples with their loss, reuse of layers that are already computed, and
// replacement of values at a probe point.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "inspect/edited_pass.h"
#include "inspect/study_data.h"
#include "models/network.h"

namespace regard::inspect {

// Replaces values at probe points, and the outputs of layers or attention layers. A replaced layer is not
// computed (ops/replacing_probe.h). Tensors are [tokens, features] of the batch and must outlive the pass.
class InjectedPass : public ForwardingProbe {
 public:
  // `observer`, if not null, is called with the values after the replacement. It is not owned.
  explicit InjectedPass(Probe* observer = nullptr) : ForwardingProbe(observer) {}

  void put(std::string point, Tensor value) { values_[std::move(point)] = std::move(value); }
  // Do not compute this layer of the stack ("encoder", "decoder"). Use `output` as its output.
  void skip(const std::string& stack, std::int64_t layer, const Tensor& output);
  // Do not compute the attention of a layer. Use `context` as its heads' output.
  void skip_attention(Kind kind, std::int64_t layer, const Tensor& context);

  Var replace(Tape& tape, std::string_view point, Var value) override;
  bool may_replace(std::string_view point) override { return values_.find(point) != values_.end(); }

 private:
  std::map<std::string, Tensor, std::less<>> values_;
};

// A sum of `count` cross-entropies in nats. CTC head: the CTC loss of `count` labels. Multi-label classifier:
// the sum over `count` examples of the mean binary cross-entropy of the classes.
struct StudyLoss {
  double sum = 0;
  std::int64_t count = 0;

  double mean() const { return count == 0 ? 0.0 : sum / static_cast<double>(count); }
  void add(const StudyLoss& other) { sum += other.sum, count += other.count; }
};

// Several examples in one ragged batch. Values that do not affect the loss are not computed: the positions of
// a decoder after the last prediction of an example, and the logits at positions without a prediction.
class StudyBatch {
 public:
  StudyBatch(Network& model, std::span<const StudyExample> examples);

  // Run one pass and return its loss. If `memory`, the encoder's output, is undefined, the pass computes it;
  // `hidden`, if not null, is set to the encoder's output.
  StudyLoss loss(ThreadPool& pool, Probe* probe, const Tensor& memory = {}, Tensor* hidden = nullptr) const;

 private:
  void add_target(const StudyExample& example, std::uint64_t index);
  StudyLoss loss_of_encoder(Tape& tape, Var hidden) const;
  StudyLoss loss_of_decoder(Tape& tape, Var hidden) const;

  Network& model_;
  InputBuffer sources_;
  RaggedBuffer shape_;
  std::vector<std::int32_t> ids_, labels_;
  // for encoders, the index in labels_ of the first label of each example
  std::vector<std::int32_t> label_offsets_{0};
  // for decoders, the indices in ids_ of the positions with a prediction, in the order of labels_
  std::vector<std::int32_t> rows_;
};

// Divide the examples into batches of consecutive examples. A batch has at most 1024 positions, or one
// longer example. Throws usage if an example has no labels.
std::vector<StudyBatch> study_batches(Network& model, std::span<const StudyExample> examples);

StudyLoss loss_of(const std::vector<StudyBatch>& batches, ThreadPool& pool, Probe* probe);

}  // namespace regard::inspect
