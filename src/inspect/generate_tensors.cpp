#include "inspect/generate_tensors.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "infer/folder_options.h"
#include "regard/error.h"

namespace regard::inspect {
namespace {

// Return the id that pads finished sequences: the padding token, else the first end token, else −1. In a beam
// search, pad_token_id 0 means no padding token, as in transformers.
std::int64_t fill_of(const infer::SearchOptions& options) {
  const bool padding = options.beam > 1 ? options.pad_token > 0 : options.pad_token >= 0;
  if (padding) return options.pad_token;
  return options.end_tokens.empty() ? -1 : options.end_tokens[0];
}

// Copy one row of the prompt unmodified, including its padding.
void copy_row(const Tensor& ids, std::int64_t row, std::int64_t* to) {
  const std::int64_t length = ids.shape()[1];
  if (ids.dtype() == DType::i64)
    std::copy_n(ids.i64() + row * length, length, to);
  else
    std::copy_n(ids.i32() + row * length, length, to);
}

}  // namespace

infer::SearchOptions tensor_search_options(const formats::ModelFolder& folder) {
  infer::SearchOptions search = infer::search_options_of(folder);
  if (search.max_new == 0 && search.max_length == 0) search.max_new = 20;
  return search;
}

TensorMap generate_tensors(Network& model, ThreadPool& pool, const TensorMap& inputs,
                           const infer::SearchOptions& options) {
  if (model.kind() == ModelKind::encoder)
    throw usage_error("this model cannot generate text: it has no decoder")
        .expected("a decoder or an encoder-decoder");
  const bool decoder = model.kind() == ModelKind::decoder;
  const InputSpec& spec = model.input_spec();
  const PaddedSide given =
      spec.kind == InputKind::tokens ? PaddedSide(inputs, {}, {}, false) : PaddedSide(inputs, spec);
  infer::SearchOptions limited = options;
  // max_length includes the prompt and its padding.
  if (decoder && options.max_new == 0 && options.max_length > given.length())
    limited.max_new = options.max_length - given.length();
  const auto found = infer::decode(model, pool, given.inputs(), limited);
  std::int64_t generated = 0;
  for (const auto& hypotheses : found)
    for (const infer::Hypothesis& one : hypotheses) generated = std::max(generated, std::ssize(one.tokens));
  const std::int64_t start = decoder ? given.length() : 1, length = start + generated;
  const std::int64_t rows = given.sequences() * options.n_best;
  TensorMap results;
  Tensor sequences = Tensor::empty({rows, length}, DType::i64);
  Tensor scores = Tensor::empty({rows});
  std::fill_n(sequences.i64(), rows * length, fill_of(options));
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto source = static_cast<std::size_t>(row / options.n_best);
    std::int64_t* to = sequences.i64() + row * length;
    if (decoder)
      copy_row(inputs.at("input_ids"), static_cast<std::int64_t>(source), to);
    else
      to[0] = options.start_token;
    const auto rank = static_cast<std::size_t>(row % options.n_best);
    if (rank >= found[source].size()) {  // the search found fewer hypotheses than requested
      scores.f32()[row] = -std::numeric_limits<float>::infinity();
      continue;
    }
    const infer::Hypothesis& one = found[source][rank];
    std::copy(one.tokens.begin(), one.tokens.end(), to + start);
    scores.f32()[row] = one.score;
  }
  results["sequences"] = sequences;
  if (options.beam > 1) results["sequences_scores"] = scores;
  return results;
}

}  // namespace regard::inspect
