// A pre-norm encoder–decoder in double, composed of the plain operations, with a hook at every probe point.
// Interventions are compared with this reference.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "inspect/attention_view.h"
#include "inspect/edited_pass.h"
#include "models/transformer.h"
#include "ops/parameter.h"
#include "ops/plain/attention.h"
#include "ops/plain/linear.h"
#include "ops/plain/norm.h"
#include "support/namespaces.h"

namespace regard::testing {

struct DoubleMatrix {
  std::int64_t rows = 0, columns = 0;
  std::vector<double> data;

  DoubleMatrix() = default;
  DoubleMatrix(std::int64_t r, std::int64_t c) : rows(r), columns(c), data(static_cast<std::size_t>(r * c)) {}
  double& at(std::int64_t r, std::int64_t c) { return data[static_cast<std::size_t>(r * columns + c)]; }
  double at(std::int64_t r, std::int64_t c) const { return data[static_cast<std::size_t>(r * columns + c)]; }
};

inline DoubleMatrix doubled(const Tensor& tensor) {
  DoubleMatrix out(tensor.rows(), tensor.columns());
  for (std::int64_t r = 0; r < out.rows; ++r)
    for (std::int64_t c = 0; c < out.columns; ++c) out.at(r, c) = static_cast<double>(tensor.row(r)[c]);
  return out;
}

class ReferenceTransformer {
 public:
  // Hooks, which may change their arguments: `on_value` is called with every value at a probe point,
  // `on_weights` with the weights [queries, keys] of each head.
  std::function<void(const std::string& point, DoubleMatrix& value)> on_value = [](const auto&, auto&) {};
  std::function<void(const std::string& point, std::int64_t head, DoubleMatrix& weights)> on_weights =
      [](const auto&, auto, auto&) {};

  ReferenceTransformer(Network& model, const TransformerConfig& config) : model_(model), config_(config) {
    for (const Parameter* parameter : model.parameters())
      weights_[parameter->name] = doubled(parameter->value());
  }

  // Return the logits [target tokens, vocabulary].
  DoubleMatrix run(const std::vector<std::int32_t>& source, const std::vector<std::int32_t>& target) {
    ThreadPool pool(1);
    inspect::PointCapture embedded;  // the embedding is taken from the model, because it is not tested here
    embedded.want("encoder.embedding"), embedded.want("decoder.embedding");
    inspect::run_with_probe(model_, pool, source, target, &embedded);
    const DoubleMatrix memory = stack("encoder", doubled(embedded.at("encoder.embedding")), nullptr);
    const DoubleMatrix hidden = stack("decoder", doubled(embedded.at("decoder.embedding")), &memory);
    return linear(hidden, "embedding", kernels::Activation::none);
  }

 private:
  const DoubleMatrix& weight(const std::string& name) const { return weights_.at(name + ".weight"); }
  const double* bias(const std::string& name) const {
    const auto found = weights_.find(name + ".bias");
    return found == weights_.end() ? nullptr : found->second.data.data();
  }

  DoubleMatrix linear(const DoubleMatrix& x, const std::string& name, kernels::Activation activation) const {
    const DoubleMatrix& w = weight(name);
    DoubleMatrix y(x.rows, w.rows);
    plain::linear(plain::Linear{x.rows, x.columns, w.rows, false, activation}, x.data.data(), w.data.data(),
                  bias(name), static_cast<const double*>(nullptr), y.data.data());
    return y;
  }

  DoubleMatrix norm(const DoubleMatrix& x, const std::string& name) const {
    DoubleMatrix y(x.rows, x.columns);
    plain::Norm<double> norm;
    norm.rows = x.rows, norm.columns = x.columns, norm.epsilon = config_.norm_epsilon;
    norm.gain = weight(name).data.data(), norm.bias = bias(name);
    plain::norm_forward(norm, x.data.data(), y.data.data());
    return y;
  }

  DoubleMatrix attention(const std::string& point, const std::string& prefix, const DoubleMatrix& x,
                         const DoubleMatrix& memory, bool causal) {
    const DoubleMatrix q = linear(x, prefix + "query", kernels::Activation::none);
    const DoubleMatrix k = linear(memory, prefix + "key", kernels::Activation::none);
    const DoubleMatrix v = linear(memory, prefix + "value", kernels::Activation::none);
    plain::Attention<double> problem;
    problem.queries = x.rows, problem.keys = memory.rows, problem.causal = causal;
    problem.heads = problem.kv_heads = config_.heads;
    problem.head_dim = problem.value_dim = config_.hidden_size / config_.heads;
    problem.scale = 1.0 / std::sqrt(static_cast<double>(problem.head_dim));
    problem.query = q.data.data(), problem.key = k.data.data(), problem.value = v.data.data();
    const plain::AttentionResult<double> result = plain::attention(problem);
    DoubleMatrix context(x.rows, q.columns);
    for (std::int64_t head = 0; head < config_.heads; ++head) {
      DoubleMatrix w(problem.queries, problem.keys);
      std::copy_n(result.weight.begin() + head * w.rows * w.columns, w.rows * w.columns, w.data.begin());
      on_weights(point, head, w);
      for (std::int64_t i = 0; i < w.rows; ++i)
        for (std::int64_t j = 0; j < w.columns; ++j)
          for (std::int64_t d = 0; d < problem.head_dim; ++d)
            context.at(i, head * problem.head_dim + d) += w.at(i, j) * v.at(j, head * problem.head_dim + d);
    }
    on_value(point + ".context", context);
    DoubleMatrix out = linear(context, prefix + "output", kernels::Activation::none);
    on_value(point + ".output", out);
    return out;
  }

  static void add(DoubleMatrix& x, const DoubleMatrix& y) {
    for (std::size_t i = 0; i < x.data.size(); ++i) x.data[i] += y.data[i];
  }

  DoubleMatrix stack(const std::string& side, DoubleMatrix x, const DoubleMatrix* memory) {
    on_value(side + ".embedding", x);
    for (std::int64_t layer = 0; layer < 2; ++layer) {
      const std::string point = side + "." + std::to_string(layer);
      const std::string prefix = side + ".layers." + std::to_string(layer) + ".";
      DoubleMatrix input = norm(x, prefix + "self_attention_norm");
      on_value(point + ".self.input", input);
      add(x, attention(point + ".self", prefix + "self_attention.", input, input, memory != nullptr));
      if (memory != nullptr) {
        input = norm(x, prefix + "cross_attention_norm");
        on_value(point + ".cross.input", input);
        add(x, attention(point + ".cross", prefix + "cross_attention.", input, *memory, false));
      }
      DoubleMatrix inner = linear(norm(x, prefix + "feed_forward_norm"), prefix + "feed_forward.up",
                                  kernels::Activation::relu);
      on_value(point + ".feed_forward.inner", inner);
      DoubleMatrix out = linear(inner, prefix + "feed_forward.down", kernels::Activation::none);
      on_value(point + ".feed_forward.output", out);
      add(x, out);
      on_value(point + ".residual", x);
    }
    x = norm(x, side + ".norm");
    on_value(side + ".output", x);
    return x;
  }

  Network& model_;
  TransformerConfig config_;
  std::map<std::string, DoubleMatrix> weights_;
};

}  // namespace regard::testing
