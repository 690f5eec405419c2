// Networks without self-attention, older than the Transformer, that regard trains from scratch. "model_type"
// is regard-mlp (mean of embeddings, perceptron), regard-cnn (Kim 2014), regard-rnn (Elman 1990), regard-lstm
// (Hochreiter and Schmidhuber 1997), regard-gru (Cho et al. 2014), or regard-rnn-search (encoder–decoder:
// Sutskever et al. 2014, Bahdanau et al. 2015, Luong et al. 2015).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/namespaces.h"
#include "kernels/recurrent.h"
#include "models/network.h"
#include "ops/parameter.h"

namespace regard::models {

// Configuration of a network without self-attention, read from config.json.
struct SequenceConfig {
  enum class Pooling : std::uint8_t { last, mean, max };  // pooling of the states for classification
  enum class Attention : std::uint8_t { none, additive, multiplicative };

  std::string family;           // model_type without "regard-"
  std::int64_t vocabulary = 0;  // vocabulary size (rnn-search: of the target)
  std::int64_t source_vocabulary = 0;
  std::int64_t embedding = 0, hidden = 0;  // numbers of features; `hidden` includes both directions
  std::int64_t layers = 1, encoder_layers = 1;
  kernels::Cell cell = kernels::Cell::tanh;
  bool bidirectional = false;
  // widths of the filters, for cnn; there are `hidden` filters of each width
  std::vector<std::int64_t> filter_widths;
  Pooling pooling = Pooling::last;
  Attention attention = Attention::none;
  float dropout = 0.0f;
  bool shared_vocabulary = false;  // source and target share one embedding, for rnn-search
  bool tied = false;               // the output projection shares the embedding's weights
  Output output = Output::none;
  std::int64_t labels = 0;

  bool is_recurrent() const { return family == "rnn" || family == "lstm" || family == "gru"; }
};

// Initialisation of projections, and of an embedding that is tied to the output projection.
inline constexpr Initialisation kXavier{Initialisation::Kind::xavier_uniform, 0.0};

std::vector<std::string> sequence_types();  // returns the supported values of model_type
// Return true if `model_type` is one of sequence_types().
bool is_sequence_type(const std::string& model_type);
// Return the prefix of a model_type's classes in "architectures", such as "Lstm" for regard-lstm, or "" for
// other types.
std::string sequence_class(const std::string& model_type);

// Read config.json. The first class in "architectures" determines the head: ForSequenceClassification,
// ForTokenClassification, ForCausalLM (rnn, lstm, gru) or ForConditionalGeneration (rnn-search). Throws
// bad_file, naming `file` and the key.
SequenceConfig read_sequence_config(const Json& config, const std::string& file);

// Build the network, without weights.
std::unique_ptr<Network> make_sequence_model(const Json& config, const std::string& file);
std::unique_ptr<Network> make_search_model(const SequenceConfig& config, const Json& json);

}  // namespace regard::models
