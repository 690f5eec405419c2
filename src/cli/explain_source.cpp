#include "cli/explain_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/counted.h"
#include "base/plain_text.h"
#include "base/utf8.h"
#include "cli/output.h"
#include "infer/loaded_model.h"
#include "inspect/shown_tokens.h"
#include "regard/error.h"
#include "regard/math.h"
#include "text/tokenizer.h"
#include "text/unicode.h"
#include "vectors/shipped.h"

namespace regard::cli {
namespace {

// Return the sequences of letters and digits, and the sequences of other characters, without white space:
// "of France?" → of, France, ?.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  enum class Kind { space, word, sign } last = Kind::space;
  for (const char32_t c : utf8::code_points(text)) {
    const Kind kind = text::unicode::is_white_space(c) ? Kind::space
                      : text::unicode::is_word(c)      ? Kind::word
                                                       : Kind::sign;
    if (kind != Kind::space) {
      if (kind != last) words.emplace_back();
      words.back() += utf8::encode(std::u32string(1, c));
    }
    last = kind;
  }
  return words;
}

std::vector<std::string> tokens_of(const text::Tokenizer& tokenizer, const std::string& text) {
  std::vector<std::string> tokens;
  for (const std::int32_t id : tokenizer.encode_ids(text, {.add_special = false, .match_special = false}))
    tokens.push_back(inspect::shown_token(tokenizer, id));
  return tokens;
}

// Records the tensors of one self-attention layer: input, query, key, value and attention weights.
class HeadProbe : public Probe {
 public:
  HeadProbe(const std::string& side, std::int64_t layer)
      : side_(side + "."), layer_(layer), point_(fmt::format("{}.{}.self", side, layer)) {}
  bool wants(std::string_view point) override {
    if (point.starts_with(side_) && point.ends_with(".self.weights")) layers_.emplace(point);
    return point.starts_with(point_ + ".");
  }
  void see(std::string_view point, std::int64_t, const Tensor& value) override {
    seen_[std::string(point.substr(point_.size() + 1))] = value.clone();
  }
  const Tensor& operator[](const std::string& what) const {
    const auto found = seen_.find(what);
    if (found == seen_.end())
      throw usage_error("the model has no such self-attention layer")
          .found(std::to_string(layer_))
          .expected(layers_.empty() ? "a model with self-attention"
                                    : fmt::format("a layer from 0 to {}", layers_.size() - 1));
    return found->second;
  }

 private:
  std::string side_;
  std::int64_t layer_;
  std::string point_;
  std::set<std::string> layers_;  // probe points of the attention weights, one per layer
  std::map<std::string, Tensor> seen_;
};

// Return head `head` of `all` [tokens, heads × size] as [tokens, size].
Tensor columns_of(const Tensor& all, std::int64_t head, std::int64_t heads) {
  const std::int64_t size = all.columns() / heads;
  return all.slice_columns(head * size, (head + 1) * size).clone();
}

void check_length(std::int64_t tokens) {
  if (tokens > kMostExplained)
    throw input_error("TEXT is too long to explain")
        .found(counted(tokens, "token"))
        .expected(fmt::format("at most {} tokens", kMostExplained));
}

Explained from_model(const ExplainSource& source, ExplainOptions options, ThreadPool& pool) {
  const infer::LoadedModel loaded = infer::LoadedModel::open(source.model);
  print_warning(loaded.warning);
  const bool decoder = loaded.model->kind() == ModelKind::decoder;
  const ModelInput input = loaded.read(source.text);
  const std::vector<std::int32_t>& ids = input.ids;
  if (ids.empty())
    throw input_error("TEXT has no tokens")
        .found("'" + source.text + "'")
        .expected("a text of at least one token");
  check_length(std::ssize(ids));
  const std::string side = decoder ? "decoder" : "encoder";
  HeadProbe probe(side, source.layer);
  const std::vector<std::int32_t> start{loaded.options.start_token};
  inspect::run_with_probe(*loaded.model, pool, input, decoder ? ids : start, &probe);
  const std::int64_t heads = probe["weights"].shape()[0], length = std::ssize(ids);
  if (source.head >= heads)
    throw usage_error("the model has no such head")
        .found(std::to_string(source.head))
        .expected(fmt::format("a head from 0 to {}", heads - 1));
  Explained out;
  for (const std::int32_t id : ids) out.input.tokens.push_back(inspect::shown_token(*loaded.source, id));
  out.input.vectors = probe["input"];
  out.input.source = fmt::format("The input of layer {} of {}: {}.", source.layer, source.model,
                                 source.layer > 0 ? "the hidden states after the preceding layers"
                                                  : "the embeddings, positions included");
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

// Return the spellings under which a token is looked up: unmodified, without the tokenizer's word-boundary
// marker, without punctuation at both ends, and the last two also in lower case.
std::vector<std::string> spellings(const std::string& token) {
  std::string bare = token;
  for (const std::string_view mark : {"▁", "Ġ", "##", " "})
    if (bare.starts_with(mark) && bare.size() > mark.size()) bare.erase(0, mark.size());
  std::u32string points = utf8::code_points(bare);
  while (!points.empty() && !text::unicode::is_word(points.back())) points.pop_back();
  std::size_t begin = 0;
  while (begin < points.size() && !text::unicode::is_word(points[begin])) ++begin;
  const std::string inner = utf8::encode(std::u32string_view(points).substr(begin));
  std::vector<std::string> all{token, bare, lower_case(bare)};
  if (!inner.empty()) all.insert(all.end(), {inner, lower_case(inner)});
  return all;
}

// Copy the vector of the first of spellings(token) that `table` contains to `row`, and return that spelling.
// Return "" if there is none.
std::string find_vector(const vectors::WordVectors& table, const std::string& token, float* row) {
  for (const std::string& spelling : spellings(token))
    if (table.vector_of(spelling, row)) return spelling;
  return "";
}

void add_file_vectors(const std::string& path, ThreadPool& pool, ExplainInput& input) {
  const vectors::WordVectors file = vectors::WordVectors::load(path, pool);
  input.vectors = Tensor::zeros({std::ssize(input.tokens), file.size()});
  input.source = "From " + path + ".";
  for (std::size_t i = 0; i < input.tokens.size(); ++i) {
    const std::string& token = input.tokens[i];
    const std::string found = find_vector(file, token, input.vectors.row(static_cast<std::int64_t>(i)));
    if (found == token) continue;
    input.source += found.empty() ? " '" + token + "' is not in the file: zeros are used."
                                  : " '" + token + "' is in the file as '" + found + "'.";
  }
}

// Add the vectors of vectors::shipped_vectors(). A token without a vector there gets a random vector that
// depends only on the token in lower case.
void add_shipped_vectors(ExplainInput& input) {
  const vectors::WordVectors& table = vectors::shipped_vectors();
  input.vectors = Tensor::zeros({std::ssize(input.tokens), table.size()});
  input.source = fmt::format(
      "Trained vectors of {} numbers per word (skip-gram on speeches, plays and the sentences of the demo), "
      "normalised to length 1.",
      table.size());
  std::vector<std::string> unknown;
  for (std::size_t i = 0; i < input.tokens.size(); ++i) {
    float* row = input.vectors.row(static_cast<std::int64_t>(i));
    if (!find_vector(table, input.tokens[i], row).empty()) continue;
    const float deviation = 1.0f / std::sqrt(static_cast<float>(table.size()));
    const Tensor made = random_normal({table.size()}, 1, lower_case(input.tokens[i]), deviation);
    std::copy_n(made.f32(), table.size(), row);
    if (std::ranges::find(unknown, input.tokens[i]) == unknown.end()) unknown.push_back(input.tokens[i]);
  }
  for (std::size_t i = 0; i < unknown.size(); ++i)
    input.source +=
        (i == 0 ? " Random vectors, because the table has no vector: '" : ", '") + unknown[i] + "'";
  if (!unknown.empty()) input.source += ".";
}

}  // namespace

std::int64_t find_token(const std::string& wanted, const std::vector<std::string>& tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i] == wanted) return static_cast<std::int64_t>(i);
  for (std::size_t i = 0; i < tokens.size(); ++i)
    for (const std::string& spelling : spellings(tokens[i]))
      if (spelling == lower_case(wanted)) return static_cast<std::int64_t>(i);
  try {
    std::size_t used = 0;
    const long long number = std::stoll(wanted, &used);
    if (used == wanted.size() && number >= 0 && number < static_cast<long long>(tokens.size())) return number;
  } catch (const std::exception&) {
    // the text is not a number: continue to the error that lists the choices
  }
  std::string choices;
  for (std::size_t i = 0; i < std::min<std::size_t>(tokens.size(), 20); ++i)
    choices += (choices.empty() ? "" : ", ") + tokens[i];
  if (tokens.size() > 20) choices += ", …";
  throw usage_error("--query does not match a token")
      .found(wanted)
      .expected(fmt::format("a number below {}, or one of: {}", tokens.size(), choices));
}

Explained explained(const ExplainSource& source, const ExplainOptions& options, ThreadPool& pool) {
  if (!source.model.empty()) return from_model(source, options, pool);
  if (!source.vectors.empty() && source.invented)
    throw usage_error("--vectors cannot be combined with --invented").remedy("Remove one of the two options");
  Explained out;
  out.options = options;
  out.input.tokens = source.tokenizer.empty()
                         ? words_of(source.text)
                         : tokens_of(*text::Tokenizer::load(source.tokenizer), source.text);
  if (out.input.tokens.empty())
    throw input_error("TEXT has no words").remedy("Try: regard explain \"Money Bank Grows\"");
  check_length(std::ssize(out.input.tokens));
  if (!source.vectors.empty()) {
    add_file_vectors(source.vectors, pool, out.input);
    return out;
  }
  if (!source.invented) {
    add_shipped_vectors(out.input);
    out.shipped = true;
    return out;
  }
  std::vector<std::string> invented;
  out.input.vectors = small_vectors(out.input.tokens, &invented);
  out.input.source = "Four invented features (finance, growth, water, place).";
  for (std::size_t i = 0; i < invented.size(); ++i)
    out.input.source +=
        (i == 0 ? " Random vectors, because the table has no vector: '" : ", '") + invented[i] + "'";
  if (!invented.empty()) out.input.source += ".";
  return out;
}

}  // namespace regard::cli
