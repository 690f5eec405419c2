// The task "classification": steps equal to transformers', runs from scratch and from folders, wrong data.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "ops/weighted_cross_entropy.h"
#include "run_case.h"
#include "support/changed_model.h"
#include "support/throws.h"
#include "task_step.h"
#include "train/training_context.h"
#include "train/validator.h"

namespace regard::train {
namespace {

// Return `count` sentences of number words. The label is "high" if "six" or "five" is in the sentence.
std::string sentences(std::uint64_t seed, std::size_t count, bool swapped = false) {
  const std::vector<std::string> words{"one", "two", "three", "four", "five", "six"};
  RandomStream random({seed, 0, 0});
  std::string rows;
  for (std::size_t i = 0; i < count; ++i) {
    std::string text;
    bool high = false;
    for (std::uint64_t left = 1 + random.next_below(5); left > 0; --left) {
      const std::size_t word = random.next_below(words.size());
      text += (text.empty() ? "" : " ") + words[word];
      high = high || word >= 4;
    }
    rows += text + "\t" + (high != swapped ? "high" : "low") + "\n";
  }
  return rows;
}

class Classifying : public RunCase {
 protected:
  Classifying() {
    regard::testing::write_file(folder.path(), "train.tsv", sentences(1, 300));
    regard::testing::write_file(folder.path(), "valid.tsv", sentences(2, 60));
    std::filesystem::remove(folder / "run.toml");
    regard::testing::write_file(folder.path(), "run.toml", R"(task = "classification"
[data]
train = ["train.tsv"]
valid = ["valid.tsv"]
columns = [1, 2]
max_length = 16
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
metrics = ["accuracy", "f1", "matthews", "loss"]
[output]
folder = "run"
checkpoint_every_steps = 7
)");
  }
  Json validation(const std::string& run, std::int64_t step) {
    for (const Json& line : log(run))
      if (line.contains("validation") && line["step"] == step) return line["validation"];
    return {};
  }
  RunConfig config(const std::vector<std::string>& overrides = {}) {
    return read_run((folder / "run.toml").string(), overrides);
  }
};

// Loss and gradients of one training step on pairs equal those of transformers. They would differ if the
// reader, tokenizer, token types, batches, head or loss were wrong.
TEST_F(Classifying, AStepOnPairsEqualsTransformers) {
  const regard::testing::Golden golden("hf-more", "bert-nli");
  write_without_dropout("hf-more/bert-nli", folder / "nli");
  const char* const labels[] = {"entailment", "neutral", "contradiction"};
  std::string rows;
  for (std::size_t i = 0; i < golden.about()["texts"].size(); ++i) {
    const Json& pair = golden.about()["texts"][i];
    rows += Json{{"premise", pair[0]}, {"claim", pair[1]}, {"gold", labels[golden.tensor("labels").i64()[i]]}}
                .dump() +
            "\n";
  }
  regard::testing::write_file(folder.path(), "nli.jsonl", rows);
  regard::testing::write_file(folder.path(), "nli.toml", R"(task = "classification"
[data]
train = ["nli.jsonl"]
valid = ["nli.jsonl"]
columns = ["premise", "claim", "gold"]
max_length = 40
[model]
from = "nli"
[training]
batch_size = 4
max_steps = 1
[output]
folder = "run"
)");
  const RunConfig run = read_run((folder / "nli.toml").string());
  check_run(run);
  ThreadPool pool(2);
  TrainingContext context(run, pool);
  for (const std::string& note : context.task->notes())
    EXPECT_EQ(note.find("newly initialised weights"), std::string::npos) << note;
  const StepResult step = context.trainer->compute_gradients();
  EXPECT_EQ(step.target_tokens, 4);
  EXPECT_NEAR(step.loss, golden.tensor("loss").f32()[0], 1e-5);
  expect_gradients(*context.model, golden);
}

TEST_F(Classifying, StepsOfOtherProblemsEqualTransformers) {
  const regard::testing::Golden several("hf-more", "bert-multilabel"), one("hf-tiny", "bert-classifier");
  RunConfig run = config();
  Batch batch = batch_of(one);
  for (std::int64_t i = 0; i < one.tensor("labels").elements(); ++i)
    batch.labels.push_back(static_cast<std::int32_t>(one.tensor("labels").i64()[i]));
  expect_step(*make_task(run), "hf-tiny", "bert-classifier", batch);
  run.labels.problem_type = "multi_label_classification";
  batch = batch_of(several);
  const Tensor labels = several.tensor("labels");
  batch.values.assign(labels.f32(), labels.f32() + labels.elements());
  expect_step(*make_task(run), "hf-more", "bert-multilabel", batch);
}

TEST(WeightedCrossEntropy, EqualsTorch) {
  const Json cases =
      read_json(regard::testing::golden("tasks/weighted-cross-entropy.json").string())["cases"];
  ThreadPool pool(1);
  for (const Json& one : cases) {
    const auto labels = one["labels"].get<std::vector<std::int32_t>>();
    const auto weights = one["weights"].get<std::vector<float>>();
    const auto rows = std::ssize(labels), classes = std::ssize(weights);
    Tensor logits = Tensor::empty({rows, classes});
    double weight = 0;
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto row = static_cast<std::size_t>(r);
      for (std::int64_t c = 0; c < classes; ++c)
        logits.row(r)[c] = one["logits"][row][static_cast<std::size_t>(c)].get<float>();
      if (labels[row] != kIgnoredLabel) weight += weights[static_cast<std::size_t>(labels[row])];
    }
    Arena arena;
    Tape tape(pool, arena);
    tape.begin({.record = true});
    Var input = tape.input(logits, true);
    Var loss = ops::weighted_cross_entropy(
        tape, input, labels, weights,
        {one["label_smoothing"].get<float>(), kIgnoredLabel, static_cast<float>(1 / weight)});
    EXPECT_NEAR(loss->value.f32()[0], one["loss"].get<float>(), 1e-5);
    tape.backward(loss);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < classes; ++c)
        EXPECT_NEAR(input->gradient.row(r)[c],
                    one["gradient"][static_cast<std::size_t>(r)][static_cast<std::size_t>(c)].get<float>(),
                    1e-6);
  }
}

TEST_F(Classifying, LearnsFromScratchAndOpensWithClassify) {
  const ProgramResult result =
      train({"--set", "training.max_steps=150", "--set", "validation.every_steps=50"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("next: regard classify"), std::string::npos) << result.err;
  double accuracy = 0;
  for (const Json& line : log("run")) {
    if (!line.contains("validation")) continue;
    accuracy = line["validation"]["accuracy"];
    EXPECT_TRUE(line["validation"].contains("matthews"));
    EXPECT_EQ(line["samples"].size(), 3u);
  }
  EXPECT_GT(accuracy, 0.95) << result.err;
  expect_confusion("run");
  EXPECT_FALSE(fs::exists(folder / "run/latest/generation_config.json"));
  const ProgramResult classified =
      run_program({"classify", "run", "--json"}, folder.path(), "one six\ntwo one\n");
  ASSERT_EQ(classified.exit_code, 0) << classified.err;
  EXPECT_NE(classified.out.find("high"), std::string::npos) << classified.out;
}

TEST_F(Classifying, ThreadsDoNotChangeABit) {
  for (const char* threads : {"1", "2", "3"})
    ASSERT_EQ(train({"-t", threads, "--set", std::string("output.folder=") + threads}).exit_code, 0);
  EXPECT_EQ(weights("1"), weights("2"));
  EXPECT_EQ(weights("1"), weights("3"));
  // Negative control: another seed gives other bits.
  ASSERT_EQ(train({"-s", "2", "--set", "output.folder=other"}).exit_code, 0);
  EXPECT_NE(weights("1"), weights("other"));
}

TEST_F(Classifying, ResumedAfterAKillEndsWithTheSameBits) {
  const std::vector<std::string> steps{"--set", "training.max_steps=300"};
  ASSERT_EQ(train({"--set", "training.max_steps=300", "--set", "output.folder=alone"}).exit_code, 0);
  const int code = train_until(steps, "run/log.jsonl", SIGKILL);
  EXPECT_TRUE(code == -SIGKILL || code == 0) << code;
  ASSERT_EQ(train({"--set", "training.max_steps=300", "--resume"}).exit_code, 0);
  EXPECT_EQ(weights("alone"), weights("run"));
}

TEST_F(Classifying, AFolderKeepsAHeadThatFitsAndGetsANewOneOtherwise) {
  ASSERT_EQ(train({"--set", "output.folder=base"}).exit_code, 0);
  const std::vector<std::string> tune{"--set", "model.from=base",      "--set", "training.learning_rate=0",
                                      "--set", "training.max_steps=20"};
  const ProgramResult kept = train(tune);
  ASSERT_EQ(kept.exit_code, 0) << kept.err;
  EXPECT_EQ(kept.err.find("newly initialised weights"), std::string::npos) << kept.err;
  EXPECT_EQ(validation("base", 60)["accuracy"], validation("run", 20)["accuracy"]);
  std::string other = sentences(1, 300);
  for (std::size_t at = 0; (at = other.find("\thigh", at)) != std::string::npos;) other.replace(at, 5, "\tx");
  regard::testing::write_file(folder.path(), "other.tsv", other);
  std::vector<std::string> renamed = tune;
  renamed.insert(renamed.end(), {"--set", "data.train=other.tsv", "--set", "data.valid=other.tsv", "--set",
                                 "output.folder=renamed"});
  const ProgramResult made = train(renamed);
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_NE(made.err.find("newly initialised weights (not in"), std::string::npos) << made.err;
  EXPECT_NE(made.err.find("classifier.weight"), std::string::npos) << made.err;
  EXPECT_EQ(made.err.find("encoder.layer"), std::string::npos) << made.err;
  const Json config = read_json((folder / "renamed/latest/config.json").string());
  EXPECT_EQ(config["id2label"]["1"], "x");
  // A resumed run does not need the folder of its base model.
  fs::remove_all(folder / "base");
  EXPECT_EQ(train({"--resume", "--set", "model.from=base", "--set", "training.learning_rate=0", "--set",
                   "training.max_steps=30"})
                .exit_code,
            0);
}

TEST_F(Classifying, ClassWeightsChangeTheLoss) {
  const auto first_loss = [this](const std::vector<std::string>& overrides) {
    const RunConfig run = config(overrides);
    ThreadPool pool(1);
    TrainingContext context(run, pool);
    return context.trainer->compute_gradients();
  };
  const StepResult plain = first_loss({}), balanced = first_loss({"labels.balance=true"}),
                   equal = first_loss({"labels.weights=[1.0, 1.0]"});
  EXPECT_NEAR(plain.loss, equal.loss, 1e-6);
  EXPECT_NE(plain.loss, balanced.loss);
  EXPECT_EQ(plain.target_tokens, balanced.target_tokens);
  EXPECT_NE(plain.weight, balanced.weight);
  // Weights that an override sets replace the weights computed for labels.balance.
  const std::string file = file_content(folder / "run.toml");
  fs::remove(folder / "run.toml");
  regard::testing::write_file(folder.path(), "run.toml", file + "[labels]\nbalance = true\n");
  EXPECT_EQ(first_loss({"labels.weights=[1.0, 1.0]"}).loss, equal.loss);
}

TEST_F(Classifying, ANumberIsLearnt) {
  std::string rows;
  RandomStream random({7, 0, 0});
  for (int i = 0; i < 300; ++i) {
    std::string text = "one";
    int sixes = 0;
    for (std::uint64_t left = random.next_below(6); left > 0; --left) {
      const bool six = random.next_below(2) == 1;
      text += six ? " six" : " two";
      sixes += six ? 1 : 0;
    }
    rows += text + "\t" + std::to_string(sixes) + "\n";
  }
  regard::testing::write_file(folder.path(), "numbers.tsv", rows);
  const ProgramResult result =
      train({"--set", "labels.problem_type=regression", "--set", "data.train=numbers.tsv", "--set",
             "data.valid=numbers.tsv", "--set", "validation.metrics=[\"pearson\", \"spearman\"]", "--set",
             "training.max_steps=150", "--set", "validation.every_steps=0"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_GT(validation("run", 150)["pearson"], 0.9) << result.err;
  EXPECT_EQ(read_json((folder / "run/latest/config.json").string())["problem_type"], "regression");
}

// The weights of the head are set to zero, and the first step of a warm-up has learning rate 0. Therefore,
// all predictions are equal until the second step.
TEST_F(Classifying, AnyNumberIsBetterThanTheCorrelationOfConstants) {
  std::string rows;
  for (int i = 0; i < 40; ++i)
    rows += (i % 2 == 0 ? "six six\t" : "one two one\t") + std::to_string(i % 2) + "\n";
  regard::testing::write_file(folder.path(), "numbers.tsv", rows);
  const std::vector<std::string> settings{
      "--set", "labels.problem_type=regression", "--set", "data.train=numbers.tsv",
      "--set", "data.valid=numbers.tsv",         "--set", "validation.metrics=[\"pearson\"]"};
  const auto trained = [&](std::vector<std::string> more) {
    more.insert(more.begin(), settings.begin(), settings.end());
    return train(more);
  };
  ASSERT_EQ(trained({"--set", "training.max_steps=1"}).exit_code, 0);
  regard::testing::copy_changed_model(folder / "run/latest", folder / "constant",
                                      [](const std::string& name, const Tensor& weight) {
                                        if (name == "classifier.weight")
                                          std::fill_n(weight.f32(), weight.elements(), 0.0f);
                                      });
  std::ofstream(folder / "from.toml")
      << "task = \"classification\"\n[data]\ntrain = [\"numbers.tsv\"]\n"
         "valid = [\"numbers.tsv\"]\ncolumns = [1, 2]\nmax_length = 16\n[labels]\n"
         "problem_type = \"regression\"\n[model]\nfrom = \"constant\"\n[training]\n"
         "warmup_steps = 2\nmax_steps = 3\n[validation]\nevery_steps = 1\n"
         "metrics = [\"pearson\"]\n[output]\nfolder = \"tuned\"\n";
  ASSERT_EQ(
      run_program({"train", "from.toml", "-q", "--set", "training.max_steps=1"}, folder.path()).exit_code, 0);
  ASSERT_TRUE(validation("tuned", 1)["pearson"].is_null());
  const ProgramResult resumed =
      run_program({"train", "--resume", "tuned", "--set", "training.max_steps=3"}, folder.path());
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  ASSERT_TRUE(validation("tuned", 2)["pearson"].is_number());
  EXPECT_GE(linked("tuned", "best"), 2) << resumed.err;
  ASSERT_EQ(
      run_program({"train", "from.toml", "-q", "--set", "output.folder=whole"}, folder.path()).exit_code, 0);
  EXPECT_EQ(linked("whole", "best"), linked("tuned", "best"));
}

struct WrongRows {
  const char* rows;
  std::vector<std::string> overrides;
  const char* message;
};

class WrongLabels : public Classifying, public ::testing::WithParamInterface<WrongRows> {};

TEST_P(WrongLabels, AreRefusedWithFileAndLine) {
  regard::testing::write_file(folder.path(), "bad.tsv", GetParam().rows);
  std::vector<std::string> arguments{"--set", "data.valid=bad.tsv", "--set", "training.max_steps=2"};
  for (const std::string& one : GetParam().overrides) arguments.insert(arguments.end(), {"--set", one});
  const ProgramResult result = train(arguments);
  EXPECT_NE(result.exit_code, 0);
  EXPECT_NE(result.err.find(GetParam().message), std::string::npos) << result.err;
  EXPECT_FALSE(fs::exists(folder / "run"));
}

INSTANTIATE_TEST_SUITE_P(
    Table, WrongLabels,
    ::testing::Values(
        WrongRows{"one two\thigh\none six\thihg\n", {}, "bad.tsv:2: the label is not in the training data"},
        WrongRows{"one two\thigh\none six\thihg\n", {}, "Did you mean 'high'?"},
        WrongRows{"one\thigh\ntwo\tlow\n", {"labels.names=[\"low\", \"mid\"]"}, "not among 'labels.names'"},
        WrongRows{"one\thigh\ntwo\t\n", {}, "bad.tsv:2"}, WrongRows{"one\thigh\ntwo\n", {}, "bad.tsv:2"},
        WrongRows{"one\thigh\n\tlow\n", {"data.empty_lines=refuse"}, "the text is empty"},
        WrongRows{"one\thigh\nt\xffo\tlow\n", {}, "bad.tsv:2"},
        WrongRows{"one\thigh\n", {"data.columns=[1]"}, "'data.columns' must name"},
        WrongRows{"one\thigh\n", {"data.columns=[1, 9]"}, "train.tsv"},
        WrongRows{"one\thigh\n", {"labels.problem_type=regression", "validation.metrics=loss"}, "number"},
        WrongRows{
            "one\thigh\n", {"labels.problem_type=regression"}, "'validation.metrics' contains 'accuracy'"},
        WrongRows{"one\thigh\n", {"labels.names=[\"high\", \"high\"]"}, "contains a label twice"},
        WrongRows{"one\thigh\n", {"labels.weights=[1.0]"}, "the length of 'labels.weights' differs"},
        WrongRows{"one\thigh\n", {"model.family=transformer"}, "'model.family' does not fit"},
        WrongRows{"one\thigh\n", {"training.batch_tokens=9"}, "'training.batch_tokens' has no effect"},
        WrongRows{"one\thigh\n", {"labels.until=:", "labels.problem_type=regression"}, "has no effect"},
        WrongRows{"", {}, "no data is left to validate on"}));

TEST_F(Classifying, RowsWithoutAUsableLabelAreSkippedIfAsked) {
  regard::testing::write_file(folder.path(), "train.tsv", "one\tlow\ntwo\t\nsix\thigh\nfive \thigh\n");
  ASSERT_EQ(train({"--dry-run"}).exit_code, 3);
  const ProgramResult result = train({"--dry-run", "--set", "data.malformed=skip"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE((result.out + result.err).find("training: 3 examples"), std::string::npos) << result.out;
  EXPECT_NE((result.out + result.err).find("read 3 records; 1 malformed skipped (first: "),
            std::string::npos);
  EXPECT_NE((result.out + result.err).find("train.tsv:2"), std::string::npos) << result.out;
}

// Lines of the form "LABEL TEXT" (TREC questions). `labels.until` ends the label, so "NUM:date" has the label
// "NUM".
TEST_F(Classifying, ALabelMayStandBeforeItsText) {
  regard::testing::write_file(folder.path(), "lines.txt",
                              "NUM:date when was it ?\nNUM:count how many ?\nHUM:ind who is it ?\n");
  const RunConfig run =
      config({"data.train=lines.txt", "data.valid=lines.txt", "labels.until=:", "tokenizer.vocab_size=80"});
  ThreadPool pool(1);
  TrainingContext context(run, pool);
  EXPECT_EQ(context.model->config()["id2label"], (Json{{"0", "HUM"}, {"1", "NUM"}}));
}

// A validation frees the activations of the last step, so that they are not in memory together with the
// packed weights.
TEST_F(Classifying, ValidationFreesTheActivationsOfTheStepBefore) {
  const RunConfig run = config();
  ThreadPool pool(1);
  TrainingContext context(run, pool);
  context.trainer->step();
  const std::size_t of_the_step = context.trainer->activation_bytes();
  context.trainer->arena().reset();
  context.trainer->arena().allocate(64 * of_the_step);  // as much memory as the activations of a larger step
  validate(context);
  EXPECT_LT(context.trainer->activation_bytes(), 16 * of_the_step);
}

}  // namespace
}  // namespace regard::train
