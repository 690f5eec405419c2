// The examples with their labels that a dry run shows, for each task.
#include <gtest/gtest.h>

#include "task_case.h"

namespace regard::train {
namespace {

using Shown = std::vector<std::string>;

class Previews : public TaskCase {};

TEST_F(Previews, OfClassificationShowTheLabel) {
  write("rows.tsv", "one two\tthree\thigh\none\ttwo two\tlow\n");
  open("classification", "train = [\"rows.tsv\"]\nvalid = [\"rows.tsv\"]\ncolumns = [1, 2, 3]", kEncoder);
  EXPECT_EQ(previews(), (Shown{"  input [CLS] one [SEP] two two [SEP]\n  label low\n",
                               "  input [CLS] one two [SEP] t ##h ##r [SEP]\n  label high\n"}));
  write("rows.tsv", "two\thigh\n");
  open("classification", "train = [\"rows.tsv\"]\nvalid = [\"rows.tsv\"]\ncolumns = [1, 2]",
       std::string(kEncoder) + "[labels]\nnames = [\"low\", \"high\"]\n");
  EXPECT_EQ(example(), "  input: [CLS] t ##w ##o [SEP]\n  label: high\n");
}

TEST_F(Previews, OfSeveralLabelsShowAllLabels) {
  write("rows.jsonl",
        "{\"t\": \"one two\", \"l\": [\"a\", \"c\"]}\n{\"t\": \"two\", \"l\": [\"b\"]}\n{\"t\": \"one\", "
        "\"l\": []}\n");
  open("classification", "train = [\"rows.jsonl\"]\nvalid = [\"rows.jsonl\"]\ncolumns = [\"t\", \"l\"]",
       std::string(kEncoder) +
           "[labels]\nproblem_type = \"multi_label_classification\"\n[validation]\nmetrics = [\"loss\"]\n");
  EXPECT_EQ(previews(),
            (Shown{"  input [CLS] one [SEP]\n  label (none)\n", "  input [CLS] one two [SEP]\n  label a, c\n",
                   "  input [CLS] two [SEP]\n  label b\n"}));
}

TEST_F(Previews, OfNumbersShowTheNumber) {
  write("rows.tsv", "one two\t0.5\ntwo\t-3\none\t12345678\n");
  open("classification", "train = [\"rows.tsv\"]\nvalid = [\"rows.tsv\"]\ncolumns = [1, 2]",
       std::string(kEncoder) +
           "[labels]\nproblem_type = \"regression\"\n[validation]\nmetrics = [\"loss\"]\n");
  EXPECT_EQ(previews(),
            (Shown{"  input [CLS] one [SEP]\n  label 1.235e+07\n",
                   "  input [CLS] one two [SEP]\n  label 0.5\n", "  input [CLS] two [SEP]\n  label -3\n"}));
}

TEST_F(Previews, OfTagsShowTheLabelOfEachWord) {
  write("rows.tsv", "one two\tODD EVEN\nthree\tODD\n");
  open("token-classification", "train = [\"rows.tsv\"]\nvalid = [\"rows.tsv\"]\ncolumns = [1, 2]", kEncoder);
  EXPECT_EQ(previews(), (Shown{"  input  [CLS] o   ##n ##e t    ##w ##o [SEP]\n"
                               "  labels ·     ODD ·   ·   EVEN ·   ·   ·\n",
                               "  input  [CLS] t   ##h ##r ##e ##e [SEP]\n"
                               "  labels ·     ODD ·   ·   ·   ·   ·\n"}));
  write("rows.tsv", "one two\tODD EVEN\n");
  open("token-classification", "train = [\"rows.tsv\"]\nvalid = [\"rows.tsv\"]\ncolumns = [1, 2]", kEncoder);
  EXPECT_EQ(example(), "  input:  [CLS] o ##n ##e t ##w ##o [SEP]\n  labels: - ODD - - EVEN - - -\n");
}

TEST_F(Previews, OfTagsAreCutAfter24Tokens) {
  for (const int words : {22, 23}) {
    std::string text = "two", tags = "ODD", shown = "[CLS] two", labels = "- ODD";
    for (int i = 1; i < words; ++i) {
      text += " two", tags += " EVEN";
      if (i < 23) shown += " two", labels += " EVEN";
    }
    write("rows.tsv", text + "\t" + tags + "\n");
    open("token-classification", "train = [\"rows.tsv\"]\nvalid = [\"rows.tsv\"]\ncolumns = [1, 2]", kEncoder,
         {"data.max_length=40"});
    const std::string last = words == 22 ? " [SEP]" : " …", none = words == 22 ? " -" : " …";
    EXPECT_EQ(example(), "  input:  " + shown + last + "\n  labels: " + labels + none + "\n");
  }
}

TEST_F(Previews, OfQuestionsShowTheAnswer) {
  write("questions.jsonl",
        "{\"context\": \"anna has two\", \"question\": \"who\", \"answers\": {\"text\": [\"has two\"], "
        "\"answer_start\": [5]}}\n{\"context\": \"anna has\", \"question\": \"two\", \"answers\": "
        "{\"text\": [], \"answer_start\": []}}\n");
  open("question-answering", "train = [\"questions.jsonl\"]\nvalid = [\"questions.jsonl\"]", kEncoder,
       {"questions.stride=1"});
  EXPECT_EQ(previews(), (Shown{"  input  [CLS] two [SEP] anna has [SEP]\n"
                               "  labels none  ·   ·     ·    ·   ·\n",
                               "  input  [CLS] w ##h ##o [SEP] anna has [SEP]\n"
                               "  labels none  · ·   ·   ·     ·    ·   ·\n",
                               "  input  [CLS] w ##h ##o [SEP] has    two    [SEP]\n"
                               "  labels ·     · ·   ·   ·     answer answer ·\n"}));
  write("questions.jsonl",
        "{\"context\": \"anna has two\", \"question\": \"who\", \"answers\": {\"text\": [\"anna\"], "
        "\"answer_start\": [0]}}\n");
  open("question-answering", "train = [\"questions.jsonl\"]\nvalid = [\"questions.jsonl\"]", kEncoder,
       {"questions.stride=1", "data.max_length=40"});
  EXPECT_EQ(example(),
            "  input:  [CLS] w ##h ##o [SEP] a ##n ##n ##a h ##a ##s t ##w ##o [SEP]\n"
            "  answer: a ##n ##n ##a\n");
}

TEST_F(Previews, OfTextsForEmbeddingShowAllTextsOfARow) {
  write("rows.tsv", "one\ttwo one\t1\ntwo\tthree\t-0.5\n");
  open("embedding", "train = [\"rows.tsv\"]\nvalid = [\"rows.tsv\"]\ncolumns = [1, 2, 3]",
       std::string(kEncoder) + "[embedding]\nloss = \"cosine\"\n[validation]\nmetrics = [\"loss\"]\n");
  EXPECT_EQ(previews(),
            (Shown{"  text 1: [CLS] one [SEP]\n  text 2: [CLS] two one [SEP]\n  score:  1\n",
                   "  text 1: [CLS] two [SEP]\n  text 2: [CLS] t ##h ##r ##e ##e [SEP]\n  score:  -0.5\n"}));
  write("rows.tsv", "one\ttwo one\tthree\ntwo\tthree\tone\n");
  open("embedding", "train = [\"rows.tsv\"]\nvalid = [\"rows.tsv\"]\ncolumns = [1, 2, 3]", kEncoder);
  EXPECT_EQ(previews(),
            (Shown{"  text 1: [CLS] one [SEP]\n  text 2: [CLS] two one [SEP]\n  text 3: [CLS] three [SEP]\n",
                   "  text 1: [CLS] two [SEP]\n  text 2: [CLS] three [SEP]\n  text 3: [CLS] one [SEP]\n"}));
}

TEST_F(Previews, OfMasksShowTheMaskedTokens) {
  write("text.txt", "one two three one two\n");
  open("masked-language-model", "train = [\"text.txt\"]\nvalid = [\"text.txt\"]", kEncoder);
  EXPECT_EQ(previews(), (Shown{"  input  [CLS] ##e [MASK] two [SEP]\n"
                               "  labels ·     ·   one    ·   ·\n",
                               "  input  [CLS] one two [MASK] [MASK] [MASK] [MASK] [SEP]\n"
                               "  labels ·     ·   ·   t      ##h    ##r    ##e    ·\n"}));
  EXPECT_EQ(example(),
            "  input:  [CLS] [MASK] one two [SEP]\n"
            "  labels: [CLS] ##e one two [SEP]\n");
}

TEST_F(Previews, OfALanguageModelShowTheNextTokens) {
  write("text.txt", "ababc");
  open("language-model", "train = [\"text.txt\"]\nvalid = [\"text.txt\"]", R"(
[tokenizer]
type = "char"
[model]
layers = 1
hidden_size = 8
heads = 2
feed_forward_size = 8
[training]
batch_size = 1
context = 3
windows = "sequential"
max_steps = 1
)");
  EXPECT_EQ(previews(), (Shown{"  input  a b a\n  labels b a b\n"}));
  EXPECT_EQ(example(), "  input:  a b a\n  labels: b a b\n");
}

TEST_F(Previews, OfTranslationShowTheSource) {
  write("rows.tsv", "a b\tc d e\nb\tc\n");
  open("translation", "train = [\"rows.tsv\"]\nvalid = [\"rows.tsv\"]\ncolumns = [1, 2]",
       std::string(kTranslator) + R"([training]
max_steps = 1
)");
  EXPECT_EQ(previews(), (Shown{"  source a b </s>\n  input  <s> c d e\n  labels c   d e </s>\n",
                               "  source b </s>\n  input  <s> c\n  labels c   </s>\n"}));
}

}  // namespace
}  // namespace regard::train
