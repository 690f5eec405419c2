#include "inspect/run_names.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/nearest.h"
#include "regard/error.h"

namespace regard::inspect {
namespace {

using Names = std::vector<std::string>;

const Names& inputs_of_models() {
  static const Names names{
      "input_ids",         "attention_mask",         "token_type_ids",       "position_ids",
      "decoder_input_ids", "decoder_attention_mask", "decoder_position_ids", "labels",
      "start_positions",   "end_positions",          "pixel_values",         "input_features",
      "input_values"};
  return names;
}

// Names of outputs, and of groups of outputs, that have no layer number.
const Names& outputs_of_models() {
  static const Names names{"all",
                           "last_hidden_state",
                           "encoder_last_hidden_state",
                           "pooler_output",
                           "logits",
                           "start_logits",
                           "end_logits",
                           "text_embeds",
                           "image_embeds",
                           "logits_per_text",
                           "logits_per_image",
                           "text_model_output",
                           "vision_model_output",
                           "loss",
                           "gradients"};
  return names;
}

// Names of outputs that every layer has: NAME selects all layers, NAME.N only layer N.
const Names& outputs_of_layers() {
  static const Names names{"hidden_states",   "encoder_hidden_states", "decoder_hidden_states",
                           "attentions",      "encoder_attentions",    "decoder_attentions",
                           "cross_attentions"};
  return names;
}

bool contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string list_of(const Names& names) {
  std::string all;
  for (const std::string& name : names) all += name + ", ";
  return all;
}

bool is_output(std::string_view name) {
  if (contains(outputs_of_models(), name)) return true;
  for (const std::string_view side : {"text_model_output.", "vision_model_output."})
    if (name.starts_with(side)) return is_output(name.substr(side.size()));
  const std::size_t dot = name.find('.');
  if (!contains(outputs_of_layers(), name.substr(0, dot))) return false;
  return dot == name.npos ||
         (dot + 1 < name.size() && name.substr(dot + 1).find_first_not_of("0123456789") == name.npos);
}

Error no_input(const std::string& name) {
  if (is_output(name) || name.starts_with("grad."))
    return input_error("an input has the name of an output")
        .found("\"" + name + "\"")
        .remedy("Remove this input");
  const std::string_view meant = nearest(name, inputs_of_models());
  return input_error("unknown input name")
      .found("\"" + name + "\"")
      .expected(meant.empty() ? "one of " + list_of(inputs_of_models()) + "loss_weight.OUTPUT"
                              : std::string())
      .remedy(meant.empty() ? std::string() : "Did you mean '" + std::string(meant) + "'?");
}

}  // namespace

TensorMap usable_inputs(const TensorMap& inputs) {
  TensorMap usable;
  for (const auto& [name, tensor] : inputs) {
    if (!name.starts_with("loss_weight.") && !contains(inputs_of_models(), name)) throw no_input(name);
    if (!tensor.defined()) throw input_error("the input \"" + name + "\" is an undefined tensor");
    const DType dtype = tensor.dtype();
    if (dtype == DType::i32)
      usable[name] = tensor.to(DType::i64);
    else if (dtype == DType::f16 || dtype == DType::bf16)
      usable[name] = tensor.to(DType::f32);
    else
      usable[name] = tensor.contiguous() ? tensor : tensor.clone();
  }
  return usable;
}

void check_output_names(const std::set<std::string>& capture) {
  for (const std::string& name : capture) {
    if (is_output(name)) continue;
    Names known = outputs_of_models();
    known.insert(known.end(), outputs_of_layers().begin(), outputs_of_layers().end());
    const std::string_view meant = nearest(name, known);
    throw usage_error("no model returns an output of this name")
        .found("\"" + name + "\"")
        .expected(meant.empty() ? "one of " + list_of(outputs_of_models()) + list_of(outputs_of_layers()) +
                                      "or one layer as in hidden_states.0"
                                : std::string())
        .remedy(meant.empty() ? std::string() : "Did you mean '" + std::string(meant) + "'?");
  }
}

bool is_selected(const std::set<std::string>& capture, const std::string& name, const std::string& group) {
  const auto selects = [&](const std::string& part) { return !part.empty() && capture.count(part) != 0; };
  return selects("all") || selects(name) || selects(name.substr(0, name.rfind('.'))) ||
         selects(name.substr(0, name.find('.'))) || selects(group);
}

}  // namespace regard::inspect
