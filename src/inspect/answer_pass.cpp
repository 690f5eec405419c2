#include "inspect/answer_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/replacing_probe.h"
#include "ops/tape.h"
#include "regard/error.h"
#include "tensor/arena.h"

namespace regard::inspect {
namespace {

// Replaces the value at a probe point with an input of the tape, so that the backward pass computes the
// gradient with respect to that value.
class LeafProbe : public ReplacingProbe {
 public:
  LeafProbe(std::string point, Tensor value) : point_(std::move(point)), value_(std::move(value)) {}

  bool wants(std::string_view) override { return false; }
  void see(std::string_view, std::int64_t, const Tensor&) override {}
  Var replace(Tape& tape, std::string_view point, Var value) override {
    return point == point_ ? leaf = tape.input(value_, true) : value;
  }

  Var leaf = nullptr;

 private:
  std::string point_;
  Tensor value_;
};

// One forward and backward pass on a tape.
class AnswerPass {
 public:
  AnswerPass(Network& model, ThreadPool& pool, const PassInput& input, Probe* probe, bool record)
      : tape_(pool, arena_) {
    tape_.begin({.record = record});
    tape_.probe = probe;
    targets_.add(std::ssize(input.target), 0);
    Memory memory;
    InputBatch used{input.target, targets_.view()};
    Var hidden = nullptr;
    if (model.kind() != ModelKind::decoder) {
      sources_.add(input.source, model.input_spec().length_of(input.source), 0);
      used = sources_.batch();
      memory.shape = used.shape;
      hidden = memory.hidden = model.encode(tape_, used);
    }
    if (model.kind() != ModelKind::encoder) {
      used = {input.target, targets_.view()};
      hidden = model.decode(tape_, used, memory.hidden != nullptr ? &memory : nullptr, nullptr);
    }
    if (model.output() != Output::next_token && model.output() != Output::sequence_classes &&
        model.output() != Output::vocabulary && model.output() != Output::ctc)
      throw usage_error("the model has no logits of tokens or classes")
          .expected("a decoder, an encoder-decoder or a classifier");
    logits_ = model.head(tape_, hidden, used);
  }

  double difference(const AnswerDifference& answer) const {
    const Tensor& logits = logits_->value;
    if (answer.position < 0 || answer.position >= logits.rows())
      throw usage_error("the position is out of range")
          .found(std::to_string(answer.position))
          .expected(fmt::format("a position from 0 to {}", logits.rows() - 1));
    const bool strongest = answer.answer == AnswerDifference::kStrongest && answer.instead >= 0;
    for (const std::int32_t id : {strongest ? 0 : answer.answer, std::max(answer.instead, 0)})
      if (id < 0 || id >= logits.columns())
        throw usage_error("the token id or class is out of range")
            .found(std::to_string(id))
            .expected(fmt::format("an id from 0 to {}", logits.columns() - 1));
    const float* row = logits.row(answer.position);
    float of_answer = strongest ? -std::numeric_limits<float>::infinity() : row[answer.answer];
    for (std::int32_t id = 0; strongest && id < logits.columns(); ++id)
      if (id != answer.instead) of_answer = std::max(of_answer, row[id]);
    return static_cast<double>(of_answer) -
           (answer.instead < 0 ? 0.0 : static_cast<double>(row[answer.instead]));
  }

  void backward(const AnswerDifference& answer) {
    const Tape::Gradient gradient = tape_.gradient(logits_);
    std::fill_n(gradient.data, logits_->value.elements(), 0.0f);
    float* row = gradient.data + answer.position * logits_->value.columns();
    row[answer.answer] += 1.0f;
    if (answer.instead >= 0) row[answer.instead] -= 1.0f;
    tape_.backward(logits_);
  }

 private:
  Arena arena_;
  Tape tape_;
  // Nodes of the tape refer to the inputs and their shapes until the backward pass.
  InputBuffer sources_;
  RaggedBuffer targets_;
  Var logits_ = nullptr;
};

}  // namespace

double answer_difference(Network& model, ThreadPool& pool, const PassInput& input,
                         const AnswerDifference& answer, Probe* probe) {
  return AnswerPass(model, pool, input, probe, false).difference(answer);
}

void require_finite(double difference) {
  if (!std::isfinite(difference))
    throw Error(ErrorKind::numeric, "the logits of the model for this input are not finite")
        .found(fmt::format("{}", difference))
        .remedy("Check the weights for values that are not finite");
}

AnswerGradient answer_gradient(Network& model, ThreadPool& pool, const PassInput& input,
                               const AnswerDifference& answer, const StackInput& at,
                               const EditedPass* edits) {
  LeafProbe leaf(std::string(at.stack) + ".embedding", at.embedding);
  EditedPass probe(&leaf);
  if (edits != nullptr) probe.add(*edits);
  AnswerPass pass(model, pool, input, &probe, true);
  AnswerGradient out{pass.difference(answer), {}};
  if (leaf.leaf == nullptr)
    throw usage_error("the model has no embedding in this stack")
        .found(std::string(at.stack))
        .expected(model.kind() == ModelKind::encoder   ? "encoder"
                  : model.kind() == ModelKind::decoder ? "decoder"
                                                       : "encoder or decoder");
  pass.backward(answer);
  out.gradient = leaf.leaf->gradient.clone();
  return out;
}

}  // namespace regard::inspect
