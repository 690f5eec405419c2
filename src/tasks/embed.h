// Sentence vectors (Reimers and Gurevych 2019): the states of a text's tokens pooled into one vector, as
// sentence-transformers computes them where its files lie beside the model.
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
  // Instead of what the folder says.
  std::optional<PoolingMode> pooling = std::nullopt;
  std::optional<bool> normalise = std::nullopt;
  std::optional<std::string> prompt = std::nullopt;
  std::optional<bool> cut = std::nullopt;  // not given: where the folder has a max_seq_length
  std::int64_t most_tokens = 0;
};

// A folder opened for sentence vectors: the model and what is done with its states.
struct EmbeddingFolder {
  infer::LoadedModel loaded;
  SentenceModules modules;

  static EmbeddingFolder open(const std::filesystem::path& path, const EmbedOptions& options = {},
                              Keep keep = Keep::stored);
};

class Embedder {
 public:
  // All are kept by reference. Throws usage or bad_file where model and modules do not fit together.
  Embedder(const EmbeddingFolder& folder, ThreadPool& pool, const EmbedOptions& options = {},
           Probe* probe = nullptr);

  std::int64_t size() const { return size_; }                         // of a vector
  std::int64_t most_tokens() const { return reader_.most_tokens(); }  // 0: no limit
  bool compares_by_product() const { return folder_.modules.dot; }

  Input read(std::string_view text) const;
  // [inputs, size]; a text without any token is zeros. Throws numeric where the model gives no finite
  // numbers.
  Tensor embed(std::span<const Input> inputs);
  Tensor embed(std::span<const std::string> texts);

 private:
  void finish(const Pass::States& states, float* vectors);

  const EmbeddingFolder& folder_;
  Reader reader_;
  std::int64_t skipped_;  // tokens at the start of each text that are not pooled
  Pass pass_;
  std::int64_t hidden_, size_;
};

// [rows of a, rows of b]: each pair's cosine, or product. A vector of zeros is like none.
Tensor similarities(ThreadPool& pool, const Tensor& a, const Tensor& b, bool product = false);

}  // namespace regard::tasks
