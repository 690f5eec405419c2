#include "inspect/residual_pass.h"

#include <fmt/format.h>

#include <vector>

#include "ops/embedding.h"
#include "regard/error.h"

namespace regard::inspect {

void require_next_token(Network& model) {
  if (model.kind() == ModelKind::encoder || model.output() != Output::next_token)
    throw usage_error("the model does not predict the next token")
        .expected("a decoder or an encoder-decoder");
}

void require_unchanged(const EditedPass* edits, const std::string& point, const char* study) {
  if (edits != nullptr && edits->changes(point))
    throw usage_error(fmt::format("{} cannot be combined with an intervention on this probe point", study))
        .found(point)
        .expected(
            "an intervention on a head, the output of an attention or feed-forward layer, or the embedding");
}

std::int64_t decoder_layers(const ModelPoints& points) {
  std::int64_t layers = 0;
  while (points.features.count(fmt::format("decoder.{}.residual", layers)) != 0) ++layers;
  return layers;
}

void skip_layers(InjectedPass& pass, std::int64_t layers, const Tensor& residual) {
  for (std::int64_t layer = 0; layer < layers; ++layer) pass.skip("decoder", layer, residual);
}

Var run_rows(Tape& tape, Network& model, std::int64_t rows, Probe& probe) {
  tape.begin({});
  RaggedBuffer shape;
  for (std::int64_t row = 0; row < rows; ++row) shape.add(1, static_cast<std::uint64_t>(row));
  const std::vector<std::int32_t> ids(static_cast<std::size_t>(rows), 0);
  // The results do not depend on the encoder's output, so one encoder position per row is sufficient.
  InputBuffer sources;
  Memory memory;
  if (model.kind() == ModelKind::encoder_decoder) {
    const ModelInput blank = model.input_spec().blank();
    sources.add(blank, model.input_spec().length_of(blank), 0);
    memory.shape = shape.view();
    memory.hidden = ops::select_rows(tape, model.encode(tape, sources.batch()), ids);
  }
  tape.probe = &probe;
  return model.decode(tape, {ids, shape.view()}, memory.hidden != nullptr ? &memory : nullptr, nullptr);
}

}  // namespace regard::inspect
