// The tasks "token-classification" and "masked-language-model": steps equal to transformers', alignment of
// words, masks, runs and wrong data. Also the run files that `regard train --new` prints.
#include <gtest/gtest.h>
#include <signal.h>

#include "run_case.h"
#include "support/throws.h"
#include "task_step.h"
#include "train/tasks/masked_language_model.h"
#include "train/tasks/token_classification.h"
#include "train/training_context.h"

namespace regard::train {
namespace {

using Ids = std::vector<std::int32_t>;

// Return sentences of number words. The label of each word is ODD or EVEN.
std::string tagged(std::uint64_t seed, std::size_t count) {
  const std::vector<std::string> words{"one", "two", "three", "four", "five", "six"};
  RandomStream random({seed, 0, 0});
  std::string rows;
  for (std::size_t i = 0; i < count; ++i) {
    std::string text, tags;
    for (std::uint64_t left = 1 + random.next_below(6); left > 0; --left) {
      const std::size_t word = random.next_below(words.size());
      text += (text.empty() ? "" : " ") + words[word];
      tags += (tags.empty() ? "" : " ") + std::string(word % 2 == 0 ? "ODD" : "EVEN");
    }
    rows += text + "\t" + tags + "\n";
  }
  return rows;
}

constexpr const char* kRest = R"(
max_length = 24
[tokenizer]
type = "wordpiece"
vocab_size = 48
[model]
family = "bert"
layers = 1
hidden_size = 16
heads = 2
feed_forward_size = 32
activation = "gelu"
[training]
learning_rate = 5e-3
schedule = "constant"
batch_size = 8
max_steps = 60
[validation]
every_steps = 20
metrics = ["accuracy", "loss"]
[output]
folder = "run"
)";

class TokenTasks : public RunCase {
 protected:
  void write(const std::string& task, const std::string& data) {
    std::filesystem::remove(folder / "run.toml");
    regard::testing::write_file(folder.path(), "run.toml",
                                "task = \"" + task + "\"\n[data]\n" + data + kRest);
  }
  void write_tagged() {
    regard::testing::write_file(folder.path(), "train.tsv", tagged(1, 300));
    regard::testing::write_file(folder.path(), "valid.tsv", tagged(2, 50));
    write("token-classification", "train = [\"train.tsv\"]\nvalid = [\"valid.tsv\"]\ncolumns = [1, 2]");
  }
  void write_text() {
    std::string text;
    for (int i = 0; i < 400; ++i) text += "one two three four five six\n";
    regard::testing::write_file(folder.path(), "train.txt", text);
    regard::testing::write_file(folder.path(), "valid.txt", text.substr(0, 2000));
    write("masked-language-model", "train = [\"train.txt\"]\nvalid = [\"valid.txt\"]");
  }
};

TEST_F(TokenTasks, StepsEqualTransformers) {
  for (const auto& [task, group, name] : {std::tuple("token-classification", "hf-more", "bert-ner"),
                                          std::tuple("masked-language-model", "hf-tiny", "bert-mlm")}) {
    const regard::testing::Golden golden(group, name);
    Batch batch = batch_of(golden);
    add_token_labels(golden, batch);
    RunConfig config;
    config.task = task;
    expect_step(*make_task(config), group, name, batch);
  }
}

TEST(FirstTokens, AreThoseOfWordIds) {
  const auto tokenizer = text::Tokenizer::load(regard::testing::golden("hf-more/bert-nli"));
  const std::vector<std::string> words{"Stone", "womanst.", "night", "!", "fires"};
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  const text::Encoding encoding = tokenizer->encode(text);
  const Ids first = first_tokens(encoding, words);
  ASSERT_EQ(first.size(), encoding.size());
  EXPECT_EQ(first.front(), -1);
  EXPECT_EQ(first.back(), -1);
  Ids found;
  for (const std::int32_t word : first)
    if (word >= 0) found.push_back(word);
  EXPECT_EQ(found, (Ids{0, 1, 2, 3, 4})) << "each word once, in order";
  for (std::size_t t = 0; t < first.size(); ++t)
    if (first[t] >= 0) {
      EXPECT_EQ(encoding.byte_offsets[t].begin, text.find(words[static_cast<std::size_t>(first[t])]));
    }
}

TEST_F(TokenTasks, TagsAreLearnt) {
  write_tagged();
  const ProgramResult result =
      train({"--set", "training.max_steps=200", "--set", "validation.every_steps=0"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json validation = last_validation("run");
  EXPECT_GT(validation["accuracy"], 0.98) << result.err;
  EXPECT_FALSE(validation.contains("f1")) << validation;
  expect_confusion("run");
  const Json config = read_json((folder / "run/latest/config.json").string());
  EXPECT_EQ(config["architectures"][0], "BertForTokenClassification");
  EXPECT_EQ(config["id2label"]["1"], "ODD");
  const ProgramResult short_run =
      train({"--set", "training.max_steps=1", "--set", "validation.metrics=[\"f1\", \"loss\"]", "--set",
             "output.folder=short"});
  ASSERT_EQ(short_run.exit_code, 0) << short_run.err;
  EXPECT_TRUE(last_validation("short").contains("f1")) << last_validation("short");
}

TEST_F(TokenTasks, TagsHaveTheSameBitsForAnyThreadsAndAfterAKill) {
  write_tagged();
  expect_same_bits_for_threads_and_after_a_kill();
}

TEST_F(TokenTasks, ColumnFilesAndJsonAreRead) {
  write_tagged();
  regard::testing::write_file(folder.path(), "a.bio", "one\tODD\ntwo\tEVEN\n\nsix\tEVEN\n");
  regard::testing::write_file(folder.path(), "b.jsonl",
                              R"({"tokens": ["one", "two"], "tags": ["ODD", "EVEN"]})"
                              "\n");
  const auto sentences = [this](const std::vector<std::string>& overrides) {
    const RunConfig config = read_run((folder / "run.toml").string(), overrides);
    ThreadPool pool(1);
    TrainingContext context(config, pool);
    const std::string note = context.task->notes().at(0);
    return note.substr(0, note.find(',', note.find(',') + 1));
  };
  EXPECT_EQ(sentences({"data.train=a.bio", "data.valid=a.bio"}), "training: 2 sentences, 3 words");
  EXPECT_EQ(sentences({"data.train=b.jsonl", "data.valid=b.jsonl", "data.columns=[\"tokens\", \"tags\"]"}),
            "training: 1 sentence, 2 words");
}

TEST_F(TokenTasks, RowsOfOneWordAreReported) {
  write_tagged();
  const std::string words = "one\tODD\ntwo\tEVEN\n\nsix\tEVEN\n";
  regard::testing::write_file(folder.path(), "words.tsv", words);
  regard::testing::write_file(folder.path(), "words.bio", words);
  const auto note = [this](const char* file) {
    const RunConfig config =
        read_run((folder / "run.toml").string(), std::vector<std::string>{std::string("data.train=") + file});
    ThreadPool pool(1);
    return TrainingContext(config, pool).task->notes().at(0);
  };
  EXPECT_NE(note("words.tsv").find("each sentence has only one word"), std::string::npos)
      << note("words.tsv");
  EXPECT_EQ(note("words.bio").find("each sentence has only one word"), std::string::npos)
      << note("words.bio");
}

TEST_F(TokenTasks, MalformedSentencesAreSkippedIfAsked) {
  regard::testing::write_file(folder.path(), "train.txt", "a ODD\nb EVEN\n\nbad\nc ODD\n\nd EVEN\n");
  regard::testing::write_file(folder.path(), "train.tsv", "a b\tODD EVEN\na b\tODD\nd\tEVEN\n");
  for (const auto& [file, columns] :
       {std::pair("train.txt", ""), std::pair("train.tsv", "\ncolumns = [1, 2]")}) {
    write("token-classification",
          std::string("train = [\"") + file + "\"]\nvalid = [\"" + file + "\"]" + columns);
    EXPECT_EQ(train({"--dry-run"}).exit_code, 3) << file;
    const ProgramResult skipped = train({"--dry-run", "--set", "data.malformed=skip"});
    ASSERT_EQ(skipped.exit_code, 0) << skipped.err;
    EXPECT_NE(skipped.out.find("training: 2 sentences, 3 words"), std::string::npos) << skipped.out;
    EXPECT_NE(skipped.out.find("read 2 records; 1 malformed skipped"), std::string::npos) << skipped.out;
    EXPECT_NE(train({"--dry-run", "--set", "data.malformed=skip", "--set", "data.max_skipped=0.1"})
                  .err.find("data.max_skipped"),
              std::string::npos)
        << file;
  }
}

TEST_F(TokenTasks, WrongTagsAreRefusedWithFileAndLine) {
  write_tagged();
  const auto refused = [this](const std::string& rows, const char* message) {
    regard::testing::write_file(folder.path(), "bad.tsv", rows);
    const ProgramResult result = train({"--set", "data.valid=bad.tsv"});
    EXPECT_NE(result.exit_code, 0);
    EXPECT_NE(result.err.find(message), std::string::npos) << result.err;
    EXPECT_FALSE(fs::exists(folder / "run"));
  };
  refused("one two\tODD EVEN\none two\tODD\n", "bad.tsv:2");
  refused("one\tODDD\n", "bad.tsv:1: the label is not in the training data");
  refused("one\tODDD\n", "Did you mean 'ODD'?");
  refused("one\n", "bad.tsv:1");
  refused("", "no data is left to validate on");
  const ProgramResult empty = train({"--set", "labels.until=O"});  // the labels are ODD and EVEN
  EXPECT_NE(empty.err.find("'labels.until' leaves nothing of a label"), std::string::npos) << empty.err;
}

TEST(MaskTokens, FollowTheRules) {
  Ids starts(200, 0);
  for (std::size_t t = 0; t < starts.size(); t += 3) starts[t] = 1;
  starts.front() = starts.back() = -1;
  MaskRules rules{.unit = MaskUnit::token, .share = 0.15, .mask = 4, .vocabulary = 1000, .seed = 3};
  for (const MaskUnit unit : {MaskUnit::token, MaskUnit::word, MaskUnit::span}) {
    rules.unit = unit;
    std::int64_t masks = 0, kept = 0, labelled = 0, words_cut = 0;
    for (std::uint64_t example = 0; example < 200; ++example) {
      Ids ids(200, 500);
      const Ids labels = mask_tokens(ids, starts, rules, 1, example);
      EXPECT_EQ(labels.front(), kIgnoredLabel);
      EXPECT_EQ(labels.back(), kIgnoredLabel);
      for (std::size_t t = 0; t < ids.size(); ++t) {
        if (labels[t] == kIgnoredLabel) {
          EXPECT_EQ(ids[t], 500);
          continue;
        }
        EXPECT_EQ(labels[t], 500);
        ++labelled;
        masks += ids[t] == 4 ? 1 : 0;
        kept += ids[t] == 500 ? 1 : 0;
        if (starts[t] == 0 && labels[t - 1] == kIgnoredLabel && t > 1) ++words_cut;
      }
    }
    EXPECT_NEAR(static_cast<double>(labelled) / (200 * 198), 0.15, 0.01);
    EXPECT_NEAR(static_cast<double>(masks) / static_cast<double>(labelled), 0.8, 0.02);
    EXPECT_NEAR(static_cast<double>(kept) / static_cast<double>(labelled), 0.1, 0.02);
    EXPECT_EQ(words_cut == 0, unit != MaskUnit::token) << words_cut;
    // The draws are a function of seed, epoch and example.
    Ids a(200, 500), b(200, 500), c(200, 500);
    const Ids first = mask_tokens(a, starts, rules, 1, 7);
    EXPECT_EQ(first, mask_tokens(b, starts, rules, 1, 7));
    EXPECT_NE(first, mask_tokens(c, starts, rules, 2, 7));
  }
}

// A word that would exceed the number of masked tokens is left out, and shorter words follow.
TEST(MaskTokens, ShorterWordsFollowOneThatIsTooLong) {
  Ids starts;
  for (int word = 0; word < 10; ++word) starts.insert(starts.end(), {1, 0, 0, 1});  // words of 3 tokens and 1
  const MaskRules rules{.unit = MaskUnit::word, .share = 0.1, .mask = 4, .vocabulary = 1000, .seed = 3};
  for (std::uint64_t example = 0; example < 50; ++example) {
    Ids ids(starts.size(), 500);
    const Ids labels = mask_tokens(ids, starts, rules, 1, example);
    EXPECT_EQ(std::ssize(labels) - std::count(labels.begin(), labels.end(), kIgnoredLabel), 4) << example;
  }
}

// A span ends after each word with probability 0.2, and after ten words at the latest.
TEST(MaskTokens, SpansHaveTheLengthsOfSpanBert) {
  const Ids starts(1000, 1);
  const MaskRules one_span{.unit = MaskUnit::span, .share = 0.0005, .mask = 4, .vocabulary = 1000, .seed = 3};
  constexpr int kExamples = 4000;
  double tokens = 0, single = 0, longest = 0;
  for (std::uint64_t example = 0; example < kExamples; ++example) {
    Ids ids(1000, 500);
    const Ids labels = mask_tokens(ids, starts, one_span, 1, example);
    const auto length = 1000 - std::count(labels.begin(), labels.end(), kIgnoredLabel);
    tokens += static_cast<double>(length) / kExamples;
    single += (length == 1 ? 1.0 : 0.0) / kExamples;
    longest = std::max(longest, static_cast<double>(length));
  }
  EXPECT_NEAR(tokens, 4.46, 0.2);
  EXPECT_NEAR(single, 0.2, 0.03);
  EXPECT_EQ(longest, 10);
}

TEST_F(TokenTasks, MasksAreFilled) {
  write_text();
  const ProgramResult result = train(
      {"--set", "data.max_length=8", "--set", "training.max_steps=200", "--set", "validation.every_steps=0"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_GT(last_validation("run")["accuracy"], 0.9) << result.err;
  const ProgramResult filled = run_program({"fill", "run"}, folder.path(), "one two [MASK] four five six\n");
  ASSERT_EQ(filled.exit_code, 0) << filled.err;
  EXPECT_NE(filled.out.find("three"), std::string::npos) << filled.out;
}

TEST_F(TokenTasks, RecordsOfBothSplitsAreReportedForMasks) {
  regard::testing::write_file(folder.path(), "train.tsv", "one two three\nfour five six\none two six\n");
  regard::testing::write_file(folder.path(), "valid.tsv", "six five\nfour five six\n");
  write("masked-language-model", "train = [\"train.tsv\"]\nvalid = [\"valid.tsv\"]\ncolumns = [1]");
  const std::string output = train({"--dry-run"}).out;
  EXPECT_NE(output.find("duplicates: 1 of 2 validation records are also in the training data"),
            std::string::npos)
      << output;
}

TEST_F(TokenTasks, MasksHaveTheSameBitsForAnyThreadsAndAfterAKill) {
  write_text();
  expect_same_bits_for_threads_and_after_a_kill();
}

// Training for one task can start from weights that were trained for another task.
TEST_F(TokenTasks, APretrainedEncoderGetsANewHead) {
  write_text();
  ASSERT_EQ(train({"--set", "output.folder=base"}).exit_code, 0);
  write_tagged();
  const ProgramResult result = train({"--set", "model.from=base"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("newly initialised weights (not in"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("classifier.bias"), std::string::npos) << result.err;
}

TEST_F(TokenTasks, ANewRunFileOfEachTaskRunsUnchanged) {
  for (const TaskTraits* traits : task_registry()) {
    const std::string task = traits->name;
    const ProgramResult printed = run_program({"train", "--new", task}, folder.path());
    ASSERT_EQ(printed.exit_code, 0) << printed.err;
    const fs::path place = folder / task;
    regard::testing::write_file(place, "run.toml", printed.out);
    std::string text;
    for (int i = 0; i < 200; ++i) text += "one two three four five six seven eight nine ten\n";
    const std::string family = traits->families[0];
    const bool of_pictures = family.starts_with("vi") || family == "clip";
    const std::string rows = task == "token-classification" ? tagged(1, 40)
                             : of_pictures                  ? "a.pgm\tred\nb.pgm\tblue\na.pgm\tred\n"
                                           : "one two\tred\ntwo six\tblue\nthree four\tred\n";
    regard::testing::write_file(place, "a.pgm", "P2 2 2 9\n0 0 9 9\n");
    regard::testing::write_file(place, "b.pgm", "P2 2 2 9\n9 0 9 0\n");
    for (const char* name : {"train", "valid"}) {
      regard::testing::write_file(place, name + std::string(".txt"), text);
      regard::testing::write_file(place, name + std::string(".tsv"), rows);
      regard::testing::write_file(
          place, name + std::string(".json"),
          R"({"data": [{"title": "t", "paragraphs": [{"context": "anna has two apples", "qas": [{"id": "1",
              "question": "how many ?", "answers": [{"text": "two", "answer_start": 9}]}]}]}]})");
    }
    // For sound tasks, the first column contains file names, so write a WAV file for each of its texts: half
    // a second of silence, 16-bit PCM at 16 kHz.
    const std::string wav =
        std::string(
            "RIFF\xA4\x3E\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x80\x3E\0\0\0\x7D\0\0\2\0\x10\0data\x80\x3E\0\0",
            44) +
        std::string(16000, '\0');
    for (const char* name : {"one two", "two six", "three four"})
      regard::testing::write_file(place, name, wav);
    const ProgramResult result =
        run_program({"train", "run.toml", "--set", "training.max_steps=101", "--set",
                     "validation.every_steps=0", "--set", "training.learning_rate=0", "--dry-run"},
                    place);
    EXPECT_EQ(result.exit_code, 0) << task << ": " << result.err;
    EXPECT_NE(result.out.find("batch 0: "), std::string::npos) << result.out;
  }
  const ProgramResult wrong = run_program({"train", "--new", "clasification"}, folder.path());
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_NE(wrong.err.find("Did you mean 'classification'?"), std::string::npos) << wrong.err;
}

}  // namespace
}  // namespace regard::train
