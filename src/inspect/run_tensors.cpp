#include "inspect/run_tensors.h"

#include "inspect/capture.h"
#include "inspect/run_dual_encoder.h"
#include "inspect/run_names.h"
#include "inspect/tensor_loss.h"
#include "models/lora.h"
#include "ops/parameter.h"
#include "ops/tape.h"
#include "ops/view.h"
#include "regard/error.h"

namespace regard::inspect {
namespace {

Selection selection_of(const TensorRunOptions& options) {
  const auto any = [&](std::string_view part) {
    for (const std::string& name : options.capture)
      if (name == "all" || name.find(part) != name.npos) return true;
    return false;
  };
  Selection selection;
  selection.weights = any("attentions");
  selection.hidden_states = any("hidden_states");
  return selection;
}

class Run {
 public:
  Run(Network& model, ThreadPool& pool, const TensorMap& inputs, const TensorRunOptions& options)
      : model_(model),
        inputs_(inputs),
        options_(options),
        tape_(pool, arena_),
        capture_(selection_of(options)),
        probe_(&capture_) {
    if (options.edits != nullptr) probe_.add(*options.edits);
    // The span loss of Hugging Face's models includes padded positions, so compute them.
    compute_padding_ = options.compute_padding || (model.output() == Output::span && has("start_positions"));
    sides_ = PassSides::of(model, inputs, compute_padding_);
  }

  TensorMap operator()() {
    const bool loss_wanted =
        is_selected(options_.capture, "loss") || is_selected(options_.capture, "gradients");
    const bool loss_defined = has("labels") || has("start_positions") || has_weights();
    const bool gradients = loss_defined && is_selected(options_.capture, "gradients");
    if (gradients) start_gradients();
    tape_.begin({.record = gradients});
    tape_.probe = &probe_;
    forward();
    show_values();  // must be called before the backward pass, which reuses the memory of the values
    if (loss_wanted && loss_defined) {
      Var loss = loss_of(tape_, model_, inputs_, values_, sides_.rows());
      results_["loss"] = loss->value.clone();
      if (gradients) take_gradients(loss);
    }
    show_states();
    show_weights();
    if (results_.empty())
      throw usage_error("the model has none of the requested outputs")
          .expected("names of outputs, hidden_states, attentions, gradients or all");
    return std::move(results_);
  }

 private:
  bool has(const std::string& name) const { return inputs_.count(name) != 0; }
  bool has_weights() const {
    const auto found = inputs_.lower_bound("loss_weight.");
    return found != inputs_.end() && found->first.starts_with("loss_weight.");
  }
  const PaddedSide& main_side() const { return sides_.main(); }

  void forward() {
    Memory memory;
    if (sides_.source) {
      const InputBatch batch = sides_.source->batch();
      memory = {model_.encode(tape_, batch), batch.shape, batch.attended};
      values_[sides_.target ? "encoder_last_hidden_state" : "last_hidden_state"] = memory.hidden;
    }
    if (sides_.target)
      values_["last_hidden_state"] =
          model_.decode(tape_, sides_.target->batch(), sides_.source ? &memory : nullptr, nullptr);
    add_pooler();
    if (model_.output() == Output::none) return;
    Var head = model_.head(tape_, values_["last_hidden_state"], main_side().batch());
    if (model_.output() == Output::span) {
      values_["start_logits"] = ops::columns(tape_, head, 0, 1);
      values_["end_logits"] = ops::columns(tape_, head, 1, 1);
    } else {
      values_[model_.output() == Output::pooled ? "pooler_output" : "logits"] = head;
    }
  }

  // Add the base model's pooler output if the head does not use the pooler, unless a sequence has no tokens.
  void add_pooler() {
    const Ragged shape = main_side().batch().shape;
    for (std::int64_t s = 0; s < shape.sequences(); ++s)
      if (shape.offsets[static_cast<std::size_t>(s)] == shape.offsets[static_cast<std::size_t>(s) + 1])
        return;
    if (model_.has_pooler() && is_selected(options_.capture, "pooler_output"))
      values_["pooler_output"] = model_.pooled(tape_, values_["last_hidden_state"], shape);
  }

  void start_gradients() {
    model_.set_trainable(true);
    model_.clear_gradients();
    for (Parameter* parameter : low_rank_parameters(model_)) {
      parameter->set_trainable(true);
      parameter->clear_gradient();
    }
  }

  void take_gradients(Var loss) {
    tape_.backward(loss);
    for (const Parameter* parameter : low_rank_parameters(model_))
      results_["grad." + adapter_name(*parameter)] = parameter->gradient().clone();
    for (const Parameter* parameter : model_.parameters()) {
      if (!parameter->trainable()) continue;
      const Shape stored = parameter->stored_shape;
      Tensor gradient = parameter->gradient().clone();
      if (stored.rank() > 0) gradient = gradient.reshape(stored);
      results_["grad." + parameter->name] = gradient;
    }
  }

  void show_values() {
    for (const auto& [name, value] : values_) {
      if (!is_selected(options_.capture, name)) continue;
      const PaddedSide& side = name == "encoder_last_hidden_state" ? *sides_.source : sides_.rows();
      if (value->value.rows() != side.batch().shape.tokens() || name == "pooler_output" ||
          (name == "logits" && model_.output() == Output::sequence_classes)) {
        results_[name] = value->value.clone();
        continue;
      }
      Tensor padded = side.restore(value->value, options_.compute_padding);
      if (name == "start_logits" || name == "end_logits" ||
          (name == "logits" && model_.output() == Output::token_flags))
        padded = padded.reshape({side.sequences(), side.length()});
      results_[name] = padded;
    }
  }

  // Return the output's name: "hidden_states.N", or for encoder–decoders "encoder_hidden_states.N" and so
  // on.
  std::string named(const std::string& side, const char* what, std::int64_t layer) const {
    const std::string prefix = model_.kind() == ModelKind::encoder_decoder ? side + "_" : "";
    return prefix + what + "." + std::to_string(layer);
  }

  void show_states() {
    for (const auto& [point, value] : capture_.hidden_states()) {
      const std::size_t dot = point.find('.');
      const std::string side = point.substr(0, dot), what = point.substr(dot + 1);
      // skip the probe point "output": its value is used below as the last hidden state
      if (what == "output") continue;
      const std::int64_t layer = what == "embedding" ? 0 : std::stoll(what) + 1;
      const bool last = !capture_.hidden_states().count(side + "." + std::to_string(layer) + ".residual");
      const Tensor& state = last && layer > 0 && model_.last_state_is_normed(side == "encoder")
                                ? capture_.hidden_states().at(side + ".output")
                                : value;
      const std::string name = named(side, "hidden_states", layer);
      if (!is_selected(options_.capture, name, "hidden_states")) continue;
      results_[name] =
          (side == "encoder" ? *sides_.source : *sides_.target).restore(state, options_.compute_padding);
    }
  }

  void show_weights() {
    for (const LayerWeights& layer : capture_.weights()) {
      const std::string name = layer.kind == Kind::cross
                                   ? "cross_attentions." + std::to_string(layer.layer)
                                   : named(name_of(layer.kind), "attentions", layer.layer);
      if (!is_selected(options_.capture, name, "attentions")) continue;
      if (layer.kind == Kind::cross && !sides_.target) {
        show_pooling(layer, results_[name]);
        continue;
      }
      const PaddedSide& queries = layer.kind == Kind::encoder ? *sides_.source : *sides_.target;
      const PaddedSide& keys = layer.kind == Kind::decoder ? *sides_.target : *sides_.source;
      Tensor& all = results_[name];
      if (!all.defined())
        all = Tensor::zeros({queries.sequences(), layer.weights.shape()[0], queries.length(), keys.length()});
      queries.place(layer.weights, layer.sequence, keys, options_.compute_padding, all);
    }
  }

  // Add the attention weights of an output head that attends to all positions of an image: [sequences, heads,
  // 1, positions].
  void show_pooling(const LayerWeights& layer, Tensor& all) const {
    const std::int64_t heads = layer.weights.shape()[0], keys = layer.weights.shape()[2];
    if (!all.defined()) all = Tensor::zeros({sides_.source->sequences(), heads, 1, keys});
    std::copy_n(layer.weights.f32(), heads * keys, all.f32() + layer.sequence * heads * keys);
  }

  Network& model_;
  const TensorMap& inputs_;
  const TensorRunOptions& options_;
  bool compute_padding_ = false;
  Arena arena_;
  Tape tape_;
  Capture capture_;
  EditedPass probe_;
  PassSides sides_;
  std::map<std::string, Var> values_;
  TensorMap results_;
};

}  // namespace

TensorMap run_tensors(Network& model, ThreadPool& pool, const TensorMap& inputs,
                      const TensorRunOptions& options) {
  if (DualEncoder* dual = dual_encoder_of(model)) return run_dual_encoder(*dual, pool, inputs, options);
  return Run(model, pool, inputs, options)();
}

}  // namespace regard::inspect
