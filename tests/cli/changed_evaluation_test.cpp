// --ablate and --intervene of `evaluate` and `context` give the results of the changed model.
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

class ChangedEvaluation : public ::testing::Test {
 protected:
  ProgramResult run(std::vector<std::string> arguments) const {
    arguments.emplace_back("-q");
    return run_program(arguments, folder_.path());
  }
  Json json_of(std::vector<std::string> arguments, const std::vector<std::string>& changes = {}) const {
    arguments.insert(arguments.end(), changes.begin(), changes.end());
    arguments.emplace_back("--json");
    const ProgramResult result = run(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.exit_code == 0 ? parse_json(result.out, "stdout") : Json::object();
  }
  // Return the content of the output file, which has one line for each row of the data.
  std::string outputs(std::vector<std::string> arguments, const std::string& intervention) const {
    arguments.insert(arguments.end(), {"-o", "rows.tsv"});
    if (!intervention.empty()) arguments.insert(arguments.end(), {"--intervene", intervention});
    const ProgramResult result = run(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return file_content(folder_ / "rows.tsv");
  }
  static std::string model(const std::string& name) { return golden(name).string(); }
  static std::string data(const std::string& name) { return golden("evaluate/" + name).string(); }

  TemporaryFolder folder_;
};

// The loss of an evaluation with an ablated head equals the loss that a study reports for this head, although
// the study runs other forward passes.
TEST_F(ChangedEvaluation, HasTheLossOfTheStudy) {
  write_text_model(folder_ / "gpt", "gpt", 64);
  write_text_model(folder_ / "translator", "translator");
  write_file(folder_.path(), "line.txt", "the quick fox");
  write_file(folder_.path(), "pairs.tsv", "the fox\ta fox\nan apple\tan egg\n");
  for (const auto& [folder, file, head] :
       {std::tuple{"gpt", "line.txt", "decoder.1.2"}, std::tuple{"translator", "pairs.tsv", "cross.0.1"}}) {
    const Json study = json_of({"study", folder, file});
    double without = 0;
    for (const Json& row : study["rows"])
      if (row["head"] == head) without = row["loss"];
    const Json ablated = json_of({"evaluate", folder, file}, {"--ablate", head});
    EXPECT_NEAR(ablated["loss"], without, 1e-6 * std::abs(without)) << folder;
    EXPECT_EQ(ablated["ablated"], head);
    const std::string zero = std::string("zero ") + head;
    const Json zeroed = json_of({"evaluate", folder, file}, {"--intervene", zero});
    EXPECT_EQ(zeroed["loss"], ablated["loss"]);
    EXPECT_EQ(zeroed["interventions"], Json::array({zero}));
    const Json plain = json_of({"evaluate", folder, file});
    EXPECT_NE(plain["loss"], ablated["loss"]);
    EXPECT_FALSE(plain.contains("ablated") || plain.contains("interventions"));
  }
}

TEST_F(ChangedEvaluation, ChangesTheOutputsOfEveryTask) {
  const std::string pictures = golden("pictures").string() + "/", whisper = model("sound/whisper-small");
  write_file(folder_.path(), "pictures.tsv",
             pictures + "deep.png\tLABEL_0\n" + pictures + "lossy.webp\tLABEL_1\n");
  write_file(folder_.path(), "captions.tsv",
             pictures + "deep.png\ta cat\n" + pictures + "lossy.webp\ta dog\n");
  write_file(folder_.path(), "sounds.tsv",
             whisper + "/short.wav\tLABEL_0\n" + whisper + "/long.wav\tLABEL_1\n");
  write_file(folder_.path(), "speech.tsv", whisper + "/short.wav\tthe fox\n");
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{model("hf-more/bert-nli"), data("pairs.jsonl"), "--columns", "text,text_pair,label"}, "encoder.0"},
      {{model("hf-more/bert-ner"), data("entities.tsv")}, "encoder.0"},
      {{model("tasks/roberta-qa"), data("squad.json"), "--max-tokens", "62"}, "encoder.0"},
      {{model("tasks/roberta-fill"), data("lines.txt")}, "encoder.0"},
      {{model("hf-more/st-mean"), data("queries.txt"), data("documents.txt")}, "encoder.0"},
      {{model("evaluate/regression-model"), data("numbers.tsv")}, "encoder.0"},
      {{model("hf-tiny/vit-patch16"), "pictures.tsv"}, "encoder.output"},
      {{model("hf-more/clip-words"), "captions.tsv"}, "vision.encoder.0"},
      {{model("hf-tiny/ast"), "sounds.tsv"}, "encoder.output"},
      {{whisper, "speech.tsv"}, "encoder.0"},
  };
  for (const auto& [arguments, place] : cases) {
    std::vector<std::string> command{"evaluate"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const std::string plain = outputs(command, ""), tower = place.starts_with("vision") ? "vision." : "";
    EXPECT_EQ(outputs(command, "zero " + tower + "encoder.0.residual positions=99999"), plain)
        << arguments[0];
    Json changed = json_of(command, {"--intervene", "zero " + place});
    EXPECT_EQ(changed["interventions"], Json::array({"zero " + place}));
    changed.erase("interventions");
    EXPECT_TRUE(changed != json_of(command) || outputs(command, "zero " + place) != plain) << arguments[0];
  }
}

TEST_F(ChangedEvaluation, RefusesWhatItCannotChange) {
  const auto expect = [&](const std::vector<std::string>& arguments, int code, const std::string& part) {
    const ProgramResult result = run(arguments);
    EXPECT_EQ(result.exit_code, code) << result.err;
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
  };
  const std::string ner = model("hf-more/bert-ner"), entities = data("entities.tsv");
  expect({"evaluate", ner, entities, "--ablate", "0.99"}, 2, "there is no such head");
  expect({"evaluate", ner, entities, "--intervene", "zero encoder.7"}, 2, "no such place");
  expect({"evaluate", "--compare", ner, ner, entities, "--ablate", "0.0"}, 2, "--compare");
  expect({"evaluate", ner, entities, "--intervene", "zero encoder.0.residual positions=999"}, 0,
         "changed nothing");
}

// --beam and --seed have the same effect as in `translate`, also in a folder that samples several results.
TEST_F(ChangedEvaluation, SearchesAndSamplesAsTranslateDoes) {
  write_text_model(folder_ / "translator", "translator");
  Json settings = read_json((folder_ / "translator/generation_config.json").string());
  settings["do_sample"] = true, settings["num_return_sequences"] = 2;
  write_file(folder_ / "translator", "generation_config.json", settings.dump());
  write_file(folder_.path(), "lines", "the fox\nan apple\n");
  const auto written = [&](std::vector<std::string> options) {
    std::vector<std::string> evaluate{"evaluate", "translator", "lines", "lines", "-o", "written"};
    evaluate.insert(evaluate.end(), options.begin(), options.end());
    std::vector<std::string> translate{"translate", "translator", "lines", "--n-best", "1"};
    translate.insert(translate.end(), options.begin(), options.end());
    const ProgramResult result = run(evaluate);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(file_content(folder_ / "written"), run(translate).out) << Json(options);
  };
  written({"--beam", "1"});
  written({"--seed", "1"});
  written({"--seed", "2"});
  written({"--beam", "3", "--length-penalty", "2"});
}

// The vectors of layers below an intervention keep their values.
TEST_F(ChangedEvaluation, ContextHasTheChangedVectors) {
  const std::vector<std::string> command{
      "context", model("hf-more/bert-nli"), "river", "the river", "a river", "--vectors"};
  const Json plain = json_of(command), changed = json_of(command, {"--intervene", "zero encoder.1.0"});
  ASSERT_EQ(plain["layers"].size(), changed["layers"].size());
  std::size_t different = 0;
  for (std::size_t i = 0; i < plain["layers"].size(); ++i) {
    const bool same = plain["layers"][i]["vectors"] == changed["layers"][i]["vectors"];
    const std::string name = plain["layers"][i]["layer"];
    if (name == "static" || name == "input" || name == "layer 0") {
      EXPECT_TRUE(same) << name;
    }
    different += same ? 0 : 1;
  }
  EXPECT_GT(different, 0u);
  const ProgramResult unused = run({"context", model("hf-more/bert-nli"), "river", "the river", "a river",
                                    "--intervene", "zero encoder.0.residual positions=99"});
  EXPECT_EQ(unused.exit_code, 0) << unused.err;
  EXPECT_NE(unused.err.find("changed nothing"), std::string::npos) << unused.err;
}

}  // namespace
}  // namespace regard::testing
