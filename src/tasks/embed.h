// Sentence embeddings (Reimers and Gurevych 2019): the hidden states of a text's tokens are pooled into one
// vector. If the folder has sentence-transformers files, they specify the pooling.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "infer/loaded_model.h"
#include "tasks/pass.h"
#include "tasks/reader.h"
#include "tasks/sentence_modules.h"

namespace regard::tasks {

struct EmbedOptions {
  // An option that has a value overrides the folder's setting.
  std::optional<PoolingMode> pooling = std::nullopt;
  std::optional<bool> normalise = std::nullopt;
  std::optional<std::string> prompt = std::nullopt;
  // truncate long texts; default: true if the folder limits a text's tokens
  std::optional<bool> cut = std::nullopt;
  std::filesystem::path adapter = {};  // folder of a LoRA adapter for the model; empty if there is none
  std::int64_t most_tokens = 0;        // maximum tokens of a text; 0 means the folder's limit
};

// A folder opened for sentence embeddings: the model, its pooling and further modules.
struct EmbeddingFolder {
  infer::LoadedModel loaded;
  SentenceModules modules;

  static EmbeddingFolder open(const std::filesystem::path& path, const EmbedOptions& options = {},
                              WeightMode mode = WeightMode::stored);
};

class Embedder {
 public:
  // `folder`, `pool` and `probe` must outlive the embedder; `probe` may be null. Throws bad_file if the
  // modules do not fit the model, usage for invalid token limits.
  Embedder(const EmbeddingFolder& folder, ThreadPool& pool, const EmbedOptions& options = {},
           Probe* probe = nullptr);

  std::int64_t size() const { return size_; }  // number of elements of a vector
  // maximum tokens of a text; 0 means no limit
  std::int64_t most_tokens() const { return reader_.most_tokens(); }
  bool compares_by_product() const { return folder_.modules.dot; }

  Input read(std::string_view text) const;
  // Return vectors [inputs, size]. The vector of a text without tokens is zero. Throws numeric if a vector is
  // not finite.
  Tensor embed(std::span<const Input> inputs);
  Tensor embed(std::span<const std::string> texts);

 private:
  void finish(const Pass::States& states, float* vectors);

  const EmbeddingFolder& folder_;
  Reader reader_;
  std::int64_t skipped_;  // tokens at the start of each text that are excluded from pooling
  Pass pass_;
  std::int64_t hidden_, size_;
};

// Divide a vector by its Euclidean norm, or by 1e-12 if that is larger.
void scale_to_length_one(std::span<float> vector);

// Return [rows of a, rows of b]: the cosine similarity of each pair, or the dot product if `product` is set.
// The cosine with a zero vector is 0. Throws usage for vectors of different sizes.
Tensor similarities(ThreadPool& pool, const Tensor& a, const Tensor& b, bool product = false);

}  // namespace regard::tasks
