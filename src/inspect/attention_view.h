// What a reader is shown of one pass: the tokens and the weights between them, ready to be drawn or written.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "inspect/capture.h"
#include "models/network.h"

namespace regard::inspect {

// Tokens as they are shown.
struct Tokens {
  std::vector<std::string> source;   // what the encoder reads; empty for a decoder-only model
  std::vector<std::string> target;   // what the decoder reads; empty for an encoder
  std::vector<std::string> written;  // what each place of the target goes on to write
};

// One head's weights, or the average of a layer's heads. Rows are queries, columns keys.
struct Map {
  Head head;  // head −1: an average
  bool average = false;
  std::vector<std::int64_t> averaged;  // the heads that were averaged
  std::int64_t rows = 0, columns = 0;
  std::vector<float> weights;  // [rows, columns]; each row sums to one
  std::string caption;         // what it is, where it is no head's

  float at(std::int64_t row, std::int64_t column) const {
    return weights[static_cast<std::size_t>(row * columns + column)];
  }
  std::string title() const;  // "cross-attention, layer 1, head 0"
};

struct View {
  std::string model;        // as named by the caller
  std::string text;         // what was read
  std::string translation;  // the target as text; empty if there is none
  Tokens tokens;
  std::vector<Map> maps;
  std::vector<Head> ablated;

  // Labels of a map's rows and columns. Cross-attention's rows are what was written there: row i shows where
  // the model looked to write written[i].
  std::span<const std::string> row_labels(const Map& map) const;
  std::span<const std::string> column_labels(const Map& map) const;
};

// The captured weights as maps, layer by layer, head by head; with `average`, one map a layer instead.
std::vector<Map> maps_of(const Capture& capture, bool average);

// One JSON object: model, text, translation, source_tokens, target_tokens, written_tokens, ablated, and
// attention: [{kind, layer, head, weights: [[…]]}]. Weights are written so that reading them gives the same
// f32.
std::string to_json(const View& view);

// One pass over one sequence, with the probe. Ids as the model reads them; the part that a model does not
// have stays empty; `types` are the source's token types. Returns the logits: [target tokens, vocabulary], or
// nothing where the model does not say what comes next.
Tensor run_with_probe(Network& model, ThreadPool& pool, std::span<const std::int32_t> source,
                      std::span<const std::int32_t> target, Probe* probe,
                      std::span<const std::int32_t> types = {});
// The same for images [images, channels, height, width] that an encoder reads.
void run_with_probe(Network& model, ThreadPool& pool, const Tensor& pixels, Probe* probe);

}  // namespace regard::inspect
