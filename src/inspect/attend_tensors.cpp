#include "inspect/attend_tensors.h"

#include <fmt/format.h>

#include "base/counted.h"
#include "inspect/sound_view.h"
#include "models/dual_encoder.h"
#include "regard/error.h"

namespace regard::inspect {
namespace {

// Return the inputs of one sequence, each with a batch dimension of 1. Labels and other inputs that the
// forward pass does not read are left out.
TensorMap row_of(const TensorMap& inputs, std::int64_t row) {
  TensorMap rows;
  for (const char* name :
       {"input_ids", "attention_mask", "token_type_ids", "position_ids", "decoder_input_ids",
        "decoder_attention_mask", "decoder_position_ids", "pixel_values", "input_features", "input_values"})
    if (const auto found = inputs.find(name);
        found != inputs.end() && found->second.shape().rank() > 0 && row < found->second.shape()[0])
      rows[name] = found->second.slice_rows(row, row + 1);
  return rows;
}

// Return the name of the input tensor, such as "input_ids" or "pixel_values".
std::string tensor_name(const InputSpec& spec) {
  return spec.kind == InputKind::tokens ? "input_ids" : spec.name;
}

// Return the text decoded from the tokens; without a tokenizer, or for an image or sound, return the name and
// index of the input, such as "pixel_values[0]".
std::string text_of(const infer::LoadedModel& loaded, const AttendRequest& request, const std::string& name,
                    std::int64_t row) {
  if (loaded.source && !request.input->ids.empty()) return loaded.source->decode(request.input->ids);
  return fmt::format("{}[{}]", name, row);
}

// Add the inputs of sequence `row` to the request, and return the view of attend() for this request.
View view_of(const infer::LoadedModel& loaded, ThreadPool& pool, Network& network, const PassSides& sides,
             std::int64_t row, AttendRequest request) {
  const std::string name = tensor_name(network.input_spec());
  for (const auto& side : {&sides.source, &sides.target})
    if (*side && (*side)->batch().shape.tokens() == 0)
      throw input_error(fmt::format("row {} of \"{}\" has no tokens", row,
                                    side == &sides.target && sides.source ? "decoder_input_ids" : name))
          .expected("at least one token");
  // Use the position ids of the padded batch, so that the results equal those of run_tensors().
  PassBatches batches;
  if (sides.source) batches.source = sides.source->batch();
  if (sides.target) batches.target = sides.target->batch();
  request.input = (sides.source ? *sides.source : *sides.target).inputs()[0];
  if (sides.source && sides.target) request.decoder_ids = sides.target->inputs()[0].ids;
  request.network = &network, request.batches = &batches;
  request.text = text_of(loaded, request, name, row);
  std::string left_out;
  if (network.input_spec().kind == InputKind::features)
    left_out = limit_weights(network, pool, *request.input, std::ssize(request.decoder_ids),
                             kMostSoundWeights, request.selection);
  View view = attend(loaded, pool, request);
  if (!left_out.empty()) view.left_out = left_out + (view.left_out.empty() ? "" : " ") + view.left_out;
  return view;
}

void attend_rows(const infer::LoadedModel& loaded, ThreadPool& pool, Network& network,
                 const TensorMap& inputs, const AttendRequest& request,
                 const std::function<void(View)>& each) {
  const PassSides all = PassSides::of(network, inputs, false);  // checks all inputs before the first pass
  const std::int64_t rows = all.main().sequences();
  if (all.source && all.source->sequences() != rows)
    throw input_error("the encoder's input has a wrong number of rows")
        .found(counted(all.source->sequences(), "row"))
        .expected(fmt::format("{} rows, as in the decoder's input", rows));
  for (std::int64_t row = 0; row < rows; ++row)
    each(view_of(loaded, pool, network, PassSides::of(network, row_of(inputs, row), false), row, request));
}

}  // namespace

void attend_tensors(const infer::LoadedModel& loaded, ThreadPool& pool, const TensorMap& inputs,
                    const AttendRequest& request, const std::function<void(View)>& each) {
  DualEncoder* const dual = dual_encoder_of(*loaded.model);
  if (dual == nullptr) return attend_rows(loaded, pool, *loaded.model, inputs, request, each);
  const bool texts = inputs.count("input_ids") != 0, images = inputs.count("pixel_values") != 0;
  if (!texts && !images)
    throw input_error("the inputs \"input_ids\" and \"pixel_values\" are missing")
        .expected("at least one of them");
  for (const bool text : {true, false}) {
    if (text ? !texts : !images) continue;
    EditedPass edits;
    if (request.edits != nullptr) edits.add_tower(*request.edits, text ? "text" : "vision");
    AttendRequest own = request;
    own.edits = &edits;
    attend_rows(loaded, pool, text ? dual->text() : dual->vision(), inputs, own, each);
  }
}

}  // namespace regard::inspect
