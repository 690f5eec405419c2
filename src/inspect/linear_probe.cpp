#include "inspect/linear_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/random.h"
#include "inspect/attention_view.h"
#include "inspect/edited_pass.h"
#include "inspect/pass_input.h"
#include "inspect/resolve.h"
#include "regard/error.h"

namespace regard::inspect {
namespace {

using Vector = std::vector<double>;

constexpr int kSteps = 300;  // number of gradient steps of each regression

// Reports the completed fraction of the work: the passes count as one half, the regressions as the other.
class ProbeProgress {
 public:
  ProbeProgress(const std::function<bool(double)>& progress, std::size_t passes, std::size_t regressions)
      : progress_(progress),
        of_pass_(0.5 / static_cast<double>(passes)),
        of_step_(0.5 / static_cast<double>(regressions * kSteps)) {}

  void pass() { report(of_pass_); }
  void step() { report(of_step_); }

 private:
  void report(double more) {
    if (progress_ && !progress_(std::min(share_, 1.0))) throw cancelled_error("the study was stopped");
    share_ += more;
  }

  const std::function<bool(double)>& progress_;
  double of_pass_, of_step_, share_ = 0;
};

// Multinomial logistic regression by gradient descent with momentum (Nesterov 1983); the loss is convex.
class Regression {
 public:
  Regression(std::size_t labels, std::size_t features)
      : features_(features), weights_(labels, Vector(features + 1)), speed_(labels, Vector(features + 1)) {}

  void fit(const std::vector<Vector>& x, const std::vector<std::size_t>& y, ProbeProgress& progress) {
    const auto count = static_cast<double>(x.size());
    // Step size: 1 / (upper bound of the curvature of the loss). The bound is half the mean squared norm of
    // the examples (with a constant feature 1 for the bias), plus the curvature of the penalty.
    double length = 1;
    for (const Vector& one : x)
      length += std::inner_product(one.begin(), one.end(), one.begin(), 0.0) / count;
    const double rate = 1 / (0.5 * length + 1 / count);
    for (int step = 0; step < kSteps; ++step) {
      progress.step();
      std::vector<Vector> gradient(weights_.size(), Vector(features_ + 1));
      for (std::size_t i = 0; i < x.size(); ++i) add_gradient(x[i], y[i], count, gradient);
      const double momentum = static_cast<double>(step) / (step + 3.0);
      for (std::size_t k = 0; k < weights_.size(); ++k)
        for (std::size_t f = 0; f <= features_; ++f) {
          const double decay = f < features_ ? weights_[k][f] / count : 0;
          const double before = speed_[k][f];
          speed_[k][f] = weights_[k][f] - rate * (gradient[k][f] + decay);
          weights_[k][f] = speed_[k][f] + momentum * (speed_[k][f] - before);
        }
    }
  }

  double accuracy(const std::vector<Vector>& x, const std::vector<std::size_t>& y) const {
    std::size_t right = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Vector scores = scores_of(x[i]);
      right +=
          static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin()) == y[i];
    }
    return x.empty() ? 0 : static_cast<double>(right) / static_cast<double>(x.size());
  }

 private:
  Vector scores_of(const Vector& x) const {
    Vector scores;
    for (const Vector& row : weights_)
      scores.push_back(std::inner_product(x.begin(), x.end(), row.begin(), row[features_]));
    return scores;
  }
  void add_gradient(const Vector& x, std::size_t y, double count, std::vector<Vector>& gradient) const {
    Vector p = scores_of(x);
    const double most = *std::max_element(p.begin(), p.end());
    double sum = 0;
    for (double& one : p) sum += one = std::exp(one - most);
    for (std::size_t k = 0; k < p.size(); ++k) {
      const double error = (p[k] / sum - (k == y ? 1 : 0)) / count;
      for (std::size_t f = 0; f < features_; ++f) gradient[k][f] += error * x[f];
      gradient[k][features_] += error;
    }
  }

  std::size_t features_;
  // One vector per label: the weights of the features, then the bias. speed_ contains the weights of the last
  // gradient step before the momentum was added.
  std::vector<Vector> weights_, speed_;
};

// Standardise each feature with its mean and standard deviation on the training examples `fitted`. A constant
// feature becomes 0.
void standardise(std::vector<Vector>& fitted, std::vector<Vector>& held_out) {
  const std::size_t features = fitted[0].size();
  const auto count = static_cast<double>(fitted.size());
  for (std::size_t f = 0; f < features; ++f) {
    double mean = 0, variance = 0;
    for (const Vector& x : fitted) mean += x[f] / count;
    for (const Vector& x : fitted) variance += (x[f] - mean) * (x[f] - mean) / count;
    const double scale = variance > 1e-12 ? 1 / std::sqrt(variance) : 0;
    for (std::vector<Vector>* all : {&fitted, &held_out})
      for (Vector& x : *all) x[f] = (x[f] - mean) * scale;
  }
}

// Return the mean of the rows. Throws numeric if it is not finite; `point` is the probe point of the states.
Vector finite_mean(const Tensor& states, const std::string& point) {
  Vector mean(static_cast<std::size_t>(states.columns()));
  for (std::int64_t row = 0; row < states.rows(); ++row)
    for (std::size_t i = 0; i < mean.size(); ++i)
      mean[i] += static_cast<double>(states.row(row)[i]) / static_cast<double>(states.rows());
  if (!std::ranges::all_of(mean, [](double one) { return std::isfinite(one); }))
    throw Error(ErrorKind::numeric, "the hidden states of the model are not finite")
        .found(point)
        .remedy("Check the weights for values that are not finite");
  return mean;
}

std::vector<std::string> points_of(Network& model, ThreadPool& pool) {
  const std::string side = model.kind() == ModelKind::decoder ? "decoder" : "encoder";
  const ModelPoints points = ModelPoints::of(model, pool);
  std::vector<std::string> names{side + ".embedding"};
  for (std::int64_t layer = 0;; ++layer) {
    const std::string name = fmt::format("{}.{}.residual", side, layer);
    if (points.features.count(name) == 0) return names;
    names.push_back(name);
  }
}

}  // namespace

LinearProbeResult probe_layers(Network& model, ThreadPool& pool, const std::vector<LabeledInput>& inputs,
                               std::uint64_t seed, const std::function<bool(double share)>& progress,
                               const EditedPass* edits) {
  std::map<std::string, std::size_t> labels;
  for (const LabeledInput& one : inputs) labels.emplace(one.label, labels.size());
  if (inputs.size() < 10 || labels.size() < 2)
    throw usage_error(fmt::format("too few {}s or labels for the view probe", input_name(model)))
        .found(fmt::format("{} {}s and {} different labels", inputs.size(), input_name(model), labels.size()))
        .expected(fmt::format("at least 10 {}s and 2 different labels", input_name(model)));
  const std::vector<std::string> points = points_of(model, pool);
  ProbeProgress done(progress, inputs.size(), points.size());
  std::vector<std::vector<Vector>> fitted(points.size()), held_out(points.size());
  std::vector<std::size_t> fitted_labels, held_out_labels;
  RandomStream stream({seed, 0, place_of("probe layers")});
  std::vector<std::size_t> order(inputs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[stream.next_below(i)]);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const PassInput input = inputs[order[i]].read();
    PointCapture capture;
    for (const std::string& point : points) capture.want(point);
    done.pass();
    run_pass(model, pool, input, edits, capture);
    const bool held = i % 5 == 4;
    for (std::size_t p = 0; p < points.size(); ++p)
      (held ? held_out : fitted)[p].push_back(finite_mean(capture.at(points[p]), points[p]));
    (held ? held_out_labels : fitted_labels).push_back(labels.at(inputs[order[i]].label));
  }
  LinearProbeResult result;
  result.labels = std::ssize(labels);
  result.fitted = std::ssize(fitted_labels), result.held_out = std::ssize(held_out_labels);
  std::vector<std::int64_t> counts(labels.size());
  for (const std::size_t label : fitted_labels) ++counts[label];
  const auto frequent =
      static_cast<std::size_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
  result.majority =
      static_cast<double>(std::count(held_out_labels.begin(), held_out_labels.end(), frequent)) /
      static_cast<double>(held_out_labels.size());
  for (std::size_t p = 0; p < points.size(); ++p) {
    standardise(fitted[p], held_out[p]);
    Regression regression(labels.size(), fitted[p][0].size());
    regression.fit(fitted[p], fitted_labels, done);
    result.layers.push_back({p == 0 ? "embedding" : std::to_string(p - 1),
                             regression.accuracy(held_out[p], held_out_labels),
                             regression.accuracy(fitted[p], fitted_labels)});
  }
  return result;
}

StudyTable table_of(const LinearProbeResult& result, const char* input) {
  StudyTable table;
  table.study = "probe";
  table.title =
      fmt::format("Linear classifier of the {} labels from the mean of each layer's states", result.labels);
  table.columns = {"layer", "accuracy", "train accuracy"};
  for (const LayerAccuracy& one : result.layers) table.rows.push_back({one.layer, one.held_out, one.train});
  table.notes = {fmt::format("{} {}s to fit, {} held out; accuracy of the most frequent label: {:.3f}.",
                             result.fitted, input, result.held_out, result.majority)};
  return table;
}

}  // namespace regard::inspect
