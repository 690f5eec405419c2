// What the validation of each task reports: the metrics that were asked for, and samples.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "task_case.h"
#include "tiny_pictures.h"

namespace regard::train {
namespace {

class Measured : public TaskCase {
 protected:
  // Return the metrics of a validation with this list of validation.metrics.
  std::string with(const std::string& task, const std::string& data, const std::string& more,
                   const std::string& list) {
    open(task, data, more, {"validation.metrics=[" + list + "]"});
    return metrics();
  }
};

TEST_F(Measured, ClassificationHasTheMetricsOfTheRunFile) {
  write("rows.tsv", "one two\thigh\none\tlow\n");
  const std::string data = "train = [\"rows.tsv\"]\nvalid = [\"rows.tsv\"]\ncolumns = [1, 2]";
  for (const auto& [list, found] : {std::pair("\"loss\"", "loss"),
                                    {"\"accuracy\"", "loss accuracy"},
                                    {"\"f1\", \"loss\"", "loss f1"},
                                    {"\"matthews\"", "loss matthews"}})
    EXPECT_EQ(with("classification", data, kEncoder, list), found);
  write("rows.tsv", "one two\t1\none\t2\n");
  const std::string numbers = std::string(kEncoder) + "[labels]\nproblem_type = \"regression\"\n";
  for (const auto& [list, found] : {std::pair("\"loss\"", "loss"),
                                    {"\"pearson\"", "loss pearson"},
                                    {"\"spearman\", \"loss\"", "loss spearman"}})
    EXPECT_EQ(with("classification", data, numbers, list), found);
}

TEST_F(Measured, TagsHaveTheMetricsOfTheRunFile) {
  write("rows.tsv", "one two\tB-X O\none\tO\n");
  for (const auto& [list, found] : {std::pair("\"loss\"", "loss"),
                                    {"\"accuracy\"", "loss accuracy"},
                                    {"\"f1\", \"loss\"", "loss f1"},
                                    {"\"entity_f1\"", "loss entity_f1"}})
    EXPECT_EQ(with("token-classification", "train = [\"rows.tsv\"]\nvalid = [\"rows.tsv\"]\ncolumns = [1, 2]",
                   kEncoder, list),
              found);
}

TEST_F(Measured, EmbeddingsHaveTheMetricsOfTheRunFile) {
  write("rows.tsv", "one two\ttwo\t1\none\ttwo one\t2\n");
  const std::string data = "train = [\"rows.tsv\"]\nvalid = [\"rows.tsv\"]\n";
  for (const auto& [list, found] : {std::pair("\"loss\"", "loss"),
                                    {"\"mrr\"", "loss mrr"},
                                    {"\"recall_at_5\", \"loss\"", "loss recall_at_5"}})
    EXPECT_EQ(with("embedding", data + "columns = [1, 2]", kEncoder, list), found);
  const std::string scores = std::string(kEncoder) + "[embedding]\nloss = \"cosine\"\n";
  for (const auto& [list, found] :
       {std::pair("\"loss\"", "loss"), {"\"pearson\"", "loss pearson"}, {"\"spearman\"", "loss spearman"}})
    EXPECT_EQ(with("embedding", data + "columns = [1, 2, 3]", scores, list), found);
}

TEST_F(Measured, AnswersAndMasksHaveTheMetricsOfTheRunFile) {
  write("questions.jsonl",
        "{\"context\": \"anna has two\", \"question\": \"who\", \"answers\": {\"text\": [\"anna\"], "
        "\"answer_start\": [0]}}\n");
  for (const auto& [list, found] : {std::pair("\"loss\"", "loss"),
                                    {"\"f1\"", "loss f1"},
                                    {"\"exact_match\", \"loss\"", "loss exact_match"}})
    EXPECT_EQ(with("question-answering", "train = [\"questions.jsonl\"]\nvalid = [\"questions.jsonl\"]",
                   std::string(kEncoder) + "[questions]\nstride = 1\n", list),
              found);
  write("text.txt", "one two three one two\n");
  for (const auto& [list, found] :
       {std::pair("\"loss\"", "loss perplexity"), {"\"accuracy\"", "loss perplexity accuracy"}})
    EXPECT_EQ(with("masked-language-model", "train = [\"text.txt\"]\nvalid = [\"text.txt\"]", kEncoder, list),
              found);
}

constexpr const char* kTinyPictures = R"(
[images]
size = 4
patch_size = 2
[model]
hidden_size = 8
heads = 2
feed_forward_size = 8
)";

class MeasuredPictures : public Measured {
 protected:
  MeasuredPictures() {
    write("a.pgm", "P2 2 2 9\n0 0 9 9\n");
    write("b.pgm", "P2 2 2 9\n9 0 9 0\n");
    write("rows.tsv", "a.pgm\tred\nb.pgm\tblue\n");
  }
  std::string with_pictures(const std::string& task, const std::string& model, const std::string& list,
                            const std::vector<std::string>& more = {}) {
    std::vector<std::string> overrides = more;
    overrides.push_back("validation.metrics=[" + list + "]");
    open(task, "train = [\"rows.tsv\"]\nvalid = [\"rows.tsv\"]\ncolumns = [1, 2]",
         kTinyPictures + model + "\n[training]\nmax_steps = 1\nbatch_size = 2\n", overrides);
    return metrics();
  }
};

TEST_F(MeasuredPictures, LabelsHaveTheMetricsOfTheRunFile) {
  for (const auto& [list, found] :
       {std::pair("\"loss\"", "loss"), {"\"accuracy\"", "loss accuracy"}, {"\"f1\"", "loss f1"}})
    EXPECT_EQ(with_pictures("image-classification", "family = \"vit\"\nlayers = 1", list), found);
}

TEST_F(MeasuredPictures, TextsHaveTheMetricsOfTheRunFile) {
  for (const auto& [list, found] :
       {std::pair("\"loss\"", "loss"), {"\"mrr\"", "loss mrr"}, {"\"recall_at_10\"", "loss recall_at_10"}})
    EXPECT_EQ(with_pictures("contrastive", "family = \"clip\"\nlayers = 1", list, {"data.max_length=6"}),
              found);
}

TEST_F(MeasuredPictures, SamplesOfTextsNameTheImages) {
  const std::string data = "train = [\"rows.tsv\"]\nvalid = [\"rows.tsv\"]\ncolumns = [1, 2]\nmax_length = 6",
                    model = std::string(kTinyPictures) +
                            "family = \"clip\"\nlayers = 1\n[training]\nmax_steps = 1\nbatch_size = 2\n";
  for (const int count : {0, 1, 2}) {
    open("contrastive", data, model, {"validation.samples=" + std::to_string(count)});
    const ValidationReport report = validate(*context_);
    ASSERT_EQ(std::ssize(report.samples), count);
    for (std::size_t i = 0; i < report.samples.size(); ++i) {
      EXPECT_EQ(report.samples[i].source, i == 0 ? "red" : "blue");
      EXPECT_EQ(report.samples[i].reference, i == 0 ? "a.pgm" : "b.pgm");
      EXPECT_TRUE(report.samples[i].output == "a.pgm" || report.samples[i].output == "b.pgm");
    }
  }
  EXPECT_TRUE(context_->task->generation_config().is_null());
}

TEST_F(MeasuredPictures, CaptionsHaveTheMetricsOfTheRunFile) {
  const char* model = "family = \"vision-encoder-decoder\"\nencoder_layers = 1\ndecoder_layers = 1";
  for (const char* samples : {"validation.samples=0", "validation.samples=1"})
    for (const auto& [list, found] : {std::pair("\"loss\"", "loss perplexity"),
                                      {"\"bleu\"", "loss perplexity bleu"},
                                      {"\"exact_match\"", "loss perplexity exact_match"},
                                      {"\"bleu\", \"exact_match\"", "loss perplexity exact_match bleu"}})
      EXPECT_EQ(with_pictures("captioning", model, list, {"data.max_length=6", samples}), found);
}

// Equal rows of pixels are reported if they are in both splits. The key of other images is their path, which
// may name different images in different folders.
TEST_F(MeasuredPictures, RowsOfPixelsInBothSplitsAreReported) {
  write("train.csv", "0,0,9,9,red\n9,0,9,0,blue\n0,0,0,9,red\n");
  write("valid.csv", "0,9,9,9,red\n9,0,9,0,blue\n");
  const std::string model = std::string(kTinyPictures) +
                            "family = \"vit\"\nlayers = 1\n[training]\nmax_steps = 1\nbatch_size = 2\n";
  const auto duplicates = [&](const std::string& data, const std::vector<std::string>& overrides) {
    open("image-classification", data, model, overrides);
    std::string found;
    for (const std::string& note : context_->task->notes())
      if (note.starts_with("duplicates: ")) found += note.substr(0, note.find(" ("));
    return found;
  };
  EXPECT_EQ(duplicates("train = [\"train.csv\"]\nvalid = [\"valid.csv\"]", {"images.highest=9"}),
            "duplicates: 1 of 2 validation records are also in the training data");
  write("valid.csv", "0,9,9,9,red\n9,0,9,0,red\n");
  EXPECT_EQ(duplicates("train = [\"train.csv\"]\nvalid = [\"valid.csv\"]", {"images.highest=9"}), "");
  EXPECT_EQ(duplicates("train = [\"rows.tsv\"]\nvalid = [\"rows.tsv\"]\ncolumns = [1, 2]", {}), "");
}

// The samples show all texts, so that the metrics can be computed from them.
TEST_F(Measured, SeveralLabelsAreMeasuredByRowAndByLabel) {
  std::string rows;
  for (const char* labels : {"\"a\"", "\"b\"", "\"a\", \"b\"", "", "\"c\", \"a\"", "\"b\", \"c\""})
    for (const char* text : {"one two", "two", "three one", "one"})
      rows += "{\"t\": \"" + std::string(text) + "\", \"l\": [" + labels + "]}\n";
  write("rows.jsonl", rows);
  open("classification", "train = [\"rows.jsonl\"]\nvalid = [\"rows.jsonl\"]\ncolumns = [\"t\", \"l\"]",
       std::string(kEncoder) +
           "[labels]\nproblem_type = \"multi_label_classification\"\n[validation]\n"
           "metrics = [\"accuracy\", \"f1\"]\nsamples = 100\n");
  const ValidationReport report = validate(*context_);
  ASSERT_EQ(report.samples.size(), 24u);
  std::map<std::string, std::array<double, 2>> counts{{"a", {}}, {"b", {}}, {"c", {}}};
  double right = 0;
  std::set<std::string> outputs;
  for (const Sample& sample : report.samples) {
    right += sample.reference == sample.output ? 1 : 0;
    outputs.insert(sample.output);
    for (auto& [label, count] : counts) {
      const bool truth = sample.reference.find(label) != std::string::npos && sample.reference != "(none)",
                 predicted = sample.output.find(label) != std::string::npos && sample.output != "(none)";
      count[0] += truth && predicted ? 1 : 0;
      count[1] += (truth ? 1 : 0) + (predicted ? 1 : 0);
    }
  }
  EXPECT_EQ(report.samples[0].source, "one two");
  EXPECT_EQ(report.samples[8].reference, "a, b");
  EXPECT_EQ(report.samples[12].reference, "(none)");
  EXPECT_FALSE(outputs.contains("(none)") && outputs.size() == 1) << "all scores are low";
  double f1 = 0;
  for (const auto& [label, count] : counts) f1 += count[1] == 0 ? 0 : 2 * count[0] / count[1] / 3;
  ASSERT_EQ(report.metrics.size(), 2u);
  EXPECT_NEAR(report.metrics[0].value, right / 24, 1e-12);
  EXPECT_NEAR(report.metrics[1].value, f1, 1e-12);
  EXPECT_TRUE(report.confusion.labels.empty());
}

// A note names the rows that are in both splits; without such rows, there is no note.
TEST_F(Measured, TextsInBothSplitsAreReported) {
  const std::string labels = std::string(kEncoder) + "[labels]\nnames = [\"X\", \"Y\"]\n";
  constexpr const char* kStream =
      "\n[training]\nmax_steps = 1\ncontext = 2\n[model]\nlayers = 1\nhidden_size = 8\nheads = 2\n"
      "[tokenizer]\ntype = \"char\"\n";
  const std::string data = "train = [\"train.tsv\"]\nvalid = [\"valid.tsv\"]\ncolumns = ";
  write("train.tsv", "one\tX\ntwo\tX\n");
  for (const auto& [task, columns, more] :
       {std::tuple<std::string, std::string, std::string>("classification", "[1, 2]", labels),
        {"token-classification", "[1, 2]", labels},
        {"embedding", "[1, 2]", kEncoder},
        {"language-model", "[1]", kStream}})
    for (const bool both : {false, true}) {
      write("valid.tsv", "six\tY\n" + std::string(both ? "two\tX\n" : "five\tX\n"));
      open(task, data + columns, more);
      std::string found;
      for (const std::string& note : context_->task->notes()) {
        EXPECT_NE(note, "") << task;
        if (note.starts_with("duplicates: ")) found += note.substr(0, note.find(" also"));
      }
      EXPECT_EQ(found, both ? "duplicates: 1 of 2 validation records are" : "") << task;
    }
}

TEST_F(Measured, ALabelOfOneWordPerRowMayContainSpaces) {
  write("rows.tsv", "one two\tvery high\none\tlow\n");
  open("classification", "train = [\"rows.tsv\"]\nvalid = [\"rows.tsv\"]\ncolumns = [1, 2]", kEncoder);
  EXPECT_EQ(context_->model->config()["id2label"], (Json{{"0", "low"}, {"1", "very high"}}));
}

}  // namespace
}  // namespace regard::train
