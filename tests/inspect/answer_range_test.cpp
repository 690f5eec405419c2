// Errors for positions, tokens, classes and stacks that a model does not have.
#include <gtest/gtest.h>

#include "inspect/answer_pass.h"
#include "inspect/gradients.h"
#include "inspect/residual_reader.h"
#include "models/weights.h"
#include "support/hf_folder.h"
#include "support/namespaces.h"
#include "support/throws.h"
#include "support/tiny_models.h"

namespace regard::testing {
namespace {

using inspect::AnswerDifference;
using inspect::PassInput;

PassInput three_tokens() {
  PassInput input;
  input.target = {3, 9, 7};
  return input;
}

// Every function that measures an answer checks its position and its tokens.
TEST(AnswerRange, PositionsAndTokensAreThoseOfTheModel) {
  ThreadPool pool(1);
  const auto model = tiny_model("gpt");
  const PassInput input = three_tokens();
  inspect::StudyExample example;
  example.input = input, example.labels = {9, 7, kIgnoredLabel};
  const auto vocabulary = static_cast<std::int32_t>(model->vocabulary());
  const std::string last = std::to_string(vocabulary - 1), size = std::to_string(vocabulary);
  const std::pair<AnswerDifference, std::string> cases[] = {
      {{-1, 1, 2}, "the position is out of range (expected a position from 0 to 2, found -1)"},
      {{3, 1, 2}, "the position is out of range (expected a position from 0 to 2, found 3)"},
      {{0, -2, 1}, "out of range (expected an id from 0 to " + last + ", found -2)"},
      {{2, vocabulary, 1}, "out of range (expected an id from 0 to " + last + ", found " + size + ")"},
      {{2, 1, vocabulary}, "out of range (expected an id from 0 to " + last + ", found " + size + ")"},
  };
  for (const auto& [answer, message] : cases) {
    EXPECT_REGARD_ERROR(inspect::answer_difference(*model, pool, input, answer, nullptr), ErrorKind::usage,
                        message);
    EXPECT_REGARD_ERROR(inspect::direct_attribution(*model, pool, example, answer), ErrorKind::usage,
                        message);
    EXPECT_REGARD_ERROR(inspect::attribute_tokens(*model, pool, input, answer, {}), ErrorKind::usage,
                        message);
  }
  for (const AnswerDifference& answer :
       {AnswerDifference{0, 0, vocabulary - 1}, {2, vocabulary - 1, 0}, {2, vocabulary - 1, -1}}) {
    EXPECT_NO_THROW(inspect::answer_difference(*model, pool, input, answer, nullptr));
    EXPECT_NO_THROW(inspect::direct_attribution(*model, pool, example, answer));
  }
}

TEST(AnswerRange, ModelsWithoutLogitsOfTokensOrClassesAreRefused) {
  ThreadPool pool(1);
  for (const char* name : {"bert", "bert-qa", "electra-discriminator"}) {
    const auto model = load_model(formats::ModelFolder::open(HfFolder(name).path));
    PassInput input;
    input.source.ids = {3, 9, 7};
    EXPECT_REGARD_ERROR(inspect::answer_difference(*model, pool, input, {0, 0, 1}, nullptr), ErrorKind::usage,
                        "the model has no logits of tokens or classes (expected a decoder, an "
                        "encoder-decoder or a classifier)");
  }
}

TEST(AnswerRange, TheStackOfAnEmbeddingIsOneOfTheModel) {
  ThreadPool pool(1);
  const auto refused = [&](Network& model, const PassInput& input, const char* stack, const char* expected) {
    const Tensor embedding = Tensor::zeros({3, model.hidden_size()});
    EXPECT_REGARD_ERROR(inspect::answer_gradient(model, pool, input, {0, 0, 1}, {stack, embedding}),
                        ErrorKind::usage,
                        std::string("the model has no embedding in this stack (expected ") + expected +
                            ", found " + stack + ")");
  };
  refused(*tiny_model("gpt"), three_tokens(), "encoder", "decoder");
  PassInput both = three_tokens();
  both.source.ids = {3, 9, 7};
  refused(*tiny_model("translator"), both, "other", "encoder or decoder");
  both.target.clear();
  refused(*load_model(formats::ModelFolder::open(HfFolder("bert-classifier").path)), both, "decoder",
          "encoder");
}

TEST(AnswerRange, ABaselineHasTheShapeOfTheEmbedding) {
  ThreadPool pool(1);
  const auto model = tiny_model("gpt");
  const std::int64_t width = model->hidden_size();
  const AnswerDifference answer{2, 1, 2};
  inspect::AttributionOptions options;
  options.steps = 1;
  for (const std::int64_t rows : {1, 3}) {
    options.baseline = Tensor::zeros({rows, width});
    EXPECT_NO_THROW(inspect::attribute_tokens(*model, pool, three_tokens(), answer, options));
  }
  const std::string expected = "the shape of the baseline does not match the embedding (expected [1, " +
                               std::to_string(width) + "] or [3, " + std::to_string(width) + "], found [";
  for (const Shape& shape : {Shape{2, width}, Shape{1, width - 1}, Shape{3, width + 1}}) {
    options.baseline = Tensor::zeros(shape);
    EXPECT_REGARD_ERROR(inspect::attribute_tokens(*model, pool, three_tokens(), answer, options),
                        ErrorKind::usage, expected);
  }
  EXPECT_REGARD_ERROR(inspect::gauss_legendre(1001), ErrorKind::usage,
                      "the number of integration steps is out of range (expected 1 to 1000, found 1001)");
  EXPECT_EQ(inspect::gauss_legendre(1000).nodes.size(), 1000u);
}

// 64 positions are the maximum of attention flow.
TEST(AnswerRange, AttentionFlowHasAtMost64Positions) {
  ThreadPool pool(1);
  const auto model = tiny_model("llama");
  const auto flow = [&](std::size_t tokens, std::int64_t position) {
    PassInput input;
    input.target.assign(tokens, 5);
    // the first call ends the study, because a complete one takes seconds
    return inspect::attention_flow(*model, pool, input, position, nullptr,
                                   [] { throw cancelled_error("the study was stopped"); });
  };
  EXPECT_REGARD_ERROR(flow(64, 63), ErrorKind::cancelled, "stopped");
  EXPECT_REGARD_ERROR(flow(65, 0), ErrorKind::usage,
                      "the input is too long for attention flow (expected at most 64 positions, found 65 "
                      "positions)");
  EXPECT_REGARD_ERROR(flow(3, 3), ErrorKind::usage,
                      "the position is out of range (expected a position from 0 to 2, found 3)");
  EXPECT_REGARD_ERROR(flow(3, -1), ErrorKind::usage, "(expected a position from 0 to 2, found -1)");
}

}  // namespace
}  // namespace regard::testing
