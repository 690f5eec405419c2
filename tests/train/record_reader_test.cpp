// Header lines of training and validation files, and the fraction of records for validation.
#include "train/corpora.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::train {
namespace {

class Records : public ::testing::Test {
 protected:
  Records() {
    for (const char* name : {"train.tsv", "valid.tsv"})
      testing::write_file(folder_.path(), name, "text\tother\none\teins\n");
  }
  RunConfig run(const std::string& data) const {
    return parse_run("task = \"language-model\"\n[data]\n" + data, (folder_ / "run.toml").string());
  }
  // Return the texts of the files, each with a comma.
  static std::string texts(const RunConfig& config, const std::vector<std::string>& files) {
    RecordReader reader(config, files);
    std::string all;
    while (reader.next()) all += reader.texts().at(0) + ",";
    return all;
  }
  testing::TemporaryFolder folder_;
};

TEST_F(Records, AHeaderIsSkippedInTheFilesOfItsKey) {
  struct Keys {
    const char* data;
    const char *train, *valid;  // the texts that are read
  };
  for (const auto& [keys, train, valid] :
       {Keys{"", "text,one,", "text,one,"}, Keys{"header = true\n", "one,", "one,"},
        Keys{"valid_header = true\n", "text,one,", "one,"},
        Keys{"header = true\nvalid_header = true\n", "one,", "one,"},
        Keys{"valid_columns = [2]\n", "text,one,", "other,eins,"},
        Keys{"header = true\nvalid_columns = [2]\n", "one,", "other,eins,"},
        Keys{"valid_header = true\nvalid_columns = [2]\n", "text,one,", "eins,"}}) {
    const RunConfig config =
        run("train = [\"train.tsv\"]\nvalid = [\"valid.tsv\"]\ncolumns = [1]\n" + std::string(keys));
    EXPECT_EQ(texts(config, config.data.train), train) << keys;
    EXPECT_EQ(texts(config, config.data.valid), valid) << keys;
  }
}

// A file that is also in data.train has the header and the columns of the training files.
TEST_F(Records, TheKeysOfValidationFilesDoNotApplyToTrainingFiles) {
  const RunConfig config =
      run("train = [\"train.tsv\"]\nvalid = [\"train.tsv\"]\ncolumns = [1]\nvalid_header = true\n"
          "valid_columns = [2]\n");
  EXPECT_EQ(texts(config, config.data.valid), "text,one,");
  EXPECT_STREQ(corpus_columns_key(config, config.data.valid[0]), "data.columns");
}

TEST_F(Records, EachFileOfATableIsACorpus) {
  const RunConfig config = run("train = [\"train.tsv\", \"valid.tsv\"]\ncolumns = [2]\nheader = true\n");
  RecordReader reader(config, config.data.train);
  EXPECT_EQ(reader.corpora(), 2u);
  for (const std::size_t corpus : {0u, 1u}) {
    ASSERT_TRUE(reader.next());
    EXPECT_EQ(reader.corpus(), corpus);
    EXPECT_EQ(reader.place().file, config.data.train[corpus]);
    EXPECT_EQ(reader.place().line, 2);
    EXPECT_EQ(reader.report().records, static_cast<std::int64_t>(corpus) + 1);
  }
  EXPECT_FALSE(reader.next());
}

TEST_F(Records, TheFractionForValidationIsHeldOut) {
  RunConfig config = run("train = [\"train.tsv\"]\ncolumns = [1]\nvalid_fraction = 0.25\n");
  const auto held_out = [&] {
    int count = 0;
    for (int i = 0; i < 4000; ++i) count += is_held_out(config, std::to_string(i));
    return count;
  };
  EXPECT_NEAR(held_out(), 1000, 5 * std::sqrt(4000 * 0.25 * 0.75));
  config.data.valid_fraction = 0;
  EXPECT_EQ(held_out(), 0);
  config.data.valid_fraction = 0.25, config.data.valid = {"valid.tsv"};
  EXPECT_EQ(held_out(), 0) << "data.valid has its own records";
}

TEST_F(Records, ADelimiterIsOneCharacter) {
  const std::string keys = "train = [\"train.csv\"]\ncolumns = [1]\ndelimiter = ";
  testing::write_file(folder_.path(), "train.csv", "a,b;c\n");
  for (const auto& [delimiter, text] : {std::pair{"\"\"", "a,"}, {"\";\"", "a,b,"}}) {
    const RunConfig config = run(keys + delimiter);
    EXPECT_EQ(texts(config, config.data.train), text);
  }
  const RunConfig config = run(keys + "\";;\"");
  testing::expect_error_text(
      ErrorKind::usage,
      "'data.delimiter' is longer than one character (expected one character, such as \";\", found ';;')",
      [&] { texts(config, config.data.train); });
}

}  // namespace
}  // namespace regard::train
