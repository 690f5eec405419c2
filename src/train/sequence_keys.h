// The keys of [model] for the families mlp, cnn, rnn, lstm, gru and rnn-search (models/sequence_config.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "train/field.h"

namespace regard::train {

struct RunConfig;
struct SpecialIds;

struct SequenceKeys {
  std::int64_t embedding_size = 0;
  bool bidirectional = false;
  std::string nonlinearity = "tanh";
  std::vector<double> filter_widths{3, 4, 5};
  std::string pooling = "auto";
  std::string attention = "additive";
  std::string cell = "gru";
};

// Append the run file's fields of [model] for the families mlp, cnn, rnn, lstm, gru and rnn-search to `list`.
// Each field refers to the member of `keys` that holds its value.
void add_sequence_fields(std::vector<Field>& list, SequenceKeys& keys);

// Return the names of the families mlp, cnn, rnn, lstm, gru and rnn-search, which are values of model.family.
const std::vector<std::string>& sequence_families();
bool is_sequence_family(const std::string& family);
// Return the reason why a key of [model] has no effect: the family and task of the run do not use it, or only
// the families in sequence_families() use it. Return "" for any other key.
std::string why_unused_in_sequence_model(const RunConfig& config, const std::string& key);

// Return the config.json of a new model without a head; the caller adds "architectures", labels and a source
// vocabulary.
Json sequence_model_json(const RunConfig& config, std::int64_t vocabulary, const SpecialIds& special);

}  // namespace regard::train
