// regard study with models that read images and sounds, called as by a user and in C++.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "base/file.h"
#include "base/json.h"
#include "regard/study.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"

namespace regard::testing {
namespace {

namespace fs = std::filesystem;

class MediaStudyProgram : public ::testing::Test {
 protected:
  MediaStudyProgram() {
    const std::string from = golden("pictures").string() + "/";
    write_file(folder_.path(), "pictures.tsv",
               from + "deep.png\tLABEL_0\n" + from + "lossy.webp\tLABEL_1\n" + from + "turned1.jpg\t2\n");
    const char* const labels[] = {"LABEL_0", "LABEL_2"};
    for (int i = 0; i < 2; ++i) {
      fs::create_directories(folder_ / "set" / labels[i]);
      fs::copy(golden("pictures/deep.png"), folder_ / "set" / labels[i] / "a.png");
    }
  }
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
  void expect_error(const std::vector<std::string>& arguments, const std::vector<std::string>& parts,
                    int exit_code = 2) {
    const ProgramResult result = study(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    for (const std::string& part : parts)
      EXPECT_NE(result.err.find(part), std::string::npos) << part << ": " << result.err;
  }
  void expect_bad_data(const std::vector<std::string>& arguments, const std::vector<std::string>& parts) {
    expect_error(arguments, parts, 3);
  }
  // Return the loss of the model without ablation. The title of a table of heads contains it.
  static double loss_of(const Json& heads) {
    const std::string title = heads["title"];
    return std::stod(title.substr(title.find("predictions, ") + 13));
  }

  TemporaryFolder folder_;
  std::string vit_ = golden("hf-tiny/vit-patch16").string();
};

// The loss of the whole model is the mean of −log p over the probabilities p that `classify` prints. The loss
// of a head is the loss of the model without this head.
TEST_F(MediaStudyProgram, ASweepOverImagesHasTheLossOfTheClassifier) {
  const Json heads = table({vit_, "pictures.tsv"});
  ASSERT_EQ(heads["rows"].size(), 8u);  // 2 layers of 4 heads
  double sum = 0;
  const std::pair<const char*, const char*> expected[] = {
      {"deep.png", "LABEL_0"}, {"lossy.webp", "LABEL_1"}, {"turned1.jpg", "LABEL_2"}};
  for (const auto& [file, label] : expected) {
    const ProgramResult result = run_program(
        {"classify", vit_, golden("pictures/" + std::string(file)).string(), "--top", "0", "--json"},
        folder_.path());
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const Json found = parse_json(result.out, "out");
    for (const Json& one : found["labels"])
      if (one["label"] == label) sum -= std::log(one["score"].get<double>());
  }
  EXPECT_NEAR(loss_of(heads), sum / 3, 6e-5);
  const Json without = table({vit_, "pictures.tsv", "--off", heads["rows"][2]["head"]});
  EXPECT_EQ(without["rows"].size(), 7u);
  EXPECT_NEAR(loss_of(without), heads["rows"][2]["loss"].get<double>(), 6e-5);
  const Json first = table({vit_, "pictures.tsv", "--examples", "1"});
  EXPECT_NE(first["title"].get<std::string>().find("1 predictions"), std::string::npos) << first["title"];
}

TEST_F(MediaStudyProgram, ASweepOverImagesContinuesFromItsFile) {
  const Json whole = table({vit_, "pictures.tsv", "--state", "state"});
  std::string state = read_file((folder_ / "state").string());
  std::size_t end = 0;
  for (int line = 0; line < 4; ++line) end = state.find('\n', end) + 1;
  write_file(folder_.path(), "state", state.substr(0, end));
  EXPECT_EQ(table({vit_, "pictures.tsv", "--state", "state"}), whole);
  EXPECT_EQ(read_file((folder_ / "state").string()), state);
}

TEST_F(MediaStudyProgram, EveryViewOfAnImageClassifierIsATable) {
  const std::string one = golden("pictures/deep.png").string(),
                    other = golden("pictures/turned1.jpg").string();
  for (const std::string view :
       {"heads", "sets", "kinds", "patch", "path", "flip", "tokens", "rollout", "flow"}) {
    std::vector<std::string> arguments{vit_, "--view", view};
    const bool of_data = view == "heads" || view == "sets" || view == "kinds";
    if (of_data)
      arguments.emplace_back("set");
    else
      arguments.insert(arguments.end(), {"--text", one});
    if (!of_data && view != "rollout" && view != "flow")
      arguments.insert(arguments.end(), {"--answer", "LABEL_0", "--instead", "LABEL_2"});
    if (view == "sets" || view == "flip") arguments.insert(arguments.end(), {"--most", "2"});
    if (view == "patch" || view == "path") arguments.insert(arguments.end(), {"--other", other});
    const Json json = table(arguments);
    EXPECT_EQ(json["study"], view);
    // flip: there may be no set of heads that changes the answer
    EXPECT_GE(json["rows"].size(), view == "flip" ? 0u : 2u) << view;
    for (const Json& row : json["rows"]) EXPECT_EQ(row.size(), json["columns"].size()) << view;
    if (view == "tokens" || view == "flow") {
      EXPECT_EQ(json["columns"][1], "patch");
      EXPECT_EQ(json["rows"].size(), 10u);  // the class token and 3 × 3 patches
      EXPECT_EQ(json["rows"][4]["patch"], "1,0");
    }
  }
  const Json row = table({vit_, "--view", "rollout", "--text", one, "--position", "0"});
  const Json matrix = table({vit_, "--view", "rollout", "--text", one});
  ASSERT_EQ(row["rows"].size(), 10u);
  EXPECT_EQ(row["rows"][3]["rollout"], matrix["rows"][0]["3 0,2"]);
}

TEST_F(MediaStudyProgram, ProbesLayersOfImages) {
  const std::string images = golden("pictures").string() + "/";
  std::string rows;
  for (int i = 0; i < 6; ++i)
    rows += images + "turned" + std::to_string(i + 1) + ".jpg\tturned\n" + images +
            (i % 2 == 0 ? "deep.png" : "palette-alpha.png") + "\tdeep\n";
  write_file(folder_.path(), "probe.tsv", rows);
  const Json probe = table({vit_, "probe.tsv", "--view", "probe"});
  ASSERT_EQ(probe["rows"].size(), 3u);
  EXPECT_GE(probe["rows"][0]["train accuracy"].get<double>(), 0.9);
  EXPECT_NE(probe["notes"][0].get<std::string>().find("10 images to fit"), std::string::npos);
}

// The first column of the data determines which encoder of CLIP is probed.
TEST_F(MediaStudyProgram, ProbesTheEncoderOfTwoThatReadsTheData) {
  const std::string clip = golden("hf-more/clip-words").string(), from = golden("pictures").string() + "/";
  std::string images, texts;
  for (int i = 1; i <= 6; ++i) {
    const std::string number = std::to_string(i);
    images += from + "turned" + number + ".jpg\tturned\n" + from +
              (i % 2 == 0 ? "deep.png" : "palette-alpha.png") + "\tdeep\n";
    texts += "a cat " + number + "\tcat\na dog " + number + "\tdog\n";
  }
  write_file(folder_.path(), "images.tsv", images);
  write_file(folder_.path(), "texts.tsv", texts);
  const auto note = [](const Json& table) { return table["notes"][0].get<std::string>(); };
  const Json of_images = table({clip, "images.tsv", "--view", "probe"});
  EXPECT_TRUE(note(of_images).starts_with("10 images to fit, 2 held out")) << of_images;
  EXPECT_EQ(of_images["rows"].size(), 2u);
  EXPECT_TRUE(note(table({clip, "texts.tsv", "--view", "probe"})).starts_with("10 texts to fit"));
  const Json changed =
      table({clip, "images.tsv", "--view", "probe", "--intervene", "zero vision.encoder.embedding"});
  EXPECT_LT(changed["rows"][0]["train accuracy"].get<double>(), 0.9) << "the encoder ignores interventions";

  write_file(folder_.path(), "mixed.tsv", images + texts);
  expect_bad_data({clip, "mixed.tsv", "--view", "probe"},
                  {"mixed.tsv:13", "mixes images and texts", "as in line 1", "'a cat 1'"});
  write_file(folder_.path(), "mixed.tsv", texts + "nowhere.PNG\tcat\n");
  expect_bad_data({clip, "mixed.tsv", "--view", "probe"}, {"mixed.tsv:13", "expected a text"});
  write_file(folder_.path(), "missing.tsv", images + "nowhere.png\tdeep\n");
  expect_bad_data({clip, "missing.tsv", "--view", "probe"}, {"missing.tsv:13", "does not exist"});
  write_file(folder_.path(), "broken.png", "no image");
  write_file(folder_.path(), "broken.tsv", images + "broken.png\tdeep\n");
  expect_bad_data({clip, "broken.tsv", "--view", "probe"}, {"broken.png", "unknown image format"});
}

TEST_F(MediaStudyProgram, ViewsThatDoNotApplyNameTheViewAndTheInput) {
  for (const std::string view : {"lens", "direct", "induction"})
    expect_error({vit_, "--view", view, "--text", golden("pictures/deep.png").string()},
                 {"the view " + view, "an encoder that reads images"});
  expect_error({vit_, "set", "--view", "alignment", "--alignments", "a"},
               {"the view alignment", "an encoder that reads images"});
  expect_error({golden("sound/whisper-small").string(), "--view", "induction"},
               {"the view induction", "an encoder-decoder that reads sounds"});
  expect_error({golden("sound/whisper-small").string(), "--view", "alignment", "a", "--alignments", "b"},
               {"reads sounds"});
  expect_error({vit_, "--text", golden("pictures/deep.png").string()}, {"target of each image", "label"});
  expect_error({vit_, "set", "--answer", "LABEL_0"},
               {"the view heads has no answer if the model is an encoder"});
}

TEST_F(MediaStudyProgram, TranscriptsAreStudiedAfterTheirPrompt) {
  const std::string whisper = golden("sound/whisper-small").string();
  write_file(folder_.path(), "sounds.tsv", whisper + "/short.wav\tthe fox\n");
  const Json heads = table({whisper, "sounds.tsv"});
  ASSERT_GT(heads["rows"].size(), 2u);
  // The loss counts the predictions of the text's tokens and the end token, but not of the language, task and
  // "no timestamps" tokens.
  const std::string text = "--text", sound = whisper + "/short.wav";
  const Json lens = table({whisper, "--view", "lens", text, sound, "--target", "the fox"});
  std::set<std::string> wanted;
  for (const Json& row : lens["rows"])
    if (row["wanted"] != "") wanted.insert(row["position"]);
  EXPECT_EQ(heads["title"].get<std::string>().find("; " + std::to_string(wanted.size()) + " predictions"),
            std::string("Loss without each head").size())
      << heads["title"];
  EXPECT_EQ(wanted.count("0"), 0u);
  const Json tokens =
      table({whisper, "--view", "tokens", text, sound, "--target", "the fox", "--steps", "1"});
  EXPECT_NE(tokens["title"].get<std::string>().find("at position 3"), std::string::npos) << tokens["title"];
  EXPECT_EQ(tokens["columns"][1], "time");
  EXPECT_EQ(tokens["rows"][1]["time"], "0.02 s");
}

// Both encoders of CLIP are studied. The loss of a head is the loss of the model with this head ablated in
// every pass.
TEST_F(MediaStudyProgram, TwoEncodersAreSweptOverPairs) {
  const std::string clip = golden("hf-more/clip-words").string(), from = golden("pictures").string() + "/";
  write_file(folder_.path(), "pairs.tsv",
             from + "deep.png\ta cat\n" + from + "lossy.webp\ta dog\n" + from + "turned1.jpg\ta red cat\n");
  const Json heads = table({clip, "pairs.tsv", "--state", "state"});
  std::map<std::string, double> losses;
  for (const Json& row : heads["rows"]) losses[row["head"]] = row["loss"];
  const auto whole = [](const Json& json) {
    const std::string title = json["title"];
    return std::stod(title.substr(title.find("pairs, ") + 7));
  };
  std::size_t changed = 0;
  for (const auto& [name, loss] : losses) changed += std::abs(loss - whole(heads)) > 1e-5 ? 1 : 0;
  EXPECT_GT(changed, losses.size() / 2);
  for (const std::string tower : {"text", "vision"}) {
    ASSERT_EQ(losses.count(tower + ".encoder.0.1"), 1u);
    const Json without = table({clip, "pairs.tsv", "--off", tower + ".0.1"});
    EXPECT_EQ(without["rows"].size(), heads["rows"].size() - 1);
    EXPECT_NEAR(whole(without), losses[tower + ".encoder.0.1"], 6e-5) << tower;
  }
  EXPECT_EQ(table({clip, "pairs.tsv", "--state", "state"}), heads);
  const Json kinds = table({clip, "pairs.tsv", "--view", "kinds"});
  EXPECT_EQ(kinds["rows"].size(), heads["rows"].size());
  expect_error({clip, "pairs.tsv", "--view", "sets"}, {"the view sets", "two encoders"});
}

// The text encoder has 24 positions.
TEST_F(MediaStudyProgram, LongCaptionsAreTruncated) {
  const std::string clip = golden("hf-more/clip-words").string(), from = golden("pictures").string() + "/";
  std::string words;
  for (int i = 0; i < 15; ++i) words += "a cat ";
  const auto title = [&](const std::string& caption) {
    write_file(folder_.path(), "pairs.tsv",
               from + "deep.png\ta dog\n" + from + "lossy.webp\t" + caption + "\n");
    return table({clip, "pairs.tsv"})["title"];
  };
  const Json whole = title(words);
  EXPECT_EQ(title(words + "and a dog"), whole) << "words beyond the positions have no effect";
  EXPECT_NE(title("a cat"), whole);
}

// A model with a CTC head has a loss of the transcript, and a logit for each label.
TEST_F(MediaStudyProgram, ASpeechRecogniserWithACtcHeadHasALoss) {
  const fs::path model = folder_ / "ctc";
  fs::create_directories(model);
  for (const char* file : {"config.json", "model.safetensors", "preprocessor_config.json"})
    fs::copy(golden("hf-tiny/wav2vec2-stable") / file, model / file);
  write_file(model, "vocab.json",
             R"({"<pad>":0,"<s>":1,"</s>":2,"|":3,"A":4,"B":5,"C":6,"D":7,"E":8,"F":9,"G":10,"H":11})");
  write_file(folder_.path(), "sounds.tsv", golden("page/tiny.wav").string() + "\tA BAD\n");
  const Json heads = table({"ctc", "sounds.tsv"});
  ASSERT_GE(heads["rows"].size(), 4u);
  EXPECT_NE(heads["title"].get<std::string>().find("5 predictions"), std::string::npos) << heads["title"];
  const Json tokens = table({"ctc", "--view", "tokens", "--text", golden("page/tiny.wav").string(),
                             "--answer", "B", "--position", "2", "--steps", "2"});
  EXPECT_NE(tokens["title"].get<std::string>().find("logit of label 5 at position 2"), std::string::npos);
}

TEST_F(MediaStudyProgram, InterventionsOfTheGradientReadFiles) {
  const std::string one = golden("pictures/deep.png").string(),
                    other = golden("pictures/turned1.jpg").string();
  const std::vector<std::string> tokens{vit_,       "--view", "tokens",  "--text", one,
                                        "--answer", "1",      "--steps", "1"};
  std::vector<std::string> patched = tokens;
  patched.insert(patched.end(), {"--intervene", "patch encoder.0.residual positions=1 file=" + other});
  EXPECT_NE(table(tokens)["rows"], table(patched)["rows"]);
}

TEST_F(MediaStudyProgram, InCppTheTableIsTheSame) {
  const Model model = load(vit_);
  const Study heads = regard::study(model, "heads", {.data = folder_ / "pictures.tsv"});
  const ProgramResult result = study({vit_, "pictures.tsv", "--json", "-q"});
  EXPECT_EQ(format(heads, "json"), result.out);
  const Study changed =
      regard::study(model, "kinds",
                    {.data = folder_ / "pictures.tsv", .interventions = {"zero encoder.0.1 positions=900"}});
  ASSERT_EQ(changed.warnings.size(), 1u);
  EXPECT_EQ(changed.warnings[0].intervention, "zero encoder.0.1 positions=900");
  EXPECT_EQ(changed.warnings[0].reason, "positions");
  EXPECT_EQ(parse_json(format(changed, "json"), "json")["warnings"][0]["message"],
            changed.warnings[0].message);
  const Study tokens = regard::study(
      model, "tokens", {.text = golden("pictures/deep.png").string(), .answer = "LABEL_1", .steps = 2});
  EXPECT_EQ(tokens.rows.size(), 10u);
}

TEST_F(MediaStudyProgram, OptionsOfTablesApplyToFilesOnly) {
  write_file(folder_.path(), "named.csv",
             "label,file\nLABEL_0," + golden("pictures/deep.png").string() + "\n");
  const Json named = table({vit_, "named.csv", "--columns", "file,label"});
  EXPECT_NE(named["title"].get<std::string>().find("1 predictions"), std::string::npos) << named["title"];
  write_file(folder_.path(), "lines.txt", "a\tb\n");
  expect_error({golden("hf-more/bert-nli").string(), "lines.txt", "--header"},
               {"columns, header and highest"});
}

}  // namespace
}  // namespace regard::testing
