// data.malformed = "skip" and data.max_skipped for the rows of each kind of file; rows without a text.
#include <gtest/gtest.h>

#include "run_case.h"
#include "support/throws.h"
#include "train/labeled_rows.h"

namespace regard::train {
namespace {

struct MalformedCase {
  const char *name, *task, *file, *data, *more;
};

class MalformedRows : public RunCase, public ::testing::WithParamInterface<MalformedCase> {
 protected:
  // Read data with one malformed row, and return the output of a dry run.
  ProgramResult read(const std::string& settings) {
    const MalformedCase& one = GetParam();
    for (const char* name : {"run.toml", one.file}) fs::remove(folder / name);
    regard::testing::write_file(folder.path(), one.file, one.data);
    const std::string task = one.task, files = std::string("[\"") + one.file + "\"]";
    const std::string model = task == "translation" ? "encoder_layers = 1\ndecoder_layers = 1\nheads = 2\n"
                                                    : "family = \"mlp\"\nlayers = 1\n";
    regard::testing::write_file(folder.path(), "run.toml",
                                "task = \"" + task + "\"\n[data]\ntrain = " + files + "\nvalid = " + files +
                                    "\n" + settings + one.more + "\n[model]\n" + model + R"(hidden_size = 8
[tokenizer]
type = "word"
[training]
max_steps = 1
[output]
folder = "run"
)");
    return train({"--dry-run"});
  }
};

TEST_P(MalformedRows, AreRefusedOrSkippedAndCounted) {
  const ProgramResult refused = read("");
  EXPECT_EQ(refused.exit_code, 3) << refused.err;
  EXPECT_NE(refused.err.find(std::string(GetParam().file) + ":2: "), std::string::npos) << refused.err;
  const ProgramResult skipped = read("malformed = \"skip\"\n");
  EXPECT_EQ(skipped.exit_code, 0) << skipped.err;
  EXPECT_NE(skipped.out.find("1 malformed skipped"), std::string::npos) << skipped.out << skipped.err;
  const ProgramResult limited = read("malformed = \"skip\"\nmax_skipped = 0\n");
  EXPECT_EQ(limited.exit_code, 3) << limited.err;
  EXPECT_NE(limited.err.find("too many rows are skipped"), std::string::npos) << limited.err;
}

constexpr const char* kColumns = "columns = [\"t\", \"l\"]\n";
constexpr const char* kNumbers = "columns = [\"t\", \"l\"]\n[labels]\nproblem_type = \"regression\"\n";

INSTANTIATE_TEST_SUITE_P(
    Rows, MalformedRows,
    ::testing::Values(
        MalformedCase{"Words", "token-classification", "t.jsonl",
                      "{\"t\": [\"a\"], \"l\": [\"X\"]}\n{\"t\": [\"a\", \"b\"], \"l\": [\"X\"]}\n"
                      "{\"t\": [\"b\"], \"l\": [\"Y\"]}\n",
                      kColumns},
        MalformedCase{"WordColumns", "token-classification", "t.txt", "a X\nb\n\na X\nb Y\n", ""},
        MalformedCase{
            "Labels", "classification", "t.jsonl",
            "{\"t\": \"a\", \"l\": \"X\"}\n{\"t\": \"b\", \"l\": null}\n{\"t\": \"b\", \"l\": \"Y\"}\n",
            kColumns},
        MalformedCase{
            "Texts", "classification", "t.jsonl",
            "{\"t\": \"a\", \"l\": \"X\"}\n{\"t\": [1], \"l\": \"X\"}\n{\"t\": \"b\", \"l\": \"Y\"}\n",
            kColumns},
        MalformedCase{"Numbers", "classification", "t.tsv", "t\tl\na\tx\nb\t2\na\t1\n", kNumbers},
        MalformedCase{"HugeNumbers", "classification", "t.jsonl",
                      "{\"t\": \"a\", \"l\": 1}\n{\"t\": \"b\", \"l\": -1e39}\n{\"t\": \"a\", \"l\": 2}\n",
                      kNumbers},
        MalformedCase{
            "Pairs", "translation", "t.jsonl",
            "{\"t\": \"a\", \"l\": \"b\"}\n{\"t\": null, \"l\": \"a\"}\n{\"t\": \"b\", \"l\": \"a\"}\n",
            kColumns}),
    [](const auto& one) { return std::string(one.param.name); });

// A label before its text has the same forms as a number in a table.
TEST(LabeledRows, ANumberIsDecimal) {
  const regard::testing::TemporaryFolder folder;
  const auto read = [&](const char* rows) {
    regard::testing::write_file(folder.path(), "t.txt", rows);
    return read_labeled_rows(
        parse_run("task = \"classification\"\n[data]\ntrain = [\"t.txt\"]\nvalid = [\"t.txt\"]\n",
                  (folder.path() / "run.toml").string()),
        Problem::regression);
  };
  EXPECT_EQ(read("-2.5 one\n1e1 two\n").train.values, (std::vector<float>{-2.5f, 10.0f}));
  EXPECT_REGARD_ERROR(read("1 one\n0x10 two\n"), ErrorKind::bad_file, "t.txt:2: ");
}

TEST(LabeledRows, ALabelWithOnlyBlanksAfterItHasAnEmptyText) {
  const regard::testing::TemporaryFolder folder;
  regard::testing::write_file(folder.path(), "t.txt", "A one\nB  \nB two\nA\t\nA\n");
  const auto read = [&](const std::string& rule) {
    const std::string text =
        "task = \"classification\"\n[data]\ntrain = [\"t.txt\"]\nvalid = [\"t.txt\"]\nempty_lines = \"" +
        rule;
    return read_labeled_rows(parse_run(text + "\"\n", (folder.path() / "run.toml").string()),
                             Problem::single_label);
  };
  EXPECT_EQ(read("skip").train.first, (std::vector<std::string>{"one", "two"}));
  EXPECT_REGARD_ERROR(read("refuse"), ErrorKind::bad_file, "t.txt:2: ");
}

}  // namespace
}  // namespace regard::train
