// Limits, padding and missing hypotheses of `regard run --generate`.
#include "inspect/generate_tensors.h"

#include <gtest/gtest.h>

#include <limits>

#include "models/weights.h"
#include "support/hf_folder.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "support/tiny_models.h"

namespace regard::testing {
namespace {

using inspect::TensorMap;

Tensor matrix(const std::vector<std::vector<std::int32_t>>& rows, DType dtype = DType::i64) {
  Tensor all = Tensor::empty({std::ssize(rows), std::ssize(rows[0])}, dtype);
  std::int64_t i = 0;
  for (const auto& row : rows)
    for (const std::int32_t value : row)
      if (dtype == DType::i64)
        all.i64()[i++] = value;
      else
        all.i32()[i++] = value;
  return all;
}

std::vector<std::int64_t> row_of(const Tensor& all, std::int64_t row) {
  const std::int64_t length = all.shape()[1];
  return {all.i64() + row * length, all.i64() + (row + 1) * length};
}

class GenerateTensors : public ::testing::Test {
 protected:
  TensorMap generate(const TensorMap& inputs, const infer::SearchOptions& options) {
    return inspect::generate_tensors(*model_, pool_, inputs, options);
  }

  std::unique_ptr<Network> model_ = tiny_model("gpt");
  ThreadPool pool_{1};
  // The second prompt has two tokens of padding on the left.
  std::vector<std::vector<std::int32_t>> prompts_{{3, 9, 7, 5, 11}, {0, 0, 6, 4, 8}};
  TensorMap inputs_{{"input_ids", matrix(prompts_)},
                    {"attention_mask", matrix({{1, 1, 1, 1, 1}, {0, 0, 1, 1, 1}})}};
};

// As in transformers, max_length counts the prompt with its padding.
TEST_F(GenerateTensors, MaxLengthIsTheLengthOfTheResult) {
  infer::SearchOptions by_length, by_new;
  by_length.max_length = 8, by_new.max_new = 3;
  const Tensor found = generate(inputs_, by_length).at("sequences");
  ASSERT_TRUE(found.shape() == Shape({2, 8})) << found.shape().text();
  for (std::int64_t row = 0; row < 2; ++row) {
    const std::vector<std::int64_t> ids = row_of(found, row);
    EXPECT_TRUE(std::equal(prompts_[static_cast<std::size_t>(row)].begin(),
                           prompts_[static_cast<std::size_t>(row)].end(), ids.begin()));
    EXPECT_EQ(ids, row_of(generate(inputs_, by_new).at("sequences"), row));
  }
  EXPECT_EQ(generate(inputs_, by_length).count("sequences_scores"), 0u);
  by_length.max_new = 2;  // takes precedence
  EXPECT_TRUE(generate(inputs_, by_length).at("sequences").shape() == Shape({2, 7}));
  by_length.max_new = 0, by_length.max_length = 5;
  EXPECT_REGARD_ERROR(generate(inputs_, by_length), ErrorKind::invalid_input,
                      "the prompt leaves no room for new tokens (expected fewer than max_length = 5, found 5 "
                      "tokens)");
}

TEST_F(GenerateTensors, PromptsOf32BitsAreCopied) {
  infer::SearchOptions options;
  options.max_new = 3;
  const Tensor expected = generate(inputs_, options).at("sequences");
  inputs_["input_ids"] = matrix(prompts_, DType::i32);
  inputs_["attention_mask"] = matrix({{1, 1, 1, 1, 1}, {0, 0, 1, 1, 1}}, DType::i32);
  const Tensor found = generate(inputs_, options).at("sequences");
  for (std::int64_t row = 0; row < 2; ++row) EXPECT_EQ(row_of(found, row), row_of(expected, row));
}

// A sequence that ends is filled with the padding token or, without one, with the first end token. In a beam
// search, padding token 0 means that there is none.
TEST_F(GenerateTensors, EndedSequencesArePadded) {
  infer::SearchOptions options;
  options.max_new = 4;
  const Tensor plain = generate(inputs_, options).at("sequences");
  const std::vector<std::int64_t> first = row_of(plain, 0), second = row_of(plain, 1);
  const auto end = static_cast<std::int32_t>(first[5]);
  ASSERT_EQ(std::ranges::count(second, first[5]), 0) << "the second sequence must not end";
  for (const auto& [padding, filled] : {std::pair{-1, end}, {0, 0}, {1, 1}}) {
    options.end_tokens = {end, 2}, options.pad_token = padding;
    const Tensor found = generate(inputs_, options).at("sequences");
    EXPECT_EQ(row_of(found, 1), second);
    std::vector<std::int64_t> expected = first;
    std::fill(expected.begin() + 6, expected.end(), filled);
    EXPECT_EQ(row_of(found, 0), expected) << padding;
  }
  // Every result of a beam search that starts with an end token is filled.
  options.beam = 2, options.max_new = 1;
  for (std::int32_t id = 0; id < model_->vocabulary(); ++id) options.end_tokens.push_back(id);
  EXPECT_EQ(generate(inputs_, options).at("sequences").shape()[1], 6);
}

// One new token of a vocabulary of 5 has 5 hypotheses. The missing ones have the score −∞.
TEST_F(GenerateTensors, MissingHypothesesHaveNoScore) {
  TransformerConfig config = tiny_config("gpt");
  config.vocabulary = 5;
  model_ = make_transformer(config);
  initialise(*model_, 3);
  infer::SearchOptions options;
  options.beam = options.n_best = 8, options.max_new = 1, options.pad_token = 4;
  const TensorMap found = generate({{"input_ids", matrix({{3, 1}, {2, 2}})}}, options);
  const Tensor &sequences = found.at("sequences"), &scores = found.at("sequences_scores");
  ASSERT_TRUE(sequences.shape() == Shape({16, 3})) << sequences.shape().text();
  for (std::int64_t row = 0; row < 16; ++row) {
    const std::vector<std::int64_t> ids = row_of(sequences, row);
    EXPECT_EQ((std::vector<std::int64_t>{ids[0], ids[1]}),
              (row < 8 ? std::vector<std::int64_t>{3, 1} : std::vector<std::int64_t>{2, 2}));
    if (row % 8 < 5) {
      EXPECT_GT(scores.f32()[row], -100.0f) << row;
      if (row % 8 > 0) {
        EXPECT_LE(scores.f32()[row], scores.f32()[row - 1]);
      }
    } else {
      EXPECT_EQ(scores.f32()[row], -std::numeric_limits<float>::infinity()) << row;
      EXPECT_EQ(ids[2], 4) << "padding";
    }
  }
}

TEST_F(GenerateTensors, AnEncoderGeneratesNothing) {
  model_ = load_model(formats::ModelFolder::open(HfFolder("bert").path));
  EXPECT_REGARD_ERROR(generate(inputs_, {}), ErrorKind::usage,
                      "this model cannot generate text: it has no decoder (expected a decoder or an "
                      "encoder-decoder)");
}

// As in transformers, 20 new tokens are the default.
TEST_F(GenerateTensors, TwentyNewTokensAreTheDefault) {
  formats::ModelFolder folder = formats::ModelFolder::open(HfFolder("gpt2").path);
  folder.generation_config = Json::object();
  EXPECT_EQ(inspect::tensor_search_options(folder).max_new, 20);
  (*folder.generation_config)["max_length"] = 9;
  EXPECT_EQ(inspect::tensor_search_options(folder).max_new, 0);
  EXPECT_EQ(inspect::tensor_search_options(folder).max_length, 9);
  (*folder.generation_config)["max_new_tokens"] = 7;
  EXPECT_EQ(inspect::tensor_search_options(folder).max_new, 7);
}

}  // namespace
}  // namespace regard::testing
