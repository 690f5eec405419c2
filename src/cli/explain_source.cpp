#include "cli/explain_source.h"

#include <fmt/format.h>

#include <map>
#include <sstream>

#include "base/plain_text.h"
#include "infer/loaded_model.h"
#include "inspect/attend.h"
#include "regard/error.h"
#include "regard/math.h"
#include "text/tokenizer.h"
#include "vectors/word_vectors.h"

namespace regard::cli {
namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::vector<std::string> tokens_of(const text::Tokenizer& tokenizer, const std::string& text) {
  std::vector<std::string> tokens;
  for (const std::int32_t id : tokenizer.encode_ids(text, {.add_special = false, .match_special = false}))
    tokens.push_back(inspect::shown_token(tokenizer, id));
  return tokens;
}

// Record the tensors of one self-attention layer: input, query, key, value and weights.
class HeadProbe : public Probe {
 public:
  explicit HeadProbe(std::string point) : point_(std::move(point)) {}
  bool wants(std::string_view point) override { return point.starts_with(point_ + "."); }
  void see(std::string_view point, std::int64_t, const Tensor& value) override {
    seen_[std::string(point.substr(point_.size() + 1))] = value.clone();
  }
  const Tensor& operator[](const std::string& what) const {
    const auto found = seen_.find(what);
    if (found == seen_.end())
      throw usage_error("there is no such layer").found(point_).remedy("Layers are numbered from 0");
    return found->second;
  }

 private:
  std::string point_;
  std::map<std::string, Tensor> seen_;
};

// Return head `head` of `all` [tokens, heads × size] as [tokens, size].
Tensor columns_of(const Tensor& all, std::int64_t head, std::int64_t heads) {
  const std::int64_t size = all.columns() / heads;
  return all.slice_columns(head * size, (head + 1) * size).clone();
}

Explained from_model(const ExplainSource& source, ExplainOptions options, ThreadPool& pool) {
  const infer::LoadedModel loaded = infer::LoadedModel::open(source.model);
  const bool decoder = loaded.model->kind() == ModelKind::decoder;
  const ModelInput input = loaded.read(source.text);
  const std::vector<std::int32_t>& ids = input.ids;
  if (ids.empty()) throw input_error("TEXT has no tokens").found("'" + source.text + "'");
  const std::string side = decoder ? "decoder" : "encoder";
  HeadProbe probe(fmt::format("{}.{}.self", side, source.layer));
  const std::vector<std::int32_t> start{loaded.options.start_token};
  inspect::run_with_probe(*loaded.model, pool, input, decoder ? ids : start, &probe);
  const std::int64_t heads = probe["weights"].shape()[0], length = std::ssize(ids);
  if (source.head >= heads)
    throw usage_error("no such head")
        .found(std::to_string(source.head))
        .expected(fmt::format("0 to {}", heads - 1));
  Explained out;
  for (const std::int32_t id : ids) out.input.tokens.push_back(inspect::shown_token(*loaded.source, id));
  out.input.vectors = probe["input"];
  out.input.source =
      fmt::format("The input of layer {} of {}: the embeddings{}, positions included.", source.layer,
                  source.model, source.layer > 0 ? " after the layers before it" : "");
  out.input.head = fmt::format("layer {}, head {} of the {}", source.layer, source.head, side);
  out.input.q = columns_of(probe["query"], source.head, heads);
  const std::int64_t kv_heads = probe["key"].columns() / out.input.q.columns();
  const std::int64_t kv_head = source.head / (heads / kv_heads);
  out.input.k = columns_of(probe["key"], kv_head, kv_heads);
  out.input.v = columns_of(probe["value"], kv_head, kv_heads);
  const Tensor& weights = probe["weights"];
  out.model_weights = Tensor::empty({length, length});
  for (std::int64_t r = 0; r < length; ++r)
    std::copy_n(weights.row(source.head * length + r), length, out.model_weights.row(r));
  options.causal = decoder;
  options.projections = true;
  out.options = options;
  return out;
}

void add_file_vectors(const std::string& path, ThreadPool& pool, ExplainInput& input) {
  const vectors::WordVectors file = vectors::WordVectors::load(path, pool);
  input.vectors = Tensor::zeros({std::ssize(input.tokens), file.size()});
  input.source = "From " + path + ".";
  for (std::size_t i = 0; i < input.tokens.size(); ++i) {
    std::string token = input.tokens[i];
    if (token.starts_with("▁")) token = token.substr(std::string("▁").size());
    const std::string lower = lower_case(token);
    float* row = input.vectors.row(static_cast<std::int64_t>(i));
    if (file.vector_of(token, row)) continue;
    input.source += file.vector_of(lower, row) ? " '" + token + "' is in the table as '" + lower + "'."
                                               : " '" + token + "' is not in the table: zeros are used.";
  }
}

}  // namespace

Explained explained(const ExplainSource& source, const ExplainOptions& options, ThreadPool& pool) {
  if (!source.model.empty()) {
    if (!source.tokenizer.empty() || !source.vectors.empty())
      throw usage_error("--model cannot be combined with --tokenizer and --vectors");
    return from_model(source, options, pool);
  }
  Explained out;
  out.options = options;
  out.input.tokens = source.tokenizer.empty()
                         ? words_of(source.text)
                         : tokens_of(*text::Tokenizer::load(source.tokenizer), source.text);
  if (out.input.tokens.empty())
    throw input_error("TEXT has no words").remedy("Try: regard explain \"Money Bank Grows\"");
  if (!source.vectors.empty()) {
    add_file_vectors(source.vectors, pool, out.input);
    return out;
  }
  std::vector<std::string> invented;
  out.input.vectors = small_vectors(out.input.tokens, &invented);
  out.input.source = "Four made-up features (finance, growth, water, place).";
  for (std::size_t i = 0; i < invented.size(); ++i)
    out.input.source += (i == 0 ? " Not in the built-in table, random: '" : ", '") + invented[i] + "'";
  if (!invented.empty()) out.input.source += ".";
  return out;
}

}  // namespace regard::cli
