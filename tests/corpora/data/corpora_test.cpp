// Read all rows of every corpus that the recipes use. The numbers of rows and labels equal the numbers that
// other programs count.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "data/labelled_images.h"
#include "data/squad.h"
#include "data/table.h"
#include "data/tagged.h"
#include "support/shared_data.h"

namespace regard::data {
namespace {

using Counts = std::map<std::string, int>;

std::string corpus(const std::string& name) {
  return (testing::shared_folder() / "data" / name).string();
}

// Count the rows of each value of one column.
Counts count_labels(TableOptions options, std::size_t column) {
  TableReader reader(std::move(options));
  Counts counts;
  for (TableRow row; reader.next(row);) ++counts[row.text(column)];
  EXPECT_EQ(reader.report().total_skipped(), 0);
  return counts;
}

TEST(SharedCorpora, SstHasHeadersOfTwoKinds) {
  REGARD_NEEDS_SHARED();
  EXPECT_EQ(
      count_labels(
          {.files = {corpus("sst2/train.tsv")}, .format = TableFormat::tsv, .columns = {"sentence", "label"}},
          1),
      (Counts{{"0", 29780}, {"1", 37569}}));
  EXPECT_EQ(
      count_labels(
          {.files = {corpus("sst2/dev.tsv")}, .format = TableFormat::tsv, .columns = {"content", "label"}},
          1),
      (Counts{{"0", 428}, {"1", 444}}));
}

TEST(SharedCorpora, AgNewsAndReviewsHaveNoHeader) {
  REGARD_NEEDS_SHARED();
  EXPECT_EQ(count_labels({.files = {corpus("agnews/train10k.tsv")}, .format = TableFormat::tsv}, 1),
            (Counts{{"Sci/Tech", 2538}, {"World", 2509}, {"Business", 2496}, {"Sports", 2458}}));
  EXPECT_EQ(count_labels({.files = {corpus("movie-reviews/reviews.tsv")}, .format = TableFormat::tsv}, 0),
            (Counts{{"0", 900}, {"1", 900}}));
}

TEST(SharedCorpora, TrecIsPlainText) {
  REGARD_NEEDS_SHARED();
  TableReader reader({.files = {corpus("trec-qc/train.txt")}, .format = TableFormat::text});
  Counts fine, coarse;
  for (TableRow row; reader.next(row);) {
    const std::string label = row.text(0).substr(0, row.text(0).find(' '));
    ++fine[label], ++coarse[label.substr(0, label.find(':'))];
  }
  EXPECT_EQ(reader.report().records, 5452);
  EXPECT_EQ(fine.size(), 50u);
  EXPECT_EQ(coarse.size(), 6u);
}

TEST(SharedCorpora, WordSensesAreLineAligned) {
  REGARD_NEEDS_SHARED();
  int words = 0, rows = 0;
  for (const auto& entry : std::filesystem::directory_iterator(corpus("wsd-coarsewsd20"))) {
    if (!entry.is_directory()) continue;
    ++words;
    TableReader reader(
        {.files = {(entry.path() / "train.data.txt").string(), (entry.path() / "train.gold.txt").string()}});
    for (TableRow row; reader.next(row); ++rows)
      if (row.text(1) != std::to_string(row.integer(1))) ADD_FAILURE() << row.text(1);
  }
  EXPECT_EQ(words, 20);
  EXPECT_EQ(rows, 23370);
}

TEST(SharedCorpora, TagsOfTheTreebank) {
  REGARD_NEEDS_SHARED();
  struct Part {
    std::string file;
    std::int64_t sentences;
    std::size_t words;
  };
  for (const Part& part : {Part{"ud-ewt/train.tsv", 12544, 204577}, Part{"ud-ewt/dev.tsv", 2001, 25147}}) {
    TableReader reader({.files = {corpus(part.file)}, .format = TableFormat::tsv});
    std::size_t words = 0;
    Counts tags;
    for (TableRow row; reader.next(row);) {
      const TaggedSentence sentence = tagged_sentence(row, 0, 1);
      words += sentence.words.size();
      for (const std::string& tag : sentence.tags) ++tags[tag];
    }
    EXPECT_EQ(reader.report().records, part.sentences);
    EXPECT_EQ(words, part.words);
    EXPECT_EQ(tags.size(), 17u);
  }
}

TEST(SharedCorpora, Digits) {
  REGARD_NEEDS_SHARED();
  const LabelledImages mnist =
      read_idx_images(corpus("mnist10k/images-idx3-ubyte"), corpus("mnist10k/labels-idx1-ubyte"));
  EXPECT_EQ(mnist.images.size(), 8000u);
  EXPECT_EQ(std::count(mnist.labels.begin(), mnist.labels.end(), "1"), 905);
  EXPECT_EQ(mnist.images[0].height, 28);
  const LabelledImages digits = read_pixel_table({.file = corpus("optdigits/optdigits.tra"), .highest = 16});
  EXPECT_EQ(digits.images.size(), 3823u);
  EXPECT_EQ(std::count(digits.labels.begin(), digits.labels.end(), "7"), 387);
  EXPECT_EQ(digits.images[0].width, 8);
}

TEST(SharedCorpora, QuestionsAndParallelText) {
  REGARD_NEEDS_SHARED();
  const QuestionSet set = read_questions(corpus("enhi-xquad/xquad.en.json"));
  EXPECT_EQ(set.questions.size(), 1190u);
  EXPECT_EQ(set.contexts.size(), 240u);
  EXPECT_EQ(set.contexts.back().article, 47);
  EXPECT_EQ(set.report.total_skipped(), 0);
  for (const auto& [name, rows] : {std::pair{"questions", 1190}, std::pair{"paragraphs", 240}}) {
    TableReader reader(
        {.files = {corpus("enhi-xquad/" + std::string(name) + ".en-hi.tsv")}, .format = TableFormat::tsv});
    for (TableRow row; reader.next(row);)
      if (row.size() != 2) ADD_FAILURE() << row.line();
    EXPECT_EQ(reader.report().records, rows);
  }
  TableReader aligned(
      {.files = {corpus("ntrex/newstest2019-ref.por.txt"), corpus("ntrex/newstest2019-ref.jpn.txt"),
                 corpus("ntrex/DOCUMENT_IDS.tsv")}});
  for (TableRow row; aligned.next(row);)
    if (row.text(0).ends_with('\r')) ADD_FAILURE() << row.line();
  EXPECT_EQ(aligned.report().records, 1997);
}

}  // namespace
}  // namespace regard::data
