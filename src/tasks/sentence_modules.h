// Read the modules that sentence-transformers saves with a model (modules.json, 1_Pooling/config.json,
// 2_Dense, 2_Normalize, sentence_bert_config.json, config_sentence_transformers.json). They define how hidden
// states are converted to one vector; results are as in that library.
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
  cls,            // the hidden state of the first token
  max,            // the maximum of each feature over the tokens
  mean,           // the mean of each feature over the tokens
  mean_sqrt_len,  // sum / √tokens
  weighted_mean,  // mean with weight t for token t, counted from 1
  last            // the hidden state of the last token
};
const char* name_of(PoolingMode mode) noexcept;
// return the mode of a name such as "mean", "cls" or "lasttoken"; nullopt if unknown
std::optional<PoolingMode> pooling_mode_of(std::string_view name) noexcept;

// Dense layer: y = activation(W x + b).
struct DenseModule {
  Tensor weight;  // [out, in]
  Tensor bias;    // [out]; may be undefined
  kernels::Activation activation = kernels::Activation::tanh;
};

struct SentenceModules {
  std::filesystem::path model;  // folder of the Transformer module
  // if there are several modes, their vectors are concatenated
  std::vector<PoolingMode> pooling = {PoolingMode::mean};
  // Steps after pooling, in order. A step is a dense layer; a null pointer means division by the Euclidean
  // norm.
  std::vector<std::unique_ptr<DenseModule>> steps;
  // Maximum tokens of a text: max_seq_length. Default: the tokenizer's model_max_length; 0 if both are
  // missing.
  std::int64_t most_tokens = 0;
  std::string prompt;  // text that is prepended to every input text
  // if false, the prompt and the special tokens before it are excluded from pooling
  bool pools_prompt = true;
  bool dot = false;  // compare vectors by dot product; if false, by cosine

  // Read a folder's modules. Without modules.json, use the folder's model with mean pooling only. Throws
  // bad_file with the file and the key for an unknown module or value.
  static SentenceModules open(const std::filesystem::path& folder);
};

}  // namespace regard::tasks
