// The tokens and generation steps of a view equal the ids and logits of the pass.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "inspect/attend.h"
#include "inspect/generation_steps.h"
#include "inspect/pass_input.h"
#include "inspect/shown_tokens.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

using inspect::AttendRequest;
using inspect::GenerationStep;
using inspect::View;
using Ids = std::vector<std::int32_t>;

Ids ids_of(const std::vector<inspect::TokenOrigin>& origin) {
  Ids ids;
  for (const inspect::TokenOrigin& one : origin) ids.push_back(one.id);
  return ids;
}

class AttendSteps : public ::testing::Test {
 protected:
  infer::LoadedModel open(const std::string& name) {
    write_text_model(folder_ / name, name);
    return infer::LoadedModel::open(folder_ / name);
  }
  // Expect one step per position: `most` candidates in descending order, and the logit of the written token.
  void expect_steps(const View& view, const Tensor& logits, const Ids& written, std::size_t most) {
    EXPECT_EQ(ids_of(view.tokens.written_origin), written);
    ASSERT_EQ(view.steps.size(), written.size());
    ASSERT_EQ(view.tokens.written.size(), written.size());
    for (std::size_t t = 0; t < written.size(); ++t) {
      const std::span<const float> row(logits.row(static_cast<std::int64_t>(t)),
                                       static_cast<std::size_t>(logits.columns()));
      const GenerationStep& step = view.steps[t];
      EXPECT_EQ(step.written_logit, row[static_cast<std::size_t>(written[t])]) << t;
      double sum = 0;
      for (const float logit : row) sum += std::exp(static_cast<double>(logit));
      EXPECT_NEAR(step.log_sum_exp, std::log(sum), 1e-9) << t;
      Ids order(row.size());
      std::iota(order.begin(), order.end(), 0);
      std::ranges::stable_sort(order, [&](std::int32_t a, std::int32_t b) {
        return row[static_cast<std::size_t>(a)] > row[static_cast<std::size_t>(b)];
      });
      ASSERT_EQ(step.candidates.size(), std::min(most, row.size())) << t;
      for (std::size_t c = 0; c < step.candidates.size(); ++c) {
        EXPECT_EQ(step.candidates[c].id, order[c]) << t << " " << c;
        EXPECT_EQ(step.candidates[c].logit, row[static_cast<std::size_t>(order[c])]) << t << " " << c;
      }
    }
  }

  TemporaryFolder folder_;
  ThreadPool pool_{1};
};

TEST_F(AttendSteps, OfADecoderPredictTheNextToken) {
  const infer::LoadedModel loaded = open("gpt");
  for (const std::size_t length : {5u, 64u, 65u}) {
    AttendRequest request;
    request.text = std::string(length, 'o');
    request.text[1] = 'x';
    const Ids read = loaded.read(request.text).ids;
    ASSERT_EQ(read.size(), length);
    const View view = inspect::attend(loaded, pool_, request);
    const Tensor logits = inspect::run_with_probe(*loaded.model, pool_, {}, read, nullptr);
    Ids written(read.begin() + 1, read.end());
    const float* last = logits.row(logits.rows() - 1);
    written.push_back(static_cast<std::int32_t>(std::max_element(last, last + logits.columns()) - last));
    expect_steps(view, logits, written, length > 64 ? 8 : 50);
    EXPECT_EQ(ids_of(view.tokens.target_origin), read);
    EXPECT_EQ(view.tokens.target, inspect::shown_tokens(loaded.source.get(), read));
    EXPECT_EQ(view.tokens.written, inspect::shown_tokens(loaded.source.get(), written));
    EXPECT_EQ(view.prompt_tokens, 0);
    EXPECT_EQ(view.translation, "");
    EXPECT_TRUE(view.tokens.source.empty());
  }
}

TEST_F(AttendSteps, OfAContinuationCountThePrompt) {
  const infer::LoadedModel loaded = open("gpt");
  AttendRequest request;
  request.text = "the fox";
  const Ids prompt = loaded.read(request.text).ids;
  request.written = loaded.read(" jumps").ids;
  const View view = inspect::attend(loaded, pool_, request);
  Ids read = prompt;
  read.insert(read.end(), request.written.begin(), request.written.end());
  EXPECT_EQ(view.prompt_tokens, std::ssize(prompt));
  EXPECT_EQ(ids_of(view.tokens.target_origin), read);
  EXPECT_EQ(view.translation, loaded.target->decode(request.written));
  EXPECT_EQ(view.steps.size(), read.size());
}

TEST_F(AttendSteps, OfATranslationAreThoseOfItsTokens) {
  const infer::LoadedModel loaded = open("translator");
  AttendRequest request;
  request.text = "the fox";
  request.written = inspect::written_ids(loaded, "a dog");
  const View view = inspect::attend(loaded, pool_, request);
  const Ids source = loaded.read(request.text).ids, read = inspect::read_ids(2, request.written);
  ModelInput input;
  input.ids = source;
  expect_steps(view, inspect::run_with_probe(*loaded.model, pool_, input, read, nullptr), request.written,
               50);
  EXPECT_EQ(ids_of(view.tokens.source_origin), source);
  EXPECT_EQ(ids_of(view.tokens.target_origin), read);
  EXPECT_EQ(view.translation, "a dog");
  std::vector<bool> special;
  for (const std::int32_t id : request.written) special.push_back(id == 3);
  EXPECT_EQ(view.tokens.special_written, special) << "the end token";
  EXPECT_TRUE(view.tokens.special_target.at(0)) << "the start token";
  EXPECT_EQ(view.size->kind, ModelKind::encoder_decoder);
  EXPECT_TRUE(view.size->sinusoids);
  EXPECT_EQ(view.size->hidden, loaded.model->hidden_size());
  EXPECT_EQ(view.size->vocabulary, loaded.model->vocabulary());
  EXPECT_EQ(view.size->parameters, loaded.model->parameter_count());
  EXPECT_EQ(view.size->weights.size(), loaded.model->parameters().size());
}

TEST_F(AttendSteps, RequestsThatDoNotFitTheModelAreRefused) {
  const infer::LoadedModel translator = open("translator"), gpt = open("gpt");
  AttendRequest request;
  request.text = "the fox";
  EXPECT_REGARD_ERROR(inspect::attend(translator, pool_, request), ErrorKind::usage,
                      "the target of the encoder-decoder is missing. Give the tokens of a target");
  request.pair = "a dog";
  EXPECT_REGARD_ERROR(inspect::attend(gpt, pool_, request), ErrorKind::usage,
                      "pairs of texts need an encoder model. Give one text");
  EXPECT_REGARD_ERROR(inspect::pass_input(gpt, pool_, "the fox", "a dog"), ErrorKind::usage,
                      "a target needs an encoder-decoder model. Remove the target");
}

// Without logits there are no steps, and a step needs both a row and a written token.
TEST(GenerationSteps, AreThoseOfRowsWithAToken) {
  EXPECT_TRUE(inspect::generation_steps({}, Ids{1, 2}, nullptr).empty());
  const Tensor logits = Tensor::of({2, 3}, {0.5f, 2.0f, 2.0f, 1.0f, 0.0f, 3.0f});
  EXPECT_EQ(inspect::generation_steps(logits, Ids{1}, nullptr).size(), 1u);
  const std::vector<GenerationStep> steps = inspect::generation_steps(logits, Ids{0, 2, 1}, nullptr);
  ASSERT_EQ(steps.size(), 2u);
  const std::vector<Ids> order{{1, 2, 0}, {2, 0, 1}};
  for (std::size_t t = 0; t < 2; ++t)
    for (std::size_t c = 0; c < 3; ++c) {
      EXPECT_EQ(steps[t].candidates[c].id, order[t][c]) << "equal logits are ordered by id";
      EXPECT_EQ(steps[t].candidates[c].text, std::to_string(order[t][c]));
    }
  EXPECT_EQ(steps[0].written_logit, 0.5f);
  EXPECT_EQ(steps[1].written_logit, 3.0f);
}

}  // namespace
}  // namespace regard::testing
