// AdamW and gradient clipping compared with PyTorch; gradient sums in a fixed tree order.
#include "train/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>

#include "base/random.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "train/gradient_sum.h"

namespace regard::train {
namespace {

std::unique_ptr<Parameter> parameter_of(const std::string& name, const Tensor& value) {
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

// The default equals torch.optim.AdamW with the usual two groups: weight decay for matrices, none for
// vectors.
TEST(AdamW, MatricesDecayAsTorchWithTwoGroups) {
  const auto file = formats::SafetensorsFile::open(testing::golden("optim-adamw/golden.safetensors"));
  ThreadPool pool(2);
  std::vector<std::unique_ptr<Parameter>> owned;
  std::vector<Parameter*> parameters;
  for (const char* name : {"w1", "w2", "emb", "conv", "b1", "scale"}) {
    owned.push_back(parameter_of(name, file->tensor(std::string("param.") + name + ".0")));
    parameters.push_back(owned.back().get());
  }
  AdamW optimizer(parameters, {.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.01});
  for (int step = 1; step <= 20; ++step) {
    for (Parameter* parameter : parameters)
      set_gradient(*parameter, file->tensor("grad." + parameter->name + "." + std::to_string(step)));
    optimizer.step(pool, 0.01, 1.0);
    for (const Parameter* parameter : parameters) {
      const Tensor expected = file->tensor("param." + parameter->name + "." + std::to_string(step));
      const double tolerance = 2e-5 * std::max(1e-3, largest(expected));
      for (std::int64_t i = 0; i < expected.elements(); ++i)
        ASSERT_NEAR(parameter->value().f32()[i], expected.f32()[i], tolerance)
            << parameter->name << " step " << step;
    }
  }
}

// A restored optimiser continues with the same bits.
TEST(AdamW, RestoredStateContinues) {
  ThreadPool pool(1);
  const Tensor start = Tensor::of(Shape{2, 2}, {1, 2, 3, 4});
  const auto a = parameter_of("w", start), b = parameter_of("w", start);
  AdamW first({a.get()}, {}), second({b.get()}, {});
  set_gradient(*a, Tensor::of(Shape{2, 2}, {0.5f, -1, 2, 0.25f}));
  first.step(pool, 0.1, 1.0);
  const testing::TemporaryFolder folder;
  formats::write_safetensors(folder / "o.safetensors", first.state());
  second.restore(*formats::SafetensorsFile::open(folder / "o.safetensors"), 1);
  std::memcpy(b->value().data(), a->value().data(), start.bytes());
  for (const auto& [parameter, optimizer] : {std::pair{a.get(), &first}, std::pair{b.get(), &second}}) {
    set_gradient(*parameter, Tensor::of(Shape{2, 2}, {1, 1, -1, 3}));
    optimizer->step(pool, 0.1, 1.0);
  }
  EXPECT_EQ(std::memcmp(a->value().data(), b->value().data(), start.bytes()), 0);

  const auto other = parameter_of("w", Tensor::of({1, 2}));
  AdamW wrong({other.get()}, {});
  EXPECT_REGARD_ERROR(wrong.restore(*formats::SafetensorsFile::open(folder / "o.safetensors"), 1),
                      ErrorKind::bad_file, "does not fit the model");
}

TEST(Clipping, FactorsAreTorchs) {
  const auto file = formats::SafetensorsFile::open(testing::golden("training-pieces/golden.safetensors"));
  ThreadPool pool(2);
  const double max_norms[] = {1.0, 1.0, 0.5};
  for (int c = 0; c < 3; ++c) {
    const std::string prefix = "clip." + std::to_string(c) + ".";
    std::vector<std::unique_ptr<Parameter>> owned;
    std::vector<Parameter*> parameters;
    for (int i = 0; i < 3; ++i) {
      const Tensor gradient = file->tensor(prefix + "grad." + std::to_string(i));
      owned.push_back(parameter_of("p", gradient));
      set_gradient(*owned.back(), gradient);
      parameters.push_back(owned.back().get());
    }
    const double norm = gradient_norm(pool, parameters);
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

// Reference implementation of the sum ((0+1)+(2+3))+… in f32.
float tree_sum(const std::vector<float>& leaves) {
  std::vector<float> level = leaves;
  while (level.size() > 1) {
    std::vector<float> next;
    for (std::size_t i = 0; i + 1 < level.size(); i += 2) next.push_back(level[i] + level[i + 1]);
    if (level.size() % 2 == 1) next.push_back(level.back());
    level = next;
  }
  return level[0];
}

TEST(GradientSum, IsTheTreeOverTheLeavesIndex) {
  ThreadPool pool(2);
  for (std::size_t leaves = 2; leaves <= 9; ++leaves) {
    const auto parameter = parameter_of("w", Tensor::zeros({67}));
    Parameter* parameters[] = {parameter.get()};
    GradientSum sum(parameters, static_cast<std::int64_t>(leaves));
    for (int round = 0; round < 2; ++round) {  // the second round starts from zero
      RandomStream random({7, leaves, 0});
      std::vector<std::vector<float>> drawn(67);
      for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
        for (std::size_t i = 0; i < 67; ++i) {
          drawn[i].push_back(static_cast<float>(random.next_normal()));
          parameter->gradient().f32()[i] = drawn[i].back();
        }
        sum.add(pool);
      }
      sum.finish(pool);
      for (std::size_t i = 0; i < 67; ++i)
        ASSERT_EQ(parameter->gradient().f32()[i], tree_sum(drawn[i])) << leaves;
    }
  }
}

// A frozen parameter has no gradient to add, regardless of its position among the parameters.
TEST(GradientSum, LeavesOutWhatIsNotTrained) {
  ThreadPool pool(1);
  const auto first = parameter_of("frozen", Tensor::zeros({3})),
             second = parameter_of("w", Tensor::zeros({5})), third = parameter_of("v", Tensor::zeros({2}));
  first->set_trainable(false);
  Parameter* parameters[] = {first.get(), second.get(), third.get()};
  GradientSum sum(parameters, 3);
  for (const float leaf : {1.0f, 2.0f, 4.0f}) {
    for (Parameter* parameter : {second.get(), third.get()})
      for (std::int64_t i = 0; i < parameter->gradient().elements(); ++i)
        parameter->gradient().f32()[i] = leaf;
    sum.add(pool);
    EXPECT_EQ(second->gradient().f32()[0], 0.0f) << "cleared for the next leaf";
  }
  sum.finish(pool);
  for (Parameter* parameter : {second.get(), third.get()})
    for (std::int64_t i = 0; i < parameter->gradient().elements(); ++i)
      EXPECT_EQ(parameter->gradient().f32()[i], 7.0f);
  EXPECT_FALSE(first->gradient().defined());
}

}  // namespace
}  // namespace regard::train
