// Invalid calls of embed, classify, answer and fill: each ends with its exit code and a message that gives
// the error and the expected form. Results of the lines before the invalid one are printed.
#include <gtest/gtest.h>

#include <cstdlib>

#include "support/namespaces.h"
#include "support/program.h"
#include "support/program_case.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"

namespace regard::testing {
namespace {

namespace fs = std::filesystem;

// A ProgramCase whose default input is one line.
struct TaskCall : ProgramCase {
  TaskCall(std::string called, std::vector<std::string> words, int code, std::vector<std::string> said,
           std::string lines = "Green.\n", std::size_t lines_out = 0)
      : ProgramCase{std::move(called), std::move(words), code, std::move(said), std::move(lines), lines_out} {
  }
};

void copy_model(const fs::path& from, const fs::path& to) {
  fs::copy(from, to, fs::copy_options::recursive);
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(to))
    fs::permissions(entry.path(), fs::perms::owner_all, fs::perm_options::add);
  fs::permissions(to, fs::perms::owner_all, fs::perm_options::add);
}

// Write the files that every case needs into its folder.
void write_task_fixtures(const fs::path& folder) {
  for (const char* name : {"hf-more/bert-nli", "hf-more/bert-ner", "hf-more/bert-multilabel",
                           "hf-more/bert-qa-stride", "hf-more/st-mean", "tasks/roberta-fill", "hf-tiny/vit"})
    copy_model(golden(name), folder / fs::path(name).filename());
  copy_model(folder / "bert-nli", folder / "no-tokenizer");
  for (const char* file : {"tokenizer.json", "tokenizer_config.json", "vocab.txt"})
    fs::remove(folder / "no-tokenizer" / file);
  copy_model(folder / "bert-nli", folder / "other-tokenizer");
  fs::copy(folder / "roberta-fill/tokenizer.json", folder / "other-tokenizer/tokenizer.json",
           fs::copy_options::overwrite_existing);
  copy_model(folder / "st-mean", folder / "odd-modules");
  write_file(folder, "odd-modules/modules.json", R"([{"path": "", "type": "x.Transformer"},
    {"path": "1_Pooling", "type": "x.WordWeights"}])");
  write_file(folder, "two.txt", "yes\nno\n");
  write_file(folder, "text.png", "no image at all");
  write_file(folder, "cut.png", file_content(golden("tasks/grey.png")).substr(0, 900));
  write_file(folder, "cut.jpg", file_content(golden("tasks/fine.jpg")).substr(0, 3000));
  fs::copy(golden("tasks/grey.png"), folder / "good.png");
}

const std::string& long_text() {
  static const std::string text = [] {
    std::string words;
    for (int i = 0; i < 200; ++i) words += "river ";
    return words;
  }();
  return text;
}

const std::string kBadUtf8 = "Green.\nriv\xff\n";

const std::vector<TaskCall> kTaskCalls = {
    {"EmbedNoModel", {"embed"}, 2, {"MODEL"}},
    {"EmbedMissing", {"embed", "nowhere"}, 4, {"nowhere"}},
    {"EmbedPooling", {"embed", "st-mean", "--pooling", "median"}, 2, {"--pooling", "mean"}},
    {"EmbedModule", {"embed", "odd-modules"}, 3, {"modules.json", "WordWeights", "Pooling"}},
    {"EmbedImages", {"embed", "vit"}, 2, {"expected image input, found text"}},
    {"EmbedTooLong",
     {"embed", "st-mean", "--no-truncate"},
     3,
     {"standard input:2", "at most 16", "--truncate"},
     "Green.\n" + long_text() + "\n",
     1},
    {"EmbedMaxTokens", {"embed", "st-mean", "--max-tokens", "4096"}, 2, {"4096", "at most"}},
    {"EmbedBadUtf8", {"embed", "st-mean"}, 3, {"standard input:2", "UTF-8"}, kBadUtf8, 1},
    {"EmbedNoFile", {"embed", "st-mean", "nowhere.txt"}, 4, {"nowhere.txt"}},
    {"EmbedHead", {"embed", "st-mean", "--ablate", "0.9"}, 2, {"layer 0", "head 9", "expected"}},
    {"EmbedLayer", {"embed", "st-mean", "--ablate", "7.0"}, 2, {"layer 7", "expected"}},
    {"EmbedHeadKind", {"embed", "st-mean", "--ablate", "cross.0.0"}, 2, {"cross attention"}},
    {"EmbedHeadWord", {"embed", "st-mean", "--ablate", "first"}, 2, {"first"}},
    {"EmbedAttendFolder", {"embed", "st-mean", "--attend", "nowhere/seen"}, 4, {"nowhere/seen"}},

    {"ClassifyNoTokenizer", {"classify", "no-tokenizer"}, 3, {"no-tokenizer", "tokenizer"}},
    {"ClassifyOtherTokenizer", {"classify", "other-tokenizer"}, 3, {"more tokens", "at most 149"}},
    {"ClassifyNoHead", {"classify", "st-mean"}, 2, {"not a classifier"}},
    {"ClassifyLabels", {"classify", "bert-nli", "--labels", "two.txt"}, 3, {"two.txt", "2", "3"}},
    {"ClassifyNoLabels", {"classify", "bert-nli", "--labels", "nowhere.txt"}, 4, {"nowhere.txt"}},
    {"ClassifyNoTab",
     {"classify", "bert-nli", "--pair"},
     3,
     {"standard input:2", "0 tabs", "one"},
     "a\tb\nc\n",
     1},
    {"ClassifyTwoTabs", {"classify", "bert-nli", "--pair"}, 3, {"standard input:1", "2 tabs"}, "a\tb\tc\n"},
    {"ClassifyTooLong",
     {"classify", "bert-nli"},
     3,
     {"standard input:2", "at most 40", "--truncate"},
     "Green.\n" + long_text() + "\n",
     1},
    {"ClassifyScores", {"classify", "bert-nli", "--scores", "maximum"}, 2, {"--scores", "softmax"}},
    {"ClassifyThreshold", {"classify", "bert-nli", "--threshold", "nan"}, 2, {"--threshold", "'nan'"}},
    {"ClassifyNoImage", {"classify", "vit", "text.png"}, 4, {"no image at all"}},
    {"ClassifyNoImageSecond", {"classify", "vit", "good.png", "text.png"}, 3, {"text.png", "PNG"}, "", 1},
    {"ClassifyCutPng", {"classify", "vit", "cut.png"}, 3, {"cut.png", "damaged"}},
    {"ClassifyCutJpeg", {"classify", "vit", "cut.jpg"}, 3, {"cut.jpg", "damaged"}},
    {"ClassifyNoSuchImage", {"classify", "vit", "nowhere.png"}, 4, {"nowhere.png"}},
    {"ClassifyImagePair", {"classify", "vit", "good.png", "--pair"}, 2, {"--pair"}},
    {"ClassifyManyFiles", {"classify", "bert-nli", "two.txt", "two.txt"}, 2, {"one input file"}},

    {"AnswerNoHead", {"answer", "bert-nli"}, 2, {"no question-answering head"}},
    {"AnswerNoTab", {"answer", "bert-qa-stride"}, 3, {"standard input:1", "tab"}},
    {"AnswerNoText", {"answer", "bert-qa-stride"}, 3, {"standard input:1", "the text is empty"}, "who?\t \n"},
    {"AnswerLongQuestion",
     {"answer", "bert-qa-stride"},
     3,
     {"standard input:1", "the question is too long"},
     long_text() + "\tGreen.\n"},
    {"AnswerStride", {"answer", "bert-qa-stride", "--stride", "40"}, 2, {"stride", "less than 40"}},
    {"AnswerWindow", {"answer", "bert-qa-stride", "--max-tokens", "41"}, 2, {"at most 40"}},
    {"AnswerTruncate", {"answer", "bert-qa-stride", "--truncate"}, 2, {"not expected: --truncate"}},
    {"AnswerNoFile", {"answer", "bert-qa-stride", "--text", "nowhere.txt"}, 4, {"nowhere.txt"}},

    {"TagNoHead", {"tag", "bert-nli"}, 2, {"no token-classification head"}},
    {"TagStride", {"tag", "bert-ner", "--stride", "38"}, 2, {"stride", "less than 38"}},
    {"TagWindow", {"tag", "bert-ner", "--max-tokens", "41"}, 2, {"at most 40"}},
    {"TagTruncate", {"tag", "bert-ner", "--truncate"}, 2, {"not expected: --truncate"}},
    {"TagAggregation", {"tag", "bert-ner", "--aggregation", "mean"}, 2, {"--aggregation", "average"}},

    {"FillNoMask", {"fill", "roberta-fill"}, 3, {"standard input:1", "<mask>"}},
    {"FillNoHead", {"fill", "st-mean"}, 2, {"no head for masked tokens"}},
    {"FillTooLong",
     {"fill", "roberta-fill"},
     3,
     {"standard input:1", "at most 62"},
     "<mask> " + long_text() + "\n"},
    {"FillTarget", {"fill", "roberta-fill", "--targets", ""}, 2, {"target"}},
    {"FillTop", {"fill", "roberta-fill", "--top", "0"}, 2, {"--top"}},
};

class TaskCalls : public ::testing::TestWithParam<TaskCall> {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    write_task_fixtures(folder_->path());
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static TemporaryFolder* folder_;
};
TemporaryFolder* TaskCalls::folder_ = nullptr;

TEST_P(TaskCalls, EndsWithItsCodeAndAMessageThatHelps) {
  const TaskCall& c = GetParam();
  const ProgramResult result = run_program(c.arguments, folder_->path(), c.input);
  expect_ending(c, result);
  EXPECT_EQ(static_cast<std::size_t>(std::count(result.out.begin(), result.out.end(), '\n')), c.results)
      << result.out;
}

INSTANTIATE_TEST_SUITE_P(Table, TaskCalls, ::testing::ValuesIn(kTaskCalls),
                         [](const auto& row) { return row.param.name; });

TEST(TaskLines, EmptyLinesAndLinesOfTenMegabytes) {
  const TemporaryFolder folder;
  std::string huge;
  while (huge.size() < 10'000'000) huge += "the quiet river sings ";
  const ProgramResult embedded = run_program({"embed", golden("hf-more/st-mean").string(), "--quiet"},
                                             folder.path(), "\n" + huge + "\nGreen.\n");
  ASSERT_EQ(embedded.exit_code, 0) << embedded.err;
  EXPECT_EQ(std::count(embedded.out.begin(), embedded.out.end(), '\n'), 3)
      << "cut to max_seq_length, and said so";
  const ProgramResult cut = run_program(
      {"classify", golden("hf-more/bert-multilabel").string(), "--truncate"}, folder.path(), huge + "\n");
  EXPECT_EQ(cut.exit_code, 0) << cut.err;
  const ProgramResult refused =
      run_program({"classify", golden("hf-more/bert-multilabel").string()}, folder.path(), huge + "\n");
  EXPECT_EQ(refused.exit_code, 3) << refused.err;
  EXPECT_NE(refused.err.find("standard input:1"), std::string::npos) << refused.err;
  EXPECT_LT(refused.err.size(), 1000u) << "the message repeats the line";
}

TEST(TaskLines, OutputThatCannotBeWrittenIsSaid) {
  const TemporaryFolder folder;
  std::string input;
  for (int i = 0; i < 500; ++i) input += "Green.\n";
  write_file(folder.path(), "input", input);
  for (const char* where : {"> /dev/full", ">&-"}) {
    const std::string command = "cd '" + folder.path().string() + "' && '" + std::string(program_path()) +
                                "' embed '" + golden("hf-more/st-mean").string() + "' input --quiet " +
                                where + " 2> said";
    const int status = std::system(command.c_str());
    EXPECT_EQ(WEXITSTATUS(status), 4) << where;
    const std::string said = file_content(folder / "said");
    EXPECT_NE(said.find("write"), std::string::npos) << where << ": " << said;
    EXPECT_EQ(said.find("internal"), std::string::npos) << where << ": " << said;
  }
}

}  // namespace
}  // namespace regard::testing
