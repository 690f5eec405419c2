// How a folder wants token states made into one vector: the modules that sentence-transformers writes beside
// a model (modules.json, 1_Pooling/config.json, 2_Dense, 2_Normalize, sentence_bert_config.json,
// config_sentence_transformers.json), with that library's meaning.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/gemm.h"
#include "regard/tensor.h"

namespace regard::tasks {

enum class PoolingMode {
  cls,            // the first token
  max,            // of each feature
  mean,           //
  mean_sqrt_len,  // sum / √tokens
  weighted_mean,  // token t, from 1, weighs t
  last            // the last token
};
const char* name_of(PoolingMode mode) noexcept;
std::optional<PoolingMode> pooling_mode_of(std::string_view name) noexcept;  // "mean", "cls", "lasttoken", …

// y = activation(W x + b)
struct DenseModule {
  Tensor weight;  // [out, in]
  Tensor bias;    // [out], or undefined
  kernels::Activation activation = kernels::Activation::tanh;
};

struct SentenceModules {
  std::filesystem::path model;                             // the Transformer's folder
  std::vector<PoolingMode> pooling = {PoolingMode::mean};  // several: side by side
  // Behind the pooling, in order: a dense layer, or (null) division by the Euclidean length.
  std::vector<std::unique_ptr<DenseModule>> steps;
  // max_seq_length, or where none is named the tokenizer's model_max_length; longer texts are cut; 0: not
  // said
  std::int64_t most_tokens = 0;
  std::string prompt;        // put before every text
  bool pools_prompt = true;  // false: the prompt's tokens, and those before it, have no part in pooling
  bool dot = false;          // vectors are compared by their product, not by the cosine

  // Without modules.json: the model itself, mean pooling, no further step. Throws bad_file naming file and
  // key: a module or value that is not known.
  static SentenceModules open(const std::filesystem::path& folder);
};

}  // namespace regard::tasks
