// `regard evaluate` for the tasks of encoders, called as by a user: JSON and text, files of rows, intervals,
// comparisons, and errors that name file and line.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/json.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace regard::evaluate {
namespace {

using regard::testing::file_content;
using regard::testing::golden;
using regard::testing::ProgramResult;
using regard::testing::run_program;
using regard::testing::write_file;

class EvaluateTasks : public ::testing::Test {
 protected:
  ProgramResult evaluate(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "evaluate");
    return run_program(arguments, folder.path());
  }
  Json json_of(std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    const ProgramResult result = evaluate(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return Json::parse(result.out, nullptr, false);
  }
  static std::string model(const std::string& name) { return golden(name).string(); }
  static std::string data(const std::string& name) { return golden("evaluate/" + name).string(); }
  regard::testing::TemporaryFolder folder;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST_F(EvaluateTasks, FollowTheModelsHead) {
  const Json wanted = read_json(data("scores.json"));
  const Json classes =
      json_of({model("hf-more/bert-nli"), data("pairs.jsonl"), "--columns", "text,text_pair,label"});
  EXPECT_EQ(classes["task"], "classification");
  EXPECT_EQ(classes["f1_macro"], wanted["classification"]["scores"]["f1_macro"]);
  EXPECT_EQ(classes["confusion"], wanted["classification"]["confusion"]);
  EXPECT_EQ(classes["rows"], 40);
  const Json entities = json_of({model("hf-more/bert-ner"), data("entities.tsv"), "--scheme", "iob2"});
  EXPECT_NEAR(entities["f1"], wanted["token_classification"]["strict"]["f1"].get<double>(), 1e-12);
  EXPECT_TRUE(entities["entities"].contains("PER"));
  const Json answers = json_of({model("tasks/roberta-qa"), data("squad.json"), "--max-tokens", "62"});
  EXPECT_NEAR(answers["f1"], wanted["question_answering"]["f1"].get<double>(), 1e-9);
  EXPECT_EQ(json_of({model("tasks/roberta-fill"), data("lines.txt")})["task"], "masked-language-model");
  const Json retrieval = json_of({model("hf-more/st-mean"), data("queries.txt"), data("documents.txt")});
  EXPECT_EQ(retrieval["task"], "embedding");
  EXPECT_NEAR(retrieval["mrr"], wanted["embedding"]["mrr"].get<double>(), 1e-12);
  const ProgramResult text = evaluate({model("evaluate/regression-model"), data("numbers.tsv")});
  EXPECT_NE(text.out.find("spearman           0."), std::string::npos) << text.out;
}

TEST_F(EvaluateTasks, RefuseOptionsWithoutEffect) {
  regard::testing::write_text_model(folder / "translator", "translator");
  const std::string lines = data("lines.txt"), whisper = model("sound/whisper-small");
  const std::vector<std::string> calls[] = {{model("hf-more/st-mean"), lines, lines, "--beam", "2"},
                                            {model("tasks/roberta-fill"), lines, "--length-penalty", "2"},
                                            {model("hf-tiny/ast"), lines, "--beam", "2"},
                                            {whisper, lines, "--length-penalty", "2"},
                                            {whisper, lines, "--chat"},
                                            {"translator", lines, lines, "--chat-template", "chatml"},
                                            {"translator", lines, lines, "--context", "8"},
                                            {"translator", lines, lines, "--truncate"},
                                            {whisper, lines, "--lowercase"},
                                            {model("hf-more/st-mean"), lines, lines, "--truncate"},
                                            {model("tasks/roberta-fill"), lines, "--threshold", "0.5"},
                                            {model("tasks/roberta-fill"), lines, "--scores", "softmax"},
                                            {model("hf-more/bert-nli"), lines, "--scheme", "iob2"},
                                            {model("hf-more/bert-ner"), lines, "--bleu-tokenizer", "13a"}};
  for (const std::vector<std::string>& call : calls) {
    const std::string option = call.back().starts_with("--") ? call.back() : call[call.size() - 2];
    const ProgramResult result = evaluate(call);
    EXPECT_EQ(result.exit_code, 2) << option << "\n" << result.err;
    EXPECT_NE(result.err.find(option), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("the task "), std::string::npos) << result.err;
  }
}

TEST_F(EvaluateTasks, RowsAreWrittenOnOneLineEach) {
  write_file(folder.path(), "rows.jsonl",
             "{\"text\": \"Stone\\nnight\\tday\", \"label\": \"neutral\"}\n"
             "{\"text\": \"river\", \"label\": 0}\n");
  for (const char* name : {"out.txt", "out.tsv", "out.jsonl"})
    ASSERT_EQ(evaluate({model("hf-more/bert-nli"), "rows.jsonl", "-q", "-o", name}).exit_code, 0);
  const auto outputs = lines_of(file_content(folder / "out.txt"));
  ASSERT_EQ(outputs.size(), 2u);
  const auto table = lines_of(file_content(folder / "out.tsv"));
  ASSERT_EQ(table.size(), 2u);
  EXPECT_EQ(table[0], "rows.jsonl:1\tStone\\nnight\\tday\tneutral\t" + outputs[0]);
  EXPECT_EQ(table[1], "rows.jsonl:2\triver\tentailment\t" + outputs[1]);
  const auto objects = lines_of(file_content(folder / "out.jsonl"));
  ASSERT_EQ(objects.size(), 2u);
  const Json first = Json::parse(objects[0]);
  EXPECT_EQ(first["input"], "Stone\nnight\tday");
  EXPECT_EQ(first["expected"], "neutral");
  EXPECT_EQ(first["output"], outputs[0]);
  EXPECT_EQ(first["line"], 1);
  EXPECT_EQ(first["accuracy"], outputs[0] == "neutral" ? 1 : 0);
}

TEST_F(EvaluateTasks, IntervalsAndComparisons) {
  const Json result = json_of({model("hf-more/bert-ner"), data("entities.tsv"), "--bootstrap", "200"});
  EXPECT_LT(result["intervals"]["f1"]["lower"], result["f1"]);
  EXPECT_GT(result["intervals"]["f1"]["upper"], result["f1"]);
  for (const char* test : {"bootstrap", "randomization"}) {
    const Json compared = json_of({"--compare", model("hf-more/bert-ner"), model("tasks/tag-distilbert"),
                                   data("entities.tsv"), "--rows", "3", "--test", test, "--samples", "100"});
    EXPECT_EQ(compared["test"],
              test == std::string("bootstrap") ? "paired bootstrap" : "approximate randomization");
    EXPECT_EQ(compared["first"]["f1"], result["f1"]);
    EXPECT_EQ(compared["scores"]["f1"]["first"], result["f1"]);
    EXPECT_EQ(compared["scores"]["f1"]["second"], compared["second"]["f1"]);
    EXPECT_GT(compared["scores"]["f1"]["p"], 0.0);
    EXPECT_LE(compared["scores"]["f1"]["p"], 1.0);
    EXPECT_EQ(compared["rows"].size(), 3u);
    EXPECT_GT(compared["different_rows"], 3);
    EXPECT_NE(compared["rows"][0]["first"], compared["rows"][0]["second"]);
  }
  const ProgramResult text = evaluate({"--compare", model("hf-more/bert-ner"), model("tasks/tag-distilbert"),
                                       data("entities.tsv"), "--samples", "50"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("of 20 rows differ"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("entities.tsv:"), std::string::npos) << text.out;
}

// The text output contains the values of the JSON output.
TEST_F(EvaluateTasks, IntervalsAndComparisonsAreTables) {
  const std::string first = model("hf-more/bert-ner"), second = model("tasks/tag-distilbert");
  const std::vector<std::string> alone{first, data("entities.tsv"), "--bootstrap", "20"};
  const Json intervals = json_of(alone)["intervals"];
  std::string expected;
  for (const auto& [name, one] : intervals.items())
    expected += fmt::format("{:<12} 95 % between {:.4f} and {:.4f}\n", name, one["lower"].get<double>(),
                            one["upper"].get<double>());
  const std::string text = evaluate(alone).out;
  EXPECT_EQ(intervals.size(), 4u);
  EXPECT_TRUE(text.ends_with("\n" + expected)) << text;
  const std::vector<std::string> both{"--compare", first, second,      data("entities.tsv"),
                                      "--rows",    "2",   "--samples", "20"};
  const Json json = json_of(both);
  EXPECT_EQ(json["models"], Json({first, second}));
  ASSERT_EQ(json["rows"].size(), 2u);
  expected = "first   " + first + "\nsecond  " + second +
             "\n\nscore                     first     second  difference        p\n";
  for (const auto& [score, one] : json["scores"].items()) {
    const double difference = one["difference"];
    EXPECT_DOUBLE_EQ(difference, one["second"].get<double>() - one["first"].get<double>());
    expected += fmt::format("{:<20} {:10.4f} {:10.4f} {:+11.4f} {:8.4f}\n", score, one["first"].get<double>(),
                            one["second"].get<double>(), difference, one["p"].get<double>());
  }
  expected += fmt::format("p: paired bootstrap\n\n{} of 20 rows differ\n", json["different_rows"].get<int>());
  for (const Json& row : json["rows"])
    expected += fmt::format(
        "\n{}:{}  accuracy {:+.4f}\n  input     {}\n  expected  {}\n  first     {}\n  second    {}\n",
        row["file"].get<std::string>(), row["line"].get<int>(), row["accuracy_change"].get<double>(),
        row["input"].dump(), row["expected"].dump(), row["first"].dump(), row["second"].dump());
  EXPECT_EQ(evaluate(both).out, expected);
}

TEST_F(EvaluateTasks, ComparisonsAreOfUnchangedModels) {
  const std::string first = model("hf-more/bert-ner"), second = model("tasks/tag-distilbert");
  for (const auto& [option, value] : {std::pair{"--ablate", "0.0"}, {"--intervene", "zero encoder.0.0"}}) {
    const ProgramResult changed = evaluate({"--compare", first, second, data("entities.tsv"), option, value});
    EXPECT_EQ(changed.exit_code, 2);
    EXPECT_EQ(
        changed.err,
        "regard: --ablate and --intervene cannot be combined with --compare. Evaluate the changed model "
        "alone: regard evaluate MODEL DATA --intervene …\n");
  }
  const ProgramResult adapted =
      evaluate({"--compare", first, second, data("entities.tsv"), "--adapter", "a"});
  EXPECT_EQ(adapted.err,
            "regard: --adapter cannot be combined with --compare. Convert the model with its adapter first: "
            "regard convert MODEL MERGED --adapter FOLDER\n");
}

TEST_F(EvaluateTasks, ErrorsNameFileAndLine) {
  write_file(folder.path(), "bad.tsv", "stone\tneutral\nriver\tmaybe\n");
  write_file(folder.path(), "three.tsv", "a\tb\tc\td\n");
  const auto expect = [&](std::vector<std::string> arguments, int code, const std::string& part) {
    const ProgramResult result = evaluate(arguments);
    EXPECT_EQ(result.exit_code, code) << result.err;
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
    EXPECT_TRUE(result.out.empty()) << result.out;
  };
  const std::string nli = model("hf-more/bert-nli");
  expect({nli, "bad.tsv"}, 3, "bad.tsv:2: the model has no such label (expected entailment");
  expect({nli, "none.tsv"}, 4, "none.tsv");
  expect({nli}, 2, "no data");
  for (const char* option : {"--samples", "--rows"}) expect({nli, "bad.tsv", option, "3"}, 2, "--compare");
  expect({nli, "bad.tsv", "--test", "randomization"}, 2, "--compare");
  expect({"--compare", nli, nli, "bad.tsv", "--bootstrap", "3"}, 2, "--bootstrap");
  expect({nli, "three.tsv", "--columns", "1,2,3,4"}, 2, "number of columns");
  expect({nli, "bad.tsv", "--task", "translation"}, 2, "(expected classification, found translation)");
  expect({nli, "bad.tsv", "--task", "token-classification"}, 2, "no token-classification head");
  expect({nli, "bad.tsv", "--task", "poetry"}, 2, "--task");
  expect({model("hf-more/bert-ner"), data("entities.tsv"), "--scheme", "bio"}, 2, "iob2");
  write_file(folder.path(), "scheme.tsv", "stone\tB-PER\nriver\tL-PER\n");
  expect({model("hf-more/bert-ner"), "scheme.tsv", "--scheme", "iob2"}, 3,
         "scheme.tsv:2: a label does not belong to the scheme iob2");
  expect({nli, "bad.tsv", "--task", "audio-classification"}, 2,
         "(expected classification, found audio-classification)");
  const std::string sounds = model("hf-tiny/ast");
  expect({sounds, "bad.tsv", "--task", "audio-classification"}, 3, "bad.tsv:1");
  expect({sounds, "bad.tsv", "--task", "speech-recognition"}, 2, "expected audio-classification");
  expect({sounds, "bad.tsv", "--task", "classification"}, 2, "expected audio-classification");
  expect({model("hf-more/st-mean"), "bad.tsv"}, 3,
         "no column 3 (found 2 columns). Give --columns with the query");
  expect({model("hf-tiny/vit"), "bad.tsv"}, 3, "bad.tsv:1: column 1: the image file does not exist");
  expect({model("hf-tiny/vit"), "bad.tsv", "--task", "classification"}, 2, "image");
  expect({"--compare", nli, nli, data("pairs.jsonl"), "-o", "x"}, 2, "--output");
}

// In a table of translations, empty lines are skipped, as in tables of other tasks. --columns is refused for
// a pair of line-aligned files.
TEST_F(EvaluateTasks, TranslationReadsTablesAsOtherTasksDo) {
  const std::string translator = model("convert/marian/run");
  write_file(folder.path(), "pairs.tsv", "the man\tder mann\n\nthe boy\tder junge\n");
  EXPECT_EQ(json_of({translator, "pairs.tsv"})["sentences"], 2);
  write_file(folder.path(), "en.txt", "the man\n\nthe boy\n");
  write_file(folder.path(), "de.txt", "der mann\n\nder junge\n");
  EXPECT_EQ(json_of({translator, "en.txt", "de.txt"})["sentences"], 3);
  const ProgramResult refused = evaluate({translator, "en.txt", "de.txt", "--columns", "2,1"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("line-aligned files have no columns"), std::string::npos) << refused.err;
  const ProgramResult one = evaluate({translator, "pairs.tsv", "--columns", "1"});
  EXPECT_EQ(one.exit_code, 2);
  EXPECT_NE(one.err.find("found 1 column)"), std::string::npos) << one.err;
}

}  // namespace
}  // namespace regard::evaluate
