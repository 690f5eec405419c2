// Notes of the tasks of encoders about texts and words beyond data.max_length.
#include <gtest/gtest.h>

#include "run_case.h"
#include "train/training_context.h"

namespace regard::train {
namespace {

// Every word of the data is one token. data.max_length = 6 leaves room for four words.
class LengthNotes : public RunCase {
 protected:
  // Return the notes that begin with "training: " or "validation: ".
  std::vector<std::string> notes(const std::string& task, const std::string& ending, const std::string& train,
                                 const std::string& valid) {
    regard::testing::write_file(folder.path(), "train" + ending, train);
    regard::testing::write_file(folder.path(), "valid" + ending, valid);
    fs::remove(folder / "run.toml");
    regard::testing::write_file(folder.path(), "run.toml",
                                "task = \"" + task + "\"\n[data]\ntrain = [\"train" + ending +
                                    "\"]\nvalid = [\"valid" + ending + "\"]\n" +
                                    (ending == ".tsv" ? "columns = [1, 2]\n" : "") + R"(max_length = 6
[tokenizer]
type = "wordpiece"
vocab_size = 40
[model]
family = "bert"
layers = 1
hidden_size = 8
heads = 2
feed_forward_size = 8
[training]
batch_size = 2
max_steps = 1
[output]
folder = "run"
)");
    const RunConfig config = read_run((folder / "run.toml").string());
    ThreadPool pool(1);
    const TrainingContext context(config, pool);
    std::vector<std::string> found;
    for (const std::string& note : context.task->notes())
      if (note.starts_with("training: ") || note.starts_with("validation: ")) found.push_back(note);
    return found;
  }
};

using Notes = std::vector<std::string>;

TEST_F(LengthNotes, CountTheTruncatedTextsOfAClassification) {
  EXPECT_EQ(
      notes("classification", ".tsv", "a\tlow\na a a a\thigh\na a a a a\thigh\n", "a a\tlow\na a a\thigh\n"),
      (Notes{"training: 3 examples, 15 tokens; read 3 records; 1 truncated to 6 tokens",
             "validation: 2 examples, 9 tokens; read 2 records"}));
}

TEST_F(LengthNotes, CountTheTruncatedTextsOfAllColumns) {
  EXPECT_EQ(notes("embedding", ".tsv", "a a a a a\ta\nb\tb a b a b a\n", "a a\tb\nb b\ta a a\n"),
            (Notes{"training: 2 rows of 2 texts, 18 tokens; read 2 records; 2 texts truncated to 6 tokens",
                   "validation: 2 rows of 2 texts, 16 tokens; read 2 records"}));
}

TEST_F(LengthNotes, CountTheWordsThatHaveNoLabel) {
  EXPECT_EQ(notes("token-classification", ".txt", "a ODD\nb EVEN\na ODD\nb EVEN\na ODD\n\na ODD\nb EVEN\n\n",
                  "b EVEN\na ODD\n\n"),
            (Notes{"training: 2 sentences, 6 words, 10 tokens; read 2 records; skipped 1 word without "
                   "tokens or beyond the first 6 tokens of a sentence",
                   "validation: 1 sentence, 2 words, 4 tokens; read 1 record"}));
}

}  // namespace
}  // namespace regard::train
