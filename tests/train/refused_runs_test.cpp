// Run files and data that do not fit a task: kind, message and remedy of the error.
#include <gtest/gtest.h>

#include "support/shared_data.h"
#include "task_case.h"
#include "train/examples.h"
#include "train/run_state.h"
#include "train/sentence_files.h"

namespace regard::train {
namespace {

class RefusedRuns : public TaskCase {
 protected:
  RefusedRuns() {
    write("rows.tsv", "one two\tone\ttwo\none\ttwo\tone\n");
    write("text.txt", "one two\nthree\n");
    write("rows.jsonl", "{\"t\": \"one\", \"l\": [\"a\", \"b\"]}\n{\"t\": \"two\", \"l\": [\"b\"]}\n");
  }
  void refused(const std::string& task, const std::string& data, const std::vector<std::string>& overrides,
               const char* message, ErrorKind kind = ErrorKind::usage, const std::string& more = kEncoder) {
    EXPECT_REGARD_ERROR(open(task, data, more, overrides), kind, message);
  }
  static constexpr const char* kRows = "train = [\"rows.tsv\"]\nvalid = [\"rows.tsv\"]\n";
  static std::string rows(const char* columns) { return std::string(kRows) + "columns = " + columns; }
  static constexpr const char* kLines = "train = [\"text.txt\"]\nvalid = [\"text.txt\"]\n";
};

TEST_F(RefusedRuns, ColumnsMustFitTheTask) {
  refused("masked-language-model", rows("[1, 2]"), {},
          "'data.columns' must name only the column of the text (expected 1 column, found 2 columns)");
  write("valid.tsv", "one\ttwo\n");
  refused("masked-language-model",
          "train = [\"rows.tsv\"]\nvalid = [\"valid.tsv\"]\ncolumns = [1]\nvalid_columns = [1, 2]", {},
          "'data.valid_columns' must name only the column of the text");
  open("masked-language-model", rows("[1]"), kEncoder);
  refused("token-classification", rows("[1]"), {},
          "'data.columns' must name two columns: the words and their labels (expected two, such as");
  refused(
      "classification", rows("[1, 2]"), {"data.delimiter=;;"},
      "'data.delimiter' is longer than one character (expected one character, such as \";\", found ';;')");
  refused("embedding",
          "train = [\"rows.tsv\"]\nvalid = [\"valid.tsv\"]\ncolumns = [1, 2, 3]\nvalid_columns = [1, 2]", {},
          "'data.valid' and 'data.train' have different numbers of texts per row (expected 3 texts per row, "
          "as in "
          "'data.train', found 2 texts per row in 'data.valid')");
}

TEST_F(RefusedRuns, KeysMustFitTheLoss) {
  const std::string labels = std::string(kEncoder) +
                             "[labels]\nproblem_type = \"multi_label_classification\"\n[validation]\n"
                             "metrics = [\"loss\"]\n";
  const std::string data = "train = [\"rows.jsonl\"]\nvalid = [\"rows.jsonl\"]\ncolumns = [\"t\", \"l\"]";
  open("classification", data, labels);
  for (const char* setting : {"training.label_smoothing=0.1", "training.r_drop=0.1"}) {
    refused("classification", data, {setting},
            "requires exactly one label per text (expected problem_type = "
            "\"single_label_classification\", found problem_type = \"multi_label_classification\")",
            ErrorKind::usage, labels);
    open("classification", rows("[1, 2]"), kEncoder, {setting});
  }
  refused("classification", data, {"validation.metrics=[\"matthews\"]"},
          "which is not defined for the problem", ErrorKind::usage, labels);
  refused("embedding", rows("[1, 2, 3]"), {"embedding.loss=triplet", "training.label_smoothing=0.1"},
          "'training.label_smoothing' requires embedding.loss = \"ranking\" (found triplet)");
  open("embedding", rows("[1, 2, 3]"), kEncoder, {"training.label_smoothing=0.1"});
  refused("classification", rows("[1, 2]"), {"training.batch_size=100000000", "data.max_length=30"},
          "expected at most 2147483647 tokens, found 100000000 × 30 tokens");
}

TEST_F(RefusedRuns, TheOptimiserMustBeComplete) {
  const auto optimiser = [&](const std::vector<std::string>& overrides, const char* message) {
    refused("classification", rows("[1, 2]"), overrides, message);
  };
  optimiser({"training.optimizer=sgd", "training.nesterov=true"}, "'training.nesterov' requires");
  open("classification", rows("[1, 2]"), kEncoder,
       {"training.optimizer=sgd", "training.nesterov=true", "training.momentum=0.5"});
  optimiser({"training.optimizer=muon", "training.muon_learning_rate=0.1", "training.learning_rate=0"},
            "'training.muon_learning_rate' requires 'training.learning_rate'");
  optimiser({"training.min_learning_rate=1", "training.schedule=cosine", "training.warmup_steps=0"},
            "expected at most 0.");
  optimiser({"training.schedule=cosine", "training.warmup_steps=9", "training.max_steps=9"},
            "expected less than 9 steps, found 9 steps");
  open("classification", rows("[1, 2]"), kEncoder,
       {"training.schedule=cosine", "training.warmup_steps=8", "training.max_steps=9"});
  optimiser({"training.schedule=warmup-stable-decay", "training.warmup_steps=5", "training.decay_steps=5",
             "training.max_steps=9"},
            "expected at most 9 steps together, found 5 + 5 steps");
  open("classification", rows("[1, 2]"), kEncoder,
       {"training.schedule=warmup-stable-decay", "training.warmup_steps=4", "training.decay_steps=5",
        "training.max_steps=9"});
}

TEST_F(RefusedRuns, DataMustHaveAPlace) {
  refused("masked-language-model", "train = [\"text.txt\"]", {}, "there is no validation data");
  refused("masked-language-model", "train = [\"${NAME/text.txt\"]", {},
          "'${' without '}' in the path '${NAME/", ErrorKind::bad_file);
  const std::vector<std::string> tokenizer{
      "tokenizer.file=" + regard::testing::golden("hf-more/bert-nli/tokenizer.json").string()};
  constexpr const char* kModel =
      "\n[model]\nfamily = \"bert\"\nlayers = 1\nhidden_size = 8\nheads = 2\nfeed_forward_size = 8\n"
      "[training]\nmax_steps = 1\n";
  refused("masked-language-model", "train = [\"-\"]\nvalid = [\"-\"]", tokenizer,
          "standard input ('-') occurs more than once", ErrorKind::usage, kModel);
  refused("masked-language-model", "train = [\"-\"]\nvalid_fraction = 0.5", tokenizer,
          "running text from standard input requires 'data.valid'", ErrorKind::usage, kModel);
  for (const char* key : {"tokenizer.file", "model.vectors"})
    refused("masked-language-model", kLines, {std::string(key) + "=" + folder_.path().string()},
            "is not a regular file", ErrorKind::io, kModel);
  check_run(read("masked-language-model", "train = [\"-\"]\nvalid = [\"text.txt\"]", kModel, tokenizer));
  refused("masked-language-model", kLines, {"data.max_length=2"},
          "'data.max_length' is too small for the special tokens and text (expected more than 2, found 2)");
}

TEST_F(RefusedRuns, AModelMustFitTheTask) {
  // the tokenizer has 149 tokens
  const auto from = [](const char* name) {
    return "\n[tokenizer]\nfile = \"" + regard::testing::golden("hf-more/bert-nli/tokenizer.json").string() +
           "\"\n[training]\nmax_steps = 1\n[model]\nfrom = \"" + regard::testing::golden(name).string() +
           "\"\n";
  };
  refused("language-model", kLines, {"training.context=2"}, "expected a decoder", ErrorKind::usage,
          from("hf-tiny/bert-mlm"));
  refused("language-model", kLines, {"training.context=2"},
          "(expected at most 120, found 149). Set 'tokenizer.file' to the model's own tokenizer.json",
          ErrorKind::usage, from("hf-tiny/gpt2"));
  refused("classification", rows("[1, 2]"), {}, "an encoder with a head for the task", ErrorKind::usage,
          from("hf-tiny/whisper"));
  write("a.pgm", "P2 2 2 9\n0 0 9 9\n");
  write("pictures.tsv", "a.pgm\tred\na.pgm\tblue\n");
  const std::string pictures = "train = [\"pictures.tsv\"]\nvalid = [\"pictures.tsv\"]\ncolumns = [1, 2]";
  for (const auto& [task, expected] :
       {std::pair("captioning", "expected an encoder-decoder that reads images"),
        {"contrastive", "expected a model with a text and an image encoder, such as clip"}})
    refused(task, pictures, {}, expected, ErrorKind::usage, from("hf-tiny/bert-mlm"));
}

TEST_F(RefusedRuns, TwoVocabulariesNeedTwoEmbeddings) {
  const std::string data = rows("[1, 2]");
  const auto model = [](const std::string& family) {
    return "\n[tokenizer]\ntype = \"char\"\n[training]\nmax_steps = 1\n[model]\nfamily = \"" + family +
           "\"\nencoder_layers = 1\ndecoder_layers = 1\nhidden_size = 8\nheads = 2\nfeed_forward_size = 8\n";
  };
  open("translation", data, model("t5"));
  refused("translation", data, {"tokenizer.joint=false"},
          "'model.family' \"t5\" requires one vocabulary for source and target", ErrorKind::usage,
          model("t5"));
  refused("translation", data, {"tokenizer.joint=false"}, "cannot be \"all\" with two vocabularies",
          ErrorKind::usage, model("transformer"));
  open("translation", data, model("transformer"), {"tokenizer.joint=false", "model.tie_embeddings=decoder"});
}

TEST(RefusedState, ADataChecksumHasSixteenDigits) {
  RunState state;
  state.data = 0x0123456789abcdef;
  const Json good = state.to_json();
  EXPECT_EQ(RunState::from_json(good, "state.json").data, state.data);
  for (const char* bad :
       {"", "123456789abcdef", "00123456789abcdef", "0123456789abcdeg", "0123456789ABCDEF"}) {
    Json json = good;
    json["data"] = bad;
    EXPECT_REGARD_ERROR(RunState::from_json(json, "state.json"), ErrorKind::bad_file,
                        "the value of 'data' is not a checksum (expected 16 hexadecimal digits, found '" +
                            std::string(bad) + "')");
  }
}

TEST(RefusedState, SkippedStepsAreAtMostAllSteps) {
  RunState state;
  state.step = 3;
  state.skipped.total = 3, state.skipped.in_row = 3;
  const Json good = state.to_json();
  EXPECT_EQ(RunState::from_json(good, "state.json").skipped.in_row, 3);
  for (const auto& [key, value] : {std::pair("total", 4), {"total", 2}, {"in_row", 4}, {"in_row", -1}}) {
    Json json = good;
    json["skipped"][key] = value;
    EXPECT_REGARD_ERROR(RunState::from_json(json, "state.json"), ErrorKind::bad_file, "state.json");
  }
}

// The limits of a run hold from the step, epoch, second and validation at which they are reached.
TEST(RunLimits, HoldFromTheirValue) {
  RunConfig config;
  config.training.max_steps = 5;
  config.training.max_epochs = 2;
  config.training.max_minutes = 0.5;
  config.validation.patience = 3;
  RunState below;
  below.step = 4, below.epochs = 1.9, below.seconds = 29.9, below.validations_since_best = 2;
  EXPECT_EQ(limit_of(below, config), std::nullopt);
  RunState state = below;
  state.step = 5;
  EXPECT_EQ(limit_of(state, config), "max_steps");
  state = below, state.epochs = 2.0;
  EXPECT_EQ(limit_of(state, config), "max_epochs");
  state = below, state.seconds = 30.0;
  EXPECT_EQ(limit_of(state, config), "max_minutes");
  state = below, state.validations_since_best = 3;
  EXPECT_EQ(limit_of(state, config), "patience");
  state.step = 9, state.epochs = 9, state.seconds = 99;
  EXPECT_EQ(limit_of(state, RunConfig()), std::nullopt) << "0 is no limit";
}

TEST(RefusedNames, OfTasksAndModules) {
  EXPECT_REGARD_ERROR(task_traits("none"), ErrorKind::usage,
                      "unknown task 'none' (expected one of translation");
  EXPECT_REGARD_ERROR(example_batches(0, 4, 1, {}, {}), ErrorKind::usage,
                      "the training data has no examples");
  const regard::testing::TemporaryFolder folder;
  EXPECT_FALSE(has_dense_module(folder.path()));
  regard::testing::write_file(folder.path(), "modules.json", "{}");
  EXPECT_REGARD_ERROR(has_dense_module(folder.path()), ErrorKind::bad_file,
                      "modules.json: the file is not a list of modules");
  regard::testing::write_file(folder.path(), "modules.json", R"([{"type": "a.Normalize"}])");
  EXPECT_FALSE(has_dense_module(folder.path()));
  regard::testing::write_file(folder.path(), "modules.json",
                              R"([{"type": "a.Normalize"}, {"type": "Dense"}])");
  EXPECT_TRUE(has_dense_module(folder.path()));
}

}  // namespace
}  // namespace regard::train
