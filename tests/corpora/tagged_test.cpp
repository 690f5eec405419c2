// Read sentences with one label per word from CoNLL-U files, BIO files and tables; faulty sentences are
// refused or skipped.
#include "data/tagged.h"

#include <gtest/gtest.h>

#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::data {
namespace {

using Words = std::vector<std::string>;

class Tagged : public ::testing::Test {
 protected:
  std::vector<TaggedSentence> read(TaggedOptions options) {
    TaggedReader reader(std::move(options));
    std::vector<TaggedSentence> sentences;
    for (TaggedSentence sentence; reader.next(sentence);) sentences.push_back(sentence);
    report = reader.report();
    return sentences;
  }
  std::string file(const std::string& name, const std::string& content) {
    return testing::write_file(folder.path(), name, content).string();
  }
  testing::TemporaryFolder folder;
  RowReport report;
};

TEST_F(Tagged, ConlluLeavesOutCommentsRangesAndEmptyNodes) {
  const auto sentences =
      read({.files = {file("a.conllu",
                           "# text = vamonos ya\n1-2\tvamonos\t_\t_\n1\tvamos\tir\tVERB\n2\tnos\t"
                           "nos\tPRON\n2.1\tx\tx\tX\n\n\n1\t#\t#\tSYM\n")}});
  ASSERT_EQ(sentences.size(), 2u);
  EXPECT_EQ(sentences[0].words, (Words{"vamos", "nos"}));
  EXPECT_EQ(sentences[0].tags, (Words{"VERB", "PRON"}));
  EXPECT_EQ(sentences[0].place.line, 3);
  EXPECT_EQ(sentences[1].words, (Words{"#"}));
}

TEST_F(Tagged, BioFilesHaveColumnsSeparatedBySpaces) {
  const std::string path =
      file("a.txt",
           "-DOCSTART- -X- -X- O\n\nEU NNP B-NP B-ORG\r\n# NN I-NP  O\r\n\r\nPeter NNP B-NP "
           "B-PER");
  auto sentences = read({.files = {path, path}});
  ASSERT_EQ(sentences.size(), 4u);
  EXPECT_EQ(sentences[0].words, (Words{"EU", "#"}));
  EXPECT_EQ(sentences[0].tags, (Words{"B-ORG", "O"}));
  sentences = read({.files = {path}, .word_column = "1", .tag_column = "2"});
  EXPECT_EQ(sentences[1].tags, (Words{"NNP"}));
}

TEST_F(Tagged, FaultySentencesAreRefusedOrSkippedWhole) {
  TaggedOptions options{.files = {file("a.txt", "a\tX\nb\n\nc\tY\n\n\xFF\tZ\n")}};
  EXPECT_REGARD_ERROR(read(options), ErrorKind::bad_file, "a.txt:2: the line has too few columns");
  options.malformed = Faulty::skip;
  EXPECT_REGARD_ERROR(read(options), ErrorKind::bad_file, "a.txt:6: the line is not UTF-8");
  options.bad_utf8 = Faulty::skip;
  const auto sentences = read(options);
  ASSERT_EQ(sentences.size(), 1u);
  EXPECT_EQ(sentences[0].words, (Words{"c"}));
  EXPECT_EQ(report.count(SkipReason::malformed), 1);
  EXPECT_EQ(report.count(SkipReason::bad_utf8), 1);
  options.tag_column = "tag";
  EXPECT_REGARD_ERROR(read(options), ErrorKind::usage, "a column name of CoNLL-U");
}

TEST_F(Tagged, RowsOfATableNeedOneLabelForEachWord) {
  TableReader table(
      {.files = {file("a.tsv", "Go home\tVERB ADV\nGo\tVERB ADV\n")}, .format = TableFormat::tsv});
  TableRow row;
  ASSERT_TRUE(table.next(row));
  EXPECT_EQ(tagged_sentence(row, 0, 1).tags, (Words{"VERB", "ADV"}));
  ASSERT_TRUE(table.next(row));
  EXPECT_REGARD_ERROR(
      tagged_sentence(row, 0, 1), ErrorKind::bad_file,
      "a.tsv:2: column 2: the numbers of words and labels differ (found 1 word and 2 labels)");
}

}  // namespace
}  // namespace regard::data
