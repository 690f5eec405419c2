// Probing of the image encoder of CLIP and SigLIP: the states equal the output of `regard run`. The
// accuracies equal the accuracies of a classifier that this test trains.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "inspect/linear_probe.h"
#include "inspect/run_tensors.h"
#include "models/dual_encoder.h"
#include "models/weights.h"
#include "support/hf_folder.h"
#include "support/namespaces.h"
#include "support/shared_data.h"

namespace regard::testing {
namespace {

using Rows = std::vector<std::vector<double>>;

constexpr std::size_t kInputs = 50, kLabels = 2;

// Softmax regression with an L2 penalty of 1 / inputs, by plain gradient descent.
class Reference {
 public:
  Reference(const Rows& x, const std::vector<std::size_t>& y)
      : weights_(kLabels, std::vector<double>(x[0].size() + 1)) {
    const double count = static_cast<double>(x.size());
    for (int step = 0; step < 5000; ++step) {
      Rows slope(kLabels, std::vector<double>(x[0].size() + 1));
      for (std::size_t i = 0; i < x.size(); ++i) {
        const std::vector<double> p = probabilities(x[i]);
        for (std::size_t k = 0; k < kLabels; ++k) {
          const double error = (p[k] - (k == y[i] ? 1 : 0)) / count;
          for (std::size_t f = 0; f < x[i].size(); ++f) slope[k][f] += error * x[i][f];
          slope[k].back() += error;
        }
      }
      for (std::size_t k = 0; k < kLabels; ++k)
        for (std::size_t f = 0; f < slope[k].size(); ++f)
          weights_[k][f] -= 0.05 * (slope[k][f] + (f + 1 < slope[k].size() ? weights_[k][f] / count : 0));
    }
  }

  double accuracy(const Rows& x, const std::vector<std::size_t>& y) const {
    double right = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::vector<double> p = probabilities(x[i]);
      right += (p[1] > p[0] ? 1u : 0u) == y[i] ? 1 : 0;
    }
    return right / static_cast<double>(x.size());
  }

 private:
  std::vector<double> probabilities(const std::vector<double>& x) const {
    std::vector<double> p;
    for (const std::vector<double>& row : weights_)
      p.push_back(std::exp(std::inner_product(x.begin(), x.end(), row.begin(), row.back())));
    const double sum = p[0] + p[1];
    for (double& one : p) one /= sum;
    return p;
  }

  Rows weights_;
};

void standardise(Rows& fitted, Rows& held) {
  for (std::size_t f = 0; f < fitted[0].size(); ++f) {
    double mean = 0, variance = 0;
    for (const auto& x : fitted) mean += x[f] / static_cast<double>(fitted.size());
    for (const auto& x : fitted)
      variance += (x[f] - mean) * (x[f] - mean) / static_cast<double>(fitted.size());
    for (Rows* rows : {&fitted, &held})
      for (auto& x : *rows) x[f] = (x[f] - mean) / std::sqrt(variance);
  }
}

class ImageEncoderProbe : public ::testing::TestWithParam<std::string> {
 protected:
  ImageEncoderProbe() {
    RandomStream stream({4, 0, place_of("images")});
    for (std::size_t i = 0; i < kInputs; ++i) {
      ModelInput image = vision().input_spec().blank();
      labels_.push_back(i % 2);
      for (std::int64_t e = 0; e < image.values.elements(); ++e)
        image.values.f32()[e] = static_cast<float>(stream.next_below(1000)) / 500.0f - 1.0f +
                                (i % 2 == 0 && e % 7 == 0 ? 0.15f : 0.0f);
      images_.push_back(image);
      inputs_.push_back({i % 2 == 0 ? "yes" : "no", [image] {
                           inspect::PassInput input;
                           input.source = image;
                           return input;
                         }});
    }
  }

  Network& vision() { return dual_encoder_of(*model_)->vision(); }

  // Return one row per layer: the mean over positions of the hidden states that `regard run` returns for
  // `image`.
  Rows means_of(const ModelInput& image) {
    const inspect::TensorMap inputs{{"pixel_values", image.values.reshape(vision().input_spec().shape)}};
    const inspect::TensorMap found =
        inspect::run_tensors(*model_, pool_, inputs, {.capture = {"vision_model_output.hidden_states"}});
    Rows means;
    for (int layer = 0;; ++layer) {
      const auto state = found.find("vision_model_output.hidden_states." + std::to_string(layer));
      if (state == found.end()) return means;
      const std::int64_t tokens = state->second.shape()[1], size = state->second.shape()[2];
      std::vector<double>& mean = means.emplace_back(static_cast<std::size_t>(size));
      for (std::int64_t i = 0; i < tokens * size; ++i)
        mean[static_cast<std::size_t>(i % size)] += state->second.f32()[i] / static_cast<double>(tokens);
    }
  }

  std::unique_ptr<Network> model_ = load_model(formats::ModelFolder::open(golden("hf-more/" + GetParam())));
  ThreadPool pool_{2};
  std::vector<ModelInput> images_;
  std::vector<std::size_t> labels_;
  std::vector<inspect::LabeledInput> inputs_;
};

TEST_P(ImageEncoderProbe, HasTheAccuraciesOfAClassifierOfTheStatesThatRunReturns) {
  const inspect::LinearProbeResult found = inspect::probe_layers(vision(), pool_, inputs_, 3);
  // the order in which probe_layers() divides the inputs
  RandomStream stream({3, 0, place_of("probe layers")});
  std::vector<std::size_t> order(kInputs);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[stream.next_below(i)]);
  std::vector<Rows> fitted, held;
  std::vector<std::size_t> fitted_labels, held_labels;
  for (std::size_t i = 0; i < kInputs; ++i) {
    const Rows means = means_of(images_[order[i]]);
    fitted.resize(means.size()), held.resize(means.size());
    for (std::size_t layer = 0; layer < means.size(); ++layer)
      (i % 5 == 4 ? held : fitted)[layer].push_back(means[layer]);
    (i % 5 == 4 ? held_labels : fitted_labels).push_back(labels_[order[i]]);
  }
  ASSERT_EQ(found.layers.size(), fitted.size());
  ASSERT_GE(found.layers.size(), 2u);
  bool wrong = false;  // true if a prediction is wrong; accuracies of 1 everywhere would show little
  for (std::size_t layer = 0; layer < fitted.size(); ++layer) {
    standardise(fitted[layer], held[layer]);
    const Reference reference(fitted[layer], fitted_labels);
    // the two optimisers may disagree about one input at the boundary
    EXPECT_NEAR(found.layers[layer].train, reference.accuracy(fitted[layer], fitted_labels), 1.01 / 40)
        << layer;
    EXPECT_NEAR(found.layers[layer].held_out, reference.accuracy(held[layer], held_labels), 1.01 / 10)
        << layer;
    wrong = wrong || found.layers[layer].train < 1;
  }
  EXPECT_TRUE(wrong);
}

INSTANTIATE_TEST_SUITE_P(HfMore, ImageEncoderProbe, ::testing::Values("clip", "siglip"),
                         [](const auto& about) { return about.param; });

}  // namespace
}  // namespace regard::testing
