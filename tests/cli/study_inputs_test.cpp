// regard study on families and inputs for which a view needs its own code: rotary positions, masked language
// models, classifiers of several labels, recurrent networks and models with two encoders.
#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace regard::testing {
namespace {

class StudyInputs : public ::testing::Test {
 protected:
  ProgramResult study(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "study");
    return run_program(arguments, folder_.path());
  }
  Json table(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--json", "-q"});
    const ProgramResult result = study(std::move(arguments));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.exit_code == 0 ? parse_json(result.out, "out") : Json::object();
  }
  void expect_error(const std::vector<std::string>& arguments, int exit_code,
                    const std::vector<std::string>& parts) {
    const ProgramResult result = study(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    for (const std::string& part : parts)
      EXPECT_NE(result.err.find(part), std::string::npos) << part << ": " << result.err;
  }
  TemporaryFolder folder_;
  std::string clip_ = golden("hf-more/clip-words").string(), image_ = golden("pictures/deep.png").string();
};

// The backward pass of rotary positions reads the shape of the batch.
TEST_F(StudyInputs, GradientsOfADecoderWithRotaryPositionsAreComplete) {
  write_text_model(folder_ / "llama", "llama");
  const Json tokens =
      table({"llama", "--view", "tokens", "--text", "the fox", "--answer", "a", "--instead", "b"});
  ASSERT_EQ(tokens["rows"].size(), 7u);
  double sum = 0;
  for (const Json& row : tokens["rows"]) sum += row["integrated"].get<double>();
  const std::string note = tokens["notes"][0];  // ends "(BASELINE) to the text (DIFFERENCE), 50 steps."
  const double baseline = std::stod(note.substr(note.find('(') + 1));
  const double difference = std::stod(note.substr(note.find('(', note.find(" to the text")) + 1));
  EXPECT_NEAR(sum, difference - baseline, 0.05 * std::max(1.0, std::abs(difference - baseline))) << tokens;
}

TEST_F(StudyInputs, TheAnswerOfAMaskedModelIsPredictedAtTheMask) {
  const std::vector<std::string> arguments{
      golden("tasks/roberta-fill").string(), "--view", "tokens", "--answer", "a", "--steps", "1", "--text"};
  std::vector<std::string> masked = arguments, plain = arguments;
  masked.emplace_back("the <mask>"), plain.emplace_back("the");
  const Json tokens = table(masked);
  std::size_t mask = 0;
  while (mask < tokens["rows"].size() && tokens["rows"][mask]["token"] != "<mask>") ++mask;
  EXPECT_TRUE(tokens["title"].get<std::string>().ends_with("at position " + std::to_string(mask))) << tokens;
  EXPECT_TRUE(table(plain)["title"].get<std::string>().ends_with("at position 0"));
}

// The loss of a multi-label classifier is the binary cross-entropy of the scores that `classify` prints.
TEST_F(StudyInputs, AMultiLabelClassifierHasABinaryLoss) {
  const std::string model = golden("hf-more/bert-multilabel").string();
  const std::pair<const char*, std::vector<std::string>> cases[] = {
      {"tag0", {"tag0"}},
      {"tag1 tag3", {"tag1", "tag3"}},
      {"[\"tag1\", \"tag3\"]", {"tag1", "tag3"}},
      {"[]", {}}};
  const ProgramResult scores =
      run_program({"classify", model, "--top", "0", "--json"}, folder_.path(), "the cat runs\n");
  ASSERT_EQ(scores.exit_code, 0) << scores.err;
  const Json labels = parse_json(scores.out, "out")["labels"];
  for (const auto& [target, names] : cases) {
    double loss = 0;
    for (const Json& one : labels) {
      const bool on = std::ranges::find(names, one["label"].get<std::string>()) != names.end();
      const double score = one["score"];
      loss -= std::log(on ? score : 1 - score) / static_cast<double>(labels.size());
    }
    write_file(folder_.path(), "labels.tsv", std::string("the cat runs\t") + target + "\n");
    const std::string title = table({model, "labels.tsv"})["title"];
    EXPECT_NEAR(std::stod(title.substr(title.find("predictions, ") + 13)), loss, 1e-4) << target;
  }
  write_file(folder_.path(), "labels.tsv", "the cat\ttag0\nthe dog\t[\n");
  expect_error({model, "labels.tsv"}, 3, {"labels.tsv:2", "not a JSON list"});
}

// The patterns of heads do not depend on labels, so labels that the model does not have are accepted.
TEST_F(StudyInputs, KindsNeedNoLabels) {
  write_file(folder_.path(), "images.tsv", image_ + "\tno such label\n");
  const std::string model = golden("hf-tiny/vit-patch16").string();
  EXPECT_EQ(table({model, "images.tsv", "--view", "kinds"})["rows"].size(), 8u);
  expect_error({model, "images.tsv"}, 3, {"no such label"});
}

TEST_F(StudyInputs, GradientsOfQuantisedWeightsAreRefused) {
  write_text_model(folder_ / "gpt", "gpt", 64);
  expect_error({"gpt", "--view", "tokens", "--text", "a b", "--answer", "a", "--quantize", "int8"}, 2,
               {"--quantize does not apply to --view tokens"});
}

TEST_F(StudyInputs, ModelsWithoutALossAreRefused) {
  write_file(folder_.path(), "lines.tsv", "the cat\t1\n");
  expect_error({golden("tasks/tag-distilbert").string(), "lines.tsv"}, 2,
               {"computes a loss for each input", "an encoder without a loss"});
  expect_error({golden("evaluate/regression-model").string(), "lines.tsv"}, 2,
               {"lines.tsv:1", "needs a classifier", "predicts a number"});
}

// With one layer, the rollout is half the mean of the heads plus half the identity matrix. The flow from a
// position equals the row of the rollout for this position.
TEST_F(StudyInputs, RolloutAndFlowOfAnImageStudyTheImageEncoder) {
  const Json plain = table({clip_, "--view", "rollout", "--text", image_});
  ASSERT_EQ(plain["columns"].size(), 6u) << plain;
  EXPECT_EQ(plain["columns"][1], "0 [CLS]");
  EXPECT_EQ(plain["columns"][5], "4 1,1");
  const std::string heads = "uniform vision.encoder.0.";
  const Json even = table(
      {clip_, "--view", "rollout", "--text", image_, "--intervene", heads + "0", "--intervene", heads + "1"});
  for (const Json& row : even["rows"]) {
    double sum = 0;
    for (std::size_t c = 1; c < even["columns"].size(); ++c) {
      const double value = row[even["columns"][c].get<std::string>()];
      EXPECT_NEAR(value, row["position"] == even["columns"][c] ? 0.6 : 0.1, 1e-6);
      sum += value;
    }
    EXPECT_NEAR(sum, 1.0, 1e-6);
  }
  const Json flow = table({clip_, "--view", "flow", "--text", image_, "--position", "2"});
  const Json row = table({clip_, "--view", "rollout", "--text", image_, "--position", "2"});
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(flow["rows"][i]["patch"], row["rows"][i]["patch"]);
    EXPECT_NEAR(flow["rows"][i]["flow"].get<double>(), row["rows"][i]["rollout"].get<double>(), 1e-6);
  }
  expect_error({clip_, "--view", "rollout", "--text", "nowhere.png"}, 4, {"nowhere.png"});
  const ProgramResult unused =
      study({clip_, "--view", "rollout", "--text", image_, "--intervene", "uniform text.encoder.0.0"});
  EXPECT_NE(unused.err.find("no pass computes the values at this place"), std::string::npos) << unused.err;
}

// attend shows the encoder that reads the input. An intervention on the other encoder gives a warning.
TEST_F(StudyInputs, AttendShowsTheImageEncoderForAnImage) {
  const std::vector<std::string> attend{"attend", clip_, image_, "--json", "-q", "--intervene"};
  for (const auto& [encoder, warnings] : {std::pair{"vision", 0u}, {"text", 1u}}) {
    std::vector<std::string> arguments = attend;
    arguments.push_back(std::string("uniform ") + encoder + ".encoder.0.0");
    const ProgramResult result = run_program(arguments, folder_.path());
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const Json view = parse_json(result.out, "out");
    EXPECT_EQ(view["tokens"]["source"]["text"], Json::array({"[CLS]", "0,0", "0,1", "1,0", "1,1"}));
    EXPECT_EQ(view.contains("warnings") ? view["warnings"].size() : 0u, warnings) << view;
    EXPECT_EQ(view["attention"][0]["pattern"] == "spread", warnings == 0u) << view["attention"][0];
  }
}

// CLIP takes the vector of a text from its end token, which is at position 3.
TEST_F(StudyInputs, FlowOfATextOfTwoEncodersBeginsAtItsEndToken) {
  const Json flow = table({clip_, "--view", "flow", "--text", "a cat"});
  EXPECT_EQ(flow["title"], "Attention flow from position 3 to each input token") << flow;
  EXPECT_EQ(flow["rows"][3]["token"], "<|endoftext|>");
}

TEST_F(StudyInputs, TheSecondInputOfPatchingHasTheTargetOfTheFirst) {
  write_text_model(folder_ / "translator", "translator");
  const std::vector<std::string> arguments{"translator", "--view",  "patch",    "--text", "the fox",
                                           "--other",    "the fig", "--answer", "a"};
  const Json generated = table(arguments);
  EXPECT_GT(generated["rows"].size(), 24u);
  const ProgramResult text =
      run_program({"translate", "translator", "--beam", "1"}, folder_.path(), "the fox\n");
  EXPECT_EQ(text.exit_code, 0) << text.err;
  const std::string whisper = golden("sound/whisper-small").string();
  const Json sounds = table({whisper, "--view", "path", "--text", whisper + "/short.wav", "--other",
                             golden("page/tiny.wav").string(), "--answer", "fox"});
  EXPECT_GT(sounds["rows"].size(), 24u);
}

TEST_F(StudyInputs, PositionsWithoutAPredictionHaveNoProbability) {
  const std::string whisper = golden("sound/whisper-small").string();
  const std::vector<std::string> lens{whisper,    "--view", "lens", "--text", whisper + "/short.wav",
                                      "--target", "the fox"};
  const Json rows = table(lens)["rows"];
  EXPECT_EQ(rows[0]["wanted"], "");
  EXPECT_EQ(rows[0]["p(wanted)"], "");
  EXPECT_TRUE(rows[rows.size() - 1]["p(wanted)"].is_number());
  std::vector<std::string> svg = lens;
  svg.insert(svg.end(), {"--svg", "lens.svg", "--csv", "-"});
  const ProgramResult written = study(svg);
  EXPECT_EQ(written.exit_code, 0) << written.err;
}

TEST_F(StudyInputs, ErrorsNameTheLengthsAndARemedy) {
  const std::string model = golden("hf-tiny/wav2vec2-stable").string();
  const std::string first = golden("page/tiny.wav").string(),
                    second = golden("sound/whisper-small/short.wav").string();
  expect_error({model, "--view", "rollout", "--text", first, "--position", "100000"}, 2, {"out of range"});
  write_text_model(folder_ / "gpt", "gpt", 64);
  expect_error({"gpt", "--view", "induction", "--length", "60"}, 2, {"Set the length to at most 32"});
  expect_error({golden("sound/whisper-small").string(), "--view", "flow", "--text", second}, 2,
               {"at most 64 positions"});
  expect_error({"gpt", "--view", "patch", "--text", "a b", "--answer", "a", "--other", "a bcd"}, 2,
               {"different numbers of tokens", "two texts of equal length"});
}

TEST_F(StudyInputs, AFlipWithoutAResultNamesTheReason) {
  write_text_model(folder_ / "gpt", "gpt", 64);
  const std::vector<std::string> flip{"gpt",     "--view",    "flip", "--text",
                                      "the fox", "--instead", "b",    "--most"};
  for (const auto& [most, note] : {std::pair{"1", "Maximum number of heads: 1."}, {"99", "all heads"}}) {
    std::vector<std::string> arguments = flip;
    arguments.emplace_back(most);
    const std::string notes = table(arguments)["notes"].dump();
    if (notes.find("does not change") == notes.npos) continue;
    EXPECT_NE(notes.find(note), std::string::npos) << notes;
  }
}

}  // namespace
}  // namespace regard::testing
