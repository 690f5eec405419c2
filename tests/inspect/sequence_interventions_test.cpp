// Interventions in the networks without self-attention: every point can be changed, observation changes no
// bit, and values that do not depend on an intervention keep their bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/json.h"
#include "inspect/attention_view.h"
#include "inspect/capture.h"
#include "inspect/head_sweep.h"
#include "inspect/residual_reader.h"
#include "inspect/resolve.h"
#include "models/network.h"
#include "ops/tape.h"
#include "support/namespaces.h"
#include "support/throws.h"
#include "tensor/arena.h"

namespace regard::testing {
namespace {

using inspect::EditedPass;
using inspect::ModelPoints;

const std::vector<std::int32_t> kRead{3, 5, 7, 9, 2}, kWritten{1, 4, 6, 8};

struct SequenceCase {
  std::string family, architecture, attention;
};

class SequenceInterventions : public ::testing::TestWithParam<SequenceCase> {
 protected:
  SequenceInterventions() : model_(made(GetParam())), pool_(2), points_(ModelPoints::of(*model_, pool_)) {
    // The operands of attention can be observed but not replaced; interventions refuse them.
    std::erase_if(points_.features, [](const auto& one) {
      const std::string& point = one.first;
      return point.ends_with(".query") || point.ends_with(".key") || point.ends_with(".value");
    });
  }

  static std::unique_ptr<Network> made(const SequenceCase& one) {
    Json config{{"model_type", "regard-" + one.family},
                {"architectures", {one.architecture}},
                {"vocabulary", 40},
                {"hidden_size", 16},
                {"embedding_size", 12},
                {"layers", 2},
                {"dropout", 0.0}};
    if (one.architecture.ends_with("Classification")) config["num_labels"] = 3;
    if (!one.attention.empty()) config["attention"] = one.attention, config["cell"] = "lstm";
    std::unique_ptr<Network> model = make_model(config);
    initialise(*model, 3);
    return model;
  }

  // Return the last hidden states and the output of the head.
  std::vector<Tensor> run(Probe* probe) {
    Arena arena;
    Tape tape(pool_, arena);
    tape.begin({});
    tape.probe = probe;
    InputBuffer sources;
    RaggedBuffer targets;
    sources.add(kRead, std::ssize(kRead), 0);
    targets.add(std::ssize(kWritten), 0);
    Memory memory;
    memory.shape = sources.batch().shape;
    Var hidden = nullptr;
    if (model_->kind() != ModelKind::decoder) hidden = memory.hidden = model_->encode(tape, sources.batch());
    Ragged shape = memory.shape;
    if (model_->kind() != ModelKind::encoder) {
      shape = targets.view();
      hidden = model_->decode(tape, {kWritten, shape}, memory.hidden != nullptr ? &memory : nullptr, nullptr);
    }
    std::vector<Tensor> out{hidden->value.clone()};
    out.push_back((model_->kind() == ModelKind::encoder ? model_->head(tape, hidden, sources.batch())
                                                        : model_->logits(tape, hidden))
                      ->value.clone());
    return out;
  }

  static bool same(const Tensor& a, const Tensor& b) {
    return a.shape() == b.shape() && std::memcmp(a.f32(), b.f32(), a.bytes()) == 0;
  }

  std::unique_ptr<Network> model_;
  ThreadPool pool_;
  ModelPoints points_;
};

TEST_P(SequenceInterventions, LookingAndMultiplyingByOneChangeNoBit) {
  EditedPass edits;
  inspect::PointCapture capture;
  for (const auto& [point, features] : points_.features) {
    edits.add(inspect::ValueEdit{point, 0, features, 1.0f, {}, false, {}});
    capture.want(point);
  }
  edits.set_observer(&capture);
  const std::vector<Tensor> plain = run(nullptr), seen = run(&edits);
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_TRUE(same(plain[i], seen[i])) << i;
  for (const auto& [point, features] : points_.features) EXPECT_EQ(capture.at(point).columns(), features);
}

// If this fails, a network does not use the value that the probe returns.
TEST_P(SequenceInterventions, EveryPointChangesTheOutput) {
  const std::vector<Tensor> plain = run(nullptr);
  ASSERT_GE(points_.features.size(), 2u);
  for (const auto& [point, features] : points_.features) {
    EditedPass edits;
    inspect::PointCapture after;
    after.want(point);
    edits.set_observer(&after);
    edits.add(inspect::ValueEdit{point, 0, features, 0.0f, {}, false, {}});
    EXPECT_FALSE(same(run(&edits)[1], plain[1])) << point;
    const Tensor& value = after.at(point);
    EXPECT_TRUE(std::all_of(value.f32(), value.f32() + value.elements(), [](float x) { return x == 0.0f; }))
        << point;
  }
}

// A change at the last position does not change the earlier positions of a decoder.
TEST_P(SequenceInterventions, PositionsAreThoseOfTheSequence) {
  if (model_->kind() == ModelKind::encoder) return;
  const Tensor plain = run(nullptr)[1];
  const std::int64_t last = std::ssize(kWritten) - 1;
  for (const auto& [point, features] : points_.features) {
    if (!point.starts_with("decoder.")) continue;
    EditedPass edits;
    inspect::ValueEdit edit{point, 0, features, 0.0f, {}, false, {}};
    edit.positions.ranges = {{last, last}};
    edits.add(std::move(edit));
    const Tensor changed = run(&edits)[1];
    EXPECT_TRUE(same(plain.slice_rows(0, last).clone(), changed.slice_rows(0, last).clone())) << point;
    EXPECT_FALSE(same(plain.slice_rows(last, last + 1).clone(), changed.slice_rows(last, last + 1).clone()))
        << point;
  }
}

// A head that an intervention sets to zero gives the output of the ablated head. The sweep over heads
// contains this head only.
TEST_P(SequenceInterventions, AHeadSetToZeroIsTheAblatedHead) {
  if (points_.heads.empty()) return;
  const inspect::Head head = points_.all_heads().at(0);
  EditedPass edits;
  edits.add(points_.of_head(head));
  inspect::Capture ablated({.weights = false, .kinds = {}, .layers = {}, .heads = {}}, {head});
  const std::vector<Tensor> zeroed = run(&edits);
  EXPECT_TRUE(same(zeroed[1], run(&ablated)[1]));
  EXPECT_FALSE(same(zeroed[1], run(nullptr)[1]));
  std::vector<inspect::StudyExample> examples(1);
  examples[0].input.source = kRead, examples[0].input.target = kWritten, examples[0].labels = {4, 6, 8, 2};
  const inspect::HeadSweep sweep = inspect::sweep_heads(*model_, pool_, examples);
  ASSERT_EQ(sweep.heads.size(), 1u);
  const auto loss = [&](const Tensor& logits) {
    double sum = 0.0;
    for (std::int64_t row = 0; row < logits.rows(); ++row) {
      const float* x = logits.row(row);
      double total = 0.0;
      for (std::int64_t i = 0; i < logits.columns(); ++i) total += std::exp(static_cast<double>(x[i]));
      sum += std::log(total) - static_cast<double>(x[examples[0].labels[static_cast<std::size_t>(row)]]);
    }
    return sum / static_cast<double>(logits.rows());
  };
  EXPECT_NEAR(sweep.heads[0].lost, loss(zeroed[1]) - loss(run(nullptr)[1]), 1e-5);
  EXPECT_NE(sweep.heads[0].lost, 0.0);
  const auto weights = [&] {
    return inspect::resolve(*model_, pool_, nullptr, inspect::parse_interventions({"uniform cross.0.0"}));
  };
  if (GetParam().attention == "additive") {
    EXPECT_REGARD_ERROR(weights(), ErrorKind::usage, "cannot be changed");
  } else {
    EXPECT_FALSE(same(run(weights().get())[1], run(nullptr)[1]));
  }
}

// A logit lens needs layers that add to one residual, and logits that depend only on this residual. It is
// rejected for these models.
TEST_P(SequenceInterventions, TheLensIsRefusedWhereItCannotHold) {
  if (model_->kind() == ModelKind::encoder) return;
  inspect::StudyExample example;
  example.input.source = kRead, example.input.target = kWritten;
  EXPECT_REGARD_ERROR(inspect::logit_lens(*model_, pool_, example), ErrorKind::usage, "residual");
}

INSTANTIATE_TEST_SUITE_P(
    Families, SequenceInterventions,
    ::testing::Values(SequenceCase{"mlp", "MlpForSequenceClassification", ""},
                      SequenceCase{"cnn", "CnnForSequenceClassification", ""},
                      SequenceCase{"rnn", "RnnForSequenceClassification", ""},
                      SequenceCase{"lstm", "LstmForTokenClassification", ""},
                      SequenceCase{"gru", "GruForSequenceClassification", ""},
                      SequenceCase{"rnn", "RnnForCausalLM", ""}, SequenceCase{"lstm", "LstmForCausalLM", ""},
                      SequenceCase{"gru", "GruForCausalLM", ""},
                      SequenceCase{"rnn-search", "RnnSearchForConditionalGeneration", "none"},
                      SequenceCase{"rnn-search", "RnnSearchForConditionalGeneration", "additive"},
                      SequenceCase{"rnn-search", "RnnSearchForConditionalGeneration", "multiplicative"}),
    [](const auto& about) {
      std::string name = about.param.architecture + about.param.attention;
      return name;
    });

}  // namespace
}  // namespace regard::testing
