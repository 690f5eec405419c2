// Learner: keeps its arguments alive, rejects invalid ones, and computes each gradient once.
#include "regard/autograd.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <utility>
#include <vector>

#include "regard/math.h"
#include "support/namespaces.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Learner, KeepsAConstantThatNobodyElseKeeps) {
  Learner learner;
  const Value x = learner.constant(random_normal({300, 300}, 1, "x"));
  const Tensor other = Tensor::zeros({300, 300});  // would overwrite the memory of `x` if it had been freed
  EXPECT_TRUE(equal_bits(learner.value(x), random_normal({300, 300}, 1, "x")));
}

TEST(Learner, RefusesOtherTensorsThanF32) {
  Learner learner;
  const Value x = learner.constant(Tensor::zeros({2, 2}));
  for (const DType dtype : {DType::f64, DType::f16, DType::i32, DType::i8}) {
    const Tensor wrong = Tensor::zeros({2, 2}, dtype);
    EXPECT_REGARD_ERROR(learner.parameter("w", wrong), ErrorKind::usage, name_of(dtype));
    EXPECT_REGARD_ERROR(learner.constant(wrong), ErrorKind::usage, name_of(dtype));
    EXPECT_REGARD_ERROR(learner.squared_error(x, wrong), ErrorKind::usage, name_of(dtype));
  }
  EXPECT_REGARD_ERROR(learner.parameter("w", Tensor()), ErrorKind::usage, "default-constructed");
  EXPECT_REGARD_ERROR(learner.constant(Tensor()), ErrorKind::usage, "default-constructed");
  learner.parameter("w", Tensor::zeros({2, 2}));  // the rejected calls did not register the name
  EXPECT_REGARD_ERROR(learner.parameter("w", Tensor::zeros({2, 2})), ErrorKind::usage,
                      "two parameters have the same name");
}

TEST(Learner, RefusesNullValuesAndShapesThatDoNotFit) {
  Learner learner;
  const Value x = learner.constant(Tensor::zeros({3, 4})), wide = learner.constant(Tensor::zeros({3, 8}));
  const std::vector<std::int32_t> targets{0, 1, 2};
  EXPECT_REGARD_ERROR(learner.embedding(nullptr, targets), ErrorKind::usage, "embedding");
  EXPECT_REGARD_ERROR(learner.linear(nullptr, x), ErrorKind::usage, "linear");
  EXPECT_REGARD_ERROR(learner.linear(x, nullptr), ErrorKind::usage, "linear");
  EXPECT_REGARD_ERROR(learner.linear(x, wide), ErrorKind::usage, "[3, 8]");
  EXPECT_REGARD_ERROR(learner.add(x, nullptr), ErrorKind::usage, "add");
  EXPECT_REGARD_ERROR(learner.scale(nullptr, 1.0f), ErrorKind::usage, "scale");
  EXPECT_REGARD_ERROR(learner.relu(nullptr), ErrorKind::usage, "activation");
  EXPECT_REGARD_ERROR(learner.softmax(nullptr), ErrorKind::usage, "softmax");
  EXPECT_REGARD_ERROR(learner.layer_norm(nullptr), ErrorKind::usage, "norm");
  EXPECT_REGARD_ERROR(learner.layer_norm(x, x), ErrorKind::usage, "gain");
  EXPECT_REGARD_ERROR(learner.attention(nullptr, x, x), ErrorKind::usage, "query");
  EXPECT_REGARD_ERROR(learner.attention(x, nullptr, x), ErrorKind::usage, "key");
  EXPECT_REGARD_ERROR(learner.attention(x, x, nullptr), ErrorKind::usage, "value");
  EXPECT_REGARD_ERROR(learner.attention(x, wide, x), ErrorKind::usage, "[3, 8]");
  EXPECT_REGARD_ERROR(learner.attention(x, x, x, false, 3), ErrorKind::usage, "heads");
  EXPECT_REGARD_ERROR(learner.attention(x, x, x, false, -1), ErrorKind::usage, "heads");
  EXPECT_REGARD_ERROR(learner.cross_entropy(nullptr, targets), ErrorKind::usage, "cross_entropy");
  EXPECT_REGARD_ERROR(learner.cross_entropy(x, {}), ErrorKind::usage, "expected at least one target");
  EXPECT_REGARD_ERROR(learner.cross_entropy(x, std::vector<std::int32_t>{0, 4, 0}), ErrorKind::invalid_input,
                      "id 4");
  EXPECT_REGARD_ERROR(learner.squared_error(nullptr, Tensor::zeros({1})), ErrorKind::usage, "add");
  EXPECT_REGARD_ERROR(learner.squared_error(x, Tensor::zeros({0, 4})), ErrorKind::usage,
                      "expected at least one target");
  EXPECT_REGARD_ERROR(learner.value(nullptr), ErrorKind::usage, "null");
  EXPECT_REGARD_ERROR(learner.gradient(nullptr), ErrorKind::usage, "null");
  EXPECT_REGARD_ERROR(learner.backward(nullptr), ErrorKind::usage, "null");
  EXPECT_REGARD_ERROR(learner.backward(x), ErrorKind::usage, "scalar");
  EXPECT_REGARD_ERROR(learner.step(nullptr, 1.0f), ErrorKind::usage, "null");
}

// PyTorch: torch.nn.functional.cross_entropy(logits, targets, ignore_index=-100), the mean over the rows
// whose target is not −100.
TEST(Learner, CrossEntropyIsTheMeanOverCountedRows) {
  const Tensor logits = random_normal({4, 3}, 1, "logits");
  const auto loss_of = [&](const Tensor& of, const std::vector<std::int32_t>& targets, Tensor* gradient) {
    Learner learner;
    const Value x = learner.parameter("logits", of);
    const Value loss = learner.cross_entropy(x, targets);
    learner.backward(loss);
    if (gradient != nullptr) *gradient = learner.gradient(x).clone();
    return learner.value(loss).f32()[0];
  };
  Tensor with, without;
  const float loss = loss_of(logits, {2, -100, 1, -100}, &with);
  Tensor counted = Tensor::empty({2, 3});
  std::copy_n(logits.row(0), 3, counted.row(0)), std::copy_n(logits.row(2), 3, counted.row(1));
  EXPECT_FLOAT_EQ(loss, loss_of(counted, {2, 1}, &without));
  EXPECT_TRUE(equal_bits(with.slice_rows(0, 1), without.slice_rows(0, 1)));
  EXPECT_TRUE(equal_bits(with.slice_rows(2, 3), without.slice_rows(1, 2)));
  EXPECT_TRUE(equal_bits(with.slice_rows(1, 2), Tensor::zeros({1, 3})));
  EXPECT_TRUE(std::isnan(loss_of(logits, {-100, -100, -100, -100}, nullptr)));
}

TEST(Learner, StepAfterBackwardUsesItsGradients) {
  const Tensor x = random_normal({3, 2}, 1, "x"), target = random_normal({3, 2}, 1, "target");
  const auto stepped = [&](bool looks_first) {
    Learner learner;
    const Value w = learner.parameter("w", random_normal({2, 2}, 1, "w"));
    learner.begin();
    const Value loss = learner.squared_error(learner.linear(learner.constant(x), w), target);
    if (looks_first) learner.backward(loss);
    learner.step(loss, 0.1f);
    return learner.value(w).clone();
  };
  EXPECT_FALSE(equal_bits(stepped(true), random_normal({2, 2}, 1, "w"))) << "the step must move the weights";
  EXPECT_TRUE(equal_bits(stepped(true), stepped(false)));

  Learner learner;
  const Value w = learner.parameter("w", x);
  const Value loss = learner.squared_error(w, target), other = learner.squared_error(w, x);
  learner.backward(loss);
  EXPECT_REGARD_ERROR(learner.backward(loss), ErrorKind::usage, "backward() was called twice since begin()");
  EXPECT_REGARD_ERROR(learner.step(other, 0.1f), ErrorKind::usage, "begin()");
}

// Return the bytes of address space that the process uses.
std::size_t address_space_in_use() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// If backward() fails halfway, some parameters have a gradient and others not. No step may use them.
TEST(Learner, AFailedBackwardLeavesNoGradients) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers reserve address space";
#endif
  Learner learner;
  const Tensor initial = random_normal({1, 64}, 2, "last");
  const Value first = learner.parameter("first", random_normal({64, 64}, 1, "first"));
  const Value last = learner.parameter("last", initial);
  const auto loss_of = [&](int layers) {
    Value x = learner.linear(learner.constant(random_normal({65536, 64}, 1, "x")), first);
    for (int i = 0; i < layers; ++i) x = learner.relu(x);
    return learner.squared_error(learner.linear(x, last), Tensor::zeros({65536, 1}));
  };
  Value loss = loss_of(8);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  rlimit few = before;
  few.rlim_cur = address_space_in_use() + (std::size_t{1} << 20);
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &few), 0);
  EXPECT_ANY_THROW(learner.backward(loss));
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_TRUE(equal_bits(learner.gradient(last), Tensor::zeros({1, 64})));
  EXPECT_REGARD_ERROR(learner.step(loss, 0.1f), ErrorKind::usage, "has failed since begin()");
  EXPECT_TRUE(equal_bits(learner.value(last), initial));
  learner.begin();
  EXPECT_NO_THROW(learner.step(loss_of(1), 0.1f));
}

TEST(Learner, RefusesALearningRateThatIsNone) {
  Learner learner;
  const Tensor initial = random_normal({2, 2}, 1, "w");
  const Value w = learner.parameter("w", initial);
  const Value loss = learner.squared_error(w, Tensor::zeros({2, 2}));
  for (const float rate : {kNan, -0.1f, std::numeric_limits<float>::infinity()})
    EXPECT_REGARD_ERROR(learner.step(loss, rate), ErrorKind::usage, "learning rate");
  EXPECT_TRUE(equal_bits(learner.value(w), initial));
}

TEST(Learner, MovedFromSaysSo) {
  Learner learner;
  const Value w = learner.parameter("w", Tensor::zeros({2, 2}));
  Learner other = std::move(learner);
  EXPECT_EQ(other.value(w).elements(), 4);
  const Tensor matrix = Tensor::zeros({2, 2});
  const std::vector<std::int32_t> ids{0, 1};
  EXPECT_REGARD_ERROR(learner.begin(), ErrorKind::usage, "this Learner was moved from");
  EXPECT_REGARD_ERROR(learner.parameter("w", matrix), ErrorKind::usage, "this Learner was moved from");
  EXPECT_REGARD_ERROR(learner.constant(matrix), ErrorKind::usage, "this Learner was moved from");
  EXPECT_REGARD_ERROR(learner.embedding(w, ids), ErrorKind::usage, "this Learner was moved from");
  EXPECT_REGARD_ERROR(learner.linear(w, w), ErrorKind::usage, "this Learner was moved from");
  EXPECT_REGARD_ERROR(learner.add(w, w), ErrorKind::usage, "this Learner was moved from");
  EXPECT_REGARD_ERROR(learner.scale(w, 1.0f), ErrorKind::usage, "this Learner was moved from");
  EXPECT_REGARD_ERROR(learner.relu(w), ErrorKind::usage, "this Learner was moved from");
  EXPECT_REGARD_ERROR(learner.softmax(w), ErrorKind::usage, "this Learner was moved from");
  EXPECT_REGARD_ERROR(learner.layer_norm(w), ErrorKind::usage, "this Learner was moved from");
  EXPECT_REGARD_ERROR(learner.attention(w, w, w), ErrorKind::usage, "this Learner was moved from");
  EXPECT_REGARD_ERROR(learner.cross_entropy(w, ids), ErrorKind::usage, "this Learner was moved from");
  EXPECT_REGARD_ERROR(learner.squared_error(w, matrix), ErrorKind::usage, "this Learner was moved from");
  EXPECT_REGARD_ERROR(learner.value(w), ErrorKind::usage, "this Learner was moved from");
  EXPECT_REGARD_ERROR(learner.backward(w), ErrorKind::usage, "this Learner was moved from");
  EXPECT_REGARD_ERROR(learner.step(w, 0.1f), ErrorKind::usage, "this Learner was moved from");
  learner = Learner();
  learner.begin();
}

}  // namespace
}  // namespace regard::testing
