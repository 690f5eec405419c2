// Interventions and studies compared with TransformerLens (GPT-2) and captum (BERT);
// tools/make_intervention_goldens.py makes the goldens.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>

#include "formats/safetensors.h"
#include "inspect/gradients.h"
#include "inspect/head_kinds.h"
#include "inspect/head_sweep.h"
#include "inspect/patching.h"
#include "inspect/residual_reader.h"
#include "models/weights.h"
#include "support/golden.h"
#include "support/hf_folder.h"
#include "support/namespaces.h"
#include "support/resident.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/tiny_models.h"

namespace regard::testing {
namespace {

using inspect::Head;
using inspect::Kind;

struct GoldenModel {
  explicit GoldenModel(const std::string& folder, const std::string& file)
      : pool(2),
        model(load_model(formats::ModelFolder::open(testing::HfFolder(folder).path))),
        golden(formats::SafetensorsFile::open(testing::golden("interventions/" + file))) {}

  std::vector<std::int32_t> ids(const std::string& name, std::int64_t row = 0) const {
    const Tensor all = golden->tensor(name);
    std::vector<std::int32_t> out;
    for (std::int64_t i = 0; i < all.columns(); ++i)
      out.push_back(static_cast<std::int32_t>(all.i64()[row * all.columns() + i]));
    return out;
  }
  double number(const std::string& name, std::int64_t index = 0) const {
    return static_cast<double>(golden->tensor(name).f32()[index]);
  }

  ThreadPool pool;
  std::unique_ptr<Network> model;
  std::shared_ptr<const formats::SafetensorsFile> golden;
};

std::string list(const std::vector<std::int32_t>& ids) {
  return fmt::format("{}", fmt::join(ids, ","));
}

inspect::PassInput decoder_input(std::vector<std::int32_t> ids) {
  inspect::PassInput input;
  input.target = std::move(ids);
  return input;
}

void expect_near(const Tensor& actual, const Tensor& golden, double tolerance, const std::string& name) {
  ASSERT_EQ(actual.elements(), golden.elements()) << name;
  double worst = 0;
  for (std::int64_t i = 0; i < golden.elements(); ++i)
    worst = std::max(worst,
                     std::abs(static_cast<double>(actual.f32()[i]) - static_cast<double>(golden.f32()[i])));
  EXPECT_LE(worst, tolerance) << name;
}

class TransformerLens : public ::testing::Test {
 protected:
  TransformerLens() : g_("gpt2", "gpt2.safetensors") {}

  inspect::StudyExample example() const {
    inspect::StudyExample one;
    one.input = decoder_input(g_.ids("ids"));
    return one;
  }
  inspect::AnswerDifference answer() const {
    const std::vector<std::int32_t> ids = g_.ids("answer");
    return {std::ssize(g_.ids("ids")) - 1, ids[0], ids[1]};
  }

  GoldenModel g_;
};

TEST_F(TransformerLens, InterventionsGiveTheSameLogits) {
  const testing::TemporaryFolder folder;
  const std::string file = (folder.path() / "vector.safetensors").string();
  formats::write_safetensors(file, {{{"vector", g_.golden->tensor("vector")}}}, {});
  const std::string other = list(g_.ids("other"));
  const std::pair<std::string, std::string> cases[] = {
      {"none", ""},
      {"zero decoder.1.2", ""},
      {"mean decoder.0.1", " ids=" + other},
      {"zero decoder.2.feed_forward.inner[3,8-11]", ""},
      {"zero decoder.1", ""},
      {"uniform decoder.0.3", ""},
      {"scale decoder.2.0", " by=0.25"},
      {"replace decoder.1.1", " ids=" + other},
      {"patch decoder.1.residual", " positions=3 ids=" + other},
      {"add decoder.0.residual", " by=1.5 vector=" + file + "#vector"},
  };
  const Tensor plain = g_.golden->tensor("logits.none");
  for (const auto& [name, rest] : cases) {
    std::vector<inspect::Intervention> interventions;
    if (name != "none") interventions.push_back(inspect::Intervention::parse(name + rest));
    const auto edits = inspect::resolve(*g_.model, g_.pool, nullptr, interventions);
    const Tensor logits = inspect::run_pass(*g_.model, g_.pool, decoder_input(g_.ids("ids")), edits.get());
    const Tensor golden = g_.golden->tensor("logits." + name);
    expect_near(logits, golden, 5e-5, name);
    double effect = 0;
    for (std::int64_t i = 0; i < golden.elements(); ++i)
      effect = std::max(effect, static_cast<double>(std::abs(golden.f32()[i] - plain.f32()[i])));
    if (name != "none") {
      EXPECT_GT(effect, 1e-2) << name << " changes nothing, so it proves nothing";
    }
  }
}

TEST_F(TransformerLens, HeadSweepHasTheSameLosses) {
  std::vector<inspect::StudyExample> examples;
  for (std::int64_t row = 0; row < 4; ++row) {
    inspect::StudyExample& one = examples.emplace_back();
    one.text = std::to_string(row);
    one.input = decoder_input(g_.ids("sentences", row));
    one.labels.assign(one.input.target.begin() + 1, one.input.target.end());
    one.labels.push_back(kIgnoredLabel);
  }
  const inspect::HeadSweep sweep = inspect::sweep_heads(*g_.model, g_.pool, examples);
  EXPECT_NEAR(sweep.loss, g_.number("sweep.loss"), 1e-5);
  EXPECT_EQ(sweep.count, 60);
  ASSERT_EQ(sweep.heads.size(), 12u);
  for (const inspect::HeadLoss& one : sweep.heads) {
    EXPECT_NEAR(one.loss, g_.number("sweep.heads", one.head.layer * 4 + one.head.head), 1e-5)
        << one.head.text();
    EXPECT_DOUBLE_EQ(one.lost, one.loss - sweep.loss);
  }
  for (std::size_t i = 1; i < sweep.heads.size(); ++i)
    EXPECT_GE(sweep.heads[i - 1].lost, sweep.heads[i].lost);
}

TEST_F(TransformerLens, PatchesMoveTheLogitDifferenceAlike) {
  for (const inspect::PatchMode mode : {inspect::PatchMode::total, inspect::PatchMode::direct}) {
    const bool direct = mode == inspect::PatchMode::direct;
    const inspect::PatchResult result =
        inspect::patch_components(*g_.model, g_.pool, decoder_input(g_.ids("ids")),
                                  decoder_input(g_.ids("other")), answer(), {.mode = mode});
    EXPECT_NEAR(result.clean, g_.number("patch.clean"), 1e-4);
    EXPECT_NEAR(result.corrupted, g_.number("patch.corrupted"), 1e-4);
    std::size_t compared = 0;
    for (const inspect::PatchEffect& one : result.effects) {
      double golden = 0;
      const std::int64_t layer = one.component[8] - '0';
      if (one.head)
        golden = g_.number("patch.heads", (direct ? 12 : 0) + one.head->layer * 4 + one.head->head);
      else if (one.position >= 0)
        golden = g_.number("patch.residual", layer * 12 + one.position);
      else
        golden = g_.number("patch.feed_forward", (direct ? 3 : 0) + layer);
      EXPECT_NEAR(one.difference, golden, 2e-4) << one.component << " " << one.position;
      EXPECT_NEAR(one.effect, (golden - result.corrupted) / (result.clean - result.corrupted), 1e-3);
      ++compared;
    }
    EXPECT_EQ(compared, direct ? 15u : 15u + 36u);
  }
}

TEST_F(TransformerLens, LogitLensReadsTheSameTokens) {
  const Tensor best = g_.golden->tensor("lens.best");  // [layers + 1, positions]
  const std::vector<inspect::LensCell> cells = inspect::logit_lens(*g_.model, g_.pool, example());
  ASSERT_EQ(std::ssize(cells), best.elements());
  for (const inspect::LensCell& cell : cells) {
    const std::int64_t at = (cell.layer + 1) * best.columns() + cell.position;
    EXPECT_EQ(cell.best, best.i64()[at]) << cell.layer << " " << cell.position;
    EXPECT_NEAR(cell.probability, g_.number("lens.probability", at), 1e-5);
  }
}

TEST_F(TransformerLens, DirectAttributionHasTheSameShares) {
  const inspect::DirectAttribution found =
      inspect::direct_attribution(*g_.model, g_.pool, example(), answer());
  EXPECT_NEAR(found.difference, g_.number("patch.clean"), 1e-4);
  double sum = found.rest;
  for (const inspect::DirectShare& one : found.shares) {
    sum += one.share;
    double golden = 0;
    if (one.head)
      golden = g_.number("direct.heads", one.head->layer * 4 + one.head->head);
    else if (one.component == "embedding")
      golden = g_.number("direct.embedding");
    else
      golden = g_.number(one.component.ends_with(".bias") ? "direct.bias" : "direct.feed_forward",
                         one.component[8] - '0');
    EXPECT_NEAR(one.share, golden, 2e-4) << one.component;
  }
  EXPECT_NEAR(sum, found.difference, 1e-9);
}

// Studies of one position need the memory of one pass, also for a long text and a large vocabulary.
TEST(ResidualReader, NeedsLittleMoreMemoryThanOnePass) {
  TransformerConfig config = tiny_config("gpt");
  config.vocabulary = 20000, config.max_positions = 300;
  const std::unique_ptr<Network> model = make_transformer(config);
  initialise(*model, 1);
  ThreadPool pool(1);
  inspect::StudyExample example;
  example.input.target = random_tokens({300}, config.vocabulary, 1)[0];
  inspect::run_pass(*model, pool, example.input, nullptr);
  const double before = resident_mib("VmHWM");
  const auto cells = inspect::logit_lens(*model, pool, example);
  EXPECT_EQ(std::ssize(cells), 300 * (config.layers + 1));
  const auto found = inspect::direct_attribution(*model, pool, example, {299, 5, 6});
  EXPECT_EQ(std::ranges::count_if(found.shares, [](const auto& one) { return one.head.has_value(); }),
            config.layers * config.heads);
  EXPECT_LT(resident_mib("VmHWM") - before, 80);
}

// The attention weights of a few layers at a time are in memory.
TEST(InductionScores, NeedTheMemoryOfAFewLayers) {
  TransformerConfig config = tiny_config("gpt");
  config.layers = 12, config.heads = 4, config.max_positions = 2048;
  const std::unique_ptr<Network> model = make_transformer(config);
  initialise(*model, 1);
  ThreadPool pool(2);
  inspect::InductionOptions options;
  options.length = 1023, options.sequences = 1;
  const double before = resident_mib("VmHWM");
  EXPECT_EQ(std::ssize(inspect::induction_scores(*model, pool, options)), config.layers * config.heads);
  EXPECT_LT(resident_mib("VmHWM") - before, 500) << "all weights need 767 MiB";
}

TEST(Captum, GradientsOfTheEmbeddingAreTheSame) {
  const GoldenModel g("bert-classifier", "bert.safetensors");
  inspect::PassInput input;
  input.source.ids = g.ids("ids");
  const std::int32_t target = g.ids("target")[0];
  ThreadPool pool(2);
  inspect::AttributionOptions options;
  options.steps = 20;
  options.baseline = g.golden->tensor("baseline");
  const inspect::TokenAttribution found =
      inspect::attribute_tokens(*g.model, pool, input, {0, target, -1}, options);
  EXPECT_NEAR(found.difference, g.number("logits", target), 1e-5);
  for (std::size_t i = 0; i < found.integrated.size(); ++i) {
    EXPECT_NEAR(found.gradient_input[i], g.number("gradient_input", static_cast<std::int64_t>(i)), 1e-4) << i;
    EXPECT_NEAR(found.integrated[i], g.number("integrated", static_cast<std::int64_t>(i)), 1e-4) << i;
  }
  EXPECT_NEAR(found.completeness_error, g.number("delta"), 1e-4);
}

TEST(Quadrature, IntegratesPolynomialsExactly) {
  for (const std::int64_t count : {1, 2, 7, 50}) {
    const inspect::Quadrature q = inspect::gauss_legendre(count);
    for (std::int64_t power = 0; power < 2 * count; ++power) {
      double sum = 0;
      for (std::size_t i = 0; i < q.nodes.size(); ++i)
        sum += q.weights[i] * std::pow(q.nodes[i], static_cast<double>(power));
      EXPECT_NEAR(sum, 1.0 / static_cast<double>(power + 1), 1e-13) << count << " " << power;
    }
  }
  EXPECT_THROW(inspect::gauss_legendre(0), Error);
}

}  // namespace
}  // namespace regard::testing
