// Reading tables from valid and invalid files.
#include "data/table.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>

#include "support/compress.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::data {
namespace {

using Rows = std::vector<std::vector<std::string>>;

class Table : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& content) {
    return testing::write_file(folder.path(), name, content).string();
  }
  Rows read(TableOptions options) {
    TableReader reader(std::move(options));
    Rows rows;
    lines.clear();
    for (TableRow row; reader.next(row);) {
      rows.emplace_back();
      for (std::size_t i = 0; i < row.size(); ++i) rows.back().push_back(row.has(i) ? row.text(i) : "NONE");
      lines.push_back(row.line());
    }
    report = reader.report();
    return rows;
  }
  Rows read_csv(const std::string& content, std::vector<std::string> columns = {}) {
    return read(
        {.files = {file("t.csv", content)}, .format = TableFormat::csv, .columns = std::move(columns)});
  }
  testing::TemporaryFolder folder;
  RowReport report;
  std::vector<std::int64_t> lines;
};

TEST_F(Table, FormatsByName) {
  EXPECT_EQ(format_of("a/b.tsv", TableFormat::lines), TableFormat::tsv);
  EXPECT_EQ(format_of("b.csv.gz", TableFormat::lines), TableFormat::csv);
  EXPECT_EQ(format_of("b.jsonl.zst", TableFormat::lines), TableFormat::jsonl);
  EXPECT_EQ(format_of("b.ndjson", TableFormat::lines), TableFormat::jsonl);
  EXPECT_EQ(format_of("b.gz", TableFormat::text), TableFormat::text);
  EXPECT_EQ(format_of("tsv", TableFormat::text), TableFormat::text);
}

TEST_F(Table, QuotedFieldsHoldDelimitersLineEndsAndQuotes) {
  EXPECT_EQ(read_csv("a,b\n\"x, y\",\"say \"\"hi\"\"\"\n\"two\r\nlines\n\",\"\"\r\nlast,5\" disk\n"),
            (Rows{{"a", "b"}, {"x, y", "say \"hi\""}, {"two\r\nlines\n", ""}, {"last", "5\" disk"}}));
  EXPECT_EQ(lines, (std::vector<std::int64_t>{1, 2, 3, 6})) << "of the first line of each row";
}

TEST_F(Table, AMarkOfByteOrderBeforeAQuoteIsRemoved) {
  EXPECT_EQ(read_csv("\uFEFF\"text\",label\r\n\"a\",1\r\n", {"label", "text"}), (Rows{{"1", "a"}}));
}

TEST_F(Table, AQuoteThatIsNotClosedIsRefusedWithItsFirstLine) {
  EXPECT_REGARD_ERROR(read_csv("a,b\nc,\"d\ne,f\n"), ErrorKind::bad_file,
                      "t.csv:2: a quoted field is not closed");
  EXPECT_REGARD_ERROR(read_csv("a,b\nc,\"d\ne,f\n"), ErrorKind::bad_file, "field 2, still open on line 3");
}

TEST_F(Table, TextAfterAClosingQuoteIsRefusedOrSkipped) {
  TableOptions options{.files = {file("t.csv", "a,b\nc,\"d\"x\ne,f\n")}, .format = TableFormat::csv};
  EXPECT_REGARD_ERROR(read(options), ErrorKind::bad_file,
                      "t.csv:2: column 2 has text after its closing quotation mark");
  options.malformed = Faulty::skip;
  EXPECT_EQ(read(options), (Rows{{"a", "b"}, {"e", "f"}}));
  ASSERT_EQ(report.skipped().size(), 1u);
  EXPECT_EQ(report.skipped()[0].place.line, 2);
  EXPECT_EQ(report.count(SkipReason::malformed), 1);
}

TEST_F(Table, TheHeaderIsFoundByNamesOrSaid) {
  const std::string path = file("t.csv", "text,label\na,1\n");
  TableOptions options{.files = {path}, .format = TableFormat::csv, .columns = {"label"}};
  EXPECT_EQ(read(options), (Rows{{"1"}}));
  options.columns = {"2"};
  EXPECT_EQ(read(options), (Rows{{"label"}, {"1"}}));
  options.header = Header::present;
  EXPECT_EQ(read(options), (Rows{{"1"}}));
  options.columns = {};
  EXPECT_EQ(read(options), (Rows{{"a", "1"}}));
  TableReader all(options);
  TableRow row;
  ASSERT_TRUE(all.next(row));
  EXPECT_EQ(row.text(all.column("label")), "1");
  EXPECT_EQ(all.header(), (std::vector<std::string>{"text", "label"}));
  EXPECT_REGARD_ERROR(all.column("lable"), ErrorKind::usage, "text, label");
  options.columns = {"label"};
  options.header = Header::absent;
  EXPECT_REGARD_ERROR(read(options), ErrorKind::usage, "the files have no header");
  EXPECT_REGARD_ERROR(read_csv("text,label\n", {"lable"}), ErrorKind::bad_file,
                      "no column has the name 'lable'");
  EXPECT_REGARD_ERROR(read_csv("text,text\n", {"text"}), ErrorKind::bad_file,
                      "two columns have the name 'text'");
}

TEST_F(Table, OptionalColumnsMayBeMissing) {
  TableOptions options{.files = {file("a.tsv", "text\tweight\nx\t2\n"), file("b.tsv", "text\ny\n")},
                       .format = TableFormat::tsv,
                       .columns = {"text"},
                       .optional_columns = {"weight"}};
  EXPECT_EQ(read(options), (Rows{{"x", "2"}, {"y", "NONE"}}));
}

TEST_F(Table, RowsOfAnotherWidthAreRefused) {
  EXPECT_REGARD_ERROR(read_csv("a,b\nc\n"), ErrorKind::bad_file, "t.csv:2");
  EXPECT_REGARD_ERROR(read_csv("text,label\na,1\nb,2,3\n", {"text"}), ErrorKind::bad_file,
                      "t.csv:3: the number of columns differs from that of the first line (expected 2 "
                      "columns, found 3 columns)");
}

TEST_F(Table, DelimitersAreFree) {
  EXPECT_EQ(read({.files = {file("t.csv", "\"a;b\";c\n")}, .format = TableFormat::csv, .delimiter = ';'}),
            (Rows{{"a;b", "c"}}));
}

TEST_F(Table, BlankLinesAreRefusedSkippedOrKept) {
  TableOptions options{.files = {file("t.tsv", "a\tb\n\nc\td\n")}, .format = TableFormat::tsv};
  EXPECT_REGARD_ERROR(read(options), ErrorKind::bad_file, "t.tsv:2: the line is empty");
  options.blank = Faulty::skip;
  EXPECT_EQ(read(options), (Rows{{"a", "b"}, {"c", "d"}}));
  EXPECT_EQ(report.count(SkipReason::empty), 1);
  options.blank = Faulty::keep, options.columns = {"1"};
  EXPECT_EQ(read(options), (Rows{{"a"}, {""}, {"c"}}));
}

TEST_F(Table, KeptEmptyLinesOfJsonLinesHaveEmptyTexts) {
  TableOptions options{
      .files = {file("t.jsonl", "{\"a\": 1, \"b\": [2], \"c\": 3}\n\n{\"a\": \"x\", \"b\": \"y\"}\n")},
      .format = TableFormat::jsonl,
      .columns = {"a", "b"},
      .optional_columns = {"c"},
      .blank = Faulty::keep};
  TableReader reader(options);
  TableRow row;
  ASSERT_TRUE(reader.next(row) && reader.next(row));
  EXPECT_EQ(row.text(0), "");
  EXPECT_EQ(row.json(1), "");
  EXPECT_FALSE(row.has(2));
  ASSERT_TRUE(reader.next(row));
  EXPECT_EQ(row.text(1), "y");
  EXPECT_EQ(row.line(), 3);
}

TEST_F(Table, BadUtf8IsRefusedOrSkippedAlsoInsideAQuotedField) {
  TableOptions options{.files = {file("t.csv", "a,b\nc,\"d\n\xFF\"\ne,f\n")}, .format = TableFormat::csv};
  EXPECT_REGARD_ERROR(read(options), ErrorKind::bad_file, "t.csv:2: the line is not UTF-8");
  options.bad_utf8 = Faulty::skip;
  EXPECT_EQ(read(options), (Rows{{"a", "b"}, {"e", "f"}}));
  EXPECT_EQ(report.count(SkipReason::bad_utf8), 1);
}

TEST_F(Table, TooManySkippedRowsAreRefused) {
  TableOptions options{
      .files = {file("t.tsv", "a\n\nb\n\n")}, .format = TableFormat::tsv, .blank = Faulty::skip};
  EXPECT_EQ(read(options).size(), 2u);
  EXPECT_NO_THROW(report.refuse_more_than(0.5, "data.max_skipped"));
  EXPECT_REGARD_ERROR(report.refuse_more_than(0.4, "data.max_skipped"), ErrorKind::bad_file,
                      "t.tsv:2: too many rows are skipped (expected at most 40 %, found 2 of 4 rows");
  EXPECT_EQ(RowReport().total_skipped(), 0);
  EXPECT_NO_THROW(RowReport().refuse_more_than(0, "data.max_skipped"));
}

TEST(RowReports, AreAdded) {
  RowReport all, none, first, second;
  first.records = 5, second.records = 1;
  first.skip(SkipReason::empty, {"a", 3, -1});
  for (int line = 1; line <= 3; ++line) second.skip(SkipReason::empty, {"b", line, -1});
  second.skip(SkipReason::rejected, {"c", -1, -1}, "why");
  all.add(none), all.add(first), all.add(second);
  EXPECT_EQ(all.text(), "6 records; 4 with an empty text skipped (first: a:3); 1 rejected (first: c)");
  EXPECT_EQ(all.total_skipped(), 5);
  ASSERT_EQ(all.skipped().size(), 5u);
  EXPECT_EQ(all.skipped()[4].what, "why");
  EXPECT_EQ(all.skipped()[4].reason, SkipReason::rejected);
  second = {};
  second.add(first);
  EXPECT_EQ(second.text(), "5 records; 1 with an empty text skipped (first: a:3)");
}

TEST(RowReports, ListTheFirst1000Rows) {
  RowReport all, other;
  for (int line = 1; line <= 1002; ++line) other.skip(SkipReason::malformed, {"a", line, -1});
  ASSERT_EQ(other.skipped().size(), 1000u);
  EXPECT_EQ(other.skipped().back().place.line, 1000);
  for (int line = 1; line <= 998; ++line) all.skip(SkipReason::malformed, {"b", line, -1});
  all.add(other);
  ASSERT_EQ(all.skipped().size(), 1000u);
  EXPECT_EQ(all.skipped()[997].place.file, "b");
  EXPECT_EQ(all.skipped()[999].place.line, 2);
  EXPECT_EQ(all.total_skipped(), 2000);
}

TEST_F(Table, JsonLinesKeepTheirValues) {
  TableReader reader(
      {.files = {file("t.jsonl",
                      "{\"text\": \"a b\", \"label\": 3, \"spans\": [{\"start\": 1}], \"words\": "
                      "[\"x y\", \"z\"], \"score\": -0.5, \"flag\": true}\n{\"text\": \"c\", "
                      "\"label\": \"4\", \"spans\": null, \"words\": [1], \"score\": \"x\"}\n")},
       .format = TableFormat::jsonl,
       .columns = {"text", "label", "spans", "words", "score"},
       .optional_columns = {"flag"}});
  TableRow row;
  ASSERT_TRUE(reader.next(row));
  EXPECT_EQ(row.text(0), "a b");
  EXPECT_EQ(row.json(0), Json("a b"));
  EXPECT_EQ(row.words(0), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(row.text(1), "3");
  EXPECT_EQ(row.integer(1), 3);
  EXPECT_EQ(row.json(2).at(0).at("start"), 1);
  EXPECT_EQ(row.words(3), (std::vector<std::string>{"x y", "z"}));
  EXPECT_EQ(row.number(4), -0.5);
  EXPECT_TRUE(row.has(5));
  EXPECT_EQ(row.text(5), "true");
  EXPECT_REGARD_ERROR(
      row.text(2), ErrorKind::bad_file,
      "t.jsonl:1: column 'spans': wrong value (expected a string or a number, found an array)");
  EXPECT_REGARD_ERROR(row.integer(4), ErrorKind::bad_file, "column 'score'");
  ASSERT_TRUE(reader.next(row));
  EXPECT_EQ(row.integer(1), 4);
  EXPECT_FALSE(row.has(2));
  EXPECT_REGARD_ERROR(row.json(2), ErrorKind::bad_file,
                      "t.jsonl:2: column 'spans': wrong value (expected a value, found null");
  EXPECT_REGARD_ERROR(row.words(3), ErrorKind::bad_file, "found the number 1");
  EXPECT_REGARD_ERROR(row.number(4), ErrorKind::bad_file, "expected a number, found the string \"x\"");
  EXPECT_FALSE(row.has(5));
  EXPECT_REGARD_ERROR(row.text(5), ErrorKind::bad_file, "found nothing");
  EXPECT_FALSE(reader.next(row));
}

TEST_F(Table, JsonLinesThatAreNotObjectsAreRefusedOrSkipped) {
  const auto read_line = [this](const std::string& line) {
    return read({.files = {file("t.jsonl", "{\"text\": \"a\"}\n" + line + "\n")},
                 .format = TableFormat::jsonl,
                 .columns = {"text"}});
  };
  EXPECT_REGARD_ERROR(read_line("{\"text\": }"), ErrorKind::bad_file, "t.jsonl:2: invalid JSON");
  EXPECT_REGARD_ERROR(read_line("[1]"), ErrorKind::bad_file, "t.jsonl:2: the line is not a JSON object");
  EXPECT_REGARD_ERROR(read_line("{\"txt\": 1}"), ErrorKind::bad_file,
                      "t.jsonl:2: the object has no key 'text' (found txt)");
  EXPECT_REGARD_ERROR(read({.files = {file("t.jsonl", "")}, .format = TableFormat::jsonl}), ErrorKind::usage,
                      "is empty for");
}

TEST_F(Table, CellsOfOtherFormatsParseAsJsonAndNumbers) {
  TableReader reader({.files = {file("t.tsv", "[1, 2]\tx y  z\t1e3\n")}, .format = TableFormat::tsv});
  TableRow row;
  ASSERT_TRUE(reader.next(row));
  EXPECT_EQ(row.json(0), Json({1, 2}));
  EXPECT_REGARD_ERROR(row.json(1), ErrorKind::bad_file, "t.tsv:1: column 2: invalid JSON");
  EXPECT_EQ(row.words(1), (std::vector<std::string>{"x", "y", "z"}));
  EXPECT_EQ(row.number(2), 1000.0);
  EXPECT_REGARD_ERROR(row.number(1), ErrorKind::bad_file, "t.tsv:1: column 2: wrong value");
}

TEST_F(Table, LineAlignedFilesAreColumns) {
  TableOptions options{.files = {file("a", "one\n\n"), file("b", "eins\nzwei")}, .columns = {"en", "de"}};
  EXPECT_EQ(read(options), (Rows{{"one", "eins"}, {"", "zwei"}}));
  options.columns = {"en"};
  EXPECT_REGARD_ERROR(read(options), ErrorKind::usage, "expected 2 columns, found 1 column");
}

TEST_F(Table, TheShortestOfSeveralLineAlignedFilesIsNamed) {
  const TableOptions options{.files = {file("a", "1\n2\n3\n"), file("b", "1\n"), file("c", "1\n2\n3\n4\n")}};
  EXPECT_REGARD_ERROR(read(options), ErrorKind::bad_file,
                      "b:1: line-aligned files have unequal numbers of lines (found " + options.files[0] +
                          ": 3, " + options.files[1] + ": 1, " + options.files[2] + ": 4)");
}

TEST_F(Table, OptionsThatCannotBeUsedAreRefused) {
  EXPECT_REGARD_ERROR(read({}), ErrorKind::usage, "expected at least one file of a table, found none");
  TableOptions options{.files = {file("t.csv", "a,b\n")}, .format = TableFormat::csv, .delimiter = '"'};
  EXPECT_REGARD_ERROR(read(options), ErrorKind::usage,
                      "the delimiter of a CSV file cannot be a quotation mark");
  options.format = TableFormat::tsv;
  EXPECT_EQ(read(options), (Rows{{"a,b"}}));
  options = {.files = {file("t.txt", "a\n")}, .format = TableFormat::text, .columns = {"1", "2"}};
  EXPECT_REGARD_ERROR(
      read(options), ErrorKind::usage,
      "a file of plain text cannot have several columns (expected 1 column, found 2 columns)");
  EXPECT_REGARD_ERROR(read_csv("\xFF,b\n1,2\n", {"b"}), ErrorKind::bad_file,
                      "t.csv:1: the header is not UTF-8");
  EXPECT_REGARD_ERROR(read_csv("a,b\n", {"0"}), ErrorKind::usage,
                      "invalid column (expected a name, or a number from 1, found '0')");
}

// A process can have only about 1000 files open by default.
TEST_F(Table, FilesThatAreReadInOrderAreOpenedOneAtATime) {
  const auto open_files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  TableOptions options{.files = {file("a.csv", "1\n2\n"), file("b.csv", "3\n"), file("c.csv", "4\n")},
                       .format = TableFormat::csv};
  const auto before = open_files();
  TableReader reader(options);
  std::string all;
  for (TableRow row; reader.next(row); all += row.text(0)) EXPECT_EQ(open_files(), before + 1);
  EXPECT_EQ(all, "1234");
  options.files.push_back((folder / "none.csv").string());
  EXPECT_REGARD_ERROR(TableReader{options}, ErrorKind::io, "none.csv: cannot open");
}

TEST_F(Table, CompressedTablesAreReadAsTheOthers) {
  for (const auto pack : {testing::gzip, testing::zstd}) {
    const std::string packed = pack("text,label\n\"a\nb\",1\n");
    if (packed.empty()) continue;
    EXPECT_EQ(read_csv(packed, {"text", "label"}), (Rows{{"a\nb", "1"}}));
    EXPECT_REGARD_ERROR(read_csv(packed.substr(0, packed.size() - 2), {"text"}), ErrorKind::bad_file,
                        "t.csv: the compressed data is truncated");
  }
}

}  // namespace
}  // namespace regard::data
