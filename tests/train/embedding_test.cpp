// The task "embedding": steps equal to sentence-transformers', runs, the folder that is written, wrong data.
#include <gtest/gtest.h>
#include <signal.h>

#include "run_case.h"
#include "support/throws.h"
#include "task_step.h"
#include "train/training_context.h"

namespace regard::train {
namespace {

// Return rows with a number in English words, the same number in German words and, if `three`, another number
// in German words.
std::string rows(std::uint64_t seed, std::size_t count, bool three) {
  const std::vector<std::string> left{"one", "two", "three", "four", "five", "six", "seven", "eight"},
      right{"eins", "zwei", "drei", "vier", "fuenf", "sechs", "sieben", "acht"};
  RandomStream random({seed, 0, 0});
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t a = random.next_below(8), b = random.next_below(8),
                      c = (a + 1 + random.next_below(7)) % 8;
    text += left[a] + " " + left[b] + "\t" + right[a] + " " + right[b];
    text += three ? "\t" + right[c] + " " + right[b] + "\n" : "\n";
  }
  return text;
}

class Embedding : public RunCase {
 protected:
  Embedding() {
    regard::testing::write_file(folder.path(), "train.tsv", rows(1, 300, false));
    regard::testing::write_file(folder.path(), "valid.tsv", rows(2, 40, false));
    std::filesystem::remove(folder / "run.toml");
    regard::testing::write_file(folder.path(), "run.toml", R"(task = "embedding"
[data]
train = ["train.tsv"]
valid = ["valid.tsv"]
columns = [1, 2]
max_length = 12
[tokenizer]
type = "wordpiece"
vocab_size = 60
[model]
family = "bert"
layers = 1
hidden_size = 16
heads = 2
feed_forward_size = 32
activation = "gelu"
dropout = 0.1
[training]
learning_rate = 5e-3
schedule = "constant"
batch_size = 8
accumulate = 2
max_steps = 60
[validation]
every_steps = 20
metrics = ["recall_at_1", "recall_at_5", "mrr", "loss"]
[output]
folder = "run"
)");
  }
};

// Loss and gradients of one training step equal those of sentence-transformers. They would differ if the
// reader, tokenizer, pooling, normalisation or loss were wrong.
TEST_F(Embedding, StepsEqualSentenceTransformers) {
  struct Case {
    const char *name, *settings, *pooling;
  };
  for (const auto& [name, settings, pooling] :
       {Case{"ranking", "loss = \"ranking\"", "mean"},
        Case{"negatives", "loss = \"ranking\"\nscale = 10.0", "cls"},
        Case{"triplet", "loss = \"triplet\"\nmargin = 1.5\nnormalize = false", "max"},
        Case{"triplet-cosine", "loss = \"triplet\"\ndistance = \"cosine\"\nmargin = 0.4", "mean"},
        Case{"cosine", "loss = \"cosine\"", "mean"}}) {
    const regard::testing::Golden golden("tasks", std::string("embedding-") + name);
    const fs::path place = folder / name;
    write_without_dropout("hf-more/" + golden.about()["folder"].get<std::string>(), place / "base");
    std::string lines;
    for (const Json& row : golden.about()["rows"]) {
      Json line = Json::object();
      for (std::size_t c = 0; c < row.size(); ++c) line[std::to_string(c)] = row[c];
      lines += line.dump() + "\n";
    }
    const bool three = golden.about()["rows"][0].size() == 3;
    regard::testing::write_file(place, "rows.jsonl", lines);
    regard::testing::write_file(
        place, "run.toml",
        std::string(
            "task = \"embedding\"\n[data]\ntrain = [\"rows.jsonl\"]\nvalid = [\"rows.jsonl\"]\ncolumns = ") +
            (three ? "[\"0\", \"1\", \"2\"]" : "[\"0\", \"1\"]") + "\nmax_length = 16\n[embedding]\n" +
            settings + "\npooling = \"" + pooling +
            "\"\n[model]\nfrom = \"base\"\n[training]\nbatch_size = 4\nmax_steps = 1\n[output]\nfolder = "
            "\"run\"\n");
    const RunConfig run = read_run((place / "run.toml").string());
    check_run(run);
    ThreadPool pool(2);
    TrainingContext context(run, pool);
    const StepResult step = context.trainer->compute_gradients();
    EXPECT_EQ(step.target_tokens, 4) << name;
    EXPECT_NEAR(step.loss, golden.tensor("loss").f32()[0], 1e-5) << name;
    expect_gradients(*context.model, golden);
    // A validation on the rows of the step, in one micro-batch, has the loss of the step.
    Arena arena;
    ValidationReport report;
    context.task->validate(*context.model, {pool, arena}, report);
    EXPECT_NEAR(report.loss, step.loss, 1e-5) << name;
  }
}

TEST_F(Embedding, LearnsAndOpensAsASentenceTransformersFolder) {
  const ProgramResult result =
      train({"--set", "training.max_steps=300", "--set", "validation.every_steps=0"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_GT(last_validation("run")["recall_at_1"], 0.8) << result.err;
  EXPECT_NE(result.err.find("next: regard embed"), std::string::npos) << result.err;
  const fs::path latest = folder / "run/latest";
  EXPECT_EQ(read_json((latest / "config.json").string())["architectures"][0], "BertModel");
  EXPECT_EQ(read_json((latest / "modules.json").string())[2]["type"],
            "sentence_transformers.models.Normalize");
  EXPECT_EQ(read_json((latest / "1_Pooling/config.json").string())["pooling_mode_mean_tokens"], true);
  EXPECT_EQ(read_json((latest / "sentence_bert_config.json").string())["max_seq_length"], 12);
  // `regard evaluate` on this folder gives the same scores as the last validation.
  const ProgramResult evaluated =
      run_program({"evaluate", "run", "valid.tsv", "--columns", "1,2", "--json", "-q"}, folder.path());
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  const Json scores = Json::parse(evaluated.out);
  EXPECT_EQ(scores["task"], "embedding");
  EXPECT_NEAR(scores["recall_at_1"].get<double>(), last_validation("run")["recall_at_1"].get<double>(), 1e-6)
      << evaluated.out;
}

// Each text has two words and two special tokens, so at least four tokens.
TEST_F(Embedding, TruncatedTextsAreReported) {
  const ProgramResult truncated = train({"--dry-run", "--set", "data.max_length=3"});
  ASSERT_EQ(truncated.exit_code, 0) << truncated.err;
  for (const char* note :
       {"300 rows of 2 texts, 1800 tokens; read 300 records; 600 texts truncated to 3 tokens",
        "40 rows of 2 texts, 240 tokens; read 40 records; 80 texts truncated to 3 tokens"})
    EXPECT_NE(truncated.out.find(note), std::string::npos) << truncated.out;
  const ProgramResult whole = train({"--dry-run", "--set", "data.max_length=64"});
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_NE(whole.out.find("40 rows of 2 texts"), std::string::npos) << whole.out;
  EXPECT_EQ(whole.out.find("truncated"), std::string::npos) << whole.out;
}

TEST_F(Embedding, ThePoolerOfTheFolderKeepsItsWeights) {
  write_without_dropout("hf-more/st-mean", folder / "base");
  ASSERT_EQ(train({"--set", "model.from=base", "--set", "training.max_steps=3"}).exit_code, 0);
  const auto before = formats::Weights::open(folder / "base"),
             after = formats::Weights::open(folder / "run/latest");
  const auto same = [&](const char* name) {
    const Tensor a = before.tensor(name), b = after.tensor(name);
    return std::equal(a.f32(), a.f32() + a.elements(), b.f32());
  };
  EXPECT_TRUE(same("pooler.dense.weight"));
  EXPECT_FALSE(same("encoder.layer.0.output.dense.weight"));
}

TEST_F(Embedding, NumbersAndTripletsAreLearnt) {
  regard::testing::write_file(folder.path(), "train.tsv", rows(1, 300, true));
  regard::testing::write_file(folder.path(), "valid.tsv", rows(2, 40, true));
  const std::vector<std::string> three{"--set", "data.columns=[1, 2, 3]",  "--set", "training.max_steps=300",
                                       "--set", "validation.every_steps=0"};
  std::vector<std::string> arguments = three;
  for (const char* more : {"--set", "embedding.loss=triplet", "--set", "embedding.margin=0.5"})
    arguments.emplace_back(more);
  ASSERT_EQ(train(arguments).exit_code, 0);
  EXPECT_GT(last_validation("run")["mrr"], 0.6);
  std::string scored;
  for (int i = 0; i < 60; ++i)
    scored += "one two\teins zwei\t1\nthree two\teins zwei\t0.2\nsix six\tzwei eins\t-0.5\n";
  regard::testing::write_file(folder.path(), "train.tsv", scored);
  regard::testing::write_file(folder.path(), "valid.tsv", scored.substr(0, scored.size() / 10));
  arguments = three;
  for (const char* more : {"--set", "embedding.loss=cosine", "--set", "validation.metrics=[\"spearman\"]",
                           "--set", "output.folder=cosine"})
    arguments.emplace_back(more);
  const ProgramResult result = train(arguments);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_GT(last_validation("cosine")["spearman"], 0.9);
}

// With TripletLoss (Euclidean distances), vectors may have any length, but validation compares cosines like
// `regard evaluate`.
TEST_F(Embedding, ValidationComparesCosines) {
  regard::testing::write_file(folder.path(), "train.tsv", rows(1, 60, true));
  regard::testing::write_file(folder.path(), "valid.tsv", rows(2, 40, true));
  ASSERT_EQ(train({"--set", "data.columns=[1, 2, 3]", "--set", "embedding.loss=triplet", "--set",
                   "embedding.normalize=false", "--set", "embedding.pooling=max", "--set",
                   "validation.metrics=[\"mrr\"]", "--set", "training.max_steps=20", "--set",
                   "validation.every_steps=0"})
                .exit_code,
            0);
  const ProgramResult evaluated =
      run_program({"evaluate", "run", "valid.tsv", "--columns", "1,2", "--json", "-q"}, folder.path());
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  EXPECT_NEAR(last_validation("run")["mrr"].get<double>(), Json::parse(evaluated.out)["mrr"].get<double>(),
              1e-6);
}

TEST_F(Embedding, HasTheSameBitsForAnyThreadsAndAfterAKill) {
  expect_same_bits_for_threads_and_after_a_kill();
}

TEST_F(Embedding, WrongRunsAreRefused) {
  const auto refused = [this](std::vector<std::string> settings, const char* message) {
    std::vector<std::string> arguments;
    for (const std::string& setting : settings) arguments.insert(arguments.end(), {"--set", setting});
    const ProgramResult result = train(arguments);
    EXPECT_NE(result.exit_code, 0);
    EXPECT_NE(result.err.find(message), std::string::npos) << result.err;
    EXPECT_FALSE(fs::exists(folder / "run"));
  };
  refused({"embedding.loss=triplet"}, "a text, a similar text and a dissimilar text");
  refused({"embedding.loss=cosine", "data.columns=[1, 2, 2]", "validation.metrics=[\"pearson\"]"},
          "train.tsv:1");
  refused({"embedding.loss=cosine", "data.columns=[1, 2, 2]"}, "'recall_at_1'");
  refused({"embedding.margin=2"}, "'embedding.loss' is not \"triplet\"");
  refused({"data.columns=[1]"}, "'data.columns' does not fit 'embedding.loss'");
  refused({"data.columns=[1]"}, "found 1 column)");
  write_without_dropout("hf-more/st-mean", folder / "base");
  Json modules = read_json((folder / "base/modules.json").string());
  modules.push_back(
      {{"idx", 3}, {"name", "3"}, {"path", "3_Dense"}, {"type", "sentence_transformers.models.Dense"}});
  regard::testing::write_file(folder / "base", "modules.json", modules.dump());
  refused({"model.from=base"}, "a dense layer after the pooling");
}

}  // namespace
}  // namespace regard::train
