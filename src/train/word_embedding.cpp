#include "train/word_embedding.h"

#include <fmt/format.h>

#include "base/counted.h"
#include "base/plain_text.h"
#include "ops/parameter.h"
#include "regard/error.h"
#include "train/sequence_keys.h"
#include "vectors/word_vectors.h"

namespace regard::train {
namespace {

Parameter* find(Network& model, std::string_view name) {
  for (Parameter* parameter : model.parameters())
    if (parameter->name == name) return parameter;
  return nullptr;
}

// Look up a token unmodified, then in lower case.
std::optional<std::size_t> index_of(const vectors::WordVectors& vectors, const std::string& token) {
  if (const auto index = vectors.find(token)) return index;
  return vectors.find(lower_case(token));
}

Error wrong_size(const RunConfig& config, std::int64_t size, std::int64_t expected) {
  const char* key = is_sequence_family(config.model.family) ? "model.embedding_size" : "model.hidden_size";
  return usage_error("the vectors of 'model.vectors' and the embedding have different sizes")
      .found(fmt::format("vectors of {} numbers", size))
      .expected(counted(expected, "number"))
      .remedy(fmt::format("Set '{}' to {}", key, size));
}

}  // namespace

std::string embedding_of_source(Network& model) {
  for (const char* name : {"encoder.embedding.weight", "embedding.weight"})
    if (find(model, name) != nullptr) return name;
  // In a family of Hugging Face transformers, the token embedding is the first table with one row per token;
  // tables of positions follow it.
  for (const Parameter* parameter : model.parameters())
    if (parameter->use == Parameter::Use::table && parameter->value().rows() == model.source_vocabulary())
      return parameter->name;
  throw Error(ErrorKind::internal, "the model has no token embedding");
}

std::string set_word_embedding(Network& model, const RunConfig& config, const text::Tokenizer& tokenizer,
                               ThreadPool& pool) {
  const auto vectors = vectors::WordVectors::load(config.model.vectors, pool);
  Tensor& table = find(model, embedding_of_source(model))->variable.value;
  if (vectors.size() != table.columns()) throw wrong_size(config, vectors.size(), table.columns());
  std::int64_t found = 0;
  for (std::int64_t id = 0; id < std::min(table.rows(), tokenizer.vocabulary_size()); ++id) {
    const auto token = static_cast<std::int32_t>(id);
    if (tokenizer.is_special(token)) continue;
    const auto index = index_of(vectors, tokenizer.token_of(token));
    if (!index) continue;
    vectors.copy(*index, table.row(id));
    ++found;
  }
  if (found == 0)
    throw usage_error("no token of the vocabulary has a vector in " + config.model.vectors)
        .remedy("Use 'tokenizer.type' = \"word\"");
  return fmt::format("vectors: {} of {} tokens are initialised from the file{}", found,
                     tokenizer.vocabulary_size(),
                     config.model.freeze_vectors ? ", and the embedding is not trained" : "");
}

}  // namespace regard::train
