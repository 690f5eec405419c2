// Run the program with the model families that have no self-attention: train, then classify, tag, generate,
// translate, attend, context and resume.
#include <gtest/gtest.h>

#include "base/json.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"

namespace regard::testing {
namespace {

namespace fs = std::filesystem;

// Write a run file. `data`, `model` and `more` are lines of the sections [data], [model] and [training].
void write_run(const fs::path& folder, const std::string& task, const std::string& data,
               const std::string& model, const std::string& more = "") {
  write_file(folder, "run.toml",
             "task = \"" + task + "\"\n[data]\n" + data +
                 "[tokenizer]\ntype = \"word\"\nvocab_size = 60\n[model]\n" + model +
                 "hidden_size = 16\ndropout = 0.0\n[training]\nlearning_rate = 0.02\nmax_steps = 150\n" +
                 more + "[validation]\nevery_steps = 150\n[output]\nfolder = \"run\"\n");
}

void train(const fs::path& folder) {
  const ProgramResult result = run_program({"train", "run.toml", "-q", "-t", "1"}, folder);
  ASSERT_EQ(result.exit_code, 0) << result.err;
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(SequenceFamilies, ClassifyAndFineTune) {
  for (const std::string family : {"mlp", "cnn", "rnn", "lstm", "gru"}) {
    const TemporaryFolder folder;
    const std::string rows =
        repeated("a good film\tgood\nwhat a bad film\tbad\nit was good\tgood\nbad\tbad\n", 4);
    write_file(folder.path(), "train.tsv", rows);
    write_run(folder.path(), "classification",
              "train = [\"train.tsv\"]\nvalid = [\"train.tsv\"]\ncolumns = [1, 2]\n",
              "family = \"" + family + "\"\nlayers = 1\n", "batch_size = 8\n");
    train(folder.path());
    const ProgramResult result =
        run_program({"classify", "run", "--json"}, folder.path(), "what a bad film\nit was good\n");
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const std::vector<std::string> lines = lines_of(result.out);
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_NE(lines[0].find("\"bad\""), std::string::npos) << family << ": " << lines[0];
    EXPECT_LT(lines[0].find("\"bad\""), lines[0].find("\"good\"")) << family << ": " << lines[0];
    EXPECT_LT(lines[1].find("\"good\""), lines[1].find("\"bad\"")) << family << ": " << lines[1];
    const ProgramResult tuned = run_program(
        {"train", "run.toml", "-q", "-t", "1", "--set", "model.from=run", "--set", "output.folder=again"},
        folder.path());
    EXPECT_EQ(tuned.exit_code, 0) << tuned.err;
  }
}

TEST(SequenceFamilies, TagWithTheState) {
  const TemporaryFolder folder;
  write_file(folder.path(), "train.tsv", repeated("Anna sees Tom\tB-PER O B-PER\nTom runs\tB-PER O\n", 8));
  write_run(folder.path(), "token-classification",
            "train = [\"train.tsv\"]\nvalid = [\"train.tsv\"]\ncolumns = [1, 2]\n",
            "family = \"lstm\"\nlayers = 1\nbidirectional = true\n", "batch_size = 8\n");
  train(folder.path());
  const ProgramResult result = run_program({"tag", "run"}, folder.path(), "Anna runs\n");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("PER"), std::string::npos) << result.out;
}

TEST(SequenceFamilies, GenerateAndResume) {
  for (const std::string family : {"rnn", "lstm", "gru"}) {
    const TemporaryFolder folder;
    write_file(folder.path(), "train.txt", repeated("one two three four five six . ", 60));
    write_run(folder.path(), "language-model", "train = [\"train.txt\"]\nvalid = [\"train.txt\"]\n",
              "family = \"" + family + "\"\nlayers = 2\n", "batch_size = 4\ncontext = 12\n");
    train(folder.path());
    const ProgramResult result =
        run_program({"generate", "run", "--max-new", "3", "--beam", "2"}, folder.path(), "one two\n");
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_NE(result.out.find("three"), std::string::npos) << family << ": " << result.out;
    const ProgramResult resumed = run_program(
        {"train", "run.toml", "-q", "-t", "1", "--resume", "--set", "training.max_steps=160"}, folder.path());
    EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  }
}

TEST(SequenceFamilies, TranslateAttendAndContext) {
  for (const std::string attention : {"additive", "multiplicative", "none"}) {
    const TemporaryFolder folder;
    write_file(folder.path(), "train.tsv",
               repeated("the bank\tdie Bank\nthe river\tder Fluss\nthe money\tdas Geld\n", 8));
    write_run(folder.path(), "translation",
              "train = [\"train.tsv\"]\nvalid = [\"train.tsv\"]\ncolumns = [1, 2]\n",
              "family = \"rnn-search\"\nencoder_layers = 1\ndecoder_layers = 2\nbidirectional = "
              "true\nattention = \"" +
                  attention + "\"\n",
              "batch_tokens = 64\n");
    train(folder.path());
    const ProgramResult result = run_program({"translate", "run"}, folder.path(), "the river\nthe bank\n");
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, "der Fluss\ndie Bank\n") << attention;
    const ProgramResult seen = run_program({"attend", "run", "the river", "--json"}, folder.path());
    if (attention == "none") {
      EXPECT_NE(seen.exit_code, 0) << "attention weights of a model without attention";
    } else {
      ASSERT_EQ(seen.exit_code, 0) << seen.err;
      EXPECT_NE(seen.out.find("cross"), std::string::npos);
      const ProgramResult swept = run_program({"study", "run", "train.tsv"}, folder.path());
      EXPECT_EQ(swept.exit_code, 0) << swept.err;
      EXPECT_NE(swept.out.find("cross.0.0"), std::string::npos) << swept.out;
      const ProgramResult direct = run_program(
          {"study", "run", "--view", "direct", "--text", "the river", "--answer", "der"}, folder.path());
      EXPECT_EQ(direct.exit_code, 2);
      EXPECT_NE(direct.err.find("needs a residual that is the sum of its branches"), std::string::npos)
          << direct.err;
      // Additive attention has weights that interventions cannot change.
      const ProgramResult uniform =
          run_program({"translate", "run", "--intervene", "uniform cross.0.0"}, folder.path(), "the river\n");
      EXPECT_EQ(uniform.exit_code, attention == "additive" ? 2 : 0) << uniform.err;
      if (attention == "additive") {
        EXPECT_NE(uniform.err.find("cannot be changed"), std::string::npos) << uniform.err;
      }
    }
    const ProgramResult silent =
        run_program({"translate", "run", "--intervene", "zero decoder.output"}, folder.path(), "the river\n");
    EXPECT_EQ(silent.exit_code, 0) << silent.err;
    EXPECT_NE(silent.out, "der Fluss\n");
    const ProgramResult context =
        run_program({"context", "run", "the", "the river", "the bank", "--json"}, folder.path());
    ASSERT_EQ(context.exit_code, 0) << context.err;
    EXPECT_EQ(parse_json(context.out, "stdout")["layers"][0]["layer"], "static");
  }
}

TEST(SequenceFamilies, KeysWithoutEffectAreRefused) {
  const TemporaryFolder folder;
  write_file(folder.path(), "train.txt", "one two three . one two three .\n");
  const auto refused = [&](const std::string& model, const std::string& part) {
    write_run(folder.path(), "language-model", "train = [\"train.txt\"]\nvalid = [\"train.txt\"]\n", model);
    const ProgramResult result = run_program({"train", "run.toml", "-q"}, folder.path());
    EXPECT_NE(result.exit_code, 0);
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
  };
  refused("family = \"lstm\"\nheads = 2\n", "model.heads");
  refused("family = \"lstm\"\nnonlinearity = \"relu\"\n", "model.nonlinearity");
  refused("family = \"transformer\"\nembedding_size = 8\n", "model.embedding_size");
  refused("family = \"cnn\"\n", "model.family");
  refused("family = \"lstm\"\nembedding_size = 8\n", "embedding_size");
}

TEST(ContextCommand, PrintsLayersAndReadsSenses) {
  const TemporaryFolder folder;
  write_file(folder.path(), "banks.tsv",
             "money\tI put money in the bank.\nriver\tWe sat on the bank of the river.\n"
             "money\tThe bank lends money.\n");
  const std::string model = golden("hf-more/st-mean").string();
  const ProgramResult text =
      run_program({"context", model, "bank", "-i", "banks.tsv", "--svg", "banks.svg", "-q"}, folder.path());
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("silhouette"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("static        1.000"), std::string::npos) << text.out;
  EXPECT_NE(file_content(folder.path() / "banks.svg").find("<svg"), std::string::npos);
  const ProgramResult json = run_program(
      {"context", model, "bank", "A bank.", "The bank.", "--senses", "a,b", "--json"}, folder.path());
  ASSERT_EQ(json.exit_code, 0) << json.err;
  EXPECT_EQ(parse_json(json.out, "stdout")["sentences"][1]["sense"], "b");
  const ProgramResult one = run_program({"context", model, "bank", "A bank."}, folder.path());
  EXPECT_EQ(one.out.substr(0, one.out.find('\n')), "'bank' in 1 sentence");
  const ProgramResult nothing = run_program({"context", model, "", "A bank."}, folder.path());
  EXPECT_EQ(nothing.exit_code, 3);
  EXPECT_NE(nothing.err.find("the word to compare is empty"), std::string::npos) << nothing.err;
  write_file(folder.path(), "empty.txt", "\n");
  const ProgramResult empty = run_program({"context", model, "bank", "-i", "empty.txt"}, folder.path());
  EXPECT_EQ(empty.exit_code, 3);
  EXPECT_NE(empty.err.find("empty.txt: the file has no sentences"), std::string::npos) << empty.err;
  const ProgramResult wrong = run_program({"context", model, "bank", "A house."}, folder.path());
  EXPECT_NE(wrong.exit_code, 0);
  EXPECT_NE(wrong.err.find("'bank' as a whole word"), std::string::npos) << wrong.err;
  const ProgramResult layer =
      run_program({"context", model, "bank", "A bank.", "--layer", "9"}, folder.path());
  EXPECT_EQ(layer.exit_code, 2) << layer.err;
}

}  // namespace
}  // namespace regard::testing
