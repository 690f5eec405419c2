// Data files of a task: their format, default columns and numbers of columns.
#include "data/data_files.h"

#include <gtest/gtest.h>

#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::data {
namespace {

using Names = std::vector<std::string>;

class DataFile : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& content) {
    return testing::write_file(folder_.path(), name, content).string();
  }
  // Return the texts of the first row.
  static Names first_row(const DataFiles& data) {
    TableReader table = open_table(data, {{"text", "label"}, {"first", "second", "label"}});
    TableRow row;
    Names texts;
    if (table.next(row))
      for (std::size_t i = 0; i < row.size(); ++i) texts.push_back(row.text(i));
    return texts;
  }
  testing::TemporaryFolder folder_;
};

TEST_F(DataFile, HaveTheFirstColumnsOfTheTaskByDefault) {
  EXPECT_EQ(first_row({.files = {file("a.tsv", "\na\tb\tc\n")}}), (Names{"a", "b"}));
  EXPECT_EQ(first_row({.files = {file("a.csv", "a,b,c\n1,2,3\n")}, .header = true}), (Names{"1", "2"}));
  EXPECT_EQ(first_row({.files = {file("a.csv", "a,b,c\n1,2,3\n")}, .columns = {"c", "a"}}),
            (Names{"3", "1"}));
  EXPECT_EQ(first_row({.files = {file("a.tsv", "a\tb\tc\n")}, .columns = {"3", "1", "2"}}),
            (Names{"c", "a", "b"}));
  EXPECT_EQ(first_row({.files = {file("a.jsonl", R"({"label": 1, "text": "x"})")}}), (Names{"x", "1"}));
  EXPECT_EQ(first_row({.files = {file("a", "x\n"), file("b", "1\n")}}), (Names{"x", "1"}));
  EXPECT_EQ(first_row({.files = {file("a", "x\n"), file("b", "y\n"), file("c", "1\n")}}),
            (Names{"x", "y", "1"}));
}

TEST_F(DataFile, WithAnotherNumberOfColumnsAreRefused) {
  const char* const expected = "expected 2 (text, label) or 3 (first, second, label), found ";
  EXPECT_REGARD_ERROR(first_row({.files = {file("a.tsv", "a\n")}, .columns = {"1"}}), ErrorKind::usage,
                      "the number of columns does not fit the task (" + std::string(expected) + "1)");
  EXPECT_REGARD_ERROR(
      first_row({.files = {file("a", "x\n")}}), ErrorKind::usage,
      "the number of line-aligned files does not fit the task (" + std::string(expected) + "1)");
  EXPECT_REGARD_ERROR(first_row({.files = Names(4, file("a", "x\n"))}), ErrorKind::usage, "found 4");
}

TEST_F(DataFile, OfDifferentFormatsAreRefused) {
  EXPECT_REGARD_ERROR(table_options({.files = {"a.tsv", "b.tsv", "c.jsonl.gz"}}), ErrorKind::usage,
                      "the data files have different formats (expected TSV, as for a.tsv, found c.jsonl.gz "
                      "as JSONL)");
  EXPECT_REGARD_ERROR(table_options({.files = {"a", "b.csv"}}), ErrorKind::usage,
                      "expected lines, as for a, found b.csv as CSV");
  EXPECT_EQ(table_options({.files = {"a.csv", "b.csv.zst"}}).format, TableFormat::csv);
}

TEST_F(DataFile, OfLinesHaveNoColumns) {
  EXPECT_REGARD_ERROR(first_row({.files = {file("a", "x\n"), file("b", "y\n")}, .columns = {"1", "2"}}),
                      ErrorKind::usage, "line-aligned files have no columns");
}

}  // namespace
}  // namespace regard::data
