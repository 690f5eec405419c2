#include "inspect/run_dual_encoder.h"

#include <algorithm>
#include <optional>

#include "inspect/run_names.h"
#include "ops/embedding.h"
#include "ops/parameter.h"
#include "ops/unit_rows.h"
#include "regard/error.h"

namespace regard::inspect {
namespace {

class DualRun {
 public:
  DualRun(DualEncoder& model, ThreadPool& pool, const TensorMap& inputs, const TensorRunOptions& options)
      : model_(model), inputs_(inputs), options_(options), tape_(pool, arena_) {
    if (inputs.count("input_ids") != 0)
      texts_.emplace(inputs, SideNames(), model.text().position_rule(), options.compute_padding);
    if (inputs.count("pixel_values") != 0) images_.emplace(inputs, model.vision().input_spec());
    if (!texts_ && !images_)
      throw input_error("the inputs \"input_ids\" and \"pixel_values\" are missing")
          .expected("at least one of them");
  }

  TensorMap operator()() {
    if (texts_) add_side("text", model_.text(), {"input_ids", "attention_mask", "position_ids"});
    if (images_) add_side("vision", model_.vision(), {"pixel_values"});
    const bool gradients = texts_ && images_ && is_selected(options_.capture, "gradients");
    if (gradients) model_.set_trainable(true), model_.clear_gradients();
    tape_.begin({.record = gradients});
    EditedPass edits;
    if (options_.edits != nullptr) edits.add(*options_.edits);
    if (!edits.empty()) tape_.probe = &edits;
    if (texts_) texts_unit_ = vectors("text", *texts_, model_.encode(tape_, texts_->batch()));
    if (images_) images_unit_ = vectors("image", *images_, model_.encode(tape_, images_->batch()));
    if (texts_ && images_) compare(gradients);
    if (results_.empty())
      throw usage_error("the model has none of the requested outputs")
          .expected("names of outputs, text_model_output, vision_model_output, gradients or all");
    return std::move(results_);
  }

 private:
  // Add the hidden states and attention weights of one encoder to the results.
  void add_side(const std::string& tower, Network& encoder, const std::vector<std::string>& names) {
    const std::string prefix = tower + "_model_output.";
    EditedPass edits;
    if (options_.edits != nullptr) edits.add_tower(*options_.edits, tower);
    TensorRunOptions options = options_;
    options.edits = &edits;
    options.capture.clear();
    for (const char* part : {"last_hidden_state", "hidden_states", "attentions"})
      if (is_selected(options_.capture, prefix + part, part)) options.capture.insert(part);
    for (const std::string& name : options_.capture)  // add outputs selected by full name
      if (name.starts_with(prefix)) options.capture.insert(name.substr(prefix.size()));
    options.capture.erase("pooler_output");
    if (options.capture.empty()) return;
    TensorMap inputs;
    for (const std::string& name : names)
      if (inputs_.count(name) != 0) inputs[name] = inputs_.at(name);
    for (auto& [name, value] : run_tensors(encoder, tape_.pool(), inputs, options))
      results_[prefix + name] = std::move(value);
  }

  void show(const std::string& name, Var value) {
    if (is_selected(options_.capture, name)) results_[name] = value->value.clone();
  }

  // Return the normalised vectors of the texts or of the images.
  Var vectors(const std::string& kind, const PaddedSide& side, Var hidden) {
    const bool text = kind == "text";
    Var plain = text ? model_.text_vectors(tape_, hidden, side.batch())
                     : model_.image_vectors(tape_, hidden, side.batch());
    show(text ? "text_model_output.pooler_output" : "vision_model_output.pooler_output", plain);
    Var unit = ops::unit_rows(tape_, plain);
    show(kind + "_embeds", unit);
    return unit;
  }

  void compare(bool gradients) {
    show("logits_per_text", model_.pair_logits(tape_, texts_unit_, images_unit_));
    show("logits_per_image", transposed(model_.pair_logits(tape_, texts_unit_, images_unit_)));
    if (!gradients && !is_selected(options_.capture, "loss")) return;
    const std::int64_t count = std::min(texts_unit_->value.rows(), images_unit_->value.rows());
    Var loss = model_.contrastive_loss(tape_, first(texts_unit_, count), first(images_unit_, count));
    results_["loss"] = loss->value.clone();
    if (!gradients) return;
    tape_.backward(loss);
    for (const Parameter* parameter : model_.parameters()) {
      Tensor gradient = parameter->gradient().clone();
      if (parameter->stored_shape.rank() > 0) gradient = gradient.reshape(parameter->stored_shape);
      results_["grad." + parameter->name] = gradient;
    }
  }

  Var transposed(Var x) {
    const Tensor y = tape_.arena().tensor({x->value.columns(), x->value.rows()});
    for (std::int64_t row = 0; row < y.rows(); ++row)
      for (std::int64_t column = 0; column < y.columns(); ++column)
        y.row(row)[column] = x->value.row(column)[row];
    return tape_.constant(y);
  }

  Var first(Var x, std::int64_t count) {
    if (x->value.rows() == count) return x;
    const std::span<std::int32_t> rows = tape_.arena().array<std::int32_t>(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int32_t>(i);
    return ops::select_rows(tape_, x, rows);
  }

  DualEncoder& model_;
  const TensorMap& inputs_;
  const TensorRunOptions& options_;
  Arena arena_;
  Tape tape_;
  std::optional<PaddedSide> texts_, images_;
  Var texts_unit_ = nullptr, images_unit_ = nullptr;
  TensorMap results_;
};

}  // namespace

TensorMap run_dual_encoder(DualEncoder& model, ThreadPool& pool, const TensorMap& inputs,
                           const TensorRunOptions& options) {
  return DualRun(model, pool, inputs, options)();
}

}  // namespace regard::inspect
