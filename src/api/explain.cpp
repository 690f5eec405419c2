#include "regard/explain.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "api/check.h"
#include "base/counted.h"
#include "base/plain_text.h"
#include "regard/error.h"
#include "regard/math.h"
#include "regard/print.h"

namespace regard {

using namespace models;  // namespace models exposes the names of nn, ops, tensor and base (base/namespaces.h)
namespace {

class Path {
 public:
  Path(const ExplainInput& input, const ExplainOptions& options) : input_(input), options_(options) {}

  std::vector<ExplainStep> walk() {
    check();
    Tensor x =
        add_step("vectors", "X", input_.source, input_.vectors, feature_names(input_.vectors.columns()));
    if (placed()) x = add_positions(x);
    Tensor q = x, k = x, v = x;
    if (input_.q.defined())
      take_head(q, k, v);
    else if (options_.projections)
      project(x, q, k, v);
    const Tensor weights = soften(score(q, k));
    add_step("output", options_.projections ? "weights V" : "weights " + input_name(),
             "Each row is the weighted sum of all value rows.", matmul(weights, v),
             feature_names(v.columns()));
    return std::move(steps_);
  }

 private:
  void check() const {
    const auto length = static_cast<std::int64_t>(input_.tokens.size());
    if (length == 0)
      throw usage_error("cannot explain a text without tokens").expected("a text of at least one token");
    api::require_matrix("explain", "vectors", input_.vectors);
    if (input_.vectors.rows() != length || input_.vectors.columns() == 0)
      throw usage_error("the number of vectors does not match the number of tokens")
          .found(input_.vectors.shape().text())
          .expected(fmt::format("[{}, size]", length));
    check_head(length);
    check_weights();
    api::require_number("explain", "scaling", static_cast<double>(options_.scaling), 0.0);
    if (options_.head_dim < 1)
      throw usage_error("explain: head_dim is out of range")
          .found(std::to_string(options_.head_dim))
          .expected("at least 1");
  }

  void check_head(std::int64_t length) const {
    if (!input_.q.defined() && !input_.k.defined() && !input_.v.defined()) return;
    for (const auto& [name, given] : {std::pair{"q", &input_.q}, {"k", &input_.k}, {"v", &input_.v}}) {
      api::require_matrix("explain", name, *given);
      if (given->rows() != length || given->columns() == 0)
        throw usage_error(std::string(name) + " does not have one row per token")
            .found(given->shape().text())
            .expected(fmt::format("[{}, head_dim]", length));
    }
    if (input_.q.columns() != input_.k.columns())
      throw usage_error("k has a wrong number of columns")
          .found(input_.k.shape().text())
          .expected(input_.q.shape().text() + ", the shape of q");
  }

  void check_weights() const {
    if (!input_.w_q.defined() && !input_.w_k.defined() && !input_.w_v.defined()) return;
    for (const auto& [name, given] :
         {std::pair{"w_q", &input_.w_q}, {"w_k", &input_.w_k}, {"w_v", &input_.w_v}}) {
      api::require_matrix("explain", name, *given);
      if (given->rows() != input_.vectors.columns() || given->columns() == 0)
        throw usage_error(std::string(name) + " has a wrong shape")
            .found(given->shape().text())
            .expected(fmt::format("[{}, head_dim]", input_.vectors.columns()));
    }
    if (input_.w_q.columns() != input_.w_k.columns())
      throw usage_error("w_k has a wrong number of columns")
          .found(input_.w_k.shape().text())
          .expected(input_.w_q.shape().text() + ", the shape of w_q");
  }

  static std::vector<std::string> feature_names(std::int64_t count) {
    std::vector<std::string> names;
    for (std::int64_t i = 0; i < count; ++i) names.push_back(fmt::format("{}", i));
    return names;
  }

  // Return true if positions are added to the vectors before projections and scores.
  bool placed() const { return options_.positions && !input_.q.defined(); }
  std::string input_name() const { return placed() ? "(X + P)" : "X"; }

  Tensor add_step(const char* name, std::string formula, std::string note, Tensor value,
                  std::vector<std::string> columns, bool token_rows = true) {
    steps_.push_back({name, std::move(formula), std::move(note), value,
                      token_rows ? input_.tokens : std::vector<std::string>{}, std::move(columns)});
    return value;
  }

  Tensor add_positions(const Tensor& x) {
    const Tensor p = add_step(
        "positions", "P", "Sines in even features, cosines in odd ones: each position has its own pattern.",
        sinusoidal_positions(x.rows(), x.columns()), feature_names(x.columns()));
    return add_step("placed", "X + P", "", add(x, p), feature_names(x.columns()));
  }

  void project(const Tensor& x, Tensor& q, Tensor& k, Tensor& v) {
    const std::int64_t size = x.columns(),
                       d = input_.w_q.defined() ? input_.w_q.columns() : options_.head_dim;
    const bool given = input_.w_q.defined();
    const std::string note = given ? "From the model." : "Random: not trained.";
    const auto weight = [&](const Tensor& own, const char* name) {
      const Tensor w =
          given ? own
                : random_normal({size, d}, options_.seed, name, 1.0f / std::sqrt(static_cast<float>(size)));
      return add_step(name, name, note, w, feature_names(d), false);
    };
    const Tensor w_q = weight(input_.w_q, "W_Q"), w_k = weight(input_.w_k, "W_K"),
                 w_v = weight(input_.w_v, "W_V");
    const std::string from = input_name();
    q = add_step("queries", "Q = " + from + " W_Q", "Compared with the keys: what each token attends to.",
                 matmul(x, w_q), feature_names(d));
    k = add_step("keys", "K = " + from + " W_K", "Compared with the queries: which tokens attend to it.",
                 matmul(x, w_k), feature_names(d));
    v = add_step("values", "V = " + from + " W_V", "Averaged with the attention weights.", matmul(x, w_v),
                 feature_names(w_v.columns()));
  }

  void take_head(Tensor& q, Tensor& k, Tensor& v) {
    const auto names = [](const Tensor& t) { return feature_names(t.columns()); };
    q = add_step("queries", "Q = X W_Q", "Queries of " + input_.head + ".", input_.q, names(input_.q));
    k = add_step("keys", "K = X W_K", "Compared with the queries: which tokens attend to it.", input_.k,
                 names(input_.k));
    v = add_step("values", "V = X W_V", "Averaged with the attention weights.", input_.v, names(input_.v));
  }

  Tensor score(const Tensor& q, const Tensor& k) {
    const std::string x = input_name();
    Tensor scores = add_step("scores",
                             options_.projections ? "Q Kᵀ"
                             : placed()           ? x + x + "ᵀ"
                                                  : "X Xᵀ",
                             "Row: query token. Column: key token.", matmul_transposed(q, k), input_.tokens);
    if (options_.projections) {
      const float root =
          options_.scaling > 0.0f ? options_.scaling : std::sqrt(static_cast<float>(q.columns()));
      scores = add_step("scaled", options_.scaling > 0.0f ? "Q Kᵀ · scale" : "Q Kᵀ / √d_k",
                        options_.scaling > 0.0f
                            ? fmt::format("The model divides by {:.4f}.", root)
                            : fmt::format("√{} = {:.4f}: keeps the variance near 1.", q.columns(), root),
                        scale(scores, 1.0f / root), input_.tokens);
    }
    if (!options_.causal) return scores;
    Tensor masked = scores.clone();
    for (std::int64_t r = 0; r < masked.rows(); ++r)
      for (std::int64_t c = r + 1; c < masked.columns(); ++c)
        masked.row(r)[c] = -std::numeric_limits<float>::infinity();
    return add_step("masked", "−∞ after the diagonal",
                    "Causal mask: a token attends to itself and earlier tokens.", masked, input_.tokens);
  }

  Tensor soften(const Tensor& scores) {
    const std::int64_t length = scores.rows();
    Tensor maximum = Tensor::empty({length, 1}), exponentials = Tensor::empty(scores.shape()),
           sums = Tensor::zeros({length, 1});
    for (std::int64_t r = 0; r < length; ++r) {
      float largest = scores.row(r)[0];
      for (std::int64_t c = 1; c < length; ++c) largest = std::max(largest, scores.row(r)[c]);
      maximum.f32()[r] = largest;
      for (std::int64_t c = 0; c < length; ++c) {
        exponentials.row(r)[c] = std::exp(scores.row(r)[c] - largest);
        sums.f32()[r] += exponentials.row(r)[c];
      }
    }
    add_step("maximum", "max of each row", "Subtracted before the exponential to avoid overflow.", maximum,
             {"max"});
    add_step("exponentials", "exp(score − max)", "The largest of a row is exactly 1.", exponentials,
             input_.tokens);
    add_step("sums", "Σ of each row", "", sums, {"sum"});
    return add_step("weights", "softmax", "Not negative; each row sums to 1.", softmax(scores),
                    input_.tokens);
  }

  const ExplainInput& input_;
  const ExplainOptions& options_;
  std::vector<ExplainStep> steps_;
};

const ExplainStep& step_named(const std::vector<ExplainStep>& steps, const std::string& name) {
  for (const ExplainStep& step : steps)
    if (step.name == name) return step;
  throw usage_error("follow_query: the step '" + name + "' is missing")
      .expected("the steps that explain() returns");
}

bool has_step(const std::vector<ExplainStep>& steps, const std::string& name) {
  for (const ExplainStep& step : steps)
    if (step.name == name) return true;
  return false;
}

// Return the matrix of `step`, for follow_query(). Throws usage unless the matrix is f32 and has `rows` rows
// and at least `columns` columns.
const Tensor& matrix_of(const ExplainStep& step, std::int64_t rows, std::int64_t columns) {
  api::require_matrix("follow_query", step.name.c_str(), step.value);
  if (step.value.rows() != rows || step.value.columns() < columns)
    throw usage_error("follow_query: the step '" + step.name + "' has a wrong shape")
        .found(step.value.shape().text())
        .expected(fmt::format("[{}, {} or more]", rows, columns));
  return step.value;
}

struct SmallEntry {
  const char* word;
  float vector[4];
};

// Example vectors with four features. The vector of "bank" is common in textbooks; the others are invented to
// match it.
constexpr SmallEntry kSmall[] = {
    {"bank", {0.6f, 0.2f, 0.1f, 0.7f}},  {"money", {0.9f, 0.4f, 0.0f, 0.1f}},
    {"grows", {0.3f, 0.9f, 0.2f, 0.1f}}, {"river", {0.0f, 0.2f, 0.9f, 0.6f}},
    {"flows", {0.1f, 0.3f, 0.9f, 0.2f}}, {"water", {0.0f, 0.2f, 1.0f, 0.2f}},
    {"loan", {1.0f, 0.1f, 0.0f, 0.2f}},  {"tree", {0.0f, 0.9f, 0.3f, 0.5f}},
    {"the", {0.1f, 0.1f, 0.1f, 0.1f}},
};

}  // namespace

std::vector<ExplainStep> explain(const ExplainInput& input, const ExplainOptions& options) {
  return Path(input, options).walk();
}

std::vector<std::string> follow_query(const std::vector<ExplainStep>& steps, std::int64_t query) {
  const ExplainStep& last = step_named(steps, "weights");
  const std::int64_t length = last.value.rows();
  const Tensor& weights = matrix_of(last, length, length);
  if (query < 0 || query >= length)
    throw usage_error("the index of the token is out of range")
        .found(fmt::format("token {}", query))
        .expected(fmt::format("token 0 to {}", length - 1));
  const std::vector<std::string>& names = last.rows;
  if (std::ssize(names) != length)
    throw usage_error("follow_query: the step 'weights' has a wrong number of row names")
        .found(counted(names.size(), "name"))
        .expected(counted(length, "name"));
  const Tensor& scores =
      matrix_of(step_named(steps, has_step(steps, "scaled") ? "scaled" : "scores"), length, length);
  const char* given = has_step(steps, "values") ? "values" : has_step(steps, "placed") ? "placed" : "vectors";
  const Tensor& values = matrix_of(step_named(steps, given), length, 1);
  const auto row = [&](const char* name, std::int64_t columns) {
    return matrix_of(step_named(steps, name), length, columns).slice_rows(query, query + 1);
  };
  const Tensor maximum = row("maximum", 1), exponentials = row("exponentials", length);
  std::vector<std::string> lines;
  lines.push_back(fmt::format("'{}' (token {}) attends to {}", names[static_cast<std::size_t>(query)], query,
                              counted(length, "token")));
  for (std::int64_t key = 0; key < length; ++key) {
    lines.push_back(fmt::format("  {:<12} score {:8.4f}   minus max {:8.4f}   exp {:7.4f}   weight {:7.4f}",
                                names[static_cast<std::size_t>(key)], scores.row(query)[key],
                                scores.row(query)[key] - maximum.f32()[0], exponentials.f32()[key],
                                weights.row(query)[key]));
  }
  lines.push_back(fmt::format("  sum of exp {:.4f}; the weights sum to 1", row("sums", 1).f32()[0]));
  for (std::int64_t key = 0; key < length; ++key)
    lines.push_back(fmt::format("  {} {:.4f} × {}", key == 0 ? " " : "+", weights.row(query)[key],
                                vector_text(values.slice_rows(key, key + 1))));
  lines.push_back("  = " + vector_text(row("output", 1)));
  return lines;
}

Tensor small_vectors(const std::vector<std::string>& words, std::vector<std::string>* invented) {
  Tensor vectors = Tensor::empty({static_cast<std::int64_t>(words.size()), 4});
  for (std::size_t i = 0; i < words.size(); ++i) {
    float* row = vectors.row(static_cast<std::int64_t>(i));
    const std::string word = lower_case(words[i]);
    bool known = false;
    for (const SmallEntry& entry : kSmall) {
      if (word != entry.word) continue;
      for (int f = 0; f < 4; ++f) row[f] = entry.vector[f];
      known = true;
    }
    if (known) continue;
    const Tensor made = random_normal({4}, 1, word, 0.5f);
    for (int f = 0; f < 4; ++f) row[f] = made.f32()[f];
    if (invented != nullptr) invented->push_back(words[i]);
  }
  return vectors;
}

}  // namespace regard
