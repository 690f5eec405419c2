// `regard evaluate`, called as by a user, gives the same figures as validation during training.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "base/json.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "train/tiny_task.h"

namespace regard::train {
namespace {

using regard::testing::file_content;
using regard::testing::ProgramResult;
using regard::testing::run_program;
using regard::testing::write_file;

Json last_validation(const std::filesystem::path& log) {
  std::istringstream lines(file_content(log));
  Json found;
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line);
    if (json.contains("validation") && json["best"]) found = json["validation"];
  }
  return found;
}

class Evaluate : public ::testing::Test {
 protected:
  ProgramResult evaluate(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "evaluate");
    return run_program(arguments, folder.path());
  }
  // Train a translator in "run" and return its best validation.
  Json train_translator() {
    testing_task::write_run(folder.path());
    std::vector<std::string> train{"train", "run.toml", "-q", "-t", "1"};
    for (const char* key :
         {"validation.metrics=[\"loss\", \"bleu\", \"chrf\"]", "training.average_last=0", "validation.beam=3",
          "training.max_steps=150", "tokenizer.type=bpe", "tokenizer.vocab_size=300",
          "training.batch_tokens=800", "model.hidden_size=32", "validation.every_steps=50",
          "model.dropout=0.0", "output.checkpoint_every_steps=0"}) {
      train.push_back("--set");
      train.push_back(key);
    }
    const ProgramResult trained = run_program(train, folder.path());
    EXPECT_EQ(trained.exit_code, 0) << trained.err;
    return last_validation(folder / "run/log.jsonl");
  }
  regard::testing::TemporaryFolder folder;
};

TEST_F(Evaluate, TranslationAgreesWithValidation) {
  const Json expected = train_translator();
  const ProgramResult result = evaluate({"run", "valid.en", "valid.de", "--json", "-o", "out.txt"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json got = Json::parse(result.out);
  EXPECT_EQ(got["beam"], 3);
  EXPECT_GT(got["bleu"], 10.0);  // a score near 0 would not test the comparison
  EXPECT_EQ(got["sentences"], 20);
  EXPECT_NEAR(got["loss"], expected["loss"].get<double>(), 1e-12);
  EXPECT_NEAR(got["bleu"], expected["bleu"].get<double>(), 1e-12);
  EXPECT_NEAR(got["chrf"], expected["chrf"].get<double>(), 1e-12);

  // The output file contains the scored translations. With this file as a second reference, the score is 100
  // and the signature counts two references.
  const ProgramResult itself = evaluate({"run", "valid.en", "valid.de", "out.txt", "--json"});
  ASSERT_EQ(itself.exit_code, 0) << itself.err;
  EXPECT_NEAR(Json::parse(itself.out)["bleu"], 100.0, 1e-9);
  EXPECT_NE(Json::parse(itself.out)["bleu_signature"].get<std::string>().find("nrefs:2"), std::string::npos);

  // Evaluate the same pairs from a TSV file with swapped columns.
  std::istringstream sources(file_content(folder / "valid.en")), targets(file_content(folder / "valid.de"));
  std::string rows, straight;
  for (std::string a, b; std::getline(sources, a) && std::getline(targets, b);)
    rows += b + "\t" + a + "\n", straight += a + "\t" + b + "\n";
  write_file(folder.path(), "pairs.tsv", rows);
  write_file(folder.path(), "straight.tsv", straight);
  const ProgramResult table = evaluate({"run", "pairs.tsv", "--columns", "2,1", "--json"});
  ASSERT_EQ(table.exit_code, 0) << table.err;
  EXPECT_EQ(Json::parse(table.out)["bleu"], got["bleu"]);
  const ProgramResult first_columns = evaluate({"run", "straight.tsv", "--json"});
  ASSERT_EQ(first_columns.exit_code, 0) << first_columns.err;
  EXPECT_EQ(Json::parse(first_columns.out)["bleu"], got["bleu"]);

  // TER is computed, and the file of -o contains each source with its translation.
  EXPECT_GT(got["ter"], 0.0);
  EXPECT_EQ(evaluate({"run", "valid.en", "valid.de", "-o", "rows.jsonl"}).exit_code, 0);
  std::istringstream objects(file_content(folder / "rows.jsonl")), outputs(file_content(folder / "out.txt"));
  sources.clear(), sources.seekg(0);
  for (std::string object, source, output; std::getline(sources, source);) {
    ASSERT_TRUE(std::getline(objects, object) && std::getline(outputs, output));
    EXPECT_EQ(Json::parse(object)["input"], source);
    EXPECT_EQ(Json::parse(object)["output"], output);
  }

  // The comparison of a model with itself shows no difference.
  const ProgramResult compared =
      evaluate({"--compare", "run", "run", "valid.en", "valid.de", "--json", "--samples", "20"});
  ASSERT_EQ(compared.exit_code, 0) << compared.err;
  EXPECT_EQ(Json::parse(compared.out)["different_rows"], 0);
  EXPECT_EQ(Json::parse(compared.out)["scores"]["bleu"]["first"], got["bleu"]);

  EXPECT_EQ(evaluate({"run", "valid.en"}).exit_code, 2);
  EXPECT_EQ(evaluate({"run", "valid.en", "train.de"}).exit_code, 3);  // different numbers of lines
  EXPECT_EQ(evaluate({"run", "valid.en", "none.de"}).exit_code, 4);
  EXPECT_EQ(evaluate({"run", "valid.en", "valid.de", "--bleu-tokenizer", "14z"}).exit_code, 2);
}

TEST_F(Evaluate, LanguageModelAgreesWithValidation) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "a rose is a rose is a rose " + std::to_string(i % 7) + "\n";
  write_file(folder.path(), "train.txt", text);
  write_file(folder.path(), "valid.txt", text.substr(0, 1000));
  write_file(folder.path(), "lm.toml", R"(
task = "language-model"
[data]
train = ["train.txt"]
valid = ["valid.txt"]
[tokenizer]
type = "char"
[model]
layers = 1
hidden_size = 16
heads = 2
feed_forward_size = 32
positions = "learned"
[training]
context = 16
max_steps = 20
[output]
folder = "lm"
)");
  const ProgramResult trained = run_program({"train", "lm.toml", "-q"}, folder.path());
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const Json expected = last_validation(folder / "lm/log.jsonl");
  const ProgramResult result = evaluate({"lm", "valid.txt", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(Json::parse(result.out)["loss"], expected["loss"]);
  EXPECT_EQ(Json::parse(result.out)["tokens"], 999);
  const double total = expected["loss"].get<double>() * 999;
  EXPECT_EQ(Json::parse(result.out)["bytes"], 1000);
  EXPECT_NEAR(Json::parse(result.out)["byte_perplexity"].get<double>(), std::exp(total / 1000), 1e-9);
  const auto words = Json::parse(result.out)["words"].get<double>();
  EXPECT_GT(words, 200);
  EXPECT_NEAR(Json::parse(result.out)["word_perplexity"].get<double>(), std::exp(total / words),
              1e-9 * std::exp(total / words));
  EXPECT_EQ(evaluate({"lm", "valid.txt", "--context", "17"}).exit_code, 2);
}

// A text that is longer than the model's positions gives an error with the line number.
TEST_F(Evaluate, LongLinesAreNamed) {
  testing_task::write_run(folder.path());
  const ProgramResult trained = run_program(
      {"train", "run.toml", "-q", "--set", "training.max_steps=2", "--set", "model.positions=learned",
       "--set", "model.max_positions=64", "--set", "data.max_length=64", "--set", "validation.every_steps=2"},
      folder.path());
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  std::string text;
  for (int i = 0; i < 40; ++i) text += "one ";
  write_file(folder.path(), "long.en", "one\n" + text + "\n");
  write_file(folder.path(), "short.de", "eins\nzwei\n");
  const ProgramResult source = evaluate({"run", "long.en", "short.de"});
  EXPECT_EQ(source.exit_code, 3);
  EXPECT_NE(source.err.find("long.en:2: the source exceeds the model's maximum number of positions"),
            std::string::npos)
      << source.err;
  const ProgramResult reference = evaluate({"run", "short.de", "long.en"});
  EXPECT_EQ(reference.exit_code, 3);
  EXPECT_NE(reference.err.find(":2: the reference exceeds the model's maximum number of positions"),
            std::string::npos)
      << reference.err;
}

}  // namespace
}  // namespace regard::train
