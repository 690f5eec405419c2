#include "inspect/gradients.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <queue>

#include "base/counted.h"
#include "inspect/answer_pass.h"
#include "inspect/attention_view.h"
#include "inspect/edited_pass.h"
#include "inspect/rollout.h"
#include "inspect/weight_parts.h"
#include "regard/error.h"

namespace regard::inspect {
namespace {

const char* stack_of(Network& model) {
  return model.kind() == ModelKind::decoder ? "decoder" : "encoder";
}

// Return one matrix [tokens, tokens] for each layer: ½ · (attention weights averaged over the heads) + ½ ·
// identity matrix. Set `tokens` to the number of tokens.
std::vector<std::vector<double>> mixed_layers(Network& model, ThreadPool& pool, const PassInput& input,
                                              const EditedPass* edits, std::int64_t& tokens) {
  const Kind kind = model.kind() == ModelKind::decoder ? Kind::decoder : Kind::encoder;
  std::vector<std::vector<double>> layers;
  for (const Selection& part : weight_parts(model, ModelPoints::of(model, pool), input, {kind})) {
    Capture capture(part);
    run_pass(model, pool, input, edits, capture);
    for (const Map& map : maps_of(capture, true)) {
      tokens = map.rows;
      std::vector<double>& mixed = layers.emplace_back();
      for (std::int64_t row = 0; row < tokens; ++row)
        for (std::int64_t column = 0; column < tokens; ++column)
          mixed.push_back(0.5 * static_cast<double>(map.at(row, column)) + (row == column ? 0.5 : 0.0));
    }
  }
  if (layers.empty())
    throw usage_error("the model has no self-attention").remedy("'regard info' shows the family of a model");
  return layers;
}

// Maximum flow in a small graph by shortest augmenting paths (Edmonds and Karp 1972).
class FlowGraph {
 public:
  explicit FlowGraph(std::size_t nodes) : edges_of_(nodes) {}

  void add(std::size_t from, std::size_t to, double capacity) {
    edges_of_[from].push_back(edges_.size());
    edges_.push_back({to, capacity});
    edges_of_[to].push_back(edges_.size());
    edges_.push_back({from, 0.0});
  }

  double flow(std::size_t source, std::size_t sink) {
    constexpr double kNothing = 1e-12;
    double all = 0;
    for (;;) {
      std::vector<std::size_t> by(edges_of_.size(), edges_.size());
      std::queue<std::size_t> waiting;
      waiting.push(source);
      while (!waiting.empty() && by[sink] == edges_.size()) {
        const std::size_t node = waiting.front();
        waiting.pop();
        for (const std::size_t edge : edges_of_[node]) {
          const std::size_t to = edges_[edge].to;
          if (to == source || by[to] != edges_.size() || edges_[edge].residual <= kNothing) continue;
          by[to] = edge;
          waiting.push(to);
        }
      }
      if (by[sink] == edges_.size()) return all;
      double least = edges_[by[sink]].residual;
      for (std::size_t node = sink; node != source; node = edges_[by[node] ^ 1].to)
        least = std::min(least, edges_[by[node]].residual);
      for (std::size_t node = sink; node != source; node = edges_[by[node] ^ 1].to)
        edges_[by[node]].residual -= least, edges_[by[node] ^ 1].residual += least;
      all += least;
    }
  }

 private:
  struct Edge {
    std::size_t to;
    double residual;
  };
  std::vector<Edge> edges_;  // edges; each edge is followed by its reverse edge
  std::vector<std::vector<std::size_t>> edges_of_;
};

}  // namespace

Quadrature gauss_legendre(std::int64_t count) {
  if (count < 1 || count > 1000)
    throw usage_error("the number of integration steps is out of range")
        .found(std::to_string(count))
        .expected("1 to 1000");
  Quadrature out;
  const auto n = static_cast<double>(count);
  for (std::int64_t i = 0; i < count; ++i) {
    // Find the i-th root of the Legendre polynomial P_n by Newton's method, from an initial estimate.
    double x = -std::cos(std::numbers::pi * (static_cast<double>(i) + 0.75) / (n + 0.5)), slope = 1;
    for (int step = 0; step < 100; ++step) {
      double before = 1, value = x;
      for (std::int64_t k = 2; k <= count; ++k) {
        const auto order = static_cast<double>(k);
        const double next = ((2 * order - 1) * x * value - (order - 1) * before) / order;
        before = value, value = next;
      }
      slope = n * (x * value - before) / (x * x - 1);
      const double change = value / slope;
      x -= change;
      if (std::abs(change) < 1e-15) break;
    }
    out.nodes.push_back((x + 1) / 2);
    out.weights.push_back(1 / ((1 - x * x) * slope * slope));
  }
  return out;
}

Tensor blank_embedding(Network& model, ThreadPool& pool, const PassInput& input) {
  PassInput blank = input;
  blank.source.values = Tensor::zeros(input.source.values.shape());
  PointCapture capture;
  capture.want("encoder.embedding");
  run_pass(model, pool, blank, &capture);
  return capture.at("encoder.embedding").clone();
}

TokenAttribution attribute_tokens(Network& model, ThreadPool& pool, const PassInput& input,
                                  const AnswerDifference& answer, const AttributionOptions& options) {
  const char* stack = stack_of(model);
  const Quadrature quadrature = gauss_legendre(options.steps);
  PointCapture capture;
  const std::string point = std::string(stack) + ".embedding";
  capture.want(point);
  run_pass(model, pool, input, &capture);
  const Tensor& whole = capture.at(point);
  const std::int64_t tokens = whole.rows(), width = whole.columns();
  if (options.baseline.defined() && (options.baseline.columns() != width ||
                                     (options.baseline.rows() != 1 && options.baseline.rows() != tokens)))
    throw usage_error("the shape of the baseline does not match the embedding")
        .found(options.baseline.shape().text())
        .expected(fmt::format("[1, {}] or [{}, {}]", width, tokens, width));
  const auto baseline = [&](std::int64_t row, std::int64_t i) {
    if (!options.baseline.defined()) return 0.0;
    return static_cast<double>(options.baseline.row(options.baseline.rows() == 1 ? 0 : row)[i]);
  };
  const auto embedding_at = [&](double share) {
    Tensor at = Tensor::empty({tokens, width});
    for (std::int64_t row = 0; row < tokens; ++row)
      for (std::int64_t i = 0; i < width; ++i)
        at.row(row)[i] = static_cast<float>(
            baseline(row, i) + share * (static_cast<double>(whole.row(row)[i]) - baseline(row, i)));
    return at;
  };
  TokenAttribution out;
  out.gradient_input.resize(static_cast<std::size_t>(tokens));
  out.integrated.resize(static_cast<std::size_t>(tokens));
  const auto gradient_at = [&](const Tensor& embedding) {
    if (options.between) options.between();
    return answer_gradient(model, pool, input, answer, {stack, embedding}, options.edits);
  };
  const AnswerGradient full = gradient_at(whole);
  out.difference = full.difference;
  require_finite(out.difference);
  out.baseline = gradient_at(embedding_at(0)).difference;
  for (std::int64_t row = 0; row < tokens; ++row)
    for (std::int64_t i = 0; i < width; ++i)
      out.gradient_input[static_cast<std::size_t>(row)] +=
          static_cast<double>(full.gradient.row(row)[i]) *
          (static_cast<double>(whole.row(row)[i]) - (options.relative ? baseline(row, i) : 0.0));
  for (std::size_t step = 0; step < quadrature.nodes.size(); ++step) {
    const AnswerGradient at = gradient_at(embedding_at(quadrature.nodes[step]));
    for (std::int64_t row = 0; row < tokens; ++row)
      for (std::int64_t i = 0; i < width; ++i)
        out.integrated[static_cast<std::size_t>(row)] +=
            quadrature.weights[step] * static_cast<double>(at.gradient.row(row)[i]) *
            (static_cast<double>(whole.row(row)[i]) - baseline(row, i));
  }
  for (const double one : out.integrated) out.completeness_error += one;
  out.completeness_error -= out.difference - out.baseline;
  return out;
}

std::vector<double> attention_rollout(Network& model, ThreadPool& pool, const PassInput& input,
                                      const EditedPass* edits) {
  std::int64_t tokens = 0;
  const std::vector<std::vector<double>> layers = mixed_layers(model, pool, input, edits, tokens);
  return rollout_of(layers, static_cast<std::size_t>(tokens));
}

std::vector<double> attention_flow(Network& model, ThreadPool& pool, const PassInput& input,
                                   std::int64_t position, const EditedPass* edits,
                                   const BetweenPasses& between) {
  std::int64_t tokens = 0;
  const std::vector<std::vector<double>> layers = mixed_layers(model, pool, input, edits, tokens);
  constexpr std::int64_t kMost = 64;
  if (tokens > kMost)
    throw usage_error("the input is too long for attention flow")
        .found(counted(tokens, "position"))
        .expected(fmt::format("at most {} positions", kMost));
  if (position < 0 || position >= tokens)
    throw usage_error("the position is out of range")
        .found(std::to_string(position))
        .expected(fmt::format("a position from 0 to {}", tokens - 1));
  const auto node = [&](std::size_t layer, std::int64_t token) {
    return layer * static_cast<std::size_t>(tokens) + static_cast<std::size_t>(token);
  };
  std::vector<double> flows;
  for (std::int64_t target = 0; target < tokens; ++target) {
    if (between) between();
    FlowGraph graph((layers.size() + 1) * static_cast<std::size_t>(tokens));
    for (std::size_t layer = 0; layer < layers.size(); ++layer)
      for (std::int64_t to = 0; to < tokens; ++to)
        for (std::int64_t from = 0; from < tokens; ++from)
          if (const double weight = layers[layer][static_cast<std::size_t>(to * tokens + from)]; weight > 0)
            graph.add(node(layer + 1, to), node(layer, from), weight);
    flows.push_back(graph.flow(node(layers.size(), position), node(0, target)));
  }
  return flows;
}

}  // namespace regard::inspect
