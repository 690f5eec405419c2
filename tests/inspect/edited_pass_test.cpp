// Interventions in every family: observation changes no bit, and values that do not depend on an
// intervention keep their bits.
#include "inspect/edited_pass.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/random.h"
#include "infer/search.h"
#include "inspect/attention_view.h"
#include "inspect/resolve.h"
#include "models/weights.h"
#include "ops/tape.h"
#include "support/hf_folder.h"
#include "support/namespaces.h"
#include "support/throws.h"
#include "tensor/arena.h"

namespace regard::testing {
namespace {

using inspect::EditedPass;
using inspect::Head;
using inspect::ModelPoints;

bool equal_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::memcmp(a.clone().f32(), b.clone().f32(), a.bytes()) == 0;
}

// A probe that stores every value of a pass, and the attention weights of each sequence.
class Everything : public Probe {
 public:
  bool wants(std::string_view) override { return true; }
  void see(std::string_view point, std::int64_t sequence, const Tensor& value) override {
    values[std::string(point) + (sequence > 0 ? "#" + std::to_string(sequence) : "")] = value.clone();
  }
  std::map<std::string, Tensor> values;
};

class EachFamily : public ::testing::TestWithParam<std::string> {
 protected:
  EachFamily()
      : model_(load_model(formats::ModelFolder::open(testing::HfFolder(GetParam()).path))),
        pool_(2),
        points_(ModelPoints::of(*model_, pool_)) {
    model_->prepare_for_inference(pool_);
    const InputSpec& spec = model_->input_spec();
    RandomStream stream({7, 0, place_of("interventions")});
    for (const std::int64_t length : {5, 1, 7}) {
      ModelInput input = spec.blank();
      if (spec.kind == InputKind::features && spec.shape[0] == 0)  // inputs of any length
        input.values = Tensor::zeros({(1 + length) * spec.fewest_frames(), spec.shape[1]});
      if (spec.kind == InputKind::tokens)
        input.ids = draw(stream, length, model_->source_vocabulary());
      else
        for (std::int64_t i = 0; i < input.values.elements(); ++i)
          input.values.f32()[i] = static_cast<float>(stream.next_below(1000)) / 500.0f - 1.0f;
      inputs_.push_back(input);
      targets_.push_back(draw(stream, length, std::max<std::int64_t>(1, model_->vocabulary())));
    }
  }

  static std::vector<std::int32_t> draw(RandomStream& stream, std::int64_t length, std::int64_t bound) {
    std::vector<std::int32_t> ids;
    for (std::int64_t i = 0; i < length; ++i)
      ids.push_back(static_cast<std::int32_t>(stream.next_below(static_cast<std::uint64_t>(bound))));
    return ids;
  }

  // Return the last hidden states and head output of one batch of three sequences.
  std::vector<Tensor> run(Probe* probe) {
    Arena arena;
    Tape tape(pool_, arena);
    tape.begin({});
    tape.probe = probe;
    InputBuffer sources;
    std::vector<std::int32_t> ids;
    RaggedBuffer shape;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      sources.add(inputs_[i], model_->input_spec().length_of(inputs_[i]), i);
      ids.insert(ids.end(), targets_[i].begin(), targets_[i].end());
      shape.add(std::ssize(targets_[i]), i);
    }
    Memory memory;
    std::vector<Tensor> out;
    InputBatch used{ids, shape.view()};
    Var hidden = nullptr;
    if (model_->kind() != ModelKind::decoder) {
      used = sources.batch();
      memory.shape = used.shape;
      hidden = memory.hidden = model_->encode(tape, used);
      out.push_back(hidden->value.clone());
    }
    if (model_->kind() != ModelKind::encoder) {
      used = {ids, shape.view()};
      hidden = model_->decode(tape, used, memory.hidden != nullptr ? &memory : nullptr, nullptr);
      out.push_back(hidden->value.clone());
    }
    if (model_->output() != Output::none) out.push_back(model_->head(tape, hidden, used)->value.clone());
    return out;
  }

  void expect_same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(equal_bits(a[i], b[i])) << i;
  }

  std::unique_ptr<Network> model_;
  ThreadPool pool_;
  ModelPoints points_;
  std::vector<ModelInput> inputs_;
  std::vector<std::vector<std::int32_t>> targets_;
};

TEST_P(EachFamily, LookingAtEverythingChangesNoBit) {
  Everything everything;
  expect_same(run(&everything), run(nullptr));
  EXPECT_GT(everything.values.size(), 10u);
}

TEST_P(EachFamily, AnEditThatMultipliesByOneChangesNoBit) {
  EditedPass edits;
  for (const auto& [point, features] : points_.features)
    edits.add(inspect::ValueEdit{point, 0, features, 1.0f, {}, false, {}});
  expect_same(run(&edits), run(nullptr));
}

TEST_P(EachFamily, WhatComesBeforeAnInterventionKeepsItsBits) {
  Everything before, after;
  run(&before);
  const Head last = points_.all_heads().back();
  EditedPass edits(&after);
  edits.add(points_.of_head(last));
  run(&edits);
  const std::string attention = inspect::attention_name(last.kind, last.layer);
  const std::int64_t size = points_.head_size(last);
  bool reached = false;
  for (const auto& [point, value] : before.values) {
    const bool earlier = point.starts_with("encoder.") != (last.kind == inspect::Kind::encoder) ||
                         point.find("." + std::to_string(last.layer) + ".") == point.npos;
    const bool same = equal_bits(value, after.values.at(point));
    if (point == attention + ".context") {
      reached = true;
      const std::int64_t begin = last.head * size;
      EXPECT_TRUE(equal_bits(value.slice_columns(0, begin), after.values.at(point).slice_columns(0, begin)));
      for (std::int64_t row = 0; row < value.rows(); ++row)
        for (std::int64_t i = begin; i < begin + size; ++i)
          EXPECT_EQ(after.values.at(point).row(row)[i], 0.0f);
      EXPECT_FALSE(same) << "an intervention that changes nothing proves nothing";
    }
    if (point.starts_with(attention + ".weights") || (earlier && !point.ends_with(".output"))) {
      EXPECT_TRUE(same) << point;
    }
  }
  EXPECT_TRUE(reached);
}

// The heads whose weights are not replaced keep the fused kernel's bits.
TEST_P(EachFamily, ReplacedWeightsOfOneHeadLeaveTheOthersAlone) {
  Everything before, after;
  run(&before);
  const Head first = points_.all_heads().front();
  EditedPass edits(&after);
  edits.add(inspect::WeightEdit{first, inspect::Action::uniform, 1.0f, {}, {}, {}});
  run(&edits);
  const std::string attention = inspect::attention_name(first.kind, first.layer);
  const std::int64_t size = points_.head_size(first);
  const Tensor &was = before.values.at(attention + ".context"), &is = after.values.at(attention + ".context");
  EXPECT_TRUE(equal_bits(was.slice_columns(size, was.columns()), is.slice_columns(size, is.columns())));
  EXPECT_FALSE(equal_bits(was.slice_columns(0, size), is.slice_columns(0, size)));
  const Tensor& weights = after.values.at(attention + ".weights");  // [heads, queries, keys]
  const std::int64_t queries = weights.shape()[1], keys = weights.shape()[2];
  for (std::int64_t query = 0; query < queries; ++query) {
    double sum = 0;
    std::int64_t used = 0;
    for (std::int64_t key = 0; key < keys; ++key) used += weights.row(query)[key] != 0.0f ? 1 : 0;
    for (std::int64_t key = 0; key < keys; ++key) {
      const float weight = weights.row(query)[key];
      sum += static_cast<double>(weight);
      if (weight != 0.0f) {
        EXPECT_EQ(weight, 1.0f / static_cast<float>(used));
      }
      if (first.kind == inspect::Kind::decoder && key > query) {
        EXPECT_EQ(weight, 0.0f);
      }
    }
    EXPECT_NEAR(sum, 1.0, 1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(HfTiny, EachFamily, ::testing::ValuesIn(testing::hf_folder_names()),
                         [](const auto& family) {
                           std::string name = family.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// In the RoBERTa families, padding tokens have position −1. A replaced pattern has no row for them, so their
// weights do not change.
TEST(ReplacedHead, KeepsTheWeightsOfPadding) {
  ThreadPool pool(1);
  const auto model = load_model(formats::ModelFolder::open(testing::HfFolder("roberta").path));
  model->prepare_for_inference(pool);
  const std::vector<std::int32_t> ids{0, 5, 9, 1, 1}, positions{0, 1, 2, -1, -1};
  const Head head = ModelPoints::of(*model, pool).all_heads().front();
  const auto weights_under = [&](Probe& probe, Everything& seen) {
    Arena arena;
    Tape tape(pool, arena);
    tape.begin({});
    tape.probe = &probe;
    RaggedBuffer shape;
    shape.add(positions, 0);
    model->encode(tape, {ids, shape.view()});
    return seen.values.at(inspect::attention_name(head.kind, head.layer) + ".weights");
  };
  Everything plain, changed;
  const Tensor before = weights_under(plain, plain);
  // The pattern is a view of `rows` from row 1 on. A wrong read of its row −1 therefore gives other weights
  // instead of a crash.
  Tensor rows = Tensor::zeros({4, 5});
  std::fill_n(rows.f32(), rows.elements(), 0.2f);
  EditedPass edits(&changed);
  edits.add(inspect::WeightEdit{head, inspect::Action::replace, 1.0f, {}, {}, rows.slice_rows(1, 4)});
  const Tensor after = weights_under(edits, changed);
  const std::int64_t first = head.head * 5;  // weights [heads, queries, keys]
  for (std::int64_t query = 0; query < 5; ++query)
    for (std::int64_t key = 0; key < 5; ++key)
      EXPECT_EQ(after.row(first + query)[key], query < 3 ? 0.2f : before.row(first + query)[key]) << query;
}

// A value that the pass has not computed, or that was not requested, is an error.
TEST(PointCapture, HasOnlyTheRequestedPointsOfTheModel) {
  ThreadPool pool(1);
  const auto model = load_model(formats::ModelFolder::open(testing::HfFolder("gpt2").path));
  const std::vector<std::int32_t> ids{5, 9, 7};
  inspect::PointCapture capture;
  for (const char* point : {"decoder.0.residual", "decoder.99.residual"}) capture.want(point);
  inspect::run_with_probe(*model, pool, {}, ids, &capture);
  EXPECT_EQ(capture.at("decoder.0.residual").rows(), 3);
  EXPECT_REGARD_ERROR(capture.at("decoder.99.residual"), ErrorKind::usage, "found decoder.99.residual");
  EXPECT_REGARD_ERROR(capture.at("decoder.1.residual"), ErrorKind::usage, "found decoder.1.residual");
}

// A probe that stores the weights of one head of a decoder, one row for each query of the passes.
class HeadRows : public Probe {
 public:
  explicit HeadRows(const Head& head) : head_(head) {}
  bool wants(std::string_view point) override { return point == inspect::weights_name(head_); }
  bool wants_head(std::string_view, std::int64_t head) override { return head == head_.head; }
  void see(std::string_view, std::int64_t, const Tensor& value) override {
    ASSERT_EQ(value.shape()[0], 1) << "weights of heads that are not requested";
    for (std::int64_t query = 0; query < value.shape()[1]; ++query)
      rows.emplace_back(value.row(query), value.row(query) + value.columns());
  }
  std::vector<std::vector<float>> rows;

 private:
  Head head_;
};

// Each step has one key more than the step before, so the frozen pattern must be extended by zeros.
TEST(FrozenHead, KeepsItsPatternInEveryStepOfGeneration) {
  ThreadPool pool(1);
  const auto model = load_model(formats::ModelFolder::open(testing::HfFolder("gpt2").path));
  model->prepare_for_inference(pool);
  const Head head = ModelPoints::of(*model, pool).all_heads().back();
  std::vector<std::int32_t> ids{5, 9, 7, 2, 8};
  constexpr std::size_t kFrom = 3, kNew = 6;
  inspect::PointCapture capture;
  capture.want_weights(head);
  inspect::run_with_probe(*model, pool, {}, ids, &capture);
  const float* pattern = capture.at(inspect::weights_name(head)).row(kFrom);
  const auto edits =
      inspect::resolve(*model, pool, nullptr,
                       inspect::parse_interventions({"freeze " + head.text() + " from=3 ids=5,9,7,2,8"}));
  HeadRows seen(head);
  edits->set_observer(&seen);
  infer::SearchOptions options;
  options.max_new = kNew, options.probe = edits.get();
  const ModelInput prompt(ids);
  const auto found = infer::decode(*model, pool, {&prompt, 1}, options);
  const std::vector<std::int32_t>& written = found.at(0).at(0).tokens;
  ASSERT_EQ(written.size(), kNew);
  ASSERT_EQ(seen.rows.size(), ids.size() + kNew - 1);
  for (std::size_t query = kFrom; query < seen.rows.size(); ++query)
    for (std::size_t key = 0; key <= query; ++key)
      EXPECT_EQ(seen.rows[query][key], key <= kFrom ? pattern[key] : 0.0f) << query << " " << key;
  // Generation without a cache, which computes every query again, gives the same tokens.
  edits->set_observer(static_cast<Probe*>(nullptr));
  for (const std::int32_t token : written) {
    const Tensor logits = inspect::run_with_probe(*model, pool, {}, ids, edits.get());
    const float* last = logits.row(logits.rows() - 1);
    EXPECT_EQ(std::max_element(last, last + logits.columns()) - last, token);
    ids.push_back(token);
  }
}

}  // namespace
}  // namespace regard::testing
