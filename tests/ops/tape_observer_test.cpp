// A weight's gradient is final when the first node that uses it has run.
#include "ops/tape_observer.h"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <vector>

#include "ops/checkpoint.h"
#include "ops/linear.h"

namespace regard {
namespace {

class Observer : public TapeObserver {
 public:
  std::function<void()> between;

 protected:
  void between_operations() override {
    if (between) between();
  }
};

struct Weights {
  Weights() {
    for (Parameter* weight : {&early, &late, &unused}) {
      weight->variable.value = Tensor::zeros({4, 4});
      weight->set_trainable(true);
    }
  }
  // Return which of early, late and unused are final.
  std::vector<bool> final_ones(const TapeObserver& observer) const {
    return {observer.is_final(early), observer.is_final(late), observer.is_final(unused)};
  }
  Parameter early, late, unused;
};

using Flags = std::vector<std::vector<bool>>;

TEST(TapeObserver, AWeightIsFinalAfterTheFirstNodeThatUsesIt) {
  ThreadPool pool(1);
  Arena arena;
  Tape tape(pool, arena);
  Weights weights;
  const Tensor input = Tensor::zeros({2, 4});
  tape.begin({.record = true});
  Observer observer;
  for (Parameter* weight : {&weights.early, &weights.late, &weights.unused}) observer.track(*weight);
  Var hidden = ops::linear(tape, tape.input(input, true), &weights.early.variable, nullptr);
  hidden = ops::linear(tape, hidden, &weights.late.variable, nullptr);
  hidden = ops::linear(tape, hidden, &weights.early.variable, nullptr);
  EXPECT_EQ(weights.final_ones(observer), (std::vector<bool>{false, false, false}));
  Flags after;
  bool refused = false;
  observer.between = [&] {
    after.push_back(weights.final_ones(observer));
    if (after.size() != 2) return;
    EXPECT_NE(tape.gradient(&weights.early.variable).data, nullptr);
    try {
      tape.gradient(&weights.late.variable);
    } catch (const std::logic_error&) {
      refused = true;
    }
  };
  tape.backward(hidden);
  EXPECT_EQ(after, (Flags{{false, false, false}, {false, true, false}, {true, true, false}}));
  EXPECT_TRUE(refused);
}

// The nodes of a checkpointed layer are recorded and run a second time: its weights are final after that.
TEST(TapeObserver, ACheckpointedLayerIsFinalAfterItsSecondComputation) {
  ThreadPool pool(1);
  Arena arena;
  Tape tape(pool, arena);
  Weights weights;
  const Tensor input = Tensor::zeros({2, 4});
  tape.begin({.record = true, .checkpoint = true});
  Observer observer;
  observer.track(weights.early);
  observer.track(weights.late);
  struct Layer {
    Var x;
    Parameter* weight;
    Var operator()(Tape& on) const {
      return ops::linear(on, ops::linear(on, x, &weight->variable, nullptr), &weight->variable, nullptr);
    }
  };
  Var hidden = ops::checkpointed(tape, Layer{tape.input(input, true), &weights.early});
  hidden = ops::checkpointed(tape, Layer{hidden, &weights.late});
  Flags after;
  observer.between = [&] {
    after.push_back({observer.is_final(weights.early), observer.is_final(weights.late)});
  };
  tape.backward(hidden);
  // Of each layer: before two operations, after their two nodes, after the layer.
  ASSERT_EQ(after.size(), 10u);
  for (std::size_t i = 0; i < after.size(); ++i)
    EXPECT_EQ(after[i], (std::vector<bool>{i == 9, i >= 4})) << i;
}

TEST(TapeObserver, MayAbandonAPass) {
  ThreadPool pool(1);
  Arena arena;
  Tape tape(pool, arena);
  Weights weights;
  const Tensor input = Tensor::zeros({2, 4});
  tape.begin({.record = true});
  {
    Observer observer;
    observer.between = [] { throw std::runtime_error("stop"); };
    EXPECT_THROW(ops::linear(tape, tape.input(input, true), &weights.early.variable, nullptr),
                 std::runtime_error);
  }
  tape.begin({.record = true});  // without an observer, the tape goes on
  tape.backward(ops::linear(tape, tape.input(input, true), &weights.early.variable, nullptr));
  EXPECT_TRUE(weights.early.gradient().defined());
}

}  // namespace
}  // namespace regard
