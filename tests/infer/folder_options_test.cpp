// Options of a search that a model folder contains: every key, and wrong values.
#include "infer/folder_options.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "support/throws.h"

namespace regard::infer {
namespace {

SearchOptions options_from(const char* settings) {
  formats::ModelFolder folder;
  folder.config = Json::object(), folder.config_file = "config.json";
  folder.generation_config = parse_json(settings, "settings");
  return search_options_of(folder);
}

void refused(const char* settings, const std::string& message) {
  EXPECT_REGARD_ERROR(options_from(settings), ErrorKind::bad_file, message);
}

TEST(FolderOptions, HaveDefaults) {
  const SearchOptions options = options_from("{}"), plain;
  EXPECT_TRUE(options.rules.change_nothing());
  EXPECT_EQ(options.end_tokens, plain.end_tokens);
  EXPECT_EQ(options.early_stopping, EarlyStopping::no);
  EXPECT_EQ(options.max_new, 0);
  EXPECT_EQ(options.max_length, 0);
  EXPECT_EQ(options.top_k, plain.top_k);
  EXPECT_EQ(options_from(R"({"max_length": -3})").max_length, 0);
  EXPECT_EQ(options_from(R"({"max_length": 9})").max_length, 9);
  EXPECT_EQ(options_from(R"({"max_length": 9, "decoder_start_token_id": 1})").max_new, 8);
  EXPECT_EQ(options_from(R"({"max_length": 2, "decoder_start_token_id": 1})").max_new, 1);
  EXPECT_EQ(options_from(R"({"max_length": 1, "decoder_start_token_id": 1})").max_new, 0);
  EXPECT_EQ(options_from(R"({"max_length": 9, "max_new_tokens": 5, "decoder_start_token_id": 1})").max_new,
            5);
}

TEST(FolderOptions, OfSamplingReplaceTheBeam) {
  const SearchOptions sampled = options_from(R"({"num_beams": 4, "do_sample": true})");
  EXPECT_EQ(sampled.beam, 1);
  EXPECT_EQ(sampled.top_k, 50);
  const SearchOptions all = options_from(R"({"do_sample": true, "temperature": 0.5, "top_k": 7, "top_p": 0.25,
      "min_p": 0.125, "typical_p": 0.75, "epsilon_cutoff": 0.0625, "eta_cutoff": 0.03125})");
  EXPECT_EQ(all.temperature, 0.5);
  EXPECT_EQ(all.top_k, 7);
  EXPECT_EQ(all.top_p, 0.25);
  EXPECT_EQ(all.min_p, 0.125);
  EXPECT_EQ(all.typical_p, 0.75);
  EXPECT_EQ(all.epsilon, 0.0625);
  EXPECT_EQ(all.eta, 0.03125);
}

TEST(FolderOptions, OfRules) {
  const SearchOptions options = options_from(R"({
      "bos_token_id": 8, "pad_token_id": 6, "eos_token_id": [3, -1, 4], "num_beams": 4,
      "num_return_sequences": 2, "length_penalty": 0.5, "early_stopping": "never",
      "encoder_repetition_penalty": 1.25, "repetition_penalty": 1.5, "no_repeat_ngram_size": 2,
      "encoder_no_repeat_ngram_size": 3, "bad_words_ids": [[1], [2, 3]], "min_length": 4, "min_new_tokens": 5,
      "forced_bos_token_id": 7, "forced_eos_token_id": 9, "suppress_tokens": [1, 2],
      "begin_suppress_tokens": 4, "renormalize_logits": true,
      "sequence_bias": [[[1, 2], 1.0], [[3], 2.0], [[1, 2], -0.5]],
      "exponential_decay_length_penalty": [10, 1.5]})");
  using Ids = std::vector<std::int32_t>;
  EXPECT_EQ(options.start_token, 8);
  EXPECT_EQ(options.pad_token, 6);
  EXPECT_EQ(options.end_tokens, (Ids{3, 4}));
  EXPECT_EQ(options.beam, 4);
  EXPECT_EQ(options.n_best, 2);
  EXPECT_EQ(options.length_penalty, 0.5);
  EXPECT_EQ(options.early_stopping, EarlyStopping::never);
  const TokenRules& rules = options.rules;
  EXPECT_EQ(rules.encoder_repetition_penalty, 1.25);
  EXPECT_EQ(rules.repetition_penalty, 1.5);
  EXPECT_EQ(rules.no_repeat_ngram, 2);
  EXPECT_EQ(rules.encoder_no_repeat_ngram, 3);
  EXPECT_EQ(rules.bad_words, (std::vector<Ids>{{1}, {2, 3}}));
  EXPECT_EQ(rules.min_length, 4);
  EXPECT_EQ(rules.min_new, 5);
  EXPECT_EQ(rules.forced_first, 7);
  EXPECT_EQ(rules.forced_last, Ids{9});
  EXPECT_EQ(rules.suppressed, (Ids{1, 2}));
  EXPECT_EQ(rules.suppressed_first, Ids{4});
  EXPECT_TRUE(rules.renormalise);
  ASSERT_EQ(rules.biases.size(), 2u) << "the last bias of a sequence applies";
  EXPECT_EQ(rules.biases[0].tokens, Ids{3});
  EXPECT_EQ(rules.biases[0].bias, 2.0);
  EXPECT_EQ(rules.biases[1].tokens, (Ids{1, 2}));
  EXPECT_EQ(rules.biases[1].bias, -0.5);
  ASSERT_TRUE(rules.ending.has_value());
  EXPECT_EQ(rules.ending->start, 10);
  EXPECT_EQ(rules.ending->factor, 1.5);
  EXPECT_EQ(options_from(R"({"early_stopping": true})").early_stopping, EarlyStopping::yes);
  EXPECT_EQ(options_from(R"({"early_stopping": false})").early_stopping, EarlyStopping::no);
}

TEST(FolderOptions, OfOtherFormsAreRefused) {
  const std::string ending =
      "config.json: \"exponential_decay_length_penalty\" is not a pair (expected [START, "
      "FACTOR], found ";
  refused(R"({"exponential_decay_length_penalty": 3})", ending + "the number 3)");
  refused(R"({"exponential_decay_length_penalty": [3]})", ending + "an array)");
  refused(R"({"exponential_decay_length_penalty": [3, 1.5, 2]})", ending + "an array)");
  const std::string bias =
      "config.json: an entry of \"sequence_bias\" is not a pair (expected [[IDS], BIAS], "
      "found ";
  refused(R"({"sequence_bias": [7]})", bias + "the number 7)");
  refused(R"({"sequence_bias": [[[1], 2.0, 3]]})", bias + "an array)");
  refused(R"({"early_stopping": "yes"})", "early_stopping");
}

TEST(FolderOptions, KeysWithoutEffectAreRefused) {
  check_setting_names(parse_json(R"({"num_beams": 1, "sequence_bias": 2, "max_new_tokens": 3})", "x"),
                      "--set");
  EXPECT_REGARD_ERROR(check_setting_names(parse_json(R"({"num_beam": 1})", "x"), "--set"), ErrorKind::usage,
                      "--set names a key without effect (expected \"num_beams\", found \"num_beam\")");
  EXPECT_REGARD_ERROR(check_setting_names(parse_json(R"({"zzzzzzzzzz": 1})", "x"), "--set"), ErrorKind::usage,
                      "(expected a key of generation_config.json that changes the search, found "
                      "\"zzzzzzzzzz\")");
}

}  // namespace
}  // namespace regard::infer
