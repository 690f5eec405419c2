// Values of studies compared with their definitions: means of heads, losses of sets of heads, losses of
// repeated sequences, batches, and inputs of probes.
#include <gtest/gtest.h>

#include <cmath>

#include "inspect/answer_pass.h"
#include "inspect/head_kinds.h"
#include "inspect/head_sweep.h"
#include "inspect/residual_reader.h"
#include "inspect/study_pass.h"
#include "inspect/study_views.h"
#include "support/changed_model.h"
#include "support/hf_folder.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "support/throws.h"
#include "support/tiny_models.h"

namespace regard::testing {
namespace {

using inspect::Head;
using inspect::HeadSummary;
using inspect::Kind;
using inspect::StudyExample;

TEST(HeadSummarySum, IsTheMeanOfTheSummaries) {
  inspect::HeadSummarySum sum;
  for (const double factor : {1.0, 3.0}) {
    inspect::View view;
    for (std::int64_t head = 0; head < 2; ++head) {
      inspect::Map& map = view.maps.emplace_back();
      map.head = {Kind::decoder, 4, head};
      const double value = factor + static_cast<double>(head);
      HeadSummary& summary = map.summary.emplace();
      summary.entropy = value, summary.distance = 2 * value, summary.spread = value / 10;
      summary.shares[2] = value / 5;
    }
    sum.add(view);
  }
  const std::vector<inspect::HeadKind> means = sum.means();
  ASSERT_EQ(means.size(), 2u);
  for (std::int64_t head = 0; head < 2; ++head) {
    const inspect::HeadKind& one = means[static_cast<std::size_t>(head)];
    const double value = 2.0 + static_cast<double>(head);
    EXPECT_EQ(one.head, (Head{Kind::decoder, 4, head}));
    EXPECT_DOUBLE_EQ(one.mean.entropy, value);
    EXPECT_DOUBLE_EQ(one.mean.distance, 2 * value);
    EXPECT_DOUBLE_EQ(one.mean.spread, value / 10);
    for (std::size_t i = 0; i < one.mean.shares.size(); ++i)
      EXPECT_DOUBLE_EQ(one.mean.shares[i], i == 2 ? value / 5 : 0.0) << i;
    EXPECT_EQ(one.mean.pattern, inspect::Pattern::same) << "at least 40 %";
    EXPECT_DOUBLE_EQ(one.mean.share, value / 5);
  }
}

class StudyValues : public ::testing::Test {
 protected:
  StudyValues() {
    write_text_model(folder_ / "gpt", "gpt", 64);
    write_text_model(folder_ / "translator", "translator");
    gpt_ = infer::LoadedModel::open((folder_ / "gpt").string(), WeightMode::widened);
    translator_ = infer::LoadedModel::open((folder_ / "translator").string(), WeightMode::widened);
  }
  std::vector<StudyExample> examples() {
    return {inspect::study_example(gpt_, pool_, "the quick fox", ""),
            inspect::study_example(gpt_, pool_, "a dog", "")};
  }
  std::vector<inspect::InductionScore> induction(const infer::LoadedModel& loaded, std::int64_t length,
                                                 std::int64_t sequences) {
    inspect::InductionOptions options;
    options.length = length, options.sequences = sequences;
    return inspect::induction_scores(*loaded.model, pool_, options);
  }

  TemporaryFolder folder_;
  ThreadPool pool_{1};
  infer::LoadedModel gpt_, translator_;
};

TEST_F(StudyValues, TheTableOfKindsHasTheMeanOfEachHead) {
  const auto file = write_file(folder_.path(), "lines.txt", "the quick fox\na dog\n");
  inspect::StudyRequest request;
  request.view = "kinds", request.data.files = {file.string()};
  const inspect::StudyTable found = inspect::study_table(gpt_, pool_, request, 1, {});
  EXPECT_EQ(found.title, "What each head attends to, mean of 2 texts");
  EXPECT_EQ(found.columns,
            (std::vector<std::string>{"head", "kind", "previous", "next", "same", "same word", "first",
                                      "special", "diagonal", "entropy", "distance", "spread"}));
  EXPECT_EQ(found.notes, (std::vector<std::string>{"Shares of the weight, 0 to 1; they may overlap. Entropy "
                                                   "in bits, distance in tokens."}));
  std::vector<std::vector<inspect::StudyCell>> rows;
  for (const inspect::HeadKind& one : inspect::head_kinds(gpt_, pool_, examples())) {
    EXPECT_GT(one.mean.entropy, 0);
    std::vector<inspect::StudyCell>& row = rows.emplace_back();
    row = {one.head.text(), inspect::name_of(one.mean.pattern)};
    for (const double share : one.mean.shares) row.emplace_back(share);
    row.insert(row.end(), {one.mean.entropy, one.mean.distance, one.mean.spread});
  }
  EXPECT_EQ(rows.size(), 8u);
  EXPECT_EQ(found.rows, rows);
}

// Each step adds the head that raises the loss most.
TEST_F(StudyValues, SetsOfHeadsAreChosenGreedily) {
  const std::vector<StudyExample> all = examples();
  const inspect::HeadSet set = inspect::sweep_head_sets(*gpt_.model, pool_, all, 3);
  inspect::HeadSweepOptions options;
  EXPECT_EQ(set.loss, inspect::sweep_heads(*gpt_.model, pool_, all).loss);
  ASSERT_EQ(set.steps.size(), 3u);
  for (const inspect::HeadLoss& step : set.steps) {
    const inspect::HeadSweep sweep = inspect::sweep_heads(*gpt_.model, pool_, all, options);
    EXPECT_EQ(step.head, sweep.heads[0].head);
    EXPECT_EQ(step.loss, sweep.heads[0].loss);
    EXPECT_EQ(step.lost, step.loss - set.loss) << "compared with all heads";
    options.off.push_back(step.head);
  }
  EXPECT_EQ(inspect::sweep_head_sets(*gpt_.model, pool_, all, 99).steps.size(), 8u) << "all heads";
}

// −log p of each random token, from the logits of a pass over the same sequence.
TEST_F(StudyValues, TheLossOfRepeatedTokensIsThatOfEachHalf) {
  for (const std::vector<std::int32_t>& first : {std::vector<std::int32_t>{}, {5}, {5, 9}}) {
    inspect::InductionOptions options;
    options.length = 6, options.sequences = 1, options.seed = 4, options.first = first;
    options.choices = {4, 8, 15, 16, 23};
    RandomStream stream({4, 0, place_of("repeated sequences")});
    std::vector<std::int32_t> ids = first;
    for (int i = 0; i < 6; ++i) ids.push_back(options.choices[stream.next_below(5)]);
    for (std::size_t i = 0; i < 6; ++i) ids.push_back(ids[first.size() + i]);
    const Tensor logits = inspect::run_with_probe(*gpt_.model, pool_, {}, ids, nullptr);
    std::vector<double> halves[2];
    // the first token of a sequence has no prediction
    for (std::size_t t = std::max<std::size_t>(first.size(), 1); t < ids.size(); ++t) {
      const float* row = logits.row(static_cast<std::int64_t>(t) - 1);
      double sum = 0;
      for (std::int64_t i = 0; i < logits.columns(); ++i) sum += std::exp(static_cast<double>(row[i]));
      halves[t < first.size() + 6 ? 0 : 1].push_back(std::log(sum) - static_cast<double>(row[ids[t]]));
    }
    const auto mean = [](const std::vector<double>& all) {
      double sum = 0;
      for (const double one : all) sum += one;
      return sum / static_cast<double>(all.size());
    };
    const inspect::RepetitionLoss loss = inspect::repetition_loss(*gpt_.model, pool_, options);
    EXPECT_NEAR(loss.first, mean(halves[0]), 1e-9) << first.size();
    EXPECT_NEAR(loss.second, mean(halves[1]), 1e-9) << first.size();
  }
}

// The logits differ by more than 745, so their exponentials are computed relative to the largest logit.
TEST_F(StudyValues, LossesOfLargeLogitsAreFinite) {
  const auto scaled = [&](const std::filesystem::path& from, const char* weights, float factor) {
    copy_changed_model(from, folder_ / weights, [&](const std::string& name, const Tensor& weight) {
      if (!name.ends_with(weights)) return;
      for (std::int64_t i = 0; i < weight.elements(); ++i) weight.f32()[i] *= factor;
    });
    return infer::LoadedModel::open((folder_ / weights).string(), WeightMode::widened);
  };
  gpt_ = scaled(folder_ / "gpt", "norm.weight", 3000.0f);
  const StudyExample text = examples()[0];
  const Tensor logits = inspect::run_with_probe(*gpt_.model, pool_, {}, text.input.target, nullptr);
  const auto [least, most] = std::minmax_element(logits.f32(), logits.f32() + logits.columns());
  ASSERT_GT(*most - *least, 745.0f);
  inspect::InductionOptions options;
  options.length = 6, options.sequences = 1;
  const inspect::RepetitionLoss loss = inspect::repetition_loss(*gpt_.model, pool_, options);
  EXPECT_TRUE(std::isfinite(loss.first) && std::isfinite(loss.second));
  for (const inspect::LensCell& cell : inspect::logit_lens(*gpt_.model, pool_, text))
    EXPECT_TRUE(cell.probability > 0 && cell.probability <= 1) << cell.layer;
  const infer::LoadedModel nli = scaled(golden("hf-more/bert-nli"), "classifier.weight", 1e5f);
  double largest = 0;
  for (const char* label : {"0", "1", "2"}) {
    const StudyExample one = inspect::study_example(nli, pool_, "green rivers", label);
    const auto batches = inspect::study_batches(*nli.model, {&one, 1});
    const double mean = inspect::loss_of(batches, pool_, nullptr).mean();
    EXPECT_TRUE(std::isfinite(mean)) << label;
    largest = std::max(largest, mean);
  }
  EXPECT_GT(largest, 745.0);
}

TEST_F(StudyValues, HeadsAreSortedByInduction) {
  const auto scores = induction(gpt_, 8, 2);
  ASSERT_EQ(scores.size(), 8u);
  for (std::size_t i = 1; i < scores.size(); ++i)
    EXPECT_GE(scores[i - 1].induction, scores[i].induction) << i;
  EXPECT_GT(scores.front().induction, scores.back().induction);
}

TEST_F(StudyValues, InductionNeedsADecoderAndTwoTokens) {
  EXPECT_REGARD_ERROR(induction(translator_, 8, 2), ErrorKind::usage,
                      "induction cannot be measured on this model (expected a decoder-only model)");
  for (const auto& [length, sequences] : {std::pair{1, 1}, {2, 0}})
    EXPECT_REGARD_ERROR(
        induction(gpt_, length, sequences), ErrorKind::usage,
        "too few repeated tokens or sequences (expected at least 2 tokens and 1 sequence, found " +
            std::to_string(length) + " tokens and " + std::to_string(sequences) + " sequences)");
  EXPECT_EQ(induction(gpt_, 2, 1).size(), 8u);
  EXPECT_EQ(induction(gpt_, 32, 1).size(), 8u);
  EXPECT_REGARD_ERROR(induction(gpt_, 33, 1), ErrorKind::usage,
                      "(expected at most 64 tokens, found 66 tokens). Set the length to at "
                      "most 32");
}

// A model without a maximum number of positions has the limits of the options only.
TEST_F(StudyValues, InductionOfAModelWithoutMaximumPositions) {
  write_text_model(folder_ / "llama", "llama");
  const auto llama = infer::LoadedModel::open((folder_ / "llama").string(), WeightMode::widened);
  ASSERT_EQ(llama.model->max_positions(), 0);
  EXPECT_EQ(induction(llama, 40, 1).size(), 8u);
  for (const auto& [length, sequences] : {std::pair{2049, 1}, {2, 10001}})
    EXPECT_REGARD_ERROR(
        induction(llama, length, sequences), ErrorKind::usage,
        "too many repeated tokens or sequences (expected at most 2048 tokens and 10000 sequences, found " +
            std::to_string(length) + " tokens and " + std::to_string(sequences) + " sequences)");
  inspect::InductionOptions options;
  options.length = 2, options.sequences = 1;
  const auto measure = [&] { return inspect::induction_scores(*llama.model, pool_, options).size(); };
  options.choices = {5};
  EXPECT_REGARD_ERROR(measure(), ErrorKind::usage,
                      "too few tokens for random sequences (expected at least 2 tokens, found 1 token)");
  options.choices = {5, 6};
  EXPECT_EQ(measure(), 8u);
  options.choices.clear();
  options.first_random = static_cast<std::int32_t>(llama.model->vocabulary()) - 1;
  EXPECT_REGARD_ERROR(measure(), ErrorKind::usage, "found 1 token)");
  --options.first_random;
  EXPECT_EQ(measure(), 8u);
  options.first_random = -1;
  EXPECT_REGARD_ERROR(measure(), ErrorKind::usage, "too few tokens for random sequences");
}

// A batch has at most 1024 positions of sources and targets, or one longer example.
TEST_F(StudyValues, BatchesHaveAtMost1024Positions) {
  const auto batches = [&](const infer::LoadedModel& loaded,
                           const std::vector<std::pair<std::size_t, std::size_t>>& lengths) {
    std::vector<StudyExample> all;
    for (const auto& [source, target] : lengths) {
      StudyExample& one = all.emplace_back();
      one.input.source.ids.assign(source, 5);
      one.input.target.assign(target, 6);
      one.labels.assign(target, 7);
    }
    return inspect::study_batches(*loaded.model, all).size();
  };
  EXPECT_EQ(batches(gpt_, {{0, 600}, {0, 424}}), 1u);
  EXPECT_EQ(batches(gpt_, {{0, 600}, {0, 425}}), 2u);
  EXPECT_EQ(batches(gpt_, {{0, 1025}, {0, 1}, {0, 1023}}), 2u);
  EXPECT_EQ(batches(translator_, {{500, 100}, {300, 124}}), 1u);
  EXPECT_EQ(batches(translator_, {{500, 100}, {300, 125}}), 2u);
}

TEST_F(StudyValues, InputsOfAProbeAreTheTexts) {
  const auto file = write_file(folder_.path(), "labelled.tsv", "the fox\tone\n\na dog\ttwo\nan egg\tone\n");
  inspect::StudyDataOptions options;
  options.most_examples = 2;
  const auto gpt = inspect::read_labeled_inputs(gpt_, {.files = {file.string()}}, options);
  ASSERT_EQ(gpt.inputs.size(), 2u);
  EXPECT_EQ(gpt.network, gpt_.model.get());
  EXPECT_EQ(gpt.inputs[1].label, "two");
  EXPECT_EQ(gpt.inputs[1].read().target, gpt_.read("a dog").ids);
  EXPECT_TRUE(gpt.inputs[1].read().source.empty());
  const auto all = inspect::read_labeled_inputs(translator_, {.files = {file.string()}});
  ASSERT_EQ(all.inputs.size(), 3u);
  EXPECT_EQ(all.inputs[2].label, "one");
  EXPECT_EQ(all.inputs[2].read().source.ids, translator_.read("an egg").ids);
  EXPECT_EQ(all.inputs[2].read().target, std::vector<std::int32_t>{2}) << "the start token";
  write_file(folder_.path(), "labelled.tsv", "the fox\tone\na dog\n");
  EXPECT_REGARD_ERROR(inspect::read_labeled_inputs(gpt_, {.files = {file.string()}}),
                      ErrorKind::invalid_input,
                      "labelled.tsv:2: the line has no label (expected TEXT<tab>LABEL)");
}

}  // namespace
}  // namespace regard::testing
