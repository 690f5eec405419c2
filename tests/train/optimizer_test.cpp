// Optimisers and gradient clipping compared with PyTorch and transformers; gradient sums in a fixed tree
// order.
#include "train/optimizers/optimizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "base/random.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "train/gradient_clip.h"

namespace regard::train {
namespace {

std::unique_ptr<Parameter> optimised_parameter(const std::string& name, const Tensor& value) {
  auto parameter = std::make_unique<Parameter>();
  parameter->name = name;
  parameter->variable.value = value.clone();
  parameter->set_trainable(true);
  return parameter;
}

void set_gradient(Parameter& parameter, const Tensor& gradient) {
  std::memcpy(parameter.gradient().data(), gradient.data(), gradient.bytes());
}

double largest(const Tensor& tensor) {
  double most = 0;
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    most = std::max(most, std::fabs(double{tensor.f32()[i]}));
  return most;
}

// An optimiser with the settings of its golden file.
struct GoldenCase {
  const char* golden;
  double learning_rate;
  OptimizerOptions options;
  std::vector<std::pair<const char*, const char*>> state{};  // name of a state here and in PyTorch
};

const std::vector<GoldenCase>& golden_cases() {
  static const std::vector<GoldenCase> cases = [] {
    std::vector<GoldenCase> all;
    all.reserve(16);  // prevents reallocation, so references to elements stay valid
    const auto add = [&all](const char* golden, double learning_rate, const char* method) -> GoldenCase& {
      all.push_back({.golden = golden, .learning_rate = learning_rate, .options = {}});
      all.back().options.method = method;
      all.back().options.decay_all = true;
      return all.back();
    };
    GoldenCase& adamw = add("optim-adamw", 0.01, "adamw");
    adamw.options.weight_decay = 0.01;
    adamw.options.decay_all = false;  // as in the golden file: weight decay for matrices, none for vectors
    adamw.state = {{"first", "exp_avg"}, {"second", "exp_avg_sq"}};
    GoldenCase& adam = add("optim-adam", 0.005, "adam");
    adam.options.beta2 = 0.98, adam.options.epsilon = 1e-9;
    adam.state = adamw.state;
    GoldenCase& sgd = add("optim-sgd", 0.05, "sgd");
    sgd.options.momentum = 0.9, sgd.options.nesterov = true, sgd.options.weight_decay = 0.001;
    sgd.state = {{"momentum", "momentum_buffer"}};
    GoldenCase& relative = add("optim-adafactor-transformers", 0.0, "adafactor");
    relative.options.adafactor.relative_step = relative.options.adafactor.scale_parameter = true;
    relative.state = {{"row", "exp_avg_sq_row"}, {"column", "exp_avg_sq_col"}, {"square", "exp_avg_sq"}};
    GoldenCase& fixed = add("optim-adafactor-transformers-fixed", 0.003, "adafactor");
    fixed.options.adafactor.first_moment = 0.9, fixed.options.weight_decay = 0.01;
    fixed.state = relative.state;
    fixed.state.push_back({"first", "exp_avg"});
    add("optim-adafactor-torch", 0.01, "adafactor-torch").state = {
        {"row", "row_var"}, {"column", "col_var"}, {"square", "variance"}};
    GoldenCase& muon = add("optim-muon", 0.02, "muon");
    muon.options.weight_decay = 0.1;
    muon.state = {{"momentum", "momentum_buffer"}};
    GoldenCase& rmsprop = add("optim-rmsprop", 0.003, "rmsprop");
    rmsprop.options.smoothing = 0.9, rmsprop.options.momentum = 0.5;
    rmsprop.state = {{"square", "square_avg"}, {"momentum", "momentum_buffer"}};
    GoldenCase& adagrad = add("optim-adagrad", 0.05, "adagrad");
    adagrad.options.rate_decay = 0.01, adagrad.options.epsilon = 1e-10;
    adagrad.state = {{"sum", "sum"}};
    return all;
  }();
  return cases;
}

void expect_near(const Tensor& got, const Tensor& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(got.elements(), expected.elements()) << what;
  for (std::int64_t i = 0; i < expected.elements(); ++i)
    ASSERT_NEAR(got.f32()[i], expected.f32()[i], tolerance) << what << ", element " << i;
}

class Golden : public ::testing::TestWithParam<GoldenCase> {};

// Compare all weights after each of twenty steps, and the state at the end.
TEST_P(Golden, FollowsTheReferenceForTwentySteps) {
  const GoldenCase& golden = GetParam();
  const auto file =
      formats::SafetensorsFile::open(testing::golden(std::string(golden.golden) + "/golden.safetensors"));
  const bool muon = golden.options.method == "muon";
  // PyTorch computes Muon's iteration in bfloat16. "param_exact" in the golden file is the same rule in
  // float64.
  const std::string expected_name = muon ? "param_exact." : "param.";
  ThreadPool pool(2);
  std::vector<std::unique_ptr<Parameter>> owned;
  std::vector<Parameter*> parameters;
  for (const char* name : {"layers.0.w1", "layers.0.w2", "layers.0.emb", "conv", "b1", "scale"}) {
    const std::string short_name = std::string(name).substr(std::string(name).rfind('.') + 1);
    if (file->find("param." + short_name + ".0") == nullptr) continue;
    owned.push_back(optimised_parameter(name, file->tensor("param." + short_name + ".0")));
    owned.back()->use = Parameter::Use::linear;
    parameters.push_back(owned.back().get());
  }
  ASSERT_EQ(parameters.size(), muon ? 3 : 6);
  const auto short_name = [](const Parameter& parameter) {
    return parameter.name.substr(parameter.name.rfind('.') + 1);
  };
  const auto optimizer = make_optimizer(parameters, golden.options);
  for (int step = 1; step <= 20; ++step) {
    const std::string t = "." + std::to_string(step);
    for (Parameter* parameter : parameters)
      set_gradient(*parameter, file->tensor("grad." + short_name(*parameter) + t));
    optimizer->step(pool, golden.learning_rate, 1.0);
    for (const Parameter* parameter : parameters) {
      const Tensor expected = file->tensor(expected_name + short_name(*parameter) + t).to(DType::f32);
      expect_near(parameter->value(), expected, 2e-5 * std::max(1e-3, largest(expected)),
                  parameter->name + t);
    }
  }
  std::size_t compared = 0;
  for (const formats::NamedTensor& state : optimizer->state()) {
    const std::string kind = state.name.substr(0, state.name.find('.'));
    for (const auto& [ours, torchs] : golden.state) {
      if (kind != ours) continue;
      const Tensor expected =
          file->tensor("state." + state.name.substr(state.name.rfind('.') + 1) + "." + torchs);
      expect_near(state.tensor, expected, 2e-6 * largest(expected), state.name);
      ++compared;
    }
  }
  EXPECT_EQ(compared, optimizer->state().size()) << "every state tensor has a golden";
}

INSTANTIATE_TEST_SUITE_P(Optimizer, Golden, ::testing::ValuesIn(golden_cases()), [](const auto& test) {
  std::string name = test.param.golden;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// Weights of several sizes, so that the work is divided among threads, with random gradients.
class DrawnWeights {
 public:
  DrawnWeights() {
    add("embedding", {301, 24}, Parameter::Use::table);
    add("layers.0.query", {70, 130}, Parameter::Use::linear);
    add("layers.1.query", {130, 70}, Parameter::Use::linear);
    add("bias", {20001}, Parameter::Use::other);
  }
  const std::vector<Parameter*>& all() const { return parameters_; }

  void step(Optimizer& optimizer, ThreadPool& pool, std::uint64_t number) {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      RandomStream random({9, number, static_cast<std::uint32_t>(i)});
      const Tensor& gradient = parameters_[i]->gradient();
      for (std::int64_t j = 0; j < gradient.elements(); ++j)
        gradient.f32()[j] = static_cast<float>(random.next_normal());
    }
    optimizer.step(pool, 0.01, 0.5);
  }
  std::vector<float> values() const {
    std::vector<float> values;
    for (const Parameter* parameter : parameters_)
      values.insert(values.end(), parameter->value().f32(),
                    parameter->value().f32() + parameter->value().elements());
    return values;
  }
  void take(const DrawnWeights& other) {
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      std::memcpy(parameters_[i]->value().data(), other.parameters_[i]->value().data(),
                  parameters_[i]->value().bytes());
  }

 private:
  void add(const char* name, Shape shape, Parameter::Use use) {
    Tensor value = Tensor::zeros(shape);
    RandomStream random({8, owned_.size(), 0});
    for (std::int64_t i = 0; i < value.elements(); ++i)
      value.f32()[i] = static_cast<float>(random.next_normal());
    owned_.push_back(optimised_parameter(name, value));
    owned_.back()->use = use;
    parameters_.push_back(owned_.back().get());
  }

  std::vector<std::unique_ptr<Parameter>> owned_;
  std::vector<Parameter*> parameters_;
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class Method : public ::testing::TestWithParam<std::string> {
 protected:
  OptimizerOptions options() const {
    OptimizerOptions options;
    options.method = GetParam();
    options.weight_decay = 0.01;
    options.momentum = 0.9;
    options.adafactor.first_moment = 0.9;
    return options;
  }
};

TEST_P(Method, TheSameBitsForAnyThreads) {
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 3}) {
    ThreadPool pool(threads);
    DrawnWeights weights;
    const auto optimizer = make_optimizer(weights.all(), options());
    for (std::uint64_t step = 0; step < 3; ++step) weights.step(*optimizer, pool, step);
    results.push_back(weights.values());
  }
  EXPECT_TRUE(same_bits(results[0], results[1]));
  EXPECT_TRUE(same_bits(results[0], results[2]));
  EXPECT_FALSE(same_bits(results[0], DrawnWeights().values()));
}

// A restored optimiser continues with the same bits.
TEST_P(Method, RestoredStateContinues) {
  ThreadPool pool(2);
  DrawnWeights a, b;
  const auto first = make_optimizer(a.all(), options()), second = make_optimizer(b.all(), options());
  for (std::uint64_t step = 0; step < 2; ++step) a.step(*first, pool, step);
  const testing::TemporaryFolder folder;
  formats::write_safetensors(folder / "o.safetensors", first->state());
  second->restore(*formats::SafetensorsFile::open(folder / "o.safetensors"), first->steps());
  b.take(a);
  for (std::uint64_t step = 2; step < 4; ++step) {
    a.step(*first, pool, step);
    b.step(*second, pool, step);
  }
  EXPECT_TRUE(same_bits(a.values(), b.values()));

  const auto other = optimised_parameter("bias", Tensor::of({1, 2}));
  Parameter* parameters[] = {other.get()};
  EXPECT_REGARD_ERROR(make_optimizer(parameters, options())
                          ->restore(*formats::SafetensorsFile::open(folder / "o.safetensors"), 2),
                      ErrorKind::bad_file, "does not match the model");
}

// Weights whose gradients are 0 stay finite, even if another weight in the same row or column has a gradient.
TEST_P(Method, ZeroGradientsKeepWeightsFinite) {
  ThreadPool pool(1);
  const auto matrix = optimised_parameter("layers.0.w", Tensor::of(Shape{2, 2}, {1, 2, 3, 4}));
  const auto vector = optimised_parameter("b", Tensor::of({1, 2}));
  matrix->use = Parameter::Use::linear;
  Parameter* parameters[] = {matrix.get(), vector.get()};
  const auto optimizer = make_optimizer(parameters, options());
  for (const float gradient : {0.0f, 1.0f}) {
    set_gradient(*matrix, Tensor::of(Shape{2, 2}, {gradient, 0, 0, 0}));
    optimizer->step(pool, 0.1, 1.0);
    for (const Parameter* parameter : parameters)
      for (std::int64_t i = 0; i < parameter->value().elements(); ++i)
        EXPECT_TRUE(std::isfinite(parameter->value().f32()[i])) << parameter->name << " " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Optimizer, Method, ::testing::ValuesIn(optimizer_names()), [](const auto& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(Optimizer, UnknownMethodsAreRefused) {
  OptimizerOptions options;
  options.method = "adamx";
  EXPECT_REGARD_ERROR(make_optimizer({}, options), ErrorKind::usage, "adamx");
}

// Muon updates the matrices of numbered layers; AdamW updates embeddings, heads and vectors.
TEST(Muon, LeavesEmbeddingsAndHeadsToAdamW) {
  const auto query = optimised_parameter("h.0.attn.query.weight", Tensor::zeros(Shape{4, 4}));
  const auto table = optimised_parameter("h.0.bias_table.weight", Tensor::zeros(Shape{4, 4}));
  const auto head = optimised_parameter("lm_head.weight", Tensor::zeros(Shape{4, 4}));
  const auto bias = optimised_parameter("h.0.attn.query.bias", Tensor::zeros({4}));
  query->use = head->use = bias->use = Parameter::Use::linear;
  table->use = Parameter::Use::table;
  Parameter* parameters[] = {query.get(), table.get(), head.get(), bias.get()};
  OptimizerOptions options;
  options.method = "muon";
  std::vector<std::string> names;
  for (const auto& state : make_optimizer(parameters, options)->state()) names.push_back(state.name);
  EXPECT_EQ(names, (std::vector<std::string>{"momentum.h.0.attn.query.weight", "first.h.0.bias_table.weight",
                                             "second.h.0.bias_table.weight", "first.lm_head.weight",
                                             "second.lm_head.weight", "first.h.0.attn.query.bias",
                                             "second.h.0.attn.query.bias"}));
}

// The scale of an update is √max(1, rows / columns), with match_adamw 0.2 √max(rows, columns).
TEST(Muon, ScaleOfAnUpdate) {
  ThreadPool pool(1);
  for (const auto& [shape, ratio] :
       {std::pair(Shape{8, 2}, 0.1 * std::sqrt(8.0)), std::pair(Shape{2, 8}, 0.2 * std::sqrt(8.0))}) {
    std::vector<Tensor> updates;
    for (const bool match : {false, true}) {
      const auto weight = optimised_parameter("h.0.weight", Tensor::zeros(shape));
      weight->use = Parameter::Use::linear;
      Parameter* parameters[] = {weight.get()};
      OptimizerOptions options;
      options.method = "muon";
      options.muon.match_adamw = match;
      Tensor gradient = Tensor::empty(shape);
      for (std::int64_t i = 0; i < gradient.elements(); ++i)
        gradient.f32()[i] = static_cast<float>(i * 7 % 5) - 1.5f;
      set_gradient(*weight, gradient);
      make_optimizer(parameters, options)->step(pool, 0.1, 1.0);
      updates.push_back(weight->value().clone());
    }
    for (std::int64_t i = 0; i < updates[0].elements(); ++i)
      EXPECT_NEAR(updates[1].f32()[i], ratio * double{updates[0].f32()[i]}, 1e-6) << i;
    EXPECT_GT(largest(updates[0]), 0.01);
  }
}

TEST(Clipping, FactorsAreTorchs) {
  const auto file = formats::SafetensorsFile::open(testing::golden("training-pieces/golden.safetensors"));
  ThreadPool pool(2);
  const double max_norms[] = {1.0, 1.0, 0.5, 1.0, 2.0};
  const NormType types[] = {NormType::two, NormType::two, NormType::two, NormType::infinity, NormType::one};
  for (int c = 0; c < 5; ++c) {
    const std::string prefix = "clip." + std::to_string(c) + ".";
    std::vector<std::unique_ptr<Parameter>> owned;
    std::vector<Parameter*> parameters;
    for (int i = 0; i < 3; ++i) {
      const Tensor gradient = file->tensor(prefix + "grad." + std::to_string(i));
      owned.push_back(optimised_parameter("p", gradient));
      set_gradient(*owned.back(), gradient);
      parameters.push_back(owned.back().get());
    }
    const double norm = gradient_norm(pool, parameters, types[c]);
    EXPECT_NEAR(norm, file->tensor(prefix + "total_norm").f32()[0], 2e-6 * std::max(1.0, norm));
    const double factor = clip_factor(norm, max_norms[c]);
    for (int i = 0; i < 3; ++i) {
      const Tensor expected = file->tensor(prefix + "clipped." + std::to_string(i));
      for (std::int64_t j = 0; j < expected.elements(); ++j)
        EXPECT_NEAR(factor * double{parameters[static_cast<std::size_t>(i)]->gradient().f32()[j]},
                    expected.f32()[j], 2e-6 * std::max(1.0, largest(expected)));
    }
  }
  EXPECT_EQ(clip_factor(100.0, 0.0), 1.0);
}

TEST(Clipping, NormsOfGradientsThatAreNotFiniteAreNotFinite) {
  ThreadPool pool(2);
  const auto parameter = optimised_parameter("p", Tensor::zeros({20000}));
  Parameter* parameters[] = {parameter.get()};
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
    for (const std::int64_t at : {0, 9000, 19999})
      for (const NormType type : {NormType::two, NormType::one, NormType::infinity}) {
        parameter->clear_gradient();
        parameter->gradient().f32()[100] = 1.0f;
        parameter->gradient().f32()[at] = bad;
        EXPECT_FALSE(std::isfinite(gradient_norm(pool, parameters, type))) << at;
      }
}

// A large gradient is divided among the threads; each element counts once.
TEST(GradientNorm, CountsEachElementOfALargeGradientOnce) {
  constexpr std::int64_t kElements = 20'000;
  const auto parameter = optimised_parameter("large", Tensor::zeros({kElements}));
  std::fill_n(parameter->gradient().f32(), kElements, -2.0f);
  Parameter* const parameters[] = {parameter.get()};
  ThreadPool pool(2);
  EXPECT_EQ(gradient_norm(pool, parameters, NormType::one), 2.0 * kElements);
  EXPECT_EQ(gradient_norm(pool, parameters, NormType::infinity), 2.0);
  EXPECT_NEAR(gradient_norm(pool, parameters, NormType::two), std::sqrt(4.0 * kElements), 1e-9);
  EXPECT_EQ(clip_factor(4.0, 0.0), 1.0) << "0 means no limit";
  EXPECT_NEAR(clip_factor(4.0, 1.0), 0.25, 1e-6);
  EXPECT_EQ(clip_factor(0.5, 1.0), 1.0);
}

}  // namespace
}  // namespace regard::train
