// Computes the time of each token from the cross-attention of a speech decoder, by dynamic time warping
// (Sakoe and Chiba 1978). Same results as WhisperForConditionalGeneration._extract_token_timestamps in
// transformers, and as OpenAI's Whisper program.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "formats/model_folder.h"
#include "infer/loaded_model.h"
#include "ops/probe.h"

namespace regard::tasks {

struct AlignmentHeads {
  std::vector<std::pair<std::int64_t, std::int64_t>> heads;  // layer and head in the decoder, sorted
  std::int64_t median_width = 7;  // width of the median filter in frames; must be odd

  // Read "alignment_heads" of generation_config.json (default: all heads of the upper half of the layers) and
  // "median_filter_width" of config.json. Throws bad_file naming the key if a value does not fit the model.
  static AlignmentHeads read(const formats::ModelFolder& folder);
};

struct AlignmentTask {
  const Tensor& encoded;              // [source positions, hidden]: the encoder's output
  std::span<const std::int32_t> ids;  // token ids of the decoder's input, including the prompt
  std::int64_t first = 0;             // number of tokens of the prompt, which have no times
  std::int64_t positions = 0;         // number of source positions to use, from the first
  Probe* probe = nullptr;             // may change values of the forward pass; not owned, may be null
};

// Align tokens with source positions by dynamic time warping of the attention weights, averaged over the
// selected heads. Return the first aligned source position of each token after the prompt.
std::vector<std::int64_t> align_tokens(Network& model, ThreadPool& pool, const AlignmentHeads& heads,
                                       const AlignmentTask& task);

// Replace each value with the median of the `width` values centred on it, with reflect padding at both ends.
// The values stay unchanged if there are at most width / 2 of them.
void median_filter(std::span<float> values, std::int64_t width);

// Find the cheapest monotonic path through `cost` [rows, columns], from the first row and column to the last.
// Return the first column of the path in each row. Among equally cheap steps, the step from the previous
// column is used, as in transformers.
std::vector<std::int64_t> warp_time(std::span<const double> cost, std::int64_t rows, std::int64_t columns);

}  // namespace regard::tasks
