// Sweeps and searches over heads reuse values of an unmodified pass; their results are bit-identical to those
// without reuse.
#include "inspect/head_sweep.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>

#include "base/json.h"
#include "base/random.h"
#include "inspect/answer_pass.h"
#include "inspect/attention_view.h"
#include "inspect/gradients.h"
#include "inspect/head_flip.h"
#include "inspect/linear_probe.h"
#include "inspect/patching.h"
#include "inspect/residual_reader.h"
#include "inspect/sweep_state.h"
#include "models/weights.h"
#include "ops/parameter.h"
#include "ops/tape.h"
#include "support/bytes_in_use.h"
#include "support/hf_folder.h"
#include "support/namespaces.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "support/tiny_models.h"
#include "tensor/arena.h"

namespace regard::testing {
namespace {

using inspect::Head;
using inspect::StudyExample;

std::vector<std::int32_t> draw(RandomStream& stream, std::int64_t length, std::int64_t bound) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < length; ++i)
    ids.push_back(static_cast<std::int32_t>(stream.next_below(static_cast<std::uint64_t>(bound))));
  return ids;
}

// A decoder or an encoder–decoder with random examples. Some positions have no token to predict.
class HeadSweepOf : public ::testing::TestWithParam<std::string> {
 protected:
  HeadSweepOf()
      : model_(load_model(formats::ModelFolder::open(testing::HfFolder(GetParam()).path))), pool_(2) {
    model_->prepare_for_inference(pool_);
    RandomStream stream({3, 0, place_of("head sweep")});
    for (const std::int64_t length : {5, 3, 8}) {
      StudyExample& one = examples_.emplace_back();
      one.text = std::to_string(length);
      if (model_->kind() == ModelKind::encoder_decoder)
        one.input.source.ids = draw(stream, length + 1, model_->source_vocabulary());
      one.input.target = draw(stream, length, model_->vocabulary());
      one.labels = draw(stream, length, model_->vocabulary());
      one.labels[0] = one.labels.back() = kIgnoredLabel;
    }
  }

  // Return the loss without `head`, computed in one pass over all examples and summed in their order.
  double loss_without(const Head& head, const inspect::EditedPass* standing = nullptr) {
    inspect::EditedPass edits(standing);
    edits.add(inspect::ModelPoints::of(*model_, pool_).of_head(head));
    Arena arena;
    Tape tape(pool_, arena);
    tape.begin({});
    tape.probe = &edits;
    InputBuffer sources;
    RaggedBuffer shape;
    std::vector<std::int32_t> ids, labels;
    for (std::size_t i = 0; i < examples_.size(); ++i) {
      const StudyExample& one = examples_[i];
      sources.add(one.input.source, std::ssize(one.input.source.ids), i);
      shape.add(std::ssize(one.input.target), i);
      ids.insert(ids.end(), one.input.target.begin(), one.input.target.end());
      labels.insert(labels.end(), one.labels.begin(), one.labels.end());
    }
    Memory memory;
    if (model_->kind() == ModelKind::encoder_decoder) {
      memory.shape = sources.batch().shape;
      memory.hidden = model_->encode(tape, sources.batch());
    }
    const Var hidden =
        model_->decode(tape, {ids, shape.view()}, memory.hidden != nullptr ? &memory : nullptr, nullptr);
    const auto count =
        std::count_if(labels.begin(), labels.end(), [](auto label) { return label != kIgnoredLabel; });
    const float sum = model_->loss(tape, hidden, labels, 0.0f, 1.0f)->value.f32()[0];
    return static_cast<double>(sum) / static_cast<double>(count);
  }

  std::unique_ptr<Network> model_;
  ThreadPool pool_;
  std::vector<StudyExample> examples_;
};

// The reference computes every layer, position and logit.
TEST_P(HeadSweepOf, EveryLossHasTheBitsOfAWholePass) {
  const inspect::HeadSweep sweep = inspect::sweep_heads(*model_, pool_, examples_);
  EXPECT_EQ(sweep.count, 3 + 1 + 6);
  ASSERT_GT(sweep.heads.size(), 3u);
  std::size_t changed = 0;
  for (const inspect::HeadLoss& one : sweep.heads) {
    EXPECT_EQ(one.loss, loss_without(one.head)) << one.head.text();
    changed += one.loss != sweep.loss ? 1 : 0;
  }
  EXPECT_GT(changed, sweep.heads.size() / 2);
}

// An intervention that adds to the output of a head must be applied once, also where values are reused.
TEST_P(HeadSweepOf, EveryLossUnderInterventionsHasTheBitsOfAWholePass) {
  const inspect::ModelPoints points = inspect::ModelPoints::of(*model_, pool_);
  inspect::EditedPass standing;
  for (const Head& head : {points.all_heads().front(), points.all_heads().back()}) {
    inspect::ValueEdit edit = points.of_head(head);
    edit.factor = 1.0f, edit.offset = Tensor::zeros({1, edit.end - edit.begin});
    for (std::int64_t i = 0; i < edit.offset.elements(); ++i) edit.offset.f32()[i] = 0.5f;
    edit.positions.ranges = {{1, 2}};
    standing.add(std::move(edit));
    standing.add(inspect::WeightEdit{head, inspect::Action::uniform, 1.0f, {}, {}, {}});
  }
  inspect::HeadSweepOptions options;
  options.edits = &standing;
  const inspect::HeadSweep sweep = inspect::sweep_heads(*model_, pool_, examples_, options);
  EXPECT_NE(sweep.loss, inspect::sweep_heads(*model_, pool_, examples_).loss);
  for (const inspect::HeadLoss& one : sweep.heads)
    EXPECT_EQ(one.loss, loss_without(one.head, &standing)) << one.head.text();
}

// The memory of a sweep is limited: with a limit of one byte, only the values of the first batch are stored.
TEST_P(HeadSweepOf, StoresValuesUpToALimit) {
  std::vector<StudyExample> many;
  for (int i = 0; i < 200; ++i) many.insert(many.end(), examples_.begin(), examples_.end());
  inspect::HeadSweepOptions options;
  options.heads = {inspect::ModelPoints::of(*model_, pool_).all_heads().back()};
  const double loss = inspect::sweep_heads(*model_, pool_, many, options).heads[0].loss;
  std::vector<double> stored;
  for (const std::size_t limit : {std::size_t{0}, std::size_t{1}, std::size_t{1} << 30}) {
    options.most_stored = limit;
    const auto before = static_cast<double>(bytes_in_use());
    options.progress = [&](double) {
      stored.push_back(static_cast<double>(bytes_in_use()) - before);
      return true;
    };
    EXPECT_EQ(inspect::sweep_heads(*model_, pool_, many, options).heads[0].loss, loss) << limit;
  }
  if (bytes_in_use() == 0) return;
  ASSERT_EQ(stored.size(), 3u);
  EXPECT_GT(stored[1], stored[0]);
  EXPECT_GT(stored[2] - stored[0], 2 * (stored[1] - stored[0])) << "three batches or more";
}

INSTANTIATE_TEST_SUITE_P(HfTiny, HeadSweepOf,
                         ::testing::Values("gpt2", "llama", "gemma", "qwen3", "bart", "marian", "t5"),
                         [](const auto& one) { return one.param; });

// Records the query points of the attention layers that compute queries.
class QueryList : public inspect::InjectedPass {
 public:
  bool wants(std::string_view point) override {
    if (point.ends_with(".query")) points.emplace_back(point);
    return false;
  }
  std::vector<std::string> points;
};

TEST(KnownContext, TakesThePlaceOfTheAttention) {
  ThreadPool pool(1);
  const auto model = load_model(formats::ModelFolder::open(testing::HfFolder("gpt2").path));
  const std::vector<std::int32_t> ids{5, 9, 7};
  inspect::PointCapture capture;
  capture.want("decoder.1.self.context");
  const Tensor whole = inspect::run_with_probe(*model, pool, {}, ids, &capture);
  QueryList known;
  known.skip_attention(inspect::Kind::decoder, 1, capture.at("decoder.1.self.context"));
  const Tensor logits = inspect::run_with_probe(*model, pool, {}, ids, &known);
  EXPECT_EQ(known.points, (std::vector<std::string>{"decoder.0.self.query", "decoder.2.self.query"}));
  EXPECT_TRUE(std::equal(whole.f32(), whole.f32() + whole.elements(), logits.f32()));
}

// The set of heads that flip_answer() finds changes the answer; the smaller sets that it excludes do not.
TEST(HeadFlip, FindsASetThatCannotBeMadeSmallerByOneExchange) {
  ThreadPool pool(1);
  const auto model = load_model(formats::ModelFolder::open(testing::HfFolder("gpt2").path));
  const inspect::ModelPoints points = inspect::ModelPoints::of(*model, pool);
  inspect::PassInput input;
  RandomStream stream({5, 0, place_of("head flip")});
  input.target = draw(stream, 8, model->vocabulary());
  const Tensor logits = inspect::run_with_probe(*model, pool, {}, input.target, nullptr);
  const float* last = logits.row(7);
  std::vector<std::int32_t> order(static_cast<std::size_t>(logits.columns()));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
  std::ranges::sort(order, [&](auto a, auto b) { return last[a] > last[b]; });
  const auto difference = [&](const inspect::AnswerDifference& answer, const std::vector<Head>& off) {
    inspect::EditedPass edits;
    for (const Head& head : off) edits.add(points.of_head(head));
    return inspect::answer_difference(*model, pool, input, answer, &edits);
  };
  std::size_t sets = 0;
  for (std::size_t other = 1; other < 12; ++other) {
    const inspect::AnswerDifference answer{7, order[0], order[other]};
    const inspect::HeadFlip found = inspect::flip_answer(*model, pool, input, answer, {.most = 12});
    if (!found.flipped) continue;
    sets += found.needed.size() > 1 ? 1 : 0;
    EXPECT_EQ(found.difference, difference(answer, found.needed));
    EXPECT_LE(found.difference, 0);
    for (std::size_t i = 0; i < found.needed.size(); ++i) {
      std::vector<Head> fewer = found.needed;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      EXPECT_GT(difference(answer, fewer), 0) << other << " " << i;
      for (std::size_t j = 0; j < fewer.size(); ++j)
        for (const Head& head : points.all_heads()) {
          if (std::ranges::find(found.needed, head) != found.needed.end()) continue;
          std::vector<Head> exchanged = fewer;
          exchanged[j] = head;
          EXPECT_GT(difference(answer, exchanged), 0) << other << " " << i << " " << head.text();
        }
    }
  }
  EXPECT_GT(sets, 0u) << "no answer needs two heads, so nothing is shown";
}

// The expected sets of heads are from a search in double with another implementation of GPT-2. The greedy
// sets become smaller when two of their heads are exchanged for a head that they do not contain.
TEST(HeadFlip, ExchangesTwoHeadsForAnotherOne) {
  struct Case {
    std::vector<std::int32_t> ids;
    std::int32_t answer, instead;
    std::vector<std::pair<std::int64_t, std::int64_t>> greedy, needed;  // pairs of layer and head
  };
  const std::vector<std::int32_t> first{29, 37, 104, 50, 32, 99, 30, 49},
      second{2, 90, 7, 33, 59, 58, 14, 117};
  const Case cases[] = {
      {first, 57, 26, {{0, 3}, {1, 3}, {1, 0}}, {{0, 0}, {1, 0}}},
      {first, 57, 105, {{0, 2}, {0, 3}, {1, 0}}, {{0, 0}, {1, 0}}},
      {second, 115, 45, {{0, 0}, {1, 2}, {2, 0}, {1, 0}, {0, 3}, {0, 1}}, {{2, 3}, {0, 2}, {0, 3}}}};
  ThreadPool pool(1);
  const auto model = load_model(formats::ModelFolder::open(testing::HfFolder("gpt2").path));
  for (const Case& one : cases) {
    inspect::PassInput input;
    input.target = one.ids;
    const inspect::HeadFlip found =
        inspect::flip_answer(*model, pool, input, {7, one.answer, one.instead}, {.most = 12});
    std::vector<std::pair<std::int64_t, std::int64_t>> greedy, needed;
    for (const inspect::FlipStep& step : found.steps) greedy.emplace_back(step.head.layer, step.head.head);
    for (const Head& head : found.needed) needed.emplace_back(head.layer, head.head);
    EXPECT_EQ(greedy, one.greedy) << one.instead;
    EXPECT_EQ(needed, one.needed) << one.instead;
  }
}

// A search over stored differences. The greedy steps ablate the first four heads. Then the fifth head
// replaces two of them, and another one becomes unnecessary.
TEST(HeadFlip, RemovesHeadsAgainAfterAnExchange) {
  ThreadPool pool(1);
  const auto model = load_model(formats::ModelFolder::open(testing::HfFolder("gpt2").path));
  const std::vector<Head> all = inspect::ModelPoints::of(*model, pool).all_heads();
  inspect::PassInput input;
  input.target = {5, 9, 7};
  const Tensor logits = inspect::run_with_probe(*model, pool, {}, input.target, nullptr);
  const std::span<const float> last(logits.row(2), static_cast<std::size_t>(logits.columns()));
  const auto [least, most] = std::ranges::minmax_element(last);
  const inspect::AnswerDifference answer{2, static_cast<std::int32_t>(most - last.begin()),
                                         static_cast<std::int32_t>(least - last.begin())};
  const TemporaryFolder folder;
  const auto state = folder / "state";
  inspect::flip_answer(*model, pool, input, answer, {.most = 0, .state = state});  // writes the first line
  std::ofstream file(state, std::ios::app);
  std::vector<Head> off;
  const auto off_of = [&](std::size_t head) { return std::ranges::count(off, all[head]); };
  const std::function<void()> write = [&] {
    const auto first = off_of(0) + off_of(1) + off_of(2) + off_of(3);
    const double difference = first == 4                   ? -1.0
                              : off_of(2) + off_of(4) == 2 ? -0.5
                                                           : 1.0 - 0.1 * static_cast<double>(first);
    if (!off.empty())
      file << Json{{"heads off", inspect::text_of(off)}, {"difference", difference}}.dump() << '\n';
    if (off.size() == 4) return;
    for (const Head& head : all) {
      if (std::ranges::find(off, head) != off.end()) continue;
      off.push_back(head);
      write();
      off.pop_back();
    }
  };
  write();
  file.close();
  const inspect::HeadFlip found =
      inspect::flip_answer(*model, pool, input, answer, {.most = 12, .state = state});
  ASSERT_EQ(found.steps.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(found.steps[i].head, all[i]) << i;
  EXPECT_EQ(found.needed, (std::vector<Head>{all[4], all[2]}));
  EXPECT_EQ(found.difference, -0.5);
}

// The greedy steps are stored. The difference of every other set is NaN, which does not flip the answer.
TEST(HeadFlip, ADifferenceThatIsNotANumberDoesNotFlip) {
  ThreadPool pool(1);
  const auto model = testing::tiny_model("gpt");
  const std::vector<Head> all = inspect::ModelPoints::of(*model, pool).all_heads();
  inspect::PassInput input;
  input.target = {5, 9, 7};
  inspect::AnswerDifference answer{2, 1, 3};
  if (inspect::answer_difference(*model, pool, input, answer, nullptr) < 0)
    std::swap(answer.answer, answer.instead);
  const TemporaryFolder folder;
  const auto state = folder / "state";
  inspect::flip_answer(*model, pool, input, answer, {.most = 0, .state = state});  // writes the first line
  std::ofstream file(state, std::ios::app);
  std::vector<Head> off;
  for (std::size_t step = 0; step < 3; ++step) {
    off.emplace_back();
    for (std::size_t head = step; head < all.size(); ++head) {
      off.back() = all[head];
      const double difference = head > step ? 1.0 : step == 2 ? -1.0 : 0.5;
      file << Json{{"heads off", inspect::text_of(off)}, {"difference", difference}}.dump() << '\n';
    }
    off.back() = all[step];
  }
  file.close();
  const auto spoil = [&model](double) {
    for (Parameter* parameter : model->parameters())
      if (parameter->value().shape().rank() == 1) parameter->value().f32()[0] = std::nanf("");
    return true;
  };
  const inspect::HeadFlip found =
      inspect::flip_answer(*model, pool, input, answer, {.most = 3, .state = state, .progress = spoil});
  EXPECT_TRUE(found.flipped);
  EXPECT_EQ(found.needed, off);
  EXPECT_EQ(found.difference, -1.0);
}

// Logits that are not finite cannot be compared, so a study of them is refused.
TEST(HeadFlip, LogitsThatAreNotFiniteAreAnError) {
  ThreadPool pool(1);
  const auto model = testing::tiny_model("gpt");
  for (Parameter* parameter : model->parameters())
    if (parameter->value().shape().rank() == 1) parameter->value().f32()[0] = std::nanf("");
  inspect::PassInput input;
  input.target = {5, 9, 7};
  const inspect::AnswerDifference answer{2, 1, 3};
  EXPECT_REGARD_ERROR(inspect::flip_answer(*model, pool, input, answer, {}), ErrorKind::numeric,
                      "not finite");
  EXPECT_REGARD_ERROR(inspect::patch_components(*model, pool, input, input, answer), ErrorKind::numeric,
                      "not finite");
  EXPECT_REGARD_ERROR(inspect::attribute_tokens(*model, pool, input, answer), ErrorKind::numeric,
                      "not finite");
  const std::vector<inspect::LabeledInput> inputs(10, {"a", [&input] { return input; }});
  std::vector<inspect::LabeledInput> labelled = inputs;
  labelled[0].label = "b";
  EXPECT_REGARD_ERROR(inspect::probe_layers(*model, pool, labelled, 1), ErrorKind::numeric, "not finite");
  inspect::StudyExample example;
  example.input = input, example.labels = {9, 7, kIgnoredLabel};
  EXPECT_REGARD_ERROR(inspect::logit_lens(*model, pool, example), ErrorKind::numeric, "not finite");
  EXPECT_REGARD_ERROR(inspect::direct_attribution(*model, pool, example, answer), ErrorKind::numeric,
                      "not finite");
}

TEST(HeadFlip, AnErrorInAStateFileIsAtItsByte) {
  const TemporaryFolder folder;
  const auto path = folder / "state";
  inspect::SweepState().open(path, {{"study", "flip"}});
  const std::uintmax_t size = std::filesystem::file_size(path);
  std::ofstream(path, std::ios::app) << "{\n";
  EXPECT_REGARD_ERROR(inspect::SweepState().open(path, {{"study", "flip"}}), ErrorKind::bad_file,
                      "state (byte " + std::to_string(size + 1) + ")");
}

TEST(HeadFlip, WithoutAnAnswerComparesWithTheHighestOtherLogit) {
  ThreadPool pool(1);
  const auto model = load_model(formats::ModelFolder::open(testing::HfFolder("gpt2").path));
  inspect::PassInput input;
  input.target = {5, 9, 7};
  const Tensor logits = inspect::run_with_probe(*model, pool, {}, input.target, nullptr);
  const std::span<const float> last(logits.row(2), static_cast<std::size_t>(logits.columns()));
  for (std::size_t instead = 0; instead < last.size(); ++instead) {
    std::vector<float> others(last.begin(), last.end());
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(instead));
    const inspect::AnswerDifference answer{2, inspect::AnswerDifference::kStrongest,
                                           static_cast<std::int32_t>(instead)};
    EXPECT_EQ(inspect::answer_difference(*model, pool, input, answer, nullptr),
              static_cast<double>(std::ranges::max(others)) - static_cast<double>(last[instead]));
  }
  EXPECT_REGARD_ERROR(inspect::answer_difference(*model, pool, input, {2, -1, -1}, nullptr), ErrorKind::usage,
                      "out of range");
}

}  // namespace
}  // namespace regard::testing
