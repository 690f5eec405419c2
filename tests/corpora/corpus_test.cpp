// Reading corpora from valid and invalid files.
#include "data/corpus.h"

#include <gtest/gtest.h>

#include "base/utf8.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/thread_time.h"
#include "support/throws.h"

namespace regard::data {
namespace {

using Records = std::vector<std::vector<std::string>>;

class Corpus : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& content) {
    return testing::write_file(folder.path(), name, content).string();
  }
  Records read(CorpusOptions options) {
    CorpusReader reader(std::move(options));
    Records records;
    std::vector<std::string> texts;
    while (reader.next(texts)) records.push_back(texts);
    report = reader.report();
    return records;
  }
  testing::TemporaryFolder folder;
  CorpusReport report;
};

TEST_F(Corpus, AlignedLinesComeInPairs) {
  const Records records =
      read({.files = {file("a.en", "one\ntwo\r\nthree"), file("a.de", "eins\nzwei\ndrei\n")}});
  EXPECT_EQ(records, (Records{{"one", "eins"}, {"two", "zwei"}, {"three", "drei"}}));
  EXPECT_EQ(report.records, 3);
}

TEST_F(Corpus, UnequalLineCountsAreRefusedWithBoth) {
  const CorpusOptions options{
      .files = {file("a.en", "one\ntwo\nthree\nfour\n"), file("a.de", "eins\nzwei\n")}};
  EXPECT_REGARD_ERROR(read(options), ErrorKind::bad_file,
                      "a.de:2: line-aligned files have unequal numbers of lines");
  EXPECT_REGARD_ERROR(read(options), ErrorKind::bad_file, "a.en: 4");
}

TEST_F(Corpus, EmptyTextsAreCountedOrRefused) {
  CorpusOptions options{.files = {file("a.en", "one\n\nthree\n"), file("a.de", "eins\nzwei\n \t\n")}};
  EXPECT_EQ(read(options), (Records{{"one", "eins"}}));
  EXPECT_EQ(report.count(SkipReason::empty), 2);
  EXPECT_NE(report.text().find("a.en:2"), std::string::npos) << report.text();
  options.empty = Faulty::refuse;
  EXPECT_REGARD_ERROR(read(options), ErrorKind::bad_file, "a.en:2");
}

TEST_F(Corpus, BadUtf8IsRefusedOrCounted) {
  CorpusOptions options{.files = {file("a.en", "one\ntwo\n"), file("a.de", "eins\nzw\xFF\n")}};
  EXPECT_REGARD_ERROR(read(options), ErrorKind::bad_file, "a.de:2: the line is not UTF-8");
  options.bad_utf8 = Faulty::skip;
  EXPECT_EQ(read(options), (Records{{"one", "eins"}}));
  EXPECT_EQ(report.count(SkipReason::bad_utf8), 1);
}

TEST_F(Corpus, TsvColumnsByNumber) {
  CorpusOptions options{.files = {file("p.tsv", "x\tone\teins\ny\ttwo\tzwei\textra\n")},
                        .format = CorpusFormat::tsv,
                        .columns = {"2", "3"}};
  EXPECT_EQ(read(options), (Records{{"one", "eins"}, {"two", "zwei"}}));
  options.columns = {"2", "4"};
  EXPECT_REGARD_ERROR(read(options), ErrorKind::bad_file, "p.tsv:1: the line has no column 4");
  options.columns = {"0"};
  EXPECT_REGARD_ERROR(read(options), ErrorKind::usage, "from 1");
}

TEST_F(Corpus, ATsvHeaderIsNoRecordAndNamesColumns) {
  const std::string table = file("p.tsv", "\uFEFFid\ten\tde\r\nx\tone\teins\r\ny\ttwo\tzwei\r\n");
  const Records pairs{{"eins", "one"}, {"zwei", "two"}};
  CorpusOptions options{.files = {table, table}, .format = CorpusFormat::tsv, .columns = {"de", "en"}};
  EXPECT_EQ(read(options), (Records{pairs[0], pairs[1], pairs[0], pairs[1]})) << "each file has a header";
  options.columns = {"3", "2"}, options.files = {table};
  EXPECT_EQ(read(options).size(), 3u);
  options.header = true;
  EXPECT_EQ(read(options), pairs);
  options.columns = {"de", "fr"};
  EXPECT_REGARD_ERROR(read(options), ErrorKind::bad_file,
                      "p.tsv:1: no column has the name 'fr' (found id, en, de)");
}

TEST_F(Corpus, ALineWithATabTooManyIsRefusedBesideAHeader) {
  const CorpusOptions options{.files = {file("p.tsv", "en\tde\none\teins\ntwo\tzwei\tdrei\n")},
                              .format = CorpusFormat::tsv,
                              .columns = {"en", "de"}};
  EXPECT_REGARD_ERROR(read(options), ErrorKind::bad_file, "p.tsv:3");
  EXPECT_REGARD_ERROR(read(options), ErrorKind::bad_file, "(expected 2 columns, found 3 columns)");
}

TEST_F(Corpus, WhiteSpaceIsNormalizedWhereAskedFor) {
  CorpusOptions options{.files = {file("a.en", "\uFEFF one \n\u00A0\ntwo  three\n"),
                                  file("a.de", "\uFEFFeins\nnichts\n zwei\tdrei")}};
  EXPECT_EQ(read(options)[0], (std::vector<std::string>{" one ", "eins"})) << "the mark is gone in any case";
  options.normalize_whitespace = true;
  EXPECT_EQ(read(options), (Records{{"one", "eins"}, {"two three", "zwei drei"}}));
  EXPECT_EQ(report.count(SkipReason::empty), 1);
}

TEST_F(Corpus, TextsOfTooManyCharactersAreCounted) {
  const CorpusOptions options{.files = {file("a.en", "four\nfives\n\u00E9\u00E9\u00E9\u00E9\n")},
                              .max_characters = 4};
  EXPECT_EQ(read(options), (Records{{"four"}, {"\u00E9\u00E9\u00E9\u00E9"}}));
  EXPECT_NE(report.text().find("1 with too many characters skipped (first: "), std::string::npos);
  EXPECT_NE(report.text().find("a.en:2"), std::string::npos) << report.text();
}

TEST_F(Corpus, PlainTextLosesAByteOrderMarkOnly) {
  CorpusReport counts;
  EXPECT_EQ(read_text({file("t.txt", "\uFEFF a \n"), file("u.txt", "\uFEFFb\uFEFF")}, Faulty::refuse, counts),
            " a \nb\uFEFF");
}

TEST_F(Corpus, JsonLinesByName) {
  CorpusOptions options{
      .files = {file("p.jsonl", "{\"de\": \"eins\", \"en\": \"one\"}\n{\"en\": \"two\"}\n")},
      .format = CorpusFormat::jsonl,
      .columns = {"en", "de"}};
  EXPECT_REGARD_ERROR(read(options), ErrorKind::bad_file, "p.jsonl:2");
  options.columns = {"en"};
  EXPECT_EQ(read(options), (Records{{"one"}, {"two"}}));
  options.files = {file("q.jsonl", "{\"en\": }\n")};
  EXPECT_REGARD_ERROR(read(options), ErrorKind::bad_file, "q.jsonl:1");
}

TEST_F(Corpus, ValuesThatAreNoTextAreRefusedOrCounted) {
  CorpusOptions options{
      .files = {file("p.jsonl", "{\"en\": \"one\"}\n{\"en\": null}\n{\"en\": [\"two\"]}\n{\"en\": 3}\n")},
      .format = CorpusFormat::jsonl,
      .columns = {"en"}};
  EXPECT_REGARD_ERROR(read(options), ErrorKind::bad_file, "p.jsonl:2: column 'en': wrong value");
  options.malformed = Faulty::skip;
  EXPECT_EQ(read(options), (Records{{"one"}, {"3"}}));
  EXPECT_EQ(report.count(SkipReason::malformed), 2);
  EXPECT_EQ(report.records, 2);
}

TEST_F(Corpus, SeveralTablesAreReadInTurn) {
  const CorpusOptions options{.files = {file("p.tsv", "a\n"), file("q.tsv", ""), file("r.tsv", "b\n")},
                              .format = CorpusFormat::tsv,
                              .columns = {"1"}};
  EXPECT_EQ(read(options), (Records{{"a"}, {"b"}}));
}

TEST_F(Corpus, MissingFileIsAnIoError) {
  EXPECT_REGARD_ERROR(read({.files = {(folder / "none.en").string()}}), ErrorKind::io, "none.en");
}

TEST_F(Corpus, PlainTextStaysAsItIs) {
  CorpusReport counts;
  EXPECT_EQ(read_text({file("t.txt", "a\r\n\nb"), file("u.txt", "c\n")}, Faulty::refuse, counts),
            "a\r\n\nbc\n");
  const std::string bad = file("bad.txt", "good\nb\xC3\ngood");
  EXPECT_REGARD_ERROR(read_text({bad}, Faulty::refuse, counts), ErrorKind::bad_file, "bad.txt:2");
  EXPECT_EQ(read_text({bad}, Faulty::skip, counts), "good\ngood");
  EXPECT_EQ(counts.count(SkipReason::bad_utf8), 1);
}

TEST_F(Corpus, ATextWithoutLineEndsComesInPiecesOfWholeCharacters) {
  std::string text = "x";
  while (text.size() < 400'000) text += "\u00E9\u6F22\U0001F600";
  TextReader reader({file("t.txt", "\uFEFF" + text)}, Faulty::refuse);
  std::string whole;
  int pieces = 0;
  for (std::string piece; reader.next(piece); ++pieces) {
    EXPECT_TRUE(utf8::valid(piece));
    whole += piece;
  }
  EXPECT_TRUE(whole == text);
  EXPECT_GT(pieces, 3);
  CorpusReport counts;
  EXPECT_TRUE(read_text({file("t.txt", text), file("e.txt", ""), file("u.txt", "end")}, Faulty::skip,
                        counts) == text + "end");
  EXPECT_EQ(counts.records, 2) << "lines without line ends";
  EXPECT_REGARD_ERROR(read_text({file("t.txt", text + "\xE9")}, Faulty::refuse, counts), ErrorKind::bad_file,
                      "t.txt:1: the line is not UTF-8");
}

// The text of this test has more than one block, so that the number of a line counts the lines of all blocks
// before it.
TEST_F(Corpus, FaultyLinesHaveTheirNumbersInTheWholeFile) {
  std::string text;
  for (int line = 1; line <= 40'000; ++line) text += line % 20'000 == 0 ? "\xFF\n" : "0123456789\n";
  CorpusReport counts;
  EXPECT_EQ(read_text({file("t.txt", text)}, Faulty::skip, counts).size(), 39'998u * 11);
  EXPECT_EQ(counts.records, 39'998);
  ASSERT_EQ(counts.skipped().size(), 2u);
  EXPECT_EQ(counts.skipped()[0].place.line, 20'000);
  EXPECT_EQ(counts.skipped()[1].place.line, 40'000);
  EXPECT_EQ(counts.skipped()[1].place.file, (folder / "t.txt").string());
}

TEST_F(Corpus, ColumnsAreNecessaryForTables) {
  for (const auto& [name, format] : {std::pair("a.tsv", CorpusFormat::tsv), {"a.jsonl", CorpusFormat::jsonl}})
    EXPECT_REGARD_ERROR(CorpusReader({.files = {file(name, "")}, .format = format}), ErrorKind::usage,
                        std::string("'columns' is empty for ") + file(name, ""));
  EXPECT_EQ(read({.files = {file("a.tsv", "one\ttwo\n")}}), (Records{{"one\ttwo"}})) << "lines by default";
}

// If each block searched the whole line again for its end, this test would take about 25 s.
TEST_F(Corpus, AVeryLongLineIsReadInLinearTime) {
  const std::string text = file("t.txt", std::string(std::size_t{60} << 20, 'x') + "\ny");
  CorpusReport counts;
  const double begin = testing::thread_seconds();
  EXPECT_EQ(read_text({text}, Faulty::skip, counts).size(), (std::size_t{60} << 20) + 2);
  EXPECT_LT(testing::thread_seconds() - begin, testing::kSlowBuild ? 20 : 5);
}

}  // namespace
}  // namespace regard::data
