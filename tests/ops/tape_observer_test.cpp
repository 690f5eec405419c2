// A weight's gradient is final when the first node that uses it has run.
#include "ops/tape_observer.h"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <vector>

#include "ops/checkpoint.h"
#include "ops/linear.h"
#include "support/namespaces.h"

namespace regard::testing {
namespace {

class Observer : public TapeObserver {
 public:
  std::function<void()> between;

 protected:
  void between_operations() override {
    if (between) between();
  }
};

class TapeObserverTest : public ::testing::Test {
 protected:
  TapeObserverTest() {
    for (Parameter* weight : {&early_, &late_, &unused_}) {
      weight->variable.value = Tensor::zeros({4, 4});
      weight->set_trainable(true);
    }
  }
  // Return whether the weights early_, late_ and unused_ are final, in this order.
  std::vector<bool> final_weights(const TapeObserver& observer) const {
    return {observer.is_final(early_), observer.is_final(late_), observer.is_final(unused_)};
  }
  Var input() { return tape_.input(values_, true); }
  Var multiply(Var x, Parameter& weight) { return ops::linear(tape_, x, &weight.variable, nullptr); }

  ThreadPool pool_{1};
  Arena arena_;
  Tape tape_{pool_, arena_};
  Parameter early_, late_, unused_;
  const Tensor values_ = Tensor::zeros({2, 4});
};

using Flags = std::vector<std::vector<bool>>;

TEST_F(TapeObserverTest, AWeightIsFinalAfterTheFirstNodeThatUsesIt) {
  tape_.begin({.record = true});
  Observer observer;
  for (Parameter* weight : {&early_, &late_, &unused_}) observer.track(*weight);
  Var hidden = multiply(input(), early_);
  hidden = multiply(hidden, late_);
  hidden = multiply(hidden, early_);
  EXPECT_EQ(final_weights(observer), (std::vector<bool>{false, false, false}));
  Flags after;
  bool refused = false;
  observer.between = [&] {
    after.push_back(final_weights(observer));
    if (after.size() != 2) return;
    EXPECT_NE(tape_.gradient(&early_.variable).data, nullptr);
    try {
      tape_.gradient(&late_.variable);
    } catch (const std::logic_error&) {
      refused = true;
    }
  };
  tape_.backward(hidden);
  EXPECT_EQ(after, (Flags{{false, false, false}, {false, true, false}, {true, true, false}}));
  EXPECT_TRUE(refused);
}

// The nodes of a checkpointed layer are recorded and run a second time. The weights of the layer are final
// after the second run.
TEST_F(TapeObserverTest, ACheckpointedLayerIsFinalAfterItsSecondComputation) {
  tape_.begin({.record = true, .checkpoint = true});
  Observer observer;
  observer.track(early_);
  observer.track(late_);
  struct Layer {
    Var x;
    Parameter* weight;
    Var operator()(Tape& on) const {
      return ops::linear(on, ops::linear(on, x, &weight->variable, nullptr), &weight->variable, nullptr);
    }
  };
  Var hidden = ops::checkpointed(tape_, Layer{input(), &early_});
  hidden = ops::checkpointed(tape_, Layer{hidden, &late_});
  Flags after;
  observer.between = [&] { after.push_back({observer.is_final(early_), observer.is_final(late_)}); };
  tape_.backward(hidden);
  // For each layer, the observer is called before each of two operations, after each of two nodes, and after
  // the layer.
  ASSERT_EQ(after.size(), 10u);
  for (std::size_t i = 0; i < after.size(); ++i)
    EXPECT_EQ(after[i], (std::vector<bool>{i == 9, i >= 4})) << i;
}

TEST_F(TapeObserverTest, MayAbandonAPass) {
  tape_.begin({.record = true});
  {
    Observer observer;
    observer.between = [] { throw std::runtime_error("stop"); };
    EXPECT_THROW(multiply(input(), early_), std::runtime_error);
  }
  tape_.begin({.record = true});  // without an observer, the tape continues
  tape_.backward(multiply(input(), early_));
  EXPECT_TRUE(early_.gradient().defined());
}

}  // namespace
}  // namespace regard::testing
